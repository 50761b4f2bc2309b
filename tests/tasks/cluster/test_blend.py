"""A blend of members with features of their own on a real Dask cluster: the same bits, also when a worker dies."""

import numpy as np
import pytest

from tagcore.features.side_by_side import open_rows
from tagcore.fitting import make_model
from tagcore.metrics.evaluate_model import evaluate
from tagcore.models import Blend
from tagcore.tag_model import TagModel
from tasks.blend_members import with_columns
from tasks.cluster.backends import Cluster, Scheduler
from tasks.cluster.open_clusters import copy_to_workers
from tasks.data_settings import DataSettings
from tasks.feature_settings import FeatureSettings
from tasks.features import features, join_views
from tasks.ingest import ingest
from tasks.recipe_settings import ModelSettings, SplitSettings
from tests.tasks.cluster.processes import DaskProcesses
from tests.workspaces import workspace_at

PAIRS = {"ngram_range": [1, 2], "min_df": 2}
MEMBERS = ["OneVsRestLinear", "KNN", {"model": "BOMC", "features": PAIRS}]


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    made = DaskProcesses(tmp_path_factory.mktemp("dask"))
    made.grow(2)
    yield made
    made.close()


def test_the_same_bits_in_process_and_through_a_worker_that_dies(processes, tmp_path):
    workspace = workspace_at(tmp_path / "home")
    corpus = ingest.fn(DataSettings(source="demo", documents=700), workspace).result()
    split = SplitSettings(kind="drawn", test=0.3)
    words = FeatureSettings(min_df=2)
    views = [features.fn(corpus, one, split, workspace).result() for one in (words, words.on_top_of(**PAIRS))]
    joined = join_views.fn(views, workspace).result()
    rows = open_rows(joined, "train")
    settings = with_columns(ModelSettings(model="Blend", params={"members": MEMBERS}), [{}, PAIRS], rows.edges)

    def blend() -> Blend:
        return make_model("Blend", settings.params | {"n_folds": 1}, 0, TagModel)

    alone, lost = blend().fit_rows(rows), []

    def kill(done, total, known):
        if done == 2:  # of six fits
            lost.append(processes.kill_worker())

    with Cluster(Scheduler(processes.address), str(tmp_path / "root")).open() as executor:
        cluster = Cluster(Scheduler(processes.address), str(tmp_path / "root"))
        trained = blend().fit_rows(copy_to_workers(rows, cluster, "rows"), executor=executor, progress=kill)
        assert lost
        for name in alone._all_arrays():
            assert np.array_equal(getattr(trained, name), getattr(alone, name)), name
        processes.grow(2)
        asked = open_rows(joined, "test")
        here, there = (evaluate(trained, asked, ks=(1, 5), executor=e).per_unit for e in (None, executor))
        assert here.equals(there)
