"""What a learnt TagiCoFi is made of: its arrays and numbers, by name, and what must hold of them."""

import numpy as np

from tagcore.base import require_array, require_lists
from tagcore.graph.profiles import TagProfiles
from tagcore.graph.similarity import TagGraph
from tagcore.models.tagicofi.targets import Offsets
from tagcore.parameters import POSITIVE, Real, Whole
from tagcore.rating_model import RatingModel

_SCALE_END = Real(none=True)


class Factorisation(RatingModel, abstract=True):
    """Factors, offsets and tags of users and of items, as they are stored."""

    _arrays = (
        "user_factors_",
        "item_factors_",
        "user_biases_",
        "item_biases_",
        "user_fallbacks_",
        "item_fallbacks_",
        "rated_values_",
        "tag_starts_",
        "tag_ids_",
        "tag_counts_",
        "idf_",
        "degrees_",
        "item_tag_starts_",
        "item_tag_ids_",
        "item_tag_counts_",
        "item_idf_",
        "item_degrees_",
    )
    _facts = (
        "mean_",
        "fallback_",
        "lowest_",
        "highest_",
        "n_tags_",
        "factor_",
        "sigma_",
        "item_factor_",
        "item_sigma_",
    )

    n_factors: int
    user_factors_: np.ndarray  # U, users × factors
    item_factors_: np.ndarray  # V
    user_biases_: np.ndarray
    item_biases_: np.ndarray
    user_fallbacks_: np.ndarray  # what a user is expected to give to an item that nobody rated
    item_fallbacks_: np.ndarray  # what an item is expected to get from someone of whom nothing is known
    rated_values_: np.ndarray  # beside rated_items_
    tag_starts_: np.ndarray  # counts of tags of every user, CSR
    tag_ids_: np.ndarray
    tag_counts_: np.ndarray
    idf_: np.ndarray
    degrees_: np.ndarray  # sums of links of users, before they were scaled
    item_tag_starts_: np.ndarray  # the same of items; empty where γ is 0
    item_tag_ids_: np.ndarray
    item_tag_counts_: np.ndarray
    item_idf_: np.ndarray
    item_degrees_: np.ndarray
    mean_: float
    fallback_: float  # what is answered where neither user nor item is known
    lowest_: float | None  # of the ratings' scale, where that is known
    highest_: float | None
    n_tags_: int
    factor_: float  # that all links were multiplied by
    sigma_: float
    item_factor_: float
    item_sigma_: float

    def _keep_offsets(self, offsets: Offsets) -> None:
        self.mean_ = offsets.mean
        self.user_biases_, self.item_biases_ = offsets.user_biases, offsets.item_biases
        self.user_fallbacks_, self.item_fallbacks_ = offsets.user_fallbacks, offsets.item_fallbacks
        self.fallback_ = offsets.fallback

    def _keep_tags(
        self, profiles: TagProfiles, graph: TagGraph, item_profiles: TagProfiles, item_graph: TagGraph
    ) -> None:
        self.n_tags_ = profiles.counts.shape[1]
        self.tag_starts_, self.tag_ids_, self.tag_counts_ = profiles.starts, profiles.tags, profiles.counts.data
        self.idf_, self.degrees_ = profiles.idf, graph.raw_degrees
        self.factor_, self.sigma_ = graph.factor, graph.sigma
        self.item_tag_starts_, self.item_tag_ids_ = item_profiles.starts, item_profiles.tags
        self.item_tag_counts_ = item_profiles.counts.data
        self.item_idf_, self.item_degrees_ = item_profiles.idf, item_graph.raw_degrees
        self.item_factor_, self.item_sigma_ = item_graph.factor, item_graph.sigma

    def _check_state(self) -> None:
        super()._check_state()
        n, m = self.n_users_, self.n_items_
        Whole(0).check("n_tags_", self.n_tags_)
        for name, limit in (
            ("mean_", Real()),
            ("fallback_", Real()),
            ("lowest_", _SCALE_END),
            ("highest_", _SCALE_END),
        ):
            limit.check(name, getattr(self, name))
        for name in ("factor_", "sigma_", "item_factor_", "item_sigma_"):
            POSITIVE.check(name, getattr(self, name))
        for side, size in (("user", n), ("item", m)):
            require_array(getattr(self, f"{side}_factors_"), (size, self.n_factors), np.float64, f"{side}_factors_")
            for name in (f"{side}_biases_", f"{side}_fallbacks_"):
                require_array(getattr(self, name), (size,), np.float64, name)
        require_array(self.rated_values_, self.rated_items_.shape, np.float64, "rated_values_")
        for prefix, size in (("", n), ("item_", m)):
            starts, ids, counts, idf, degrees = (
                getattr(self, f"{prefix}{name}_") for name in ("tag_starts", "tag_ids", "tag_counts", "idf", "degrees")
            )
            require_lists(starts, ids, size, self.n_tags_, f"{prefix}tags")
            require_array(counts, ids.shape, np.float64, f"{prefix}tag_counts_", least=1.0)
            require_array(idf, (self.n_tags_,), np.float64, f"{prefix}idf_", least=0.0)
            require_array(degrees, (size,), np.float64, f"{prefix}degrees_", least=0.0)
