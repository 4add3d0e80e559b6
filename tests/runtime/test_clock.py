"""Clocks against a wall clock of our own, so that nothing here depends on how fast the machine is."""

from collections.abc import Callable
from itertools import count, islice
from threading import Event, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diorama.runtime.clock import PATIENCE_NS, RealTimeClock, SteppableClock, Tick, clock_from_settings
from diorama.schemas.errors import StateError

MS = 1_000_000


class Wall:
    """A wall clock that advances only when somebody sleeps on it or works."""

    def __init__(self) -> None:
        self.now = 5_000_000_000
        self.slept: list[float] = []

    def __call__(self) -> int:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += round(seconds * 1e9)


def steppable(
    wall: Wall, step_ns: int = 3 * MS, update_ns: int | None = 3 * MS, pause_on_start: bool = False
) -> SteppableClock:
    return SteppableClock(step_ns, update_ns, pause_on_start, now_ns=wall, sleep=wall.sleep)


def test_ticks_are_equal_integer_steps_at_their_wall_times() -> None:
    wall = Wall()
    begin = wall.now
    ticks = []
    for tick in islice(steppable(wall, 20 * MS, 3 * MS), 5):
        ticks.append(tick)
        assert wall.now - begin == tick.index * 3 * MS
    assert ticks == [Tick(index, (index + 1) * 20 * MS, 20 * MS) for index in range(5)]
    assert ticks[1].time_s == pytest.approx(0.04, abs=1e-15)
    assert ticks[1].step_s == pytest.approx(0.02, abs=1e-15)


def test_the_default_of_airsim_runs_almost_seven_times_real_time_and_says_so() -> None:
    clock = steppable(Wall(), 20 * MS, 3 * MS)
    assert clock.real_time_factor == pytest.approx(20 / 3)
    assert clock.summary == "steppable clock: 20 ms steps every 3 ms, 6.7 times real time"
    assert clock.measured_factor is None
    list(islice(clock, 10))
    assert clock.measured_factor == pytest.approx(20 / 3)


def test_a_clock_without_pace_never_sleeps() -> None:
    wall = Wall()
    clock = steppable(wall, 3 * MS, 0)
    assert [tick.index for tick in islice(clock, 1000)][-1] == 999
    assert wall.slept == []
    assert clock.real_time_factor == float("inf")
    assert clock.pace.late_ticks == 0
    assert SteppableClock(7 * MS).realtime_update_ns == 7 * MS


@pytest.mark.parametrize(
    ("command", "ends_at_ns"),
    [
        (lambda clock: clock.step(), 3),
        (lambda clock: clock.step(4), 12),
        (lambda clock: clock.step(0), 0),
        (lambda clock: clock.continue_for(10), 12),
        (lambda clock: clock.continue_for(12), 12),
        (lambda clock: clock.continue_for(0), 0),
        (lambda clock: clock.continue_until(7), 9),
        (lambda clock: clock.continue_until(0), 0),
    ],
)
def test_commands_end_paused_on_the_next_whole_step(
    command: Callable[[SteppableClock], None], ends_at_ns: int
) -> None:
    wall = Wall()
    clock = steppable(wall, 3, 3, pause_on_start=True)
    assert clock.is_paused
    command(clock)

    def end(_timeout: float) -> None:
        if clock.is_paused:
            clock.stop()

    clock.wait = end
    assert [tick.time_ns for tick in clock] == list(range(3, ends_at_ns + 1, 3))
    assert clock.time_ns == ends_at_ns
    assert clock.is_paused


def test_commands_from_the_wait_hook_take_effect_before_the_next_tick() -> None:
    wall = Wall()
    clock = steppable(wall)
    heard: list[tuple[float, int]] = []
    script: dict[int, Callable[[], None]] = {
        3: clock.pause,
        5: lambda: clock.step(2),
        9: clock.resume,
        12: clock.stop,
    }

    def hook(timeout_s: float) -> None:
        heard.append((timeout_s, clock.time_ns))
        wall.sleep(timeout_s)
        script.get(len(heard), lambda: None)()

    clock.wait = hook
    times = [tick.time_ns // MS for tick in clock]
    assert times == list(range(3, 3 * len(times) + 1, 3))
    paused_at = {time for timeout, time in heard if timeout == 0.1}
    assert paused_at == {6 * MS, 12 * MS}


def test_the_hook_is_called_each_tick_even_when_every_tick_is_late() -> None:
    wall = Wall()
    timeouts: list[float] = []
    clock = SteppableClock(3 * MS, 3 * MS, wait=timeouts.append, now_ns=wall, sleep=wall.sleep)
    for _ in islice(clock, 5):
        wall.now += 50 * MS
    assert timeouts == [0.0] * 5
    assert clock.pace.late_ticks == 4


def test_a_short_delay_is_caught_up_and_a_long_one_is_counted_as_slipped() -> None:
    wall = Wall()
    begin = wall.now
    clock = steppable(wall)
    for tick in islice(clock, 10):
        if tick.index == 2:
            wall.now += 10 * MS
    assert clock.pace.late_ticks == 3  # the three ticks whose times passed during the work
    assert clock.pace.slipped_ns == 0
    assert wall.now - begin == 9 * 3 * MS  # back on the schedule
    next(clock)
    wall.now += PATIENCE_NS + 10 * MS
    next(clock)
    assert clock.pace.slipped_ns == PATIENCE_NS + 7 * MS


def test_pauses_are_no_delay() -> None:
    wall = Wall()
    clock = steppable(wall)
    list(islice(clock, 3))
    clock.pause()

    def resume_later(timeout_s: float) -> None:
        wall.sleep(timeout_s)
        clock.resume()

    clock.wait = resume_later
    next(clock)
    assert clock.pace.late_ticks == 0
    assert clock.pace.slipped_ns == 0
    assert clock.measured_factor == pytest.approx(1.0)


def test_another_thread_may_resume_and_stop() -> None:
    clock = SteppableClock(1, 0, pause_on_start=True)
    times: list[int] = []
    done = Event()

    def run() -> None:
        for tick in clock:
            times.append(tick.time_ns)
            if tick.index == 999:
                done.set()

    runner = Thread(target=run, daemon=True)
    runner.start()
    clock.step(1000)
    assert done.wait(timeout=30)
    clock.stop()
    runner.join(timeout=30)
    assert not runner.is_alive()
    assert times == list(range(1, 1001))


def test_a_step_from_another_thread_is_whole_even_in_the_middle_of_a_tick() -> None:
    asked = count(1)

    def now_ns() -> int:
        if next(asked) == 2:  # the tick has begun: just now somebody else wants one more
            other.start()
            other.join(0.2)  # not longer, since it has to wait for the tick
        return 0

    clock = SteppableClock(1, 0, now_ns=now_ns)
    other = Thread(target=clock.step, daemon=True)
    assert next(clock).time_ns == 1
    other.join(30)
    assert not clock.is_paused
    assert next(clock).time_ns == 2
    assert clock.is_paused


@given(st.lists(st.integers(0, 40 * MS), min_size=1, max_size=30))
def test_real_time_is_the_sum_of_its_ticks_however_long_the_work(work: list[int]) -> None:
    wall = Wall()
    clock = RealTimeClock(3 * MS, now_ns=wall, sleep=wall.sleep)
    begin = wall.now
    total = 0
    for tick, busy in zip(clock, work, strict=False):
        total += tick.step_ns
        assert tick.step_ns >= 0
        assert tick.time_ns == total == wall.now - begin
        wall.now += busy
    assert clock.pace.late_ticks <= len(work)


def test_a_real_time_clock_refuses_to_be_held() -> None:
    clock = RealTimeClock()
    commands: list[Callable[[], None]] = [
        clock.pause,
        clock.resume,
        clock.step,
        lambda: clock.continue_for(1),
        lambda: clock.continue_until(1),
    ]
    for command in commands:
        with pytest.raises(StateError, match="a real-time clock cannot be paused or stepped"):
            command()
    assert not clock.is_paused
    assert clock.summary == "real-time clock: a tick every 3 ms"
    clock.stop()
    assert list(clock) == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SteppableClock(0), "step_ns: expected a positive whole number of nanoseconds, got 0"),
        (lambda: SteppableClock(-5), "step_ns: expected a whole number, not negative, got -5"),
        (
            lambda: SteppableClock(1.5),  # type: ignore[arg-type]
            "step_ns: expected a whole number, not negative, got 1.5",
        ),
        (lambda: SteppableClock(1, -1), "realtime_update_ns: expected a whole number, not negative, got -1"),
        (
            lambda: RealTimeClock(0),
            "realtime_update_ns: expected a positive whole number of nanoseconds, got 0",
        ),
        (lambda: SteppableClock(1).step(-1), "steps: expected a whole number, not negative, got -1"),
        (
            lambda: SteppableClock(1).continue_for(-1),
            "duration_ns: expected a whole number, not negative, got -1",
        ),
    ],
)
def test_impossible_clocks_and_commands(make: Callable[[], object], message: str) -> None:
    with pytest.raises(StateError, match=message):
        make()


def test_clocks_of_scenes() -> None:
    airsim = clock_from_settings(
        {"type": "steppable", "step_ns": 6 * MS, "realtime_update_ns": 3 * MS, "pause_on_start": True}
    )
    assert isinstance(airsim, SteppableClock)
    assert (airsim.step_ns, airsim.realtime_update_ns, airsim.is_paused) == (6 * MS, 3 * MS, True)
    live = clock_from_settings({"type": "real-time", "realtime_update_ns": 10 * MS})
    assert isinstance(live, RealTimeClock)
    assert live.realtime_update_ns == 10 * MS
    aerosim = clock_from_settings({"step_size_ms": 20, "pace_1x_scale": False})
    assert isinstance(aerosim, SteppableClock)
    assert (aerosim.step_ns, aerosim.realtime_update_ns) == (20 * MS, 0)
    assert clock_from_settings({}).summary == "steppable clock: 20 ms steps every 20 ms, 1 times real time"
