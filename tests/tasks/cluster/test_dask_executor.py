"""Training on a real Dask cluster: the same bits for any number of workers, and through what clusters do."""

import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from dask.sizeof import sizeof
from sklearn.base import clone

from tagcore.baselines import BCS, LEML, WSABIE, OneVsRestLinear, PassiveAggressive, Ridge
from tagcore.features.rows import InMemory
from tagcore.models import BMLPL, BOMC, MMSG, PMM, TagiCoFi
from tagcore.models.bomc.shards import Documents
from tagcore.models.pmm import learning
from tagcore.shards import InProcess, Shard, Shards, row_shards
from tagcore.store.storage import Folder
from tagcore.synthetic.ratings import PlantedRatings
from tagcore.training import Checkpoints
from tasks.cluster import dask_executor as cluster_executor
from tasks.cluster.backends import Cluster, LocalWorkers, Scheduler, report_traffic
from tasks.cluster.dask_executor import DaskExecutor
from tasks.cluster.monitor import ClusterError, ClusterLostError
from tests.problems import noisy
from tests.tasks.cluster.processes import REPO, DaskProcesses
from tests.tasks.cluster.toys import ROUNDS, eat, learn, shards_on


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    made = DaskProcesses(tmp_path_factory.mktemp("dask"))
    yield made
    made.close()


@pytest.fixture
def executor(processes, tmp_path):
    """On two workers."""
    processes.grow(2)
    with Cluster(Scheduler(processes.address), tmp_path / "root").open() as on_two:
        yield on_two


@pytest.fixture(scope="module")
def alone():
    """What one thread of this process learns."""
    return bits(learn(InProcess()))


def bits(trained):
    return trained.arrays["centres"].tobytes(), trained.history


def many_rows():
    """as many rows as a Gaussian process parts into shards."""
    return noisy(2200, 40, 12)


def mmsg(**params):
    return MMSG(search="none", length_scale=0.7, n_prototypes=15, epochs=1, n_shards=3, **params)


def models_on(executor):
    """Estimators that spread tags or rows over an executor, as bytes."""
    X, Y = noisy(400, 60, 300)
    models = [PassiveAggressive(max_iter=2), OneVsRestLinear(), Ridge(), Ridge(solver="cg")]
    models += [LEML(4, max_iter=2), WSABIE(4, max_iter=2), BCS(4), PMM(n_classes=4, max_iter=2, n_shards=3)]
    fitted = [model.fit(X, Y, executor=executor) for model in models]
    fitted.append(mmsg(max_iter=2).fit(*many_rows(), executor=executor))
    made = PlantedRatings(120, 80, n_groups=4, n_tags=20, ratings_per_user=30, seed=3)
    few = {"max_iter": 2, "n_shards": 3, "random_state": 0}
    rating_models = [TagiCoFi(gamma=1.0, **few), TagiCoFi(solver="gd", **few)]
    fitted += [model.fit(made.ratings(), made.taggings(), executor=executor) for model in rating_models]
    return [getattr(model, name).tobytes() for model in fitted for name in model._arrays]


def test_any_number_of_workers_gives_the_bits_of_one_process(processes, alone, tmp_path, monkeypatch):
    monkeypatch.setattr(learning, "LOCAL_EDGES", 15_000)  # PMM's first cut is over shards, later ones are not
    expected = models_on(InProcess(2))
    for count in (1, 2, 4):
        processes.grow(count)
        with Cluster(Scheduler(processes.address), tmp_path).open() as executor:
            assert bits(learn(executor)) == alone, f"{count} workers"
            if count < 4:
                assert models_on(executor) == expected, f"{count} workers"


def test_a_worker_killed_in_mid_training_changes_nothing(processes, executor, alone):
    """without a checkpoint: what it held is made again from its recipes."""
    processes.grow(3)
    lost = []

    def kill(done, total, known):
        if done == 5:
            lost.append(processes.kill_worker())

    assert bits(learn(executor, seconds=0.02, progress=kill)) == alone
    assert lost[0] > 0


def test_a_worker_killed_after_a_checkpoint_changes_nothing(processes, executor, alone, tmp_path):
    processes.grow(3)
    lost = []

    def kill(done, total, known):
        if done == 5:
            lost.append(processes.kill_worker())

    checkpoints = Checkpoints(tmp_path / "kept", "toy", every_seconds=0)
    assert bits(learn(executor, seconds=0.02, progress=kill, checkpoints=checkpoints)) == alone
    assert lost[0] > 0


PUBLISHED = {
    "BMLPL": BMLPL(n_topics=8, max_iter=8),
    "BMLPL online": BMLPL(n_topics=8, max_iter=2, inference="online", batch_rows=256),
    "BMLPL gibbs": BMLPL(n_topics=8, inference="gibbs", burn_in=4, n_draws=2, thin=1),
    "BOMC": BOMC.published(parallel="classes", n_shards=4, warm_up=200, merge_every=150),
    "BOMC independent": BOMC.published("independent"),
}


SLOW = ("BMLPL online", "BMLPL gibbs")  # as BMLPL, whose steps they share


@pytest.mark.parametrize(
    "model", [pytest.param(m, id=name, marks=[pytest.mark.slow] * (name in SLOW)) for name, m in PUBLISHED.items()]
)
def test_a_published_model_survives_a_killed_worker(model, processes, executor):
    """rows are read by workers; the one that dies in the third round leaves no trace in the model."""
    processes.grow(3)
    X, Y = noisy(1500, 60, 150)
    alone = clone(model).fit(X, Y)
    lost = []

    def kill(done, total, known):
        if done >= min(3, total - 1) and not lost:
            lost.append(processes.kill_worker())

    found = clone(model).fit_rows(InMemory(X, Y), executor=executor, progress=kill)
    assert lost
    for name in model._arrays:
        assert np.array_equal(getattr(found, name), getattr(alone, name)), name


@pytest.mark.parametrize("solver", ["als", "gd"])
def test_tagicofi_survives_a_killed_worker(solver, processes, executor):
    """in mid of its rounds, with what workers keep between the steps of one."""
    processes.grow(3)
    made = PlantedRatings(300, 120, n_groups=4, n_tags=20, ratings_per_user=30, seed=3)
    model = TagiCoFi(solver=solver, max_iter=6, tol=0.0, n_shards=4, random_state=0)
    alone = clone(model).fit(made.ratings(), made.taggings())
    lost = []

    def kill(done, total, known):
        if done == 3:
            lost.append(processes.kill_worker())

    found = clone(model).fit(made.ratings(), made.taggings(), executor=executor, progress=kill)
    assert lost[0] > 0
    for name in model._arrays:
        assert np.array_equal(getattr(found, name), getattr(alone, name)), name


@pytest.mark.parametrize("mode", ["store", "stream"])
def test_mmsg_survives_a_killed_worker(mode, processes, executor):
    """in mid of Newton's steps, with the latents and features that workers keep between them."""
    processes.grow(3)
    model = mmsg(mode=mode, max_iter=5, tol=1e-12)
    alone = clone(model).fit(*many_rows())
    lost = []

    def kill(done, total, known):
        if done == 2:
            lost.append(processes.kill_worker())

    found = clone(model).fit_rows(InMemory(*many_rows()), executor=executor, progress=kill)
    assert lost
    for name in model._arrays:
        assert np.array_equal(getattr(found, name), getattr(alone, name)), name


@pytest.mark.parametrize("after", [2, 8])  # in mid of the cuts, of the mixture
def test_pmm_survives_a_killed_worker_wherever_its_cuts_are_made(after, processes, executor, monkeypatch):
    """large clusters are cut by passes over all shards, small ones by one worker."""
    monkeypatch.setattr(learning, "LOCAL_EDGES", 4000)
    processes.grow(3)
    X, Y = noisy(600, 60, 50)
    model = PMM(n_classes=6, tol=0.0, max_iter=5, n_shards=3)
    alone = clone(model).fit(X, Y)
    lost = []

    def kill(done, total, known):
        assert total == 10
        if done >= after and not lost:
            lost.append(processes.kill_worker())

    found = clone(model).fit_rows(InMemory(X, Y), executor=executor, progress=kill)
    assert lost
    for name in model._arrays:
        assert np.array_equal(getattr(found, name), getattr(alone, name)), name


def test_a_driver_killed_in_mid_training_goes_on_when_started_again(processes, alone, tmp_path):
    processes.grow(2)
    command = [sys.executable, "-m", "tests.tasks.cluster.toys", processes.address, tmp_path, tmp_path / "result"]
    driver = subprocess.Popen(command, cwd=REPO, stdout=subprocess.PIPE, text=True)
    assert driver.stdout
    for line in driver.stdout:
        if int(line) == 5:
            break
    driver.send_signal(signal.SIGKILL)
    driver.wait(timeout=600)
    left = Folder(tmp_path).inside("runs").names()
    subprocess.run(command, cwd=REPO, check=True, stdout=subprocess.DEVNULL, timeout=600)
    found = json.loads((tmp_path / "result").read_text())
    assert 4 <= found["resumed_from"] < ROUNDS
    assert (bytes.fromhex(found["centres"]), found["history"]) == alone
    assert left
    assert not Folder(tmp_path).inside("runs").names()  # its own, and what the killed one left


def test_files_of_a_run_go_when_nothing_needs_them(executor, tmp_path, monkeypatch):
    """a state needs all that was shared since the last checkpoint, and nothing before it."""
    monkeypatch.setattr(cluster_executor, "_SETTLE_SECONDS", np.inf)  # on a busy machine states would settle
    seen = []
    learn(executor, progress=lambda *_: seen.append(len(executor.storage.names())))
    assert seen == list(range(seen[0], seen[0] + ROUNDS))
    seen.clear()
    checkpoints = Checkpoints(tmp_path / "kept", "toy", every_seconds=0)
    learn(executor, progress=lambda *_: seen.append(len(executor.storage.names())), checkpoints=checkpoints)
    assert max(seen) <= 4


@pytest.mark.parametrize("dies", [False, True])
def test_states_settle_into_files_now_and_then(processes, executor, alone, monkeypatch, dies):
    """so that a long training without checkpoints leaves few files, and a dead worker costs few rounds."""
    monkeypatch.setattr(cluster_executor, "_SETTLE_SECONDS", 0.0)
    processes.grow(3)
    seen, lost = [], []

    def look(done, total, known):
        seen.append(len(executor.storage.names()))
        if dies and done == 9:
            lost.append(processes.kill_worker())

    assert bits(learn(executor, seconds=0.02, progress=look)) == alone
    assert max(seen) <= 12
    assert not dies or lost[0] > 0


def test_threads_of_the_driver_may_share_an_executor(executor, alone):
    with ThreadPoolExecutor(3) as pool:
        assert [bits(trained) for trained in pool.map(learn, [executor] * 3)] == [alone] * 3


def test_rows_that_the_driver_holds_go_by_file_once(executor):
    """and come back to it the same, sparse or dense, row by row or column by column."""
    rng = np.random.default_rng(0)
    X = sp.random(900, 300, 0.2, format="csr", rng=rng)
    wide = np.asfortranarray(rng.normal(size=(300, 40)))
    cuts = row_shards(900, 3)
    shards = Shards([(X[cut], "name") for cut in cuts], tuple, executor, [cut.start for cut in cuts])
    before = executor.traffic.sent
    (first, order), *_ = shards.collect(product, wide=wide)
    assert executor.traffic.sent - before == wide.nbytes
    np.testing.assert_array_equal(first, X[cuts[0]] @ wide)
    assert order == "columns"
    assert not first.flags.writeable


def strided():
    """Arrays inside a value, of which the wire forgets that they are read-only where they have gaps."""
    return {"whole": np.ones(3), "columns": np.arange(6.0).reshape(2, 3)[:, ::2]}


def test_what_a_worker_gives_cannot_be_written_to(executor):
    (value,) = executor.get([executor.call(strided)])
    np.testing.assert_array_equal(value["columns"], [[0, 2], [3, 5]])
    assert [array.flags.writeable for array in value.values()] == [False, False]


def product(shard, state, wide):
    X, name = shard.data
    assert name == "name"
    assert not X.data.flags.writeable
    return X @ wide, "columns" if wide.flags.f_contiguous else "rows"


def test_a_shard_is_as_large_as_what_a_model_made_of_its_rows():
    """Dask places steps by size, and would move what it takes for nothing."""
    X = sp.random(200, 50, 0.1, "csr", random_state=0)
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    within = [Documents(X, X), (X, "a name", None), {"X": X}, [X, 3.0]]
    assert [sizeof(Shard(0, 0, data)) - 256 for data in within] == [size] * 4
    assert sizeof(Shard(0, 0, "text")) == 256


def test_traffic_is_told_with_progress(executor):
    seen = []
    learn(executor, progress=report_traffic(lambda done, total, known: seen.append(known["moved_mb"]), executor))
    centres = 800 * 12 * 8
    assert len(seen) == ROUNDS
    assert min(seen[1:]) >= 2 * centres / 1e6
    assert report_traffic(print, InProcess()) is print


def test_an_error_of_a_step_is_raised_as_it_is(executor):
    with pytest.raises(ArithmeticError, match="shard 2"):
        shards_on(executor).collect(breaks)
    assert len(shards_on(executor).collect(size)) == 7


def breaks(shard, state):
    if shard.number == 2:
        raise ArithmeticError(f"shard {shard.number}")


def size(shard, state):
    return len(shard.data)


def test_worker_processes_of_this_machine(alone, tmp_path):
    report = tmp_path / "report.html"
    with Cluster(LocalWorkers(2, "1GiB"), tmp_path).open(report=report) as executor:
        assert bits(learn(executor)) == alone
        assert executor.dashboard_address.startswith("http://127.0.0.1:")
        assert isinstance(executor, DaskExecutor)
        assert executor.client.scheduler_info(n_workers=0)["address"].startswith("tls://127.0.0.1:")
    assert "<html" in report.read_text()[:500]
    assert not Folder(tmp_path / "runs").names()


@pytest.mark.slow
def test_a_worker_out_of_memory_is_one_clear_error(tmp_path, capfd):
    cluster = Cluster(LocalWorkers(1, "600MiB"), tmp_path)
    with cluster.open() as executor, pytest.raises(ClusterError) as told:
        shards_on(executor, count=2).sum(eat)
    message = str(told.value)
    assert "'eat', shard" in message
    assert "ran out of memory" in message
    assert "600.00 MiB" in message
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.slow
def test_a_scheduler_that_goes_away_is_one_clear_error_and_the_checkpoint_stays(alone, tmp_path):
    processes = DaskProcesses(tmp_path)
    checkpoints = Checkpoints(tmp_path / "kept", "toy", every_seconds=0)

    def kill(done, total, known):
        if done == 5:
            processes.kill_scheduler()

    try:
        processes.grow(1)
        with (
            pytest.raises(ClusterLostError, match="the scheduler went away"),
            Cluster(Scheduler(processes.address), tmp_path / "root").open() as executor,
        ):
            learn(executor, progress=kill, checkpoints=checkpoints)
    finally:
        processes.close()
    resumed = learn(InProcess(), checkpoints=checkpoints)
    assert resumed.resumed_from == 4
    assert bits(resumed) == alone
