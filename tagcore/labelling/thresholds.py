"""Per-tag thresholds of best F1: on scores at hand, and by cross-validation of any model."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from safetensors.numpy import load_file

from tagcore.label_matrix import label_matrix
from tagcore.labelling.kernels.thresholds import best_thresholds, count_negatives, gather_positives
from tagcore.progress import Progress, no_progress
from tagcore.scikit import clone
from tagcore.scoring.blocks import ScoreBlocks, checked_blocks
from tagcore.shards import Executor
from tagcore.store.array_file import write_array_file
from tagcore.tag_model import TagModel


def f1_thresholds(score_blocks: ScoreBlocks, Y: sp.csr_matrix, *, fbr: float = 0.0) -> np.ndarray:
    """Finds the threshold of each tag that gives the best F1 on these rows, to hold scores of others against (SCut).

    The scores are walked twice; memory is that of Y. Of equal F1 the highest threshold is taken. A tag with no row
    has +inf. A tag whose best F1 is below `fbr` has too few or too hard rows to trust: its threshold is the highest
    score met, so that hardly any row gets it (SCutFBR.1; Yang 2001). A larger `fbr` gains micro-F1 and loses
    macro-F1.
    """
    if not 0 <= fbr <= 1:
        raise ValueError(f"fbr must be an F1 from 0 to 1, got {fbr!r}")
    Y = label_matrix(Y, Y.shape[0])
    n, n_labels = Y.shape
    starts = np.concatenate([[0], np.cumsum(np.bincount(Y.indices, minlength=n_labels))])
    positives, filled = np.empty(Y.nnz), np.zeros(n_labels, np.int64)
    for first, block in checked_blocks(score_blocks, n_labels, n):
        gather_positives(block, first, Y.indices, Y.indptr, starts, filled, positives)
    positives = positives[np.lexsort((-positives, np.repeat(np.arange(n_labels), np.diff(starts))))]
    counts, highest = np.zeros(Y.nnz + n_labels, np.int64), np.full(Y.nnz + n_labels, -np.inf)
    for first, block in checked_blocks(score_blocks, n_labels, n):
        count_negatives(block, first, Y.indices, Y.indptr, starts, positives, counts, highest)
    thresholds = np.full(n_labels, np.inf)
    best_thresholds(starts, positives, counts, highest, fbr, thresholds, np.zeros(n_labels))
    return thresholds


def cross_validated_thresholds(
    model: TagModel,
    X: sp.csr_matrix,
    Y: sp.csr_matrix,
    *,
    folds: int = 3,
    fbr: float = 0.1,
    seed: int = 0,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> np.ndarray:
    """Finds `f1_thresholds` on scores that every row gets from a twin of the model fitted without it.

    The model itself is left as it is. The twins, one per fold, are held together: the scores of all rows are pooled,
    because a rare tag has too few rows in one fold to place a threshold by.
    """
    Y = label_matrix(Y, X.shape[0])
    if not 2 <= folds <= X.shape[0]:
        raise ValueError(f"folds must be from 2 to the {X.shape[0]} rows, got {folds!r}")
    progress = progress or no_progress
    held_out = np.array_split(np.random.default_rng(seed).permutation(X.shape[0]), folds)
    twins = []
    for done, rows in enumerate(held_out, start=1):
        training_rows = np.setdiff1d(np.arange(X.shape[0]), rows)
        twins.append(clone(model).fit(X[training_rows], Y[training_rows], executor=executor))
        progress(done, folds, {})

    def score_blocks() -> Iterator[tuple[slice, np.ndarray]]:
        first = 0
        for twin, rows in zip(twins, held_out, strict=True):
            for block, scores in twin.score_blocks(X[rows]):
                yield slice(first + block.start, first + block.stop), scores
            first += len(rows)

    return f1_thresholds(score_blocks, Y[np.concatenate(held_out)], fbr=fbr)


def require_thresholds(thresholds: np.ndarray, n_labels: int) -> None:
    """Raises ValueError unless there is one number per tag; +inf gives a tag to no document, -inf to every one."""
    if thresholds.shape != (n_labels,) or thresholds.dtype.kind != "f" or np.isnan(thresholds).any():
        raise ValueError(f"thresholds must be {n_labels} numbers, one per tag, none of them NaN")


def save_thresholds(thresholds: np.ndarray, path: Path) -> None:
    write_array_file(path, {"thresholds": np.ascontiguousarray(thresholds, np.float64)})


def load_thresholds(path: Path) -> np.ndarray:
    """Reads what `save_thresholds` wrote; ValueError for anything else."""
    try:
        return load_file(path)["thresholds"]
    except Exception as error:  # safetensors raises its own class for a damaged file
        raise ValueError(f"{path}: not stored thresholds ({error!r})") from error
