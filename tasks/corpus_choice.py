"""What a corpus wants: features and parameters chosen once on validation documents, written down, and used again."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from prefect import task
from prefect.states import Completed, State

from tagcore.features.build import make_features
from tagcore.features.corpus_reader import CorpusReader
from tagcore.features.rows import XY, StoredRows, load_all
from tagcore.features.split import Split
from tagcore.fitting import make_model
from tagcore.metrics.ranking import mark_hits
from tagcore.stepwise_choice import Changes, choose_in_turn
from tagcore.store.datasets import Dataset
from tagcore.store.files import write_text
from tagcore.tag_model import TagModel
from tagcore.text import Vectoriser
from tasks.blend_members import with_member_parameter, without_features_of_texts
from tasks.feature_settings import OF_TEXTS
from tasks.features import choose_split
from tasks.progress import ProgressReporter
from tasks.recipe import Recipe
from tasks.recipe_settings import FeatureSettings, ModelSettings
from tasks.workspace import Workspace

CHOICES = "choices"  # the folder, of the state folder, with one file for each corpus

_MOST_CELLS = 100_000_000  # words × tags, above which neighbours probe instead of BOMC, which learns in one pass
_LEAST_DOCUMENTS = 100  # to learn from: fewer cannot tell one choice from another
_LEAST_TAG = 3  # tags on fewer documents cannot tell one choice from another
_OF_ONE_NIGHT = ("after", "until", "exceptions")  # of a split by time: what was chosen stays when these move on
_K = 5


@task(name="choose")
def choose(
    data: Path, recipe: Recipe, settings: FeatureSettings, name: str, workspace: Workspace
) -> State[dict[str, Any]]:
    """Chooses what the recipe's `choice` lists, or gives what was chosen on an earlier night for the same question.

    `settings` are the features that stand without a choice. The answer is a file of the state folder, `choices/NAME`.
    """
    assert recipe.choice is not None
    step = ProgressReporter("choose features")
    corpus, split = Dataset.open(data, "corpus", verify=False), choose_split(data, recipe.split)
    options = [o for o in recipe.choice.options if _open_to_choice(o, recipe, settings, corpus.has("bags"))]
    own = _own_features(recipe, corpus)
    question = {
        "options": options,
        "features": settings.model_dump(mode="json"),
        "own_features": own,
        "split": {name: value for name, value in vars(split).items() if name not in _OF_ONE_NIGHT},
        "documents": recipe.choice.documents,
        "validation": recipe.choice.validation,
    }
    file = workspace.settings.state / CHOICES / f"{name}.json"
    known = _read(file)
    if known.get("question") == json.loads(json.dumps(question)) and not recipe.choice.renew:
        step.remark = known["told"]
        step.tell("stands")
        return Completed(name="Cached", message=f"choose features: {known['told']}", data=known["changes"])
    documents = CorpusReader(corpus, split).count_to_learn_from()
    if documents < _LEAST_DOCUMENTS:
        step.remark = f"nothing tried: {documents:,} documents to learn from are too few to tell"
        step.tell("left out")
        return Completed(message=f"choose features: {step.remark}", data={})
    step.tell("start")
    step.begin()
    quality = _quality(corpus, split, documents, recipe, settings, own, step)
    chosen = choose_in_turn(options, quality, recipe.choice.seconds)
    told = "; ".join(f"{_told(t.changes)} {t.after - t.before:+.3f}{' taken' if t.kept else ''}" for t in chosen.trials)
    told += "".join(f"; {_told(option)} not tried" for option in chosen.untried)
    step.remark = f"nDCG@5 on validation documents: {told}" if told else "nothing to choose"
    record = {"question": question, "changes": chosen.changes, "told": step.remark, "trials": chosen.trials}
    file.parent.mkdir(parents=True, exist_ok=True)
    write_text(file, json.dumps(record, indent=1, default=asdict))
    step.tell("made")
    return Completed(message=f"choose features: {step.remark}", data=chosen.changes)


def with_changes(recipe: Recipe, changes: Changes) -> Recipe:
    """The recipe with what was chosen: features that beat a card's, and parameters where nobody has set them."""
    features, models = dict[str, Any](), list(recipe.models)
    for setting, value in changes.items():
        group, *rest = setting.split(".")
        if group == "features":
            features[rest[0]] = value
        else:
            name, parameter = rest
            models = [_with_parameter(model, name, parameter, value) for model in models]
    return recipe.model_copy(
        update={
            "features": recipe.features.on_top_of(**features),
            "chosen_features": [*recipe.chosen_features, *features],
            "models": models,
            "choice": None,
        }
    )


def _with_parameter(model: ModelSettings, name: str, parameter: str, value: Any) -> ModelSettings:
    if model.model == "Blend":
        return with_member_parameter(model, name, parameter, value)
    if model.model != name or parameter in (*model.params, *model.grid):
        return model
    return model.model_copy(update={"params": model.params | {parameter: value}})


def _open_to_choice(option: Changes, recipe: Recipe, settings: FeatureSettings, counted: bool) -> bool:
    """Whether an option says something new of settings that nobody has set; counted words have no text to read."""
    features = {name.removeprefix("features."): v for name, v in option.items() if name.startswith("features.")}
    set_by_a_person = any(name in recipe.chosen_features for name in features)
    news = settings.on_top_of(**features) != settings or len(features) < len(option)
    return news and not set_by_a_person and not (counted and any(name in OF_TEXTS for name in features))


def _own_features(recipe: Recipe, corpus: Dataset) -> dict[str, dict[str, Any]]:
    """Features that models read on top of the recipe's, by class name; the first model of a class tells."""
    models = [without_features_of_texts(model) if corpus.has("bags") else model for model in recipe.models]
    return {model.model: model.features for model in reversed(models) if model.features}


def _quality(
    corpus: Dataset,
    split: Split,
    documents: int,
    recipe: Recipe,
    settings: FeatureSettings,
    own: dict[str, dict[str, Any]],
    step: ProgressReporter,
) -> Callable[[Changes, Changes], tuple[np.ndarray, np.ndarray]]:
    """nDCG@5 of every validation document for a probe: the model whose parameter is chosen, or one that is quick."""
    assert recipe.choice is not None
    tried = replace(
        split,
        validation=recipe.choice.validation,
        train_documents=min(recipe.choice.documents, documents),
        min_tag_df=max(split.min_tag_df, _LEAST_TAG),
    )
    seen: dict[str, np.ndarray] = {}
    total = 2 * len(recipe.choice.options)
    rows_of = lru_cache(2)(lambda plain: _rows(corpus, tried, settings.on_top_of(**json.loads(plain))))

    def probe(changes: Changes, name: str | None) -> np.ndarray:
        features = {k.removeprefix("features."): v for k, v in changes.items() if k.startswith("features.")}
        features |= own.get(name or "", {})
        params = {k.split(".")[2]: v for k, v in changes.items() if name and k.startswith(f"models.{name}.")}
        key = json.dumps([features, name, params], sort_keys=True)
        if key not in seen:
            seen[key] = _ndcg(rows_of(json.dumps(features, sort_keys=True)), name, params, recipe.seeds[0])
            step(len(seen), total, {})
        return seen[key]

    def quality(kept: Changes, option: Changes) -> tuple[np.ndarray, np.ndarray]:
        name = next((setting.split(".")[1] for setting in option if setting.startswith("models.")), None)
        return probe(kept, name), probe(kept | option, name)

    return quality


def _rows(corpus: Dataset, split: Split, settings: FeatureSettings) -> tuple[XY, XY]:
    """Rows to learn from, and rows to ask about."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch, "features")
        make_features(corpus, folder, Vectoriser(**settings.model_dump()), split)
        return load_all(StoredRows.open(folder, "train")), load_all(StoredRows.open(folder, "test"))


def _ndcg(rows: tuple[XY, XY], name: str | None, params: Changes, seed: int) -> np.ndarray:
    (X, Y), (asked, truth) = rows
    too_large = X.shape[1] * Y.shape[1] > _MOST_CELLS
    if too_large and name == "BOMC":
        return np.zeros(1)  # which decides nothing
    name = name or ("KNN" if too_large else "BOMC")
    model = make_model(name, params, seed, TagModel).fit(X, Y)
    return mark_hits(truth, model.top_k(asked, _K)[0]).ndcg(_K)


def _told(changes: Changes) -> str:
    return ", ".join(f"{name.split('.', 1)[1]} = {value}" for name, value in changes.items())


def _read(file: Path) -> dict[str, Any]:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
