"""What the account at the end of a run rests on."""

import pytest

from infra.cli import console as module
from infra.cli.console import Console
from tasks.progress import ProgressReporter


def test_time_in_which_steps_work_side_by_side_counts_once(monkeypatch, capsys):
    clock = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    console = Console()
    for ended, seconds in ((10.0, 4.0), (12.0, 5.0), (12.0, 1.0), (30.0, 3.0)):  # 6-10, 7-12, 11-12, 27-30
        clock[0] = ended
        console._on_step(ProgressReporter("train", known={"seconds": seconds}), "made")
    assert console._working() == pytest.approx(9.0)
    assert console.worked == {"train": pytest.approx(13.0)}
    assert capsys.readouterr().err.count("✓ train") == 4


def test_long_work_without_a_bar_says_where_it_is_now_and_then(monkeypatch, capsys):
    clock = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    console, step = Console(), ProgressReporter("train BMLPL", 3, 100, {"objective": -12.5, "moved_mb": 4.25})
    for now in (1.0, 29.0, 31.0, 40.0, 62.0):
        clock[0] = now
        console._on_step(step, "progress")
    said = capsys.readouterr().err.splitlines()
    assert said == ["… train BMLPL: 3 of 100, objective -12.5, moved_mb 4.25"] * 2


def test_a_damaged_result_is_told(capsys):
    Console()._on_step(ProgressReporter("train KNN", remark="what stood was damaged"), "damaged")
    assert capsys.readouterr().err == "! train KNN: what stood was damaged\n"
