"""A study as its report tells it."""

from tasks.reporting.studies import studies_section, summarise_study
from tasks.search.space import SearchRange
from tasks.search.study import Study, Trial


def test_trials_that_were_left_out_are_counted_and_not_drawn(tmp_path):
    study = Study({"C": SearchRange(low=0.1, high=10.0), "ngrams": [[1, 1], [1, 2]]}, "tpe", 4, start=None)
    study.trials = [
        Trial(0, {"C": 1.0, "ngrams": [1, 2]}, [], True),
        Trial(1, {"C": 1.0, "ngrams": [1, 1]}, [0.5]),
        Trial(2, {"C": 2.0, "ngrams": [1, 1]}, [0.25], True),
        Trial(3, {"C": 3.0, "ngrams": [1, 1]}, [0.75]),
    ]
    summary = summarise_study("KNN", study, "P@1", tmp_path)
    assert (summary.trials, summary.pruned, summary.left_out, summary.value) == (4, 1, 1, 0.75)
    assert summary.told().endswith("on validation documents, 4 trials, 1 of them given up early, 1 left out")
    assert (tmp_path / summary.picture).stat().st_size > 1000
    assert "<td>KNN</td>" in studies_section([summary], tmp_path).body
