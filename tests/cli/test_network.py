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
from diorama.transport.replica import Replica

__all__ = ["scene"]  # a fixture
PATIENCE_S = 30.0


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
                assert main(["who", endpoint, "--timeout", "1.0"]) == 0
                seen = capfd.readouterr().out.splitlines()
                assert "+ main listens scene/local/" in seen
                assert sum(line.startswith("+ main publishes ") for line in seen) == 1
            assert main(["topic", "echo", "clock", "--count", "1", "--endpoint", endpoint]) == 0
            assert '"tick"' in capfd.readouterr().out


def test_what_a_router_refuses(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["router", "--listen", "tcp/0.0.0.0:0"]) == 1
    assert "other machines can reach this" in capfd.readouterr().err
    assert main(["router", "--listen", "tls/127.0.0.1:0", "--cert", "a.pem"]) == 1
    assert "cert needs key" in capfd.readouterr().err
    assert main(["router", "--connect", "nowhere"]) == 1
    assert "expected an address such as" in capfd.readouterr().err
