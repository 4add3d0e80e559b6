"""`diorama router` and `diorama who` as processes, with a scene served through the router."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from diorama.cli.main import main
from diorama.runtime.load import load
from diorama.tests.cli.test_serve import scene
from diorama.tests.patience import PATIENCE_S, patiently
from diorama.transport.replica import Replica

__all__ = ["scene"]  # a fixture


@contextmanager
def running(*arguments: str, says: str) -> Iterator[str]:
    """A command of ours as a process, once it has said something: the rest of that line."""
    process = subprocess.Popen(
        [sys.executable, "-m", "diorama.cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        line = ""
        while not line.startswith(says):
            line = process.stdout.readline()
            assert line, "it ended"
        yield line.removeprefix(says).strip()
    finally:
        process.kill()
        process.communicate()


def test_a_scene_through_a_router(scene: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with running("router", "--listen", "tcp/127.0.0.1:0", says="routing at ") as address:
        endpoint = f"zenoh:{address}"
        with running("serve", str(scene), "--endpoint", endpoint, says="publishing at ") as told:
            assert told == endpoint
            with Replica(endpoint) as replica:
                replica.wait_until_whole(PATIENCE_S)
                assert len(replica.world) == len(load(scene))
                for _ in patiently():
                    assert main(["who", endpoint, "--timeout", "1.0"]) == 0
                    seen = capfd.readouterr().out.splitlines()
                    if "+ main listens scene/local/" in seen:
                        break
                assert "+ main listens scene/local/" in seen
                assert sum(line.startswith("+ main publishes ") for line in seen) == 1
            assert main(["topic", "echo", "clock", "--count", "1", "--endpoint", endpoint]) == 0
            assert '"tick"' in capfd.readouterr().out


def test_two_served_scenes_composed(scene: Path) -> None:
    with (
        running("serve", str(scene), "--endpoint", "tcp://127.0.0.1:*", says="publishing at ") as north,
        running("serve", str(scene), "--endpoint", "tcp://127.0.0.1:*", says="publishing at ") as south,
        running(
            "compose",
            f"north={north}",
            f"south={south}",
            "--endpoint",
            "tcp://127.0.0.1:*",
            says="publishing at ",
        ) as endpoint,
        Replica(endpoint) as replica,
    ):
        names = {f"{part}/{name}" for part in ("north", "south") for name in load(scene).names}
        for _ in patiently():
            replica.poll(0.05)
            if set(replica.world.names) == {*names, "north", "south"}:
                break
        assert set(replica.world.names) == {*names, "north", "south"}


def test_what_composing_refuses(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["compose", "north"])
    assert "expected NAME=ENDPOINT, got 'north'" in capfd.readouterr().err
    assert main(["compose", "a=tcp://127.0.0.1:1", "a=tcp://127.0.0.1:2"]) == 2
    assert "every source needs a name of its own" in capfd.readouterr().err


def test_what_a_router_refuses(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["router", "--listen", "tcp/0.0.0.0:0"]) == 1
    assert "other machines can reach this" in capfd.readouterr().err
    assert main(["router", "--listen", "tls/127.0.0.1:0", "--cert", "a.pem"]) == 1
    assert "cert needs key" in capfd.readouterr().err
    assert main(["router", "--connect", "nowhere"]) == 1
    assert "expected an address such as" in capfd.readouterr().err
