"""Challenger and champion side by side on what was held out, for documents and for ratings."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tagcore.base import best_k
from tagcore.baselines import ItemMean
from tagcore.features.build import tag_frequencies
from tagcore.features.rating_split import load_side
from tagcore.features.split import Split
from tagcore.metrics.catalogue import champion_measure
from tagcore.metrics.evaluate_ratings import held_out_values
from tagcore.metrics.held_out import held_out_suggestions
from tagcore.metrics.ranking import mark_hits
from tagcore.recommender import Recommender
from tagcore.store.datasets import Dataset
from tagcore.tagger import Tagger
from tasks.costs import folder_megabytes
from tasks.data_kinds import kind_of
from tasks.evaluate import EvaluatedModel
from tasks.nights.hold_out import HoldOuts
from tasks.promotion.deciding_rows import choose_deciding_rows, find_unlearnt
from tasks.promotion.decision_record import Guard
from tasks.promotion.tagger_guards import Evidence, new_abilities, not_worse, tagger_guards
from tasks.recipe_settings import PromotionSettings


@dataclass(frozen=True, eq=False)
class Contest:
    """Values of the measure on the same documents, or users; and the guards."""

    ours: np.ndarray
    theirs: np.ndarray | None
    floor: np.ndarray  # of the plainest baseline
    baseline: str
    guards: list[Guard] = field(default_factory=list)
    units: str = "documents"  # or users: what there is a value of
    able: str = ""  # what the challenger can do that the champion cannot


@dataclass(frozen=True)
class Champion:
    """The model in service: its folder, the data that it was made from while they are kept, and its split if known."""

    folder: Path
    data: Path | None = None
    split: Split | None = None

    def corpus(self) -> Dataset | None:
        """The documents that it was made from."""
        return None if self.data is None else Dataset.open(self.data, "corpus", verify=False)


def hold_contest(
    challenger: EvaluatedModel,
    champion: Champion | None,
    data: Path,
    measure: str,
    settings: PromotionSettings,
    ledger: Path | None = None,
) -> Contest:
    """Measures both models anew.

    By the `ledger` of nights in a row the models are compared on what the first night held out; what the last nights
    brought is a guard.
    """
    if challenger.kind == "ratings":
        return _of_ratings(challenger, None if champion is None else champion.folder, data, measure, settings)
    corpus = Dataset.open(data, "corpus", verify=False)
    features = Dataset.open(challenger.prepared, "features", verify=False)
    k = champion_measure(measure, "documents")[1]
    assert k is not None
    tagger = Tagger.load(challenger.model)
    in_service = None if champion is None else Tagger.load(champion.folder)
    evidence = Evidence(
        corpus=corpus,
        features=features,
        measure=measure,
        level=settings.level,
        challenger=tagger,
        folder=challenger.model,
        ours=held_out_suggestions(tagger, corpus, features, k),
        champion=in_service,
        theirs=None if in_service is None else held_out_suggestions(in_service, corpus, features, k),
        corpus_before=None if champion is None else champion.corpus(),
    )
    ours, theirs = evidence.ours.values(measure), None if evidence.theirs is None else evidence.theirs.values(measure)
    floor, guards = _popular_values(features, evidence.ours.truth, measure, k), tagger_guards(evidence, settings.guards)
    fixed = unlearnt = None
    if ledger is not None:
        parts = HoldOuts.of(ledger, evidence.ours.documents)
        if theirs is not None and np.count_nonzero(parts.newest) > 1:
            guards.append(not_worse("latest nights", ours[parts.newest], theirs[parts.newest], measure, settings.level))
        fixed = parts.fixed
    if champion is not None and champion.split is not None:
        unlearnt = find_unlearnt(corpus, Split(**features.manifest["parameters"]["split"]), champion.split)
    decide, units = choose_deciding_rows(ours.size, fixed, unlearnt, settings.guards.min_test)
    theirs = None if theirs is None else theirs[decide]
    return Contest(ours[decide], theirs, floor[decide], "Popular", guards, units, new_abilities(evidence))


def _popular_values(features: Dataset, truth: Any, measure: str, k: int) -> np.ndarray:
    """What the most popular tags of the training documents are worth on every held-out document."""
    counts = tag_frequencies(features, "train").astype(np.float64)
    top, _ = best_k(counts[None], k)
    hits = mark_hits(truth, np.repeat(top, truth.shape[0], axis=0)).padded(k)
    return np.asarray(champion_measure(measure, "documents")[0].compute(hits, k))


def _of_ratings(
    challenger: EvaluatedModel, champion: Path | None, data: Path, measure: str, settings: PromotionSettings
) -> Contest:
    service, (train, test) = (
        kind_of("ratings").in_service,
        (load_side(challenger.prepared, side) for side in ("train", "test")),
    )
    plain = Recommender(ItemMean().fit(train), train.user_names, train.item_names)
    guards, size = settings.guards, folder_megabytes(challenger.model)
    n = len(test)
    found = f"{len(train):,} ratings to learn from, {n:,} held out"
    return Contest(
        ours=service.held_out_values(challenger.model, data, challenger.prepared, measure),
        theirs=None if champion is None else service.held_out_values(champion, data, challenger.prepared, measure),
        floor=held_out_values(plain, test, measure),
        baseline="ItemMean",
        units="users",
        guards=[
            Guard("data", n >= guards.min_test, found, f"at least {guards.min_test:,} held out"),
            Guard("size", size <= guards.max_megabytes, f"{size:,.1f} MB", f"at most {guards.max_megabytes:,.0f} MB"),
        ],
    )
