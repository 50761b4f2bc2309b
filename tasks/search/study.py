"""A study: trials of one model's settings, chosen one after the other by Optuna, or all of a grid at once.

What trial n tries depends on the seed, on n and on the trials before it alone, so a study that was killed goes on as if
it had not been: trials are written down when they end, and the one that did not end is made again.
"""

import hashlib
import json
import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagcore.store.files import write_text
from tasks.search.space import Space, distributions_of, from_optuna, grid_points, holds_point, to_optuna

if TYPE_CHECKING:
    import optuna

RECORD = "trials.json"
RANDOM_FIRST = 8  # trials that are drawn at random before the sampler makes use of them
PRUNE_FROM = 4  # whole trials before one that is below their median is given up


@dataclass
class Trial:
    """One point and what it was worth, more is better: after every share of the rows, as far as it got; nothing where
    its features were nothing for the model."""

    number: int
    point: dict[str, Any]
    values: list[float] = field(default_factory=list)
    pruned: bool = False

    @property
    def value(self) -> float:
        """The latest value, of the most rows."""
        return self.values[-1]


class Study:
    """Trials of a space; `sampler` is "grid", "random" or "tpe", and `shares` the growing shares of the rows.

    `start` is the point of the first trial, if the space holds it: what the search has to beat.
    """

    def __init__(
        self,
        space: Space,
        sampler: str = "tpe",
        n_trials: int = 30,
        shares: tuple[float, ...] = (1.0,),
        seed: int = 0,
        folder: Path | None = None,
        start: Mapping[str, Any] | None = None,
    ) -> None:
        self.space, self.sampler, self.n_trials, self.seed, self.folder = space, sampler, n_trials, seed, folder
        self.shares = (1.0,) if sampler == "grid" else shares
        self.start = dict(start) if start is not None and holds_point(space, start) else None
        self.trials: list[Trial] = [] if folder is None else _read(folder / RECORD)

    def ask(self) -> list[Trial]:
        """Gives the trials to be made next, none where the study is at its end."""
        number = len(self.trials)
        if self.sampler == "grid":
            return [] if number else [Trial(n, point) for n, point in enumerate(grid_points(self.space))]
        if number >= self.n_trials:
            return []
        if number == 0 and self.start is not None:
            return [Trial(0, self.start)]
        asked = self._optuna(number).ask(distributions_of(self.space))
        return [Trial(number, from_optuna(self.space, asked.params))]

    def goes_on(self, trial: Trial, value: float | None) -> bool:
        """Notes what a trial was worth after its next share, or that it was left out; whether it is worth another."""
        if value is None:
            trial.pruned = True
            return False
        trial.values.append(value)
        if len(trial.values) == len(self.shares):
            return False
        whole = [other.values[len(trial.values) - 1] for other in self.whole_trials]
        trial.pruned = len(whole) >= PRUNE_FROM and value < statistics.median(whole)
        return not trial.pruned

    def end(self, trial: Trial) -> None:
        """Keeps a trial that is whole, or pruned."""
        self.trials.append(trial)
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_text(self.folder / RECORD, json.dumps([asdict(one) for one in self.trials], indent=1))

    @property
    def whole_trials(self) -> list[Trial]:
        """Those that learnt from all rows."""
        return [trial for trial in self.trials if not trial.pruned]

    @property
    def best(self) -> Trial | None:
        """The whole trial of most value, the first of equal ones; None before there is one."""
        return max(self.whole_trials, key=lambda trial: trial.value, default=None)

    def importances(self) -> dict[str, float]:
        """Gives the share of the differences in value that each setting is to blame for (fANOVA), largest first."""
        from optuna.importance import FanovaImportanceEvaluator, get_param_importances

        values = {trial.value for trial in self.whole_trials}
        if len(self.whole_trials) < 3 or len(values) < 2:
            return {}
        evaluator = FanovaImportanceEvaluator(n_trees=32, seed=self.seed)
        shares = get_param_importances(self._optuna(len(self.trials)), evaluator=evaluator)
        return {name: float(share) for name, share in shares.items()}

    def _optuna(self, number: int) -> "optuna.Study":
        """Optuna's study of the trials so far, whose next is `number`."""
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        seed = int.from_bytes(hashlib.sha256(f"{self.seed} {number}".encode()).digest()[:4], "big")
        samplers = optuna.samplers
        if self.sampler == "tpe":
            sampler: optuna.samplers.BaseSampler = samplers.TPESampler(n_startup_trials=RANDOM_FIRST, seed=seed)
        else:
            sampler = samplers.RandomSampler(seed=seed)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        distributions = distributions_of(self.space)
        for trial in self.trials:
            study.add_trial(
                optuna.trial.create_trial(
                    params=to_optuna(self.space, trial.point),
                    distributions=distributions,
                    intermediate_values=dict(enumerate(trial.values)),
                    value=trial.value if trial.values else None,
                    state=optuna.trial.TrialState.PRUNED if trial.pruned else optuna.trial.TrialState.COMPLETE,
                )
            )
        return study


def _read(path: Path) -> list[Trial]:
    """The trials that were written down; ValueError where the file is none of ours."""
    if not path.is_file():
        return []
    try:
        return [Trial(**one) for one in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"{path}: no list of trials ({error}); remove it to begin the study anew") from None
