"""What long work says of itself."""

from tasks.progress import ProgressReporter


def test_a_line_says_of_how_many_where_that_is_known():
    assert (
        ProgressReporter("train BMLPL", 3, 1000, {"objective": -12.5}).line
        == "train BMLPL: 3 of 1,000, objective -12.5"
    )


def test_a_line_without_a_total_says_so():
    assert ProgressReporter("read medical", 1978, 0).line == "read medical: 1,978 so far"
