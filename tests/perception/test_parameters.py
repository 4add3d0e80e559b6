"""Parameters of perception topics: every key, every refusal, and which of file and legacy counts."""

import sys
from pathlib import Path
from typing import Any

import pytest

from diorama.perception.parameter_file import parameters_from_dict, read_parameters
from diorama.perception.parameters import (
    DETECTION_TOPIC,
    ELLIPSE_Y_RADII,
    GROUND_TRUTH_TOPIC,
    Autocorrelation,
    DetectionParameters,
    Lidar,
    NoiseV1,
    NoiseV2,
    Rings,
)
from diorama.schemas.errors import MissingExtraError, SceneError

VERSION = 20240605


def detection(properties: Any = None, **keys: Any) -> DetectionParameters:
    """The detection topic with the given keys, `__` standing for the dots."""
    values = {name.replace("__", "."): value for name, value in keys.items()}
    found = parameters_from_dict({DETECTION_TOPIC: {"version": VERSION, **values}}, properties).detection
    assert found is not None
    return found


def complaints(document: dict[str, Any], properties: Any = None) -> str:
    with pytest.raises(SceneError) as caught:
        parameters_from_dict(document, properties)
    return str(caught.value)


def test_only_the_version_is_needed_and_the_sample_files_values_are_the_defaults() -> None:
    assert detection() == DetectionParameters(
        version=VERSION, seed=0, delay_ns=0, range=300.0, noise=NoiseV1()
    )
    noise = detection(noise__model__version=2).noise
    assert isinstance(noise, NoiseV2)
    assert noise.ellipse_y_radii == ELLIPSE_Y_RADII
    assert noise.distance.mean == noise.yaw.standard_deviation == Rings(values=(0.0,) * 9, x_radius=1.0)
    assert noise.detection_rate == Rings(values=(1.0,) * 9, x_radius=1.0)
    assert (noise.flip_speed_threshold, noise.flip_rate) == (0.1, 0.0)
    assert noise.detection_correlation == Autocorrelation(amplitude=0.0, decay=0.0, offset=0.0)


def test_a_topic_that_is_not_there_is_not_published() -> None:
    parameters = parameters_from_dict({GROUND_TRUTH_TOPIC: {"version": VERSION}})
    assert parameters.detection is None
    assert parameters.ground_truth is not None
    assert "found neither" in complaints({})


def test_every_key_of_model_2_arrives_where_it_belongs() -> None:
    tables = {
        f"noise.v2.{table}": {"ellipse_normalized_x_radius": 1.0 + number, "values": [number / 10, 0.5]}
        for number, table in enumerate(
            (
                "distance.mean",
                "distance.standard_deviation",
                "yaw.mean",
                "yaw.standard_deviation",
                "true_positive.rate",
            )
        )
    }
    coefficients = {
        f"noise.v2.{channel}.autocorrelation_coefficient": {
            "amplitude": number / 10,
            "decay": float(number),
            "offset": 0.1 + number / 10,
        }
        for number, channel in enumerate(("distance", "yaw", "yaw_flip", "true_positive"))
    }
    found = parameters_from_dict(
        {
            DETECTION_TOPIC: {
                "version": VERSION,
                "seed": 7,
                "noise.model.version": 2,
                "noise": {
                    "v2": {
                        "ellipse_y_radii": [5, 50],
                        "yaw_flip": {"rate": 0.25, "speed_threshold": 2},
                        "stationary_start": True,
                    }
                },
                **tables,
                **coefficients,
            }
        }
    ).detection
    assert found is not None
    assert isinstance(found.noise, NoiseV2)
    noise = found.noise
    assert found.seed == 7
    assert noise.ellipse_y_radii == (5.0, 50.0)
    rings = (
        noise.distance.mean,
        noise.distance.standard_deviation,
        noise.yaw.mean,
        noise.yaw.standard_deviation,
        noise.detection_rate,
    )
    assert rings == tuple(Rings(values=(n / 10, 0.5), x_radius=1.0 + n) for n in range(5))
    correlations = (
        noise.distance.correlation,
        noise.yaw.correlation,
        noise.flip_correlation,
        noise.detection_correlation,
    )
    assert correlations == tuple(
        Autocorrelation(amplitude=n / 10, decay=float(n), offset=0.1 + n / 10) for n in range(4)
    )
    assert (noise.flip_rate, noise.flip_speed_threshold, noise.stationary_start) == (0.25, 2.0, True)


def test_an_omitted_table_is_flat_with_one_value_per_ring() -> None:
    noise = detection(noise__model__version=2, noise__v2__ellipse_y_radii=[1.0, 2.0, 3.0]).noise
    assert isinstance(noise, NoiseV2)
    assert noise.detection_rate.values == (1.0, 1.0, 1.0)
    assert noise.distance.mean.values == (0.0, 0.0, 0.0)


WRONG = [
    ("version", 2024_06_05.0, "YYYYMMDD"),
    ("version", 20241305, "YYYYMMDD"),
    ("version", 240605, "YYYYMMDD"),
    ("version", "20240605", "YYYYMMDD"),
    ("version", True, "YYYYMMDD"),
    ("seed", -1, "whole number between 0 and"),
    ("seed", 1.5, "whole number between 0 and"),
    ("override_legacy_configuration", 1, "true or false"),
    ("delay", -0.1, "not below 0"),
    ("delay", float("nan"), "not below 0"),
    ("delay", "0.1", "text in YAML"),
    ("delay", True, "a number"),
    ("delay", 10**400, "not below 0"),
    ("range", 0, "greater than 0"),
    ("range", float("inf"), "greater than 0"),
    ("occlusionless", "yes", "true or false"),
    ("noise.model.version", 3, "expected 1 or 2, got 3"),
    ("noise.model.version", True, "expected 1 or 2"),
    ("noise.v1.position.standard_deviation", -1, "not below 0"),
    ("noise.v1.missing_probability", 1.01, "between 0.0 and 1.0"),
    ("noise.v2.ellipse_y_radii", [], "each greater than the one before"),
    ("noise.v2.ellipse_y_radii", [10.0, 10.0], "each greater than the one before"),
    ("noise.v2.ellipse_y_radii", [0.0, 10.0], "above 0"),
    ("noise.v2.distance.mean.values", [0.0] * 8, "expected 9 values"),
    ("noise.v2.distance.mean.values", 1.0, "list of numbers"),
    ("noise.v2.distance.mean.values", [0.0] * 8 + ["a"], "unlike at [8]"),
    ("noise.v2.yaw.standard_deviation.values", [0.0] * 8 + [-1.0], "unlike at [8]"),
    ("noise.v2.yaw.mean.ellipse_normalized_x_radius", 0.0, "left out, it is 1.0"),
    ("noise.v2.yaw.mean.ellipse_normalized_x_radius", -1.0, "greater than 0"),
    ("noise.v2.yaw_flip.rate", 2, "between 0.0 and 1.0"),
    ("noise.v2.yaw_flip.speed_threshold", -1, "not below 0"),
    ("noise.v2.true_positive.rate.values", [1.0] * 8 + [1.5], "between 0.0 and 1.0"),
    ("noise.v2.distance.autocorrelation_coefficient.decay", -1.0, "not below 0"),
    ("noise.v2.distance.autocorrelation_coefficient.amplitude", 1.5, "between 0.0 and 1.0"),
    ("noise.v2.distanceautocorrelation_coefficient.amplitude", 0.5, "did you mean 'noise.v2.distance.auto"),
    ("occlusionles", True, "did you mean 'occlusionless'?"),
    ("noise", 3, "expected keys inside"),
]


@pytest.mark.parametrize(("key", "value", "words"), WRONG, ids=lambda value: str(value)[:40])
def test_a_wrong_value_is_refused_by_its_key(key: str, value: object, words: str) -> None:
    text = complaints({DETECTION_TOPIC: {"version": VERSION, key: value}})
    assert text.startswith(f"{DETECTION_TOPIC}.{key}: ")
    assert words in text
    assert "\n" not in text


def test_amplitude_and_offset_may_not_exceed_one_together() -> None:
    prefix = "noise.v2.yaw.autocorrelation_coefficient"
    text = complaints({DETECTION_TOPIC: {"version": VERSION, prefix: {"amplitude": 0.7, "offset": 0.4}}})
    assert "at most 1 together" in text


def test_all_that_is_wrong_is_said_at_once() -> None:
    text = complaints(
        {
            DETECTION_TOPIC: {"delay": -1.0, "range": -1.0},
            GROUND_TRUTH_TOPIC: {"version": VERSION, "delay": -1.0, "range": 300.0},
        },
        {"detectionSensorRang": 10, "randomSeed": "many"},
    )
    expected = [
        f"{DETECTION_TOPIC}.version: is missing",
        f"{DETECTION_TOPIC}.delay: ",
        f"{DETECTION_TOPIC}.range: ",
        f"{GROUND_TRUTH_TOPIC}.delay: ",
        f"{GROUND_TRUTH_TOPIC}.range: is no parameter of this topic",
        "ObjectController.Properties.detectionSensorRang: is no property perception knows; did you mean",
        "ObjectController.Properties.randomSeed: expected a whole number between 0 and 9223372036854775807, got 'many'",
    ]
    lines = text.splitlines()
    assert len(lines) == len(expected)
    for line, start in zip(lines, expected, strict=True):
        assert line.startswith(start)


def test_a_topic_almost_named_as_ours_is_refused_and_those_of_others_are_not_ours() -> None:
    near = GROUND_TRUTH_TOPIC.removesuffix("s")
    assert f"did you mean '{GROUND_TRUTH_TOPIC}'?" in complaints({near: {"version": VERSION}})
    document = {
        GROUND_TRUTH_TOPIC: {"version": VERSION},
        "/perception/obstacle_segmentation/pointcloud": {
            "version": VERSION,
            "noise": {"model": {"version": 1}},
        },
        "use_sim_time": True,
    }
    assert parameters_from_dict(document).ground_truth is not None


LEGACY = {
    "isEgo": "true",
    "detectedObjectPublishingDelay": "0.25",
    "detectedObjectGroundTruthPublishingDelay": 0.5,
    "detectionSensorRange": "120.5",
    "isClairvoyant": "True",
    "detectedObjectPositionStandardDeviation": "0.1",
    "detectedObjectMissingProbability": "0.2",
    "randomSeed": "99",
    "pointcloudChannels": "32",
    "pointcloudHorizontalResolution": "0.5",
    "pointcloudVerticalFieldOfView": "",
    "maxSpeed": "50",
}
NEW = {
    "seed": 5,
    "delay": 0.1,
    "range": 50.0,
    "noise.v1.position.standard_deviation": 1.0,
    "noise.v1.missing_probability": 0.5,
}


@pytest.mark.parametrize("listed", [False, True], ids=["mapping", "list"])
@pytest.mark.parametrize("model", [1, 2])
@pytest.mark.parametrize("override", [False, True])
def test_which_of_file_and_legacy_counts(override: bool, model: int, listed: bool) -> None:
    properties: Any = LEGACY
    if listed:
        properties = [{"name": name, "value": value} for name, value in LEGACY.items()]
    head = {"version": VERSION, "override_legacy_configuration": override}
    parameters = parameters_from_dict(
        {
            DETECTION_TOPIC: {**head, **NEW, "noise.model.version": model},
            GROUND_TRUTH_TOPIC: {**head, "delay": 1},
        },
        properties,
    )
    found, truth = parameters.detection, parameters.ground_truth
    assert found is not None
    assert truth is not None
    assert truth.delay_ns == (1_000_000_000 if override else 500_000_000)
    assert (found.delay_ns, found.range, found.occlusionless) == (
        (100_000_000, 50.0, False) if override else (250_000_000, 120.5, True)
    )
    assert found.seed == (5 if override or model == 2 else 99)
    if model == 1:
        v1 = NoiseV1(standard_deviation=1.0, missing_probability=0.5)
        old = NoiseV1(standard_deviation=0.1, missing_probability=0.2)
        assert found.noise == (v1 if override else old)
    else:
        assert isinstance(found.noise, NoiseV2)
    assert parameters.lidar == Lidar(
        channels=32, horizontal_resolution_deg=0.5, vertical_field_of_view_deg=30.0
    )


def test_properties_of_a_controller_that_is_no_ego_do_not_count() -> None:
    assert detection({"isEgo": "false", "detectionSensorRange": 10}).range == 300.0
    assert detection({"detectionSensorRange": 10}).range == 10.0


@pytest.mark.parametrize("properties", [3.5, "isEgo", [None], [{"name": "isEgo"}, "x"]])
def test_properties_that_are_none_are_refused(properties: Any) -> None:
    text = complaints({DETECTION_TOPIC: {"version": VERSION}}, properties)
    assert text.startswith("ObjectController.Properties: expected properties by name, or a list of objects")


def test_a_delay_may_be_longer_than_any_run() -> None:
    assert detection(override_legacy_configuration=True, delay=1e308).delay_ns == 10**9 * int(1e308)


def test_a_value_that_does_not_count_is_said_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    assert detection(range=50.0).range == 300.0
    assert "range: 50.0 is ignored, detectionSensorRange = 300.0 counts" in caplog.text


FILE = """\
/**:
  ros__parameters:
    /perception/object_recognition/detection/objects:
      version: 20240605
      override_legacy_configuration: true
      range: 250
      noise:
        model:
          version: 2
        v2.yaw_flip.rate: 0.5
    /perception/object_recognition/ground_truth/objects:
      version: 20240605
"""


def test_a_ros_parameter_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "parameters.yaml"
    path.write_text(FILE)
    parameters = read_parameters(path)
    assert parameters.ground_truth is not None
    assert parameters.detection is not None
    assert parameters.detection.range == 250.0
    assert isinstance(parameters.detection.noise, NoiseV2)
    assert parameters.detection.noise.flip_rate == 0.5


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("range: 250", "range: -1", ":6: /perception/object_recognition/detection/objects.range: expected"),
        ("  version: 2\n", "  version: 3\n", ":9: "),
        ("      version: 20240605\n      over", "      over", ":3: "),
        ("range: 250", "range: 250\n      range: 300", ":7: "),
        ("range: 250", "range: [250", "is not YAML"),
        ("range: 250", "range: !!python/object:os.system x", "is not YAML"),
    ],
)
def test_an_error_in_a_file_names_file_and_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "parameters.yaml"
    assert old in FILE
    path.write_text(FILE.replace(old, new))
    with pytest.raises(SceneError) as caught:
        read_parameters(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"\xff\xfe\xff", b"a: \x00", b"[" * 5000, b"&a {b: *a}", b"\x80", b"a: 1\n\t- b"]
)
def test_what_is_no_yaml_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "parameters.yaml"
    path.write_bytes(content)
    with pytest.raises(SceneError, match="is not YAML") as caught:
        read_parameters(path)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match=r"nowhere.yaml: cannot be read: no such file"):
        read_parameters(tmp_path / "nowhere.yaml")


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "parameters.yaml"
    path.write_text("")
    with pytest.raises(SceneError, match="found neither"):
        read_parameters(path)


def test_without_yaml_the_extra_is_named_and_dicts_still_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'diorama\[perception\]'"):
        read_parameters(tmp_path / "parameters.yaml")
    assert detection().version == VERSION
