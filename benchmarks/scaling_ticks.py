"""What a tick costs within one process, moving, encoding, applying, grafting and views: for scaling_model.py."""

import time

import numpy as np
from bench_columns import tree
from scaling_fit import Cost, Point, best, fit

from diorama.ecs import World, propagate
from diorama.runtime.graft import Graft
from diorama.schemas.view import View
from diorama.transport import codec
from diorama.transport.apply import apply_update, world_from_complete
from diorama.transport.views import Views

COUNTS = (100, 1_000, 10_000, 30_000, 100_000)
LEFT_OUT = 30_000


def tick_costs() -> list[Cost]:
    """Moving, encoding, applying and grafting, everything moving."""
    series: dict[str, dict[int, float]] = {name: {} for name in ("propagate", "encode", "apply", "graft")}
    for count in COUNTS:
        world = tree(count)
        rows = world.forest.order().copy()
        complete = _complete(world)
        replica, joined = world_from_complete(codec.decode_columns(complete)), World()
        graft = Graft(joined, "part")
        propagate(replica)
        graft.take(replica)
        shortest = dict.fromkeys(series, np.inf)
        end = time.perf_counter() + 1.5
        while time.perf_counter() < end:
            world.transforms.position[rows, 0] += 1.0
            since = codec.Since(world.version, world.epoch)
            marks = [time.perf_counter()]
            propagate(world)
            marks.append(time.perf_counter())
            moved = codec.moved_rows(world, since)
            frames = [codec.NO_STRUCTURE, *codec.encode_blocks(world, "local", moved, moved[:0])]
            marks.append(time.perf_counter())
            apply_update(replica, codec.decode_columns(frames))
            propagate(replica)
            marks.append(time.perf_counter())
            graft.take(replica)
            marks.append(time.perf_counter())
            for name, spent in zip(series, np.diff(marks), strict=True):
                shortest[name] = min(shortest[name], float(spent))
        for name in series:
            series[name][count] = shortest[name]
    words = {
        "propagate": "resolve world poses and find what changed (publisher, composite)",
        "encode": "encode an update as columns",
        "apply": "apply it and resolve it (replica)",
        "graft": "copy it into a composite",
    }
    return [
        fit(
            words[name],
            ("each moving entity",),
            [((count,), seconds) for count, seconds in found.items() if count != LEFT_OUT],
            ((LEFT_OUT,), found[LEFT_OUT]),
        )
        for name, found in series.items()
    ]


def _complete(world: World) -> list[codec.Frame]:
    rows = world.forest.order()
    return [codec.encode_structure(world, rows, None), *codec.encode_blocks(world, "local", rows, rows[:0])]


def view_cost() -> Cost:
    """All views of a publisher, everything moving: by entities in the scene, views, and entities in views."""
    points: list[Point] = []
    held: Point | None = None
    for entities, views, inside in (
        (10_000, 10, 100),
        (10_000, 100, 100),
        (10_000, 100, 1000),
        (100_000, 10, 100),
        (100_000, 100, 1000),
        (100_000, 1000, 100),
        (30_000, 300, 300),
    ):
        world, wanted = _crowd(entities, views, inside)
        step = 0

        def update(world: World = world, wanted: Views = wanted, entities: int = entities) -> None:
            nonlocal step
            step += 1
            world.transforms.position[:entities, 0] += 0.01
            propagate(world)
            for _ in wanted.updates(world, step):
                pass

        def move(world: World = world, entities: int = entities) -> None:
            world.transforms.position[:entities, 0] += 0.01
            propagate(world)

        seconds = best(update, 2.0) - best(move, 0.5)
        members = sum(len(state.members) for _, state in wanted.states())
        point = ((float(entities), float(views), float(members)), seconds)
        if entities == LEFT_OUT:
            held = point
        else:
            points.append(point)
    assert held is not None
    names = ("each entity of the scene", "each view", "each entity in a view")
    return fit("find and encode all views", names, points, held)


def _crowd(entities: int, views: int, inside: int) -> tuple[World, Views]:
    random = np.random.default_rng(1)
    side = 10_000.0
    ground = np.zeros((entities, 3))
    ground[:, :2] = random.uniform(0, side, (entities, 2))
    world = World()
    world.insert(entities, position=ground)
    propagate(world)
    wanted = Views()
    radius = float(np.sqrt(inside / entities / np.pi) * side)
    for center in random.uniform(radius, side - radius, (views, 2)):
        wanted.want(View(near=(float(center[0]), float(center[1]), 0.0), radius=radius).topic, True)
    return world, wanted
