"""Objects around an ego, watched for many frames: for the tests of noise."""

from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np

from diorama.geo.arrays import FloatArray
from diorama.perception.draws import key_from_name, stream
from diorama.perception.noise import Bools, Errors, Memory, errors_v2
from diorama.perception.parameters import Autocorrelation, NoiseV2, Rings, Wander

STANDARD_ERRORS = 4.0
SECOND_NS = 1_000_000_000
PERIOD_NS = 100_000_000
BURN_IN = 80  # frames until the start is forgotten: 0.95 * 0.907**80 is below 0.001
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


def lagged(values: FloatArray, lag: int) -> float:
    """The correlation of values with those `lag` frames later."""
    centred = values - values.mean()
    return float((centred[lag:] * centred[:-lag]).mean() / np.square(centred).mean())
