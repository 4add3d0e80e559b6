"""What a perception topic is told to do: the parameters that count, one value per topic.

These values are final. They come out of `parameters_from_dict` or `read_parameters`, which check every key
and decide between the parameter file and the legacy `ObjectController.Properties`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diorama.geo.arrays import FloatArray

DETECTION_TOPIC = "/perception/object_recognition/detection/objects"
GROUND_TRUTH_TOPIC = "/perception/object_recognition/ground_truth/objects"
ELLIPSE_Y_RADII = (10.0, 20.0, 40.0, 60.0, 80.0, 120.0, 150.0, 180.0, 1000.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Autocorrelation:
    """How much of the last value is left after a time: amplitude * exp(-decay * dt) + offset, within 0..1."""

    amplitude: float = 0.0
    decay: float = 0.0
    offset: float = 0.0

    def phi(self, dt: FloatArray) -> FloatArray:
        """The coefficients (n,) after `dt` (n,) seconds."""
        return np.clip(self.amplitude * np.exp(-self.decay * dt) + self.offset, 0.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rings:
    """One value per elliptical ring around the ego.

    `x_radius` is the ratio of an ellipse's radius ahead to its radius aside (`NoiseV2.ellipse_y_radii`).
    """

    values: tuple[float, ...]
    x_radius: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wander:
    """A noise that wanders as an AR(1) process around a mean (metres or radians)."""

    correlation: Autocorrelation
    mean: Rings
    standard_deviation: Rings


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseV1:
    """Independent position errors (metres, each of map x and y) and independent misses."""

    standard_deviation: float = 0.0
    missing_probability: float = 0.0

    @property
    def version(self) -> int:
        """The number of this model in parameter files."""
        return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseV2:
    """Correlated errors of distance and heading, heading flips and misses, by rings around the ego."""

    ellipse_y_radii: tuple[float, ...]
    distance: Wander
    yaw: Wander
    flip_correlation: Autocorrelation
    flip_speed_threshold: float
    flip_rate: float
    detection_correlation: Autocorrelation
    detection_rate: Rings
    stationary_start: bool = False

    @property
    def version(self) -> int:
        """The number of this model in parameter files."""
        return 2


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionParameters:
    """The topic of what is detected; `seed` 0 draws one for each run."""

    version: int
    seed: int = 0
    delay_ns: int = 0
    range: float = 300.0
    occlusionless: bool = False
    noise: NoiseV1 | NoiseV2 = field(default_factory=NoiseV1)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundTruthParameters:
    """The topic of what there is."""

    version: int
    delay_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lidar:
    """The rays that decide what is in sight: `channels` rows over the field of view, columns all around.

    The field of view lies around `vertical_center_deg` above the horizon.
    """

    channels: int = 16
    horizontal_resolution_deg: float = 1.0
    vertical_field_of_view_deg: float = 30.0
    vertical_center_deg: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Both topics of one sensor; a topic that is None is not published.

    `given` is what they were made of, so that they can be weighed against other legacy properties.
    """

    detection: DetectionParameters | None = None
    ground_truth: GroundTruthParameters | None = None
    lidar: Lidar = field(default_factory=Lidar)
    given: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
