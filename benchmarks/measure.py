"""Timing side by side: every candidate in turn, round after round, the best round counts.

Interleaving lets a busy moment of the machine hit all candidates alike, and the minimum is the time without
the rest of the world. `measure` returns seconds per call; `table` prints rows with ratios to the first.
"""

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds per call: the best round, and how much slower the median round was (1.0 = not at all)."""

    best: float
    spread: float
    rounds: int


def measure(candidates: Mapping[str, Callable[[], object]], seconds: float = 1.0) -> dict[str, Timing]:
    """Time the candidates interleaved for about `seconds` in all; fast ones are called many times a round."""
    calls = {name: _calls_per_round(function) for name, function in candidates.items()}
    rounds: dict[str, list[float]] = {name: [] for name in candidates}
    enabled = gc.isenabled()
    gc.disable()
    try:
        end = perf_counter() + seconds
        while perf_counter() < end or len(next(iter(rounds.values()))) < 3:
            for name, function in candidates.items():
                repeat = range(calls[name])
                start = perf_counter()
                for _ in repeat:
                    function()
                rounds[name].append((perf_counter() - start) / calls[name])
    finally:
        if enabled:
            gc.enable()
    return {name: _timing(times) for name, times in rounds.items()}


def table(title: str, timings: Mapping[str, Timing], unit: int = 1) -> str:
    """Rows of name, time, time for each of `unit` items, ratio to the first row, spread."""
    first = next(iter(timings.values())).best
    lines = [f"{title}"]
    for name, timing in timings.items():
        each = f"{timing.best / unit * 1e9:10.1f} ns each" if unit > 1 else ""
        ratio = f"x{timing.best / first:<8.3f} spread {timing.spread:.2f}"
        lines.append(f"  {name:<44}{timing.best * 1e6:12.1f} µs{each}  {ratio}")
    return "\n".join(lines)


def _calls_per_round(function: Callable[[], object], round_s: float = 2e-3) -> int:
    function()  # whatever the first call compiles or allocates
    start = perf_counter()
    function()
    return max(1, int(round_s / max(perf_counter() - start, 1e-7)))


def _timing(times: list[float]) -> Timing:
    ordered = sorted(times)
    return Timing(ordered[0], ordered[len(ordered) // 2] / ordered[0], len(ordered))
