"""What must hold of a tagger before it goes into service, each with its numbers.

To add a guard, add a function to `tagger_guards`; its limit is a setting of `GuardSettings`.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.stats import binomtest

from tagcore.features.build import tag_frequencies
from tagcore.features.corpus_reader import CorpusReader
from tagcore.features.split import Split, uniform_hashes
from tagcore.metrics.held_out import HeldOutSuggestions
from tagcore.metrics.intervals import paired_difference
from tagcore.store.datasets import Dataset
from tagcore.tagger import Tagger
from tasks.costs import folder_megabytes
from tasks.promotion.decision_record import Guard
from tasks.recipe_settings import GuardSettings

_TIMED = 50  # documents


@dataclass(frozen=True, eq=False)
class Evidence:
    """Challenger and champion on the same held-out documents, and what they were made from."""

    corpus: Dataset
    features: Dataset
    measure: str
    level: float
    challenger: Tagger
    folder: Path  # of the challenger
    ours: HeldOutSuggestions
    champion: Tagger | None = None
    theirs: HeldOutSuggestions | None = None
    corpus_before: Dataset | None = None  # that the champion was made from, while it is kept

    @property
    def old(self) -> np.ndarray | None:
        """Of every held-out document, whether the champion's corpus had it; None where that is not kept."""
        if self.corpus_before is None:
            return None
        ids = _ids(self.corpus).take(pa.array(self.ours.documents))
        return pc.is_in(ids, value_set=_ids(self.corpus_before)).to_numpy(zero_copy_only=False)


def tagger_guards(evidence: Evidence, settings: GuardSettings) -> list[Guard]:
    """All rows, in the order in which a person would ask."""
    return [
        *_enough_data(evidence, settings),
        _no_leak(evidence, settings),
        *_drift(evidence, settings),
        *_old_and_new(evidence, settings),
        *_tags(evidence, settings),
        _size(evidence, settings),
        _latency(evidence, settings),
    ]


def new_abilities(evidence: Evidence) -> str:
    """Tags that the champion does not know, of which the challenger finds at least half of the held-out documents."""
    if evidence.theirs is None:
        return ""
    new = ~evidence.theirs.known & evidence.ours.known
    positives = _per_tag(evidence.ours.truth)
    found = _per_tag(evidence.ours.found())
    tags = np.flatnonzero(new & (positives > 0) & (2 * found >= positives))
    if not tags.size:
        return ""
    names = evidence.features.names("tags")
    first = ", ".join(names[tag] for tag in tags[np.argsort(-positives[tags], kind="stable")][:3])
    return f"able to give {tags.size:,} tags that are new ({first}{', …' if tags.size > 3 else ''})"


def _enough_data(evidence: Evidence, settings: GuardSettings) -> Iterator[Guard]:
    counts = evidence.features.counts
    found = f"{counts['train']:,} to learn from, {counts['test']:,} held out"
    yield Guard("data", counts["test"] >= settings.min_test, found, f"at least {settings.min_test:,} held out")
    if evidence.corpus_before is None:
        return
    now, before = evidence.corpus.counts["documents"], evidence.corpus_before.counts["documents"]
    needed = f"at least {settings.min_share:.0%} of the {before:,} that the champion was made from"
    yield Guard("documents", now >= settings.min_share * before, f"{now:,} documents", needed)


def _no_leak(evidence: Evidence, settings: GuardSettings) -> Guard:
    """No document is on both sides, and few held-out texts stand word for word among those to learn from."""
    train, test = (
        np.concatenate([block["document"].to_numpy() for block in evidence.features.blocks(side, ["document"])])
        for side in ("train", "test")
    )
    both = np.intersect1d(train, test).size
    copies = _copied_texts(evidence)
    found = f"{both:,} documents on both sides, {copies:.1%} of the held-out texts are copies of others to learn from"
    needed = f"none, and at most {settings.max_copies:.0%}"
    return Guard("leak", not both and copies <= settings.max_copies, found, needed)


def _copied_texts(evidence: Evidence) -> float:
    held_out, learnt = [np.empty(0)], [np.empty(0)]
    for group in CorpusReader(evidence.corpus, Split(**evidence.features.manifest["parameters"]["split"])):
        if group.bags is not None:
            return 0.0
        hashes = uniform_hashes(group.texts, 0)
        held_out.append(hashes[group.held_out & group.used])
        learnt.append(hashes[~group.held_out & group.used])
    tested = np.concatenate(held_out)
    return float(np.isin(tested, np.concatenate(learnt)).mean()) if tested.size else 0.0


def _drift(evidence: Evidence, settings: GuardSettings) -> Iterator[Guard]:
    """How far tags and words have moved from those that the champion learnt: the share of all that went elsewhere."""
    champion, needed = evidence.champion, f"at most {settings.max_drift:.0%}"
    if champion is None:
        return
    n = evidence.features.counts["train"]
    counts = tag_frequencies(evidence.features, "train")
    if champion.tag_shares is not None:
        now = dict(zip(evidence.features.names("tags"), counts / n, strict=True))
        before = dict(zip(champion.tag_names, champion.tag_shares.tolist(), strict=True))
        moved = _moved(now, before, settings.frequent / n)
        yield Guard("drift of tags", moved <= settings.max_drift, f"{moved:.1%} of the taggings moved", needed)
    shares = [_word_shares(tagger) for tagger in (evidence.challenger, champion)]
    if shares[0] and shares[1]:
        moved = _moved(shares[0], shares[1], settings.frequent / n)
        yield Guard("drift of words", moved <= settings.max_drift, f"{moved:.1%} of the words moved", needed)


def _word_shares(tagger: Tagger) -> dict[str, float]:
    """The share of the training documents that have each word, as its idf tells; empty where there is none."""
    vectoriser = tagger.vectoriser.views[0]
    if not vectoriser.use_idf:
        return {}
    return dict(zip(vectoriser.terms_, np.exp(1 - vectoriser.idf_).tolist(), strict=True))


def _moved(now: dict[str, float], before: dict[str, float], rare: float) -> float:
    """Total variation between two distributions over names; what is rare in both counts as one."""
    names = sorted(now.keys() | before.keys())
    p = np.array([now.get(name, 0.0) for name in names])
    q = np.array([before.get(name, 0.0) for name in names])
    common = np.maximum(p, q) >= rare
    p, q = (np.append(x[common], x[~common].sum()) for x in (p, q))
    if not p.sum() or not q.sum():
        return 0.0
    return float(0.5 * np.abs(p / p.sum() - q / q.sum()).sum())


def _old_and_new(evidence: Evidence, settings: GuardSettings) -> Iterator[Guard]:
    """On documents that the champion's corpus had, no worse than the champion; and the champion not lost on new ones.

    Tags of tonight's documents may be wrong, and who learnt them would look good on them: older ones tell.
    """
    old = evidence.old
    if evidence.theirs is None or old is None:
        return
    ours, theirs = evidence.ours.values(evidence.measure), evidence.theirs.values(evidence.measure)
    if old.sum() > 1:
        yield not_worse("older documents", ours[old], theirs[old], evidence.measure, evidence.level)
    if (~old).sum() >= settings.min_test:
        then, now = float(theirs[old].mean()) if old.any() else 0.0, float(theirs[~old].mean())
        found = f"the champion has {evidence.measure} {now:.3f} on {(~old).sum():,} new documents, {then:.3f} on others"
        needed = f"at least {settings.min_agreement:.0%} of that on others"
        yield Guard("newest documents", now >= settings.min_agreement * then, found, needed)


def not_worse(name: str, ours: np.ndarray, theirs: np.ndarray, measure: str, level: float) -> Guard:
    """The challenger does not lose to the champion on some documents, beyond the interval."""
    test = paired_difference(ours, theirs, level=level)
    found = f"{measure} {test.difference:+.4f} ({test.low:+.4f} to {test.high:+.4f}) on {test.n:,} documents"
    return Guard(name, not test.high < 0, found, "not worse than the champion beyond the interval")


def _tags(evidence: Evidence, settings: GuardSettings) -> Iterator[Guard]:
    """Frequent tags: how many are found less often than by the champion, beyond chance; and none falls silent."""
    if evidence.theirs is None:
        return
    positives = _per_tag(evidence.ours.truth)
    frequent = np.flatnonzero((positives >= settings.frequent) & evidence.theirs.known)
    if not frequent.size:
        return
    names = evidence.features.names("tags")
    ours, theirs = evidence.ours.found(), evidence.theirs.found()
    gained, lost = _per_tag(ours > theirs), _per_tag(theirs > ours)
    level = 0.05 / frequent.size  # so many are asked
    fallen = [
        tag
        for tag in frequent
        if lost[tag] > gained[tag] and binomtest(int(gained[tag]), int(gained[tag] + lost[tag])).pvalue < level
    ]
    told = ", ".join(f"{names[tag]} (-{lost[tag] - gained[tag]} of {positives[tag]})" for tag in fallen[:5])
    found = f"{len(fallen)} of {frequent.size:,} frequent tags{f': {told}' if told else ''}"
    passed = len(fallen) <= settings.max_regressed * frequent.size
    yield Guard("tags that fell", passed, found, f"at most {settings.max_regressed:.0%}")
    silent = frequent[(evidence.ours.suggested()[frequent] == 0) & (_per_tag(theirs)[frequent] > 0)]
    told = ", ".join(names[tag] for tag in silent[:5]) or "none"
    yield Guard(
        "silent tags", not silent.size, told, "every frequent tag that the champion gives rightly is given at times"
    )


def _size(evidence: Evidence, settings: GuardSettings) -> Guard:
    size = folder_megabytes(evidence.folder)
    return Guard("size", size <= settings.max_megabytes, f"{size:,.2f} MB", f"at most {settings.max_megabytes:,.0f} MB")


def _latency(evidence: Evidence, settings: GuardSettings) -> Guard:
    """Median time of one held-out document, from its row of words to its best tags."""
    rows = next(iter(evidence.features.blocks("test", ["words", "values"])))
    n = min(_TIMED, len(rows))
    texts = [" ".join(evidence.challenger.vectoriser.terms_[w] for w in words.as_py()) for words in rows["words"][:n]]
    evidence.challenger.suggest(texts[:1])
    seconds = []
    for text in texts:
        begun = time.perf_counter()
        evidence.challenger.suggest([text])
        seconds.append(time.perf_counter() - begun)
    taken = 1000 * float(np.median(seconds))
    needed = f"at most {settings.max_milliseconds:g} ms"
    return Guard("latency", taken <= settings.max_milliseconds, f"{taken:.2f} ms a document", needed)


def _ids(corpus: Dataset) -> pa.Array:
    return pa.concat_arrays([chunk for block in corpus.blocks("documents", ["id"]) for chunk in block["id"].chunks])


def _per_tag(cells: Any) -> np.ndarray:
    return np.asarray((cells > 0).sum(axis=0)).ravel()
