"""When a topic speaks: whole periods of simulated time, counted in integers.

Steps of 30 or 60 Hz are not whole nanoseconds, so no tick may fall exactly where a period ends. The tick
nearest to it counts, and the next period is counted from where this one should have ended: no phase drifts.
"""

from collections import deque
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


def periods_at(time_ns: int, step_ns: int, period_ns: int) -> int:
    """The number of periods ended by this tick, counting an end to which no later tick is nearer."""
    return (2 * time_ns + step_ns) // (2 * period_ns)


def whole_periods(delay_ns: int, period_ns: int) -> int:
    """A delay as a number of periods, rounded up: a message leaves when the topic next speaks."""
    return -(-delay_ns // period_ns)


class Timer:
    """Says at which ticks a topic of a fixed period is due, whole periods after time 0."""

    __slots__ = ("_last", "period_ns")

    def __init__(self, period_ns: int) -> None:
        if period_ns <= 0:
            raise ValueError(f"expected a period above 0 ns, got {period_ns}")
        self.period_ns = period_ns
        self._last: int | None = None

    def due(self, time_ns: int, step_ns: int) -> int | None:
        """The number of the period that this tick ends, or None between two of them."""
        if self._last is None:  # as if the tick before had been seen
            self._last = periods_at(time_ns - step_ns, step_ns, self.period_ns)
        period = periods_at(time_ns, step_ns, self.period_ns)
        last, self._last = self._last, period
        return period if period != last else None


@dataclass(frozen=True, slots=True)
class _Waiting(Generic[T]):
    period: int
    item: T


class Delay(Generic[T]):
    """Holds what was captured until a whole number of periods has passed; order is kept."""

    __slots__ = ("_queue", "periods")

    def __init__(self, periods: int) -> None:
        self.periods = periods
        self._queue: deque[_Waiting[T]] = deque()

    def push(self, period: int, item: T) -> list[T]:
        """Take what was captured at the end of a period; give what is due by then, oldest first."""
        self._queue.append(_Waiting(period, item))
        due = []
        while self._queue and self._queue[0].period + self.periods <= period:
            due.append(self._queue.popleft().item)
        return due

    def clear(self) -> None:
        """Forget what waits: the clock was set back, or another scene was loaded."""
        self._queue.clear()
