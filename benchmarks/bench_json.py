"""The scene as JSON: the whole document against `orjson.dumps` of a ready-made dict, and changes when 1 % move.

Between two texts every entity has moved and turned; sizes stay. The text is the same, byte by byte, but for the writer
with fixed decimals, whose numbers are right to 0.05 mm.
"""

from collections.abc import Callable
from time import thread_time

import numpy as np
import orjson
from bench_columns import tree
from measure import Row, Timing, measure, table

from diorama.ecs import World, propagate
from diorama.ecs.locate import refresh
from diorama.formats.aerosim_write import document
from diorama.geo import Origin
from diorama.schemas.errors import MissingExtraError
from diorama.transport.codec import COMPLETE, UPDATE, Header, Since
from diorama.transport.scene_json import changes_document, complete_document
from diorama.transport.scene_text import SceneText

READY, EXACT, DECIMALS = "orjson.dumps of a ready-made dict", "complete, exact", "complete, fixed decimals"
CHANGES, COPY = "changes, 1 % moving", "copy of the bytes"


def scene(count: int) -> World:
    """Entities on Earth in every direction."""
    random = np.random.default_rng(1)
    world = tree(count)
    world.origin = Origin(29.594656, -95.16384722, -28.3)
    rows = world.forest.order()
    world.transforms.position[rows] = random.normal(scale=1e3, size=(count, 3))
    turns = random.normal(size=(count, 4))
    world.transforms.orientation[rows] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    propagate(world)
    return world


def mover(world: World) -> Callable[[], None]:
    """Everybody moves and turns, back and forth; coordinates are up to date after it."""
    poses = world.table.local[: world.table.high]
    other = poses.copy()
    other[:, 0:3] += np.random.default_rng(2).normal(size=(len(poses), 3))
    other[:, 3:7] = other[:, [4, 3, 6, 5]]
    places = [poses.copy(), other]

    def move() -> None:
        places.reverse()
        poses[:] = places[0]
        propagate(world)
        refresh(world)

    return move


def timings_for(count: int, seconds: float) -> dict[str, Timing]:
    header = Header(COMPLETE, bytes(16), 1)
    world, changing = scene(count), scene(count)
    ready = document(world)
    exact = SceneText()
    assert exact.complete(world) == orjson.dumps(ready)
    since = Since(changing.version, changing.epoch)
    some = changing.forest.order()[-max(1, count // 100) :]  # leaves: 1 % and nobody below
    changing.transforms.position[some, 0] += 1.0
    propagate(changing)
    source = np.frombuffer(orjson.dumps(ready), np.uint8)
    target = np.empty_like(source)
    candidates: dict[str, Callable[[], object]] = {
        READY: lambda: orjson.dumps(ready),
        EXACT: lambda: complete_document(exact, world, header),
        CHANGES: lambda: changes_document(changing, Header(UPDATE, bytes(16), 2), since),
        COPY: lambda: np.copyto(target, source),
    }
    prepare = {EXACT: mover(world)}
    try:
        fixed, there = SceneText(decimals=True), scene(count)
        candidates[DECIMALS] = lambda: complete_document(fixed, there, header)
        prepare[DECIMALS] = mover(there)
    except MissingExtraError:
        pass
    for run in (*prepare.values(), *candidates.values()) * 4:
        run()
    return measure(candidates, seconds, thread_time, prepare)


def rows(quick: bool) -> list[Row]:
    """Against orjson."""
    found = []
    goals = {EXACT: "at most 0.55", DECIMALS: "at most 0.2", CHANGES: ""}
    for count in (1_000, 10_000) if quick else (1_000, 10_000, 100_000):
        timings = timings_for(count, 2.0 if quick else 6.0)
        for name, goal in goals.items():
            found.append(
                Row(
                    work=f"JSON of {count:,} entities, {name}",
                    ours=timings[name].best if name in timings else None,
                    peer=READY,
                    peer_s=timings[READY].best,
                    limit=COPY,
                    limit_s=timings[COPY].best,
                    goal=goal if count == 10_000 else "",
                    spread=timings[name].spread if name in timings else 1.0,
                )
            )
    return found


def main() -> None:
    for count in (1_000, 10_000, 100_000):
        print(table(f"{count} entities", timings_for(count, 4.0), count))


if __name__ == "__main__":
    main()
