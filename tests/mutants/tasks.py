"""Faults in tasks: promotion, the cache, the registry, the cluster."""

from tests.mutants.fault import Fault

_PROMOTION = "tasks/promotion.py"
_PROMOTION_TESTS = "tests/tasks/test_promotion.py"
_CACHE = "tasks/cache.py"
_CACHE_TESTS = "tests/tasks/test_cache.py"
_CLIENT = "tasks/registry/client.py"
_CLIENT_TESTS = "tests/tasks/registry/test_client.py"
_TRACKING_TESTS = "tests/tasks/registry/test_tracking.py"
_WRITER = "tasks/registry/writer.py"
_EXECUTOR = "tasks/cluster/executor.py"

TASKS = (
    Fault(
        "promotion by point estimate",
        _PROMOTION,
        "min(signed(measure, test.low), signed(measure, test.high)) > margin",
        "signed(measure, test.difference) > margin",
        _PROMOTION_TESTS,
    ),
    Fault(
        "promotion without its margin",
        _PROMOTION,
        "signed(measure, test.high)) > margin",
        "signed(measure, test.high)) > 0",
        _PROMOTION_TESTS,
    ),
    Fault(
        "promotion by a larger error",
        _PROMOTION,
        "min(signed(measure, test.low), signed(measure, test.high))",
        "min(test.low, test.high)",
        _PROMOTION_TESTS,
    ),
    Fault(
        "the level is not corrected for having chosen",
        _PROMOTION,
        "    return 1 - (1 - level) / candidates\n",
        "    return level\n",
        _PROMOTION_TESTS,
    ),
    Fault(
        "the worst candidate challenges",
        _PROMOTION,
        "return max(candidates, key",
        "return min(candidates, key",
        _PROMOTION_TESTS,
    ),
    Fault(
        "a champion that moved meanwhile is overwritten",
        _PROMOTION,
        "        if before != (None if now is None else str(now.version)):\n",
        "        if False:\n",
        _CLIENT_TESTS,
    ),
    Fault(
        "the same model challenges itself",
        _PROMOTION,
        "        elif champion.tags.get(MODEL_KEY) == client.get_model_version(name, version).tags.get(MODEL_KEY):\n",
        "        elif False:\n",
        _PROMOTION_TESTS,
    ),
    Fault(
        "a refused challenger is put into service",
        _PROMOTION,
        "        if decision.promoted:\n",
        "        if True:\n",
        _PROMOTION_TESTS,
    ),
    Fault(
        "a stored result is taken unseen",
        _CACHE,
        "        if is_complete(plan.folder, plan.key, plan.kind):\n            step.remark",
        "        if True:\n            step.remark",
        _CACHE_TESTS,
    ),
    Fault(
        "results of other code are taken",
        _CACHE,
        '"inputs": {**self.inputs, "code": code_hash()}',
        '"inputs": {**self.inputs}',
        _CACHE_TESTS,
    ),
    Fault(
        "parameters are no part of a result's key",
        _CACHE,
        "        return content_key(self.kind, **self.manifest)\n",
        '        return content_key(self.kind, {}, self.manifest["inputs"])\n',
        _CACHE_TESTS,
    ),
    Fault(
        "a full disk is hidden where nothing was made",
        _CACHE,
        "made the same thing meanwhile\n            raise\n",
        "made the same thing meanwhile\n            pass\n",
        _CACHE_TESTS,
    ),
    Fault(
        "bad input is tried again",
        _CACHE,
        "    return isinstance(error, OSError) and not isinstance(error, gone)\n",
        "    return True\n",
        _CACHE_TESTS,
    ),
    Fault(
        "long names are told apart by nothing",
        "tasks/naming.py",
        '    return f"{name[:_LONGEST]}-{own}".lstrip("-")\n',
        "    return name[:_LONGEST]\n",
        "tests/tasks/test_naming.py",
    ),
    Fault(
        "one registered name for all data",
        "tasks/naming.py",
        'return recipe if recipe == data else f"{recipe}-{data}"',
        "return recipe",
        "tests/tasks/test_naming.py",
    ),
    Fault(
        "a registered model may lead out of its folder",
        _CLIENT,
        "    if model.resolve() not in folder.parents:\n",
        "    if False:\n",
        _CLIENT_TESTS,
    ),
    Fault(
        "a password of the registry is shown",
        _CLIENT,
        "render_as_string(hide_password=True)",
        "render_as_string(hide_password=False)",
        _CLIENT_TESTS,
    ),
    Fault(
        "the registry's tables are made in place",
        _CLIENT,
        '            filling = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}")\n',
        "            filling = path\n",
        _CLIENT_TESTS,
    ),
    Fault(
        "a version is registered again",
        "tasks/registry/tracking.py",
        "        if standing := find_version(writer.client, name, key):\n",
        "        if standing := None:\n",
        _TRACKING_TESTS,
    ),
    Fault(
        "half-made runs count as tracked",
        "tasks/registry/tracking.py",
        " and tags.`{WHOLE_KEY}` = 'yes'",
        "",
        _TRACKING_TESTS,
    ),
    Fault(
        "the order of models makes another comparison",
        "tasks/registry/tracking.py",
        '    keys = sorted(stored_key(model.evaluation, "evaluation") for model in evaluated)\n',
        '    keys = [stored_key(model.evaluation, "evaluation") for model in evaluated]\n',
        _TRACKING_TESTS,
    ),
    Fault(
        "two writers of one name at once",
        _WRITER,
        "        fcntl.flock(lock, fcntl.LOCK_EX)\n",
        "",
        _TRACKING_TESTS,
    ),
    Fault(
        "runs of a dead process stay as they are",
        _WRITER,
        "            _end_abandoned_runs(client, experiment, tags[WRITER_KEY])\n",
        "",
        _TRACKING_TESTS,
    ),
    Fault(
        "runs of others are ended",
        _WRITER,
        " and tags.`{WRITER_KEY}` = '{identity}'",
        "",
        _TRACKING_TESTS,
    ),
    Fault(
        "temporary files of a dead process stay",
        _WRITER,
        "    before, tempfile.tempdir = tempfile.tempdir, str(folder)\n",
        "    before = tempfile.tempdir\n",
        _TRACKING_TESTS,
    ),
    Fault(
        "a cluster's files are left behind",
        _EXECUTOR,
        "        if unneeded:\n            self.storage.remove(",
        "        if False:\n            self.storage.remove(",
        "tests/tasks/cluster/test_executor.py",
    ),
    Fault(
        "a result of a worker can be written to",
        _EXECUTOR,
        "else freeze(value) for value in travelling]",
        "else value for value in travelling]",
        "tests/tasks/cluster/test_executor.py",
    ),
    Fault(
        "folders of living drivers are swept away",
        "tasks/cluster/run_folder.py",
        "        if not name.startswith(_machine()):\n            continue\n",
        "",
        "tests/tasks/cluster/test_roots.py",
    ),
    Fault(
        "unknown settings of a recipe are taken",
        "tasks/recipe.py",
        'extra="forbid"',
        'extra="ignore"',
        "tests/tasks/test_recipe.py",
    ),
    Fault(
        "a model fitted anew goes on from nothing",
        "tasks/train.py",
        "Checkpoints(places.inside(plan.key), plan.key)",
        "None",
        "tests/tasks/cluster/test_train.py",
    ),
)
