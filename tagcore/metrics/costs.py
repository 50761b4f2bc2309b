"""What a model costs beside its quality."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Costs:
    """Processor time, size and memory of one model; a number that is not known is NaN."""

    train_cpu_seconds: float
    microseconds: float  # of processor time for a document, where many are tagged at once
    megabytes: float  # of the stored model, without its vectoriser
    working_mebibytes: float  # the most memory while it was trained, above that before
