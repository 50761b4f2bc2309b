"""Files that belong together: the one of a given name in the same folder, or in the same zip."""

from tagcore.readers.files import InputFile, zip_members
from tagcore.readers.rejects import ReadError


def beside(file: InputFile, *names: str) -> InputFile:
    """The first of `names` that stands beside the file, plain or with .gz."""
    wanted = [ending for name in names for ending in (name, f"{name}.gz")]
    if file.member is None:
        found = next((path for name in wanted if (path := file.path.parent / name).is_file()), None)
        if found:
            return InputFile(found)
    else:
        folder, slash, _ = file.member.rpartition("/")
        members = set(zip_members(file.path))
        for name in wanted:
            if (member := f"{folder}{slash}{name}") in members:
                return InputFile(file.path, member)
    raise ReadError(f"{file.name}: no {' or '.join(names)} beside it")
