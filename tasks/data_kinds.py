"""What is learnt from: documents with tags, ratings, or rows of one class each. All that is done differently for these
stands here, once; a recipe's `data.kind` chooses."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from prefect import Task

from tagcore.base import Estimator
from tagcore.class_model import ClassModel
from tagcore.corpus import Document
from tagcore.fitting import model_class
from tagcore.metrics.measure import LearnsFrom
from tagcore.rating_model import RatingModel
from tagcore.readers.cards import recognise
from tagcore.readers.web.urls import is_url
from tagcore.tag_model import TagModel
from tagcore.text.vectoriser import WEIGHTS
from tasks.classes.evaluate import evaluate_classifier
from tasks.classes.model_card import classifier_card, classifier_facts
from tasks.classes.split import split_rows
from tasks.classes.train import train_classifier
from tasks.evaluate import evaluate, values_of_tagger
from tasks.feature_settings import FeatureSettings
from tasks.features import features
from tasks.ingest import ingest
from tasks.left_out import why_left_out
from tasks.model_parameters import require_parameters
from tasks.ratings.evaluate import evaluate_recommender, values_of_recommender
from tasks.ratings.examples import recommend_examples, sample_users
from tasks.ratings.ingest import ingest_ratings
from tasks.ratings.model_card import recommender_card, recommender_facts
from tasks.ratings.split import split_ratings
from tasks.ratings.train import train_recommender
from tasks.recipe import Recipe
from tasks.recipe_settings import ModelSettings, SplitSettings
from tasks.registry.mlflow_pyfunc import RECOMMENDER, TAGGER, ServedForm
from tasks.registry.model_card import tagger_card, tagger_facts
from tasks.reporting.examples import sample_texts, suggest_examples
from tasks.reporting.tagger_plots import log_tagger_plots
from tasks.train import train


@dataclass(frozen=True)
class Service:
    """How models of one kind are put into service and compared with what is there."""

    served: ServedForm
    held_out_values: Callable[[Path, Path, Path, str], np.ndarray]  # of (model, data, prepared, measure)
    sample_input: Callable[[Path, Path], Document]  # of (data, prepared): what the model may be asked
    examples: Callable[..., Any]  # (data, prepared, address, registry) -> what the model in service answers


@dataclass(frozen=True)
class Kind:
    """The steps from one kind of data to a served model. What a step makes is stored under the names given here."""

    base: type[Estimator]  # of the models that learn from it
    prepared_input: str  # the name, among the inputs of a stored model, of what it was trained and measured on
    model_kind: str  # of data set that a model is stored as

    grows: bool  # from night to night: models may go on from those of the night before

    ingest: Task  # (data, workspace) -> the folder of the data
    prepare: Task  # (data, **what `preparation` says, workspace) -> the folder of what models learn from
    preparation: Callable[[Recipe, ModelSettings, SplitSettings], dict[str, Any]]
    why_left_out: Callable[[ModelSettings, Path], str]  # what in the prepared speaks against a model, or nothing
    train: Task  # (prepared, model, seed, workspace) -> the folder of the stored model
    evaluate: Task  # (model, prepared, measures, label, workspace) -> the folder of the evaluation

    facts: Callable[..., dict[str, Any]]  # of an evaluated model, for its card
    logged_facts: tuple[str, ...]  # those that MLflow gets as parameters
    card: Callable[..., str]  # (label, data, facts, evaluation, topics) -> Markdown
    log_plots: Callable[..., None] | None  # of (evaluation, topics), on the active MLflow run
    service: Service | None  # None where models are compared, and not put into service

    @property
    def in_service(self) -> Service:
        """How such models are served; ValueError where they are not."""
        if self.service is None:
            raise ValueError(f"models that learn from {self.base.learns_from} are compared, not served")
        return self.service


def kind_of(learns_from: LearnsFrom) -> Kind:
    """The kind by its name in recipes."""
    return KINDS[learns_from]


def require_models(recipe: Recipe) -> None:
    """Raises ValueError, before any work, for a model that there is not, that learns from something else, or that does
    not have the parameters or values of the recipe."""
    for model in recipe.models:
        model_class(model.model, kind_of(recipe.data.kind).base)
    require_parameters(recipe)


def _features_of(recipe: Recipe, model: ModelSettings, split: SplitSettings) -> dict[str, Any]:
    """The recipe's features with what a data card suggests, what the model's class wants, and its own on top."""
    source = recipe.data.source
    card = recognise(source) if isinstance(source, str) and not recipe.data.made_up and not is_url(source) else None

    def settings_of(model: ModelSettings) -> FeatureSettings:
        wanted = dict(model_class(model.model, TagModel).wanted_features)
        return recipe.features_with((card.features if card else {}) | wanted).on_top_of(**model.features)

    settings = settings_of(model)
    views: list[FeatureSettings] = []  # of other models, that weigh the same terms
    for other in map(settings_of, recipe.all_models()):
        if other not in (settings, *views) and _terms(other) == _terms(settings):
            views.append(other)
    wanted = dict(model_class(model.model, TagModel).wanted_features)
    own = ", ".join(f"{name}={value}" for name, value in sorted((wanted | model.features).items()))
    title = f"build features ({own})" if own else "build features"
    return {"settings": settings, "split": split, "title": title, "views": views}


def _terms(settings: FeatureSettings) -> dict[str, Any]:
    """What chooses and counts terms, however they are weighed."""
    return settings.model_dump(exclude=set(WEIGHTS))


KINDS: dict[LearnsFrom, Kind] = {
    "documents": Kind(
        base=TagModel,
        prepared_input="features",
        model_kind="model",
        grows=True,
        ingest=ingest,
        prepare=features,
        preparation=_features_of,
        why_left_out=why_left_out,
        train=train,
        evaluate=evaluate,
        facts=tagger_facts,
        logged_facts=("calibration", "features"),
        card=tagger_card,
        log_plots=log_tagger_plots,
        service=Service(
            served=TAGGER,
            held_out_values=values_of_tagger,
            sample_input=lambda data, prepared: sample_texts(data, prepared, 1)[0][0],
            examples=suggest_examples,
        ),
    ),
    "ratings": Kind(
        base=RatingModel,
        prepared_input="split",
        model_kind="recommender",
        grows=False,
        ingest=ingest_ratings,
        prepare=split_ratings,
        preparation=lambda recipe, model, split: {
            "split": split,
            "profiles": recipe.data.profiles,
            "title": "split ratings",
        },
        why_left_out=lambda model, prepared: "",
        train=train_recommender,
        evaluate=evaluate_recommender,
        facts=recommender_facts,
        logged_facts=("split",),
        card=recommender_card,
        log_plots=None,
        service=Service(
            served=RECOMMENDER,
            held_out_values=values_of_recommender,
            sample_input=lambda data, prepared: sample_users(prepared, 1)[0],
            examples=recommend_examples,
        ),
    ),
    "classes": Kind(
        base=ClassModel,
        prepared_input="split",
        model_kind="classifier",
        grows=False,
        ingest=ingest,
        prepare=split_rows,
        preparation=lambda recipe, model, split: {"split": split, "title": "split rows"},
        why_left_out=lambda model, prepared: "",
        train=train_classifier,
        evaluate=evaluate_classifier,
        facts=classifier_facts,
        logged_facts=("split",),
        card=classifier_card,
        log_plots=None,
        service=None,
    ),
}
