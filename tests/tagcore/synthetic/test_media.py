"""Planted items: each from its number alone, and fields that say as much of them as was planted."""

import numpy as np
import pytest

from tagcore.baselines import KNN
from tagcore.corpus import Corpus
from tagcore.features.build import make_features
from tagcore.features.split import Split
from tagcore.metrics.held_out import held_out_values
from tagcore.store.datasets import Dataset
from tagcore.synthetic.corpus import PlantedCorpus, demo_corpus
from tagcore.synthetic.media import PLANTED_FIELDS, PlantedMedia, demo_media
from tagcore.tagger import Tagger
from tagcore.text import Vectoriser
from tests.problems import stored_side

ITEMS = 700


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> Dataset:
    folder = tmp_path_factory.mktemp("media") / "corpus"
    media = demo_media(ITEMS)
    (block,) = media.blocks(rows=ITEMS)
    Corpus(block.documents, block.taggings, list(media.tags), fields=block.fields).save(folder, rows_per_group=100)
    return Dataset.open(folder, "corpus")


def fields_by_item(blocks) -> list[list[tuple[str, str]]]:
    return [fields for block in blocks for fields in block.fields["fields"].to_pylist()]


def test_an_item_follows_from_its_number_alone():
    whole, parts = fields_by_item(demo_media(90).blocks(90)), fields_by_item(demo_media(120).blocks(7))
    assert parts[:90] == whole
    assert fields_by_item(demo_media(90, seed=1).blocks(90)) != whole
    assert demo_media(90).fingerprint() != demo_media(91).fingerprint()


def test_items_are_the_documents_without_their_texts():
    (media,), (text,) = demo_media(50).blocks(50), demo_corpus(50).blocks(50)
    assert media.taggings.equals(text.taggings)
    assert media.documents["title"].equals(text.documents["title"])
    assert media.documents["text"].null_count == 50


def test_fields_hold_as_many_words_as_planted_and_none_is_empty():
    media = PlantedMedia(PlantedCorpus(2000, seed=3))
    (block,) = media.blocks(2000)
    items = [dict(fields) for fields in block.fields["fields"].to_pylist()]
    for name, planted in PLANTED_FIELDS.items():
        words = [len(item.get(name, "").split()) for item in items]
        assert np.mean(words) == pytest.approx(planted.words, rel=0.1)
        assert all(text for item in items for text in item.values())
    assert any(set(item) != set(PLANTED_FIELDS) for item in items)
    with pytest.raises(ValueError, match="counted words"):
        PlantedMedia(PlantedCorpus(10, counted=True))


def test_weights_that_follow_what_fields_say_give_better_tags(stored, tmp_path):
    """the share of words that say something, against all words alike; measured as champions are, as a stored tagger."""
    equal = quality(stored, tmp_path / "equal", dict.fromkeys(PLANTED_FIELDS, 1.0))
    told = {name: 1 - field.noise for name, field in PLANTED_FIELDS.items()}
    assert quality(stored, tmp_path / "told", told) > equal + 0.02


def quality(stored: Dataset, folder, fields: dict[str, float]) -> float:
    vectoriser, split = Vectoriser(fields=fields), Split(test=0.3)
    make_features(stored, folder / "features", vectoriser, split, parameters={"split": vars(split)})
    features = Dataset.open(folder / "features", "features")
    X, Y = stored_side(features, "train")
    tagger = Tagger(vectoriser, KNN().fit(X, Y), features.names("tags"))
    tagger.save(folder / "tagger")
    return float(held_out_values(Tagger.load(folder / "tagger"), stored, features, "nDCG@5").mean())
