"""The graph of those who tag alike: how alike two profiles are, which links are kept, how strong all of them are.

N × N is never formed: links are found through the tags that two rows share, row by row, in shards.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.graph.profiles import TagProfiles
from tagcore.graph.similarity_kernel import COSINE, EUCLIDEAN, FULL_COSINE, OWN_PEARSON, PEARSON, alike_rows
from tagcore.numeric.read_only import freeze
from tagcore.shards import Executor, Shard, Shards, row_shards

MEASURES = ("cosine", "pearson", "euclidean")
SCOPES = ("common", "own")
POSITIVE_MAPS = ("sigmoid", "affine", "clip", "exp")
LAPLACIANS = ("sym", "plain", "maxdeg", "meandeg")
MOST_LINKS = 200_000_000  # that a graph may have
MOST_CANDIDATES = 50_000_000_000  # pairs of rows that are looked at, counted once for every tag that they share
_KERNELS = {
    ("cosine", "common"): COSINE,
    ("cosine", "own"): FULL_COSINE,
    ("pearson", "common"): PEARSON,
    ("pearson", "own"): OWN_PEARSON,
    ("euclidean", "common"): EUCLIDEAN,
    ("euclidean", "own"): EUCLIDEAN,
}


@dataclass(frozen=True)
class Likeness:
    """What makes two rows alike, and which links are kept.

    `scope` of cosine and Pearson: norms or means over the tags that both have ("common"), or over all that each has
    ("own"). Pearson's ρ in -1..1 becomes positive by `positive`: "sigmoid" 1 / (1 + e^-ρ), "affine" (1 + ρ) / 2, "clip"
    max(0, ρ) or "exp" e^(ρ - 1). Euclidean is exp(-d² / 2σ²) of the distance d over common tags, σ None the median
    distance of linked rows. Rows without a common tag are never alike.
    """

    measure: str = "cosine"
    scope: str = "own"
    positive: str = "sigmoid"
    sigma: float | None = None
    n_neighbors: int | None = 50  # most alike that each row chooses; either may have chosen a link; None keeps all
    min_common: int = 1  # tags that linked rows share at least
    threshold: float = 0.0  # links are stronger than this
    max_df: int | None = None  # rows of a tag, beyond which it proposes no link; None has no limit
    laplacian: str = "sym"

    @property
    def kernel(self) -> int:
        return _KERNELS[self.measure, self.scope]


@dataclass(frozen=True, eq=False)
class TagGraph:
    """Links S (symmetric, positive, without loops), scaled as `laplacian` says, and what a row to come needs."""

    links: sp.csr_matrix
    raw_degrees: np.ndarray  # sums of links before they were scaled
    factor: float  # that all links were multiplied by, beside what degrees did
    sigma: float  # of Euclidean distances

    @cached_property
    def degrees(self) -> np.ndarray:
        """Sums of the scaled links of every row."""
        return _row_sums(self.links)

    def facts(self) -> dict[str, float]:
        """How large and how dense the graph is."""
        per_row = np.diff(self.links.indptr)
        return {
            "links": int(per_row.sum()),
            "mean links": float(per_row.mean()) if per_row.size else 0.0,
            "most links": int(per_row.max(initial=0)),
            "isolated": float(np.mean(per_row == 0)) if per_row.size else 0.0,
        }


def tag_graph(
    profiles: TagProfiles, likeness: Likeness, executor: Executor | None = None, n_shards: int = 1
) -> TagGraph:
    """Links the rows that are alike; the same bits for any number of shards."""
    n = profiles.counts.shape[0]
    _require_room(profiles, likeness)
    cuts = row_shards(n, n_shards) if n else [slice(0, 0)]
    shards = Shards([(cut.start, cut.stop) for cut in cuts], _unchanged, executor)
    shards.keep(**_known(profiles, likeness), likeness=likeness)
    blocks = shards.collect(_links_step)
    sizes, rows, values = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    starts = np.concatenate(([0], np.cumsum(sizes)))
    sigma = likeness.sigma or _median_distance(values) if likeness.measure == "euclidean" else 1.0
    links = sp.csr_matrix((_positive(values, likeness, sigma), rows, starts), shape=(n, n))
    links = _above(links, likeness.threshold)
    if likeness.n_neighbors:
        links = links.maximum(links.T.tocsr()).tocsr()
        links.sort_indices()
    raw = _row_sums(links)
    links, factor = _scaled(links, raw, likeness.laplacian)
    return TagGraph(links, raw, factor, sigma)


def no_graph(n: int) -> TagGraph:
    """The graph of rows none of which is like another."""
    return TagGraph(sp.csr_matrix((n, n)), np.zeros(n), 1.0, 1.0)


def raw_links(
    asked: TagProfiles, itself: np.ndarray, known: TagProfiles, sigma: float, likeness: Likeness
) -> sp.csr_matrix:
    """Links, before they are scaled, of further rows to the known ones; `itself` is the known row that an asked one is,
    -1 for none. A known row gets its own links again, where each keeps all of them."""
    shared = _known(known, likeness)
    profile = freeze((asked.starts, asked.tags, asked.weights, _figures(asked, likeness)))
    sizes, rows, values = _alike(profile, shared["known"], shared["index"], itself, likeness)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    strengths = _positive(values, likeness, sigma)
    links = sp.csr_matrix((strengths, rows, starts), shape=(itself.size, known.counts.shape[0]))
    return _above(links, likeness.threshold)


def scaled_links(links: sp.csr_matrix, degrees: np.ndarray, factor: float, likeness: Likeness) -> sp.csr_matrix:
    """Links of further rows as strong as those of the graph, whose degrees and factor were kept."""
    if likeness.laplacian == "sym":
        links.data *= _inverse_root(_row_sums(links))[_row_numbers(links)] * _inverse_root(degrees)[links.indices]
        return links
    links.data *= factor
    return links


def _links_step(shard: Shard, state: Any, known: Any, index: Any, likeness: Likeness) -> tuple[np.ndarray, ...]:
    first, last = shard.data
    starts, tags, weights, figures = known
    part = slice(starts[first], starts[last])
    asked = (starts[first : last + 1] - starts[first], tags[part], weights[part], figures[first:last])
    return _alike(freeze(asked), known, index, np.arange(first, last), likeness)


def _alike(asked: Any, known: Any, index: Any, itself: np.ndarray, likeness: Likeness) -> tuple[np.ndarray, ...]:
    most = likeness.max_df or np.iinfo(np.int64).max
    k = min(likeness.n_neighbors or 0, known[0].size - 1)
    shape = likeness.kernel, likeness.min_common, most, k
    return alike_rows(asked, known, index, freeze(itself.astype(np.int64)), *shape)


def _known(profiles: TagProfiles, likeness: Likeness) -> dict[str, Any]:
    figures = _figures(profiles, likeness)
    return freeze({"known": (profiles.starts, profiles.tags, profiles.weights, figures), "index": profiles.index})


def _figures(profiles: TagProfiles, likeness: Likeness) -> np.ndarray:
    """What the kernel wants to know of each row as a whole: its squared norm, or the mean of its weights."""
    weights = sp.csr_matrix((profiles.weights, profiles.tags, profiles.starts), shape=profiles.counts.shape)
    if likeness.kernel == FULL_COSINE:
        weights.data = weights.data**2
        return _row_sums(weights)
    return _row_sums(weights) / np.maximum(np.diff(profiles.starts), 1)


def _positive(values: np.ndarray, likeness: Likeness, sigma: float) -> np.ndarray:
    """Strengths of links, above 0 where there is one."""
    if likeness.measure == "cosine":
        return values
    if likeness.measure == "euclidean":
        return np.exp(values / (2.0 * sigma**2))
    maps = {
        "sigmoid": lambda rho: 1.0 / (1.0 + np.exp(-rho)),
        "affine": lambda rho: (1.0 + rho) / 2.0,
        "clip": lambda rho: np.maximum(rho, 0.0),
        "exp": lambda rho: np.exp(rho - 1.0),
    }
    return maps[likeness.positive](values)


def _above(links: sp.csr_matrix, threshold: float) -> sp.csr_matrix:
    links.data[links.data <= threshold] = 0.0
    links.eliminate_zeros()
    return links


def _median_distance(values: np.ndarray) -> float:
    """Median of the distances above 0 of linked rows; 1 where there is none."""
    distances = np.sqrt(-values[values < 0.0])
    return float(np.median(distances)) if distances.size else 1.0


def _scaled(links: sp.csr_matrix, degrees: np.ndarray, laplacian: str) -> tuple[sp.csr_matrix, float]:
    factor = 1.0
    if laplacian == "sym":
        root = _inverse_root(degrees)
        links.data *= root[_row_numbers(links)] * root[links.indices]
    elif laplacian != "plain" and links.nnz:
        factor = 1.0 / float(degrees.max() if laplacian == "maxdeg" else degrees.mean())
        links.data *= factor
    return links, factor


def _inverse_root(degrees: np.ndarray) -> np.ndarray:
    return np.divide(1.0, np.sqrt(degrees), out=np.zeros(degrees.size), where=degrees > 0)


def _row_sums(matrix: sp.csr_matrix) -> np.ndarray:
    return matrix @ np.ones(matrix.shape[1])


def _row_numbers(matrix: sp.csr_matrix) -> np.ndarray:
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _require_room(profiles: TagProfiles, likeness: Likeness) -> None:
    """Raises ValueError, before any work, for a graph of more links or candidates than can be held or looked at."""
    tagged = float(np.count_nonzero(np.diff(profiles.starts)))
    rows_of_tag = np.diff(profiles.index[0]).astype(float)
    proposing = rows_of_tag[rows_of_tag <= (likeness.max_df or np.inf)]
    candidates = float((proposing**2).sum())
    if candidates > MOST_CANDIDATES:
        raise ValueError(
            f"{candidates:.2g} pairs of rows share a tag, expected at most {MOST_CANDIDATES:.2g}: max_df leaves out "
            f"tags that more rows have (the most frequent has {rows_of_tag.max():.0f})"
        )
    links = min(candidates, tagged**2, tagged * 2 * (likeness.n_neighbors or np.inf))
    if links > MOST_LINKS:
        raise ValueError(
            f"a graph of up to {links:.2g} links, expected at most {MOST_LINKS:.2g}: n_neighbors keeps the most alike "
            "of each row, max_df leaves out frequent tags"
        )


def _unchanged(part: Any) -> Any:
    return part
