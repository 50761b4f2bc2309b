"""`tagflow tag -f` on files of 10 and of 100 MB, one text a line, against the model's own speed on a batch in memory.

The demo's documents again and again, with OneVsRestLinear; lines per CPU second, start-up left out on both sides. The
command reads, tags and writes JSON lines with ids; `suggest` takes 20,000 texts that are already in memory. Memory is
the highest of the process, with all that it imports and the model.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tagcore.baselines import OneVsRestLinear
from tagcore.corpus import Corpus
from tagcore.synthetic.corpus import demo_corpus
from tagcore.tagger import Tagger
from tagcore.text import Vectoriser
from tests.bench.timing import cpu

SIZES = (10, 100)  # MB
IN_MEMORY = 20_000
COMMAND = """
import resource, sys, time
from pathlib import Path
from infra.cli.tag import tag
tag(["warm up"], model=sys.argv[1])
begun = time.process_time()
tag(file=Path(sys.argv[2]), model=sys.argv[1], into=Path(sys.argv[3]))
print(time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows for a batch in memory and for each size of file; needs no data."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        texts = _store_tagger(folder / "model")
        many = (texts * (-(-IN_MEMORY // len(texts))))[:IN_MEMORY]
        tagger = Tagger.load(folder / "model")
        tagger.suggest(many[:10])  # compiles
        suggest = cpu(lambda: tagger.suggest(many))
        rows = tagger.rows(many)
        rank = cpu(lambda: tagger.model.top_k(rows, 5))
        batch = IN_MEMORY / suggest
        found = [
            {"what": "the model's top_k, of rows in memory", "lines per CPU s": IN_MEMORY / rank},
            {"what": "suggest, of texts in memory", "lines per CPU s": batch},
        ]
        return found + [_file(folder, texts, megabytes, batch) for megabytes in SIZES]


def _store_tagger(folder: Path) -> list[str]:
    """Trains on the demo; gives its documents as lines."""
    source = demo_corpus(4000)
    (block,) = source.blocks(rows=4000)
    corpus = Corpus(block.documents, block.taggings, list(source.tags))
    texts = [" ".join(text.split()) for text in block.documents["text"].to_pylist()]
    vectoriser = Vectoriser(sublinear_tf=True)
    Tagger(vectoriser, OneVsRestLinear().fit(vectoriser.fit_transform(texts), corpus.tags), corpus.tag_names).save(
        folder
    )
    return texts


def _file(folder: Path, texts: list[str], megabytes: int, batch: float) -> dict[str, Any]:
    file, lines, size = folder / f"{megabytes}.txt", 0, 0
    with open(file, "w", encoding="utf-8") as out:
        while size < megabytes * 1_000_000:
            line = texts[lines % len(texts)] + "\n"
            out.write(line)
            size, lines = size + len(line.encode()), lines + 1
    into = folder / f"{megabytes}.jsonl"
    command = [sys.executable, "-c", COMMAND, str(folder / "model"), str(file), str(into)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ)
    seconds, memory = map(float, done.stdout.split()[-2:])
    with open(into, encoding="utf-8") as written:
        assert sum(1 for _ in written) == lines
    rate = lines / seconds
    what = f"tagflow tag -f, {megabytes} MB, {lines:,} lines"
    return {"what": what, "lines per CPU s": rate, "share of suggest": rate / batch, "memory MB": memory}
