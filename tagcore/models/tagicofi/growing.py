"""New users, new items, new ratings and new tags, learnt on top of what is known: only those touched move."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tagcore.graph.profiles import TagProfiles, inverse_frequencies, item_tag_counts, user_tag_counts
from tagcore.graph.similarity import raw_links, scaled_links
from tagcore.models.tagicofi.blocks import best_block, dense_base
from tagcore.models.tagicofi.targets import with_values
from tagcore.ratings import Ratings, UserTaggings

SWEEPS = 3  # of the touched users and items: new users may be neighbours of one another


class _Grown(NamedTuple):
    """Tags of one side with those to come, and the links of those that are touched."""

    profiles: TagProfiles
    links: sp.csr_matrix  # touched × all
    degrees: np.ndarray


def grow(model: Any, ratings: Ratings, taggings: UserTaggings | None) -> None:
    """Learns a batch: those touched are put at their minimum, all others stay to the bit; weights of tags do too."""
    _require_grown(model, ratings, taggings)
    shape = len(ratings.user_names), len(ratings.item_names)
    new = ratings.last_values().matrix
    rated = _merged(model, new, shape)
    tagged = user_tag_counts(taggings, shape[0]), item_tag_counts(taggings, shape[1])
    users = np.flatnonzero((np.diff(new.indptr) > 0) | ((np.diff(tagged[0].indptr) > 0) & (model.beta > 0)))
    items = np.flatnonzero((np.diff(new.tocsc().indptr) > 0) | ((np.diff(tagged[1].indptr) > 0) & (model.gamma > 0)))
    n_tags = max(model.n_tags_, tagged[0].shape[1])
    grown = _grown_tags(model, "", tagged[0] if model.beta else None, users, (shape[0], n_tags), model.beta)
    grown_items = _grown_tags(
        model, "item_", tagged[1] if model.gamma else None, items, (shape[1], n_tags), model.gamma
    )
    _grow_offsets(model, rated, users, items)
    _keep_tags(model, grown, grown_items, n_tags)
    _move(model, rated, users, items, grown.links, grown_items.links)
    model.n_users_, model.n_items_ = shape
    model.rated_starts_, model.rated_items_ = rated.indptr.astype(np.int64), rated.indices.astype(np.int32)
    model.rated_values_ = rated.data


def _require_grown(model: Any, ratings: Ratings, taggings: UserTaggings | None) -> None:
    """Raises ValueError where ids cannot be those of before with some appended."""
    sizes = [("users", len(ratings.user_names), model.n_users_), ("items", len(ratings.item_names), model.n_items_)]
    if taggings is not None:
        sizes.append(("tags", len(taggings.tag_names), model.n_tags_))
        taggings.require_users_and_items(ratings)
    for what, now, before in sizes:
        if now < before:
            raise ValueError(f"{now} {what}, expected the {before} that the model knows and new ones behind them")
    if model.profiles != "own" and taggings is not None:
        raise ValueError(f'new tags need profiles="own", this model has profiles={model.profiles!r}: fit it anew')


def _merged(model: Any, new: sp.csr_matrix, shape: tuple[int, int]) -> sp.csr_matrix:
    """All ratings; of a pair that was rated before, the new value counts."""
    before = np.repeat(np.arange(model.n_users_), np.diff(model.rated_starts_)) * shape[1] + model.rated_items_
    after = np.repeat(np.arange(shape[0]), np.diff(new.indptr)) * shape[1] + new.indices
    kept = ~np.isin(before, after)
    keys = np.concatenate([before[kept], after])
    values = np.concatenate([model.rated_values_[kept], new.data])
    return sp.csr_matrix((values, (keys // shape[1], keys % shape[1])), shape=shape)


def _grown_tags(
    model: Any, side: str, new: sp.csr_matrix | None, touched: np.ndarray, shape: tuple[int, int], pull: float
) -> _Grown:
    """The counts of one side with new ones on top. A tag that nobody had gets a weight, others keep theirs."""
    starts, ids, counts, idf, degrees = (
        getattr(model, f"{side}{name}_") for name in ("tag_starts", "tag_ids", "tag_counts", "idf", "degrees")
    )
    before = sp.csr_matrix((counts, ids, starts), shape=(degrees.size, idf.size))
    had = np.bincount(ids, minlength=shape[1]) > 0
    merged = _resized(before, shape)
    if new is not None:
        merged = (merged + _resized(new, shape)).tocsr()
        merged.sort_indices()
    weights = np.where(had, _extended(idf, shape[1]), inverse_frequencies(merged))
    profiles, degrees = TagProfiles(merged, weights), _extended(degrees, shape[0])
    if not (pull and touched.size and merged.nnz):
        return _Grown(profiles, sp.csr_matrix((touched.size, shape[0])), degrees)
    factor, sigma = getattr(model, f"{side}factor_"), getattr(model, f"{side}sigma_")
    raw = raw_links(TagProfiles(merged[touched], weights), touched, profiles, sigma, model._likeness)
    if model.n_neighbors is not None:  # either may have chosen a link
        near = _sharing_a_tag(merged, touched)
        chosen = raw_links(TagProfiles(merged[near], weights), near, profiles, sigma, model._likeness)
        cells = chosen[:, touched].tocoo()
        raw = raw.maximum(sp.csr_matrix((cells.data, (cells.col, near[cells.row])), shape=raw.shape)).tocsr()
        raw.sort_indices()
    degrees[touched] = raw @ np.ones(shape[0])
    lonely = np.flatnonzero(degrees == 0)  # who had no neighbour may have one now
    degrees[lonely] = (raw.T @ np.ones(touched.size))[lonely]
    return _Grown(profiles, scaled_links(raw, degrees, factor, model._likeness), degrees)


def _sharing_a_tag(counts: sp.csr_matrix, rows: np.ndarray) -> np.ndarray:
    """The rows that share a tag with one of some rows."""
    tags = np.zeros(counts.shape[1], bool)
    tags[counts[rows].indices] = True
    return np.flatnonzero(counts @ tags.astype(float))


def _grow_offsets(model: Any, rated: sp.csr_matrix, users: np.ndarray, items: np.ndarray) -> None:
    """Biases and fallbacks of those touched, the mean of all staying as it is. How popular an item is follows from the
    number of users, of all items."""
    found = model._targets(rated, model.fallback_).offsets
    for name, size, touched in (("user", rated.shape[0], users), ("item", rated.shape[1], items)):
        known = getattr(model, f"{name}_biases_").size
        for kind, values in (("biases", f"{name}_biases"), ("fallbacks", f"{name}_fallbacks")):
            now = getattr(found, values)
            grown = np.concatenate([getattr(model, f"{name}_{kind}_"), now[known:size]])
            grown[touched] = now[touched]
            if (model.feedback, name, kind) == ("counts", "item", "fallbacks"):
                grown = now
            setattr(model, f"{name}_{kind}_", grown)


def _move(
    model: Any,
    rated: sp.csr_matrix,
    users: np.ndarray,
    items: np.ndarray,
    links: sp.csr_matrix,
    item_links: sp.csr_matrix,
) -> None:
    """Puts the touched at their minimum, users and items in turns."""
    targets = model._targets(rated, model.fallback_)
    values, weights = targets.values, targets.weights
    if weights is None:
        of_users = np.repeat(model.user_biases_, np.diff(rated.indptr))
        values = rated.data - model.mean_ - model.item_biases_[rated.indices] - of_users
    rows = [with_values(rated, values), None if weights is None else with_values(rated, weights)]
    own = [m if m is None else m[users] for m in rows]
    theirs = [m if m is None else m.T.tocsr()[items] for m in rows]
    U, V = (_extended(f, n) for f, n in zip((model.user_factors_, model.item_factors_), rated.shape, strict=True))
    item_alpha = model.alpha if model.item_alpha is None else model.item_alpha
    for _ in range(SWEEPS):
        U[users] = _best(own, links, V, U, model.alpha, model.beta)
        V[items] = _best(theirs, item_links, U, V, item_alpha, model.gamma)
    U[users] = _best(own, links, V, U, model.alpha, model.beta)
    model.user_factors_, model.item_factors_ = U, V


def _best(
    cells: list, links: sp.csr_matrix, others: np.ndarray, rows: np.ndarray, ridge: float, pull: float
) -> np.ndarray:
    values, weights = cells
    base = dense_base(others, weights is not None)
    return best_block(values, None if weights is None else weights.data, links, others, rows, base, ridge, pull)


def _keep_tags(model: Any, grown: _Grown, grown_items: _Grown, n_tags: int) -> None:
    model.n_tags_ = n_tags
    for side, found in (("", grown), ("item_", grown_items)):
        setattr(model, f"{side}tag_starts_", found.profiles.starts)
        setattr(model, f"{side}tag_ids_", found.profiles.tags)
        setattr(model, f"{side}tag_counts_", found.profiles.counts.data)
        setattr(model, f"{side}idf_", found.profiles.idf)
        setattr(model, f"{side}degrees_", found.degrees)


def _resized(counts: sp.csr_matrix, shape: tuple[int, int]) -> sp.csr_matrix:
    """The same counts in a larger matrix."""
    starts = np.concatenate([counts.indptr, np.full(shape[0] - counts.shape[0], counts.indptr[-1])])
    return sp.csr_matrix((counts.data, counts.indices, starts), shape=shape)


def _extended(values: np.ndarray, size: int) -> np.ndarray:
    """A copy with zeros behind."""
    return np.concatenate([values, np.zeros((size - values.shape[0], *values.shape[1:]))])
