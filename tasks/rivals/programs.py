"""Rivals of the taggers, run by a Python that has them: `python programs.py NAME FEATURES OUT K [SETTINGS]`.

FEATURES is a folder with train.parquet and test.parquet: words and values, tags, a list of each for every document.
Where a rival reads texts, OUT has train_texts.parquet and test_texts.parquet, in the same order. Writes the K best tags
of every test document to OUT/suggestions.parquet (tags, scores) and the model to OUT/model, and prints JSON: CPU
seconds of training and predicting, MiB of memory above what the process held before. It knows nothing of this
repository, and everything runs on one thread.
"""

import json
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Suggestions = list[list[tuple[int, float]]]


class Rows(NamedTuple):
    """Documents as lists."""

    words: list[np.ndarray]
    values: list[np.ndarray]
    tags: list[np.ndarray]


def omikuji(train: Rows, test: Rows, out: Path, k: int, settings: dict[str, Any]) -> dict[str, float]:
    """Label trees: Parabel's by default, Bonsai's with cluster_k = 100, cluster_balanced = false and max_depth = 3."""
    import omikuji as library

    path = out / "train.txt"
    width, n_tags = _width(train, test)
    with path.open("w", encoding="ascii") as file:
        file.write(f"{sum(1 for _ in _with_words(train))} {width} {n_tags}\n")
        for words, values, tags in _with_words(train):  # its reader refuses a line without words
            pairs = " ".join(f"{w}:{v:.7g}" for w, v in zip(words, values, strict=True))
            file.write(f"{','.join(map(str, tags))} {pairs}\n")
    parameters = library.Model.default_hyper_param()
    for name, value in settings.items():
        setattr(parameters, name, value)
    model, took = _measured(lambda: library.Model.train_on_data(str(path), parameters, n_threads=1))
    path.unlink()
    (out / "model").mkdir()
    model.save(str(out / "model"))
    model.init_prediction_thread_pool(1)
    asked = [list(zip(w.tolist(), v.tolist(), strict=True)) for w, v in zip(test.words, test.values, strict=True)]
    start = time.process_time()
    found = [model.predict(document, top_k=k) for document in asked]
    return took | _written(out, found, time.process_time() - start)


def napkinxc(train: Rows, test: Rows, out: Path, k: int, settings: dict[str, Any]) -> dict[str, float]:
    """A probabilistic label tree over hierarchical k-means, or one classifier a tag with model = "BR"."""
    from napkinxc import models

    kind = getattr(models, settings.pop("model", "PLT"))
    model = kind(str(out / "model"), threads=1, seed=0, **settings)
    width, _ = _width(train, test)
    learnt, asked = _csr(train, width), _csr(test, width)
    tags = [of_one.tolist() for of_one in train.tags]
    _, took = _measured(lambda: model.fit(learnt, tags))
    model.load()
    start = time.process_time()
    found = model.predict_proba(asked, top_k=k)
    return took | _written(out, found, time.process_time() - start)


def annif(train: Rows, test: Rows, out: Path, k: int, settings: dict[str, Any]) -> dict[str, float]:
    """A project of Annif's, which reads texts: label trees on its own tf-idf unless another backend is set."""
    from annif.corpus.types import Document, DocumentCorpus, SubjectSet
    from annif.registry import AnnifRegistry
    from annif.vocab import VocabFileTSV

    class Documents(DocumentCorpus):
        def __init__(self, side: str, tags: list[list[int]]) -> None:
            self.texts = pq.read_table(out / f"{side}_texts.parquet")["text"].to_pylist()
            self.tags = tags

        @property
        def documents(self) -> Iterator[Document]:
            return (Document(text, SubjectSet(tags)) for text, tags in zip(self.texts, self.tags, strict=True))

    usual = {"backend": "omikuji", "language": "en", "analyzer": "snowball(english)", "vocab": "tags", "limit": k}
    lines = [f"{name} = {value}" for name, value in (usual | settings).items()]
    (out / "model").mkdir()
    config, vocabulary = out / "model" / "projects.cfg", out / "model" / "tags.tsv"
    config.write_text("\n".join(["[tagger]", "name = tagger", *lines, ""]), encoding="utf-8")
    n_tags = _width(train, test)[1]
    vocabulary.write_text("".join(f"<tag:{tag}>\ttag {tag}\n" for tag in range(n_tags)), encoding="utf-8")
    registry = AnnifRegistry(str(config), str(out / "model"), init_projects=False)
    registry.get_vocab("tags").load_vocabulary(VocabFileTSV(str(vocabulary), "en"))
    project = registry.get_project("tagger")
    learnt, asked = Documents("train", [tags.tolist() for tags in train.tags]), Documents("test", [[]] * len(test.tags))
    _, took = _measured(lambda: project.train(learnt, jobs=1))
    project.initialize()
    start = time.process_time()
    found = [[(one.subject_id, one.score) for one in of_one] for of_one in project.suggest_corpus(asked)]
    return took | _written(out, found, time.process_time() - start)


RIVALS = {"omikuji": omikuji, "napkinxc": napkinxc, "annif": annif}


def _width(train: Rows, test: Rows) -> tuple[int, int]:
    """Numbers of words and tags that occur."""
    words = max(int(max(map(_largest, side.words))) for side in (train, test)) + 1
    return words, int(max(map(_largest, train.tags))) + 1


def _with_words(rows: Rows) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Words, values and tags of the documents that have a word."""
    return (document for document in zip(*rows, strict=True) if document[0].size)


def _largest(ids: np.ndarray) -> int:
    return int(ids.max()) if ids.size else -1


def _csr(rows: Rows, width: int) -> Any:
    import scipy.sparse as sp

    indptr = np.concatenate([[0], np.cumsum([words.size for words in rows.words])])
    arrays = np.concatenate(rows.values), np.concatenate(rows.words), indptr
    return sp.csr_matrix(arrays, shape=(len(rows.words), width))


def _measured(work: Any) -> tuple[Any, dict[str, float]]:
    """(what it gave, CPU and wall seconds, the most MiB above those before)."""
    seen, over = [_resident()], threading.Event()

    def watch() -> None:
        while not over.wait(0.02):
            seen.append(_resident())

    thread = threading.Thread(target=watch)
    thread.start()
    cpu, wall = time.process_time(), time.perf_counter()
    try:
        result = work()
        took = {"train_cpu_seconds": time.process_time() - cpu, "train_seconds": time.perf_counter() - wall}
    finally:
        over.set()
        thread.join()
    return result, took | {"working_mib": max([*seen, _resident()]) - seen[0]}


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 2**20


def _written(out: Path, found: Suggestions, predict: float) -> dict[str, float]:
    tags = pa.array([[tag for tag, _ in of_one] for of_one in found], pa.list_(pa.int32()))
    scores = pa.array([[score for _, score in of_one] for of_one in found], pa.list_(pa.float32()))
    pq.write_table(pa.table({"tags": tags, "scores": scores}), out / "suggestions.parquet")
    return {"predict_cpu_seconds": predict}


def _rows(path: Path) -> Rows:
    table = pq.read_table(path, columns=["words", "values", "tags"])
    return Rows(*([row.values.to_numpy() for row in table[name].combine_chunks()] for name in table.column_names))


if __name__ == "__main__":
    name, features, out, k, *settings = sys.argv[1:]
    train, test = (_rows(Path(features) / f"{side}.parquet") for side in ("train", "test"))
    most = min(int(k), _width(train, test)[1])  # some name a tag twice where more are asked for than there are
    print(json.dumps(RIVALS[name](train, test, Path(out), most, json.loads(settings[0]) if settings else {})))
