"""What a night leaves for the next one."""

from contextlib import nullcontext
from pathlib import Path
from unittest.mock import Mock

import pytest

from flows import nightly
from flows.jobs import Job
from flows.recipes import load_recipe
from tasks.evaluate import EvaluatedModel
from tasks.promotion.decision_record import Decision, Guard
from tasks.recipe_settings import ModelSettings
from tests.workspaces import workspace_at


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


def test_the_report_of_a_night_is_told_what_the_recipe_asks_of_it(monkeypatch, tmp_path):
    report = Mock(side_effect=KeyboardInterrupt)  # far enough
    for name in ("ingest", "train_and_evaluate", "comparison_run", "log_performance", "log_recipe", "register"):
        monkeypatch.setattr(nightly, name, Mock())
    monkeypatch.setattr(nightly, "build_jobs", Mock())
    monkeypatch.setattr(nightly, "open_clusters", lambda _: nullcontext([]))
    monkeypatch.setattr(nightly, "report", report)
    asked = {"columns": ["MAE"], "against": "UserMean", "by_popularity": True}
    published = {"published": {"PMF": {"MAE": 0.7}}, "published_on": {"demo": {"PMF": {"MAE": 0.6}}}}
    recipe = load_recipe("ratings", {"measures": asked, **published})
    with pytest.raises(KeyboardInterrupt):
        nightly.follow(recipe, "ratings-demo", workspace_at(tmp_path))
    told = asked | {"published": published["published"], "beside": published["published_on"]["demo"]}
    assert report.call_args.kwargs == told
