"""`tagflow schedule`: a time that Prefect could not keep is told in one line, before Prefect is asked."""

import pytest

NOWHERE = {"TAGFLOW_PREFECT": "http://127.0.0.1:9/api"}  # whoever asks it says that it cannot be reached


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--cron", "bad cron"), "cron 'bad cron': expected five fields, minute, hour, "),
        (("--cron", "0 25 * * *"), "such as '0 2 * * 1-5'"),
        (("--cron", ""), "cron '': expected five fields"),
        (
            ("--at", "02:00", "--timezone", "Mars/Base"),
            "--timezone 'Mars/Base': expected the name of a time zone, such as",
        ),
        (("--at", "02:00", "--timezone", "Europe/Berlim"), "perhaps Europe/Berlin is meant"),
    ],
)
def test_a_time_that_cannot_be_kept_is_told_in_one_line(tagflow, options, told):
    done = tagflow("schedule", "--data", "demo", *options, env=NOWHERE)
    assert (done.returncode, done.stdout) == (1, "")
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("when", [("--cron", "30 1 * * 1-5"), ("--cron", "@daily"), ("--at", "2:00")])
def test_a_time_that_can_be_kept_is_given_to_prefect(tagflow, when):
    done = tagflow("schedule", "--data", "demo", *when, "--timezone", "Europe/Berlin", env=NOWHERE)
    assert "Prefect's API at http://127.0.0.1:9/api: cannot be reached" in done.stderr


def test_a_machine_without_a_name_for_its_time_is_told(tagflow):
    done = tagflow("schedule", "--data", "demo", "--at", "02:00", env=NOWHERE | {"TZ": "MEZ-1"})
    assert "time zone 'MEZ-1': " in done.stderr
    assert len(done.stderr.splitlines()) == 1
