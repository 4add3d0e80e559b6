"""Where entities are along their waypoints: all trajectories of a world at one time, in arrays.

Knots of all trajectories lie behind each other, and each knot has an integer key, trajectory by trajectory and
nanosecond by nanosecond: one search finds the segment of every trajectory.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diorama.ecs.motion import Trajectory
from diorama.geo import Origin, ned_from_lla, quaternion_from_rpy
from diorama.geo.rotation import normalize, slerp
from diorama.schemas.errors import StateError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
STILL = 1e-9  # m/s: slower than this nothing points anywhere
GLANCE_S = 1e-3  # how far ahead one looks to turn a velocity in degrees into metres


@dataclass(frozen=True, slots=True)
class Paths:
    """The knots (k) of n trajectories, and where each trajectory begins among them."""

    first: Integers  # (n,) index of the first knot
    last: Integers  # (n,)
    time_ns: Integers  # (k,)
    key: Integers  # (k,) ascending
    span_ns: int  # more than any trajectory lasts
    position: Floats  # (k, 3) metres, or degrees and metres
    slope: Floats  # (k, 3) per second
    orientation: Floats  # (k, 4)
    turns: NDArray[np.bool_]  # (n,) has orientations of its own
    smooth: NDArray[np.bool_]  # (n,)
    loop: NDArray[np.bool_]  # (n,)
    loop_ns: Integers  # (n,) where a loop begins again
    on_earth: NDArray[np.bool_]  # (n,) knots are latitude, longitude, altitude


@dataclass(frozen=True, slots=True)
class Sample:
    """Position (n, 3) and velocity (n, 3) in metres; orientation (n, 4), good where `known` (n,)."""

    position: Floats
    velocity: Floats
    orientation: Floats
    known: NDArray[np.bool_]


def paths_of(trajectories: Sequence[Trajectory]) -> Paths:
    """The arrays of some trajectories; refuses times that do not ascend and counts that do not agree."""
    parts = [_knots(trajectory) for trajectory in trajectories]
    counts = np.array([len(part[0]) for part in parts], np.int64)
    last = np.cumsum(counts) - 1
    first = last - counts + 1
    time_ns = np.concatenate([part[0] for part in parts]) if parts else np.empty(0, np.int64)
    span_ns = int((time_ns[last] - time_ns[first]).max()) + 1 if parts else 1
    if span_ns * len(parts) >= 2**62:
        raise StateError(
            f"{len(parts)} trajectories of up to {span_ns * 1e-9:g} s are more than can be followed"
        )
    owner = np.repeat(np.arange(len(parts)), counts)
    return Paths(
        first=first,
        last=last,
        time_ns=time_ns,
        key=owner * span_ns + time_ns - time_ns[first[owner]],
        span_ns=span_ns,
        position=np.concatenate([part[1] for part in parts]) if parts else np.empty((0, 3)),
        slope=np.concatenate([part[2] for part in parts]) if parts else np.empty((0, 3)),
        orientation=np.concatenate([part[3] for part in parts]) if parts else np.empty((0, 4)),
        turns=np.array([bool(trajectory.orientations) for trajectory in trajectories], np.bool_),
        smooth=np.array([trajectory.smooth for trajectory in trajectories], np.bool_),
        loop=np.array([trajectory.loop for trajectory in trajectories], np.bool_),
        loop_ns=_loop_ns(trajectories, time_ns[first], time_ns[last]),
        on_earth=np.array([trajectory.frame == "lla" for trajectory in trajectories], np.bool_),
    )


def sample(paths: Paths, time_ns: int, origin: Origin | None = None) -> Sample:
    """Where everything is at a time: held before the first waypoint, and after the last unless it loops."""
    begin, end = paths.time_ns[paths.first], paths.time_ns[paths.last]
    again = paths.loop_ns + (time_ns - paths.loop_ns) % (end - paths.loop_ns)
    now = np.where(paths.loop & (time_ns >= end), again, time_ns)
    moving = (now >= begin) & (now < end)
    past = np.clip(now, begin, end) - begin
    keys = np.arange(len(begin)) * paths.span_ns + past
    left = np.clip(np.searchsorted(paths.key, keys, side="right") - 1, paths.first, paths.last - 1)
    right = left + 1
    length_s = (paths.time_ns[right] - paths.time_ns[left]).astype(np.float64) * 1e-9
    fraction = (past - (paths.time_ns[left] - begin)) * 1e-9 / length_s
    position, velocity = _between(paths, left, right, fraction[:, None], length_s[:, None])
    if paths.on_earth.any():
        position, velocity = _on_earth(paths, position, velocity, origin)
    velocity[~moving] = 0.0
    orientation = slerp(paths.orientation[left], paths.orientation[right], fraction)
    ahead = np.einsum("ij,ij->i", velocity, velocity) > STILL**2
    level = ~paths.turns & ahead
    orientation[level] = _along(velocity[level])
    return Sample(position, velocity, orientation, paths.turns | ahead)


def _knots(trajectory: Trajectory) -> tuple[Integers, Floats, Floats, Floats]:
    name = trajectory.name or "trajectory"
    times = np.asarray(trajectory.times, np.float64)
    position = np.asarray(trajectory.positions, np.float64)
    count = len(times)
    if count == 0 or position.shape != (count, 3):
        raise StateError(
            f"{name}: expected as many positions as times, and at least one, got {len(position)} and {count}"
        )
    if trajectory.orientations and len(trajectory.orientations) != count:
        raise StateError(f"{name}: expected {count} orientations or none, got {len(trajectory.orientations)}")
    if not (np.isfinite(times).all() and np.isfinite(position).all()):
        raise StateError(f"{name}: expected finite times and positions")
    time_ns = np.rint(times * 1e9).astype(np.int64)
    if (np.diff(time_ns) <= 0).any():
        raise StateError(
            f"{name}: expected ascending times, got {times[int(np.argmax(np.diff(time_ns) <= 0)) + 1]:g} s too early"
        )
    if trajectory.frame == "lla":
        position = np.column_stack([position[:, 0], np.unwrap(position[:, 1], period=360.0), position[:, 2]])
    orientation = (
        normalize(trajectory.orientations) if trajectory.orientations else np.tile([0.0, 0, 0, 1], (count, 1))
    )
    if count == 1:  # a segment of one nanosecond, so that every trajectory has one
        time_ns = np.append(time_ns, time_ns + 1)
        position, orientation = np.repeat(position, 2, axis=0), np.repeat(orientation, 2, axis=0)
    return time_ns, position, _slopes(time_ns.astype(np.float64) * 1e-9, position), orientation


def _loop_ns(trajectories: Sequence[Trajectory], begin: Integers, end: Integers) -> Integers:
    wanted = [np.nan if path.loop_from is None else path.loop_from * 1e9 for path in trajectories]
    chosen = np.where(np.isnan(wanted), begin, np.nan_to_num(wanted)).astype(np.int64)
    return np.clip(chosen, begin, end - 1)


def _slopes(time_s: Floats, position: Floats) -> Floats:
    """The velocity at each knot of a smooth path: that of the parabola through it and its neighbours."""
    length = np.diff(time_s)[:, None]
    chord = np.diff(position, axis=0) / length
    slope = np.empty_like(position)
    slope[0], slope[-1] = chord[0], chord[-1]
    if len(position) > 2:
        slope[1:-1] = (chord[:-1] * length[1:] + chord[1:] * length[:-1]) / (length[:-1] + length[1:])
        if (position[0] == position[-1]).all():  # a closed path is smooth where it closes, too
            ends = (chord[-1] * length[0] + chord[0] * length[-1]) / (length[-1] + length[0])
            slope[0] = slope[-1] = ends
    return slope


def _between(
    paths: Paths, left: Integers, right: Integers, u: Floats, length_s: Floats
) -> tuple[Floats, Floats]:
    """Position and velocity a fraction `u` along segments: straight, or as a cubic with the slopes of its ends."""
    start, end = paths.position[left], paths.position[right]
    position = start + u * (end - start)
    velocity = (end - start) / length_s
    if paths.smooth.any():
        from_slope, to_slope = paths.slope[left] * length_s, paths.slope[right] * length_s
        bend = (1 - u) * u * ((1 - u) * (from_slope - (end - start)) - u * (to_slope - (end - start)))
        rate = (
            (1 - 4 * u + 3 * u * u) * (from_slope - (end - start))
            - (2 * u - 3 * u * u) * (to_slope - (end - start))
        ) / length_s
        smooth = paths.smooth[:, None]
        position = np.where(smooth, position + bend, position)
        velocity = np.where(smooth, velocity + rate, velocity)
    return position, velocity


def _on_earth(
    paths: Paths, position: Floats, velocity: Floats, origin: Origin | None
) -> tuple[Floats, Floats]:
    """Degrees and metres turned into NED metres, for the trajectories given on Earth."""
    if origin is None:
        raise StateError(
            "waypoints by latitude and longitude need a scene with a place on Earth: world.origin"
        )
    chosen = paths.on_earth
    here, there = position[chosen], position[chosen] + velocity[chosen] * GLANCE_S
    for points in (here, there):
        points[:, 0] = np.clip(points[:, 0], -90.0, 90.0)
        points[:, 1] = (points[:, 1] + 180.0) % 360.0 - 180.0
    ned = ned_from_lla(here, origin)
    position[chosen], velocity[chosen] = ned, (ned_from_lla(there, origin) - ned) / GLANCE_S
    return position, velocity


def _along(velocity: Floats) -> Floats:
    """Orientations (n, 4) with the nose along a velocity (n, 3) and level wings."""
    north, east, down = velocity.T
    rpy = np.column_stack(
        [np.zeros(len(velocity)), np.arctan2(-down, np.hypot(north, east)), np.arctan2(east, north)]
    )
    return quaternion_from_rpy(rpy)
