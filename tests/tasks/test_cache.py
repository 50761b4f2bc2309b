"""Steps without a server: what decides a result is in its key, and no run spoils another's."""

import pytest

from tagcore.store.datasets import Dataset, write_dataset
from tasks import cache
from tasks.cache import PlannedResult, read_record, run_cached
from tasks.data_settings import DataSettings
from tasks.ingest import ingest
from tasks.progress import listen
from tests.workspaces import workspace_at


def read(home, source, **options):
    return ingest.fn(DataSettings(source=str(source), options=options), workspace_at(home)).result()


def test_reader_options_decide_what_is_read(tmp_path):
    source = tmp_path / "mixed"
    source.mkdir()
    (source / "a.jsonl").write_text('{"id": "a", "text": "x", "tags": ["t"]}\n')
    (source / "b.csv").write_text("id,text,tags,other\nb,y,t,u\nc,z,t,u\n")
    with pytest.raises(ValueError, match="several formats"):
        read(tmp_path / "home", source)
    found = [
        read(tmp_path / "home", source, **options)
        for options in ({"format": "jsonl"}, {"format": "csv"}, {"format": "csv", "tags": "other"})
    ]
    assert [Dataset.open(f, "corpus").counts["documents"] for f in found] == [1, 2, 2]
    assert [Dataset.open(f, "corpus").names("tags") for f in found] == [["t"], ["t"], ["u"]]
    assert read(tmp_path / "home", source, format="csv") == found[1]


def make_corpus(plan):
    def make(folder, step):
        with write_dataset(folder, "corpus", **plan.manifest):
            pass

    return make


def test_what_another_run_finishes_meanwhile_is_not_taken_for_damaged(tmp_path, monkeypatch):
    plan = PlannedResult(tmp_path, "corpus", {}, {})
    make = make_corpus(plan)

    def complete_too_late(*args):
        monkeypatch.undo()
        make(plan.folder, None)
        return False

    monkeypatch.setattr(cache, "is_complete", complete_too_late)
    run_cached(plan, "read", make)
    assert [p.name for p in tmp_path.iterdir()] == [plan.folder.name]


def made_or_stood(plan):
    """`Cached` where the result stood."""
    return run_cached(plan, "read", make_corpus(plan)).name


def test_a_damaged_result_is_set_aside_and_made_again(tmp_path):
    plan = PlannedResult(tmp_path, "corpus", {}, {})
    assert [made_or_stood(plan), made_or_stood(plan)] == ["Completed", "Cached"]
    table = plan.folder / "documents.parquet"
    whole = table.read_bytes()
    table.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])  # one bit, the same size
    told = []
    with listen(lambda step, event: told.append((event, step.remark))):
        assert made_or_stood(plan) == "Completed"
    assert table.read_bytes() == whole
    (aside,) = tmp_path.glob("damaged-*")
    assert (aside / "documents.parquet").stat().st_size == len(whole)
    assert [event for event, _ in told] == ["damaged", "start", "made"]
    assert told[0][1] == f"what stood was damaged; it is kept as {aside.name}, and made again"
    assert read_record(plan.folder)["remark"] == ""


def test_parameters_inputs_and_code_decide_a_result(tmp_path, monkeypatch):
    plans = [PlannedResult(tmp_path, "corpus", {"n": n}, {"data": data}) for n in (1, 2) for data in ("a", "b")]
    assert len({plan.folder for plan in plans}) == 4
    before = plans[0].folder
    monkeypatch.setattr(cache, "code_hash", lambda: "other code")
    assert plans[0].folder != before


def test_a_disk_that_fails_is_no_result(tmp_path):
    def make(folder, step):
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        run_cached(PlannedResult(tmp_path, "corpus", {}, {}), "read", make)


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (OSError(28, "No space left on device"), True),
        (ConnectionError("reset"), True),
        (ValueError("line 3"), False),
        (FileNotFoundError("gone"), False),
        (PermissionError("no"), False),
    ],
)
def test_only_what_may_recover_is_tried_again(error, again):
    class State:
        def result(self, raise_on_failure):
            return error

    assert cache.is_transient(None, None, State()) is again
