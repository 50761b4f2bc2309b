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
    ],
)
def test_a_mistake_is_named(monkeypatch, tmp_path, text, message):
    config(monkeypatch, tmp_path, text)
    monkeypatch.delenv("TAGFLOW_HOME", raising=False)
    with pytest.raises(ValueError, match=message):
        load_settings()


def test_a_file_that_is_asked_for_must_be_there(monkeypatch, tmp_path):
    monkeypatch.setenv("TAGFLOW_CONFIG", str(tmp_path / "none.toml"))
    with pytest.raises(ValueError, match=r"none\.toml: no such file"):
        load_settings()


def test_our_other_variables_are_no_settings(monkeypatch, tmp_path):
    monkeypatch.setenv("TAGFLOW_PREFECT_IDLE_HOURS", "1")
    monkeypatch.setenv("TAGFLOW_HOME", str(tmp_path))
    assert load_settings().state == tmp_path
