"""Altered model folders: whatever was done to one, it answers or is refused by a ValueError; no process ends."""

import json
import os
import signal

import numpy as np
import pytest
from numba.core import event
from safetensors.numpy import load, save

from tagcore.base import MODELS, load_estimator
from tests.fuzz.altered_folders import Asker, model_names, stored_models

FOLDERS = 40  # of each class; `python -m tests.bench altered` takes 5,000
EVERY = pytest.mark.parametrize("name", model_names())


@pytest.fixture(scope="module")
def stored():
    return {name: stored_models(name) for name in model_names()}


@pytest.fixture(scope="module")
def asker(stored):
    asker = Asker(stored)
    yield asker
    asker.close()


@EVERY
def test_an_altered_folder_answers_or_is_refused(name, asker):
    answers = [asker(name, number) for number in range(FOLDERS)]
    assert [answer for answer in answers if answer.fault] == []
    assert {answer.what for answer in answers} == {"answered", "refused"}


def _load(tmp_path, stored, state=None, **head):
    (tmp_path / "state.safetensors").write_bytes(save(state) if state else stored.state)
    (tmp_path / "model.json").write_text(json.dumps(json.loads(stored.head) | head))
    return load_estimator(tmp_path)


def test_starts_that_wrap_around_are_no_starts(stored, tmp_path):
    """every difference of these is positive, in whole numbers of their size."""
    model = stored["LaSVM"][0]
    arrays = load(model.state)
    starts = arrays["dual_starts_"]
    starts[1], starts[2] = 2**62, -(2**62) - 1
    assert (np.diff(starts[:4]) > 0).all()
    with pytest.raises(ValueError, match=r"where rows of the dual coefficients start must be numbers from 0 to 12"):
        _load(tmp_path, model, arrays)


@EVERY
def test_every_array_has_the_type_that_fit_gives_it(name, stored, tmp_path):
    for model in stored[name]:
        for array, values in load(model.state).items():
            for other in {"i2", "i4", "i8", "f2", "f4", "f8"} - {values.dtype.str[1:]}:
                if (array, values.dtype.kind, other[0]) == ("shape_draws_", "f", "f") and other != "f2":
                    continue  # Gibbs keeps these in the type of training
                with pytest.raises(ValueError, match="its arrays do not fit together"):
                    _load(tmp_path, model, load(model.state) | {array: values.astype(other)})


@EVERY
def test_every_parameter_has_limits_which_fit_and_load_keep(name, stored, tmp_path):
    model = MODELS[name]
    assert set(model._limits) == set(model().get_params())
    for parameter in model._limits:
        for odd in ({"a": 1}, "colour", [[1], 2]):
            with pytest.raises(ValueError, match=parameter):
                model(**{parameter: odd})._check_params()
            with pytest.raises(ValueError, match=f"not the parameters of {name} .*{parameter}"):
                _load(tmp_path, stored[name][0], params=json.loads(stored[name][0].head)["params"] | {parameter: odd})


def test_rounds_of_inference_have_a_limit_that_is_named(stored, tmp_path):
    with pytest.raises(ValueError, match="rounds must be at most 100, got 1000000"):
        MODELS["BCS"](rounds=10**6).fit([[1.0], [2.0]], [[1], [0]])
    with pytest.raises(ValueError, match=r"not the parameters of BCS \(rounds must be at most 100, got 1000000"):
        _load(tmp_path, stored["BCS"][0], params={"rounds": 10**6})


@pytest.mark.parametrize("size", [0, -1, True, 12.0, "12", None, 2**31, 10**400])
def test_sizes_are_whole_numbers(size, stored, tmp_path):
    facts = json.loads(stored["Popular"][0].head)["facts"]
    with pytest.raises(ValueError, match="n_features_in_ must be"):
        _load(tmp_path, stored["Popular"][0], facts=facts | {"n_features_in_": size})
    facts = json.loads(stored["UserMean"][0].head)["facts"]
    with pytest.raises(ValueError, match="n_items_ must be"):
        _load(tmp_path, stored["UserMean"][0], facts=facts | {"n_items_": size})


@pytest.mark.parametrize("name", ["TagiCoFi", "PMF"])
def test_means_may_be_told_as_whole_numbers_of_any_size(name, stored, tmp_path):
    facts = json.loads(stored[name][0].head)["facts"]
    _ask_in_every_way(_load(tmp_path, stored[name][0]))
    model = _load(tmp_path, stored[name][0], facts=facts | {"mean_": 2**63, "fallback_": 3})
    with event.install_recorder("numba:compile") as compiled:
        _ask_in_every_way(model)
    assert len(compiled.buffer) == 0  # no kernel is made for other types


def _ask_in_every_way(model):
    assert np.isfinite(model.predict([0, 99], [0, 99])).all()
    assert model.top_k([0], 2)[0].shape == (1, 2)
    model.recommend_for_tags([0], 2)


def test_a_head_that_is_nested_too_deeply_is_no_head(stored, tmp_path):
    (tmp_path / "state.safetensors").write_bytes(stored["Popular"][0].state)
    (tmp_path / "model.json").write_text("[" * 200_000)
    with pytest.raises(ValueError, match="not the head of a stored model"):
        load_estimator(tmp_path)


def test_neighbours_without_a_document_are_refused(stored, tmp_path):
    for name in ("KNN", "VectorSimilarity"):
        arrays = load(stored[name][0].state)
        for array in ("documents_", "weights_", "tag_ids_", "tag_weights_"):
            if array in arrays:
                arrays[array] = arrays[array][:0]
        arrays["word_starts_"][:] = 0
        arrays["tag_starts_"] = np.zeros(1, np.int64)
        with pytest.raises(ValueError, match="there is no document to be like"):
            _load(tmp_path, stored[name][0], arrays)


def test_a_process_that_ends_or_hangs_is_told_and_replaced(monkeypatch):
    """so that the tests above can fail."""
    asker = Asker({"Popular": stored_models("Popular")})
    asker.process.kill()
    assert asker("Popular", 0).what == "SIGKILL"
    monkeypatch.setattr("tests.fuzz.altered_folders.HANG", 0.0)
    os.kill(asker.process.pid, signal.SIGSTOP)
    assert asker("Popular", 0).what == "hang"
    monkeypatch.undo()
    assert asker("Popular", 0).what in ("answered", "refused")
    asker.close()
