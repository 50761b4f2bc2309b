"""What long work says of itself, to a person and to Prefect."""

import logging

import pytest

from tasks import progress
from tasks.progress import ProgressReporter


@pytest.fixture
def reported(monkeypatch):
    """The percentages that Prefect was told."""
    percent = []

    def create(progress, description):
        percent.append(progress)
        return "artifact"

    monkeypatch.setattr(progress, "create_progress_artifact", create)
    monkeypatch.setattr(progress, "update_progress_artifact", lambda _, progress, description: percent.append(progress))
    monkeypatch.setattr(progress.TaskRunContext, "get", lambda: "a task run")
    monkeypatch.setattr(progress, "get_run_logger", lambda: logging.getLogger("of the run"))
    return percent


def test_a_finished_step_is_at_a_hundred_percent(reported):
    step = ProgressReporter("train BMLPL", every_seconds=0.0)
    step(1, 4, {})
    step(3, 4, {})
    step.tell("made")
    assert reported == [25.0, 75.0, 100.0]


def test_a_step_that_was_too_short_to_report_reports_nothing(reported):
    step = ProgressReporter("train KNN")
    step(1, 4, {})
    step.tell("made")
    assert reported == []


def test_the_log_of_the_run_has_every_step_with_its_numbers(reported, caplog):
    with caplog.at_level(logging.INFO):
        step = ProgressReporter("train KNN", known={"seconds": 1.25}, remark="2 bad rows left out")
        step.tell("start")
        step.tell("made")
        ProgressReporter("read notes").tell("stands")
    assert caplog.messages == ["train KNN: made, seconds 1.25; 2 bad rows left out", "read notes: stands already"]


def test_a_step_that_fails_stays_where_it_was(reported):
    step = ProgressReporter("train BMLPL", every_seconds=0.0)
    step(1, 4, {})
    step.tell("start")
    assert reported == [25.0]


def test_a_line_says_of_how_many_where_that_is_known():
    assert (
        ProgressReporter("train BMLPL", 3, 1000, {"objective": -12.5}).line
        == "train BMLPL: 3 of 1,000, objective -12.5"
    )


def test_a_line_without_a_total_says_so():
    assert ProgressReporter("read medical", 1978, 0).line == "read medical: 1,978 so far"
