"""What a night leaves for the next one."""

from pathlib import Path
from unittest.mock import Mock

import pytest

from flows import nightly
from flows.jobs import Job
from tasks.evaluate import EvaluatedModel
from tasks.promotion.decision import Decision, Guard
from tasks.recipe_settings import ModelSettings


@pytest.mark.parametrize(("passed", "left"), [([True, True], 1), ([True, False], 0), ([], 1)])
def test_a_night_that_a_guard_refused_is_not_gone_on_from(monkeypatch, tmp_path, passed, left):
    monkeypatch.setattr(nightly, "quality_by_hold_out", lambda *arguments: [["KNN", "0.5", "20", "none yet", "0"]])
    tonight = Mock()
    tonight.limit_rows.return_value = []
    guards = [Guard(str(number), one, "", "") for number, one in enumerate(passed)]
    decision = Decision("notes", "KNN", "2", "1", False, "not better", "nDCG@5", guards=guards)
    job = Job(ModelSettings(model="KNN"), tmp_path, 0)
    model = EvaluatedModel("KNN", Path("model-1"), tmp_path, tmp_path)
    tables = nightly.end_night(tonight, [job], [model], decision, "nDCG@5")
    assert tonight.end.call_count == left
    tonight.trained.assert_called_once_with(job.model, 0, Path("model-1"))
    assert [title for title, _, _ in tables] == [
        "How models were trained",
        "Go on, or start over",
        "nDCG@5 on old and new documents",
    ]
