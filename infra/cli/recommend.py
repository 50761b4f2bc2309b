"""`tagflow recommend`: items for users, or for someone unknown who tells some tags."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from infra.cli.console import Console
from infra.cli.json_text import json_encoder
from infra.cli.options import HomeOption

if TYPE_CHECKING:
    from tagcore.recommender import Recommendation


def recommend(
    user: Annotated[list[str] | None, typer.Argument(help="The name of a user; several are several users.")] = None,
    tags: Annotated[
        str | None, typer.Option(help='Tags that someone unknown uses, between commas: "jazz, piano".')
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="A model folder, or an address such as models:/demo@champion.")
    ] = None,
    k: Annotated[int, typer.Option("-k", help="How many items.", min=1)] = 5,
    seen: Annotated[bool, typer.Option("--seen", help="Also what the user has rated already.")] = False,
    home: HomeOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a user.")] = False,
) -> None:
    """Recommend items, best first, each with the rating that the user would give it, as far as the model can tell: a
    number beyond the end of the scale ranks it among those that get the most.

    Items are told by their titles where the data has some. For someone whom the model does not know, --tags tells which
    tags this person uses; that needs a model that learns from tags, such as TagiCoFi.
    """
    from tagcore.inference_only import serve_only

    serve_only()  # before models are imported
    from infra.cli.fewer_imports import import_less
    from infra.cli.model_folder import served_folder

    if bool(user) == (tags is not None):
        both = ", not both" if user else ""
        raise ValueError(f'expected the name of a user, or --tags "some, tags"{both}')
    console = Console(as_json)
    folder = served_folder(model, home, "recommender")
    import_less()  # not before: MLflow may have been asked, which does need it
    from tagcore.recommender import Recommender

    recommender = Recommender.load(folder)
    if tags is not None:
        wanted = [tag.strip() for tag in tags.split(",") if tag.strip()]
        found = recommender.recommend_for_tags(wanted, k)
        if unknown := recommender.unknown_tags(wanted):
            console.say(f"not known, and left out: {', '.join(unknown)}")
        _show(console, {"tags": wanted}, found)
    for name in user or ():
        _show(console, {"user": name}, recommender.recommend(name, k, exclude_seen=not seen))


def _show(console: Console, asked: dict, found: "list[Recommendation]") -> None:
    if console.as_json:
        items = [{"item": r.item, "title": r.told, "score": r.score} for r in found]
        print(json_encoder(sys.stdout)({**asked, "items": items}))
        return
    who = asked.get("user") or ", ".join(asked["tags"])
    print(f"{who} → " + (", ".join(f"{r.told} {r.score:.2f}" for r in found) or "nothing is left to recommend"))
