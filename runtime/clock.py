"""Clocks: iterables of ticks in integer nanoseconds, so that the user keeps the main loop.

    for tick in SteppableClock(step_ns=20_000_000):
        step(world, tick)

While a clock waits it sleeps, or calls its `wait` hook with the seconds it has to spare, so that a server can
poll its sockets meanwhile; it never spins. Commands may come from the hook or from another thread.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from threading import Condition
from typing import Any

from diorama.schemas.errors import StateError

FOREVER = 2**63 - 1
IDLE_S = 0.1  # how long a paused clock leaves its thread to the wait hook at a time
# A clock that falls behind catches up by ticks without pause; more than this behind, it gives the rest up.
PATIENCE_NS = 100_000_000


@dataclass(frozen=True, slots=True)
class Tick:
    """One step of simulated time: its index from 0, the time it reaches, and how long it is (ns)."""

    index: int
    time_ns: int
    step_ns: int

    @property
    def time_s(self) -> float:
        """The time this tick reaches, in seconds since the clock's zero."""
        return self.time_ns * 1e-9

    @property
    def step_s(self) -> float:
        """The length of this tick in seconds."""
        return self.step_ns * 1e-9


class Pace:
    """When the next tick is due on the wall clock, and how well that is kept. A period of 0 is as fast as it goes."""

    def __init__(self, period_ns: int, now_ns: Callable[[], int], sleep: Callable[[float], object]) -> None:
        self.period_ns = period_ns
        self.late_ticks = 0  # ticks whose time had passed before the one before them was done
        self.slipped_ns = 0  # wall time given up because the clock was too far behind to catch up
        self.paced_ns = 0  # wall time between ticks, pauses left out
        self.paced_ticks = 0
        self._now_ns = now_ns
        self._sleep = sleep
        self._due_ns: int | None = None  # None: the next tick is due as soon as it is asked for
        self._last_ns: int | None = None

    def restart(self) -> None:
        """Forget the schedule: the next tick is due at once."""
        self._due_ns = self._last_ns = None

    def until_due(self, wait: Callable[[float], object] | None) -> None:
        """Wait for the next tick's time; the hook gets whole milliseconds, and is called at least once."""
        now = self._now_ns()
        late = self._due_ns is not None and self.period_ns > 0 and now > self._due_ns
        if late:
            self.late_ticks += 1
        polled = wait is None
        while self._due_ns is not None and (left_ns := self._due_ns - self._now_ns()) > 0:
            # Sockets are polled in whole milliseconds; the rest of the time is slept, which is finer.
            if wait is not None and left_ns >= 1_000_000:
                wait(left_ns // 1_000_000 * 1e-3)
                polled = True
            else:
                self._sleep(left_ns * 1e-9)
        if not polled and wait is not None:
            wait(0.0)

    def mark(self) -> int:
        """Note that a tick begins now, and set the time of the next; returns the wall time (ns)."""
        now = self._now_ns()
        due = now if self._due_ns is None else self._due_ns
        if now - due > PATIENCE_NS:
            self.slipped_ns += now - due
            due = now
        self._due_ns = due + self.period_ns if self.period_ns else now
        if self._last_ns is not None:
            self.paced_ns += now - self._last_ns
            self.paced_ticks += 1
        self._last_ns = now
        return now


class SteppableClock:
    """Time in equal steps: `step_ns` simulated every `realtime_update_ns` of wall time (0: as fast as it goes).

    Without `realtime_update_ns` it runs at real time. Steps are never shortened: `continue_for` and
    `continue_until` end with the first whole step that reaches the time, and then the clock is paused.
    """

    def __init__(
        self,
        step_ns: int = 20_000_000,
        realtime_update_ns: int | None = None,
        pause_on_start: bool = False,
        *,
        wait: Callable[[float], object] | None = None,
        now_ns: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        period = step_ns if realtime_update_ns is None else realtime_update_ns
        self.step_ns = _positive("step_ns", step_ns)
        self.realtime_update_ns = _not_negative("realtime_update_ns", period)
        self.pace = Pace(period, now_ns, sleep)
        self.wait = wait
        self.time_ns = 0
        self.index = 0
        self._pause_at_ns = 0 if pause_on_start else FOREVER
        self._stopped = False
        self._changed = Condition()

    def __iter__(self) -> Iterator[Tick]:
        return self

    def __next__(self) -> Tick:
        """The next tick when it is due; while the clock is paused, not before somebody lets it go on."""
        if not self.is_paused:
            self.pace.until_due(self.wait)
        while True:
            with self._changed:  # a command of another thread comes before this tick, or after it
                if self._stopped:
                    raise StopIteration
                if not self.is_paused:
                    self.pace.mark()
                    self.time_ns += self.step_ns
                    tick = Tick(self.index, self.time_ns, self.step_ns)
                    self.index += 1
                    return tick
            self.pace.restart()
            self._idle()

    @property
    def is_paused(self) -> bool:
        """Whether no tick will come until somebody resumes, steps or continues."""
        return self.time_ns >= self._pause_at_ns

    @property
    def real_time_factor(self) -> float:
        """Simulated over wall time as configured; infinite when not paced."""
        return self.step_ns / self.realtime_update_ns if self.realtime_update_ns else float("inf")

    @property
    def measured_factor(self) -> float | None:
        """Simulated over wall time as it went so far, pauses left out; None before the second tick."""
        pace = self.pace
        return pace.paced_ticks * self.step_ns / pace.paced_ns if pace.paced_ns else None

    @property
    def summary(self) -> str:
        """The clock in one line, with its real-time factor."""
        if not self.realtime_update_ns:
            return f"steppable clock: {self.step_ns / 1e6:g} ms steps, as fast as it goes"
        return (
            f"steppable clock: {self.step_ns / 1e6:g} ms steps every {self.realtime_update_ns / 1e6:g} ms, "
            f"{self.real_time_factor:.2g} times real time"
        )

    def pause(self) -> None:
        """No further tick from now on."""
        self._pause_after(0)

    def resume(self) -> None:
        """Run on without end."""
        self._pause_at(FOREVER)

    def step(self, count: int = 1) -> None:
        """Run `count` more ticks, then pause."""
        self._pause_after(_not_negative("steps", count) * self.step_ns)

    def continue_for(self, duration_ns: int) -> None:
        """Run for a simulated time, up to the next whole step, then pause."""
        self._pause_after(_not_negative("duration_ns", duration_ns))

    def continue_until(self, time_ns: int) -> None:
        """Run until a simulated time, up to the next whole step, then pause; a time already past pauses now."""
        self._pause_at(_not_negative("time_ns", time_ns))

    def stop(self) -> None:
        """End the iteration."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _pause_after(self, duration_ns: int) -> None:
        with self._changed:
            self._pause_at(self.time_ns + duration_ns)

    def _pause_at(self, time_ns: int) -> None:
        with self._changed:
            self._pause_at_ns = time_ns
            self._changed.notify_all()

    def _idle(self) -> None:
        if self.wait is not None:
            self.wait(IDLE_S)
            return
        with self._changed:
            if self.is_paused and not self._stopped:
                self._changed.wait()


class RealTimeClock:
    """Time as it passes, zero at the first tick: a tick about every `realtime_update_ns`, as long as it took.

    A tick that comes late is longer, and counted; no time is lost. This clock cannot be paused.
    """

    is_paused = False
    real_time_factor = 1.0
    measured_factor = 1.0

    def __init__(
        self,
        realtime_update_ns: int = 3_000_000,
        *,
        wait: Callable[[float], object] | None = None,
        now_ns: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.realtime_update_ns = _positive("realtime_update_ns", realtime_update_ns)
        self.pace = Pace(realtime_update_ns, now_ns, sleep)
        self.wait = wait
        self.time_ns = 0
        self.index = 0
        self._begin_ns: int | None = None
        self._stopped = False

    def __iter__(self) -> Iterator[Tick]:
        return self

    def __next__(self) -> Tick:
        """The next tick when it is due."""
        if self._begin_ns is None:
            self._begin_ns = self.pace.mark()
        self.pace.until_due(self.wait)
        if self._stopped:
            raise StopIteration
        time_ns = self.pace.mark() - self._begin_ns
        tick = Tick(self.index, time_ns, time_ns - self.time_ns)
        self.time_ns = time_ns
        self.index += 1
        return tick

    @property
    def summary(self) -> str:
        """The clock in one line."""
        return f"real-time clock: a tick every {self.realtime_update_ns / 1e6:g} ms"

    def pause(self) -> None:
        """Refused, as are all commands that would hold real time."""
        raise StateError('a real-time clock cannot be paused or stepped; give the scene a "steppable" clock')

    def resume(self) -> None:
        """Refused."""
        self.pause()

    def step(self, count: int = 1) -> None:  # noqa: ARG002
        """Refused."""
        self.pause()

    def continue_for(self, duration_ns: int) -> None:  # noqa: ARG002
        """Refused."""
        self.pause()

    def continue_until(self, time_ns: int) -> None:  # noqa: ARG002
        """Refused."""
        self.pause()

    def stop(self) -> None:
        """End the iteration."""
        self._stopped = True


Clock = SteppableClock | RealTimeClock


def clock_from_settings(settings: Mapping[str, Any]) -> Clock:
    """The clock that a scene's `clock` resource describes; unpaced ("as fast as it goes") where it says so.

    Reads `type`, `step_ns`, `realtime_update_ns` and `pause_on_start`, or AeroSim's `step_size_ms` and
    `pace_1x_scale`.
    """
    if "step_size_ms" in settings:
        step_ns = round(settings["step_size_ms"] * 1e6)
        return SteppableClock(step_ns, step_ns if settings.get("pace_1x_scale", True) else 0)
    update_ns = settings.get("realtime_update_ns")
    if settings.get("type") == "real-time":
        return RealTimeClock(3_000_000 if update_ns is None else update_ns)
    return SteppableClock(
        settings.get("step_ns", 20_000_000), update_ns, bool(settings.get("pause_on_start", False))
    )


def _positive(name: str, value: int) -> int:
    if _not_negative(name, value) == 0:
        raise StateError(f"clock: {name}: expected a positive whole number of nanoseconds, got {value!r}")
    return value


def _not_negative(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise StateError(f"clock: {name}: expected a whole number, not negative, got {value!r}")
    return value
