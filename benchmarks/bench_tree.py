"""World poses of trees eight levels deep: numba and numpy against the same loop in C, a copy of the bytes, and others.

Goals, 1k to 100k entities: numba within 1.15x of C when everything moves and within 1.3x when 1 % does (both look for
changes by themselves); at least 8x faster than three.js, and 100x faster than Python objects in esper, scipy's Rotation
and trimesh's SceneGraph. The table in README.md says which are met. scipy comes twice: a Rotation for each entity, as
objects have it, and level by level, which is numpy already. `table` compares with the first row of each block.
"""

import ctypes
import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import thread_time

import esper
import numpy as np
from measure import Row, measure, table
from numpy.typing import NDArray

from diorama.ecs import World, propagate
from diorama.ecs.tree import compiled_kernels

SIZES = (1_000, 10_000, 100_000)
DEPTH = 8
C_FLAGS = {"C -O3 -march=native": ["-O3", "-march=native"], "C -O3": ["-O3"]}
Floats = NDArray[np.float64]


def forest(count: int) -> tuple[NDArray[np.int64], Floats]:
    """Parents (a quarter roots, eight levels, parents at random in the level above) and (n, 10) local poses."""
    random = np.random.default_rng(1)
    edges = np.linspace(count // 4, count, DEPTH).astype(int)
    parents = np.full(count, -1)
    above = 0
    for start, stop in pairwise(edges.tolist()):
        parents[start:stop] = random.integers(above, start, stop - start)
        above = start
    poses = np.concatenate(
        [
            random.normal(size=(count, 3)),
            random.normal(size=(count, 4)),
            random.uniform(0.9, 1.1, (count, 3)),
        ],
        axis=1,
    )
    poses[:, 3:7] /= np.linalg.norm(poses[:, 3:7], axis=1, keepdims=True)
    return parents, poses


class Scene:
    """A world, and two local poses for every entity to go back and forth between without counting the writing."""

    def __init__(self, count: int, moving: float) -> None:
        parents, poses = forest(count)
        self.world = World(capacity=count)
        self.world.insert(
            count, parents=parents, position=poses[:, :3], orientation=poses[:, 3:7], scale=poses[:, 7:]
        )
        other = self.world.table.local.copy()
        some = np.random.default_rng(2).permutation(count)[: max(1, int(count * moving))]
        other[some, 0] += 1.0
        self.locals = [self.world.table.local, other]

    def move(self) -> None:
        """Everybody is in the other place."""
        self.locals.reverse()
        self.world.table.local = self.locals[0]


def native(flags: list[str]) -> Callable[..., int] | None:
    """The C loop as a function of the same arrays, or None without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    library = Path(tempfile.mkdtemp()) / "tree.so"
    source = Path(__file__).with_name("native_tree.c")
    subprocess.run([compiler, *flags, "-shared", "-fPIC", "-o", library, source, "-lm"], check=True)
    function = ctypes.CDLL(str(library)).propagate
    function.restype = ctypes.c_int64
    return function  # type: ignore[no-any-return]


def c_pass(function: Callable[..., int], scene: Scene) -> Callable[[], None]:
    world, scratch = scene.world, scene.world.table
    order = world.forest.order()
    fixed = [scratch.seen, scratch.pose, scratch.moved, scratch.posed]
    pointers = {id(array): array.ctypes.data_as(ctypes.c_void_p) for array in (order, *scene.locals, *fixed)}
    parent = scratch.parent.ctypes.data_as(ctypes.c_void_p)
    count = ctypes.c_int64(len(order))
    outputs = [pointers[id(array)] for array in fixed]

    def run() -> None:
        scene.move()
        world.version += 1
        local = pointers[id(scratch.local)]
        function(count, pointers[id(order)], parent, local, *outputs, ctypes.c_int64(world.version))

    return run


def kernel_pass(scene: Scene) -> Callable[[], None]:
    world, own = scene.world, scene.world.table
    kernel = compiled_kernels().propagate_rows
    order = world.forest.order()

    def run() -> None:
        scene.move()
        world.version += 1
        kernel(order, own.parent, own.local, own.seen, own.pose, own.moved, own.posed, world.version)

    return run


def world_pass(scene: Scene, fast: bool) -> Callable[[], None]:
    def run() -> None:
        scene.move()
        propagate(scene.world, fast=fast)

    return run


def copy_pass(count: int) -> Callable[[], None]:
    """As many bytes as the pass writes (a pose, what was seen, two stamps: 176 for each entity), copied."""
    source, target = np.ones((2, count * 176), np.uint8)
    return lambda: np.copyto(target, source)


@dataclass(slots=True)
class Vector:
    """Three numbers of an object."""

    x: float
    y: float
    z: float


@dataclass(slots=True)
class Turn:
    """A quaternion of an object."""

    x: float
    y: float
    z: float
    w: float


@dataclass(slots=True)
class Pose:
    """A pose as a component of objects."""

    place: Vector
    turn: Turn
    size: Vector


class Local(Pose):
    """The pose relative to the parent."""


class Resolved(Pose):
    """The pose in the world."""


@dataclass(slots=True)
class Parent:
    """The entity above."""

    entity: int


def object_pass(count: int) -> Callable[[], None]:
    """An entity as esper components that are Python objects, the way one writes it without columns."""
    parents, poses = forest(count)
    esper.switch_world(f"bench-{count}")
    entities: list[int] = []
    for parent, (px, py, pz, qx, qy, qz, qw, sx, sy, sz) in zip(
        parents.tolist(), poses.tolist(), strict=True
    ):
        entity = esper.create_entity(
            *(
                kind(Vector(px, py, pz), Turn(qx, qy, qz, qw), Vector(sx, sy, sz))
                for kind in (Local, Resolved)
            ),
            Parent(entities[parent] if parent >= 0 else 0),
        )
        entities.append(entity)

    def run() -> None:
        esper.switch_world(f"bench-{count}")
        for _, (local, resolved, parent) in esper.get_components(Local, Resolved, Parent):
            place, turn, size = resolved.place, resolved.turn, resolved.size
            p, r, s = local.place, local.turn, local.size
            if parent.entity == 0:
                place.x, place.y, place.z = p.x, p.y, p.z
                turn.x, turn.y, turn.z, turn.w = r.x, r.y, r.z, r.w
                size.x, size.y, size.z = s.x, s.y, s.z
                continue
            above = esper.component_for_entity(parent.entity, Resolved)
            q = above.turn
            vx, vy, vz = above.size.x * p.x, above.size.y * p.y, above.size.z * p.z
            ux, uy, uz = (
                2 * (q.y * vz - q.z * vy),
                2 * (q.z * vx - q.x * vz),
                2 * (q.x * vy - q.y * vx),
            )
            place.x = above.place.x + vx + q.w * ux + q.y * uz - q.z * uy
            place.y = above.place.y + vy + q.w * uy + q.z * ux - q.x * uz
            place.z = above.place.z + vz + q.w * uz + q.x * uy - q.y * ux
            turn.x = q.w * r.x + q.x * r.w + q.y * r.z - q.z * r.y
            turn.y = q.w * r.y - q.x * r.z + q.y * r.w + q.z * r.x
            turn.z = q.w * r.z + q.x * r.y - q.y * r.x + q.z * r.w
            turn.w = q.w * r.w - q.x * r.x - q.y * r.y - q.z * r.z
            size.x, size.y, size.z = above.size.x * s.x, above.size.y * s.y, above.size.z * s.z

    return run


def scipy_pass(count: int) -> Callable[[], None]:
    """Level by level with scipy's Rotation; ImportError without it."""
    from scipy.spatial.transform import Rotation

    parents, poses = forest(count)
    level = np.zeros(count, int)
    for row in np.flatnonzero(parents >= 0):
        level[row] = level[parents[row]] + 1
    levels = [np.flatnonzero(level == depth) for depth in range(1, level.max() + 1)]
    place, turn, size = poses[:, :3].copy(), poses[:, 3:7].copy(), poses[:, 7:].copy()

    def run() -> None:
        for rows in levels:
            above = parents[rows]
            rotation = Rotation.from_quat(turn[above])
            place[rows] = place[above] + rotation.apply(size[above] * poses[rows, :3])
            turn[rows] = (rotation * Rotation.from_quat(poses[rows, 3:7])).as_quat()
            size[rows] = size[above] * poses[rows, 7:]

    return run


def scipy_each_pass(count: int) -> Callable[[], None]:
    """A scipy Rotation for each entity; ImportError without it."""
    from scipy.spatial.transform import Rotation

    parents, poses = forest(count)
    local = [Rotation.from_quat(turn) for turn in poses[:, 3:7]]
    place, turn, size = list(poses[:, :3]), list(local), list(poses[:, 7:])
    above = parents.tolist()

    def run() -> None:
        for row, parent in enumerate(above):
            if parent >= 0:
                place[row] = place[parent] + turn[parent].apply(size[parent] * poses[row, :3])
                turn[row] = turn[parent] * local[row]
                size[row] = size[parent] * poses[row, 7:]

    return run


def trimesh_pass(count: int) -> Callable[[], None]:
    """trimesh's SceneGraph: every edge set, every node asked for; ImportError without it."""
    from scipy.spatial.transform import Rotation
    from trimesh.scene.transforms import SceneGraph

    parents, poses = forest(count)
    graph = SceneGraph()
    matrices = np.tile(np.eye(4), (count, 1, 1))
    matrices[:, :3, :3] = Rotation.from_quat(poses[:, 3:7]).as_matrix() * poses[:, None, 7:]
    matrices[:, :3, 3] = poses[:, :3]
    edges = [
        (f"n{row}", f"n{parent}" if parent >= 0 else "world", matrices[row])
        for row, parent in enumerate(parents.tolist())
    ]

    def run() -> None:
        for name, above, matrix in edges:
            graph.update(frame_to=name, frame_from=above, matrix=matrix)
        for name, _, _ in edges:
            graph.get(name)

    return run


class Three:
    """three.js in node: `best` is the time of one updateMatrixWorld, in seconds; None where it is not installed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        node, npm = shutil.which("node"), shutil.which("npm")
        if node is None or npm is None:
            return
        folder = Path(tempfile.gettempdir()) / "diorama-bench-three"
        if not (folder / "node_modules" / "three").exists():
            folder.mkdir(exist_ok=True)
            install = [
                npm,
                "install",
                "--silent",
                "--no-audit",
                "--no-fund",
                "--prefix",
                str(folder),
                "three",
            ]
            if subprocess.run(install, capture_output=True).returncode:
                return
        script = shutil.copy(Path(__file__).with_name("three_tree.mjs"), folder)
        self._process = subprocess.Popen(
            [node, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def best(self, count: int, share: float, seconds: float) -> float | None:
        """Of many passes over the same forest, made depth first, which suits three.js best."""
        if self._process is None or self._process.stdin is None or self._process.stdout is None:
            return None
        parents, poses = forest(count)
        question = {"parents": parents.tolist(), "poses": poses.tolist(), "share": share, "seconds": seconds}
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        """End node."""
        if self._process is not None:
            self._process.communicate("")


def optional(make: Callable[[], Callable[[], None]]) -> Callable[[], None] | None:
    """The candidate, or None when its library is not installed."""
    try:
        return make()
    except ImportError:
        return None


def rows(quick: bool) -> list[Row]:
    """Everything moves, and 1 % does, against C as the limit and all peers."""
    seconds = 1.0 if quick else 3.0
    three = Three()
    c = native(C_FLAGS["C -O3 -march=native"])
    found: list[Row] = []
    for count in SIZES:
        for share, title in ((1.0, "all move"), (0.01, "1 % moves")):
            candidates: dict[str, Callable[[], None] | None] = {
                "numpy": world_pass(Scene(count, share), fast=False)
            }
            if compiled_kernels() is not None:
                candidates["numba"] = world_pass(Scene(count, share), fast=True)
            candidates["C -O3"] = c and c_pass(c, Scene(count, share))
            if share == 1.0:
                candidates["objects in esper"] = object_pass(count)
                candidates["scipy Rotation by level"] = optional(lambda n=count: scipy_pass(n))
                # Seconds for a pass: the largest only where there is time.
                if count <= (10_000 if quick else 100_000):
                    candidates["scipy Rotation for each"] = optional(lambda n=count: scipy_each_pass(n))
                    candidates["trimesh SceneGraph"] = optional(lambda n=count: trimesh_pass(n))
            before = three.best(count, share, seconds / 4)
            there = {name: run for name, run in candidates.items() if run is not None}
            timings = measure(there, seconds, thread_time)
            after = three.best(count, share, seconds / 4)
            times = {name: timing.best for name, timing in timings.items()}
            peers: dict[str, float | None] = {name: times.get(name) for name in candidates}
            peers["three.js"] = min(before, after) if before and after else None
            found.append(
                Row(
                    work=f"world poses, {count:,} entities, {title} (numba)",
                    ours=times.get("numba"),
                    limit="C -O3, the same loop",
                    limit_s=times.get("C -O3"),
                    goal=f"at most {1.15 if share == 1.0 else 1.3} to the limit",
                    spread=timings["numba"].spread if "numba" in timings else 1.0,
                )
            )
            for ours in ("numba", "numpy"):
                for peer, time in peers.items():
                    if peer in ("numba", "numpy", "C -O3") or (
                        ours == "numpy" and peer != "objects in esper"
                    ):
                        continue
                    goal = {"three.js": "at most 0.125"}.get(peer, "at most 0.01")
                    goal = goal if ours == "numba" and share == 1.0 else ""
                    found.append(
                        Row(
                            work=f"world poses, {count:,} entities, {title} ({ours})",
                            ours=times.get(ours),
                            peer=peer,
                            peer_s=time,
                            limit="C -O3, the same loop",
                            limit_s=times.get("C -O3"),
                            goal=goal,
                            spread=timings[ours].spread if ours in timings else 1.0,
                        )
                    )
    three.close()
    return found


def main(seconds: float = 3.0) -> None:
    libraries = {name: native(flags) for name, flags in C_FLAGS.items()}
    for count in SIZES:
        for share, title in ((1.0, "everything moves"), (0.01, "1 % moves")):
            candidates: dict[str, Callable[[], None]] = {}
            for name, function in libraries.items():
                if function is not None:
                    candidates[name] = c_pass(function, Scene(count, share))
            if compiled_kernels() is not None:
                candidates["numba, the kernel alone"] = kernel_pass(Scene(count, share))
                candidates["propagate (numba)"] = world_pass(Scene(count, share), fast=True)
            candidates["propagate (numpy)"] = world_pass(Scene(count, share), fast=False)
            if share == 1.0:
                candidates["copy of the bytes it writes"] = copy_pass(count)
                candidates["Python objects in esper"] = object_pass(count)
            print(table(f"{count} entities, {title}", measure(candidates, seconds), unit=count))


if __name__ == "__main__":
    main()
