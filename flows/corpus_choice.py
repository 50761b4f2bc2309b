"""What a corpus wants, chosen once: the features and parameters that a recipe leaves open."""

from pathlib import Path
from typing import Any

from flows.jobs import split_of_seed
from tasks.corpus_choice import choose, with_changes
from tasks.data_kinds import kind_of
from tasks.naming import data_name, errors_name_source, registered_name, safe_name
from tasks.recipe import Recipe
from tasks.workspace import Workspace


def choose_features(recipe: Recipe, data: Path, workspace: Workspace) -> Recipe:
    """Gives the recipe with its choices made, on validation documents of its split; one without any stays as it is."""
    if recipe.choice is None or recipe.data.kind != "documents":
        return recipe
    split = split_of_seed(recipe, recipe.seeds[0])
    settings = kind_of("documents").preparation(recipe, recipe.models[0], split)["settings"]
    name = registered_name(recipe.name, data_name(recipe.data))
    if recipe.split.redraw:
        name = safe_name(f"{name}-split-{split.seed}")
    with errors_name_source(recipe.data, data):
        of_split = recipe.model_copy(update={"split": split})
        state: Any = choose(data, of_split, settings, name, workspace, return_state=True)
        return with_changes(recipe, state.result())
