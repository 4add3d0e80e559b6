"""The old way to configure perception: `ObjectController.Properties` of an OpenSCENARIO ego.

While `override_legacy_configuration` is false, the properties count for delay, range, occlusion and noise
model 1, and the file's values for these are ignored. The choice of the noise model and everything of model 2
always come from the file.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from diorama.perception.parameter_keys import (
    MAX_SEED,
    Key,
    boolean,
    channels,
    field_of_view_deg,
    number,
    resolution_deg,
    whole,
)
from diorama.schemas.errors import Problem, did_you_mean

Properties = Mapping[str, Any] | Sequence[Mapping[str, Any]]

# Delays in seconds, lengths in metres, angles in degrees.
PROPERTIES: dict[str, Key] = {
    "isEgo": Key(True, boolean),
    "detectedObjectPublishingDelay": Key(0.0, number(0.0)),
    "detectedObjectGroundTruthPublishingDelay": Key(0.0, number(0.0)),
    "detectionSensorRange": Key(300.0, number(0.0, above=True)),
    "isClairvoyant": Key(False, boolean),
    "detectedObjectPositionStandardDeviation": Key(0.0, number(0.0)),
    "detectedObjectMissingProbability": Key(0.0, number(0.0, 1.0)),
    "randomSeed": Key(0, whole(0, MAX_SEED)),
    "pointcloudChannels": Key(16, channels),
    "pointcloudHorizontalResolution": Key(1.0, resolution_deg),
    "pointcloudVerticalFieldOfView": Key(30.0, field_of_view_deg),
}
# Properties of the same controller that concern other topics or the planner.
_OTHERS = {"pointcloudPublishingDelay", "maxJerk", "minJerk", "maxSpeed", "allowGoalModification"}
# The key of a parameter file that each property stands for while the legacy configuration counts.
DETECTION_FROM_LEGACY = {
    "delay": "detectedObjectPublishingDelay",
    "range": "detectionSensorRange",
    "occlusionless": "isClairvoyant",
    "noise.v1.position.standard_deviation": "detectedObjectPositionStandardDeviation",
    "noise.v1.missing_probability": "detectedObjectMissingProbability",
}
GROUND_TRUTH_FROM_LEGACY = {"delay": "detectedObjectGroundTruthPublishingDelay"}


def legacy_properties(given: Properties) -> tuple[dict[str, Any], list[Problem]]:
    """Read `{name: value}` or a list of `{name: ..., value: ...}`; values may be text, as in OpenSCENARIO.

    Every known property is in the result, an omitted or empty one with its default. Properties of a
    controller with `isEgo: false` do not count, as in the simulator they come from.
    """
    defaults: dict[str, Any] = {name: key.default for name, key in PROPERTIES.items()}
    values, problems = dict(defaults), []
    if not _is_shaped(given):
        expected = "expected properties by name, or a list of objects with name and value"
        return defaults, [Problem(f"{expected}, got {given!r}", "ObjectController.Properties")]
    for name, raw in _pairs(given):
        if name in _OTHERS or raw in ("", None):
            continue
        path = f"ObjectController.Properties.{name}"
        if name not in PROPERTIES:
            problems.append(Problem("is no property perception knows" + did_you_mean(name, PROPERTIES), path))
            continue
        values[name] = _value(raw)
        if expected := PROPERTIES[name].check(values[name]):
            problems.append(Problem(f"expected {expected}, got {raw!r}", path))
    return (values if values["isEgo"] is True else defaults), problems


def _is_shaped(given: Any) -> bool:
    if isinstance(given, list | tuple):
        return all(isinstance(item, Mapping) for item in given)
    return isinstance(given, Mapping)


def _pairs(given: Properties) -> Iterator[tuple[str, Any]]:
    if isinstance(given, Mapping):
        yield from ((str(name), value) for name, value in given.items())
    else:
        yield from ((str(item.get("name")), item.get("value")) for item in given)


def _value(raw: object) -> object:
    """The boolean or number that a text means, otherwise the text itself."""
    if not isinstance(raw, str):
        return raw
    text = raw.strip().lower()
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return raw
