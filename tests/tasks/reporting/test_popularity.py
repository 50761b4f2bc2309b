"""Reports of popular against rare tags."""

import numpy as np

from tasks.reporting.popularity import found_by_popularity
from tasks.reporting.report import _compare
from tests.tasks.reporting.test_summary import TRUTH, measured


def rankings(seeds=2):
    """Of `common` the most frequent tags of training come first, of `rare` the others."""
    order = np.arange(6.0)
    return {"common": order, "rare": -order}, range(seeds)


def entries(folder):
    kinds, seeds = rankings()
    return [
        measured(folder, label, seed, 0, np.tile(scores, (30, 1))) for seed in seeds for label, scores in kinds.items()
    ]


def test_a_share_is_of_the_documents_that_have_a_tag(tmp_path):
    """Of six tags five are suggested: the rarest one is missed by `common`, the most frequent one by `rare`."""
    table, groups = found_by_popularity(entries(tmp_path))
    assert [(g.name, g.tags, g.lowest, g.highest) for g in groups] == [
        ("head", 2, 5, 6),
        ("torso", 1, 4, 4),
        ("tail", 3, 1, 3),
    ]
    assert TRUTH.sum(axis=0).all()
    np.testing.assert_allclose(table["common"], [1.0, 1.0, 2 / 3])
    np.testing.assert_allclose(table["rare"], [0.5, 1.0, 1.0])


def test_a_report_has_popularity_where_it_is_asked_for(tmp_path):
    found = entries(tmp_path)
    made, files = _compare("t", found, "P@1", tmp_path / "with", "key", by_popularity=True)
    assert "| head (2 tags on 5 to 6 documents) |" in made.markdown()
    assert "| common | 1.000 | 1.000 | 0.667 |" in made.markdown()
    assert made.pictures == ["popularity.png"]
    assert tmp_path / "with" / "popularity.png" in files
    plain, _ = _compare("t", found, "P@1", tmp_path / "without", "key")
    assert "head" not in plain.markdown()
