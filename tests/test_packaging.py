"""The wheel holds every room and its data and nothing else, needs only what it says, and runs away from the sources."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

pytest.importorskip("setuptools", minversion="77", reason="wheels are built by setuptools 77 or newer")

ROOT = Path(__file__).parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
ROOMS = [name.partition(".")[2].replace(".", "/") for name in SETTINGS["tool"]["setuptools"]["packages"]]
BASE = {"esper", "msgspec", "numpy", "orjson", "pyproj", "pyzmq"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of a copy of the sources, so that nothing is left behind here."""
    copy = tmp_path_factory.mktemp("sources") / "checkout"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "__init__.py", "py.typed"):
        shutil.copy(ROOT / name, copy)
    for room in {room.partition("/")[0] for room in ROOMS if room}:
        shutil.copytree(ROOT / room, copy / room, ignore=shutil.ignore_patterns("__pycache__"))
    code = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, str(copy)], cwd=copy, check=True, capture_output=True)
    return next(copy.glob("*.whl"))


def test_everything_is_in_it_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        shipped = {name for name in archive.namelist() if ".dist-info/" not in name}
    expected = {"diorama/__init__.py", "diorama/py.typed"}
    for room in {room.partition("/")[0] for room in ROOMS if room}:
        for path in (ROOT / room).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                expected.add(f"diorama/{path.relative_to(ROOT).as_posix()}")
    assert shipped == expected


def test_the_base_needs_six_libraries(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith("METADATA"))
        metadata = message_from_bytes(archive.read(name))
    needed = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert {re.split("[<>=]", line)[0].strip() for line in needed} == BASE


def test_it_runs_with_the_base_alone(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    scenes = [
        ROOT / "examples" / name for name in ("houston.scene.json", "yard.rscene", "scene_harbour.jsonc")
    ]
    # Every library but those the wheel names is made unimportable, whatever happens to be installed here.
    allowed = BASE | {"diorama", "zmq"}  # pyzmq is imported as zmq
    code = f"""
import sys
from importlib.abc import MetaPathFinder
class Nothing(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] not in sys.stdlib_module_names | {allowed!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Nothing())
import diorama
from diorama.cli.main import main
assert "installed" in diorama.__file__, diorama.__file__
sys.exit(main(sys.argv[1:]))
"""
    for words in (
        ["check", *map(str, scenes)],
        ["demo", "--headless", "--ticks", "3", "--endpoint", "tcp://127.0.0.1:*"],
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path / "installed")},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr + done.stdout
