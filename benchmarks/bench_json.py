"""The scene as JSON: the whole document against `orjson.dumps` of a ready-made dict, and changes against the whole.

Changes when 1 % move should cost 1 % of the complete text and a constant, which is about that of one entity that moves.

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
from diorama.transport.changed_text import ChangedText
from diorama.transport.codec import COMPLETE, UPDATE, Header, Since
from diorama.transport.scene_json import changes_document, complete_document
from diorama.transport.scene_text import SceneText

READY, EXACT, DECIMALS = "orjson.dumps of a ready-made dict", "complete, exact", "complete, fixed decimals"
CHANGES, ONE, COPY = "changes, 1 % moving", "changes, one entity moving", "copy of the bytes"
CONSTANT_S = 2e-4  # about twice what one entity costs that moves among 100 000


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


def changes(count: int, moving: int) -> Callable[[], bytes]:
    """What writes the changes of a scene in which so many leaves moved: they and nobody below."""
    world, text = scene(count), ChangedText()
    since = Since(world.version, world.epoch)
    world.transforms.position[world.forest.order()[-moving:], 0] += 1.0
    propagate(world)
    return lambda: changes_document(text, world, Header(UPDATE, bytes(16), 2), since)


def timings_for(count: int, seconds: float) -> dict[str, Timing]:
    header = Header(COMPLETE, bytes(16), 1)
    world = scene(count)
    ready = document(world)
    exact = SceneText()
    assert exact.complete(world) == orjson.dumps(ready)
    source = np.frombuffer(orjson.dumps(ready), np.uint8)
    target = np.empty_like(source)
    candidates: dict[str, Callable[[], object]] = {
        READY: lambda: orjson.dumps(ready),
        EXACT: lambda: complete_document(exact, world, header),
        CHANGES: changes(count, max(1, count // 100)),
        ONE: changes(count, 1),
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
    goals = {EXACT: "at most 0.55", DECIMALS: "at most 0.2"}
    for count in (1_000, 10_000) if quick else (1_000, 10_000, 100_000):
        timings = timings_for(count, 2.0 if quick else 6.0)
        share = f"1 % of complete, exact + {CONSTANT_S * 1e3} ms", timings[EXACT].best / 100 + CONSTANT_S
        peers = dict.fromkeys(goals, (READY, timings[READY].best)) | {CHANGES: share, ONE: ("", None)}
        for name, (peer, peer_s) in peers.items():
            goal = goals.get(name, "") if count == 10_000 else ""
            found.append(
                Row(
                    work=f"JSON of {count:,} entities, {name}",
                    ours=timings[name].best if name in timings else None,
                    peer=peer,
                    peer_s=peer_s,
                    limit=COPY if name in goals else "",
                    limit_s=timings[COPY].best if name in goals else None,
                    goal="at most 1" if name == CHANGES else goal,
                    spread=timings[name].spread if name in timings else 1.0,
                )
            )
    return found


def main() -> None:
    for count in (1_000, 10_000, 100_000):
        print(table(f"{count} entities", timings_for(count, 4.0), count))


if __name__ == "__main__":
    main()
