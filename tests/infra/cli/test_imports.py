"""A command starts without what it does not use: seconds of imports that a user would wait for."""

import importlib
import json
import os
import subprocess
import sys

import pytest

from tagcore import Corpus
from tagcore.baselines import KNN, OneVsRestLinear
from tagcore.models import BOMC, MMSG, PMM, Blend
from tagcore.tagger import Tagger
from tagcore.text import Vectoriser
from tests.workspaces import make_champion

HEAVY = {"mlflow", "prefect", "sklearn", "pandas", "dask", "distributed", "matplotlib", "sqlalchemy", "httpx", "rich"}
HEAVY |= {"pydantic", "cffi", "snowballstemmer"}
SLOW_PARTS = {"scipy.stats", "scipy.optimize", "tagcore.readers.open", "numpy.f2py.crackfortran"}
TEXTS = ["red apple pie", "green pear tart", "fast red car", "car engine", "blue car"] * 8
TAGS = [["fruit"], ["fruit", "green"], ["cars"], ["cars", "engines"], ["cars"]] * 8

# what a command printed goes to standard error, the heavy modules that it had imported to standard output
ASK = """
import json, sys
from contextlib import redirect_stdout
from infra.cli.main import main
heavy, commands = map(json.loads, sys.argv[1:])
found = []
for command in commands:
    sys.argv = ["tagflow", *command]
    try:
        with redirect_stdout(sys.stderr):
            main()
    except SystemExit as ended:
        assert not ended.code, ended.code
    found.append(sorted(name for name in heavy if name in sys.modules))
print(json.dumps(found))
"""


def imported(*commands, **variables):
    """The heavy modules that are imported after each of some commands in one fresh process, and what they said."""
    heavy = json.dumps(sorted(HEAVY | SLOW_PARTS))
    program = [sys.executable, "-c", ASK, heavy, json.dumps(commands)]
    done = subprocess.run(program, capture_output=True, text=True, env=os.environ | variables, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.fixture(scope="module")
def taggers(tmp_path_factory):
    """One tagger of each kind of model that is put into service, by class name."""
    made = tmp_path_factory.mktemp("taggers")
    corpus = Corpus.from_texts(TEXTS, TAGS)
    members = ["OneVsRestLinear", "KNN"]
    for model in (OneVsRestLinear(), KNN(), BOMC(), PMM(n_classes=2), Blend(members), MMSG(search="none")):
        pairs = {"stop_words": "english", "ngram_range": (1, 2)}  # as members of a night's blend
        vectoriser = Vectoriser(**model.wanted_features, **(pairs if isinstance(model, Blend) else {}))
        model.fit(vectoriser.fit_transform(TEXTS), corpus.tags)
        Tagger(vectoriser, model, corpus.tag_names).save(made / type(model).__name__)
    return made


def test_asking_a_stored_model_imports_nothing_that_is_for_training_or_orchestration(taggers):
    asked = {folder.name: ["tag", "red apple", "--model", str(folder), "-k", "1"] for folder in taggers.iterdir()}
    found, said = imported(*asked.values())
    assert len(asked) == 6
    assert dict(zip(asked, found, strict=True)) == {name: [] for name in asked}
    assert said.count("fruit") == len(asked)


def test_so_does_asking_the_champion_of_a_state_folder(taggers, tmp_path):
    make_champion(tmp_path / "home", "fruit and cars", taggers / "KNN")
    found, said = imported(["tag", "red apple", "-k", "1"], TAGFLOW_HOME=str(tmp_path / "home"))
    assert found == [[]]
    assert "fruit" in said


def test_parts_of_numpy_that_are_not_imported_are_there_when_they_are_used():
    code = (
        "import sys; from infra.cli.fewer_imports import import_less; import_less(); import scipy.sparse\n"
        "assert 'numpy.f2py.crackfortran' not in sys.modules\n"
        "import numpy as np; np.testing.assert_equal(1, 1)\n"
        "assert np.f2py.get_include()\n"
        "from numpy.testing import assert_allclose; assert_allclose(1.0, 1.0)\n"
        "assert 'numpy.f2py.crackfortran' in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_a_model_says_does_not_depend_on_what_is_imported(taggers):
    _, said = imported(["tag", "red apple", "--model", str(taggers / "KNN"), "--json"])
    (expected,) = Tagger.load(taggers / "KNN").suggest(["red apple"])
    answer = json.loads(said.splitlines()[-1])
    assert [(one["tag"], one["score"]) for one in answer["tags"]] == [(tag, round(score, 6)) for tag, score in expected]


def test_help_and_version_import_no_library_of_numbers():
    (helped, versioned), said = imported(["--help"], ["--version"])
    assert (helped, versioned) == ([], [])
    assert "Suggest tags" in said


@pytest.mark.parametrize("package", ["tagcore.models", "tagcore.baselines", "tagcore.readers"])
def test_all_names_of_a_package_that_imports_on_demand_are_there(package):
    room = importlib.import_module(package)
    assert [getattr(room, name).__name__ for name in room.__all__] == room.__all__
    with pytest.raises(AttributeError, match="has no attribute 'Nobody'"):
        _ = room.Nobody
