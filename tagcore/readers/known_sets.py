"""Known data sets by name, of documents and of ratings: found in a folder, their bytes compared with their card."""

from pathlib import Path

from tagcore.readers.bad_rows import ReadError
from tagcore.readers.cards import Card, known_cards
from tagcore.readers.ratings.cards import RatingCard, rating_cards


def is_known(name: str) -> bool:
    """Whether there is a card of this name."""
    return name in _cards()


def card_named(name: str) -> Card | RatingCard:
    """The card of a known data set; ReadError where there is none of this name."""
    cards = _cards()
    if name not in cards:
        raise ReadError(f"no known data set {name!r}; there are {', '.join(cards)}")
    return cards[name]


def find_set(name: str, place: Path | str) -> str:
    """Finds a known set in a folder or file and compares its bytes; gives it as a source, FOLDER:NAME where need be."""
    card, place = card_named(name), Path(place)
    if card.find(place) is None:
        wanted = ", ".join(card.files)
        raise ReadError(f"{place}: does not hold {name}, expected {wanted}, plain or as .gz.{where_to_get(name)}")
    card.verify(place)
    return f"{place}:{name}" if place.is_dir() and isinstance(card, Card) else str(place)


def where_to_get(name: str) -> str:
    """Tells where a known set can be had, and its terms, as a sentence to be put after another."""
    card = card_named(name)
    return f" It can be had from {card.where} ({card.terms})." if card.where else f" Its terms: {card.terms}."


def _cards() -> dict[str, Card | RatingCard]:
    known: list[Card | RatingCard] = [*known_cards(), *rating_cards()]
    return {card.name: card for card in known}
