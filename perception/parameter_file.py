"""Parameters out of a ROS 2 parameter file or a dict. The only home of PyYAML."""

import logging
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from diorama.perception.legacy import (
    DETECTION_FROM_LEGACY,
    GROUND_TRUTH_FROM_LEGACY,
    Properties,
    legacy_properties,
)
from diorama.perception.parameter_keys import DETECTION_KEYS, FLAT, GROUND_TRUTH_KEYS, Key, problems_of
from diorama.perception.parameters import (
    DETECTION_TOPIC,
    GROUND_TRUTH_TOPIC,
    Autocorrelation,
    DetectionParameters,
    GroundTruthParameters,
    Lidar,
    NoiseV1,
    NoiseV2,
    Parameters,
    Rings,
    Wander,
)
from diorama.schemas.errors import Problem, SceneError, did_you_mean, missing_extra, reason

log = logging.getLogger(__name__)

_TOPICS = {DETECTION_TOPIC: DETECTION_KEYS, GROUND_TRUTH_TOPIC: GROUND_TRUTH_KEYS}
# Topics of the same simulator that stand in the same files and are configured by others.
_OTHER_TOPICS = {
    "/localization/kinematic_state",
    "/localization/pose_estimator/pose_with_covariance",
    "/perception/obstacle_segmentation/pointcloud",
    "/sensing/imu/imu_data",
    "/vehicle/status/velocity_status",
}


def read_parameters(path: str | Path, properties: Properties | None = None) -> Parameters:
    """Read a ROS 2 parameter file; all that is wrong with it is in one SceneError, with line numbers."""
    try:
        import yaml
    except ImportError:
        missing_extra("perception", "reading a ROS 2 parameter file")
    lines: dict[str, int] = {}
    doubled: list[Problem] = []

    def flatten(node: yaml.Node, prefix: str) -> Iterator[tuple[str, Any]]:
        if not isinstance(node, yaml.MappingNode):
            yield prefix, loader.construct_object(node, deep=True)
            return
        for key_node, value_node in node.value:
            name = f"{prefix}.{key_node.value}" if prefix else str(key_node.value)
            if name in lines:
                here = key_node.start_mark.line + 1
                doubled.append(
                    Problem(f"stands here and in line {lines[name]}", _without_node(name), line=here)
                )
            lines[name] = key_node.start_mark.line + 1
            yield from flatten(value_node, name)

    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise SceneError(Problem(f"cannot be read: {reason(error)}", file=str(path))) from None
    try:
        loader = yaml.SafeLoader(content)
        root = loader.get_single_node()
        flat = dict(flatten(root, "")) if root is not None else {}
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line, column = (mark.line + 1, mark.column + 1) if mark else (None, None)
        said = " ".join(str(getattr(error, "problem", None) or error).split())
        raise SceneError(Problem(f"is not YAML: {said}", file=str(path), line=line, column=column)) from None
    lines = {_without_node(name): line for name, line in lines.items()}
    return _parameters(flat, properties, file=str(path), lines=lines, problems=doubled)


def parameters_from_dict(document: Mapping[str, Any], properties: Properties | None = None) -> Parameters:
    """Take the parameters of both topics from a dict: keys nested or dotted, with or without ROS wrapping."""

    def flatten(value: Any, prefix: str) -> Iterator[tuple[str, Any]]:
        if isinstance(value, Mapping) and value:
            for key, inner in value.items():
                yield from flatten(inner, f"{prefix}.{key}" if prefix else str(key))
        elif prefix:
            yield prefix, None if isinstance(value, Mapping) else value

    return _parameters(dict(flatten(document, "")), properties, file="", lines={}, problems=[])


def _without_node(name: str) -> str:
    """The parameter's name without the node it is for: `/**.ros__parameters.` in most files."""
    return name.partition("ros__parameters.")[2] or name


def _parameters(
    flat: Mapping[str, Any],
    properties: Properties | None,
    *,
    file: str,
    lines: Mapping[str, int],
    problems: list[Problem],
) -> Parameters:
    """Check everything, then decide which values count."""
    given: dict[str, dict[str, Any]] = {}
    for name, value in flat.items():
        topic, _, key = _without_node(name).partition(".")
        if topic in _TOPICS:
            given.setdefault(topic, {})
            if key or value is not None:
                given[topic][key] = value
        elif topic not in _OTHER_TOPICS and (hint := did_you_mean(topic, _TOPICS)):
            problems.append(Problem(f"is no perception topic{hint}", topic))
    for topic, values in given.items():
        problems += [
            Problem(problem.message, f"{topic}.{problem.path}")
            for problem in problems_of(values, _TOPICS[topic])
        ]
    if not given and not problems:
        problems.append(Problem(f"expected parameters of {' or '.join(_TOPICS)}, found neither"))
    legacy, wrong = legacy_properties(properties or {})
    problems = [
        Problem(
            problem.message, problem.path, file, problem.line or _line(problem.path, lines), problem.column
        )
        for problem in problems
    ]
    if problems or wrong:
        raise SceneError(sorted(problems, key=lambda problem: problem.line or 0) + wrong)
    return Parameters(
        given=flat,
        detection=_detection(given[DETECTION_TOPIC], legacy) if DETECTION_TOPIC in given else None,
        ground_truth=_ground_truth(given[GROUND_TRUTH_TOPIC], legacy)
        if GROUND_TRUTH_TOPIC in given
        else None,
        lidar=Lidar(
            channels=legacy["pointcloudChannels"],
            horizontal_resolution_deg=legacy["pointcloudHorizontalResolution"],
            vertical_field_of_view_deg=legacy["pointcloudVerticalFieldOfView"],
        ),
    )


def _line(path: str, lines: Mapping[str, int]) -> int | None:
    """The line of a key, or of what is around it when the key itself is missing."""
    while path and path not in lines:
        path = path.rpartition(".")[0]
    return lines.get(path)


def _effective(
    topic: str,
    given: Mapping[str, Any],
    keys: Mapping[str, Key],
    legacy: Mapping[str, Any],
    old: Mapping[str, str],
) -> dict[str, Any]:
    """Given values over defaults, and the legacy properties over both unless they are overridden."""
    values: dict[str, Any] = {name: key.default for name, key in keys.items()} | dict(given)
    if not values["override_legacy_configuration"]:
        for name, property_name in old.items():
            if values[name] != legacy[property_name] and name in given:
                log.warning(
                    "%s.%s: %r is ignored, %s = %r counts while override_legacy_configuration is false",
                    *(topic, name, values[name], property_name, legacy[property_name]),
                )
            values[name] = legacy[property_name]
    return values


def _ground_truth(given: Mapping[str, Any], legacy: Mapping[str, Any]) -> GroundTruthParameters:
    values = _effective(GROUND_TRUTH_TOPIC, given, GROUND_TRUTH_KEYS, legacy, GROUND_TRUTH_FROM_LEGACY)
    return GroundTruthParameters(version=values["version"], delay_ns=_nanoseconds(values["delay"]))


def _detection(given: Mapping[str, Any], legacy: Mapping[str, Any]) -> DetectionParameters:
    old = dict(DETECTION_FROM_LEGACY)
    if given.get("noise.model.version", 1) == 1:
        old["seed"] = "randomSeed"
    values = _effective(DETECTION_TOPIC, given, DETECTION_KEYS, legacy, old)
    noise: NoiseV1 | NoiseV2 = _noise_v2(values)
    if values["noise.model.version"] == 1:
        noise = NoiseV1(
            standard_deviation=float(values["noise.v1.position.standard_deviation"]),
            missing_probability=float(values["noise.v1.missing_probability"]),
        )
    return DetectionParameters(
        version=values["version"],
        seed=values["seed"],
        delay_ns=_nanoseconds(values["delay"]),
        range=float(values["range"]),
        occlusionless=values["occlusionless"],
        noise=noise,
    )


def _noise_v2(values: Mapping[str, Any]) -> NoiseV2:
    v2 = {
        name.removeprefix("noise.v2."): value
        for name, value in values.items()
        if name.startswith("noise.v2.")
    }
    count = len(v2["ellipse_y_radii"])

    def autocorrelation(channel: str) -> Autocorrelation:
        parts = ("amplitude", "decay", "offset")
        return Autocorrelation(
            **{part: float(v2[f"{channel}.autocorrelation_coefficient.{part}"]) for part in parts}
        )

    def rings(table: str, flat: float) -> Rings:
        given = v2[f"{table}.values"]
        return Rings(
            values=(flat,) * count if given is FLAT else tuple(map(float, given)),
            x_radius=float(v2[f"{table}.ellipse_normalized_x_radius"]),
        )

    def wander(channel: str) -> Wander:
        return Wander(
            correlation=autocorrelation(channel),
            mean=rings(f"{channel}.mean", 0.0),
            standard_deviation=rings(f"{channel}.standard_deviation", 0.0),
        )

    return NoiseV2(
        ellipse_y_radii=tuple(map(float, v2["ellipse_y_radii"])),
        distance=wander("distance"),
        yaw=wander("yaw"),
        flip_correlation=autocorrelation("yaw_flip"),
        flip_speed_threshold=float(v2["yaw_flip.speed_threshold"]),
        flip_rate=float(v2["yaw_flip.rate"]),
        detection_correlation=autocorrelation("true_positive"),
        detection_rate=rings("true_positive.rate", 1.0),
        stationary_start=v2["stationary_start"],
    )


def _nanoseconds(seconds: float) -> int:
    return round(Fraction(seconds) * 1_000_000_000)  # exact: no delay overflows
