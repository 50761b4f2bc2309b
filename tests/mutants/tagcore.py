"""Faults in measures, labelling, features, the store and the training loop."""

from tests.mutants.fault import Fault

_METRICS = "tests/tagcore/metrics"
_INTERVALS = "tagcore/metrics/intervals.py"
_TRAINING = "tagcore/training.py"
_SPLIT = "tagcore/features/split.py"
_DATASETS = "tagcore/store/datasets.py"
_FILES = "tagcore/store/files.py"
_SHARDS = "tagcore/shards.py"
_CALIBRATION = "tagcore/scoring/calibration.py"

TAGCORE = (
    Fault(
        "a field weighs as much as the one before it",
        "tagcore/kernels/text/tfidf.py",
        "            weight = field_weights[f]\n",
        "            weight = field_weights[max(f - 1, 0)]\n",
        "tests/tagcore/text/test_fields.py",
    ),
    Fault(
        "words of a field with columns of its own are looked up among those of the others",
        "tagcore/text/analysis.py",
        "sequences = analysis.read(texts, reading.words, grow=False)",
        "sequences = analysis.read(texts, self._words, grow=False)",
        "tests/tagcore/text/test_fields.py",
    ),
    Fault(
        "a paired test without its + 1",
        _INTERVALS,
        "        p = 2 * (1 + tail) / (1 + n_resamples)\n",
        "        p = 2 * tail / n_resamples\n",
        f"{_METRICS}/test_intervals.py",
    ),
    Fault(
        "a paired test with one tail",
        _INTERVALS,
        "        p = 2 * (1 + tail) / (1 + n_resamples)\n",
        "        p = (1 + tail) / (1 + n_resamples)\n",
        f"{_METRICS}/test_intervals.py",
    ),
    Fault(
        "Student's interval with the deviation of a population",
        _INTERVALS,
        "values.std(ddof=1) / np.sqrt(n))\n    return Estimate(mean, mean - reach",
        "values.std() / np.sqrt(n))\n    return Estimate(mean, mean - reach",
        f"{_METRICS}/test_intervals.py",
    ),
    Fault(
        "nDCG discounts one place too late",
        "tagcore/metrics/ranking.py",
        "discount = 1.0 / np.log2(np.arange(2, k + 2))",
        "discount = 1.0 / np.log2(np.arange(3, k + 3))",
        f"{_METRICS}/test_ranking.py",
    ),
    Fault(
        "recall against k instead of the true tags",
        "tagcore/metrics/ranking.py",
        "return self._count(k) / np.maximum(self.n_true, 1)",
        "return self._count(k) / k",
        f"{_METRICS}/test_ranking.py",
    ),
    Fault(
        "propensity without its b",
        "tagcore/metrics/propensity.py",
        "(counts + curve.b) ** -curve.a",
        "np.maximum(counts, 1) ** -curve.a",
        f"{_METRICS}/test_propensity.py",
    ),
    Fault(
        "the AUC of a label counts pairs of positives",
        "tagcore/metrics/auc.py",
        "np.divide(label_pairs - n_pos**2, 2 * pairs",
        "np.divide(label_pairs, 2 * pairs",
        f"{_METRICS}/test_auc.py",
    ),
    Fault(
        "expected F without beta",
        "tagcore/labelling/expected_f.py",
        "beta**2 * self.sampled[:, :, None]",
        "self.sampled[:, :, None]",
        "tests/tagcore/labelling/test_expected_f.py",
    ),
    Fault(
        "idf that is not smoothed",
        "tagcore/text/weighting.py",
        "    smoothed_df = df.astype(dtype) + dtype.type(smooth)\n",
        "    smoothed_df = df.astype(dtype)\n",
        "tests/tagcore/text/test_vectoriser.py",
    ),
    Fault(
        "an isotonic curve without weights",
        _CALIBRATION,
        "sample_weight=weight, y_min=0.0, y_max=1.0)",
        "y_min=0.0, y_max=1.0)",
        "tests/tagcore/scoring/test_calibration.py",
    ),
    Fault(
        "Platt's targets are not smoothed",
        _CALIBRATION,
        "np.where(hits > 0, (n_hits + 1) / (n_hits + 2), 1 / (hits.size - n_hits + 2))",
        "np.where(hits > 0, 1.0 - 1e-9, 1e-9)",
        "tests/tagcore/scoring/test_calibration.py",
    ),
    Fault(
        "a checkpoint made current before its states",
        _TRAINING,
        "    shards.save(target.inside(_STATES))\n",
        "    storage.write(_CURRENT, name.encode())\n    shards.save(target.inside(_STATES))\n",
        "tests/tagcore/test_training.py",
    ),
    Fault(
        "a checkpoint of another training is resumed",
        _TRAINING,
        '    if head["key"] != checkpoints.key:\n',
        "    if False:\n",
        "tests/tagcore/test_training.py",
    ),
    Fault(
        "early stopping keeps the last round",
        _TRAINING,
        "        if early_stop is None or early_stop.best(trained.history) == number:\n",
        "        if True:\n",
        "tests/tagcore/test_training.py",
    ),
    Fault(
        "a value that is not finite goes on",
        _TRAINING,
        "        _require_finite(arrays, number)\n",
        "",
        "tests/tagcore/test_training.py",
    ),
    Fault(
        "documents of the test are validated on",
        _SPLIT,
        "(hashes >= cuts.kept_in_test) | bool(self.validation)",
        "hashes >= cuts.kept_in_test",
        "tests/tagcore/features/test_split.py",
    ),
    Fault(
        "labels of the test are hidden",
        _SPLIT,
        "            hidden &= ~held_out[rows]\n",
        "            pass\n",
        "tests/tagcore/features/test_split.py",
    ),
    Fault(
        "a search sees labels that the final model does not",
        _SPLIT,
        "        if not self.validation:\n            hidden",
        "        if True:\n            hidden",
        "tests/tagcore/features/test_split.py",
    ),
    Fault(
        "validation documents are the test of the next seed",
        _SPLIT,
        "self.seed + VALIDATING",
        "self.seed + 1",
        "tests/tagcore/features/test_split.py",
    ),
    Fault(
        "a wrong label counts as right where a later one is true",
        "tagcore/metrics/kernels/labels.py",
        "if at < end and true_labels[at] == label:",
        "if at < end:",
        "tests/tagcore/metrics/test_tally.py",
    ),
    Fault(
        "files of a stored result are not hashed",
        _DATASETS,
        "            _check_file(folder / name, expected, verify)\n",
        "            _check_file(folder / name, expected, False)\n",
        "tests/tagcore/store/test_datasets.py",
    ),
    Fault(
        "a folder appears before it is whole",
        _FILES,
        '{uuid.uuid4().hex[:8]}")\n    filling.mkdir()\n',
        '{uuid.uuid4().hex[:8]}")\n    filling = folder\n    filling.mkdir(exist_ok=True)\n',
        "tests/tagcore/store/test_files.py",
    ),
    Fault(
        "a text is written in place",
        _FILES,
        '    filling = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}")\n',
        "    filling = path\n",
        "tests/tagcore/store/test_files.py",
    ),
    Fault(
        "what others fill is swept away",
        _FILES,
        "        except ProcessLookupError:\n",
        "            raise ProcessLookupError\n        except ProcessLookupError:\n",
        "tests/tagcore/store/test_files.py",
    ),
    Fault(
        "the last shards are not added",
        _SHARDS,
        "if len(p) == 2 else p[0] for p in pairs]\n",
        "if len(p) == 2 else p[0] for p in pairs][:-1] or [sums[0]]\n",
        "tests/tagcore/test_shards.py",
    ),
    Fault(
        "a step may write to what it was given",
        _SHARDS,
        "        value.setflags(write=False)\n",
        "",
        "tests/tagcore/test_shards.py",
    ),
    Fault(
        "the last row of a cut is lost",
        _SHARDS,
        "np.linspace(0, n, min(count, max(n, 1)) + 1)",
        "np.linspace(0, n - 1, min(count, max(n, 1)) + 1)",
        "tests/tagcore/test_shards.py",
    ),
    Fault(
        "the last value of a pair rated twice is dropped",
        "tagcore/ratings.py",
        "np.unique(key[::-1], return_index=True)",
        "np.unique(key, return_index=True)",
        "tests/tagcore/test_ratings.py",
    ),
)
