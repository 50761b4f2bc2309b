"""Steps of LEML over a shard of rows: sums for the gradient, for products with the Hessian, and along a direction.

`words` (D × k) and `tags` (L × (k + 1), the intercepts last) are the factors; z = [X·words, 1] · tagsᵀ the scores.
"""

import numpy as np

from tagcore.baselines.leml.cells import cells_of
from tagcore.baselines.low_rank.shards import label_rows, project_rows, sum_by_word
from tagcore.numeric.losses import LOSSES
from tagcore.shards import Arrays, Shard


def gram(shard: Shard[Arrays], state: Arrays, *, constant: float, words: np.ndarray) -> Arrays:
    """AᵀA and YᵀA, A = [X·words, 1]: all that the squared loss over all cells needs for the tags."""
    left = _with_constant(shard.data, words, constant).astype(np.float64)  # so that AᵀA cannot lose its rank
    return {"gram": left.T @ left, "cross": label_rows(shard.data).T @ left}


def gram_slopes(
    shard: Shard[Arrays], state: Arrays, *, words: np.ndarray, tags: np.ndarray, squares: np.ndarray
) -> Arrays:
    """Xᵀ·(Z - Y)·H where HᵀH = diag(squares), H the tags without intercepts: Z is not formed."""
    factors = np.ascontiguousarray(tags[:, :-1])
    rows = project_rows(shard.data, words) * squares
    rows += tags[:, -1] @ factors
    rows -= label_rows(shard.data) @ factors
    return {"gradient": sum_by_word(shard.data, rows)}


def gram_product(shard: Shard[Arrays], state: Arrays, *, direction: np.ndarray) -> Arrays:
    """Xᵀ·X·direction."""
    rows = project_rows(shard.data, direction)
    return {"product": sum_by_word(shard.data, rows)}


def word_slopes(
    shard: Shard[Arrays], state: Arrays, *, loss: str, constant: float, words: np.ndarray, tags: np.ndarray
) -> Arrays:
    """The gradient of the loss in the words, and the diagonal of its Hessian."""
    left = _with_constant(shard.data, words, constant)
    squares = tags * tags
    first, second = np.empty_like(left), np.empty_like(left)
    for cells in cells_of(shard.data):
        z = cells.scores(left, tags)
        first[cells.rows] = cells.to_rows(LOSSES[loss].slope(z, cells.truth), tags)
        second[cells.rows] = cells.to_rows(LOSSES[loss].curvature(z, cells.truth), squares)
    squared = {**shard.data, "data": shard.data["data"] ** 2}
    diagonal = sum_by_word(squared, second[:, :-1])
    return {"gradient": sum_by_word(shard.data, first[:, :-1]), "diagonal": diagonal}


def word_product(
    shard: Shard[Arrays],
    state: Arrays,
    *,
    loss: str,
    constant: float,
    words: np.ndarray,
    tags: np.ndarray,
    direction: np.ndarray,
) -> Arrays:
    """The Hessian of the loss in the words times a direction."""
    left, along = _with_constant(shard.data, words, constant), _with_constant(shard.data, direction, 0.0)
    for cells in cells_of(shard.data):
        bend = LOSSES[loss].curvature(cells.scores(left, tags), cells.truth)
        bend *= cells.scores(along, tags)
        along[cells.rows] = cells.to_rows(bend, tags)
    return {"product": sum_by_word(shard.data, along[:, :-1])}


def tag_slopes(
    shard: Shard[Arrays], state: Arrays, *, loss: str, constant: float, words: np.ndarray, tags: np.ndarray
) -> Arrays:
    """The gradient of the loss in the tags, and the diagonal of its Hessian."""
    left = _with_constant(shard.data, words, constant)
    squares = left * left
    gradient, diagonal = np.zeros_like(tags), np.zeros_like(tags)
    for cells in cells_of(shard.data):
        z = cells.scores(left, tags)
        gradient += cells.to_tags(LOSSES[loss].slope(z, cells.truth), left)
        diagonal += cells.to_tags(LOSSES[loss].curvature(z, cells.truth), squares)
    return {"gradient": gradient, "diagonal": diagonal}


def tag_product(
    shard: Shard[Arrays],
    state: Arrays,
    *,
    loss: str,
    constant: float,
    words: np.ndarray,
    tags: np.ndarray,
    direction: np.ndarray,
) -> Arrays:
    """The Hessian of the loss in the tags times a direction: a block for each tag."""
    left = _with_constant(shard.data, words, constant)
    product = np.zeros_like(tags)
    for cells in cells_of(shard.data):
        bend = LOSSES[loss].curvature(cells.scores(left, tags), cells.truth)
        bend *= cells.scores(left, direction)
        product += cells.to_tags(bend, left)
    return {"product": product}


def losses_along(
    shard: Shard[Arrays],
    state: Arrays,
    *,
    loss: str,
    constant: float,
    lengths: np.ndarray,
    words: np.ndarray,
    tags: np.ndarray,
    of_words: bool,
    direction: np.ndarray,
) -> Arrays:
    """The loss of each tag (L × lengths) when words or tags move that far: one pass serves all lengths."""
    left = _with_constant(shard.data, words, constant)
    along = _with_constant(shard.data, direction, 0.0) if of_words else left
    towards = tags if of_words else direction
    losses = np.zeros((tags.shape[0], lengths.size))
    for cells in cells_of(shard.data):
        z, slope = cells.scores(left, tags), cells.scores(along, towards)
        for at, length in enumerate(lengths):
            losses[:, at] += cells.sum_by_tag(LOSSES[loss].value(z + np.float32(length) * slope, cells.truth))
    return {"losses": losses}


def _with_constant(part: Arrays, factors: np.ndarray, constant: float) -> np.ndarray:
    """[X·factors, constant]."""
    return np.column_stack([project_rows(part, factors), np.full(part["indptr"].size - 1, constant, np.float32)])
