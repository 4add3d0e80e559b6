"""`diorama serve` and `diorama topic` as processes: a scene served, looked at, followed, and ended by Ctrl-C."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from diorama.ecs import World, difference
from diorama.runtime.load import load, save
from diorama.tests.patience import PATIENCE_S, patiently
from diorama.transport.replica import Replica


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    world = World()
    world.spawn("drone", position=(1, 2, -30))
    world.spawn("camera", parent=world.find("drone"), position=(0.5, 0, 0))
    path = tmp_path / "two.scene.json"
    save(world, path)
    return path


@contextmanager
def serving(scene: Path, *options: str) -> "Iterator[tuple[subprocess.Popen[str], str]]":
    """A served scene: the process and its endpoint."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "diorama.cli",
            "serve",
            str(scene),
            "--endpoint",
            "tcp://127.0.0.1:*",
            *options,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        endpoint = ""
        while not endpoint:
            line = process.stdout.readline()
            assert line, process.stderr and process.stderr.read()
            if line.startswith("publishing at "):
                endpoint = line.removeprefix("publishing at ").strip()
        yield process, endpoint
    finally:
        process.kill()
        process.communicate()


def topic(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "diorama.cli", "topic", *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


def heard(enough: Callable[[str], bool], *words: str) -> str:
    """What `topic` tells, once it is enough: a busy machine may spend the seconds of listening on connecting."""
    for _ in patiently():
        done = topic(*words)
        if done.returncode == 0 and enough(done.stdout):
            return done.stdout
    raise AssertionError(done)


def test_a_served_scene_is_followed_and_looked_at_and_ends_with_ctrl_c(scene: Path) -> None:
    with serving(scene, "--rate", "100") as (process, endpoint):
        with Replica(endpoint) as replica:
            replica.wait_until_whole(PATIENCE_S)
            assert difference(load(scene), replica.world) == ""
        at = ("--endpoint", endpoint)
        wanted = {"clock", "heartbeat", "scene/json", "scene/local", "scene/world"}
        heard(lambda said: wanted <= set(json.loads(said)), "list", *at, "--seconds", "1.5", "--json")
        echoed = heard(bool, "echo", "clock", *at, "-n", "2")
        ticks = [json.loads(line) for line in echoed.splitlines()]
        assert ticks[1]["tick"] == ticks[0]["tick"] + 1
        assert ticks[1]["time_ns"] - ticks[0]["time_ns"] == 10_000_000
        rate = heard(bool, "hz", "clock", *at, "--seconds", "1", "--json")
        assert json.loads(rate)["messages/s"] > 0
        for _ in patiently():  # one heartbeat a second: in a little more than that mostly one is heard
            once = topic("hz", "heartbeat", *at, "--seconds", "1.2")
            if "heartbeat: one message within 1.2 s; listen for longer" in once.stderr:
                break
        else:
            pytest.fail(f"never a single heartbeat: {once}")
        assert "bytes/s" in heard(bool, "bw", "scene/json", *at, "--seconds", "1")
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 130
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_a_paused_scene_can_be_joined(scene: Path) -> None:
    with serving(scene, "--paused") as (_, endpoint), Replica(endpoint) as replica:
        assert replica.wait_until_whole(PATIENCE_S).index == 0


def test_it_stops_by_itself_after_some_ticks(scene: Path) -> None:
    with serving(scene, "--ticks", "3", "--rate", "1000") as (process, _):
        assert process.wait(PATIENCE_S) == 0


def test_a_port_in_use_an_open_bind_and_silence_are_sentences(scene: Path) -> None:
    with serving(scene) as (_, endpoint):
        second = subprocess.run(
            [sys.executable, "-m", "diorama.cli", "serve", str(scene), "--endpoint", endpoint],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert (second.returncode, second.stderr) == (
            1,
            f"{endpoint}: the address is in use; stop the other program or choose another port\n",
        )
    wide = subprocess.run(
        [sys.executable, "-m", "diorama.cli", "serve", str(scene), "--endpoint", "tcp://0.0.0.0:*"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert wide.returncode == 1
    assert "make keys with `diorama keys DIRECTORY`, or say --insecure" in wide.stderr
    nobody = topic("echo", "clock", "--endpoint", "tcp://127.0.0.1:9", "--seconds", "0.2")
    assert nobody.returncode == 1
    assert (
        "nothing heard of 'clock' within 0.2 s; `diorama topic list` says what is published" in nobody.stderr
    )
