"""A stored classifier takes rows as they stand in their table."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from tagcore import load_model
from tagcore.baselines import KernelSVM
from tagcore.classifier import Classifier
from tagcore.features.class_split import Scaling
from tests.tagcore.test_class_model import blobs


def trained():
    X, y = blobs()
    X = X * [100.0, 0.01] + [7.0, -3.0]
    scaling = Scaling.of(X)
    return Classifier(KernelSVM().fit(scaling.apply(X), y), ["width", "height"], scaling), X, y


def test_rows_go_in_unscaled_and_classes_come_out_also_from_a_folder(tmp_path):
    classifier, X, y = trained()
    classifier.save(tmp_path / "classifier")
    for one in (classifier, Classifier.load(tmp_path / "classifier"), load_model(tmp_path / "classifier")):
        assert one.columns == ["width", "height"]
        assert np.array_equal(one.predict(X.tolist()), y)
        assert np.array_equal(one.predict_proba(X), classifier.predict_proba(X))


def test_parts_that_do_not_fit_together_are_refused(tmp_path):
    classifier, _, _ = trained()
    with pytest.raises(ValueError, match="the model has 2 columns"):
        Classifier(classifier.model, ["width"], classifier.scaling)
    with pytest.raises(ValueError, match="deviations above 0"):
        Classifier(classifier.model, ["width", "height"], Scaling(np.zeros(2), np.array([1.0, 0.0])))
    classifier.save(tmp_path / "classifier")
    table = pq.read_table(tmp_path / "classifier" / "scaling.parquet")
    pq.write_table(table.slice(1), tmp_path / "classifier" / "scaling.parquet")
    with pytest.raises(ValueError, match=r"scaling\.parquet"):
        Classifier.load(tmp_path / "classifier")
