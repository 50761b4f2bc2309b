"""A scheduler that speaks TLS only: the same training with its files, one clear error without or with others'."""

import pytest
from distributed.security import Security

from tagcore.shards import InProcess
from tasks.cluster.backends import Cluster, Scheduler, Tls
from tasks.cluster.monitor import ClusterLostError
from tests.tasks.cluster.processes import DaskProcesses
from tests.tasks.cluster.toys import learn


def certificates(folder):
    """A certificate authority of one's own and what it signed, as PEM files."""
    folder.mkdir()
    made = Security.temporary()
    for name, content in (("ca", made.tls_ca_file), ("cert", made.tls_client_cert), ("key", made.tls_client_key)):
        (folder / f"{name}.pem").write_text(content)
    return Tls(*(folder / f"{name}.pem" for name in ("ca", "cert", "key")))


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    tls = certificates(folder / "ours")
    made = DaskProcesses(folder, tls=tls)
    made.grow(2)
    yield made.address, tls
    made.close()


def test_training_behind_tls_gives_the_bits_of_one_process(guarded, tmp_path):
    address, tls = guarded
    assert address.startswith("tls://")
    with Cluster(Scheduler(address, tls), tmp_path).open() as executor:
        found = learn(executor)
    assert found.arrays["centres"].tobytes() == learn(InProcess()).arrays["centres"].tobytes()


def test_others_certificates_are_refused(guarded, tmp_path, monkeypatch):
    monkeypatch.setattr("tasks.cluster.connect._CONNECT_SECONDS", 3)
    address, _ = guarded
    foreign = Cluster(Scheduler(address, certificates(tmp_path / "theirs")), tmp_path / "root")
    with pytest.raises(ClusterLostError, match="no scheduler answers there"), foreign.open():
        pass


def test_a_tls_address_needs_files_that_exist(guarded, tmp_path):
    address, tls = guarded
    with pytest.raises(ValueError, match="set cluster_ca, cluster_cert and cluster_key"):
        Scheduler(address)
    lost = Cluster(Scheduler(address, Tls(tls.ca, tls.cert, tmp_path / "none.pem")), tmp_path)
    with pytest.raises(ValueError, match=r"cluster_key=.*none\.pem: no such file"), lost.open():
        pass
