"""Random histories of a world: the same seed gives the same world, in any process."""

import random
from dataclasses import dataclass

from diorama.ecs import Bounds, Effector, Sensor, Velocity, World, component, propagate
from diorama.geo import Origin


@component("test_charge")
@dataclass(frozen=True, slots=True)
class Charge:
    """A component as a user would register it."""

    level: float
    cells: tuple[int, ...] = ()


def play(world: World, seed: int, steps: int = 8) -> None:
    """A burst of random spawns, despawns, re-parents, moves, component and resource changes, then propagate."""
    draw = random.Random(f"{seed} at {world.epoch}")
    for _ in range(steps):
        known = sorted(world.names.values())
        action = draw.choice(ACTIONS if known else [_spawn])
        action(world, draw, known)
    propagate(world)


def _number(draw: random.Random) -> float:
    return draw.choice([0.0, -0.0, 1.5, draw.uniform(-1e4, 1e4), draw.gauss(0, 1e-3)])


def _triple(draw: random.Random) -> tuple[float, float, float]:
    return _number(draw), _number(draw), _number(draw)


def _spawn(world: World, draw: random.Random, known: list[int]) -> None:
    parent = draw.choice([None, *known])
    components = draw.sample(
        [Charge(_number(draw), (1, 2)), Bounds((1.0, 2.0, 3.0)), Velocity(_triple(draw))], 1
    )
    world.spawn(
        f"thing {draw.getrandbits(60)}", *components, parent=parent, position=_triple(draw), asset="a/b"
    )


def _mount(world: World, draw: random.Random, known: list[int]) -> None:
    """Effectors, nested ones and ones whose id is taken among them."""
    owner = draw.choice(known)
    effector = Effector(draw.choice(["rotor_1", "rotor_2", ""]), "parts/rotor")
    world.spawn(f"part {draw.getrandbits(60)}", effector, parent=owner, position=_triple(draw))


def _unmount(world: World, draw: random.Random, known: list[int]) -> None:
    effectors = [entity for entity, _ in world.query(Effector)]
    if effectors:
        world.remove(draw.choice(effectors), Effector)


def _spawn_many(world: World, draw: random.Random, known: list[int]) -> None:
    names = [f"one of many {draw.getrandbits(60)}" for _ in range(4)]
    world.insert(names, parents=[-1, 0, 0, 1], under=draw.choice([None, *known]), scale=(2.0, 2.0, 2.0))


def _despawn(world: World, draw: random.Random, known: list[int]) -> None:
    world.despawn(draw.choice(known), children=draw.choice(["despawn", "grandparent"]))


def _reparent(world: World, draw: random.Random, known: list[int]) -> None:
    entity, parent = draw.choice(known), draw.choice([None, *known])
    above = parent
    while above is not None:
        if above == entity:
            return
        above = world.parent(above)
    world.reparent(entity, parent, keep=draw.choice(["local", "world"]))


def _move(world: World, draw: random.Random, known: list[int]) -> None:
    rows = world.rows(draw.sample(known, draw.randint(1, len(known))))
    world.transforms.position[rows, draw.randrange(3)] = _number(draw)


def _turn(world: World, draw: random.Random, known: list[int]) -> None:
    world.transforms.orientation[world.row(draw.choice(known))] = (0.5, -0.5, 0.5, draw.choice([0.5, -0.5]))


def _push(world: World, draw: random.Random, known: list[int]) -> None:
    world.set(draw.choice(known), Velocity(_triple(draw), _triple(draw)))


def _halt(world: World, draw: random.Random, known: list[int]) -> None:
    entity = draw.choice(known)
    if world.has(entity, Velocity):
        world.remove(entity, Velocity)


def _equip(world: World, draw: random.Random, known: list[int]) -> None:
    entity = draw.choice(known)
    world.set(entity, Charge(_number(draw)), Sensor("eye", "camera", {"fov": draw.randint(1, 180)}))
    world.set_group(entity, "somebody_elses", {"value": [draw.random(), "text", None]})


def _strip(world: World, draw: random.Random, known: list[int]) -> None:
    entity = draw.choice(known)
    for group in world.groups(entity):
        world.remove_group(entity, group)


def _rename(world: World, draw: random.Random, known: list[int]) -> None:
    """Names change hands: the hard case for whoever follows."""
    one, two = draw.choice(known), draw.choice(known)
    if one != two:
        first, second = world.name(one), world.name(two)
        world.rename(one, f"between {draw.getrandbits(60)}")
        world.rename(two, first)
        world.rename(one, second)
    world.set_asset(one, draw.choice(["", "x/y", "z"]))


def _scene(world: World, draw: random.Random, known: list[int]) -> None:
    world.set_resource("weather", draw.choice([None, {"preset": "Cloudy"}, {"preset": "Clear"}]))
    world.origin = draw.choice([None, Origin(29.5, -95.25, draw.uniform(-100, 1000))])


ACTIONS = [
    _spawn,
    _spawn,
    _spawn_many,
    _despawn,
    _reparent,
    _move,
    _move,
    _turn,
    _push,
    _halt,
    _mount,
    _mount,
    _unmount,
    _equip,
    _strip,
    _rename,
    _scene,
]
