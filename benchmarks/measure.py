"""Timing side by side: every candidate in turn, round after round, the best round counts.

Interleaving lets a busy moment of the machine hit all candidates alike, and the minimum is the time without
the rest of the world. `measure` returns seconds per call; `table` prints rows with ratios to the first. A `Row` is a
line of the table that `run.py` makes of all of them.

The clock is the wall's unless a caller passes `thread_time`: the processor time of this thread, which is the same
where nothing waits and does not count the turns of other programs.
"""

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds per call: the best round, and how much slower the median round was (1.0 = not at all)."""

    best: float
    spread: float
    rounds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A piece of work, what it takes us, and what it takes somebody else; times in seconds.

    `ours` is None when it was not measured, `peer_s` None when the peer is not installed. The limit is what no program
    on this machine can be expected to beat (the same loop in C, a copy of the bytes, the bare calls inside).
    """

    work: str
    ours: float | None
    peer: str = ""
    peer_s: float | None = None
    limit: str = ""
    limit_s: float | None = None
    goal: str = ""
    spread: float = 1.0
    unit: str = "s"

    @property
    def ratio(self) -> float | None:
        """Ours by the peer's."""
        return self.ours / self.peer_s if self.ours is not None and self.peer_s else None

    @property
    def limit_ratio(self) -> float | None:
        """Ours by the limit."""
        return self.ours / self.limit_s if self.ours is not None and self.limit_s else None


def measure(
    candidates: Mapping[str, Callable[[], object]],
    seconds: float = 1.0,
    clock: Callable[[], float] = perf_counter,
    prepare: Mapping[str, Callable[[], object]] = MappingProxyType({}),
) -> dict[str, Timing]:
    """Time the candidates interleaved for about `seconds` in all; fast ones are called many times a round.

    What `prepare` has for a candidate is called before each of its rounds, which then are single calls.
    """
    calls = {
        name: 1 if name in prepare else _calls_per_round(function) for name, function in candidates.items()
    }
    rounds: dict[str, list[float]] = {name: [] for name in candidates}
    enabled = gc.isenabled()
    gc.disable()
    try:
        end = perf_counter() + seconds
        while perf_counter() < end or len(next(iter(rounds.values()))) < 3:
            for name, function in candidates.items():
                repeat = range(calls[name])
                if name in prepare:
                    prepare[name]()
                start = clock()
                for _ in repeat:
                    function()
                rounds[name].append((clock() - start) / calls[name])
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
