"""`tagflow tag`: tags for a text, a file or standard input."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from infra.cli.console import Console
from infra.cli.options import HomeOption

if TYPE_CHECKING:
    from tagcore.tagger import Tagger

LONGEST = 10_000_000  # bytes of all texts together


def tag(
    text: Annotated[list[str] | None, typer.Argument(help="The text; several arguments are several texts.")] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="A file whose lines are texts; - is standard input.")
    ] = None,
    whole: Annotated[bool, typer.Option("--whole", help="The file is one text, not one text a line.")] = False,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="A model folder, or an address such as models:/demo@champion.")
    ] = None,
    k: Annotated[int, typer.Option("-k", help="How many tags.", min=1)] = 5,
    label: Annotated[
        bool,
        typer.Option(
            "--label", help="As many tags as fit: those above the model's thresholds, or more likely than not."
        ),
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="For each tag, the words that pushed it up or down, and how surely.")
    ] = False,
    words: Annotated[int, typer.Option("--words", help="How many words --explain shows.", min=1)] = 8,
    home: HomeOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a text.")] = False,
) -> None:
    """Suggest tags, with the probability that each is right. Without a text, reads standard input.

    `--explain` shows, for every tag, what each word of the text did to its score: a push up or down, and ± one
    standard deviation of it where the model knows how sure it is. "(always)" is what the tag gets from any text.
    """
    from infra.cli.explanation import cannot_explain, explanation_data, show_explanation

    texts = _texts(text, file, whole)
    tagger = load_tagger(model, home)
    console = Console(as_json)
    able = hasattr(tagger.model, "explain")
    if explain and not able:
        console.say(cannot_explain(tagger))
    for given, suggestions in zip(texts, tagger.label(texts) if label else tagger.suggest(texts, k), strict=True):
        known = tagger.known_words(given)
        why = {s.tag: tagger.explain(given, s.tag) for s in suggestions} if explain and able else {}
        if as_json:
            tags = [
                {"tag": s.tag, "score": round(s.score, 6)} | explanation_data(why.get(s.tag), words)
                for s in suggestions
            ]
            print(_line({"tags": tags, "known_words": known}))
            continue
        if known == 0:
            console.say("no word of this text is known: these are what the model falls back on")
        print("\t".join(f"{s.tag} {s.score:.3f}" for s in suggestions))
        if why:
            show_explanation(why, words)


def load_tagger(model: str | None, home: Path | None) -> "Tagger":
    """From a folder, a registry address, or the one champion of the state folder's registry."""
    from tagcore.tagger import Tagger

    if model is not None and not model.startswith("models:/"):
        return Tagger.load(model)
    from tasks.registry.client import champions
    from tasks.workspace import open_workspace

    registry = open_workspace(home=home).registry
    if model is None:
        names = champions(registry)
        if len(names) != 1:
            which = ", ".join(f"models:/{name}@champion" for name in names)
            raise ValueError(
                f"say which model with --model: {which}" if names else "no model is in service yet: `tagflow run`"
            )
        model = f"models:/{names[0]}@champion"
    return Tagger.load(registry.fetch(model))


def _texts(given: list[str] | None, file: Path | None, whole: bool) -> list[str]:
    if given and file:
        raise ValueError("give a text or --file, not both")
    if given:
        return given
    if file is None and sys.stdin.isatty():
        raise ValueError("no text: give one as an argument, with --file, or on standard input")
    name = str(file or "-")
    with nullcontext(sys.stdin.buffer) if name == "-" else open(name, "rb") as source:
        content = source.read(LONGEST + 1)
    if len(content) > LONGEST:
        raise ValueError(f"{name}: longer than {LONGEST:,} bytes")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: not UTF-8 at byte {error.start}") from error
    lines = text.split("\n")  # splitlines also cuts at form feeds and the like
    texts = [text] if whole else [line for line in lines if line.strip()]
    if not texts or not text.strip():
        raise ValueError(f"{name}: holds no text")
    return texts


def _line(plain: dict) -> str:
    import json

    return json.dumps(plain, ensure_ascii=False)
