"""What perception costs: noise against drawing random numbers, occlusion against Embree, and a whole 10 Hz topic."""

from collections.abc import Callable
from time import process_time

import numpy as np
import orjson
from measure import measure, table

from diorama.ecs import Bounds, Classification, Velocity, World, propagate
from diorama.geo.arrays import FloatArray
from diorama.geo.rotation import matrix_from_quaternion, quaternion_from_rpy
from diorama.perception import (
    DETECTION_TOPIC,
    GROUND_TRUTH_TOPIC,
    Parameters,
    Perception,
    attach,
    parameters_from_dict,
)
from diorama.perception.draws import stream
from diorama.perception.noise import Bools, Memory, errors_v2
from diorama.perception.parameters import Lidar, NoiseV2
from diorama.perception.visibility import Boxes, RayGrid, in_sight, ray_grid

COUNT = 1000
PERIOD_NS = 100_000_000
REACH = 300.0
CORRELATION = {"amplitude": 0.5, "decay": 0.9, "offset": 0.4}


def parameters(occlusionless: bool) -> Parameters:
    """Both topics, model 2, every table in use with an ellipse of its own, as much work as it can be."""
    tables = (
        "distance.mean",
        "distance.standard_deviation",
        "yaw.mean",
        "yaw.standard_deviation",
        "true_positive.rate",
    )
    noise = {
        f"noise.v2.{channel}.autocorrelation_coefficient": CORRELATION
        for channel in ("distance", "yaw", "yaw_flip", "true_positive")
    }
    for place, name in enumerate(tables):
        noise[f"noise.v2.{name}"] = {
            "ellipse_normalized_x_radius": 1.0 + 0.1 * place,
            "values": [0.1 * n for n in range(1, 10)],
        }  # type: ignore[dict-item]
    head = {"version": 20240605, "override_legacy_configuration": True}
    detection = {
        **head,
        "seed": 1,
        "occlusionless": occlusionless,
        "noise.model.version": 2,
        "noise.v2.yaw_flip.rate": 0.1,
        **noise,
    }
    return parameters_from_dict({DETECTION_TOPIC: detection, GROUND_TRUTH_TOPIC: head})


def bench_noise() -> None:
    told = parameters(occlusionless=True).detection
    assert told is not None
    assert isinstance(told.noise, NoiseV2)
    noise, random = told.noise, np.random.default_rng(1)
    keys, ids = random.integers(0, 2**63, COUNT).astype(np.uint64), np.arange(COUNT)
    local = random.uniform(-150.0, 150.0, (COUNT, 2))
    bearing = local / np.linalg.norm(local, axis=1, keepdims=True)
    memory, source, speed, frame = Memory(), stream(1, "lidar"), np.zeros(COUNT), 0

    def ours() -> None:
        nonlocal frame
        frame += 1
        errors_v2(
            noise,
            memory,
            source,
            ids=ids,
            keys=keys,
            time_ns=frame * PERIOD_NS,
            local=local,
            bearing=bearing,
            speed=speed,
        )

    candidates: dict[str, Callable[[], object]] = {
        "numpy draws the same random numbers": lambda: (
            random.standard_normal((2, COUNT)),
            random.random((2, COUNT)),
        ),
        "model 2, all of it": ours,
    }
    print(table(f"noise of {COUNT} objects, 2 normal and 2 uniform numbers each", measure(candidates), COUNT))


def crowd(count: int) -> Boxes:
    """Cars at random places within 150 m, level, at any heading."""
    random = np.random.default_rng(count)
    return Boxes(
        center=np.column_stack([random.uniform(-150.0, 150.0, (count, 2)), random.uniform(0.6, 0.9, count)]),
        orientation=quaternion_from_rpy(
            np.column_stack([np.zeros((count, 2)), random.uniform(-3, 3, count)])
        ),
        half=np.tile([2.2, 0.9, 0.75], (count, 1)),
    )


def embree(
    boxes: Boxes, grid: RayGrid, position: FloatArray
) -> tuple[Callable[[], Bools], Callable[[], Bools]] | None:
    """Embree with the boxes built anew, as they move, and with the scene already built; 5 776 rays each."""
    try:
        from embreex.mesh_construction import TriangleMesh
        from embreex.rtcore_scene import EmbreeScene
    except ImportError:
        return None
    quads = ((0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5))
    faces = np.array([face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))], np.int32)
    signs = np.array(
        [[(n >> 2 & 1) * 2 - 1, (n >> 1 & 1) * 2 - 1, (n & 1) * 2 - 1] for n in range(8)], np.float64
    )
    indices = (faces + 8 * np.arange(len(boxes.center), dtype=np.int32)[:, None, None]).reshape(-1, 3)
    columns = np.concatenate([grid.directions, grid.directions[:, :1]], axis=1)  # the first column twice
    rays = columns.reshape(-1, 3).astype(np.float32)
    origins = np.tile(position.astype(np.float32), (len(rays), 1))

    def build() -> object:
        axes = matrix_from_quaternion(boxes.orientation)
        corners = boxes.center[:, None] + np.einsum("nij,nkj->nki", axes, signs * boxes.half[:, None])
        scene = EmbreeScene()
        mesh = TriangleMesh(scene, corners.reshape(-1, 3).astype(np.float32), indices)
        return scene, mesh

    def cast(scene: object) -> Bools:
        hit = scene.run(origins, rays)  # type: ignore[attr-defined]
        seen = np.zeros(len(boxes.center), np.bool_)
        seen[hit[hit >= 0] // 12] = True
        return seen

    ready = build()
    return lambda: cast(build()[0]), lambda: cast(ready[0])  # type: ignore[index]


def bench_occlusion(count: int) -> None:
    boxes, grid, position = crowd(count), ray_grid(Lidar()), np.array([0.0, 0.0, 1.9])
    turn = np.array([0.0, 0.0, 0.0, 1.0])
    peers = embree(boxes, grid, position)
    candidates: dict[str, Callable[[], object]] = {}
    if peers is None:
        print("embreex is not installed: no peer")
    else:
        candidates = {"Embree, scene built and cast": peers[0], "Embree, cast alone": peers[1]}
    candidates["numba"] = lambda: in_sight(boxes, grid, position, turn, REACH, fast=True)
    candidates["numpy"] = lambda: in_sight(boxes, grid, position, turn, REACH, fast=False)
    print(table(f"occlusion of {count} boxes by 5 776 rays", measure(candidates)))
    ours = in_sight(boxes, grid, position, turn, REACH)
    same = (
        "" if peers is None else f", of which Embree (32-bit) sees {np.count_nonzero(ours & peers[0]())} too"
    )
    print(f"  {np.count_nonzero(ours)} in sight{same}")


def bench_topic(occlusionless: bool) -> None:
    """1 000 moving objects, both topics at 10 Hz of simulated time, built and written as JSON."""
    random = np.random.default_rng(1)
    world = World()
    attach(world, world.spawn("ego", Bounds((4.4, 1.8, 1.5), (0, 0, -0.75))))
    entities = world.insert(
        [f"car {index}" for index in range(COUNT)],
        *(Bounds((4.4, 1.8, 1.5), (0.0, 0.0, -0.75)), Classification("car"), Velocity((1.0, 0.0, 0.0))),
        position=np.column_stack([random.uniform(-150.0, 150.0, (COUNT, 2)), np.zeros(COUNT)]),
        orientation=quaternion_from_rpy(
            np.column_stack([np.zeros((COUNT, 2)), random.uniform(-3, 3, COUNT)])
        ),
    )
    rows = world.rows(entities)
    propagate(world)
    perception = Perception(world, parameters(occlusionless))
    costs, sizes = [], []
    for index in range(1, 101):
        world.transforms.position[rows, 0] += 0.1
        propagate(world)
        start = process_time()
        bodies = [orjson.dumps(message) for _, message in perception.due(world, index * PERIOD_NS, PERIOD_NS)]
        costs.append(process_time() - start)
        sizes.append(sum(map(len, bodies)))
    best, median = min(costs), sorted(costs)[len(costs) // 2]
    sight = "nothing hides anything" if occlusionless else "5 776 rays"
    print(
        f"  {COUNT} objects, {sight:<24} {best * 1e3:6.2f} ms a period, median {median * 1e3:6.2f} ms: "
        f"{median * 10:5.1%} of a core at 10 Hz (< 20 %), {sizes[-1] / 1e6:.2f} MB of JSON"
    )


def main() -> None:
    bench_noise()
    for count in (100, 1000):
        bench_occlusion(count)
    print("both topics at 10 Hz, from the world's columns to JSON")
    bench_topic(occlusionless=False)
    bench_topic(occlusionless=True)


if __name__ == "__main__":
    main()
