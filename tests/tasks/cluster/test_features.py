"""Features made on a cluster: the same files, byte by byte, as in this process, also when a worker dies."""

from pathlib import Path

import pytest

from tagcore.features.build import make_features
from tagcore.features.split import Split
from tagcore.store.datasets import Dataset, StoreError
from tagcore.text import Vectoriser
from tasks.cache import RECORD
from tasks.cluster.backends import Cluster, LocalWorkers, Scheduler
from tasks.cluster.open_clusters import open_clusters
from tasks.cluster.storage import storage_at
from tasks.feature_settings import FeatureSettings
from tasks.features import features
from tasks.recipe_settings import SplitSettings
from tests.tagcore.features.test_build import contents, counted_corpus, text_corpus
from tests.tagcore.features.test_corpus_reader import damage
from tests.workspaces import workspace_at

SPLIT = SplitSettings(test=0.3, seed=1, revealed=0.9)
WORDS = FeatureSettings(max_features=200)
KINDS = {
    "characters": FeatureSettings(analyzer="char_wb", ngram_range=(2, 4), max_features=300, max_features_by="df"),
    "hashed pairs": FeatureSettings(ngram_range=(1, 2), hashed_columns=500),
}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory) -> dict[str, Path]:
    """A corpus of 15 row groups of texts, and one of 10 of counts."""
    folder = tmp_path_factory.mktemp("corpora")
    text_corpus().save(folder / "texts", rows_per_group=20, parameters={"of": "texts"})
    counted_corpus().save(folder / "counts", rows_per_group=6, parameters={"of": "counts"})
    return {"texts": folder / "texts", "counts": folder / "counts"}


def made_on(
    cluster: Cluster | None, corpus: Path, home: Path, threads: int = 1, settings: FeatureSettings = WORDS
) -> dict[str, bytes]:
    """The files that the task makes in a state folder of its own."""
    workspace = workspace_at(home, cluster, threads)
    folder = features.fn(corpus, settings, SPLIT, workspace).result()
    found = {name: content for name, content in contents(folder).items() if name != RECORD}
    return found | {"folder": folder.name.encode()}


def test_local_workers_give_the_files_of_one_process(corpora, tmp_path):
    local = Cluster(LocalWorkers(2), tmp_path / "root")
    with open_clusters(tmp_path / "report.html"):
        for name, corpus in corpora.items():
            alone = made_on(None, corpus, tmp_path / f"alone-{name}")
            assert made_on(None, corpus, tmp_path / f"threads-{name}", threads=3) == alone
            assert made_on(local, corpus, tmp_path / f"local-{name}") == alone
        for name, settings in KINDS.items():
            alone = made_on(None, corpora["texts"], tmp_path / f"alone-{name}", settings=settings)
            assert made_on(local, corpora["texts"], tmp_path / f"local-{name}", settings=settings) == alone


def test_workers_read_a_copy_of_the_corpus_at_a_bucket(s3_workers, corpora, tmp_path):
    cluster = Cluster(Scheduler(s3_workers.address), "s3://runs/features")
    for name, corpus in corpora.items():
        alone = made_on(None, corpus, tmp_path / f"alone-{name}")
        assert made_on(cluster, corpus, tmp_path / f"bucket-{name}") == alone
        key = Dataset.open(corpus, "corpus").key
        copies = storage_at("s3://runs/features").inside("data").inside(key)
        expected = {"documents.parquet", "taggings.parquet"} | ({"bags.parquet"} if name == "counts" else set())
        assert set(copies.names()) == expected


def test_a_worker_killed_while_rows_are_made_changes_nothing(s3_workers, corpora, tmp_path):
    corpus, split = Dataset.open(corpora["texts"], "corpus"), Split(test=0.3)
    n, killed = corpus.counts["documents"], []

    def kill(done, total, known):
        if done > n + n // 4 and not killed:
            killed.append(s3_workers.kill_worker())

    make_features(corpus, tmp_path / "alone", Vectoriser(), split)
    s3_workers.grow(2)
    with Cluster(Scheduler(s3_workers.address), tmp_path / "root").open() as executor:
        make_features(corpus, tmp_path / "features", Vectoriser(), split, executor=executor, progress=kill)
    assert len(killed) == 1
    assert contents(tmp_path / "features") == contents(tmp_path / "alone")


def test_a_damaged_row_group_is_one_clear_error(s3_workers, tmp_path, capfd):
    text_corpus().save(tmp_path / "corpus", rows_per_group=8)
    corpus = Dataset.open(tmp_path / "corpus", "corpus")
    damage(tmp_path / "corpus/documents.parquet", 21, "text")
    s3_workers.grow(2)
    with (
        Cluster(Scheduler(s3_workers.address), tmp_path / "root").open() as executor,
        pytest.raises(StoreError, match=r"corpus/documents\.parquet: row group 21 is damaged"),
    ):
        make_features(corpus, tmp_path / "features", Vectoriser(), Split(), executor=executor)
    assert not (tmp_path / "features").exists()
    assert "Traceback" not in capfd.readouterr().err


def test_arrays_go_by_file_and_the_vectoriser_once(s3_workers, corpora, tmp_path):
    """what all shards share is written once a pass; the corpus is not sent at all."""
    corpus = Dataset.open(corpora["texts"], "corpus")
    words = [f"word{i:07d}" for i in range(20_000)]
    s3_workers.grow(2)
    with Cluster(Scheduler(s3_workers.address), tmp_path / "root").open() as executor:
        vectoriser = Vectoriser(vocabulary=["the", *words])
        make_features(corpus, tmp_path / "features", vectoriser, Split(test=0.3), executor=executor)
        size = sum(len(word) for word in ["the", *words])
        assert 2 * size < executor.traffic.sent < 2 * size + 6 * 8 * len(words)
