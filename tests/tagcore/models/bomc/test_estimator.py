"""BOMC as an estimator: streams, growth, permutations, scale, forgetting, noise, many classes of which one is right."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import normalize

from tagcore.base import load_estimator
from tagcore.features.rows import InMemory
from tagcore.metrics.label_quality import label_counts
from tagcore.models import BOMC
from tagcore.models.bomc import stream
from tagcore.models.bomc.kernel import skew_margin
from tagcore.shards import InProcess
from tests.problems import nearly_linear, noisy, obvious

STREAM = {"shuffle": False, "skew": "running"}
VARIANTS = pytest.mark.parametrize("variant", ["coupled", "independent"])


def state(model):
    return {name: getattr(model, name) for name in model._arrays} | {"n_seen_": model.n_seen_}


def assert_same(one, two):
    for name, values in state(one).items():
        assert np.array_equal(values, state(two)[name]), name


def scores(model, X):
    return np.concatenate([block for _, block in model.score_blocks(X)])


@VARIANTS
@pytest.mark.parametrize("skew", ["running", None, [0.1] * 20])
def test_ten_batches_equal_one_fit_to_the_last_bit(variant, skew):
    X, Y = noisy(n=203)
    whole = BOMC.published(variant, shuffle=False, skew=skew).fit(X, Y)
    parts = BOMC.published(variant, shuffle=False, skew=skew)
    for rows in np.array_split(np.arange(X.shape[0]), 10):
        parts.partial_fit(X[rows], Y[rows])
    assert_same(whole, parts)


@pytest.mark.parametrize("settings", [{}, {"variant": "independent"}, {"parallel": "classes", "warm_up": 30}])
def test_rows_read_in_blocks_give_the_same_bits(settings, monkeypatch):
    """a stream longer than a block, from memory whole and from a source that gives no more than it is asked for."""
    monkeypatch.setattr(stream, "BLOCK", 64)
    X, Y = noisy(n=200)
    read = []

    class Elsewhere(InMemory):
        def load(self, part):
            read.append(part.stop - part.start)
            return super().load(part)

    whole, blocks = BOMC.published(**settings).fit(X, Y), BOMC.published(**settings).fit_rows(Elsewhere(X, Y))
    assert_same(whole, blocks)
    order = stream.stream_order(200, 0)
    assert np.array_equal(np.sort(order), np.arange(200))
    assert not np.array_equal(order, np.arange(200))
    assert settings.get("parallel") or settings.get("variant") or max(read) == 64


@VARIANTS
@pytest.mark.parametrize("drift", [0.0, 1e-3])
def test_a_stream_goes_on_from_a_stored_model(variant, drift, tmp_path):
    X, Y = noisy(n=120)
    settings = STREAM | {"variant": variant, "drift": drift, "bias_drift": drift}
    whole = BOMC.published(**settings).fit(X, Y)
    BOMC.published(**settings).partial_fit(X[:70], Y[:70]).save(tmp_path / "stored")
    assert_same(whole, load_estimator(tmp_path / "stored").partial_fit(X[70:], Y[70:]))


@VARIANTS
def test_the_order_of_tags_does_not_matter(variant):
    X, Y = nearly_linear(300)
    order = np.random.default_rng(0).permutation(Y.shape[1])
    model, permuted = (BOMC.published(variant, dtype="float64", tol=1e-10).fit(X, y) for y in (Y, Y[:, order]))
    np.testing.assert_allclose(scores(permuted, X), scores(model, X)[:, order], atol=1e-8)


def test_independent_tags_do_not_know_of_one_another():
    X, Y = noisy(tags=150)
    some = [3, 70, 71, 149]
    model, alone = (BOMC.published("independent").fit(X, y, executor=InProcess(2)) for y in (Y, Y[:, some]))
    assert np.array_equal(model.mean_[:, some], alone.mean_)
    assert np.array_equal(model.variance_[:, some], alone.variance_)
    assert np.array_equal(model.bias_mean_[some], alone.bias_mean_)


def test_coupled_with_one_tag_is_independent():
    X, Y = noisy(tags=3)
    one, other = (
        BOMC.published(v, bias_var=2.0, dtype="float64", tol=1e-12).fit(X, Y[:, :1]) for v in ("coupled", "independent")
    )
    np.testing.assert_allclose(one.mean_, other.mean_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.bias_variance_, other.bias_variance_, rtol=1e-9)


@VARIANTS
def test_variances_only_fall_and_stay_positive(variant):
    X, Y = noisy(n=200)
    model, before = BOMC.published(variant, **STREAM), np.ones((X.shape[1], Y.shape[1]), np.float32)
    for rows in np.array_split(np.arange(X.shape[0]), 20):
        model.partial_fit(X[rows], Y[rows])
        assert (model.variance_ <= before).all()
        assert (model.variance_ > 0).all()
        before = model.variance_.copy()


@VARIANTS
def test_scale_of_rows_and_prior_cancel(variant):
    X, Y = noisy()
    X = normalize(X)
    settings = {"variant": variant, "normalise": False, "dtype": "float64"}
    model = BOMC.published(**settings).fit(X, Y)
    scaled = BOMC.published(**settings, prior_var=1 / 9).fit(3 * X, Y)
    np.testing.assert_allclose(scores(scaled, 3 * X), scores(model, X), rtol=1e-7, atol=1e-9)


@VARIANTS
def test_float32_gives_the_labels_of_float64(variant):
    X, Y = nearly_linear(800)
    one, other = (scores(BOMC.published(variant, dtype=dtype).fit(X, Y), X) for dtype in ("float32", "float64"))
    np.testing.assert_allclose(one, other, atol=2e-3)


def test_words_that_never_occur_and_rows_without_words():
    X, Y = noisy()
    wider = sp.hstack([X, sp.csr_matrix((X.shape[0], 3))], format="csr")
    model, padded = BOMC.published(**STREAM).fit(X, Y), BOMC.published(**STREAM).fit(wider, Y)
    assert np.array_equal(padded.mean_[:-3], model.mean_)
    assert not padded.mean_[-3:].any()
    assert (padded.variance_[-3:] == 1).all()
    before = {name: values.copy() for name, values in state(model).items() if name != "n_seen_"}
    model.partial_fit(sp.csr_matrix((2, X.shape[1])), Y[:2])
    moved = {name for name, values in before.items() if not np.array_equal(values, getattr(model, name))}
    assert moved == {"bias_mean_", "bias_variance_", "positives_", "exposures_"}


@VARIANTS
def test_extensions_that_are_off_change_no_bit(variant):
    X, Y = noisy()
    plain = BOMC.published(variant).fit(X, Y)
    assert_same(plain, BOMC.published(variant, flip=0.0, drift=0.0, bias_drift=0.0).fit(X, Y))
    assert_same(plain, BOMC.published(variant, flip=[0.0, 0.0]).fit(X, Y))
    assert np.array_equal(plain.mean_, BOMC.published(variant, parents=[-1] * Y.shape[1]).fit(X, Y).mean_)
    np.testing.assert_allclose(plain.mean_, BOMC.published(variant, drift=1e-12).fit(X, Y).mean_, atol=1e-4)


@pytest.mark.parametrize("name", ["variance_", "bias_variance_"])
@pytest.mark.parametrize("value", [0.0, -7.6e-21])
def test_a_stored_variance_that_is_none_is_refused(name, value, tmp_path):
    model = BOMC.published(**STREAM).fit(*noisy())
    getattr(model, name).flat[0] = value
    model.save(tmp_path / "stored")
    with pytest.raises(ValueError, match=rf"\({name} must be positive"):
        load_estimator(tmp_path / "stored")


@pytest.mark.filterwarnings("ignore:flip=.* lets present tags be mistakes")
@VARIANTS
def test_one_wrong_label_moves_a_model_that_allows_for_flips_less(variant):
    X, Y = obvious(n=300)
    wrong = sp.csr_matrix(np.roll(Y[0].toarray(), 1, axis=1))
    shift = []
    for flip in (0.0, 0.001):
        model = BOMC.published(variant, flip=[0.0, flip], **STREAM).fit(X, Y)
        before = model.mean_.copy()
        shift.append(np.abs(model.partial_fit(X[0], wrong).mean_ - before).sum())
    assert shift[1] < 0.8 * shift[0]


def test_the_margin_of_a_tag_is_that_of_its_positives_to_its_negatives():
    """as it is counted, and as a ratio of the same size is given."""
    X, Y = noisy(n=60, tags=5)
    Y = Y[:, :-1]  # without the tag that no row has
    positives = Y.getnnz(axis=0)
    counted = BOMC.published(shuffle=False).fit(X, Y)
    given = BOMC.published(shuffle=False, skew=(positives / (60 - positives)).tolist()).fit(X, Y)
    np.testing.assert_allclose(counted.mean_, given.mean_, rtol=1e-5, atol=1e-7)
    assert skew_margin(3.0, 10.0, 2.0) == pytest.approx(2 * np.log(np.e + 7 / 3), rel=1e-14)


def test_the_margin_of_rare_tags_is_wider():
    X, Y = nearly_linear()
    with_margin, without = (BOMC.published(skew=skew).fit(X, Y).predict(X) for skew in ("counted", None))
    assert with_margin[:, -1].sum() > without[:, -1].sum()


@given(st.integers(0, 6), st.integers(0, 4))
def test_growth_starts_from_the_prior(words, tags):
    X, Y = noisy(n=60, words=10, tags=5)
    X, Y, X_new, Y_new = X[:30], Y[:30], X[30:], Y[30:]
    model = BOMC.published(**STREAM, warm_start=True).fit(X, Y)
    before = scores(model, X)
    grown = model.grow(10 + words, 5 + tags)
    assert grown.mean_.shape == (10 + words, 5 + tags)
    wider = sp.hstack([X, sp.csr_matrix((30, words))], format="csr")
    assert np.array_equal(scores(grown, wider)[:, :5], before)
    grown.fit(*(sp.hstack([new, sp.csr_matrix((30, more))]) for new, more in ((X_new, words), (Y_new, tags))))
    assert grown.n_seen_ == 60
    assert np.isfinite(grown.mean_).all()


def test_a_warm_start_equals_a_stream_that_knew_all_words_and_tags_from_the_start():
    X, Y = (part.toarray() for part in noisy(n=80, words=12, tags=6))
    early = slice(0, 40)
    X[early, 9:], Y[early, 4:] = 0.0, 0.0
    X, Y = sp.csr_matrix(X), sp.csr_matrix(Y)
    warm = BOMC.published("independent", **STREAM, warm_start=True).fit(X[early, :9], Y[early, :4]).fit(X[40:], Y[40:])
    known = BOMC.published("independent", **STREAM).fit(X, Y)
    assert np.array_equal(warm.mean_[:, :4], known.mean_[:, :4])
    assert np.array_equal(warm.positives_, known.positives_)
    assert np.array_equal(warm.exposures_, known.exposures_)  # rows that were there before a tag did not have it


def test_a_warm_start_cannot_shrink_and_leaves_the_model_as_it_was():
    X, Y = noisy()
    model = BOMC.published(warm_start=True).fit(X, Y)
    kept = {name: np.copy(values) for name, values in state(model).items()}
    for X_new, Y_new in ((X[:, :-1], Y), (X, Y[:, :-1])):
        with pytest.raises(ValueError, match="would be fewer"):
            model.fit(X_new, Y_new)
    bad = X.copy()
    bad.data[0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(bad, Y)
    with pytest.raises(ValueError, match="y has 19 tags, the model 20: `grow`"):
        model.partial_fit(X, Y[:, :-1])
    for name, values in kept.items():
        assert np.array_equal(values, state(model)[name])
    assert model.n_features_in_ == X.shape[1]


def test_multi_class_finds_the_one():
    X, Y = obvious()
    model = BOMC.published("multi-class").fit(X, Y)
    assert np.array_equal(model.predict(X).toarray(), Y.toarray() > 0)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert np.array_equal(proba.argmax(axis=1), Y.toarray().argmax(axis=1))
    with pytest.raises(ValueError, match="row 0 has 2 tags, a multi-class model learns from one"):
        model.fit([[1.0, 0.0]], [[1, 1]])


def test_multi_class_moves_mean_and_variance_of_both_classes_as_quadrature_does():
    """one row of one word: f0 - f1 is normal, cut off below the margin; each class takes its share."""
    model = BOMC.published(
        "multi-class", normalise=False, dtype="float64", noise=0.1, margin=1.5, tol=1e-12, max_sweeps=200
    )
    model.fit([[1.0]], [[1, 0]])
    spread = 2 * (1 + 0.1**2)  # of f0 - f1, noise on both
    d = np.linspace(1.5, 1.5 + 30, 400_001)
    density = np.exp(-0.5 * d**2 / spread)
    density /= np.trapezoid(density, d)
    mean = np.trapezoid(d * density, d)
    variance = np.trapezoid((d - mean) ** 2 * density, d)
    np.testing.assert_allclose(model.mean_, [[mean / spread, -mean / spread]], rtol=1e-6)
    np.testing.assert_allclose(model.variance_, 1 - (1 - variance / spread) / spread, rtol=1e-6)


def test_an_explanation_adds_up_to_the_score():
    X, Y = noisy()
    for variant in ("coupled", "independent"):
        model = BOMC.published(variant, dtype="float64").fit(X, Y)
        explanation = model.explain(X[4], 7)
        sd = np.sqrt(np.sum(explanation.spread**2) + model.bias_variance_[0 if variant == "coupled" else 7])
        assert (explanation.push.sum() + explanation.bias) / sd == pytest.approx(scores(model, X[4])[0, 7])
    with pytest.raises(ValueError, match="a tag from 0 to 19"):
        model.explain(X[4], 20)


def test_expected_f_labels_better_than_one_half_without_the_margin():
    X, Y = nearly_linear()
    model = BOMC.published(skew=None).fit(X[:2000], Y[:2000])
    expected = model.expected_f(X[2000:])
    labels = np.vstack([scores > expected.best() for _, scores in model.score_blocks(X[2000:])])
    half = label_counts(Y[2000:], model.predict(X[2000:])).macro().f1
    assert label_counts(Y[2000:], labels).macro().f1 > half - 0.02
    assert expected.expected().shape == (5, 20)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("variant", "loose", 'variant must be "coupled", "independent" or "multi-class"'),
        ("prior_var", 0.0, "prior_var must be positive"),
        ("bias_var", -1.0, "bias_var must be positive"),
        ("flip", 0.5, "flip must be at least 0 and below 0.5"),
        ("drift", -0.1, "drift must be at least 0"),
        ("skew", "often", 'skew must be "counted", "running"'),
        ("skew", [1.0, 2.0], "a positive ratio for each of 20 tags"),
        ("parents", [0, 1], "one number for each of 20 tags"),
        ("dtype", "float16", "dtype must be"),
        ("max_weights", 10, "more than max_weights=10"),
    ],
)
def test_wrong_settings_are_named(setting, value, message):
    with pytest.raises(ValueError, match=message):
        BOMC.published(**{setting: value}).fit(*noisy())


def test_the_noise_widens_every_score_where_it_counts_in_prediction():
    X, Y = noisy()
    model = BOMC.published(noise=2.0, noise_in_predict=True, normalise=False, dtype="float64").fit(X, Y)
    mean = X @ model.mean_ - model.bias_mean_
    variance = X.multiply(X) @ model.variance_ + model.bias_variance_ + 2.0**2
    ((_, scores),) = model.score_blocks(X)
    np.testing.assert_allclose(scores, mean / np.sqrt(variance), rtol=1e-9)
