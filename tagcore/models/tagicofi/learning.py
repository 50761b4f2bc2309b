"""How a TagiCoFi learns: ratings become targets, tags a graph, both the two sides that a learner moves in rounds."""

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from tagcore.graph.profiles import TagProfiles
from tagcore.graph.similarity import TagGraph, no_graph, tag_graph
from tagcore.models.tagicofi.alternation import Alternation
from tagcore.models.tagicofi.descent import Descent
from tagcore.models.tagicofi.sides import WORK, Side
from tagcore.models.tagicofi.starts import first_factors
from tagcore.models.tagicofi.targets import Targets, with_values
from tagcore.ratings import Ratings, UserTaggings
from tagcore.training import FitContext, Learner, train

if TYPE_CHECKING:
    from tagcore.models.tagicofi.estimator import TagiCoFi

_COLD_SWEEPS = 50


def learn(model: "TagiCoFi", ratings: Ratings, taggings: UserTaggings | None, context: FitContext) -> None:
    """Fits the factors of all users and items, and keeps what they were learnt from."""
    rated = ratings.matrix
    targets = model._targets(rated)
    profiles = TagProfiles.of(model._user_tags(taggings, rated))
    item_profiles = TagProfiles.of(model._item_tags(taggings, rated))
    graph = _graph(model, profiles, context) if model.beta else no_graph(rated.shape[0])
    item_graph = _graph(model, item_profiles, context) if model.gamma else no_graph(rated.shape[1])
    users, items = _sides(model, rated, targets, graph, item_graph)
    trained = train(
        _learner(model, users, items, targets, rated, context),
        users.shards(model.n_shards, context.executor),
        max_rounds=model.max_iter,
        progress=context.progress,
        checkpoints=context.checkpoints,
    )
    U, V = trained.arrays["users"], trained.arrays["items"]
    if model.solver == "gd":
        U, V = settled(users, U), settled(items, V)
    model.user_factors_, model.item_factors_ = U, V
    model.rated_values_ = rated.data
    model.lowest_, model.highest_ = (None, None) if model.feedback == "counts" else ratings.scale or (None, None)
    model._keep_offsets(targets.offsets)
    model._keep_tags(profiles, graph, item_profiles, item_graph)


def _graph(model: "TagiCoFi", profiles: TagProfiles, context: FitContext) -> TagGraph:
    n_shards = model.n_shards or 1 + profiles.counts.nnz // WORK
    return tag_graph(profiles, model._likeness, context.executor, n_shards)


def _sides(
    model: "TagiCoFi", rated: sp.csr_matrix, targets: Targets, graph: TagGraph, item_graph: TagGraph
) -> tuple[Side, Side]:
    values = with_values(rated, targets.values)
    by_item, weights = values.T.tocsr(), None
    if targets.weights is not None:
        weights = with_values(rated, targets.weights).T.tocsr().data
    item_alpha = model.alpha if model.item_alpha is None else model.item_alpha
    users = Side(values, targets.weights, graph, model.alpha, model.beta)
    return users, Side(by_item, weights, item_graph, item_alpha, model.gamma)


def _learner(
    model: "TagiCoFi", users: Side, items: Side, targets: Targets, rated: sp.csr_matrix, context: FitContext
) -> Learner:
    start = first_factors(model, rated)
    if model.solver == "gd":
        return Descent(users, items, start, step=model.step, schedule=model.schedule, tol=model.tol)
    return Alternation(
        users,
        items,
        items.shards(model.n_shards, context.executor),
        start,
        constant=targets.constant,
        dense=targets.weights is not None,
        cg_steps=model.cg_steps,
        cg_tol=model.cg_tol,
        tol=model.tol,
    )


def settled(side: Side, rows: np.ndarray) -> np.ndarray:
    """Gives rows without ratings the place that their neighbours give them, which descent may not have reached, and 0
    to those without neighbours."""
    cold = np.flatnonzero(np.diff(side.values.indptr) == 0)
    rows = rows.copy()
    rows[cold] = rows[cold] if side.is_linked else 0.0
    if not (cold.size and side.is_linked):
        return rows
    links, pull = side.graph.links[cold], side.pull
    weight = side.ridge + pull * side.graph.degrees[cold]
    share = np.divide(pull, weight, out=np.zeros(cold.size), where=weight > 0)[:, None]
    for _ in range(_COLD_SWEEPS):
        rows[cold] = share * (links @ rows)
    return rows
