"""`tagflow report`: the page of the last night or experiment."""

from typing import Annotated

import typer

from infra.cli.options import HomeOption


def report(
    name: Annotated[str | None, typer.Argument(help="A report's name (default: the last one written).")] = None,
    home: HomeOption = None,
) -> None:
    """Open the last report in a browser, and print where it is."""
    import webbrowser

    from tasks.settings import load_settings

    folder = load_settings(home=home).state / "reports"
    pages = sorted(folder.glob("*/report.html"), key=lambda path: path.stat().st_mtime)
    names = [path.parent.name for path in pages]
    if not pages:
        raise ValueError(f"{folder}: there is no report yet: `tagflow run`")
    if name is not None and name not in names:
        raise ValueError(f"no report {name!r}, there are {', '.join(sorted(names))}")
    page = pages[-1] if name is None else folder / name / "report.html"
    print(page)
    webbrowser.open(page.as_uri())
