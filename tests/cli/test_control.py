"""A Project AirSim scene served by one process and controlled by others."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from diorama.cli.main import main
from diorama.transport.airsim_client import AirSimClient

FOLDER = Path(__file__).parent.parent / "scenes" / "airsim"
PATIENCE_S = 30.0
Captured = pytest.CaptureFixture[str]


@contextmanager
def served(scene: Path, *options: str) -> Iterator[tuple[list[str], str, str]]:
    """What a serving process said, where it publishes and where it answers."""
    words = [sys.executable, "-m", "diorama.cli", "serve", str(scene), "--scenes", str(scene.parent)]
    ports = ["--endpoint", "tcp://127.0.0.1:*", "--service", "tcp://127.0.0.1:*"]
    process = subprocess.Popen(
        [*words, *ports, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    said: list[str] = []
    try:
        while not any(line.startswith("try in") for line in said):
            line = process.stdout.readline()
            assert line, process.stderr and process.stderr.read()
            said.append(line.strip())
        found = {line.split(" at ")[0]: line.split(" at ")[1] for line in said if " at tcp" in line}
        yield said, found["publishing"], found["answering"]
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def scenes(tmp_path: Path) -> Path:
    for path in FOLDER.glob("*.jsonc"):
        shutil.copy(path, tmp_path)
    (tmp_path / "bad.jsonc").write_text('{"id": "Bad",\n "clock": {"step-ns": 0}}')
    return tmp_path


def test_a_served_scene_is_paused_stepped_and_replaced(scenes: Path, capsys: Captured) -> None:
    def control(*words: str) -> tuple[int, str, str]:
        code = main([*words, "--service", service, "--timeout", str(PATIENCE_S)])
        said = capsys.readouterr()
        return code, said.out.strip(), said.err.strip()

    with served(scenes / "drone.jsonc") as (said, publisher, service):
        assert "steppable clock: 6 ms steps every 3 ms, 2 times real time" in said
        with AirSimClient(service, publisher, timeout_s=PATIENCE_S) as world:
            assert control("step", "3")[0] == 0
            while not world.is_paused():
                pass
            assert world.get_sim_time() == 18_000_000
            code, out, err = control("pause")
            # On a busy machine ticks come late, which is said too.
            assert (code, out.partition(", ")[0], err) == (0, "paused at 0.018 s after 3 ticks", "")
            code, out, err = control("load", "bad.jsonc")
            assert (code, out) == (1, "")
            assert "bad.jsonc:2:23: clock.step-ns: expected a whole number of at least 1, got 0" in err
            assert world.get_sim_time() == 18_000_000
            assert "Heron1" in world.list_objects()
            code, out, _ = control("load", "environment.jsonc")
            assert code == 0
            assert "6.7 times real time" in out
            assert world.list_actors() == []
            assert "Kite" in world.list_objects()
            assert control("pause")[0] == 0
            assert control("step", "--seconds", "1")[0] == 0
            while not world.is_paused():
                pass
            code, out, _ = control("resume")
            assert out.startswith("running at ")
