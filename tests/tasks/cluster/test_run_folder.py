"""Folders that killed drivers left: removed by the next, but for those of others."""

import os
import subprocess
import sys

import pytest

from tagcore.store.storage import Folder
from tasks.cluster import run_folder


@pytest.mark.parametrize("node", ["worker", "10.0.0.5"])
def test_only_what_dead_drivers_of_this_machine_left_is_removed(tmp_path, monkeypatch, node):
    monkeypatch.setattr(run_folder.platform, "node", lambda: node)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(timeout=600)
    ours = node.replace(".", "-")
    left = f"{ours}-{ended.pid}-0123abcd"
    kept = {
        f"{ours}-{os.getpid()}-0123abcd",  # alive
        f"other-{ended.pid}-0123abcd",
        f"{ended.pid}-0-0-7-1-0123abcd",  # of a machine whose name begins like a process
        f"{ours}-what",
    }
    for name in (left, *kept):
        Folder(tmp_path).inside(name).write("file", b"content")
    run_folder._remove_orphans(Folder(tmp_path))
    assert set(Folder(tmp_path).names()) == kept
