"""Fixtures that every test may use."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("numba", deadline=None)  # a first call compiles
settings.load_profile("numba")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """the folder of real data sets, beside the repo or where TAGFLOW_TEST_DATA says; skips without it."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("TAGFLOW_TEST_DATA", beside))
    if not folder.is_dir():
        pytest.skip("the real data sets are not here")
    return folder
