"""Measures a classifier on held-out rows, by every measure of classes in the catalogue."""

import math
import time

import numpy as np
import pyarrow as pa

from tagcore.class_model import ClassModel
from tagcore.features.class_split import ClassSide
from tagcore.metrics.catalogue import compute
from tagcore.metrics.classes import ClassOutcomes
from tagcore.metrics.evaluation import ClassCounts, ClassEvaluation
from tagcore.metrics.intervals import Estimate, bootstrap_intervals


def evaluate_classes(
    model: ClassModel, held_out: ClassSide, train_seconds: float = math.nan, seed: int = 0
) -> ClassEvaluation:
    """Compares predictions with the classes of held-out rows; `seed` fixes the draws of the intervals."""
    begun = time.process_time()
    proba = model.predict_proba(held_out.X)
    test_seconds = time.process_time() - begun
    classes = model.classes_
    column = np.searchsorted(classes, held_out.y)
    known = classes[np.minimum(column, classes.size - 1)] == held_out.y
    predicted = model.predict(held_out.X)  # not by the probabilities, where a model knows better
    of_true = np.where(known, proba[np.arange(len(proba)), np.where(known, column, 0)], 0.0)
    evidence = getattr(model, "log_evidence_", None)
    evidence = math.nan if evidence is None else float(evidence)
    outcomes = ClassOutcomes(predicted == held_out.y, of_true, evidence, train_seconds, test_seconds)
    measured = compute("classes", outcomes)
    per_row = {name: values for name, values in measured.items() if isinstance(values, np.ndarray)}
    single = {name: Estimate(v) for name, v in measured.items() if isinstance(v, float) and not math.isnan(v)}
    counts = ClassCounts(len(held_out.y), int(classes.size), int(np.count_nonzero(~known)))
    table = pa.table({"true": held_out.y.tolist(), "predicted": predicted.tolist(), **per_row})
    return ClassEvaluation(bootstrap_intervals(per_row, seed=seed) | single, counts, table)
