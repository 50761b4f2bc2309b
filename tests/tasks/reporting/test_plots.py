"""Pictures as they are drawn: what fits on a page, what is told apart from zero, which labels stand apart."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from tagcore.metrics.intervals import Estimate
from tagcore.models.topics import Topic
from tasks.reporting import plots
from tasks.reporting.topics import topics_markdown

PAGE = 1700  # pixels


@pytest.fixture
def drawn(monkeypatch):
    """The figures that were saved."""
    figures = []
    monkeypatch.setattr(plots, "_save", lambda figure, path: figures.append(figure) or path)
    return figures


def pixels(figure):
    return figure.get_size_inches() * 150


@pytest.mark.parametrize("models", [2, 12])
def test_a_comparison_by_many_measures_fits_on_a_page(drawn, tmp_path, models):
    measures = [f"macro-F1 (rule {i})" for i in range(14)]
    summaries = {
        f"OneVsRestLinear {'features.ngram_range ' * 9} {i}": dict.fromkeys(measures, Estimate(0.5, 0.4, 0.6))
        for i in range(models)
    }
    plots.compare(summaries, measures, "documents", tmp_path / "comparison.png")
    (figure,) = drawn
    assert len(figure.axes) == 14
    assert pixels(figure)[0] < PAGE
    assert [axes.get_title() for axes in figure.axes] == measures


def test_what_was_not_measured_does_not_look_like_zero(drawn, tmp_path):
    summaries = {"BOMC": {"P@1": Estimate(0.0), "F (sampled)": Estimate(0.3, 0.2, 0.4)}, "KNN": {"P@1": Estimate(0.4)}}
    plots.compare(summaries, ["P@1", "F (sampled)"], "documents", tmp_path / "comparison.png")
    (figure,) = drawn
    told = [[(text.get_text(), text.get_position()[1]) for text in axes.texts] for axes in figure.axes]
    assert told == [[], [("not measured", 1)]]
    points = [[float(line.get_xdata()[0]) for line in axes.lines] for axes in figure.axes]
    assert points == [[0.0, 0.4], [0.3]]


def test_errors_above_one_are_inside_of_the_picture(drawn, tmp_path):
    plots.compare({"ItemMean": {"RMSE": Estimate(1.4, 1.3, 1.6)}}, ["RMSE"], "ratings", tmp_path / "comparison.png")
    assert drawn[0].axes[0].get_xlim()[1] > 1.6


@pytest.mark.parametrize("most", [9, 150, 800, 20_000, 300_000])
def test_labels_of_tags_do_not_collide(most):
    counts = np.unique(np.geomspace(1, most, 60).astype(int))
    table = pa.table({"train_count": counts, "f1": counts / most, "test_count": np.ones(len(counts), int)})
    figure, axes = plots._figure()
    plots.tag_quality(SimpleNamespace(per_tag=table), axes)
    FigureCanvasAgg(figure).draw()
    labels = [
        label.get_window_extent()
        for label in axes.get_xticklabels()
        if axes.get_xlim()[0] <= label.get_position()[0] <= axes.get_xlim()[1]
    ]
    assert len(labels) >= 2
    assert all(left.x1 < right.x0 for left, right in pairwise(labels))


def test_tags_without_a_share_are_no_part_of_a_topic(drawn, tmp_path):
    topics = [
        Topic(0, 0.6, ("car", "road", "never"), (0.9, 0.006, 0.004)),
        Topic(1, 0.4, ("all", "alike"), (1e-3, 1e-3)),
    ]
    plots.draw_topics(topics, tmp_path / "topics.png")
    assert [label.get_text() for label in drawn[0].axes[0].get_yticklabels()] == ["car, road", "all"]
    assert "| 0.6 | car 0.90, road 0.01 |" in topics_markdown(topics)


def test_a_tree_of_splits_has_a_line_for_every_topic_and_says_what_it_leaves_out(tmp_path, monkeypatch):
    from tagcore.graph.clusters import SplitRecord, split_tree
    from tasks.reporting.tree import draw_splits

    figures = []
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda figure, *_, **__: figures.append(figure))
    sizes = {0: 1000}
    records = []
    for child in range(1, 40):
        parent = max(sizes, key=lambda c: sizes[c])
        half = sizes[parent] // 2
        sizes[parent], sizes[child] = sizes[parent] - half, half
        records.append(SplitRecord(parent, child, (sizes[parent], half), 0.5 + child / 100, 0.9))
    topics = [Topic(c, 0.1, (f"tag {c}", "$x"), (0.5, 0.2), documents=n) for c, n in sizes.items()]
    draw_splits(split_tree(records), 39, topics, tmp_path / "splits.png")
    draw_splits(split_tree(records), 299, topics, tmp_path / "splits.png")
    whole, upper = (figure.axes[0] for figure in figures)
    labels = [text.get_text() for text in whole.texts]
    assert sum("tag" in label for label in labels) == 40
    assert sum(label.startswith("0.") for label in labels) == 39
    assert f"{sizes[7]:,} · tag 7, \\$x" in labels
    assert "of 299 splits" not in whole.get_title(loc="left")
    assert "the first 39 of 299 splits" in upper.get_title(loc="left")


def test_published_figures_are_stars_beside_our_lines(tmp_path, monkeypatch):
    from tasks.reporting import figures

    saved = []
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda figure, *_, **__: saved.append(figure))
    curve = {
        "k": list(range(1, 11)),
        **{c: np.linspace(0.5, 0.9, 10) for c in ("accuracy", "exact", "precision", "tag_recall")},
    }
    published = {"PMM": {"acc@1": 0.6, "acc@9": 0.9, "P@1": 0.6, "tag recall@1": 0.1}, "VS": {"exact@1": 0.4}}
    figures._draw_quality({"ours": curve}, published, tmp_path / "figures.png")
    top, exact, recall = saved[0].axes
    assert [list(line.get_xdata()) for line in top.lines] == [list(range(1, 10)), [1, 9]]
    assert [list(line.get_ydata()) for line in exact.lines[1:]] == [[0.4]]
    assert all(axes.get_xlim()[0] < 1 < 9 < axes.get_xlim()[1] for axes in (top, exact))
    assert [list(line.get_xdata()) for line in recall.lines[1:]] == [[0.1], []]


def test_companions_are_shares_of_the_documents_with_the_tag():
    import scipy.sparse as sp

    from tasks.reporting.figures import _companion_shares

    tags = sp.csr_matrix([[1, 1, 0], [1, 0, 0], [0, 1, 1], [1, 1, 1]])
    assert _companion_shares(tags, 0).tolist() == [0.0, 2 / 3, 1 / 3]


def test_what_spans_magnitudes_is_drawn_on_a_logarithmic_axis(drawn, tmp_path):
    shares = (0.1, 0.9)
    curves = {
        "P@1": {"slow": dict.fromkeys(shares, Estimate(0.2)), "quick": dict.fromkeys(shares, Estimate(0.7))},
        "µs p50": {"slow": dict.fromkeys(shares, Estimate(9000.0)), "quick": dict.fromkeys(shares, Estimate(15.0))},
        "regret": {"slow": dict.fromkeys(shares, Estimate(0.0)), "quick": dict.fromkeys(shares, Estimate(50.0))},
    }
    plots.against_setting(curves, "split.test", tmp_path / "curves.png")
    assert [axes.get_yscale() for axes in drawn[0].axes] == ["linear", "log", "linear"]
    plots.against_setting(
        {"P@1": {"a": {100.0: Estimate(0.1), 2000.0: Estimate(0.2)}}}, "documents", tmp_path / "c.png"
    )
    assert drawn[1].axes[0].get_xscale() == "log"
