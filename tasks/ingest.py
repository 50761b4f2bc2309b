"""From files, feeds and pages, or the demonstration site, to a stored corpus."""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from prefect import task
from prefect.states import State

from tagcore.corpus import DocumentSource, append_block, append_names
from tagcore.readers import open_source
from tagcore.readers.bad_rows import rows_left_out
from tagcore.readers.merged_sources import SeveralSources
from tagcore.readers.merged_tags import MergedTags
from tagcore.readers.open import source_fingerprint
from tagcore.readers.source import Source
from tagcore.readers.web.collection import Collection
from tagcore.readers.web.feed import FeedItem
from tagcore.readers.web.gathered import GatheredDocuments
from tagcore.readers.web.urls import host_and_port, is_url
from tagcore.store.datasets import Writer, write_dataset
from tagcore.synthetic.corpus import PlantedCorpus, demo_corpus
from tagcore.synthetic.media import PlantedMedia, demo_media
from tagcore.synthetic.ring_corpus import RingCorpus, demo_rings
from tasks.cache import PlannedResult, is_transient, run_cached
from tasks.crawl.crawl_run import STATE, bookmarked, crawl, is_url_list, read_url_list
from tasks.crawl.crawler import CrawlCounts, Watcher
from tasks.crawl.fetch import PRIVATE
from tasks.crawl.parser_pool import TOO_LONG
from tasks.data_settings import DEMO_SITE, CrawlSettings, DataSettings
from tasks.demo_site.server import served
from tasks.demo_site.site import NAME, SITE, DemoSite
from tasks.naming import data_name
from tasks.progress import ProgressReporter
from tasks.workspace import Workspace

ROWS_PER_GROUP = 8192
REJECTED = "rejected.jsonl"
TAGS_LISTED = "tags.json"  # which spellings were merged, which tags left out
CRAWLS = "crawls"  # the folder of all crawls' states, in the state folder

_DEMOS: dict[str, Callable[[int], PlantedCorpus | PlantedMedia | RingCorpus]] = {
    "demo": demo_corpus,
    "demo-media": demo_media,
    "demo-rings": demo_rings,
}


@task(
    name="ingest",
    task_run_name="ingest {data.shown}",
    retries=2,
    retry_delay_seconds=2,
    retry_condition_fn=is_transient,
)
def ingest(data: DataSettings, workspace: Workspace) -> State[Path]:
    """Reads the recipe's source into a corpus; rows that cannot be read end it, or are listed where told to skip.

    Addresses are crawled first; the corpus is made again only where that brought something else than before.
    """
    folder = workspace.settings.state / CRAWLS / data_name(data)
    if data.source == DEMO_SITE:
        return _ingest_demo_site(data, folder, workspace)
    parts = _Parts.of(data)
    counts = _crawl(data, parts, folder, workspace) if parts.crawled else None
    with _gathered(folder) if parts.crawled else nullcontext() as gathered:
        parameters = {
            "rows_per_group": ROWS_PER_GROUP,
            "options": data.options,
            "skip_bad_rows": data.skip_bad_rows,
            **({"tags": data.tags.model_dump(mode="json")} if data.tags.change_anything else {}),
        }
        plan = PlannedResult(workspace.store, "corpus", parameters, {"source": _fingerprint(data, parts, gathered)})

        def make(folder: Path, step: ProgressReporter) -> None:
            with write_dataset(folder, "corpus", **plan.manifest) as writer:
                rejects = writer.folder / REJECTED if data.skip_bad_rows else None
                source = _source(data, parts, gathered, rejects)
                remark = _write(writer, source, step, data, folder)
                if not writer.counts.get("documents"):
                    raise ValueError(f"{data.shown}: no documents{_why_none(counts)}")
                step.remark = "; ".join(filter(None, (_remark(source, folder), remark)))

        return run_cached(plan, f"read {data_name(data)}", make)


def _ingest_demo_site(data: DataSettings, folder: Path, workspace: Workspace) -> State[Path]:
    """Crawls the demonstration site, unless what that gives stands already: it is known what the site has."""
    inputs = {"site": demo_corpus(data.documents).fingerprint()}
    parameters = {"rows_per_group": ROWS_PER_GROUP, "site": SITE, "tags": data.tags.model_dump(mode="json")}
    plan = PlannedResult(workspace.store, "corpus", parameters, inputs)

    def make(made: Path, step: ProgressReporter) -> None:
        state = folder / f"{data.documents}-{os.getpid()}"
        settings = CrawlSettings(per_host=16, archive=False, contact="the demonstration of tagflow")
        try:
            with served(DemoSite(data.documents), named=True) as address:
                there = {host_and_port(NAME): host_and_port(address + "/")}
                starts, watch = [f"{NAME}/"], _watcher(step)
                counts = crawl(state, starts, settings, local=True, instead=there, watch=watch)
            if counts.refused[TOO_LONG]:  # a busy machine's fault, which shall not stand for the site
                raise TimeoutError(f"the demonstration site was read in part: {counts.told()}")
            with _gathered(state) as source, write_dataset(made, "corpus", **plan.manifest) as writer:
                remark = _write(writer, source, step, data, made)
            step.remark = "; ".join(filter(None, (counts.told(), remark)))
        finally:
            shutil.rmtree(state, ignore_errors=True)

    return run_cached(plan, "crawl the demonstration site", make)


@dataclass(frozen=True)
class _Parts:
    """The sources of a recipe: what is read from files, and what is fetched."""

    files: tuple[str, ...]
    addresses: tuple[str, ...]
    exports: tuple[str, ...]  # files whose pages are fetched

    @classmethod
    def of(cls, data: DataSettings) -> "_Parts":
        addresses: list[str] = []
        files = []
        for source in data.sources:
            if is_url(source):
                addresses.append(source)
            elif is_url_list(Path(source)):
                addresses += read_url_list(Path(source))
            else:
                files.append(source)
        if data.fetch:
            return cls((), tuple(addresses), tuple(files))
        return cls(tuple(files), tuple(addresses), ())

    @property
    def crawled(self) -> bool:
        return bool(self.addresses or self.exports)


def _crawl(data: DataSettings, parts: _Parts, folder: Path, workspace: Workspace) -> CrawlCounts:
    step = ProgressReporter(f"crawl {data_name(data)}")
    step.tell("start")
    step.begin()

    counts = crawl(
        folder,
        parts.addresses,
        data.crawl,
        items=_exported(data, parts),
        local=data.local,
        logins=workspace.settings.logins,
        watch=_watcher(step),
    )
    step.remark, step.known = counts.told(), {"seconds": time.perf_counter() - step.begun}
    step.tell("made")
    return counts


def _why_none(counts: CrawlCounts | None) -> str:
    """What a crawl that brought nothing was refused, and what a person can do about it."""
    if counts is None or not counts.refused:
        return ""
    local = "; addresses of this machine or of its own network are opened by --allow-local, in a recipe by data.local"
    return f": {counts.told()}{local if counts.refused[PRIVATE] else ''}"


def _exported(data: DataSettings, parts: _Parts) -> Iterator[FeedItem]:
    for path in parts.exports:
        yield from bookmarked(open_source(Path(path), **data.options))


def _watcher(step: ProgressReporter) -> Watcher:
    def watch(counts: CrawlCounts) -> None:
        refused = {f"refused ({reason})": float(n) for reason, n in counts.refused.most_common(3)}
        known = {"waiting": float(counts.waiting), **refused, "pages/s": round(counts.per_second, 1)}
        step(counts.done, counts.done + counts.waiting, known)

    return watch


def _write(writer: Writer, source: DocumentSource, step: ProgressReporter, data: DataSettings, folder: Path) -> str:
    """Writes the corpus, its tags merged where the recipe says so; tells of the merges, which are listed beside it."""
    chosen, total = data.tags, data.documents if data.made_up else 0
    merged = MergedTags(source, chosen.merge, chosen.include, chosen.exclude) if chosen.change_anything else None
    for block in (merged or source).blocks(ROWS_PER_GROUP):
        append_block(writer, block)
        step(writer.counts["documents"], total, {})
    append_names(writer, (merged or source).tags, source.words)
    if merged is None:
        return ""
    listed = {"merged": merged.merges, "left_out": merged.left_out}
    (writer.folder / TAGS_LISTED).write_text(json.dumps(listed, indent=1, ensure_ascii=False), encoding="utf-8")
    spellings = sum(map(len, merged.merges.values()))
    return (
        f"{spellings:,} spellings are {len(merged.merges):,} tags, {len(merged.left_out):,} tags left out, "
        f"see {folder / TAGS_LISTED}"
    )


@contextmanager
def _gathered(folder: Path) -> Iterator[GatheredDocuments]:
    """What a crawl has gathered."""
    collection = Collection(folder / STATE)
    try:
        yield GatheredDocuments(collection)
    finally:
        collection.close()


def _source(
    data: DataSettings, parts: _Parts, gathered: GatheredDocuments | None, rejects: Path | None
) -> DocumentSource:
    if data.planted:
        return _DEMOS[data.only_source](data.documents)
    sources: list[DocumentSource] = [gathered] if gathered is not None else []
    for number, path in enumerate(parts.files, 1):
        apart = rejects.with_stem(f"{rejects.stem}-{number}") if rejects and len(parts.files) > 1 else rejects
        sources.append(open_source(Path(path), skip_bad_rows=apart, **data.options))
    return sources[0] if len(sources) == 1 else SeveralSources(sources)


def _fingerprint(data: DataSettings, parts: _Parts, gathered: GatheredDocuments | None) -> str:
    if data.planted:
        return _DEMOS[data.only_source](data.documents).fingerprint()
    prints = [gathered.fingerprint()] if gathered is not None else []
    prints += [source_fingerprint(Path(path), **data.options) for path in parts.files]
    return prints[0] if len(prints) == 1 else hashlib.sha256("\n".join(prints).encode()).hexdigest()


def _remark(source: DocumentSource, folder: Path) -> str:
    several = source.sources if isinstance(source, SeveralSources) else [source]
    files = [one for one in several if isinstance(one, Source)]
    told = [file.remark for file in files]
    if rejected := sum(file.rejected for file in files):
        listed = REJECTED if len(files) == 1 else REJECTED.replace(".", "-*.")
        lines = sum(file.rejected_lines for file in files)
        told.append(f"{rows_left_out(rejected, lines)}, see {folder / listed}")
    if isinstance(source, GatheredDocuments | SeveralSources) and source.repeated:
        told.append(f"{source.repeated:,} addresses or entries lead to a document that is there already")
    return "; ".join(filter(None, told))
