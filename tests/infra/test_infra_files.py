"""compose.yaml, Dockerfile, k8s/ and systemd/: checked as far as this goes without an engine."""

import configparser
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from infra.cli.main import app
from tasks.settings import Settings

ROOT = Path(__file__).parents[2]
INFRA = ROOT / "infra"
PROGRAMS = {"prefect", "mlflow", "dask", "tagflow", "sh", "server", "/bin/sh"}  # `server` is MinIO's


def compose() -> dict:
    return yaml.safe_load((INFRA / "compose.yaml").read_text())


def kubernetes() -> list[dict]:
    files = sorted((INFRA / "k8s").glob("*.yaml"))
    return [one for file in files for one in yaml.safe_load_all(file.read_text())]


def test_every_service_that_is_waited_for_is_there_and_can_be_healthy():
    services = compose()["services"]
    for name, service in services.items():
        waits = service.get("depends_on", [])
        for other in waits:
            assert other in services, name
            if isinstance(waits, dict) and waits[other]["condition"] == "service_healthy":
                assert "healthcheck" in services[other]
    assert {"postgres", "s3", "prefect", "mlflow", "dask-scheduler", "dask-worker", "worker"} <= set(services)


def test_ports_are_published_on_loopback_alone_and_secrets_are_asked_for():
    text = (INFRA / "compose.yaml").read_text()
    ports = [port for service in compose()["services"].values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)
    passwords = set(re.findall(r"\$\{(\w*PASSWORD)", text))
    assert passwords == {"POSTGRES_PASSWORD", "S3_PASSWORD"}
    assert all(f"${{{name}:?" in text for name in passwords)  # no default: it must be set
    for name in re.findall(r"[\w./-]+\.sql", text):
        if name.startswith("./"):
            assert (INFRA / name).is_file()


def test_volumes_that_are_named_are_declared():
    plain = compose()
    used = {v.split(":")[0] for s in plain["services"].values() for v in s.get("volumes", []) if re.match(r"^\w+:", v)}
    assert used == set(plain["volumes"])


@pytest.mark.skipif(shutil.which("docker") is None, reason="there is no docker here")
def test_docker_takes_the_file():
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("docker is here without compose")
    environment = {"PATH": "/usr/bin:/usr/local/bin:/bin", "POSTGRES_PASSWORD": "a", "S3_PASSWORD": "b"}
    command = ["docker", "compose", "--file", str(INFRA / "compose.yaml"), "config", "--format", "json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)["services"]) == set(compose()["services"])


def test_settings_in_compose_and_kubernetes_are_ours():
    known = {f"TAGFLOW_{name.upper()}" for name in Settings.model_fields}
    of_deployments = set(re.findall(r"\$(TAGFLOW_\w+)", (INFRA / "prefect.yaml").read_text()))
    worker = compose()["services"]["worker"]["environment"]
    config = next(one for one in kubernetes() if one["kind"] == "ConfigMap")["data"]
    for environment in (worker, config):
        ours = {name for name in environment if name.startswith("TAGFLOW_")}
        assert ours <= known | of_deployments
        assert of_deployments <= ours  # else `prefect deploy` would leave a hole


def containers(one: dict) -> list[dict]:
    spec = one.get("spec", {})
    parts = [spec["template"]["spec"]] if one["kind"] == "Deployment" else []
    parts += [spec[part]["spec"] for part in ("worker", "scheduler")] if one["kind"] == "DaskCluster" else []
    return [container for part in parts for container in part["containers"]]


def test_kubernetes_objects_fit_together():
    objects = kubernetes()
    names = {(one["kind"], one["metadata"]["name"]) for one in objects}
    deployments = {one["metadata"]["name"]: one for one in objects if one["kind"] == "Deployment"}
    for one in objects:
        assert one["apiVersion"]
        if one["kind"] == "Service":
            labels = deployments[one["metadata"]["name"]]["spec"]["template"]["metadata"]["labels"]
            assert one["spec"]["selector"].items() <= labels.items()
        if one["kind"] == "Deployment":
            pod = one["spec"]["template"]
            assert one["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
            claims = [v["persistentVolumeClaim"]["claimName"] for v in pod["spec"].get("volumes", [])]
            assert all(("PersistentVolumeClaim", claim) in names for claim in claims)
            mounted = {m["name"] for c in containers(one) for m in c.get("volumeMounts", [])}
            assert mounted == {v["name"] for v in pod["spec"].get("volumes", [])}
        for container in containers(one):
            program = (container.get("command") or container["args"])[0]
            assert program in PROGRAMS
            for source in container.get("envFrom", []):
                assert ("ConfigMap", source["configMapRef"]["name"]) in names
            assert container["resources"]["requests"] if one["kind"] != "DaskCluster" else True
    keys = set(re.findall(r"name: tagflow, key: ([\w-]+)", (INFRA / "k8s" / "tagflow.yaml").read_text()))
    told = (INFRA / "k8s" / "tagflow.yaml").read_text().split("apiVersion")[0] + (INFRA / "README.md").read_text()
    assert all(f"--from-literal={key}=" in told for key in keys)


def test_kubernetes_takes_the_files():
    validate = pytest.importorskip("kubernetes_validate")
    for one in kubernetes():
        if one["kind"] != "DaskCluster":  # the operator's own kind
            validate.validate(one, "1.30", strict=True)


def test_the_image_copies_what_there_is_and_installs_extras_that_there_are():
    text = (INFRA / "Dockerfile").read_text()
    for line in re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE):
        assert all((ROOT / name).exists() for name in line.split())
    extras = re.search(r'"\.\[([\w,]+)\]"', text)[1].split(",")
    pyproject = (ROOT / "pyproject.toml").read_text()
    assert all(re.search(rf"^{extra} = \[", pyproject, re.MULTILINE) for extra in extras)


def test_units_call_commands_that_there_are():
    commands = {command.name or command.callback.__name__ for command in app.registered_commands}
    units = sorted((INFRA / "systemd").glob("*.service"))
    assert len(units) == 2
    for unit in units:
        parsed = configparser.ConfigParser(strict=False, interpolation=None)
        parsed.optionxform = str
        parsed.read_string(unit.read_text())
        for key in ("ExecStart", "ExecStop"):
            if key in parsed["Service"]:
                program, command = parsed["Service"][key].split()[:2]
                assert program.endswith("/tagflow")
                assert command in commands
    timer = (INFRA / "systemd" / "tagflow-repair.timer").read_text()
    assert "OnUnitActiveSec=10min" in timer
