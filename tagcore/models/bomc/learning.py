"""The way of rows through a BOMC: its state goes into the kernel, whole or in shards of classes, and back.

What one row does to the state is `learn_rows` in `kernel.py`.
"""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from tagcore.features.rows import Rows
from tagcore.models.bomc.hierarchy import Siblings
from tagcore.models.bomc.shards import DocumentPreparation, learn_by_classes
from tagcore.models.bomc.stream import (
    VARIANTS,
    StreamSettings,
    count_labels,
    learn_stream,
    margins_from_counts,
    margins_from_ratios,
    stream_blocks,
)
from tagcore.progress import Progress, no_progress
from tagcore.shards import Arrays
from tagcore.training import FitContext

if TYPE_CHECKING:
    from tagcore.models.bomc.estimator import BOMC


def learn(model: "BOMC", rows: Rows, seed: int | None, context: FitContext | None = None) -> None:
    """Moves the model on through the rows, in an order drawn from the seed or, without a seed, as they are.

    Without a context the rows are one stream; with one, classes are spread over its executor where that suits.
    """
    siblings = Siblings(model.parents, rows.n_labels)
    state, settings = _kernel_state(model, siblings), _settings(model)
    if not settings.running or model.variant == "multi-class":
        for block, _ in stream_blocks(rows.n_rows, None):
            Y = rows.labels(block)
            if model.variant == "multi-class":
                _require_one_each(Y, block.start)
            if not settings.running:
                count_labels(state, siblings.with_ancestors(Y), siblings.tree)
    margins = _margins(model, state, siblings)
    preparation = DocumentPreparation(model.dtype, model.normalise, seed, model.warm_up)
    if context and siblings.flat and (model.parallel or model.variant == "independent"):
        sizes = {"n_shards": model.n_shards, "merge_every": model.merge_every}
        learn_by_classes(state, rows, preparation, settings, margins, context, **sizes)
    else:
        state |= _writable(state, ("mean", "variance"))
        done, progress = 0, context.progress if context else no_progress
        for block, order in stream_blocks(rows.n_rows, seed):
            X, Y = rows.load(block)
            X, Y = preparation.documents((X, Y)).X, siblings.with_ancestors(Y)
            report = partial(_report, progress, done, rows.n_rows)
            learn_stream(state, X, Y, order, siblings.tree, settings, margins, report)
            done += order.size
    _store_state(model, state, siblings)


def _kernel_state(model: "BOMC", siblings: Siblings) -> Arrays:
    """Gives the model's arrays as the kernel takes them, to write to but for the weights, which shards copy their own
    classes of."""
    by_class = {"mean": model.mean_, "variance": model.variance_}
    by_class |= {"positives": model.positives_, "exposures": model.exposures_}
    biases = {"bias_mean": model.bias_mean_, "bias_variance": model.bias_variance_}
    if siblings.flat:
        state = by_class | biases
        state |= _writable(state, ("positives", "exposures", *biases))
    else:
        at = siblings.hubs if model.variant == "coupled" else siblings.order
        state = {k: np.ascontiguousarray(v[..., siblings.order]) for k, v in by_class.items()}
        state |= {k: v[at] for k, v in biases.items()}
    return state | {"last_seen": np.require(model.last_seen_, requirements="W"), "seen": np.array([model.n_seen_])}


def _writable(state: Arrays, names: tuple[str, ...]) -> Arrays:
    return {name: np.require(state[name], requirements=["C", "W"]) for name in names}


def _store_state(model: "BOMC", state: Arrays, siblings: Siblings) -> None:
    if not siblings.flat:
        biases = {"bias_mean": model.bias_mean_, "bias_variance": model.bias_variance_}
        at = siblings.hubs if model.variant == "coupled" else siblings.order
        for name, values in biases.items():
            values = values.copy()
            values[at] = state[name]
            state[name] = values
        for name in ("mean", "variance", "positives", "exposures"):
            state[name] = np.ascontiguousarray(state[name][..., siblings.columns])
    for name in ("mean", "variance", "bias_mean", "bias_variance", "positives", "exposures", "last_seen"):
        setattr(model, f"{name}_", state[name])
    model.n_seen_ = int(state["seen"][0])


def _settings(model: "BOMC") -> StreamSettings:
    return StreamSettings(
        variant=VARIANTS[model.variant],
        noise=float(model.noise) ** 2,
        margin=float(model.margin),
        running=model.skew == "running",
        prior_var=float(model.prior_var),
        drift=float(model.drift),
        bias_drift=float(model.bias_drift),
        bias_var=model._bias_var,
        tol=float(model.tol),
        max_sweeps=model.max_sweeps,
        damping=float(model.damping),
        flips=model._flips,
    )


def _margins(model: "BOMC", state: Arrays, siblings: Siblings) -> np.ndarray:
    if model.skew == "counted":
        return margins_from_counts(state, model.margin)
    if model.skew is None or model.skew == "running":  # the kernel fills them in
        return np.full(siblings.order.size, float(model.margin))
    return margins_from_ratios(np.asarray(model.skew, np.float64)[siblings.order], model.margin)


def _report(progress: Progress, before: int, total: int, done: int) -> None:
    progress(before + done, total, {})


def _require_one_each(Y: sp.csr_matrix, first: int) -> None:
    wrong = np.flatnonzero(np.diff(Y.indptr) != 1)
    if wrong.size:
        row = int(wrong[0])
        tags = Y.indptr[row + 1] - Y.indptr[row]
        raise ValueError(f"row {first + row} has {tags} tags, a multi-class model learns from one")
