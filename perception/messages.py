"""The messages of both topics, as dicts ready for JSON.

Field by field those of autoware_perception_msgs DetectedObjects and TrackedObjects, with three more at the top:
when it was captured, by which sensor, and under which noise. The map is east-north-up, bodies are
forward-left-up. `schemas/detected_objects.schema.json` and `schemas/tracked_objects.schema.json` describe them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diorama.geo.arrays import FloatArray
from diorama.geo.rotation import multiply
from diorama.perception.noise import Bools, Errors, Ids

Message = dict[str, Any]

# ObjectClassification of autoware_perception_msgs.
LABELS = {
    "unknown": 0,
    "car": 1,
    "truck": 2,
    "bus": 3,
    "trailer": 4,
    "motorcycle": 5,
    "bicycle": 6,
    "pedestrian": 7,
    "animal": 8,
    "hazard": 9,
    "over_drivable": 10,
    "under_drivable": 11,
}
UNAVAILABLE, SIGN_UNKNOWN = 0, 1  # of DetectedObjectKinematics.orientation_availability
BOUNDING_BOX = 0  # of Shape.type
_ZEROS = [0.0] * 36
# Where the variances stand in a row-major 6 x 6 matrix over x, y, z and the rotations about them.
_XX_XY_YY, _YX, _YAW = [0, 1, 7], 6, 35


@dataclass(frozen=True, slots=True, kw_only=True)
class Objects:
    """n objects of a moment in the map, in ROS axes.

    `ids` (n,) tell them apart while they live, `uuids` for ever. `label` (n,) is a number of LABELS. `position`
    (n, 3) is the object's own origin, `center` (n, 3) the middle of its box, `orientation` (n, 4) its forward-
    left-up axes in the map, `size` (n, 3) the whole box along them. `linear` (n, 3) m/s is the velocity of the
    centre and `angular` (n, 3) rad/s the turning, both along the object's own axes.
    """

    ids: Ids
    uuids: NDArray[np.object_]
    label: NDArray[np.uint8]
    position: FloatArray
    center: FloatArray
    orientation: FloatArray
    size: FloatArray
    linear: FloatArray
    angular: FloatArray

    def take(self, chosen: Bools) -> "Objects":
        """Only the chosen ones of them."""
        return Objects(**{name: getattr(self, name)[chosen] for name in self.__slots__})


def detected_objects(
    objects: Objects, errors: Errors, *, published_ns: int, captured_ns: int, sensor: str, noise: Message
) -> Message:
    """What a sensor reports of the objects in sight: those it detected, where and how it mistook them to be."""
    found = objects.take(errors.detected)
    half = 0.5 * errors.turn[errors.detected]
    turn = np.zeros((len(half), 4))
    turn[:, 2], turn[:, 3] = np.sin(half), np.cos(half)
    center = found.center.copy()
    center[:, :2] += errors.shift[errors.detected]
    covariance = np.zeros((len(half), 36))
    covariance[:, _XX_XY_YY] = errors.shift_covariance[errors.detected]
    covariance[:, _YX] = covariance[:, 1]
    covariance[:, _YAW] = errors.turn_variance[errors.detected]
    known = bool(errors.shift_covariance.any() or errors.turn_variance.any())
    poses = zip(_poses(center, multiply(found.orientation, turn)), covariance.tolist(), strict=True)
    return {
        **_header(published_ns, captured_ns, sensor),
        "noise": noise,
        "objects": [
            {
                "existence_probability": 1.0,
                "classification": [{"label": label, "probability": 1.0}],
                "kinematics": {
                    "pose_with_covariance": {"pose": pose, "covariance": variances},
                    "has_position_covariance": known,
                    "orientation_availability": SIGN_UNKNOWN if label else UNAVAILABLE,
                    "twist_with_covariance": {"twist": twist, "covariance": _ZEROS},
                    "has_twist": True,
                    "has_twist_covariance": False,
                },
                "shape": shape,
            }
            for label, (pose, variances), twist, shape in zip(
                found.label.tolist(), poses, _twists(found), _shapes(found), strict=True
            )
        ],
    }


def tracked_objects(objects: Objects, *, published_ns: int, captured_ns: int, sensor: str) -> Message:
    """What there is, as it is, with an id for each object."""
    stationary: Bools = np.all(objects.linear == 0.0, axis=1)
    return {
        **_header(published_ns, captured_ns, sensor),
        "objects": [
            {
                "object_id": uuid,
                "existence_probability": 1.0,
                "classification": [{"label": label, "probability": 1.0}],
                "kinematics": {
                    "pose_with_covariance": {"pose": pose, "covariance": _ZEROS},
                    "orientation_availability": SIGN_UNKNOWN if label else UNAVAILABLE,
                    "twist_with_covariance": {"twist": twist, "covariance": _ZEROS},
                    "acceleration_with_covariance": _NO_ACCELERATION,
                    "is_stationary": still,
                },
                "shape": shape,
            }
            for uuid, label, pose, twist, still, shape in zip(
                objects.uuids.tolist(),
                objects.label.tolist(),
                _poses(objects.center, objects.orientation),
                _twists(objects),
                stationary.tolist(),
                _shapes(objects),
                strict=True,
            )
        ],
    }


def _header(published_ns: int, captured_ns: int, sensor: str) -> Message:
    return {
        "header": {"stamp": _stamp(published_ns), "frame_id": "map"},
        "capture_stamp": _stamp(captured_ns),
        "sensor": sensor,
    }


def _stamp(time_ns: int) -> dict[str, int]:
    seconds, nanoseconds = divmod(time_ns, 1_000_000_000)
    return {"sec": seconds, "nanosec": nanoseconds}


def _vectors(rows: FloatArray) -> list[Message]:
    return [{"x": x, "y": y, "z": z} for x, y, z in rows.tolist()]


_NO_ACCELERATION = {
    "accel": {"linear": {"x": 0.0, "y": 0.0, "z": 0.0}, "angular": {"x": 0.0, "y": 0.0, "z": 0.0}},
    "covariance": _ZEROS,
}


def _poses(position: FloatArray, orientation: FloatArray) -> list[Message]:
    turns = [{"x": x, "y": y, "z": z, "w": w} for x, y, z, w in orientation.tolist()]
    return [
        {"position": place, "orientation": turn}
        for place, turn in zip(_vectors(position), turns, strict=True)
    ]


def _twists(objects: Objects) -> list[Message]:
    pairs = zip(_vectors(objects.linear), _vectors(objects.angular), strict=True)
    return [{"linear": linear, "angular": angular} for linear, angular in pairs]


def _shapes(objects: Objects) -> list[Message]:
    return [
        {"type": BOUNDING_BOX, "footprint": {"points": []}, "dimensions": size}
        for size in _vectors(objects.size)
    ]
