"""Texts to try a model on: documents that nobody tagged, else held-out ones whose tags it never saw."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from prefect import task

from tagcore.corpus import Document
from tagcore.features.corpus_reader import CorpusReader, RowGroup
from tagcore.features.split import Split
from tagcore.store.datasets import Dataset
from tagcore.tagger import Tagger
from tasks.registry.client import Registry

LENGTH = 400


@dataclass(frozen=True)
class TagExample:
    """What a document is tagged with, beside what people said."""

    text: Document  # or its fields
    suggested: list[tuple[str, float]]
    given: list[str]  # the tags that people gave it, which the model never saw

    def told(self) -> str:
        """The example as a person reads it."""
        given = f"(people said: {', '.join(self.given)})" if self.given else "(nobody tagged it)"
        tags = ", ".join(f"{tag} {score:.2f}" for tag, score in self.suggested)
        return f"  “{' '.join(shown_text(self.text).split())[:150]}…”\n  → {tags}   {given}"


@task(name="suggest", task_run_name="suggest tags by {uri}")
def suggest_examples(
    data: Path, prepared: Path, uri: str, registry: Registry, n: int = 3, k: int = 5
) -> list[TagExample]:
    """Asks the model in service, fetched from the registry, for the tags of a few documents."""
    tagger = Tagger.load(registry.fetch(uri))
    samples = sample_texts(data, prepared, n)
    suggested = tagger.suggest([text for text, _ in samples], k)
    return [
        TagExample(text, [(s.tag, s.score) for s in tags], given)
        for (text, given), tags in zip(samples, suggested, strict=True)
    ]


def shown_text(text: Document) -> str:
    """A document as a person reads it: its fields one after the other."""
    return text if isinstance(text, str) else "\n".join(text.values())


def sample_texts(corpus: Path, features: Path, n: int) -> list[tuple[Document, list[str]]]:
    """(text cut short, its tags); words by name where the source gave counts instead of text."""
    data = Dataset.open(corpus, "corpus", verify=False)
    made = Dataset.open(features, "features", verify=False).manifest["parameters"]
    fields = made["vectoriser"].get("fields")
    reader = CorpusReader(data, Split(**made["split"]), fields=tuple(sorted(fields)) if fields else None)
    tag_names = data.names("tags")
    word_names = data.names("words") if data.has("bags") else []
    untagged: list[tuple[Document, list[str]]] = []
    held_out: list[tuple[Document, list[str]]] = []
    for group in reader:
        tagged = np.diff(group.tags.indptr) > 0
        for samples, rows in ((untagged, ~tagged), (held_out, group.held_out & tagged)):
            for row in np.flatnonzero(rows)[: n - len(samples)]:
                text = _text(group, int(row), word_names)
                if shown_text(text).strip():
                    samples.append((text, [tag_names[t] for t in group.tags[row].indices]))
        if len(untagged) >= n:
            break
    return (untagged + held_out)[:n] or [("", [])]  # not one document has a word


def _text(group: RowGroup, row: int, word_names: list[str]) -> Document:
    if group.bags is not None:
        return " ".join(word_names[w] for w in group.bags[row].indices)[:LENGTH]
    text = group.texts[row].as_py()
    if isinstance(text, str):
        return text[:LENGTH]
    return {name: value[:LENGTH] for name, value in text.items() if value}
