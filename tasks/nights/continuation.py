"""The rule by which a night goes on from the one before, or starts over: a few limits, each told with its numbers."""

from dataclasses import dataclass, replace
from datetime import datetime

from tagcore.features.growth import Growth
from tagcore.features.ledger import Changes
from tasks.nights.record import Lineage
from tasks.nights.warm_settings import WarmSettings


@dataclass(frozen=True)
class Limit:
    """One thing that must not be passed since idf was learnt."""

    name: str
    found: str
    most: str
    holds: bool

    def told(self) -> str:
        return f"{self.name} {self.found} (at most {self.most})"


def after_night(lineage: Lineage, features: str, changes: Changes) -> Lineage:
    """The lineage after one more night that went on."""
    return replace(
        lineage,
        features=features,
        nights=lineage.nights + 1,
        new=lineage.new + changes.new,
        changed=lineage.changed + changes.changed + changes.retagged,
        gone=lineage.gone + changes.gone,
    )


def limits_of_documents(lineage: Lineage, changes: Changes, settings: WarmSettings, now: datetime) -> list[Limit]:
    """What can be told before a word is read."""
    after = after_night(lineage, "", changes)
    n = max(1, lineage.documents)
    days = (now - datetime.fromisoformat(lineage.learnt_at)).total_seconds() / 86400
    return [
        Limit("nights", f"{after.nights}", f"{settings.max_nights}", after.nights <= settings.max_nights),
        Limit("days", f"{days:.1f}", f"{settings.max_days:g}", days <= settings.max_days),
        _share("new documents", after.new / n, settings.max_new),
        _share("changed documents", after.changed / n, settings.max_changed),
        _share("documents that are gone", after.gone / n, settings.max_gone),
        Limit("documents that were held out and now are not, or the other way round", f"{changes.swapped}", "0",
              changes.swapped == 0),
    ]  # fmt: skip


def limits_of_words(growth: Growth, settings: WarmSettings) -> list[Limit]:
    """What new documents tell when their words are counted."""
    most = settings.max_removed_tags
    return [
        _share("unknown words", growth.unknown_share, settings.max_unknown),
        Limit("removed tags", f"{growth.removed_tags:,}", f"{most:,}", growth.removed_tags <= most),
    ]


def _share(name: str, found: float, most: float) -> Limit:
    return Limit(name, f"{found:.1%}", f"{most:.1%}", found <= most)
