"""Noise in the long run: means, deviations, correlations, rates and runs.

Statistics run with fixed seeds and are held to four standard errors, by the closed formulas of AR(1) processes
and two-state Markov chains.
"""

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

from diorama.geo.arrays import FloatArray
from diorama.perception.draws import normals, stream, uniforms
from diorama.perception.noise import Bools, Memory, errors_v1, errors_v2
from diorama.perception.parameters import NoiseV1
from diorama.tests.perception.sky import (
    BURN_IN,
    DEVIATIONS,
    MEANS,
    NOISE,
    PERIOD_NS,
    RATES,
    RING_PLACES,
    STANDARD_ERRORS,
    Sky,
    keys_of,
    lagged,
    phi,
    watch,
    within,
)

OBJECTS, FRAMES = 120, 500


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
