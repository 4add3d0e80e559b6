"""Costs as sums of non-negative terms, fitted to measured times: for scaling_model.py."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

Point = tuple[tuple[float, ...], float]


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds as a sum of terms; `names` say what each coefficient (s) is for."""

    what: str
    names: tuple[str, ...]
    coefficients: tuple[float, ...]
    fit_error: float  # the largest relative error of the points that were fitted
    held_error: float  # of the one that was not

    def __call__(self, *terms: float) -> float:
        return float(np.dot(self.coefficients, (1.0, *terms)))


def fit(what: str, names: Sequence[str], points: Sequence[Point], held: Point) -> Cost:
    """Non-negative coefficients of 1 and the terms, least squares of relative errors."""
    terms = np.array([(1.0, *inputs) for inputs, _ in points])
    times = np.array([seconds for _, seconds in points])
    coefficients = nnls(terms / times[:, None], np.ones(len(times)))[0]
    errors = np.abs(terms @ coefficients / times - 1.0)
    predicted = float(np.dot(coefficients, (1.0, *held[0])))
    return Cost(
        what,
        ("each time", *names),
        tuple(coefficients.tolist()),
        float(errors.max()),
        predicted / held[1] - 1.0,
    )


def best(function: Callable[[], object], seconds: float = 0.6) -> float:
    """The shortest of many calls."""
    function()
    shortest, end = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end or shortest == np.inf:
        begin = time.perf_counter()
        function()
        shortest = min(shortest, time.perf_counter() - begin)
    return float(shortest)
