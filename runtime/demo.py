"""The demo scene: an air-taxi port beside a small city, near Houston. Made by code, with nothing loaded.

North of the origin is +x, east +y, and the ground lies at down = 0. The pads are around the origin, the runway is
west of them, the city east.
"""

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diorama.ecs import Bounds, Classification, Effector, Entity, Sensor, Velocity, World, propagate
from diorama.ecs.motion import Spin
from diorama.geo import Origin, quaternion_from_rpy
from diorama.perception import Lidar, Parameters, Perception
from diorama.perception.messages import Message
from diorama.perception.parameters import DetectionParameters, GroundTruthParameters
from diorama.runtime.clock import Tick
from diorama.runtime.demo_motion import Swarm, Traffic, closed_path
from diorama.runtime.motion import spin_rotors
from diorama.runtime.simulation import Reporter, System

ORIGIN = Origin(29.594656, -95.16384722, -28.3)
SEED = 3
# What a sensor reports, and as which class; everything else with a box only stands in its way.
SEGMENTATION = {"evtol": 1, "helicopter": 2, "car": 3, "truck": 4, "container": 5, "pole": 6}
STREETS = (330.0, 430.0, 530.0, 630.0)  # east of the origin; they run north
AVENUES = (-240.0, -120.0, 0.0, 120.0, 240.0)  # north of the origin; they run east
CORNER = 9.0  # metres a turn takes
PERCEPTION_VERSION = 20240605


@dataclass(frozen=True, slots=True)
class Demo:
    """A world, what moves it, and what is said about it beside the scene."""

    world: World
    systems: tuple[System, ...]
    reporters: tuple[Reporter, ...]
    perception: Perception


def demo(entities: int = 0) -> Demo:
    """The demo scene; with `entities`, a swarm of drones fills it up to that many."""
    world = World(ORIGIN)
    random = np.random.default_rng(SEED)
    world.set_resource("weather", {"preset": "Sunny"})
    _ground(world)
    _city(world, random)
    _greenery(world, random)
    systems: list[System] = [_aircraft(world), _cars(world, random), spin_rotors]
    _sensors(world)
    if entities > len(world):
        systems.append(Swarm(_swarm(world, entities - len(world)), center=(0.0, 200.0, -190.0)))
    propagate(world)
    perception = Perception(
        world,
        Parameters(
            detection=DetectionParameters(version=PERCEPTION_VERSION, seed=1, range=120.0),
            ground_truth=GroundTruthParameters(version=PERCEPTION_VERSION),
            lidar=Lidar(channels=16, horizontal_resolution_deg=1.0, vertical_field_of_view_deg=30.0),
        ),
    )

    def report(world: World, tick: Tick) -> list[tuple[str, Message]]:
        return perception.due(world, tick.time_ns, tick.step_ns)

    return Demo(world, tuple(systems), (report,), perception)


# -- what stands still -------------------------------------------------------------------------------------------


def _things(
    world: World,
    label: str,
    position: ArrayLike,
    size: ArrayLike,
    *,
    yaw: ArrayLike = 0.0,
    under: Entity | None = None,
) -> "NDArray[np.int64]":
    """Boxes of one kind that stand on the ground: base at the position, `size` along forward, right, down (m)."""
    place = np.atleast_2d(np.asarray(position, np.float64))
    count = len(place)
    rpy = np.zeros((count, 3))
    rpy[:, 2] = yaw
    sizes = np.broadcast_to(np.asarray(size, np.float64), (count, 3))
    made = world.insert(
        [f"{label}_{number}" for number in range(count)],
        *([Classification(label, SEGMENTATION[label])] if label in SEGMENTATION else []),
        asset=f"demo/{label}",
        under=under,
        position=place,
        orientation=quaternion_from_rpy(rpy),
    )
    for entity, (length, width, height) in zip(made.tolist(), sizes.tolist(), strict=True):
        world.set(entity, Bounds((length, width, height), (0.0, 0.0, -0.5 * height)))
    return made


def _ground(world: World) -> None:
    airport = world.spawn("airport")
    runway = [(0.0, -420.0, -0.05), (0.0, -330.0, -0.04)]
    _things(world, "runway", runway, [(1500.0, 45.0, 0.1), (1300.0, 18.0, 0.08)], under=airport)
    pads = [(40.0 * np.cos(a), 40.0 * np.sin(a), 0.0) for a in np.arange(6) * np.pi / 3]
    _things(
        world, "pad", [(0.0, 0.0, 0.0), *pads], [(22.0, 22.0, 0.4)] + [(16.0, 16.0, 0.4)] * 6, under=airport
    )
    north = np.linspace(-260.0, 260.0, 6)
    _things(
        world, "hangar", [(n, -235.0, 0.0) for n in north], (46.0, 60.0, 17.0), yaw=np.pi / 2, under=airport
    )
    _things(world, "tower", [(-110.0, -110.0, 0.0)], (12.0, 12.0, 46.0), under=airport)
    city = world.spawn("city")
    roads = [(0.0, east, -0.03) for east in STREETS] + [(north, 480.0, -0.02) for north in AVENUES]
    sizes = [(504.0, 14.0, 0.06)] * len(STREETS) + [(14.0, 314.0, 0.06)] * len(AVENUES)
    _things(world, "road", roads, sizes, under=city)


def _city(world: World, random: np.random.Generator) -> None:
    """Two by two buildings in each block, higher towards the middle; containers and lamps along the apron."""
    place, size = [], []
    for west, east in itertools.pairwise(STREETS):
        for south, north in itertools.pairwise(AVENUES):
            for i in (0.29, 0.71):
                for j in (0.29, 0.71):
                    center = (south + i * (north - south), west + j * (east - west), 0.0)
                    near = np.exp(-(np.hypot(center[0], center[1] - 480.0) ** 2) / 2 / 130.0**2)
                    place.append(center)
                    size.append((*random.uniform(26.0, 38.0, 2), 9.0 + random.uniform(15.0, 95.0) * near))
    city = world.find("city")
    _things(world, "building", place, size, under=city)
    corners = [(n + 10.0, e + 10.0, 0.0) for n in AVENUES for e in STREETS]
    _things(world, "pole", corners, (0.4, 0.4, 9.0), under=city)
    stacks = [(n, -180.0 + 4.0 * k, 0.0) for n in np.arange(-60.0, 61.0, 15.0) for k in range(3)]
    _things(world, "container", stacks, (12.2, 2.4, 2.6), under=world.find("airport"))


def _greenery(world: World, random: np.random.Generator) -> None:
    """Trees in the belt between the pads and the city, and around it."""
    north, east = random.uniform(-430.0, 430.0, 900), random.uniform(-140.0, 780.0, 900)
    on_pads = np.hypot(north, east) < 110.0
    in_city = (np.abs(north) < 265.0) & (east > 305.0) & (east < 655.0)
    at_tower = np.hypot(north + 110.0, east + 110.0) < 25.0
    free = np.flatnonzero(~(on_pads | in_city | at_tower))[:260]
    height = random.uniform(7.0, 15.0, len(free))
    place = np.stack([north[free], east[free], np.zeros(len(free))], axis=1)
    size = np.stack([0.62 * height, 0.62 * height, height], axis=1)
    park = world.spawn("park")
    _things(world, "tree", place, size, yaw=random.uniform(0.0, 6.28, len(free)), under=park)


# -- what moves --------------------------------------------------------------------------------------------------

EVTOL_ROTORS = [(x, y, -1.5) for x in (2.6, -0.2, -3.0) for y in (-3.6, 3.6)]


def _aircraft(world: World) -> Traffic:
    """Six eVTOLs that leave their pads and come back, and three helicopters on a higher round."""
    paths, speeds, phases, calm, made = [], [], [], [], []
    for number in range(6):
        entity = world.spawn(
            f"evtol_{number}",
            Classification("evtol", SEGMENTATION["evtol"]),
            Bounds((9.0, 10.0, 2.6), (0.0, 0.0, -0.4)),
            Velocity(),
            asset="demo/evtol",
        )
        made.append(entity)
        for index, place in enumerate(EVTOL_ROTORS):
            spin = Spin(38.0 if index % 2 else -38.0)
            _rotor(world, entity, f"rotor_{index + 1}", place, spin, diameter=2.5)
        bearing = number * np.pi / 3
        paths.append(_flight(np.array([np.cos(bearing), np.sin(bearing)]) * 40.0, bearing, number))
        speeds.append(26.0 + 1.5 * number)
        phases.append(0.12 + 0.16 * number)
        calm.append(0.93)
    for number in range(3):
        entity = world.spawn(
            f"helicopter_{number}",
            Classification("helicopter", SEGMENTATION["helicopter"]),
            Bounds((11.5, 2.4, 3.2), (-1.8, 0.0, -0.2)),
            Velocity(),
            asset="demo/helicopter",
        )
        made.append(entity)
        _rotor(world, entity, "main_rotor", (0.2, 0.0, -2.0), Spin(26.0), diameter=10.5)
        sideways = Spin(60.0, (0.0, 1.0, 0.0))
        _rotor(world, entity, "tail_rotor", (-7.2, -0.35, -1.0), sideways, diameter=1.9)
        radius, height = 330.0 + 130.0 * number, -130.0 - 40.0 * number
        turns = np.arange(8) * np.pi / 4 * (-1) ** number
        squash = np.stack(
            [radius * np.cos(turns), 160.0 + 1.25 * radius * np.sin(turns), height + 0 * turns], 1
        )
        paths.append(closed_path(squash))
        speeds.append(48.0)
        phases.append(number / 3)
        calm.append(0.0)
    flies = [True] * len(made)
    return Traffic(np.array(made), paths, speed=speeds, phase=phases, calm=calm, flies=flies)


def _flight(pad: NDArray[np.float64], bearing: float, number: int) -> NDArray[np.float64]:
    """Straight up from the pad, out over the site, and back down onto it."""
    reach, height = 380.0 + 45.0 * number, 90.0 + 14.0 * number
    out = np.array([0.45 * np.cos(bearing), 1.0 + 0.25 * np.sin(bearing)])
    side = np.array([-out[1], out[0]])
    stops = [pad, pad, pad, pad + 60 * out, pad + reach * out - 160 * side, pad + 1.35 * reach * out]
    stops += [pad + reach * out + 170 * side, pad + 60 * out + 90 * side, pad, pad]
    heights = np.array([1.2, 14.0, 55.0, 78.0, height, height, height, 74.0, 46.0, 13.0])
    return closed_path(np.column_stack([np.array(stops), -heights]))


def _rotor(world: World, owner: Entity, name: str, place: ArrayLike, spin: Spin, *, diameter: float) -> None:
    world.spawn(
        f"{world.name(owner)}/{name}",
        Effector(name, f"demo/{name}"),
        spin,
        Bounds((diameter, 0.1, diameter) if name == "tail_rotor" else (diameter, 0.26, 0.12)),
        asset="demo/tail_rotor" if name == "tail_rotor" else "demo/rotor",
        parent=owner,
        position=place,
    )


def _cars(world: World, random: np.random.Generator) -> Traffic:
    """Cars and trucks that go round the blocks, each on the right side of the street."""
    paths, speeds, phases, made = [], [], [], []
    for number in range(24):
        truck = number % 6 == 5
        label = "truck" if truck else "car"
        size = (8.4, 2.5, 3.1) if truck else (4.5, 1.85, 1.5)
        made.append(
            world.spawn(
                f"{label}_{number}",
                Classification(label, SEGMENTATION[label]),
                Bounds(size, (0.0, 0.0, -0.5 * size[2])),
                Velocity(),
                asset=f"demo/{label}",
            )
        )
        i, j = number % (len(STREETS) - 1), (number // 3) % (len(AVENUES) - 1)
        south, north, west, east = (
            AVENUES[j] + 3.5,
            AVENUES[j + 1] - 3.5,
            STREETS[i] + 3.5,
            STREETS[i + 1] - 3.5,
        )
        paths.append(closed_path(_around(south, north, west, east)))
        speeds.append(random.uniform(7.0, 13.0))
        phases.append(random.uniform(0.0, 1.0))
    still = [0.0] * len(made)
    return Traffic(np.array(made), paths, speed=speeds, phase=phases, calm=still, flies=[False] * len(made))


def _around(south: float, north: float, west: float, east: float) -> NDArray[np.float64]:
    """(24, 3) corners of a rounded rectangle, clockwise seen from above: in right-hand traffic, the inner lanes."""
    along = np.linspace(0.0, 1.0, 6)
    n = south + CORNER + along * (north - south - 2 * CORNER)
    e = west + CORNER + along * (east - west - 2 * CORNER)
    still, ground = np.ones(6), np.zeros(6)
    sides = [(n, west * still), (north * still, e), (n[::-1], east * still), (south * still, e[::-1])]
    return np.concatenate([np.column_stack([*side, ground]) for side in sides])


def _swarm(world: World, count: int) -> "NDArray[np.int64]":
    names = [f"drone_{number}" for number in range(count)]
    made = world.insert(names, asset="demo/drone", scale=np.full((count, 3), 3.0))
    world.velocities.present[world.rows(made)] = True
    return made


def _sensors(world: World) -> None:
    """A camera on an eVTOL's nose, two on the tower, one on a helicopter, and a LiDAR on the first car's roof."""
    down = quaternion_from_rpy((0.0, np.radians(-20.0), 0.0))
    _camera(world, "evtol_0", "nose_camera", (4.2, 0.0, 0.2), down, fov=75.0)
    _camera(
        world,
        "helicopter_0",
        "belly_camera",
        (1.5, 0.0, 1.4),
        quaternion_from_rpy((0, np.radians(-55), 0)),
        60,
    )
    pads = quaternion_from_rpy((0.0, np.radians(-18.0), np.radians(45.0)))
    _camera(world, "tower_0", "pad_camera", (0.0, 0.0, -43.0), pads, fov=50.0)
    runway = quaternion_from_rpy((0.0, np.radians(-6.0), np.radians(-70.0)))
    _camera(world, "tower_0", "runway_camera", (0.0, 0.0, -43.0), runway, fov=70.0)
    car = world.find("car_0")
    world.spawn(
        "car_0/lidar",
        Sensor("car_0/lidar", "lidar", {"channels": 16, "rate_hz": 10, "range": 120.0}),
        asset="demo/lidar",
        parent=car,
        position=(0.0, 0.0, -1.7),
    )


def _camera(world: World, owner: str, name: str, place: ArrayLike, turn: ArrayLike, fov: float) -> None:
    full = f"{owner}/{name}"
    parameters = {
        "resolution": {"x": 1920, "y": 1080},
        "tick_rate": 0.05,
        "fov": fov,
        "near_clip": 0.1,
        "far_clip": 1000.0,
    }
    world.spawn(
        full,
        Sensor(full, "rgb_camera", parameters),
        asset="demo/camera",
        parent=world.find(owner),
        position=place,
        orientation=turn,
    )
