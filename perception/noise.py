"""How sensors err: noise models 1 and 2 over all objects at once.

Model 1 forgets; model 2 remembers each object, so that errors drift, headings stay flipped and misses last.
The time between two sights of an object, however long the gap, is one step; frames in which an object is out
of sight do not touch its memory, frames in which it is missed do. Memory ends with the object.

Where the document of scenario_simulator_v2 leaves room or errs:
- Row 1 of its Markov matrix does not sum to one; `p11 = rate + phi * (1 - rate)` does, and keeps `rate` as
  the long-run share and `phi` as the correlation.
- Rings lie in the ego's own axes. Beyond the last ring every table reads 0: no noise, and after a while
  (at once without autocorrelation) no detection.
- The first sight is a step of no time from no error, detected and not flipped; `stationary_start` draws it
  from the long run instead.
- Distance errors point away from the ego, level in the map; heading turns about the centre of the box.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diorama.geo.arrays import FloatArray
from diorama.perception.draws import Keys, normals, uniforms
from diorama.perception.parameters import Autocorrelation, NoiseV1, NoiseV2, Rings, Wander

Bools = NDArray[np.bool_]
Ids = NDArray[np.int64]
Slots = NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """What the noise does to n objects.

    `shift` (n, 2) metres in map x and y, `turn` (n,) radians about the body's up axis, `detected` (n,). The
    variances are those of the model at work: `shift_covariance` (n, 3) is xx, xy, yy in m², `turn_variance`
    (n,) in rad²; flips are not in it.
    """

    shift: FloatArray
    turn: FloatArray
    detected: Bools
    shift_covariance: FloatArray
    turn_variance: FloatArray


def errors_v1(noise: NoiseV1, source: int, keys: Keys, time_ns: int) -> Errors:
    """Errors of model 1 for objects with the given keys (n,); `source` is a `draws.stream`."""
    radius, angle, luck = uniforms(source, keys, time_ns, 3)
    count, variance = len(keys), noise.standard_deviation**2
    return Errors(
        shift=noise.standard_deviation * np.stack(normals(radius, angle), axis=1),
        turn=np.zeros(count),
        # Draws lie in (0, 1]: a probability of 0 never drops, of 1 always.
        detected=luck > noise.missing_probability,
        shift_covariance=np.tile([variance, 0.0, variance], (count, 1)),
        turn_variance=np.zeros(count),
    )


_REMEMBERED = np.dtype(
    [
        ("id", np.int64),
        ("time_ns", np.int64),
        ("distance", np.float64),
        ("yaw", np.float64),
        ("flipped", np.bool_),
        ("detected", np.bool_),
    ]
)


class Memory:
    """What model 2 remembers of every object seen and still alive: `rows`, sorted by id."""

    __slots__ = ("_asked", "_slots", "rows")

    def __init__(self) -> None:
        self.rows: NDArray[np.void] = np.empty(0, _REMEMBERED)
        # Most often the same objects are in sight as the last time: their places are kept.
        self._asked: Ids | None = None
        self._slots: Slots = np.empty(0, np.intp)

    def slots(self, ids: Ids, time_ns: int) -> tuple[Slots, Bools]:
        """Where each object (n,) is kept, and which of them are seen for the first time."""
        if self._asked is not None and np.array_equal(ids, self._asked):
            return self._slots, np.zeros(len(ids), np.bool_)
        new = ~np.isin(ids, self.rows["id"])
        if new.any():
            fresh = np.zeros(np.count_nonzero(new), _REMEMBERED)
            fresh["id"], fresh["time_ns"], fresh["detected"] = ids[new], time_ns, True
            rows = np.concatenate([self.rows, fresh])
            self.rows = rows[np.argsort(rows["id"])]
        self._asked, self._slots = ids.copy(), np.searchsorted(self.rows["id"], ids)
        return self._slots, new

    def forget_all_but(self, alive: Ids) -> None:
        """Drop the memory of objects that are no longer among the living (m,), given in any order."""
        kept = np.isin(self.rows["id"], alive)
        if not kept.all():
            self.rows = self.rows[kept]
            self._asked = None


def errors_v2(
    noise: NoiseV2,
    memory: Memory,
    source: int,
    *,
    ids: Ids,
    keys: Keys,
    time_ns: int,
    local: FloatArray,
    bearing: FloatArray,
    speed: FloatArray,
) -> Errors:
    """Errors of model 2 for the n objects in sight; advances `memory`.

    `ids` (n,) tell objects apart for as long as they live, `keys` (n,) choose their random numbers. `local`
    (n, 2) metres ahead and to the side of the ego, `bearing` (n, 2) the level unit vector from the ego in the
    map, `speed` (n,) m/s.
    """
    slots, new = memory.slots(ids, time_ns)
    radius, angle, flip_luck, detection_luck = uniforms(source, keys, time_ns, 4)
    distance_normal, yaw_normal = normals(radius, angle)
    known = memory.rows  # gathered column by column: whole rows at once take numpy ten times as long
    dt: FloatArray = (time_ns - known["time_ns"][slots]) * np.float64(1e-9)
    rings = _RingLookup(noise.ellipse_y_radii, local)

    def phi_of(correlation: Autocorrelation) -> FloatArray:
        phi = correlation.phi(dt)
        if noise.stationary_start:
            phi[new] = 0.0
        return phi

    def wander(model: Wander, last: FloatArray, normal: FloatArray) -> tuple[FloatArray, FloatArray]:
        phi = phi_of(model.correlation)
        mean, deviation = rings(model.mean), rings(model.standard_deviation)
        return mean + phi * (last - mean) + deviation * np.sqrt(1.0 - phi * phi) * normal, deviation

    def markov(model: Autocorrelation, rate: FloatArray | float, last: Bools, luck: FloatArray) -> Bools:
        phi = phi_of(model)
        state: Bools = luck <= phi * last + (1.0 - phi) * rate
        return state

    distance, distance_deviation = wander(noise.distance, known["distance"][slots], distance_normal)
    yaw, yaw_deviation = wander(noise.yaw, known["yaw"][slots], yaw_normal)
    flipped = markov(noise.flip_correlation, noise.flip_rate, known["flipped"][slots], flip_luck)
    flipped &= speed < noise.flip_speed_threshold
    detected = markov(
        noise.detection_correlation, rings(noise.detection_rate), known["detected"][slots], detection_luck
    )
    known["time_ns"][slots] = time_ns
    known["distance"][slots], known["yaw"][slots] = distance, yaw
    known["flipped"][slots], known["detected"][slots] = flipped, detected
    east, north = bearing[:, 0], bearing[:, 1]
    return Errors(
        shift=distance[:, None] * bearing,
        turn=yaw + np.pi * flipped,
        detected=detected,
        shift_covariance=np.square(distance_deviation)[:, None]
        * np.stack([east * east, east * north, north * north], axis=1),
        turn_variance=np.square(yaw_deviation),
    )


class _RingLookup:
    """Reads tables at n places; tables with ellipses of one shape share the search."""

    __slots__ = ("_found", "_local", "_radii")

    def __init__(self, radii: tuple[float, ...], local: FloatArray) -> None:
        self._radii = np.array(radii)
        self._local = local
        self._found: dict[float, NDArray[np.intp]] = {}

    def __call__(self, rings: Rings) -> FloatArray:
        """The value (n,) of the first ring around a place, borders excluded; 0 beyond the last."""
        found = self._found.get(rings.x_radius)
        if found is None:
            d = np.hypot(self._local[:, 0] / rings.x_radius, self._local[:, 1])
            found = self._found[rings.x_radius] = np.searchsorted(self._radii, d, side="right")
        return np.array([*rings.values, 0.0])[found]
