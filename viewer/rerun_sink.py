"""A scene in Rerun: boxes, transforms, places on Earth, on the timelines of simulation time and ticks.

The only home of rerun. Boxes go by kind in one message each; a transform of its own gets what moves by itself or
carries a sensor, since a message for every entity would cost a thousand times as much.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import Entity, Sensor, Velocity, World
from diorama.ecs.locate import locate
from diorama.schemas.errors import missing_extra
from diorama.transport.replica import Replica
from diorama.viewer.appearance import appearance
from diorama.viewer.batches import Batch, batches, same_structure
from diorama.viewer.cameras import is_camera, lens

try:
    import rerun as rr
except ImportError:
    missing_extra("rerun", "showing a scene in Rerun")

MOST_TRANSFORMS = 300
MOST_PLACES = 200


class RerunSink:
    """Writes a world into a recording of Rerun, update by update."""

    def __init__(self, recording: Any) -> None:
        self._out = recording
        self._structure: tuple[World, int] | None = None
        self._batches: list[Batch] = []
        self._carriers: NDArray[np.int64] = np.zeros(0, np.int64)
        self._movers: NDArray[np.int64] = np.zeros(0, np.int64)
        self._paths: dict[Entity, str] = {}
        # North, east, down lies in space as forward, right, down does.
        self._out.log("world", rr.ViewCoordinates.FRD, static=True)

    def show(self, world: World, tick: int, time_ns: int, changed: NDArray[np.int64] | None = None) -> None:
        """Write what moved; everything, when the structure changed or `changed` is not given."""
        out = self._out
        out.set_time("sim_time", duration=np.timedelta64(time_ns, "ns"))
        out.set_time("tick", sequence=tick)
        fresh = not same_structure(self._structure, world)
        if fresh:
            self._rebuild(world)
        moved = np.zeros(world.table.high, np.bool_)
        moved[world.rows(world.entities if fresh or changed is None else changed)] = True
        for number, batch in enumerate(self._batches):
            if moved[batch.rows].any():
                self._boxes(world, number, batch)
        for entity in self._carriers.tolist():
            row = world.row(entity)
            if moved[row]:
                pose = world.table.pose[row]
                turn = rr.Quaternion(xyzw=pose[3:7])
                out.log(self._paths[entity], rr.Transform3D(translation=pose[0:3], quaternion=turn))
        if world.origin is not None and len(self._movers):
            places = locate(world, world.rows(self._movers)).lla
            out.log("map", rr.GeoPoints(lat_lon=places[:, 0:2], radii=rr.Radius.ui_points(6.0)))

    def _rebuild(self, world: World) -> None:
        for number in range(len(self._batches)):
            self._out.log(f"world/boxes/{number}", rr.Clear(recursive=True))
        self._structure = (world, world.epoch)
        self._batches = batches(world, lambda entity: appearance(world, entity))
        sensors = world.query(Sensor)
        movers = [entity for entity, _ in world.query(Velocity) if world.parent(entity) is None]
        self._movers = np.array(movers[:MOST_PLACES], np.int64)
        carriers = [*(entity for entity, _ in sensors), *movers][:MOST_TRANSFORMS]
        self._carriers = np.array(carriers, np.int64)
        self._paths = {
            entity: "world/entities/" + rr.escape_entity_path_part(world.name(entity)) for entity in carriers
        }
        for entity, sensor in sensors:
            if entity in self._paths and is_camera(sensor):
                fov, aspect = lens(sensor.parameters)
                pinhole = rr.Pinhole(fov_y=fov, aspect_ratio=aspect, camera_xyz=rr.ViewCoordinates.FRD)
                self._out.log(f"{self._paths[entity]}/lens", pinhole)

    def _boxes(self, world: World, number: int, batch: Batch) -> None:
        place, w_first, size = batch.instances(world, np.zeros(3))
        self._out.log(
            f"world/boxes/{number}",
            rr.Boxes3D(
                centers=place,
                half_sizes=0.5 * size,
                quaternions=w_first[:, [1, 2, 3, 0]],
                colors=batch.color,
                fill_mode="solid",
                labels=[world.name(entity) for entity in batch.entities.tolist()],
                show_labels=False,
            ),
        )


def open_recording(path: str | Path | None = None, *, name: str = "diorama") -> Any:
    """A recording that goes to a file, or to a viewer that is started for it."""
    recording = rr.RecordingStream(name)
    if path is None:
        recording.spawn()
    else:
        recording.save(str(path))
    return recording


def convert_recording(source: str | Path, target: str | Path) -> int:
    """Turn an MCAP recording into a Rerun one; returns the number of updates."""
    from diorama.viewer.replay import (
        worlds,
    )  # here: whoever looks at a live scene needs no library for recordings

    recording = open_recording(target)
    sink = RerunSink(recording)
    count, since = 0, -1
    for message, world in worlds(source):
        rows = np.flatnonzero(world.table.alive[: world.table.high])
        changed = world.table.handles(rows[world.table.posed[rows] > since])
        sink.show(world, message.header.tick, message.header.time_ns, changed)
        since = world.version
        count += 1
    recording.flush()
    return count


def follow(
    endpoint: str, *, on_update: Callable[[], bool] = lambda: True, path: str | Path | None = None
) -> None:
    """Show a published scene in Rerun until `on_update` says no."""
    recording = open_recording(path)
    sink = RerunSink(recording)
    with Replica(endpoint) as replica:
        for update in replica:
            sink.show(
                replica.world, update.index, update.time_ns, None if update.complete else update.changed
            )
            if not on_update():
                break
    recording.flush()
