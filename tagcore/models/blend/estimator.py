"""The estimator: members, folds, combiner and guard."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tagcore.base import BLOCK_CELLS, best_k, block_rows, require_array, require_lists
from tagcore.features.folds import NEVER, fold_numbers
from tagcore.features.rows import Rows
from tagcore.features.side_by_side import columns_of, number_of_view
from tagcore.models.blend import curves, kernel
from tagcore.models.blend.combiner import Combiner, fit_combiner, no_combiner
from tagcore.models.blend.guard import CURVE, THE_BLEND, choose
from tagcore.models.blend.members import Member, MemberList, make_members
from tagcore.models.blend.pairs import (
    AllTags,
    Pairs,
    TagCounts,
    held_out_pairs,
    joined,
    joined_all_tags,
    member_rows,
    member_scores,
    scored_pairs,
)
from tagcore.models.blend.trees import Trees
from tagcore.numeric.logistic import expit
from tagcore.numeric.read_only import freeze
from tagcore.parameters import SEED, Whole, limits
from tagcore.progress import no_progress
from tagcore.scoring.explanation import Explanation
from tagcore.tag_model import TagModel
from tagcore.training import FitContext

_COMBINER = ("weights_", "ranges_", "node_starts_", "thresholds_", "tree_of_node_", "left_alone_", "leaf_values_")


class _Served(NamedTuple):
    """What a fitted blend answers with."""

    members: list[Member]
    combiner: Combiner
    counts: tuple


class Voice(NamedTuple):
    """What one member says of a tag: its score, the tag's place among all (from 1), and how likely that makes it."""

    member: str
    score: float
    place: int
    probability: float


class Blend(TagModel):
    """A stack over taggers, whose scores are log-odds that a tag is right: probabilities need no calibrator.

    Members are fitted without some folds of the documents and score these. The pool of a document is the best tags of
    each member; a small combiner (a logistic curve with products, and boosted trees, the mean of both) learns from
    those pairs which are right. Each part of a fold guards: it judges a combiner that learnt from the fold's other
    parts. Where the blend is not surely better there (nDCG@5) than its best member, that member serves alone, and trees
    only where they are surely better than the curve. Then members are fitted on all. The log-odds of a member that
    serves alone are a curve of its scores, learnt from the same documents; below 20 documents, or where none has a tag,
    there are none to learn from, and the first member serves with its own probabilities, which promise nothing.

    Parameters
    ----------
    members : class names, or `{"model": name, parameter: value, …}`; the first leads. None: OneVsRestLinear, KNN and
        BOMC. `"columns": [start, stop]` beside the parameters: the member reads these columns of X alone, so that each
        may have features of its own, joined side by side (a recipe gives a member `features` instead).
    pool : how many of each member's best tags are looked at; others come last, in the order of the first member, with
        probabilities near 0.
    n_folds : how many fifths of the documents are held out, one after the other. None: all five below 5,000 documents,
        from there on a quarter.
    n_trees : boosted trees of the combiner, where 400 documents or more of a fold can teach it before they are judged.
    random_state : seed of folds, guard, trees and members.

    Examples
    --------
    >>> words = [[1.0, 0.0], [0.0, 1.0]] * 20
    >>> model = Blend(members=["Popular", "KNN"]).fit(words, [[1, 0], [0, 1]] * 20)
    >>> model.top_k([[2.0, 1.0]], 1)[0]
    array([[0]])
    """

    _arrays = (
        "curves_",
        *_COMBINER,
        "tag_documents_",
        "met_starts_",
        "met_tags_",
        "met_counts_",
        "guard_",
    )
    _facts = ("serving_", "n_documents_")
    _rounds = ("n_trees",)
    _limits = limits(
        members=MemberList(),
        pool=Whole(1, kernel.RANKS),
        n_folds=Whole(1, 5, none=True),
        n_trees=Whole(0, 10_000),
        random_state=SEED,
    )
    can_be_member = False
    gives_probabilities = True

    curves_: np.ndarray  # (members, 4) log-odds of each member's score, see `curves`; zeros: by its own probability
    guard_: np.ndarray  # nDCG@5 that the guard saw: of the curve with trees, of the curve alone, of every member
    serving_: int  # the number of the member that serves alone, or -1

    def __init__(
        self,
        members: Sequence[Any] | None = None,
        pool: int = 20,
        n_folds: int | None = None,
        n_trees: int = 50,
        random_state: int = 0,
    ) -> None:
        self.members = members
        self.pool = pool
        self.n_folds = n_folds
        self.n_trees = n_trees
        self.random_state = random_state

    @property
    def member_names(self) -> list[str]:
        """Class names of the members, with numbers where two have one."""
        names = [type(member.model).__name__ for member in self._made()]
        return [
            f"{name} {names[:i].count(name) + 1}" if names.count(name) > 1 else name for i, name in enumerate(names)
        ]

    def proba(self, scores: np.ndarray) -> np.ndarray:
        return expit(scores)

    def voices(self, X: Any, tag: int) -> list[Voice]:
        """What each member says of a tag of the one document X."""
        members = self._served().members
        scores = member_scores(members, member_rows(members, self._checked(X)))[:, 0]
        odds = [self._odds(number, scores[number, tag]) for number in range(len(members))]
        places = [int((row > row[tag]).sum() + (row[:tag] == row[tag]).sum()) + 1 for row in scores]
        return [
            Voice(name, float(row[tag]), place, float(expit(z)))
            for name, row, place, z in zip(self.member_names, scores, places, odds, strict=True)
        ]

    def explain(self, X: Any, tag: int) -> Explanation | None:
        """What each word did to the score of the first member that can tell, of those that serve; None without one."""
        members = self._served().members
        serving = members if self.serving_ == THE_BLEND else [members[self.serving_]]
        able = [member for member in serving if hasattr(member.model, "explain")]
        if not able:
            return None
        told = able[0].model.explain(able[0].rows(self._checked(X)), tag)
        first = able[0].columns[0] if able[0].columns else 0
        return told if told is None else replace(told, words=told.words + first)

    def _fit(self, rows: Rows, context: FitContext) -> None:
        members, Y = self._made(), rows.labels(slice(0, rows.n_rows))
        folds = fold_numbers(rows.n_rows, self.n_folds, self.random_state)
        held = [int(fold) for fold in np.unique(folds) if fold != NEVER]
        fits = _Fits(context, (len(held) + 1) * len(members))
        self.curves_ = np.zeros((len(members), curves.WIDTH))
        self.guard_, self.serving_ = np.zeros(CURVE + 1 + len(members)), 0
        combiner = no_combiner(len(members))
        if held:
            pairs, all_tags = self._held_out_pairs(members, rows, Y, folds, held, fits)
            if pairs.hits.size:  # none where no document has a tag: the first member serves
                self.curves_ = curves.fit_curves(pairs, all_tags, len(members))
                combiner = self._guarded(pairs, folds, Y, len(members))
        for name, array in zip(_COMBINER, combiner.arrays, strict=True):
            setattr(self, name, array)
        counts = TagCounts.of(Y)
        self.n_documents_, self.tag_documents_ = counts.n_documents, counts.documents
        self.met_starts_, self.met_tags_, self.met_counts_ = counts.starts, counts.tags, counts.counts
        for number, member in enumerate(members):
            fits.fit(member, rows, None, f"member{number}")
            for name in (*member.model._all_arrays(), *member.model._all_facts()):
                setattr(self, _stored_name(number, name), getattr(member.model, name))
        self._ready: _Served | None = None
        self._served()  # now, as to be asked changes nothing

    def _held_out_pairs(
        self, members: list[Member], rows: Rows, Y: sp.csr_matrix, folds: np.ndarray, held: list[int], fits: "_Fits"
    ) -> tuple[Pairs, AllTags]:
        """Pairs of every document that is held out once, and cells of all tags, scored by members that have not seen
        it."""
        parts = []
        for fold in held:
            seen, unseen = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            fitted = [
                fits.fit(replace(member, model=member.model.twin()), rows, folds == fold, f"fold{fold}-member{number}")
                for number, member in enumerate(members)
            ]
            parts.append(held_out_pairs(fitted, rows, unseen, self.pool, TagCounts.of(Y[seen])))
        pairs, all_tags = zip(*parts, strict=True)
        return joined(pairs), joined_all_tags(all_tags)

    def _guarded(self, pairs: Pairs, folds: np.ndarray, Y: sp.csr_matrix, n_members: int) -> Combiner:
        """Lets the guard decide what serves; the combiner of a blend then learns from all that was scored."""
        choice = choose(pairs, folds, Y, n_members, self.n_trees, self.random_state)
        self.guard_, self.serving_ = choice.quality, choice.serving
        if self.serving_ != THE_BLEND:
            return no_combiner(n_members)
        return fit_combiner(pairs, n_members, self.n_trees if choice.with_trees else 0, self.random_state)

    def _scores(self, X: sp.csr_matrix) -> np.ndarray:
        served = self._served()
        if self.serving_ != THE_BLEND:
            return self._odds(self.serving_, served.members[self.serving_].scores(X))
        return kernel.spread_scores(*self._pair_odds(served, X))

    def _top_k(self, X: sp.csr_matrix, k: int) -> tuple[np.ndarray, np.ndarray]:
        served = self._served()
        if self.serving_ != THE_BLEND:
            alone = served.members[self.serving_]
            best, scores_alone = alone.model._top_k(alone.rows(X), k)
            return best, self._odds(self.serving_, scores_alone)
        best, best_odds = np.empty((X.shape[0], k), np.int64), np.empty((X.shape[0], k))
        step = block_rows(self.n_labels_, BLOCK_CELLS)
        for start in range(0, X.shape[0], step):
            at = slice(start, min(start + step, X.shape[0]))
            block = X if X.shape[0] <= step else X[at]
            indptr, tags, odds, lead_scores = self._pair_odds(served, block)
            if not kernel.best_pairs(indptr, tags, odds, best[at], best_odds[at]):  # more tags are asked for
                best[at], best_odds[at] = best_k(kernel.spread_scores(indptr, tags, odds, lead_scores), k)
        return best, best_odds

    def _pair_odds(self, served: "_Served", X: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(indptr, tags, log-odds) of the pairs of checked rows, and the leading member's scores of all tags."""
        rows = member_rows(served.members, X)
        scores = member_scores(served.members, rows)
        indptr, tags, features = scored_pairs(served.members, rows[0], scores, self.pool, served.counts)
        return indptr, tags, served.combiner(features, len(served.members)), scores[0]

    def _odds(self, member: int, scores: np.ndarray) -> np.ndarray:
        """Log-odds of the scores of one member."""
        return curves.log_odds(self.curves_[member], self._served().members[member].model, scores)

    def _made(self) -> list[Member]:
        return make_members(self.members, self.random_state)

    def _served(self) -> "_Served":
        """What answers: members, combiner and counts, made once of the arrays that stand on this model."""
        ready: _Served | None = self.__dict__.get("_ready")
        if ready is None:
            members = self._made()
            for number, member in enumerate(members):
                for name in (*member.model._all_arrays(), *member.model._all_facts()):
                    setattr(member.model, name, getattr(self, _stored_name(number, name)))
            weights, ranges, *trees = (freeze(getattr(self, name)) for name in _COMBINER)
            met = (self.met_starts_, self.met_tags_, self.met_counts_)
            counts = TagCounts(self.n_documents_, *map(freeze, (self.tag_documents_, *met)))
            ready = self._ready = _Served(members, Combiner(weights, ranges, Trees(*trees)), counts.arrays)
        return ready

    def _all_arrays(self) -> tuple[str, ...]:  # type: ignore[override]  # of this one: its members have more
        return (*self._arrays, *self._names_of_members("_all_arrays"))

    def _all_facts(self) -> tuple[str, ...]:  # type: ignore[override]
        return (*self._common_facts, *self._facts, *self._names_of_members("_all_facts"))

    def _names_of_members(self, kind: str) -> list[str]:
        members = enumerate(self._made())
        return [_stored_name(number, name) for number, member in members for name in getattr(member.model, kind)()]

    def _check_state(self) -> None:
        super()._check_state()
        members = self._served().members
        m, n_tags = len(members), self.n_labels_
        Whole(THE_BLEND, m - 1).check("serving_", self.serving_)
        Whole().check("n_documents_", self.n_documents_)
        require_array(self.curves_, (m, curves.WIDTH), np.float64, "curves_")
        require_array(self.guard_, (CURVE + 1 + m,), np.float64, "guard_", 0, 1)
        self._served().combiner.check(m)
        require_array(self.tag_documents_, (n_tags,), np.int64, "tag_documents_", 0, self.n_documents_)
        require_lists(self.met_starts_, self.met_tags_, n_tags, n_tags, "tags that meet")
        require_array(self.met_counts_, self.met_tags_.shape, np.int32, "met_counts_", 0, self.n_documents_)
        for member, name in zip(members, self.member_names, strict=True):
            start, stop = member.columns or (0, self.n_features_in_)
            if (member.model.n_labels_, member.model.n_features_in_) != (n_tags, stop - start):
                raise ValueError(f"its member {name} has other tags or words than it has itself")
            if stop > self.n_features_in_:
                raise ValueError(f"its member {name} reads columns {start}:{stop} of {self.n_features_in_}")
            member.model._check_state()


class _Fits:
    """Fits members one after the other, each with checkpoints of its own, and tells how many are done."""

    def __init__(self, context: FitContext, total: int) -> None:
        self._context, self._total, self._done = context, total, 0

    def fit(self, member: Member, rows: Rows, left_out: np.ndarray | None, name: str) -> Member:
        context = self._context
        checkpoints = context.checkpoints.inside(name) if context.checkpoints else None
        read = columns_of(rows, member.columns)
        view = number_of_view(rows, read)
        kept = None if context.kept is None or view is None else context.kept.of_view(view)
        context = replace(context, checkpoints=checkpoints, progress=no_progress, kept=kept)
        member.model.fit_without(left_out, read, context)
        self._done += 1
        self._context.progress(self._done, self._total, {})
        return member


def _stored_name(number: int, name: str) -> str:
    """The attribute that holds an array of a member."""
    return f"member{number}_{name}"
