"""Noise: what the models promise in the long run, at the first sight, over gaps and between rings.

Statistics run with fixed seeds and are held to four standard errors, by the closed formulas of AR(1) processes
and two-state Markov chains.
"""

from dataclasses import dataclass, replace
from math import exp, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diorama.geo.arrays import FloatArray
from diorama.perception.draws import key_from_name, normals, stream, uniforms
from diorama.perception.noise import Bools, Errors, Memory, errors_v1, errors_v2
from diorama.perception.parameters import Autocorrelation, NoiseV1, NoiseV2, Rings, Wander

STANDARD_ERRORS = 4.0
SECOND_NS = 1_000_000_000
PERIOD_NS = 100_000_000
RADII = (10.0, 20.0, 40.0, 60.0, 80.0, 120.0, 150.0, 180.0, 1000.0)
MEANS = (0.0, 0.1, -0.2, 0.3, 0.3, 0.5, -0.5, 1.0, 2.0)
DEVIATIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.8, 1.0, 1.5, 3.0)
RATES = (0.99, 0.95, 0.9, 0.85, 0.8, 0.6, 0.4, 0.2, 0.1)
NOISE = NoiseV2(
    ellipse_y_radii=RADII,
    distance=Wander(
        correlation=Autocorrelation(amplitude=0.5, decay=0.9, offset=0.45),
        mean=Rings(values=MEANS),
        standard_deviation=Rings(values=DEVIATIONS),
    ),
    yaw=Wander(
        correlation=Autocorrelation(amplitude=0.6, decay=1.5, offset=0.0),
        mean=Rings(values=(-0.02,) * 9),
        standard_deviation=Rings(values=(0.1,) * 9),
    ),
    flip_correlation=Autocorrelation(amplitude=0.3, decay=0.8, offset=0.5),
    flip_speed_threshold=0.1,
    flip_rate=0.3,
    detection_correlation=Autocorrelation(amplitude=0.7, decay=0.9, offset=0.15),
    detection_rate=Rings(values=RATES),
)
# One place in each ring, off the axes, so that ahead and aside both count.
RING_PLACES = np.array([[0.6, 0.8]]) * np.array([[5, 15, 30, 50, 70, 100, 135, 165, 500]]).T


def phi(correlation: Autocorrelation, dt: float) -> float:
    """The coefficient written out once more."""
    return correlation.amplitude * exp(-correlation.decay * dt) + correlation.offset


@dataclass
class Sky:
    """Objects at fixed places around an ego, watched for many frames; every array is (frames, objects)."""

    distance: FloatArray
    yaw: FloatArray
    flipped: Bools
    detected: Bools


def keys_of(count: int) -> Any:
    return np.array([key_from_name(f"car_{index}") for index in range(count)], np.uint64)


def watch(
    noise: NoiseV2,
    local: FloatArray,
    frames: int,
    *,
    seed: int = 1,
    speed: float = 0.0,
    memory: Memory | None = None,
    start_ns: int = 0,
    step_ns: int = PERIOD_NS,
) -> Sky:
    """Let objects at `local` (n, 2) stand still for a number of frames."""
    memory = memory or Memory()
    ids, keys, source = np.arange(len(local)), keys_of(len(local)), stream(seed, "lidar")
    bearing = local / np.linalg.norm(local, axis=1, keepdims=True)
    seen: list[Errors] = []
    yaw = []
    for frame in range(frames):
        seen.append(
            errors_v2(
                noise,
                memory,
                source,
                ids=ids,
                keys=keys,
                time_ns=start_ns + frame * step_ns,
                local=local,
                bearing=bearing,
                speed=np.full(len(local), speed),
            )
        )
        yaw.append(memory.rows["yaw"][: len(local)].copy())
    turn = np.array([errors.turn for errors in seen])
    shift = np.array([errors.shift for errors in seen])
    tangential = shift[..., 0] * bearing[:, 1] - shift[..., 1] * bearing[:, 0]
    assert np.abs(tangential).max() < 1e-12  # metres
    return Sky(
        distance=np.einsum("tni,ni->tn", shift, bearing),
        yaw=np.array(yaw),
        flipped=np.abs(turn - np.array(yaw)) > 1.0,
        detected=np.array([errors.detected for errors in seen]),
    )


def within(measured: float, expected: float, standard_error: float) -> bool:
    return abs(measured - expected) <= STANDARD_ERRORS * standard_error


OBJECTS, FRAMES, BURN_IN = 120, 500, 80


@pytest.fixture(scope="module")
def sky() -> Sky:
    """120 objects in each of nine rings, in the long run."""
    seen = watch(NOISE, np.repeat(RING_PLACES, OBJECTS, axis=0), BURN_IN + FRAMES)
    return Sky(
        distance=seen.distance[BURN_IN:],
        yaw=seen.yaw[BURN_IN:],
        flipped=seen.flipped[BURN_IN:],
        detected=seen.detected[BURN_IN:],
    )


def in_ring(ring: int) -> slice:
    return slice(ring * OBJECTS, (ring + 1) * OBJECTS)


def lagged(values: FloatArray, lag: int) -> float:
    """The correlation of values with those `lag` frames later."""
    centred = values - values.mean()
    return float((centred[lag:] * centred[:-lag]).mean() / np.square(centred).mean())


@pytest.mark.parametrize("ring", range(9))
def test_distance_noise_has_the_mean_and_deviation_of_its_ring(sky: Sky, ring: int) -> None:
    values, p = sky.distance[:, in_ring(ring)], phi(NOISE.distance.correlation, 0.1)
    count, mean, deviation = values.size, MEANS[ring], DEVIATIONS[ring]
    assert within(values.mean(), mean, deviation * sqrt((1 + p) / ((1 - p) * count)))
    spread = deviation / 2 * sqrt(2 * (1 + p * p) / ((1 - p * p) * count))
    assert within(sqrt(np.square(values - mean).mean()), deviation, spread)


@pytest.mark.parametrize("lag", [1, 5])
def test_distance_noise_is_correlated_as_documented(sky: Sky, lag: int) -> None:
    p = phi(NOISE.distance.correlation, 0.1)
    values = (sky.distance - np.repeat(MEANS, OBJECTS)) / np.repeat(DEVIATIONS, OBJECTS)
    # Bartlett's formula for an AR(1) process; at lag 1 it is (1 - phi²) / count.
    square = p * p
    variance = (1 + square) * (1 - square**lag) / (1 - square) - 2 * lag * square**lag
    assert within(lagged(values, lag), p**lag, sqrt(variance / values.size))


def test_yaw_noise_has_its_own_mean_deviation_and_correlation(sky: Sky) -> None:
    p, count = phi(NOISE.yaw.correlation, 0.1), sky.yaw.size
    assert within(sky.yaw.mean(), -0.02, 0.1 * sqrt((1 + p) / ((1 - p) * count)))
    assert within(sky.yaw.std(), 0.1, 0.05 * sqrt(2 * (1 + p * p) / ((1 - p * p) * count)))
    assert within(lagged(sky.yaw, 1), p, sqrt((1 - p * p) / count))


def check_chain(states: Bools, rate: float, p: float) -> None:
    """Long-run share, both transition probabilities, and run lengths of a two-state chain (frames, objects)."""
    count = states.size
    assert within(states.mean(), rate, sqrt(rate * (1 - rate) * (1 + p) / ((1 - p) * count)))
    before, after = states[:-1], states[1:]
    for state, expected in ((False, (1 - p) * rate), (True, rate + p * (1 - rate))):
        origin = before == state
        visits = int(origin.sum())
        assert within(after[origin].mean(), expected, sqrt(expected * (1 - expected) / visits))
    # A run of ones ends with probability (1 - p)(1 - rate), and its length is geometric.
    for state, leaving in ((True, (1 - p) * (1 - rate)), (False, (1 - p) * rate)):
        lengths = runs(states, state)
        assert within(lengths.mean(), 1 / leaving, sqrt(1 - leaving) / leaving / sqrt(len(lengths)))


def runs(states: Bools, state: bool) -> FloatArray:
    """Lengths of whole runs of `state`, begun in the first half so that few are cut off by the end."""
    lengths = []
    for column in states.T:
        edges = np.flatnonzero(np.diff(column)) + 1
        starts, ends = edges[:-1], edges[1:]
        chosen = (column[starts] == state) & (starts < len(column) // 2)
        lengths.append((ends - starts)[chosen])
    return np.concatenate(lengths).astype(np.float64)


def test_headings_flip_at_their_rate_and_stay_flipped(sky: Sky) -> None:
    check_chain(sky.flipped, 0.3, phi(NOISE.flip_correlation, 0.1))


@pytest.mark.parametrize("ring", range(9))
def test_objects_are_detected_at_the_rate_of_their_ring(sky: Sky, ring: int) -> None:
    check_chain(sky.detected[:, in_ring(ring)], RATES[ring], phi(NOISE.detection_correlation, 0.1))


def test_the_channels_do_not_know_of_each_other(sky: Sky) -> None:
    distance = (sky.distance - np.repeat(MEANS, OBJECTS)) / np.repeat(DEVIATIONS, OBJECTS)
    channels = [distance, sky.yaw, sky.flipped.astype(float), sky.detected.astype(float)]
    correlation = np.corrcoef([channel.ravel() for channel in channels])
    p, q = phi(NOISE.distance.correlation, 0.1), phi(NOISE.detection_correlation, 0.1)
    error = sqrt((1 + p * q) / (1 - p * q) / sky.distance.size)
    assert np.abs(correlation - np.eye(4)).max() < STANDARD_ERRORS * error


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


def test_model_1_spreads_drops_and_forgets() -> None:
    noise, count, frames = NoiseV1(standard_deviation=0.7, missing_probability=0.2), 500, 200
    keys, source = keys_of(count), stream(1, "lidar")
    seen = [errors_v1(noise, source, keys, frame * PERIOD_NS) for frame in range(frames)]
    shift = np.array([errors.shift for errors in seen])
    kept = np.array([errors.detected for errors in seen])
    total = kept.size
    assert within(kept.mean(), 0.8, sqrt(0.16 / total))
    assert within(lagged(kept.astype(float), 1), 0.0, 1 / sqrt(total))
    for axis in range(2):
        assert within(shift[..., axis].mean(), 0.0, 0.7 / sqrt(total))
        assert within(shift[..., axis].std(), 0.7, 0.7 / sqrt(2 * total))
        assert within(lagged(shift[..., axis], 1), 0.0, 1 / sqrt(total))
    assert within(
        float(np.corrcoef(shift[..., 0].ravel(), shift[..., 1].ravel())[0, 1]), 0.0, 1 / sqrt(total)
    )
    assert not any(errors.turn.any() for errors in seen)
    assert np.allclose(seen[0].shift_covariance, [0.49, 0.0, 0.49])


@pytest.mark.parametrize("probability", [0.0, 1.0])
def test_model_1_with_a_certain_outcome(probability: float) -> None:
    noise = NoiseV1(missing_probability=probability)
    errors = errors_v1(noise, stream(1, "lidar"), keys_of(1000), 0)
    assert errors.detected.all() == (probability == 0.0)
    assert errors.detected.any() == (probability == 0.0)
    assert not errors.shift.any()


def test_the_covariance_is_that_of_the_errors() -> None:
    count = 20_000
    local = np.repeat(np.array([[30.0, -70.0]]), count, axis=0)
    bearing = local / np.linalg.norm(local, axis=1, keepdims=True)
    errors = errors_v2(
        replace(NOISE, stationary_start=True),
        Memory(),
        stream(1, "lidar"),
        ids=np.arange(count),
        keys=keys_of(count),
        time_ns=0,
        local=local,
        bearing=bearing,
        speed=np.ones(count),
    )
    (xx, xy), (_, yy) = np.cov(errors.shift.T)
    # The relative standard error of a sample variance is sqrt(2 / count), here 1 %.
    assert np.allclose([xx, xy, yy], errors.shift_covariance[0], rtol=STANDARD_ERRORS * sqrt(2 / count))
    assert np.isclose(errors.turn.var(), errors.turn_variance[0], rtol=STANDARD_ERRORS * sqrt(2 / count))


def test_draws_are_uniform_and_normal_in_every_channel_and_over_time() -> None:
    keys, source, count = keys_of(2000), stream(1, "lidar"), 2000 * 50
    drawn = np.array([uniforms(source, keys, frame, 4) for frame in range(50)])
    assert drawn.min() > 0.0
    assert drawn.max() <= 1.0
    flat = drawn.transpose(1, 0, 2).reshape(4, -1)
    assert np.abs(flat.mean(axis=1) - 0.5).max() < STANDARD_ERRORS / sqrt(12 * count)
    assert np.abs(flat.var(axis=1) - 1 / 12).max() < STANDARD_ERRORS / sqrt(180 * count)
    for lag_axis in (0, 1, 2):  # time, channel, object
        ahead, behind = (
            np.take(drawn, np.arange(drawn.shape[lag_axis])[cut], lag_axis)
            for cut in (slice(1, None), slice(-1))
        )
        correlation = np.corrcoef(ahead.ravel(), behind.ravel())[0, 1]
        assert abs(correlation) < STANDARD_ERRORS / sqrt(ahead.size)
    first, second = normals(flat[0], flat[1])
    for values in (first, second):
        assert within(values.mean(), 0.0, 1 / sqrt(count))
        assert within(values.var(), 1.0, sqrt(2 / count))
        assert within((values**4).mean(), 3.0, sqrt(96 / count))
    assert within(float((first * second).mean()), 0.0, 1 / sqrt(count))
