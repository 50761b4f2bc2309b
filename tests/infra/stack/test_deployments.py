"""infra/prefect.yaml: what it deploys exists, takes the parameters it is given, and comes round when it says."""

import inspect
import zoneinfo
from importlib import import_module

import pytest
import yaml
from prefect.client.schemas.schedules import CronSchedule

from flows.recipes import load_recipe
from infra.stack.deployments import FILE, SHIPPED, local_timezone

DEPLOYMENTS = yaml.safe_load(FILE.read_text())["deployments"]


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda one: one["name"])
def test_every_deployment_can_run(deployment):
    module, _, name = deployment["entrypoint"].rpartition(".")
    flow = getattr(import_module(module), name)
    inspect.signature(flow.fn).bind(**deployment["parameters"])
    assert all(
        parameter["description"] for parameter in _schema(flow)["properties"].values()
    )  # what a person reads beside the field
    load_recipe(deployment["parameters"]["recipe"])
    (schedule,) = deployment["schedules"]
    CronSchedule(cron=schedule["cron"], timezone="Europe/Berlin")
    assert schedule["timezone"] == "{{ $TAGFLOW_TIMEZONE }}"
    assert deployment["concurrency_limit"] == {"limit": 1, "collision_strategy": "CANCEL_NEW"}


def _schema(flow):
    from prefect.utilities.callables import parameter_schema

    return parameter_schema(flow).model_dump_for_openapi()


def test_the_four_of_the_house_are_there_and_each_flow_has_one_to_copy():
    names = {(one["entrypoint"].rpartition(".")[2], one["name"]) for one in DEPLOYMENTS}
    assert names == {("retrain", "nightly"), ("retrain", "weekly"), ("read", "hourly"), ("compare", "monthly")}
    assert set(SHIPPED.items()) < names


def test_the_time_zone_of_the_machine_is_one_that_exists(monkeypatch):
    monkeypatch.delenv("TZ", raising=False)
    assert zoneinfo.ZoneInfo(local_timezone())
    monkeypatch.setenv("TZ", "Europe/Berlin")
    assert local_timezone() == "Europe/Berlin"
