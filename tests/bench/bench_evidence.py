"""Evidence over length scale and amplitude, as Figure 6 of the SGPS paper: the toy set of two rings, 200 rows, one
length scale for all inputs, a grid of 21 × 21 in steps of e^0.3. SGPS has random rows as prototypes and "block"
evidence; the contours are of the two inputs that matter. The paper's optima (length scale 1.38 and amplitude 3.13 of
the full model, 1.15 and 4.05 of SGPS with 25 prototypes) are told of all ten inputs.
"""

from pathlib import Path
from typing import Any

import numpy as np

from tagcore.baselines.gaussian_process.laplace import find_mode
from tagcore.baselines.gaussian_process.model import covariance_matrix
from tagcore.baselines.gaussian_process.rows import one_hot, stratified
from tagcore.baselines.gaussian_process.search import Scales
from tagcore.models.sgps.rows import LabelledMatrix, Layout
from tagcore.models.sgps.search import GRID, Problem, sweep
from tagcore.synthetic.rings import rings

PICTURE = Path(__file__).parents[2] / "docs" / "results" / "pictures" / "evidence.png"
ROWS = 200
_surfaces: dict[str, np.ndarray] = {}  # of the last run: evidence, length scales × amplitudes


def run(data: Path | None) -> list[dict[str, Any]]:
    """The highest evidence of every model, and where it is."""
    X, y = rings(ROWS, seed=7)
    rows = []
    for inputs in (2, 10):
        surfaces = {f"SGPS, {m} prototypes": _sgps(X[:, :inputs], y, m) for m in (25, 50)}
        surfaces["GPLA"] = _gpla(X[:, :inputs], y)
        for model, surface in surfaces.items():
            at = np.unravel_index(np.argmax(surface), surface.shape)
            best = {"length scale": float(np.exp(GRID[at[0]])), "amplitude": float(np.exp(GRID[at[1]]))}
            told = {"log evidence": f"{surface[at]:.1f}", "of explaining nothing": f"{-ROWS * np.log(3):.1f}"}
            rows.append({"inputs": inputs, "model": model, **best, **told})
            if inputs == 2:
                _surfaces[model] = surface
    return rows


def draw(rows: list[dict[str, Any]]) -> Path:
    """Contours of the last run."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2 * len(_surfaces), 3.8), layout="constrained")
    for axes, (model, surface) in zip(figure.subplots(1, len(_surfaces), sharey=True), _surfaces.items(), strict=True):
        levels = surface.max() - np.array([200, 150, 100, 75, 50, 35, 20, 10, 5, 2])
        lines = axes.contour(GRID, GRID, surface.T, levels=levels)
        axes.clabel(lines, fmt="%.0f", fontsize=7)
        at = np.unravel_index(np.argmax(surface), surface.shape)
        axes.plot(GRID[at[0]], GRID[at[1]], "k+")
        axes.set(title=model, xlabel="log length scale")
    figure.axes[0].set_ylabel("log amplitude")
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURE, dpi=110)
    return PICTURE


def _sgps(X: np.ndarray, y: np.ndarray, prototypes: int) -> np.ndarray:
    Z = X[stratified(y, prototypes, np.random.RandomState(0))]
    found = sweep(Problem(LabelledMatrix(X, y), Z, Layout(1), "se", "block", 1e-6, 3))
    return found.table[:, 2].reshape(GRID.size, GRID.size)


def _gpla(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    Y = one_hot(y, 3)
    surface = np.empty((GRID.size, GRID.size))
    for i, log_length in enumerate(GRID):
        a = None
        for j, log_amplitude in enumerate(GRID):
            scales = Scales(np.exp([log_length]), float(np.exp(log_amplitude)))
            mode = find_mode(covariance_matrix("se", scales, X), Y, a, tol=1e-3)
            a, surface[i, j] = mode.a, mode.log_evidence
    return surface
