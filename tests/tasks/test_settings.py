"""Settings: a mistake in them is named, never passed over."""

import pytest

from tasks.settings import load_settings


def config(monkeypatch, tmp_path, text):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    monkeypatch.setenv("TAGFLOW_CONFIG", str(file))


def test_the_file_is_read_and_variables_outrank_it(monkeypatch, tmp_path):
    config(monkeypatch, tmp_path, 'home = "there"\nthreads = 3\n')
    monkeypatch.setenv("TAGFLOW_THREADS", "2")
    monkeypatch.setenv("TAGFLOW_HOME", str(tmp_path))
    assert (load_settings().threads, load_settings().home) == (2, tmp_path)
    assert load_settings(home=tmp_path / "given").home == tmp_path / "given"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('mlfow = "http://x"', "mlfow"),
        ("home = ", "mine.toml: not readable as TOML"),
        ('prefect = "banana"', "prefect='banana'"),
        ("threads = 0", "threads=0"),
        (
            'timezone = "Mars/Base"',
            r"mine.toml: timezone='Mars/Base': expected the name of a time zone, such as Europe",
        ),
        ('timezone = "europe/berlin"', "perhaps Europe/Berlin is meant"),
        ('timezone = "Europe"', r"mine.toml: timezone='Europe': .*expected the name of a time zone"),
        ('hom = "x"', r"mine.toml: there is no setting hom; perhaps home is meant; expected one of home, prefect, "),
    ],
)
def test_a_mistake_is_named(monkeypatch, tmp_path, text, message):
    config(monkeypatch, tmp_path, text)
    monkeypatch.delenv("TAGFLOW_HOME", raising=False)
    with pytest.raises(ValueError, match=message):
        load_settings()


def test_paths_in_the_file_are_meant_from_its_folder(monkeypatch, tmp_path):
    """the worker of a schedule reads the same file from another folder."""
    monkeypatch.delenv("TAGFLOW_HOME", raising=False)
    monkeypatch.chdir("/")
    text = 'home = "state"\nroot = "../common"\ncluster_ca = "tls/ca.pem"\ncluster_key = "/etc/key.pem"\n'
    config(monkeypatch, tmp_path, text + '[rivals]\nannif = "annif/bin/python"\nomikuji = "python3"\n')
    settings = load_settings()
    assert settings.state == tmp_path / "state"
    assert settings.cluster_root == str(tmp_path / "../common")
    assert (settings.cluster_ca, str(settings.cluster_key)) == (tmp_path / "tls/ca.pem", "/etc/key.pem")
    assert {name: str(python) for name, python in settings.rivals.items()} == {
        "annif": str(tmp_path / "annif/bin/python"),
        "omikuji": "python3",
    }
    config(monkeypatch, tmp_path, 'root = "s3://bucket/common"\n')
    assert load_settings().cluster_root == "s3://bucket/common"
    monkeypatch.setenv("TAGFLOW_ROOT", "here")
    assert load_settings().cluster_root == "/here"


@pytest.mark.parametrize(
    "address", ["http://me:geheim@host:4200/api", "http://me:geheim@host:4200/a pi", "me:geheim@host"]
)
def test_a_login_in_the_address_of_prefect_is_refused_and_not_shown(monkeypatch, address):
    monkeypatch.setenv("TAGFLOW_PREFECT", address)
    with pytest.raises(ValueError, match=r"^TAGFLOW_PREFECT \(a secret, not shown\): ") as told:
        load_settings()
    assert "geheim" not in str(told.value)
    monkeypatch.setenv("TAGFLOW_PREFECT", "http://host:4200/api")
    assert load_settings().prefect == "http://host:4200/api"


def test_a_file_that_is_asked_for_must_be_there(monkeypatch, tmp_path):
    monkeypatch.setenv("TAGFLOW_CONFIG", str(tmp_path / "none.toml"))
    with pytest.raises(ValueError, match=r"none\.toml: no such file"):
        load_settings()


def test_our_other_variables_are_no_settings(monkeypatch, tmp_path):
    monkeypatch.setenv("TAGFLOW_PREFECT_IDLE_HOURS", "1")
    monkeypatch.setenv("TAGFLOW_HOME", str(tmp_path))
    assert load_settings().state == tmp_path


def test_a_mistake_in_a_variable_is_told_by_its_name(monkeypatch, tmp_path):
    config(monkeypatch, tmp_path, 'timezone = "Europe/Berlin"\n')
    monkeypatch.setenv("TAGFLOW_TIMEZONE", "Mars/Base")
    with pytest.raises(ValueError, match=r"^TAGFLOW_TIMEZONE='Mars/Base': expected the name of a time zone, [^\n]*$"):
        load_settings()
    with pytest.raises(ValueError, match=r"^setting threads=0: "):
        load_settings(threads=0, timezone="UTC")


@pytest.mark.parametrize(
    "address", ["example.org/token", "ftp://example.org/token", "https:///token", "http://x:token"]
)
def test_a_webhook_is_an_address_of_the_web_and_no_mistake_in_it_tells_the_secret(monkeypatch, address):
    monkeypatch.setenv("TAGFLOW_NOTIFY_WEBHOOK", address)
    with pytest.raises(
        ValueError, match=r"^TAGFLOW_NOTIFY_WEBHOOK \(a secret, not shown\): expected .*https://"
    ) as told:
        load_settings()
    assert "token" not in str(told.value)


@pytest.mark.parametrize(
    "address",
    ["./geheim", "file:///srv/geheim", "geheim", "http://", "http://x:geheim", "postgresql://me:it@x:geheim/"],
)
def test_a_registry_is_a_server_or_a_database(monkeypatch, address):
    monkeypatch.setenv("TAGFLOW_MLFLOW", address)
    message = r"^TAGFLOW_MLFLOW \(a secret, not shown\): expected the address of an MLflow server, such as [^\n]*$"
    with pytest.raises(ValueError, match=message) as told:
        load_settings()
    assert "geheim" not in str(told.value)


@pytest.mark.parametrize(
    "address",
    [
        "http://me:it@host:5000/",
        "https://host/mlflow",
        "sqlite:///mine.db",
        "postgresql+psycopg2://me:it@host:1/mlflow",
    ],
)
def test_addresses_of_registries_are_taken(monkeypatch, address):
    monkeypatch.setenv("TAGFLOW_MLFLOW", address)
    assert load_settings().tracking_uri.get_secret_value() == address


def test_empty_is_none(monkeypatch):
    for name in ("TIMEZONE", "NOTIFY_WEBHOOK", "MLFLOW"):
        monkeypatch.setenv(f"TAGFLOW_{name}", "")
    assert (load_settings().timezone, load_settings().notify_webhook, load_settings().mlflow) == (None, None, None)
