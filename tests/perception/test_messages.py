"""Messages: they follow their schemas, say what the errors made of the objects, and hold no identity."""

import json
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import jsonschema_rs
import numpy as np
import orjson
import pytest

from diorama.geo.rotation import multiply, quaternion_from_rpy, rpy_from_quaternion
from diorama.perception.messages import LABELS, Objects, detected_objects, tracked_objects
from diorama.perception.noise import Errors

NOISE = {"model_version": 2, "seed": 7}
WHEN = {"published_ns": 12_300_000_000, "captured_ns": 12_100_000_000}


def validator(name: str) -> Any:
    schema = json.loads(files("diorama.schemas").joinpath(f"{name}.schema.json").read_text())
    jsonschema_rs.meta.validate(schema)
    return jsonschema_rs.validator_for(schema)


def objects_of(count: int) -> Objects:
    random = np.random.default_rng(count)
    position = random.normal(size=(count, 3)) * 50.0
    return Objects(
        ids=np.arange(count),
        uuids=np.array([f"00000000-0000-5000-8000-{index:012d}" for index in range(count)], object),
        label=(np.arange(count) % 12).astype(np.uint8),
        position=position,
        center=position + random.normal(size=(count, 3)),
        orientation=quaternion_from_rpy(
            np.column_stack([np.zeros((count, 2)), random.uniform(-3, 3, count)])
        ),
        size=random.uniform(1.0, 5.0, (count, 3)),
        linear=random.normal(size=(count, 3)) * (np.arange(count) % 2)[:, None],
        angular=random.normal(size=(count, 3)),
    )


def errors_of(count: int) -> Errors:
    random = np.random.default_rng(count + 1)
    return Errors(
        shift=random.normal(size=(count, 2)),
        turn=random.uniform(-4, 4, count),
        detected=random.random(count) < 0.7,
        shift_covariance=random.random((count, 3)),
        turn_variance=random.random(count),
    )


def vector(value: dict[str, float]) -> list[float]:
    return [value[axis] for axis in "xyzw" if axis in value]


@pytest.mark.parametrize("count", [0, 1, 30])
def test_every_message_follows_its_schema_and_survives_json(count: int) -> None:
    objects, errors = objects_of(count), errors_of(count)
    detected = detected_objects(objects, errors, sensor="lidar", noise=NOISE, **WHEN)
    tracked = tracked_objects(objects, sensor="lidar", **WHEN)
    for name, message in (("detected_objects", detected), ("tracked_objects", tracked)):
        assert [str(error) for error in validator(name).iter_errors(message)] == []
        assert orjson.loads(orjson.dumps(message)) == message


def test_both_stamps_and_the_noise_are_at_the_top() -> None:
    message = detected_objects(objects_of(1), errors_of(1), sensor="lidar", noise=NOISE, **WHEN)
    assert message["header"] == {"stamp": {"sec": 12, "nanosec": 300_000_000}, "frame_id": "map"}
    assert message["capture_stamp"] == {"sec": 12, "nanosec": 100_000_000}
    assert (message["sensor"], message["noise"]) == ("lidar", NOISE)


def test_detections_are_shifted_turned_and_thinned_out() -> None:
    objects, errors = objects_of(30), errors_of(30)
    found = detected_objects(objects, errors, sensor="lidar", noise=NOISE, **WHEN)["objects"]
    kept = np.flatnonzero(errors.detected)
    assert len(found) == len(kept) < 30
    for index, item in zip(kept, found, strict=True):
        kinematics = item["kinematics"]
        pose = kinematics["pose_with_covariance"]["pose"]
        assert np.allclose(vector(pose["position"])[:2], objects.center[index, :2] + errors.shift[index])
        assert pose["position"]["z"] == objects.center[index, 2]
        # yaw about up is minus yaw about down, and these bodies are level
        turned = multiply(objects.orientation[index], quaternion_from_rpy([0.0, 0.0, errors.turn[index]]))
        assert np.allclose(rpy_from_quaternion(vector(pose["orientation"])), rpy_from_quaternion(turned))
        matrix = np.array(kinematics["pose_with_covariance"]["covariance"]).reshape(6, 6)
        xx, xy, yy = errors.shift_covariance[index]
        assert np.array_equal(matrix[:2, :2], [[xx, xy], [xy, yy]])
        assert matrix[5, 5] == errors.turn_variance[index]
        assert np.count_nonzero(matrix) == 5
        assert kinematics["has_position_covariance"] is True
        assert (
            vector(kinematics["twist_with_covariance"]["twist"]["linear"]) == objects.linear[index].tolist()
        )
        assert vector(item["shape"]["dimensions"]) == objects.size[index].tolist()
        assert item["classification"] == [{"label": objects.label[index], "probability": 1.0}]
        assert kinematics["orientation_availability"] == (1 if objects.label[index] else 0)


def test_detections_hold_nothing_that_tells_who_is_who() -> None:
    message = detected_objects(objects_of(5), errors_of(5), sensor="lidar", noise=NOISE, **WHEN)
    assert all(uuid not in json.dumps(message) for uuid in objects_of(5).uuids)


def test_ground_truth_is_the_truth() -> None:
    objects = objects_of(30)
    found = tracked_objects(objects, sensor="lidar", **WHEN)["objects"]
    assert [item["object_id"] for item in found] == objects.uuids.tolist()
    for index, item in enumerate(found):
        kinematics = item["kinematics"]
        pose = kinematics["pose_with_covariance"]["pose"]
        assert vector(pose["position"]) == objects.center[index].tolist()
        assert vector(pose["orientation"]) == objects.orientation[index].tolist()
        assert (
            vector(kinematics["twist_with_covariance"]["twist"]["angular"]) == objects.angular[index].tolist()
        )
        assert kinematics["is_stationary"] == (index % 2 == 0)


def test_labels_are_those_of_autoware() -> None:
    assert [LABELS[name] for name in ("unknown", "car", "truck", "bus", "trailer")] == [0, 1, 2, 3, 4]
    assert [LABELS[name] for name in ("motorcycle", "bicycle", "pedestrian")] == [5, 6, 7]


BREAKS: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("no stamp", lambda message: message["header"].pop("stamp")),
    ("a frame that is not the map", lambda message: message["header"].update(frame_id="base_link")),
    ("no objects", lambda message: message.pop("objects")),
    ("a key nobody knows", lambda message: message.update(extra=1)),
    ("a short covariance", lambda message: message["objects"][0]["kinematics"].pop("pose_with_covariance")),
    ("a label nobody knows", lambda message: message["objects"][0]["classification"][0].update(label=12)),
]


@pytest.mark.parametrize(("name", "damage"), BREAKS, ids=[name for name, _ in BREAKS])
def test_a_damaged_message_fails_its_schema(name: str, damage: Callable[[dict[str, Any]], object]) -> None:
    message = orjson.loads(orjson.dumps(tracked_objects(objects_of(2), sensor="lidar", **WHEN)))
    damage(message)
    assert not validator("tracked_objects").is_valid(message)
