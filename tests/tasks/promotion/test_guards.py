"""Guards on real taggers of small corpora whose faults are planted."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tagcore.metrics.held_out import held_out_suggestions
from tagcore.store.datasets import Dataset
from tagcore.tagger import Tagger
from tasks.data_settings import DataSettings
from tasks.evaluate import EvaluatedModel
from tasks.feature_settings import FeatureSettings
from tasks.features import features
from tasks.ingest import ingest
from tasks.promotion.contest import Champion, hold_contest
from tasks.promotion.tagger_guards import Evidence, new_abilities, tagger_guards
from tasks.recipe_settings import GuardSettings, ModelSettings, PromotionSettings, SplitSettings
from tasks.train import train
from tests.workspaces import workspace_at

THEMES = {"bread": "flour yeast dough oven", "bike": "pedal chain tyre wheel", "garden": "soil seed spade rose"}


def documents(n, themes=THEMES, first=0):
    """(id, text, tags): a few words of one theme each, the same for the same id."""
    made = []
    names = list(themes)
    for number in range(first, first + n):
        rng = np.random.default_rng(number)
        theme = names[number % len(names)]
        words = rng.choice(themes[theme].split(), 6).tolist()
        made.append((f"d{number}", " ".join([*words, f"w{number}"]), [theme]))
    return made


@pytest.fixture(scope="module")
def night(tmp_path_factory):
    """Reads and learns a night's documents: (corpus, features, evaluated model), all stored."""
    workspace = workspace_at(tmp_path_factory.mktemp("nights"))
    folder = tmp_path_factory.mktemp("sources")

    def learn(name, made, model="KNN"):
        path = folder / f"{name}.jsonl"
        lines = (json.dumps({"id": i, "text": text, "tags": tags}) for i, text, tags in made)
        path.write_text("\n".join(lines) + "\n")
        corpus = ingest.fn(DataSettings(source=str(path)), workspace).result()
        rows = features.fn(corpus, FeatureSettings(), SplitSettings(test=0.3), workspace).result()
        stored = train.fn(rows, ModelSettings(model=model, calibrate=None), 0, workspace).result()
        return corpus, rows, EvaluatedModel(model, stored, stored, rows)

    return learn


def guards_of(tonight, before=None, **settings):
    corpus, _, challenger = tonight
    champion = None if before is None else Champion(before[2].model, before[0])
    contest = hold_contest(challenger, champion, corpus, "P@1", PromotionSettings(guards=GuardSettings(**settings)))
    return {guard.name: guard for guard in contest.guards}, contest


@pytest.fixture(scope="module")
def first(night):
    return night("first", documents(300))


def test_a_growing_corpus_passes_every_guard(night, first):
    guards, contest = guards_of(night("grown", documents(420)), first)
    assert [guard.told for guard in guards.values() if not guard.passed] == []
    assert set(guards) == {
        "data", "documents", "leak", "drift of tags", "drift of words", "older documents", "newest documents",
        "tags that fell", "silent tags", "size", "latency",
    }  # fmt: skip
    assert contest.able == ""
    assert contest.floor.mean() < 0.5 < contest.ours.mean()


def test_the_first_model_is_asked_what_needs_no_champion(first):
    guards, contest = guards_of(first)
    assert set(guards) == {"data", "leak", "size", "latency"}
    assert contest.theirs is None


def test_too_little_is_refused(night, first):
    guards, _ = guards_of(night("half", documents(120)), first)
    assert not guards["documents"].passed
    assert guards["documents"].found == "120 documents"
    assert not guards_of(first, min_test=200)[0]["data"].passed
    assert not guards_of(first, max_megabytes=1e-6)[0]["size"].passed
    assert not guards_of(first, max_milliseconds=1e-9)[0]["latency"].passed


def test_copies_of_held_out_texts_are_a_leak(night):
    copied = [(f"{i}-{copy}", text, tags) for i, text, tags in documents(100) for copy in range(3)]
    guards, _ = guards_of(night("copies", copied))
    assert not guards["leak"].passed
    assert guards["leak"].found.startswith("0 documents on both sides")


def test_tags_that_flood_in_have_moved(night, first):
    spam = [(f"s{n}", text, ["spam"]) for n, (_, text, _) in enumerate(documents(250, first=900))]
    guards, _ = guards_of(night("spam", documents(300) + spam), first)
    assert not guards["drift of tags"].passed
    assert float(guards["drift of tags"].found.split("%")[0]) == pytest.approx(100 * 250 / 550, abs=3)
    assert guards["drift of words"].passed


def test_words_that_flood_in_have_moved(night, first):
    foreign = {name: words.replace(" ", "en ") + "en" for name, words in THEMES.items()}
    guards, _ = guards_of(night("foreign", documents(300) + documents(400, foreign, 900)), first)
    assert not guards["drift of words"].passed


def test_tags_that_were_swapped_tonight_are_seen_on_older_documents_and_on_new_ones(night, first):
    others = dict(zip(THEMES, [*list(THEMES)[1:], next(iter(THEMES))], strict=True))
    swapped = [(i, text, [others[tag] for tag in tags]) for i, text, tags in documents(600, first=900)]
    guards, _ = guards_of(night("swapped", documents(300) + swapped), first)
    assert not guards["newest documents"].passed
    assert not guards["older documents"].passed
    assert guards["drift of tags"].passed  # each is as frequent as before


def test_a_tag_that_falls_silent_is_told(night, first):
    without = [(i, text, ["bread" if tag == "bike" else tag for tag in tags]) for i, text, tags in documents(300)]
    _, _, learnt = night("without", without)
    tonight, before = Dataset.open(first[0], "corpus"), Dataset.open(first[1], "features")
    challenger, champion = Tagger.load(learnt.model), Tagger.load(first[2].model)
    ours, theirs = (held_out_suggestions(tagger, tonight, before, 1) for tagger in (challenger, champion))
    evidence = Evidence(tonight, before, "P@1", 0.95, challenger, learnt.model, ours, champion, theirs)
    guards = {guard.name: guard for guard in tagger_guards(evidence, GuardSettings())}
    assert not guards["silent tags"].passed
    assert guards["silent tags"].found == "bike"
    assert not guards["tags that fell"].passed
    assert guards["tags that fell"].found.startswith("1 of 3 frequent tags: bike (-")


def test_new_tags_are_an_ability_where_they_are_found(night, first):
    more = THEMES | {"stars": "orbit comet planet moon"}
    _, contest = guards_of(night("more", documents(420, more)), first)
    assert contest.able == "able to give 1 tags that are new (stars)"
    corpus, _, learnt = night("more", documents(420, more))
    again = hold_contest(learnt, Champion(learnt.model), corpus, "P@1", PromotionSettings())
    assert again.able == ""


def test_leaks_of_documents_are_found(first):
    corpus, rows, challenger = first
    tagger = Tagger.load(challenger.model)
    data, prepared = Dataset.open(corpus, "corpus"), Dataset.open(rows, "features")
    ours = held_out_suggestions(tagger, data, prepared, 1)
    evidence = Evidence(data, prepared, "P@1", 0.95, tagger, challenger.model, ours)
    assert new_abilities(evidence) == ""

    class Leaking(Dataset):
        def blocks(self, table, columns=None):
            return super().blocks("test" if table == "train" and columns == ["document"] else table, columns)

    leaking = Leaking.open(rows, "features")
    guards = {guard.name: guard for guard in tagger_guards(replace(evidence, features=leaking), GuardSettings())}
    assert not guards["leak"].passed
    assert guards["leak"].found.startswith(f"{prepared.counts['test']:,} documents on both sides")
