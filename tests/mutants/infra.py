"""Faults in the command and the stack around it."""

from tests.mutants.fault import Fault

_PROCESS = "infra/stack/process.py"
_STACK = "infra/stack/local_stack.py"
_BRING_UP = "tests/infra/stack/test_local_stack.py"
_IDLE = "infra/stack/idle.py"
_PARTS = "tests/infra/stack/test_parts.py"

INFRA = (
    Fault(
        "a search by the usual sampler, whatever the recipe says",
        "infra/cli/tune.py",
        "for setting, value in typed.items() if value is not None}",
        'for setting, value in (typed | {"tuning.sampler": sampler or "tpe"}).items() if value is not None}',
        "tests/infra/cli/test_recipes.py",
    ),
    Fault(
        "a folder of several data sets is taken for the demonstration",
        "infra/cli/recipes.py",
        "if sets and not several_sets:",
        "if False:",
        "tests/infra/cli/test_recipes.py",
    ),
    Fault(
        "a folder of several data sets replaces the grid of the recipe",
        "infra/cli/recipes.py",
        '{"data.source": compared, **own}',
        '{"data.source": compared}',
        "tests/infra/cli/test_recipes.py",
    ),
    Fault(
        "a login of Prefect's that its API is not told",
        "infra/stack/prefect_api.py",
        "json=body, headers=_authorization()",
        "json=body",
        "tests/infra/stack/test_prefect_api.py",
    ),
    Fault(
        "the command asks a model whose files were altered",
        "infra/cli/tag.py",
        'Dataset.open_and_verify_beside(folder, "model") if is_stored else nullcontext()',
        "nullcontext()",
        "tests/infra/cli/test_tag.py -k altered",
    ),
    Fault(
        "what a killed part has left holds on",
        "infra/stack/part.py",
        "    end_all(left)\n",
        "",
        "tests/infra/stack/test_part.py",
    ),
    Fault(
        "a part that is told something else goes on as it was",
        "infra/stack/part.py",
        "record.told == part.told",
        "True",
        "tests/infra/stack/test_part.py",
    ),
    Fault(
        "what was refused is chosen again",
        _STACK,
        "        settings = settings.model_copy(update=chosen)\n",
        "        settings = settings.model_copy(update=chosen)\n"
        '        write_text(folder / "chosen.json", json.dumps(chosen))\n',
        _BRING_UP,
    ),
    Fault(
        "a shell with other variables replaces a part",
        "infra/stack/part.py",
        "in sorted(self.given.items())",
        "in sorted({**self.environment, **self.given}.items())",
        "tests/infra/stack/test_part.py",
    ),
    Fault(
        "runs of a worker that was replaced stand as running",
        _STACK,
        ", before_start=mark_runs)",
        ")",
        _BRING_UP,
    ),
    Fault(
        "scheduled nights do not see the file of settings",
        _STACK,
        '        given["TAGFLOW_CONFIG"] = file\n',
        "        pass\n",
        _BRING_UP,
    ),
    Fault(
        "an `up` without a file of settings takes it from the worker",
        _STACK,
        "return remembered if remembered and Path(remembered).is_file() else None",
        "return None",
        _BRING_UP,
    ),
    Fault(
        "schedules read a source of the settings by its relative path",
        "infra/cli/stack.py",
        "    if settings.source:  # one",
        "    if data is not None:  # one",
        "tests/infra/cli/test_stack.py -k source",
    ),
    Fault(
        "a night whose registry is out of reach ends before it can tell",
        "infra/session.py",
        "with suppress(RegistryError):",
        "with suppress():",
        "tests/infra/test_session.py",
    ),
    Fault(
        "a run ends the server of the stack",
        "infra/stack/prefect.py",
        'server.services == "full" and services != "full"',
        "False",
        _PARTS + " -k server_of_the_stack",
    ),
    Fault(
        "another process of the same id is taken for the server",
        _PROCESS,
        "_start(self.pid) == self.start",
        "True",
        _PARTS,
    ),
    Fault(
        "a process is another once the clock was corrected",
        _PROCESS,
        'if sys.platform != "linux":',
        'if sys.platform == "linux":',
        _PARTS,
    ),
    Fault(
        "descendants outlive the server",
        _PROCESS,
        "        tree += root.children(recursive=True)\n",
        "        pass\n",
        _PARTS,
    ),
    Fault(
        "a lock that holds nobody off",
        _PROCESS,
        "fcntl.LOCK_EX | fcntl.LOCK_NB",
        "fcntl.LOCK_SH | fcntl.LOCK_NB",
        _PARTS,
    ),
    Fault(
        "an open web socket is no use",
        _IDLE,
        "return 0.0 if self.open else time.monotonic() - self.last",
        "return time.monotonic() - self.last",
        _PARTS,
    ),
    Fault(
        "a server that was replaced goes on",
        _IDLE,
        "server.should_exit = unused or not names_this_process(state)",
        "server.should_exit = unused",
        _PARTS,
    ),
    Fault(
        "a log that grows without end",
        _IDLE,
        "    log.write_bytes(newer)\n",
        "",
        _PARTS,
    ),
    Fault(
        "web pages may call the local server",
        "infra/stack/prefect_settings.py",
        '        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": url,  # the default lets any web page call a local server\n',
        "",
        "tests/infra/stack",
    ),
    Fault(
        "the user's own Prefect settings reach the server",
        "infra/stack/prefect_settings.py",
        'if not k.startswith("PREFECT_")}',
        "}",
        _PARTS,
    ),
    Fault(
        "a full disk is a traceback",
        "infra/cli/faults.py",
        "        if _is_disk_full(cause):\n",
        "        if False:\n",
        "tests/infra/cli/test_faults.py",
    ),
    Fault(
        "what nobody foresaw is told in one line",
        "infra/cli/faults.py",
        "    return None\n\n\ndef _causes",
        "    return str(error)\n\n\ndef _causes",
        "tests/infra/cli/test_faults.py",
    ),
    Fault(
        "a process that only asks models does not say so",
        "infra/cli/tag.py",
        "    serve_only()  # before models are imported\n",
        "",
        "tests/infra/cli/test_imports.py -k asking",
    ),
    Fault(
        "a recommender is asked for tags where it is alone in service",
        "infra/cli/model_folder.py",
        "if set(kinds.values()) == {None}:",
        "if len(kinds) == 1:",
        "tests/infra/cli/test_model_folder.py",
    ),
)
