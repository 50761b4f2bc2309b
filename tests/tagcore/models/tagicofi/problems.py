"""A small planted problem, and the objective by the letter: dense arrays, no kernel."""

import numpy as np

from tagcore.graph.profiles import TagProfiles, item_tag_counts, user_tag_counts
from tagcore.graph.similarity import Likeness, no_graph, tag_graph
from tagcore.models.tagicofi.alternation import Alternation
from tagcore.models.tagicofi.descent import Descent
from tagcore.models.tagicofi.sides import Side
from tagcore.shards import InProcess
from tagcore.synthetic.ratings import PlantedRatings
from tagcore.training import train

N, M, D = 40, 30, 7  # five dimensions at a time and two more; some rows have fewer ratings than dimensions


def planted(**changes):
    facts = {"n_factors": 3, "n_groups": 4, "n_tags": 16, "ratings_per_user": 8, "taggings_per_user": 6, "seed": 1}
    return PlantedRatings(N, M, **facts | changes)


def graphs(likeness=None, **changes):
    """Of the users and of the items of a planted problem."""
    taggings = planted(**changes).taggings()
    likeness = likeness or Likeness(n_neighbors=None)
    counts = user_tag_counts(taggings, N), item_tag_counts(taggings, M)
    return tuple(tag_graph(TagProfiles.of(c), likeness) for c in counts)


def sides(beta=3.0, gamma=0.0, alpha=0.7, item_alpha=1.3, rated=None, graph=None, item_graph=None):
    """Users and items of the planted ratings, raw."""
    rated = planted().ratings().matrix if rated is None else rated
    known = graphs()
    graph, item_graph = graph or known[0], item_graph or (known[1] if gamma else no_graph(rated.shape[1]))
    users = Side(rated, None, graph, alpha, beta)
    return users, Side(rated.T.tocsr(), None, item_graph, item_alpha, gamma)


def start(seed=0, n=N, m=M):
    rng = np.random.default_rng(seed)
    return {"users": rng.random((n, D)), "items": rng.random((m, D))}


def descend(users, items, rounds, begin=None, *, step=0.001, schedule="gauss-seidel", n_shards=1, executor=None):
    """(U, V, objectives) of so many rounds of gradient descent."""
    learner = Descent(users, items, begin or start(), step=step, schedule=schedule, tol=0.0)
    shards = users.shards(n_shards, executor or InProcess())
    trained = train(learner, shards, max_rounds=rounds)
    return trained.arrays["users"], trained.arrays["items"], [m["objective"] for m in trained.history]


def alternate(users, items, rounds, begin=None, *, constant=0.0, cg_steps=500, cg_tol=1e-13, n_shards=1, executor=None):
    """(U, V, objectives) of so many rounds of exact alternation."""
    executor = executor or InProcess()
    options = {"constant": constant, "dense": users.weights is not None, "tol": -1.0}
    item_shards = items.shards(n_shards, executor)
    learner = Alternation(users, items, item_shards, begin or start(), cg_steps=cg_steps, cg_tol=cg_tol, **options)
    trained = train(learner, users.shards(n_shards, executor), max_rounds=rounds)
    return trained.arrays["users"], trained.arrays["items"], [m["objective"] for m in trained.history]


def dense(side):
    """(values, which of them are there, Laplacian) of a side."""
    there = np.zeros(side.values.shape)
    there[np.repeat(np.arange(there.shape[0]), np.diff(side.values.indptr)), side.values.indices] = 1.0
    S = side.graph.links.toarray()
    return side.values.toarray(), there, np.diag(S.sum(axis=1)) - S


def objective(users, items, U, V):
    R, Y, L = dense(users)
    _, _, L_items = dense(items)
    error = (Y * (R - U @ V.T) ** 2).sum()
    squares = users.ridge * (U**2).sum() + items.ridge * (V**2).sum()
    return 0.5 * (error + squares + users.pull * np.trace(U.T @ L @ U) + items.pull * np.trace(V.T @ L_items @ V))
