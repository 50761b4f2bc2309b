"""Reports of recommenders: errors by how much users have rated, and a paired test against one model of the table."""

import numpy as np
import pytest
from scipy import stats

from tagcore.baselines import DampedBiases, ItemMean, UserMean
from tagcore.features.rating_split import RatingSplit
from tagcore.metrics.evaluate_ratings import evaluate_ratings
from tagcore.metrics.evaluation import Evaluation
from tagcore.recommender import Recommender
from tagcore.store.datasets import write_dataset
from tagcore.synthetic.ratings import PlantedRatings
from tasks.evaluate import EvaluatedModel
from tasks.reporting.activity import GROUPS, errors_by_activity
from tasks.reporting.report import _compare

RATINGS = PlantedRatings(120, 60, ratings_per_user=25, seed=4).ratings()


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("measured")
    found = []
    for seed in range(4):
        split = RatingSplit(test=0.5, train=0.7, train_seed=seed, cold_users=10)
        learnt, held_out = split.apply(RATINGS)
        learnt = split.without_cold_users(learnt, held_out)
        for model in (UserMean(), ItemMean(), DampedBiases()):
            label = type(model).__name__
            served = Recommender.of(model.fit(learnt), learnt)
            served.save(folder / f"{label} {seed}")
            with write_dataset(
                folder / f"{label} {seed} evaluation", "evaluation", parameters={"s": seed, "l": label}
            ) as w:
                evaluate_ratings(served, held_out).save(w.folder)
            places = folder / f"{label} {seed}", folder / f"{label} {seed} evaluation", folder / f"split {seed}"
            found.append(EvaluatedModel(label, *places, seed, "ratings"))
    return found


def test_groups_add_up_to_all_users_and_all_errors(measured):
    table, users = errors_by_activity(measured)
    assert list(table) == ["UserMean", "ItemMean", "DampedBiases"]
    assert users.size == len(GROUPS)
    assert users[0] >= 10  # the cold ones
    errors = {label: np.zeros(len(GROUPS)) for label in table}
    counts = np.zeros(len(GROUPS))
    for one in measured:
        for row in Evaluation.load(one.evaluation).per_user.to_pylist():
            seen = row["train_ratings"]
            group = 0 if seen == 0 else min(1 + int(np.log2(max((seen - 1) / 20, 1)) + (seen > 20)), 6)
            errors[one.label][group] += row["absolute_error"]
            counts[group] += row["ratings"] if one.label == "UserMean" else 0
    for label, values in table.items():
        np.testing.assert_allclose(values, errors[label] / np.where(counts, counts, np.nan))


def test_a_report_compares_all_with_one_and_tells_activity(measured, tmp_path):
    made, files = _compare("t", measured, "MAE", tmp_path, "key", against="ItemMean")
    rows = {row.model: row for row in made.rows}
    assert rows["ItemMean"].to_other == ""
    values = {
        m: [Evaluation.load(one.evaluation).summary["MAE"].value for one in measured if one.label == m] for m in rows
    }
    better = stats.ttest_rel(values["DampedBiases"], values["ItemMean"], alternative="less")
    difference = np.mean(values["DampedBiases"]) - np.mean(values["ItemMean"])
    assert rows["DampedBiases"].to_other == f"{difference:+.4f} ({better.pvalue:.1g})"
    worse = stats.ttest_rel(values["UserMean"], values["ItemMean"], alternative="less")
    assert f"({worse.pvalue:.1g})" in rows["UserMean"].to_other
    text = made.markdown()
    assert "| MAE to best | MAE to ItemMean (p) |" in text
    assert "| MAE by ratings to learn from | 0 (" in text
    assert "activity.png" in made.pictures
    assert tmp_path / "activity.png" in files
    alone, _ = _compare("t", measured, "nDCG@10", tmp_path, "key", against="nobody")
    assert "nobody" not in alone.markdown()
    assert "%)" not in alone.more
