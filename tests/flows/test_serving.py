"""The registered champion, served by MLflow's own server, answers raw text over HTTP; a fresh process loads it."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest


@pytest.fixture(scope="module")
def champion(tagflow):
    """The result of a run under a name of its own: other tests begin without a model in service."""
    models = "models=[{model='OneVsRestLinear', calibrate='platt'}]"
    settings = ("name=served", "data.source=demo", "data.documents=600", "features.min_df=2", models)
    return tagflow.json("run", *(part for setting in settings for part in ("--set", setting)))


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def test_mlflow_serves_the_champion(tagflow, champion):
    port = free_port()
    bin_folder = Path(sys.executable).parent
    env = tagflow.environment(
        {
            "MLFLOW_TRACKING_URI": f"sqlite:///{tagflow.home / 'mlflow.db'}",
            "MLFLOW_REGISTRY_URI": f"sqlite:///{tagflow.home / 'mlflow.db'}",
            "MLFLOW_ALLOW_PICKLE_DESERIALIZATION": "false",
            "MLFLOW_SCORING_SERVER_REQUEST_TIMEOUT": "600",  # the first answer compiles kernels, however busy we are
            "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
        }
    )
    command = [str(bin_folder / "mlflow"), "models", "serve", "-m", champion["model"], "--env-manager", "local"]
    server = subprocess.Popen(
        [*command, "-h", "127.0.0.1", "-p", str(port)],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        _wait(f"http://127.0.0.1:{port}/ping", server)
        example = champion["examples"][0]
        request = {"dataframe_records": [{"text": example["text"]}], "params": {"k": 3}}
        answer = httpx.post(f"http://127.0.0.1:{port}/invocations", json=request, timeout=600)
        assert answer.status_code == 200, answer.text
        (found,) = answer.json()["predictions"]
        assert found["tags"] == [tag for tag, _ in example["suggested"][:3]]
        assert found["scores"] == pytest.approx([score for _, score in example["suggested"][:3]])
        wrong = httpx.post(
            f"http://127.0.0.1:{port}/invocations", json={"dataframe_records": [{"body": "x"}]}, timeout=600
        )
        assert wrong.status_code == 400
    finally:
        os.killpg(server.pid, 15)
        server.wait(timeout=600)


def test_a_fresh_process_loads_a_stored_model_and_tags_raw_text(tagflow, champion):
    (model,) = [
        p.parent for p in (tagflow.home / "data").glob("model-*/manifest.json") if "OneVsRest" in p.read_text()
    ][:1]
    code = (
        "import json, sys, tagcore\n"
        "found = tagcore.load_model(sys.argv[1]).suggest([sys.stdin.read()], k=3)\n"
        "print(json.dumps(found))\n"
        "assert not {'prefect', 'mlflow', 'dask'} & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(model)],
        input=champion["examples"][0]["text"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    (suggestions,) = json.loads(done.stdout)
    assert len(suggestions) == 3
    assert all(isinstance(tag, str) and 0 <= score <= 1 for tag, score in suggestions)


def _wait(url: str, server: subprocess.Popen, seconds: float = 600) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert server.poll() is None, "the server ended"
        try:
            if httpx.get(url, timeout=20).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.3)
    raise AssertionError(f"{url} did not answer within {seconds} s")
