"""A renderer in another language, written from docs/wire.md alone, sees the same scene."""

import shutil
import subprocess
from pathlib import Path

import pytest
import zmq

from diorama.ecs import Transform, World, propagate
from diorama.transport.publisher import Publisher

ROOT = Path(__file__).parent.parent.parent
LIBRARIES = Path(zmq.__file__).parent.parent / "pyzmq.libs"


def compiled(folder: Path) -> Path:
    """examples/renderer.c, compiled against the libzmq that pyzmq brings along."""
    compiler = shutil.which("cc")
    library = next(iter(sorted(LIBRARIES.glob("libzmq*.so*"))), None)
    if compiler is None or library is None:
        pytest.skip("no C compiler, or a pyzmq without a libzmq of its own")
    program = folder / "renderer"
    words = [
        compiler,
        "-std=gnu11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-O1",
        str(ROOT / "examples" / "renderer.c"),
    ]
    words += ["-I", str(Path(__file__).parent / "include"), str(library), f"-Wl,-rpath,{LIBRARIES}"]
    subprocess.run([*words, "-Wl,--allow-shlib-undefined", "-o", str(program)], check=True)
    return program


def test_a_renderer_in_c_sees_what_is_published(tmp_path: Path) -> None:
    program = compiled(tmp_path)
    world = World()
    parent = world.spawn("parent", position=(10, 20, -30))
    world.spawn("child", parent=parent, position=(1, 0, 0))
    gone = world.spawn("gone", position=(9, 9, 9))
    world.spawn("removed", parent=parent)
    with Publisher("tcp://127.0.0.1:*") as publisher:
        publisher.publish(world)
        renderer = subprocess.Popen([program, publisher.endpoint, "4"], stdout=subprocess.PIPE, text=True)
        while publisher.statistics.joins == 0:
            publisher.poll(0.01)
        for step in range(3):
            world.get(parent, Transform).position[0] = 100.0 + step
            if step == 1:
                world.despawn(gone)
                world.despawn(world.find("removed"))
            propagate(world)
            publisher.publish(world)
        output, _ = renderer.communicate(timeout=30)
    assert renderer.returncode == 0
    assert output.splitlines() == ["0 102 20 -30", "1 103 20 -30"]


def test_the_example_is_short() -> None:
    assert len((ROOT / "examples" / "renderer.c").read_text().splitlines()) <= 80
