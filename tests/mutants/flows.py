"""Faults in flows: stages, tuning, grids and comparisons."""

from tests.mutants.fault import Fault

_JOBS = "flows/jobs.py"
_STAGES = "flows/stages.py"
_TUNING = "flows/settings_search.py"

FLOWS = (
    Fault(
        "a model after one that is left out has its name",
        _JOBS,
        "start=start, number=number, views=",
        "start=start, number=len(jobs) % len(recipe.all_models()), views=",
        "tests/flows/test_stages.py",
    ),
    Fault(
        "a blend asks members that take no weights below zero",
        _JOBS,
        "                    left_out.add(member)\n",
        "",
        "tests/flows/test_sizes.py",
    ),
    Fault(
        "an experiment ends where all that it tunes is left out",
        "flows/settings_search.py",
        "    except AllLeftOutError:",
        "    except AssertionError:",
        "tests/flows/test_sizes.py",
    ),
    Fault(
        "models are compared with one that there is not",
        "flows/recipes.py",
        "    _require_model_to_compare_with(recipe, str(path))\n",
        "",
        "tests/tasks/test_recipe.py",
    ),
    Fault(
        "settings are searched on features that a run would change",
        "flows/tune.py",
        'choose_features(recipe.model_copy(update={"seeds": recipe.seeds[:1]}), data, workspace)',
        'recipe.model_copy(update={"seeds": recipe.seeds[:1]})',
        "tests/flows/test_tune.py",
    ),
    Fault(
        "a registry out of reach is told to nobody",
        "flows/nightly.py",
        "    with tell_of_failure(workspace.settings, name):\n",
        "    require_reachable(workspace.registry)\n    with tell_of_failure(workspace.settings, name):\n",
        "tests/flows/test_told_failures.py",
    ),
    Fault(
        "a search measures on the test",
        "flows/settings_search.py",
        '"split": split.model_copy(update={"validation": recipe.tuning.validation})',
        '"split": split',
        "tests/flows/test_settings_search.py",
    ),
    Fault(
        "every trial of a search sees all rows",
        "flows/settings_search.py",
        'return split.model_copy(update={"train_documents": max(1, round(share * rows))})',
        "return split",
        "tests/flows/test_settings_search.py",
    ),
    Fault(
        "every seed has the split of the first",
        _JOBS,
        'split.model_copy(update={"seed": split.seed + seed})',
        "split.model_copy(update={})",
        "tests/flows/test_stages.py",
    ),
    Fault(
        "models with features of their own share those of the first",
        _JOBS,
        'key = repr({**preparation, "title": "", "anew": anew})',
        'key = "one for all"',
        "tests/flows/test_stages.py",
    ),
    Fault(
        "a parameter is chosen on features that its model does not read",
        "tasks/corpus_choice.py",
        'features |= own.get(name or "", {})',
        "pass",
        "tests/tasks/test_corpus_choice.py",
    ),
    Fault(
        "features of texts are asked of words that were counted elsewhere",
        _JOBS,
        "model = preparer.as_read(asked)",
        "model = asked",
        "tests/flows/test_views.py",
    ),
    Fault(
        "a blend's fits are not shared with models of its further features",
        "flows/stages.py",
        "for features in job.read}",
        "for features in job.read[:1]}",
        "tests/flows/test_views.py tests/flows/test_stages.py",
    ),
    Fault(
        "rows extended and rows made from nothing stand side by side",
        _JOBS,
        "if len({_is_extended(folder) for folder in folders}) > 1:",
        "if False:",
        "tests/flows/test_views.py",
    ),
    Fault(
        "a member reads features that are too large for its class",
        "tasks/blend_members.py",
        'return cells[view_name(features_of(member))] <= most_cells.get(class_of(member), float("inf"))',
        "return True",
        "tests/flows/test_views.py",
    ),
    Fault(
        "all models label by the thresholds of the first",
        _STAGES,
        '{"thresholds": limits[_threshold_key(job)]}',
        '{"thresholds": next(iter(limits.values()))}',
        "tests/flows/test_stages.py",
    ),
    Fault(
        "tuning takes the worst point",
        "tasks/search/study.py",
        "return max(self.whole_trials, key",
        "return min(self.whole_trials, key",
        "tests/tasks/search/test_study.py",
    ),
    Fault(
        "one search serves all redrawn splits",
        _TUNING,
        "    if not recipe.searches_each_split:",
        "    if True:",
        "tests/flows/test_settings_search.py",
    ),
    Fault(
        "models of other documents stand in one table",
        "flows/comparisons.py",
        "comparisons.setdefault((source, documents), new)",
        'comparisons.setdefault((source, ""), new)',
        "tests/flows/test_comparisons.py",
    ),
    Fault(
        "curves of a tuned recipe are drawn against its grid",
        "flows/grid.py",
        "    if recipe.tuning is None:\n        grids",
        "    if True:\n        grids",
        "tests/flows",
    ),
    Fault(
        "a data card beats what a user set",
        "flows/recipes.py",
        '        chosen += _names(value) if setting == "features" else [setting.removeprefix("features.")]\n',
        "",
        "tests/tasks/test_recipe.py tests/flows/test_stages.py",
    ),
    Fault(
        "a night that a guard refused is gone on from",
        "flows/nightly.py",
        "    if all(guard.passed for guard in decision.guards):\n",
        "    if True:\n",
        "tests/flows/test_night_end.py",
    ),
)
