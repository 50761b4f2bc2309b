"""Studies of a planted objective: they find its best point, the same one after any kill, and give up what is poor."""

import json
import math

import pytest
from pydantic import ValidationError

from tasks.search.space import SearchRange, from_optuna, grid_points, to_optuna
from tasks.search.study import PRUNE_FROM, RECORD, Study, Trial

SPACE = {
    "C": SearchRange(low=0.01, high=100.0, log=True),
    "k": SearchRange(low=1, high=40),
    "ngrams": [[1, 1], [1, 2]],
}
SHARES = (0.25, 1.0)


def worth(point, share):
    """Best at C = 1, k = 10 and pairs of words; less of everything on fewer rows."""
    far = abs(math.log10(point["C"])) + abs(point["k"] - 10) / 20 + (0.3 if point["ngrams"] == [1, 1] else 0)
    return (0.5 + 0.5 * share) * (2 - far)


def run(study, most=10_000):
    """Makes trials until the study ends, or is killed in mid-trial after so many values."""
    values = 0
    while asked := study.ask():
        for trial in asked:
            for share in study.shares:
                if values == most:
                    return study
                values += 1
                if not study.goes_on(trial, worth(trial.point, share)):
                    break
        for trial in asked:
            study.end(trial)
    return study


@pytest.mark.parametrize(("sampler", "least"), [("tpe", 1.6), ("random", 1.2)])
def test_the_best_point_is_found_and_poor_ones_are_given_up(sampler, least):
    study = run(Study(SPACE, sampler, 40, SHARES, seed=3))
    assert len(study.trials) == 40
    assert study.best.value == max(worth(trial.point, 1.0) for trial in study.whole_trials)
    assert study.best.value > least
    pruned = [trial for trial in study.trials if trial.pruned]
    assert len(pruned) > 5
    assert all(len(trial.values) == 1 for trial in pruned)
    assert min(trial.number for trial in pruned) >= PRUNE_FROM


def test_a_sampler_that_learns_is_better_than_chance():
    best = {
        name: [run(Study(SPACE, name, 30, (1.0,), seed)).best.value for seed in range(3)] for name in ("tpe", "random")
    }
    assert sum(best["tpe"]) > sum(best["random"])


@pytest.mark.parametrize("most", [1, 7, 20])
def test_a_killed_study_goes_on_as_if_it_had_not_been(tmp_path, most):
    whole = run(Study(SPACE, "tpe", 16, SHARES, seed=1))
    run(Study(SPACE, "tpe", 16, SHARES, seed=1, folder=tmp_path), most)
    resumed = run(Study(SPACE, "tpe", 16, SHARES, seed=1, folder=tmp_path))
    assert resumed.trials == whole.trials
    again = Study(SPACE, "tpe", 16, SHARES, seed=1, folder=tmp_path)
    assert (again.trials, again.ask()) == (whole.trials, [])
    more = run(Study(SPACE, "tpe", 20, SHARES, seed=1, folder=tmp_path))
    assert more.trials[:16] == whole.trials
    assert len(more.trials) == 20


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_points_that_are_left_out_are_passed_over_and_never_best(tmp_path, sampler):
    def tried(most, folder):
        study = Study(SPACE, sampler, most, SHARES, seed=3, folder=folder)
        while asked := study.ask():
            (trial,) = asked
            left_out = trial.point["ngrams"] == [1, 2]
            for share in study.shares:
                if not study.goes_on(trial, None if left_out else worth(trial.point, share)):
                    break
            study.end(trial)
        return study

    tried(15, tmp_path)
    study = tried(40, tmp_path)
    assert study.trials == tried(40, None).trials
    left_out = [trial for trial in study.trials if not trial.values]
    assert left_out
    assert all(trial.pruned and trial.point["ngrams"] == [1, 2] for trial in left_out)
    assert study.best.point["ngrams"] == [1, 1]
    assert set(study.importances()) == set(SPACE)


def test_the_best_has_seen_all_rows():
    """A value of fewer rows, which may be higher, is worth nothing beside it."""
    study, point = Study(SPACE, shares=SHARES), {"C": 1.0, "k": 1, "ngrams": [1, 1]}
    study.end(Trial(0, point, [0.9, 0.5]))
    study.end(Trial(1, point, [0.8], pruned=True))
    assert study.best.number == 0


def test_seeds_tell_studies_apart():
    one, two = (run(Study(SPACE, "tpe", 4, SHARES, seed)) for seed in (0, 1))
    assert one.trials != two.trials


def test_the_first_trial_is_what_the_recipe_had():
    start = {"C": 0.5, "k": 3, "ngrams": [1, 2]}
    assert Study(SPACE, start=start).ask()[0].point == start
    for outside in (start | {"C": 200.0}, start | {"k": 3.5}, start | {"ngrams": [2, 2]}, {"C": 1.0}):
        assert Study(SPACE, start=outside).start is None


def test_a_grid_is_tried_whole_and_at_once():
    space = {"alpha": [0.5, 2.0], "ngrams": [[1, 1], [1, 2]]}
    study = Study(space, "grid", n_trials=1, shares=SHARES)
    trials = study.ask()
    assert [trial.point for trial in trials] == list(grid_points(space))
    assert [study.goes_on(trial, value) for trial, value in zip(trials, [1, 3, 3, 2], strict=True)] == [False] * 4
    for trial in trials:
        study.end(trial)
    assert study.ask() == []
    assert study.best.point == {"alpha": 0.5, "ngrams": [1, 2]}  # the first of equal ones


def test_what_matters_is_blamed():
    study = Study(SPACE | {"idle": SearchRange(low=0.0, high=1.0)}, "random", 30)
    while asked := study.ask():
        (trial,) = asked
        study.goes_on(trial, math.log10(trial.point["C"]))
        study.end(trial)
    shares = study.importances()
    assert next(iter(shares)) == "C"
    assert shares["C"] > 0.6
    assert sum(shares.values()) == pytest.approx(1)
    assert Study(SPACE).importances() == {}


def test_points_pass_through_optuna_as_people_write_them():
    point = {"C": 0.3012, "k": 7, "ngrams": [1, 2]}
    assert to_optuna(SPACE, point)["ngrams"] == 1
    assert from_optuna(SPACE, to_optuna(SPACE, point)) == point
    assert from_optuna(SPACE, {"C": 0.30117, "k": 7, "ngrams": 1}) == point | {"C": 0.3012}
    ends = {"C": SearchRange(low=0.123456, high=0.654321)}
    assert [from_optuna(ends, {"C": c})["C"] for c in (0.123456, 0.654321)] == [0.1235, 0.6543]
    assert from_optuna({"C": SearchRange(low=0.123476, high=0.2)}, {"C": 0.123476})["C"] == 0.1235
    assert from_optuna({"C": SearchRange(low=0.123436, high=0.2)}, {"C": 0.123437})["C"] == 0.123436


@pytest.mark.parametrize("damage", ["{", "[1]", json.dumps([{"number": 0}])])
def test_a_damaged_record_is_named(tmp_path, damage):
    (tmp_path / RECORD).write_text(damage)
    with pytest.raises(ValueError, match=r"trials\.json: no list of trials .*remove it to begin the study anew"):
        Study(SPACE, folder=tmp_path)


@pytest.mark.parametrize("bad", [{"low": 2, "high": 1}, {"low": 0, "high": 1, "log": True}, {"low": 1}, {"from": 1}])
def test_ranges_that_are_none(bad):
    with pytest.raises(ValidationError):
        SearchRange(**bad)
