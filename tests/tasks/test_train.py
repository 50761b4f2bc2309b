"""Training as a task: one that was killed goes on from its last checkpoint, which goes with the finished model."""

from functools import partial
from pathlib import Path

import pytest

from tagcore.training import Checkpoints
from tasks import train as module
from tasks.progress import listen
from tasks.recipe_settings import ModelSettings
from tasks.train import train
from tests.demo import demo_features
from tests.workspaces import workspace_at

TOPICS = ModelSettings(calibrate="none", model="BMLPL", params={"n_topics": 4, "max_iter": 6, "tol": 0.0})


def test_a_killed_training_goes_on_from_its_last_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "Checkpoints", partial(Checkpoints, every_seconds=0.0))
    workspace = workspace_at(tmp_path)
    rows = demo_features(workspace, documents=300)
    rounds = []

    def note(step, event):
        if event == "progress":
            rounds.append(step.done)

    def kill(step, event):
        if event == "progress" and step.done == 4:
            raise KeyboardInterrupt

    with listen(kill), pytest.raises(KeyboardInterrupt):
        train.fn(rows, TOPICS, 0, workspace)
    checkpoints = tmp_path / "cluster" / "checkpoints"
    assert len(list(checkpoints.iterdir())) == 1
    with listen(note):
        model = train.fn(rows, TOPICS, 0, workspace).result()
    assert rounds == [4, 5, 6]
    assert list(checkpoints.iterdir()) == []
    whole = train.fn(rows, TOPICS, 0, workspace_at(tmp_path / "other")).result()
    state = Path("model", "state.safetensors")
    assert (model / state).read_bytes() == (whole / state).read_bytes()
