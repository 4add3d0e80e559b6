"""World poses of trees eight levels deep: numba and numpy against the same loop in C, a copy of the bytes, and others.

Goals, 1k to 100k entities: numba within 1.15x of C when everything moves and within 1.3x when 1 % does (both look for
changes by themselves); at least 8x faster than three.js, and 100x faster than Python objects in esper, scipy's Rotation
and trimesh's SceneGraph. The table in README.md says which are met. scipy comes twice: a Rotation for each entity, as
objects have it, and level by level, which is numpy already. `table` compares with the first row of each block.
"""

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import thread_time

import numpy as np
from measure import Row, measure, table
from tree_peers import Three, forest, object_pass, scipy_each_pass, scipy_pass, trimesh_pass

from diorama.ecs import World, propagate
from diorama.ecs.tree import compiled_kernels

SIZES = (1_000, 10_000, 100_000)
C_FLAGS = {"C -O3 -march=native": ["-O3", "-march=native"], "C -O3": ["-O3"]}


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
    subprocess.run(
        [compiler, *flags, "-Wno-psabi", "-shared", "-fPIC", "-o", library, source, "-lm"], check=True
    )
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
