"""Scores in shards: the model's own, bit for bit, wherever rows are and whoever works on them."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tagcore.baselines import KNN, LEML, OneVsRestLinear, Popular
from tagcore.features.rows import InMemory, StoredPart, StoredRows
from tagcore.models import BMLPL, BOMC
from tagcore.scoring import sharded
from tagcore.scoring.calibration import IsotonicCalibrator, PlattCalibrator
from tagcore.scoring.sharded import Scorer, ShardedScores, shard_count
from tagcore.shards import InProcess
from tagcore.tagger import Tagger
from tagcore.text import Vectoriser
from tests.problems import noisy
from tests.tagcore.features.test_rows import features

MODELS = [
    Popular(),
    KNN(),
    OneVsRestLinear(),
    LEML(rank=4, max_iter=2),
    BOMC.published(),
    BMLPL(n_topics=4, max_iter=3),
]


class Counting(InProcess):
    """Notes what was shared."""

    def __init__(self, threads=1):
        super().__init__(threads)
        self.shared = []

    def share(self, arrays):
        self.shared.append(arrays)
        return super().share(arrays)


@pytest.fixture(scope="module")
def problem():
    return noisy(n=500, tags=30)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    return StoredRows.open(features(tmp_path_factory.mktemp("sharded")), "train")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_top_k_is_the_model_s_own(model, problem):
    X, Y = problem
    model.fit(X, Y)
    tags, scores = model.top_k(X, 5)
    tops = [ShardedScores(model, InMemory(X, Y), InProcess(threads)).top_k(5) for threads in (1, 3)]
    for sharded_tags, sharded_scores in tops:
        np.testing.assert_array_equal(sharded_tags, tags)
        np.testing.assert_allclose(sharded_scores, scores, rtol=1e-12)  # BLAS rounds by the height of a block
    assert tops[0][1].tobytes() == tops[1][1].tobytes()


def test_top_k_beyond_the_labels_and_below_one(problem):
    X, Y = problem
    in_shards = ShardedScores(Popular().fit(X, Y), InMemory(X, Y))
    assert in_shards.top_k(1000)[0].shape == (500, 30)
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        in_shards.top_k(0)
    with pytest.raises(ValueError, match="the data set has no rows"):
        ShardedScores(Popular().fit(X, Y), InMemory(X[:0], Y[:0]))


def numbers(part):
    return part.first, part.truth.shape[0]


def sums(part):
    return {"scores": sum(scores.sum(axis=0) for _, scores in part.blocks()), "tags": part.truth.sum(axis=0)}


def walked(part):
    return np.concatenate([scores.copy() for _, scores in part.blocks()])


def test_steps_see_global_rows_their_truth_and_scores(problem):
    X, Y = problem
    model = OneVsRestLinear().fit(X, Y)
    in_shards = ShardedScores(model, InMemory(X, Y), InProcess(2))
    starts, sizes = np.transpose(in_shards.collect(numbers))
    assert starts.tolist() == [0, *np.cumsum(sizes)[:-1]]
    assert sizes.sum() == 500
    assert len(sizes) == shard_count(500, 30) == 4
    ((_, dense),) = model.score_blocks(X)
    np.testing.assert_array_equal(np.concatenate(in_shards.collect(walked)), dense)
    totals = in_shards.sum(sums)
    np.testing.assert_allclose(totals["scores"], dense.sum(axis=0))
    np.testing.assert_array_equal(totals["tags"], Y.sum(axis=0))


@pytest.mark.parametrize("held", [0, 10**6])
def test_stored_rows_are_those_of_memory(stored, held, monkeypatch):
    """read once, or again for every pass where there are too many to hold."""
    monkeypatch.setattr(sharded, "_HELD_ROWS", held)
    rows = InMemory(*stored.load(slice(0, stored.n_rows)))
    model = KNN(n_neighbors=5).fit(rows.X, rows.Y)
    in_shards, expected = ShardedScores(model, stored, InProcess(2)), ShardedScores(model, rows)
    for of_stored, of_memory in zip(in_shards.top_k(4), expected.top_k(4), strict=True):
        assert of_stored.tobytes() == of_memory.tobytes()
    assert b"".join(s.tobytes() for s in in_shards.collect(walked)) == b"".join(
        s.tobytes() for s in expected.collect(walked)
    )
    kept = [shard.data for shard in in_shards._shards.executor.get(in_shards._shards.data)]
    assert all(isinstance(data, StoredPart) == (held == 0) for data in kept)


class Asked:
    """Counts how often it is asked; rows are its scores."""

    def __init__(self):
        self.times = 0

    def score_blocks(self, X):
        self.times += 1
        buffer = np.empty((1, X.shape[1]))
        for i in range(X.shape[0]):
            buffer[:] = X[i].toarray()
            yield slice(i, i + 1), buffer


@pytest.mark.parametrize(("cells", "times"), [(0, 3), (10**6, 1)])
def test_the_model_is_asked_once_where_its_scores_are_few(cells, times, monkeypatch):
    monkeypatch.setattr(sharded, "KEPT_CELLS", cells)
    scores = np.random.default_rng(0).normal(size=(20, 4))
    model = Asked()
    in_shards = ShardedScores(model, InMemory(sp.csr_matrix(scores), sp.csr_matrix((20, 4))))
    for _ in range(2):
        np.testing.assert_array_equal(np.concatenate(in_shards.collect(walked)), scores)
    np.testing.assert_allclose(in_shards.sum(sums)["scores"], scores.sum(axis=0))
    assert model.times == times


def test_the_model_is_shared_once(problem):
    X, Y = problem
    model = KNN().fit(X, Y)
    executor = Counting()
    in_shards = ShardedScores(model, InMemory(X, Y), executor)
    in_shards.top_k(3)
    in_shards.collect(walked)
    in_shards.sum(sums)
    holding = [shared for shared in executor.shared if "scorer" in shared]
    assert len(holding) == 1
    assert holding[0]["scorer"]["model"]["arrays"].keys() == set(KNN._arrays)


def test_a_bad_score_is_named_by_its_row_among_all(monkeypatch):
    monkeypatch.setattr(sharded, "_AT_LEAST", ((5, 1),))
    scores = np.zeros((20, 3))
    scores[13, 2] = np.inf
    with pytest.raises(ValueError, match="the score of row 13, label 2 is inf"):
        ShardedScores(Asked(), InMemory(sp.csr_matrix(scores), sp.csr_matrix((20, 3)))).collect(walked)
    with pytest.raises(ValueError, match=r"scores from row 0 have shape \(1, 3\), expected 4 columns"):
        ShardedScores(Asked(), InMemory(sp.csr_matrix(scores), sp.csr_matrix((20, 4)))).collect(walked)


@pytest.mark.parametrize("calibrator", [IsotonicCalibrator(), PlattCalibrator(), None])
def test_a_scorer_is_made_again_of_its_parts(calibrator, problem):
    X, Y = problem
    model = BOMC.published().fit(X, Y)
    scores = next(model.score_blocks(X))[1]
    if calibrator:
        calibrator.fit(scores, Y.toarray() > 0)
    scorer = Scorer(model, calibrator, np.linspace(-1, 1, 30))
    again = Scorer.from_parts(scorer.parts())
    assert again.model is not model
    assert again.proba(scores).tobytes() == scorer.proba(scores).tobytes()
    assert next(again.model.score_blocks(X))[1].tobytes() == scores.tobytes()
    np.testing.assert_array_equal(again.thresholds, scorer.thresholds)


def test_a_tagger_is_scored_by_its_model_with_its_calibrator_and_thresholds(problem):
    X, Y = problem
    vectoriser = Vectoriser().fit([" ".join(f"word{i}" for i in range(X.shape[1]))])
    model, thresholds = Popular().fit(X, Y), np.linspace(0, 1, 30)
    calibrator = PlattCalibrator().fit(np.arange(4.0), np.array([0, 1, 0, 1]))
    scorer = Scorer.of(Tagger(vectoriser, model, [f"tag{i}" for i in range(30)], calibrator, thresholds))
    assert scorer.model is model
    assert scorer.calibrator is calibrator
    assert scorer.thresholds is thresholds


def test_a_model_alone_is_scored_by_itself():
    alone = Asked()
    assert vars(Scorer.of(alone)) == {"model": alone, "calibrator": None, "thresholds": None}
    alone.thresholds = np.zeros(3)
    assert Scorer.of(alone).thresholds is alone.thresholds


@given(st.integers(1, 10**9), st.integers(1, 10**6))
def test_shards_are_neither_huge_nor_many(n, labels):
    count = shard_count(n, labels)
    rows = -(-n // count)
    assert rows <= 65_536
    assert rows * labels <= 4_000_000 or rows <= 256
    assert count <= max(32, -(-n // 256), n * labels // 4_000_000 + 1, -(-n // 65_536))
    assert count >= min(4, -(-n // 64))


def test_few_rows_of_few_labels_are_spread_too():
    assert shard_count(1, 5) == 1
    assert shard_count(2_000, 100) == 4
    assert shard_count(20_000, 100) == 20
    assert shard_count(800_000, 103) == 32
    assert shard_count(3_809, 3_993) == 4
    assert shard_count(10_000, 100_000) == 40
