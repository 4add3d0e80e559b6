"""A guard against getting slower that a busy machine cannot fool: instructions, counted by valgrind's callgrind.

Each piece of work is compared with a yardstick counted in the same process (a bare library doing what is inside of
it), so that other versions of Python and numpy change little; room is left for what they change. What counts is the
base install: compiled kernels use instructions that valgrind does not know. Without valgrind the guard passes.

    python benchmarks/guard.py            compare with guard.json; fails when something takes more
    python benchmarks/guard.py --write    take today's ratios as the measure
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

STORED = Path(__file__).with_name("guard.json")
ROOM = 1.5
# callgrind writes what it has counted so far whenever this function of the C library is called.
MARKER = "getpagesize"
Work = dict[str, tuple[Callable[[], object], str]]


def work() -> Work:
    """By name: what to count, and the yardstick it is compared with ("" for yardsticks)."""
    sys.modules["numba"] = None  # type: ignore[assignment]
    import esper
    import numpy as np
    import orjson

    from diorama.ecs import World, propagate
    from diorama.ecs.locate import refresh
    from diorama.formats.aerosim import parse
    from diorama.formats.aerosim_write import document
    from diorama.geo import Origin
    from diorama.transport import codec
    from diorama.transport.apply import apply_update, world_from_complete
    from diorama.transport.changed_text import ChangedText
    from diorama.transport.scene_json import changes_document
    from diorama.transport.scene_text import SceneText

    count = 1_000
    random = np.random.default_rng(1)
    world = World(Origin(29.6, -95.2, 0.0))
    world.insert(count, parents=np.arange(count) // 4 - 1, position=random.normal(size=(count, 3)))
    propagate(world)
    order = world.forest.order()
    ready = document(world)
    data = orjson.dumps(ready)
    text, changed = SceneText(), ChangedText()
    structure = codec.encode_structure(world, order, None)
    blocks = codec.encode_blocks(world, "local", order, order[:0])
    copy = world_from_complete(codec.decode_columns([structure, *blocks]))
    propagate(copy)
    poses = world.table.local[:count]
    body = [b"", *[bytes(frame) for frame in codec.encode_blocks(world, "local", np.sort(order), order[:0])]]

    def move(share: int) -> None:
        poses[::share, 0] += 1.0
        propagate(world)

    def encode() -> None:
        since = codec.Since(world.version - 1, world.epoch)
        rows = codec.moved_rows(world, since)
        codec.encode_blocks(world, "local", rows, codec.velocity_rows(world, since))

    def complete() -> None:
        poses[:, 0] += 1.0
        propagate(world)
        text.complete(world)

    def changes() -> None:
        since = codec.Since(world.version, world.epoch)
        poses[-100:, 0] += 1.0  # leaves
        propagate(world)
        changes_document(changed, world, codec.Header(codec.UPDATE, bytes(16), 1), since)

    def spawn() -> None:
        new = World(capacity=count)
        for _ in range(count):
            new.spawn(position=(1.0, 2.0, 3.0))

    def create() -> None:
        esper.clear_database()
        for _ in range(count):
            esper.create_entity([1.0, 2.0, 3.0])

    def sums() -> None:
        for _ in range(100):
            np.add(poses, 1.0)

    return {
        "orjson.dumps": (lambda: orjson.dumps(ready), ""),
        "orjson.loads": (lambda: orjson.loads(data), ""),
        "esper": (create, ""),
        "numpy": (sums, ""),
        "everything moves": (lambda: move(1), "numpy"),
        "a few move": (lambda: move(100), "numpy"),
        "coordinates": (lambda: (move(1), refresh(world)), "numpy"),
        "encode columns": (encode, "numpy"),
        "apply an update": (lambda: apply_update(copy, codec.decode_columns(body)), "numpy"),
        "complete JSON": (complete, "orjson.dumps"),
        "changes JSON": (changes, "orjson.dumps"),
        "load": (lambda: parse(data), "orjson.loads"),
        "save": (lambda: document(world), "orjson.dumps"),
        "spawn": (spawn, "esper"),
        "insert": (lambda: World(capacity=count).insert(count), "esper"),
    }


def child() -> None:
    """Under callgrind: everything once to warm up, then counted, with a mark before and after each."""
    from resource import getpagesize as mark

    for run, _ in work().values():
        run()
        run()
        run()
        mark()
        run()
        mark()
    os._exit(0)  # nothing may call the marker after the last work


def counted() -> dict[str, float]:
    """Instructions of each piece of work by those of its yardstick."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--dump-before={MARKER}", "--combine-dumps=no"]
        command += [f"--callgrind-out-file={folder}/count", "-q", sys.executable, __file__, "--child"]
        subprocess.run(command, check=True)
        parts = {int(file.suffix[1:]): _total(file) for file in Path(folder).glob("count.*")}
    named = work()
    # The last part but the rest ends at the last mark: the last work. Before each lies what was between two.
    totals = {name: parts[max(parts) - 2 * back] for back, name in enumerate(reversed(named))}
    return {name: totals[name] / totals[measure] for name, (_, measure) in named.items() if measure}


def _total(file: Path) -> int:
    lines = file.read_text(errors="replace").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(("totals:", "summary:")))


def main() -> int:
    if "--child" in sys.argv:
        child()
        return 0
    if shutil.which("valgrind") is None:
        print("guard: valgrind is not installed; nothing was counted")
        return 0
    found = counted()
    if "--write" in sys.argv:
        STORED.write_text(
            json.dumps({name: round(ratio, 3) for name, ratio in found.items()}, indent=1) + "\n"
        )
    stored: dict[str, float] = json.loads(STORED.read_text())
    slower = [name for name, ratio in found.items() if ratio > ROOM * stored.get(name, float("inf"))]
    for name, ratio in found.items():
        known = stored.get(name, ratio)
        print(f"{name:20} {ratio:9.3f} of its yardstick, {ratio / known:5.2f} of what it was")
    if slower:
        print(f"guard: more than {ROOM} times the instructions: {', '.join(slower)}", file=sys.stderr)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
