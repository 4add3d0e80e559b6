"""When topics speak: nearest ticks, no drift, and delays in whole periods."""

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diorama.perception.schedule import Delay, Timer, whole_periods

PERIOD_NS = 100_000_000
# Clocks whose steps are no whole nanoseconds come in two kinds: the step is cut, or the time is rounded.
CLOCKS: dict[str, Callable[[int], int]] = {
    "30 Hz, step cut": lambda index: index * 33_333_333,
    "30 Hz, time rounded": lambda index: round(Fraction(index * 10**9, 30)),
    "50 Hz": lambda index: index * 20_000_000,
    "60 Hz, step cut": lambda index: index * 16_666_666,
    "60 Hz, time rounded": lambda index: round(Fraction(index * 10**9, 60)),
    "25 Hz": lambda index: index * 40_000_000,
    "3 ms": lambda index: index * 3_000_000,
}


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_topic_speaks_once_a_period_at_the_nearest_tick(clock: str) -> None:
    time_of, timer = CLOCKS[clock], Timer(PERIOD_NS)
    step_ns = time_of(1)
    ticks = [time_of(index) for index in range(200_000_000_000 // step_ns)]
    spoken = [(period, time) for time in ticks if (period := timer.due(time, step_ns)) is not None]
    assert [period for period, _ in spoken] == list(range(len(spoken)))
    assert all(abs(2 * (time - period * PERIOD_NS)) <= step_ns + 1 for period, time in spoken)
    assert len(spoken) >= 1999  # 10 Hz for 200 s, the last end perhaps a moment away


@pytest.mark.parametrize("delay_ns", [0, 50_000_000, 100_000_000, 300_000_000, 1_000_000_000, 3_000_000_000])
@pytest.mark.parametrize(("rate_hz", "per_period"), [(30, 3), (50, 5), (60, 6)])
def test_a_delay_is_exact_to_the_tick(rate_hz: int, per_period: int, delay_ns: int) -> None:
    """Latency is the delay rounded up to periods, nothing leaves before, and order is kept."""
    timer, delay = Timer(PERIOD_NS), Delay[int](whole_periods(delay_ns, PERIOD_NS))
    step_ns, latency = 10**9 // rate_hz, -(-delay_ns // PERIOD_NS) * per_period
    left = []
    for index in range(180 * rate_hz):
        period = timer.due(round(Fraction(index * 10**9, rate_hz)), step_ns)
        if period is not None:
            left += [(captured, index) for captured in delay.push(period, index)]
    captured = [number * per_period for number in range(len(left))]
    assert left == [(tick, tick + latency) for tick in captured]
    assert len(left) == 180 * 10 - whole_periods(delay_ns, PERIOD_NS)


@given(
    step_ns=st.integers(1_000, 400_000_000),
    period_ns=st.integers(1_000_000, 1_000_000_000),
    first=st.integers(0, 10**6),
)
def test_phases_never_drift(step_ns: int, period_ns: int, first: int) -> None:
    timer = Timer(period_ns)
    for index in range(first, first + 200):
        time_ns = index * step_ns
        period = timer.due(time_ns, step_ns)
        if period is not None:
            assert abs(2 * (time_ns - period * period_ns)) <= max(
                step_ns, 2 * period_ns if step_ns > period_ns else 0
            )


def test_a_long_step_skips_periods_and_lets_out_all_that_is_due() -> None:
    timer, delay = Timer(PERIOD_NS), Delay[str](2)
    assert timer.due(0, PERIOD_NS) == 0
    assert delay.push(0, "a") == []
    assert timer.due(PERIOD_NS, PERIOD_NS) == 1
    assert delay.push(1, "b") == []
    assert timer.due(5 * PERIOD_NS, 4 * PERIOD_NS) == 7
    assert delay.push(7, "c") == ["a", "b"]
    delay.clear()
    assert delay.push(9, "d") == []


def test_a_topic_that_begins_between_two_ends_waits_for_the_next() -> None:
    timer = Timer(PERIOD_NS)
    assert [timer.due(time, 20_000_000) for time in range(20_000_000, 120_000_000, 20_000_000)] == [
        None,
        None,
        None,
        None,
        1,
    ]


def test_a_period_must_last() -> None:
    with pytest.raises(ValueError, match="above 0 ns"):
        Timer(0)
