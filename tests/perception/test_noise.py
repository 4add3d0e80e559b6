"""Noise: the first sight, gaps, rings, memory and seeds. Statistics are held to four standard errors."""

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diorama.perception.draws import stream
from diorama.perception.noise import Errors, Memory, errors_v1, errors_v2
from diorama.perception.parameters import Autocorrelation, NoiseV1, Rings, Wander
from diorama.tests.perception.sky import (
    BURN_IN,
    NOISE,
    PERIOD_NS,
    RING_PLACES,
    SECOND_NS,
    keys_of,
    lagged,
    phi,
    watch,
    within,
)


def test_a_correlation_of_one_freezes_and_of_zero_forgets() -> None:
    frozen = Autocorrelation(amplitude=1.0, decay=0.0)
    noise = replace(NOISE, distance=replace(NOISE.distance, correlation=frozen), detection_correlation=frozen)
    seen = watch(noise, RING_PLACES, 20)
    assert np.array_equal(seen.distance, np.zeros((20, 9)))
    assert seen.detected.all()
    forgetful = replace(NOISE, distance=replace(NOISE.distance, correlation=Autocorrelation()))
    distance = watch(forgetful, np.repeat(RING_PLACES[5:6], 100, axis=0), 300).distance
    assert within(lagged(distance, 1), 0.0, 1 / sqrt(distance.size))


def test_the_first_sight_follows_its_law() -> None:
    """From no error, detected and not flipped, one step of no time: phi(0) of it is left."""
    count = 40_000
    seen = watch(NOISE, np.repeat(RING_PLACES[5:6], count, axis=0), 1)
    p = phi(NOISE.distance.correlation, 0.0)
    deviation = 0.8 * sqrt(1 - p * p)
    assert within(seen.distance.mean(), 0.5 * (1 - p), deviation / sqrt(count))
    assert within(seen.distance.std(), deviation, deviation / sqrt(2 * count))
    p = phi(NOISE.detection_correlation, 0.0)
    rate = 0.6 + 0.4 * p
    assert within(seen.detected.mean(), rate, sqrt(rate * (1 - rate) / count))
    rate = 0.3 * (1 - phi(NOISE.flip_correlation, 0.0))
    assert within(seen.flipped.mean(), rate, sqrt(rate * (1 - rate) / count))


def test_a_stationary_start_is_the_long_run_at_once() -> None:
    count = 20_000
    noise = replace(NOISE, stationary_start=True)
    seen = watch(noise, np.repeat(RING_PLACES[5:6], count, axis=0), 2)
    for frame in range(2):
        assert within(seen.distance[frame].mean(), 0.5, 0.8 / sqrt(count))
        assert within(seen.distance[frame].std(), 0.8, 0.8 / sqrt(2 * count))
        assert within(seen.detected[frame].mean(), 0.6, sqrt(0.24 / count))
    p = phi(NOISE.distance.correlation, 0.1)
    assert within(float(np.corrcoef(seen.distance[0], seen.distance[1])[0, 1]), p, (1 - p * p) / sqrt(count))


def test_a_gap_is_one_step_of_its_whole_length() -> None:
    count, memory = 20_000, Memory()
    local = np.repeat(RING_PLACES[5:6], count, axis=0)
    before = watch(NOISE, local, BURN_IN, memory=memory).distance[-1]
    back_ns = (BURN_IN - 1) * PERIOD_NS + 2 * SECOND_NS
    after = watch(NOISE, local, 1, memory=memory, start_ns=back_ns).distance[0]
    p = phi(NOISE.distance.correlation, 2.0)
    assert abs(p - phi(NOISE.distance.correlation, 0.1) ** 20) > 0.1  # twenty steps would be something else
    assert within(float(np.corrcoef(before, after)[0, 1]), p, (1 - p * p) / sqrt(count))


def test_crossing_into_another_ring_relaxes_towards_its_mean() -> None:
    count, memory = 20_000, Memory()
    near, far = (np.repeat(RING_PLACES[ring : ring + 1], count, axis=0) for ring in (5, 7))
    watch(NOISE, near, BURN_IN, memory=memory)
    after = watch(NOISE, far, 5, memory=memory, start_ns=BURN_IN * PERIOD_NS).distance
    p, mean, variance = phi(NOISE.distance.correlation, 0.1), 0.5, 0.64
    for frame in range(5):
        mean, variance = 1.0 + p * (mean - 1.0), p * p * variance + (1 - p * p) * 2.25
        assert within(after[frame].mean(), mean, sqrt(variance / count))
        assert within(after[frame].std(), sqrt(variance), sqrt(variance / (2 * count)))


def test_beyond_the_last_ring_detections_fade_out() -> None:
    count = 20_000
    seen = watch(NOISE, np.full((count, 2), 1000.0), 11)
    p0, p = phi(NOISE.detection_correlation, 0.0), phi(NOISE.detection_correlation, 0.1)
    for frame in (0, 1, 10):
        rate = p0 * p**frame
        assert within(seen.detected[frame].mean(), rate, sqrt(rate * (1 - rate) / count))
    uncorrelated = replace(NOISE, detection_correlation=Autocorrelation())
    assert not watch(uncorrelated, np.full((10, 2), 1000.0), 3).detected.any()


@pytest.mark.parametrize("speed", [0.1, 5.0])
def test_nothing_at_or_above_the_speed_threshold_flips(speed: float) -> None:
    assert not watch(NOISE, RING_PLACES, 50, speed=speed).flipped.any()


def test_a_moment_of_speed_ends_a_flip() -> None:
    count, memory = 20_000, Memory()
    local = np.repeat(RING_PLACES[:1], count, axis=0)
    watch(NOISE, local, BURN_IN, memory=memory)
    watch(NOISE, local, 1, memory=memory, start_ns=BURN_IN * PERIOD_NS, speed=1.0)
    flipped = watch(NOISE, local, 5, memory=memory, start_ns=(BURN_IN + 1) * PERIOD_NS).flipped
    p = phi(NOISE.flip_correlation, 0.1)
    for frame in range(5):
        rate = 0.3 * (1 - p ** (frame + 1))
        assert within(flipped[frame].mean(), rate, sqrt(rate * (1 - rate) / count))


def test_a_ring_ends_before_its_radius() -> None:
    certain = Autocorrelation()
    noise = replace(
        NOISE,
        detection_correlation=certain,
        detection_rate=Rings(values=(1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), x_radius=2.0),
    )
    inside, border = np.nextafter(10.0, 0.0), 10.0
    places = np.array(
        [[0.0, inside], [0.0, border], [0.0, 20.0], [2 * inside, 0.0], [2 * border, 0.0], [40.0, 0.0]]
    )
    assert watch(noise, places, 1).detected[0].tolist() == [True, False, True, True, False, True]


def test_silent_tables_leave_everything_as_it_is() -> None:
    flat = Wander(
        correlation=Autocorrelation(amplitude=0.5),
        mean=Rings(values=(0.0,)),
        standard_deviation=Rings(values=(0.0,)),
    )
    noise = replace(
        NOISE,
        ellipse_y_radii=(1000.0,),
        distance=flat,
        yaw=flat,
        flip_rate=0.0,
        detection_rate=Rings(values=(1.0,)),
    )
    seen = watch(noise, RING_PLACES, 20)
    assert not seen.distance.any()
    assert not seen.yaw.any()
    assert not seen.flipped.any()
    assert seen.detected.all()


def test_misses_touch_the_memory_and_absence_does_not() -> None:
    memory = Memory()
    seen = watch(NOISE, RING_PLACES, 30, memory=memory)
    assert not seen.detected.all()
    assert (memory.rows["time_ns"] == 29 * PERIOD_NS).all()
    left = memory.rows.copy()
    watch(NOISE, RING_PLACES[:3], 1, memory=memory, start_ns=40 * PERIOD_NS)  # the others are out of sight
    assert np.array_equal(memory.rows[3:], left[3:])
    assert (memory.rows["time_ns"][:3] == 40 * PERIOD_NS).all()


def test_memory_ends_with_the_object() -> None:
    memory = Memory()
    watch(NOISE, RING_PLACES, 30, memory=memory)
    memory.forget_all_but(np.array([7, 1, 100]))
    assert memory.rows["id"].tolist() == [1, 7]
    again, new = memory.slots(np.array([7, 3, 1]), 0)
    assert new.tolist() == [False, True, False]
    assert memory.rows["id"][again].tolist() == [7, 3, 1]
    memory.forget_all_but(np.array([3]))
    again, new = memory.slots(np.array([7, 3, 1]), 0)  # the very same question as before
    assert new.tolist() == [True, False, True]
    assert memory.rows["id"][again].tolist() == [7, 3, 1]


@settings(max_examples=50, deadline=None)
@given(order=st.permutations(range(9)), chosen=st.sets(st.integers(0, 8), min_size=1))
def test_an_object_errs_the_same_whoever_else_is_there_and_in_any_order(
    order: list[int], chosen: set[int]
) -> None:
    picked = [index for index in order if index in chosen]
    keys, source = keys_of(9), stream(3, "lidar")

    def run(who: list[int]) -> list[Errors]:
        memory, local = Memory(), RING_PLACES[who]
        return [
            errors_v2(
                NOISE,
                memory,
                source,
                ids=np.array(who),
                keys=keys[who],
                time_ns=frame * PERIOD_NS,
                local=local,
                bearing=local / np.linalg.norm(local, axis=1, keepdims=True),
                speed=np.zeros(len(who)),
            )
            for frame in range(4)
        ]

    for all_of_them, some in zip(run(list(range(9))), run(picked), strict=True):
        for field in ("shift", "turn", "detected", "shift_covariance", "turn_variance"):
            assert np.array_equal(getattr(all_of_them, field)[picked], getattr(some, field))


def test_the_same_seed_gives_the_same_noise_and_another_seed_or_sensor_another() -> None:
    first, again = (watch(NOISE, RING_PLACES, 20, seed=5) for _ in range(2))
    assert first.distance.tobytes() == again.distance.tobytes()
    assert not np.array_equal(first.distance, watch(NOISE, RING_PLACES, 20, seed=6).distance)
    assert stream(5, "front") != stream(5, "rear")


@pytest.mark.parametrize("probability", [0.0, 1.0])
def test_model_1_with_a_certain_outcome(probability: float) -> None:
    noise = NoiseV1(missing_probability=probability)
    errors = errors_v1(noise, stream(1, "lidar"), keys_of(1000), 0)
    assert errors.detected.all() == (probability == 0.0)
    assert errors.detected.any() == (probability == 0.0)
    assert not errors.shift.any()
