"""Why a tag was suggested, for people and for machines."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from tagcore.models.blend.estimator import Voice
    from tagcore.scoring.explanation import NamedTopic, WordPush
    from tagcore.tagger import Tagger

ALWAYS = "(always)"  # the part of a score that no word has


def one_line(name: str) -> str:
    """A tag or an id as a line can hold it: line ends and other characters that do not print are escaped.

    >>> one_line("rock & roll\\n(live)")
    'rock & roll\\\\n(live)'
    """
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def cannot_explain(tagger: "Tagger") -> str:
    """One line that says so, and which models can."""
    from tagcore.base import registered_models

    able = ", ".join(sorted(name for name, known in registered_models().items() if hasattr(known, "explain")))
    return f"{type(tagger.model).__name__} cannot explain its suggestions; these models can: {able}"


def show_explanation(
    why: dict[str, list["WordPush"] | None],
    most: int,
    topic: "NamedTopic | None" = None,
    voices: "Mapping[str, list[Voice]]" = MappingProxyType({}),
) -> None:
    """A table for the topic and for every tag, with one line for all the words that did little, and the members'."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    if topic is not None:
        console.print(
            Text(_topic_title(topic), style="bold"), soft_wrap=True
        )  # a title would be as narrow as its table
        console.print(_table("", topic.words, most))
    for tag, pushes in why.items():
        console.print(_table(f"why {one_line(tag)}", pushes or [], most))
        for voice in voices.get(tag, ()):
            said = f"{voice.member}: place {voice.place}, score {voice.score:.3f}, probability {voice.probability:.3f}"
            console.print(Text(f"  {said}"), soft_wrap=True)


def _topic_title(topic: "NamedTopic") -> str:
    about = f"topic {topic.topic} ({', '.join(map(one_line, topic.tags))}), probability {topic.probability:.3f}"
    return about if topic.runner_up is None else f"{about}, against topic {topic.runner_up}"


def _table(title: str, pushes: list["WordPush"], most: int) -> "Table":
    from rich.table import Table
    from rich.text import Text  # a plain string would be read as markup: tags may hold brackets

    words, rest = _strongest(pushes, most)
    sure = any(push.spread is not None for push in words)
    table = Table(title=Text(title) if title else None, title_justify="left", title_style="bold")
    table.add_column("word", overflow="fold")
    table.add_column("push", justify="right")
    if sure:
        table.add_column("±", justify="right")
    rows = [(w.word, w.push, "" if w.spread is None else f"{w.spread:.3f}") for w in words]
    rows += [(f"({len(rest)} more)", sum(w.push for w in rest), "")] if rest else []
    rows += [(f"({w.fallback})" if w.fallback else ALWAYS, w.push, "") for w in pushes if w.word is None]
    for word, push, spread in rows:
        table.add_row(Text(one_line(word or ALWAYS)), f"{push:+.3f}", *([spread] if sure else []))
    return table


def explanation_data(pushes: list["WordPush"] | None, most: int) -> dict[str, Any]:
    """What --json adds to a tag; nothing where nothing was asked for or the model cannot tell."""
    if pushes is None:
        return {}
    words, rest = _strongest(pushes, most)
    bias = pushes[-1]
    plain = {
        "words": [{"word": word.word, "push": word.push, "spread": word.spread} for word in words],
        "other_words": sum((word.push for word in rest), start=0.0),
        "bias": bias.push if math.isfinite(bias.push) else None,
    }
    return plain | ({"fallback": bias.fallback} if bias.fallback else {})


def topic_data(topic: "NamedTopic", most: int) -> dict[str, Any]:
    """What --json says of the topic of a text."""
    about = {"number": topic.topic, "probability": topic.probability, "runner_up": topic.runner_up, "tags": topic.tags}
    return about | explanation_data(topic.words, most)


def _strongest(pushes: list["WordPush"], most: int) -> tuple[list["WordPush"], list["WordPush"]]:
    """(words to show, the rest). Words that did nothing are neither."""
    words = [push for push in pushes if push.word is not None and push.push != 0]
    return words[:most], words[most:]
