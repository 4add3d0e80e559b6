"""`diorama serve --perception`: both topics over a real socket, the same as perception alone would say."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diorama.cli.main import main
from diorama.ecs import Bounds, Classification, World, propagate
from diorama.geo import quaternion_from_rpy
from diorama.perception import DETECTION_TOPIC, GROUND_TRUTH_TOPIC, Perception, attach, read_parameters
from diorama.runtime.load import load, save
from diorama.tests.cli.test_serve import serving
from diorama.tests.patience import PATIENCE_S
from diorama.tests.perception.test_messages import validator
from diorama.transport.subscriber import Subscriber

PARAMETERS = f"""\
/**:
  ros__parameters:
    {DETECTION_TOPIC}:
      version: 20240605
      seed: 3
      override_legacy_configuration: true
      delay: 0.2
      noise:
        model: {{version: 1}}
        v1: {{position: {{standard_deviation: 0.5}}, missing_probability: 0.2}}
    {GROUND_TRUTH_TOPIC}:
      version: 20240605
"""


@pytest.fixture
def street(tmp_path: Path) -> Path:
    random = np.random.default_rng(1)
    box = Bounds((4.4, 1.8, 1.5), (0.0, 0.0, -0.75))
    world = World()
    world.spawn("ego", box, Classification("car"))
    for index in range(20):
        turn = quaternion_from_rpy((0.0, 0.0, float(random.uniform(-3, 3))))
        place = (*random.uniform(-40, 40, 2), 0.0)
        world.spawn(f"car {index}", box, Classification("car"), position=place, orientation=turn)
    path = tmp_path / "street.scene.json"
    save(world, path)
    (tmp_path / "params.yaml").write_text(PARAMETERS)
    return path


def nanoseconds(stamp: dict[str, int]) -> int:
    return stamp["sec"] * 10**9 + stamp["nanosec"]


def test_both_topics_arrive_and_say_what_perception_says(street: Path) -> None:
    parameters = street.with_name("params.yaml")
    heard: dict[str, list[dict[str, Any]]] = {DETECTION_TOPIC: [], GROUND_TRUTH_TOPIC: []}
    with (
        serving(street, "--perception", str(parameters), "--ego", "ego", "--rate", "100") as (_, endpoint),
        Subscriber(endpoint, *(f"{topic}/" for topic in heard)) as subscriber,
    ):
        while any(len(messages) < 3 for messages in heard.values()):
            received = subscriber.receive(PATIENCE_S)
            assert received is not None
            heard[received.topic].append(received.json())
    world = load(street)
    attach(world, world.find("ego"))
    propagate(world)
    perception = Perception(world, read_parameters(parameters))
    last_ns = max(
        nanoseconds(message["header"]["stamp"]) for messages in heard.values() for message in messages
    )
    expected = {
        (topic, nanoseconds(message["header"]["stamp"])): message
        for time_ns in range(10_000_000, last_ns + 1, 10_000_000)
        for topic, message in perception.due(world, time_ns, 10_000_000)
    }
    for topic, name, delay_ns in (
        (DETECTION_TOPIC, "detected_objects", 200_000_000),
        (GROUND_TRUTH_TOPIC, "tracked_objects", 0),
    ):
        for message in heard[topic]:
            assert validator(name).is_valid(message)
            time_ns = nanoseconds(message["header"]["stamp"])
            assert time_ns % 100_000_000 == 0
            assert time_ns - nanoseconds(message["capture_stamp"]) == delay_ns
            assert message == expected[topic, time_ns]
    assert 0 < len(heard[DETECTION_TOPIC][0]["objects"]) < len(heard[GROUND_TRUTH_TOPIC][0]["objects"]) == 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--perception", "params.yaml"],
            "no sensor perceives: expected one of type 'lidar' or 'perception'",
        ),
        (["--perception", "params.yaml", "--ego", "eg"], "no entity is named 'eg'; did you mean 'ego'?"),
        (["--perception", "params.yaml", "--ego", "zzz"], "`diorama tree FILE` shows all names"),
        (["--perception", "missing.yaml"], "missing.yaml: cannot be read: no such file or folder"),
        (["--perception", "street.scene.json"], "expected parameters of"),
        (["--ego", "ego"], "--ego needs --perception FILE"),
    ],
)
def test_what_cannot_be_perceived_is_a_sentence(street: Path, options: list[str], message: str) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "diorama.cli",
            "serve",
            street.name,
            "--endpoint",
            "tcp://127.0.0.1:*",
            *options,
        ],
        cwd=street.parent,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == (2 if options[0] == "--ego" else 1)
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_json_is_one_line_whatever_else_runs(street: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["serve", str(street), "--perception", str(street.with_name("params.yaml")), "--ego", "ego"]
    words += ["--endpoint", "tcp://127.0.0.1:*", "--service", "tcp://127.0.0.1:*", "--ticks", "1", "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["endpoints"]
