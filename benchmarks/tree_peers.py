"""The same forest in what others offer: objects in esper, scipy's Rotation, trimesh's SceneGraph, three.js in node."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import esper
import numpy as np
from numpy.typing import NDArray

DEPTH = 8
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
