"""Given labels against true ones, whole and joined from parts: as scikit-learn measures them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import hamming_loss, precision_recall_fscore_support

from tagcore.metrics.tally import tally_labels
from tests.tagcore.metrics.problems import messy_csr
from tests.tagcore.metrics.test_label_quality import two_labellings


@given(two_labellings(), st.integers(0, 10))
def test_equal_to_scikit_learn(pair, cut):
    truth, predicted = ((m > 0).astype(int) for m in pair)
    whole = tally_labels(*(messy_csr(m) for m in pair))
    cut = min(cut, len(truth))
    joined = tally_labels(*(m[:cut] for m in pair)) + tally_labels(*(m[cut:] for m in pair))
    for tally in (whole, joined):
        micro = [tally.micro_precision().value, tally.micro_recall().value, tally.micro_f1().value]
        for average, quality in (("micro", micro), ("macro", tally.macro())):
            expected = precision_recall_fscore_support(truth, predicted, average=average, zero_division=0)[:3]
            np.testing.assert_allclose(quality, expected, atol=1e-14)
        np.testing.assert_allclose(tally.hamming_loss(), (truth != predicted).mean(axis=1), atol=1e-15)
        assert tally.hamming_loss().mean() == pytest.approx(hamming_loss(truth, predicted), abs=1e-14)


def test_macro_averages_are_over_the_labels_that_they_are_to_be_over():
    tally = tally_labels(np.eye(3), np.eye(3, k=0) * [1, 1, 0])
    assert tally.macro() == pytest.approx((2 / 3, 2 / 3, 2 / 3))
    assert replace(tally, macro_over=np.array([True, True, False])).macro() == (1, 1, 1)


def test_what_does_not_fit_is_named():
    with pytest.raises(ValueError, match=r"truth has shape \(2, 2\), the prediction \(3, 2\)"):
        tally_labels(np.eye(2), np.eye(3, 2))
