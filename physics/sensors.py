"""Sensors of a running scene: `.data` is what they say in every environment, B."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diorama.physics.mujoco_import import MjModel, mujoco
from diorama.physics.rotations import rotate, yaw_only
from diorama.physics.sensor_config import ContactSensorCfg, RayCastSensorCfg
from diorama.physics.sensor_spec import CONTACT_FIELDS, contact_fields
from diorama.physics.simulation import Simulation

Floats = NDArray[np.float64]
MISS = -1.0


class BuiltinSensor:
    """One of MuJoCo's sensors: `.data` is (B, width).

    `mounted_on` is MuJoCo's type and id of the element it sits on, here and in the other sensors.
    """

    def __init__(self, name: str, simulation: Simulation, index: int) -> None:
        self.name = name
        sensor = simulation.model.sensor(index)
        self.type = mujoco.mjtSensor(int(sensor.type[0])).name[len("mjSENS_") :].lower()
        self.width = int(sensor.dim[0])
        self.mounted_on = (int(sensor.objtype[0]), int(sensor.objid[0]))
        self._columns = slice(int(sensor.adr[0]), int(sensor.adr[0]) + self.width)
        self._sim = simulation

    @property
    def data(self) -> Floats:
        """The readings (B, width): a view that the next step overwrites."""
        readings: Floats = self._sim.derived("sensordata")[:, self._columns]
        return readings


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactData:
    """Contacts of N slots, slot by slot within primary by primary; fields not asked for are None."""

    found: Floats | None = None
    force: Floats | None = None
    torque: Floats | None = None
    dist: Floats | None = None
    pos: Floats | None = None
    normal: Floats | None = None
    tangent: Floats | None = None


class ContactSensor:
    """Contacts of several primaries: `.data.force` is (B, N, 3), `.data.found` is (B, N)."""

    type = "contact"

    def __init__(
        self, cfg: ContactSensorCfg, parts: list[str], simulation: Simulation, offsets: Floats
    ) -> None:
        self.name = cfg.key
        self.cfg = cfg
        self.primary_names = [part[len(cfg.key) + 1 :] for part in parts]
        self._sim = simulation
        self._offsets = offsets
        self._fields = contact_fields(cfg)
        sensors = [simulation.model.sensor(part) for part in parts]
        self.mounted_on = (int(sensors[0].objtype[0]), int(sensors[0].objid[0]))
        self.width = sum(int(sensor.dim[0]) for sensor in sensors)
        self._columns = np.concatenate(
            [np.arange(sensor.adr[0], sensor.adr[0] + sensor.dim[0]) for sensor in sensors]
        )

    @property
    def data(self) -> ContactData:
        """The contacts of the last step."""
        width = sum(CONTACT_FIELDS[field] for field in self._fields)
        readings = self._sim.derived("sensordata")[:, self._columns].reshape(self._sim.num_envs, -1, width)
        found: dict[str, Floats] = {}
        start = 0
        for field in self._fields:
            size = CONTACT_FIELDS[field]
            part = readings[..., start : start + size]
            found[field] = part[..., 0] if size == 1 else part
            start += size
        if "pos" in found:
            # An empty slot is zero throughout, and stays so.
            hit = np.any(readings, axis=-1, keepdims=True)
            found["pos"] = np.where(hit, found["pos"] + self._offsets[:, None], 0.0)
        if self.cfg.global_frame:
            second = np.cross(found["normal"], found["tangent"])
            axes = np.stack([found["normal"], found["tangent"], second], axis=-1)
            for field in {"force", "torque"} & found.keys():
                found[field] = np.einsum("...ij,...j->...i", axes, found[field])
        return ContactData(**{field: found[field] for field in self.cfg.fields})


@dataclass(frozen=True, slots=True, kw_only=True)
class RayCastData:
    """What N rays met: distances (B, N) in metres, -1 for nothing; hits and normals (B, N, 3); the frame."""

    distances: Floats
    hit_pos_w: Floats
    normals_w: Floats
    pos_w: Floats
    quat_w: Floats


class RayCastSensor:
    """Rays from a frame: `.data.distances` is (B, N). Cast when first read after a step or a write."""

    type = "raycast"

    def __init__(self, cfg: RayCastSensorCfg, simulation: Simulation, offsets: Floats) -> None:
        self.name = cfg.key
        self.cfg = cfg
        self._sim = simulation
        self._offsets = offsets
        self._starts, self._directions = cfg.pattern.rays()
        self.width = len(self._starts)
        self._frame, self._body, self.mounted_on = _frame_of(cfg, simulation.model)
        self._cached: tuple[int, RayCastData] | None = None
        # Bound now, so that a later first reading does not cost a forward pass.
        simulation.derived(f"{self._frame[0]}pos")
        simulation.derived(f"{self._frame[0]}quat")

    @property
    def data(self) -> RayCastData:
        """What the rays meet at the current state."""
        if self._cached is None or self._cached[0] != self._sim.version:
            self._cached = (self._sim.version, self._cast())
        return self._cached[1]

    def _cast(self) -> RayCastData:
        # Rays are cast against the state, so the frame must not be a substep behind it.
        self._sim.refresh_all()
        field, index = self._frame
        position: Floats = self._sim.derived(f"{field}pos")[:, index]
        quat: Floats = self._sim.derived(f"{field}quat")[:, index]
        turn = quat
        if self.cfg.ray_alignment == "yaw":
            turn = yaw_only(quat)
        elif self.cfg.ray_alignment == "world":
            turn = np.broadcast_to([1.0, 0.0, 0.0, 0.0], quat.shape)
        starts = position[:, None] + rotate(turn[:, None], self._starts)
        directions = rotate(turn[:, None], self._directions)
        groups = None
        if self.cfg.geom_groups is not None:
            groups = np.isin(np.arange(mujoco.mjNGROUP), self.cfg.geom_groups).astype(np.uint8)
        distances, _, normals = self._sim.ray(
            starts,
            directions,
            geomgroup=groups,
            bodyexclude=self._body if self.cfg.exclude_parent_body else -1,
            normal=True,
        )
        missed = (distances < 0) | (distances > self.cfg.max_distance)
        reach = np.where(missed, self.cfg.max_distance, distances)
        return RayCastData(
            distances=np.where(missed, MISS, distances),
            hit_pos_w=starts + directions * reach[..., None] + self._offsets[:, None],
            normals_w=np.where(missed[..., None], 0.0, normals),
            pos_w=position + self._offsets,
            quat_w=quat.copy(),
        )


def _frame_of(cfg: RayCastSensorCfg, model: MjModel) -> tuple[tuple[str, int], int, tuple[int, int]]:
    """Field prefix and index of the frame in MuJoCo's arrays, its body, and its MuJoCo type and id."""
    name = cfg.frame.full_name
    if cfg.frame.type == "site":
        site = model.site(name)
        return ("site_x", site.id), int(site.bodyid[0]), (int(mujoco.mjtObj.mjOBJ_SITE), site.id)
    if cfg.frame.type == "geom":
        geom = model.geom(name)
        return ("geom_x", geom.id), int(geom.bodyid[0]), (int(mujoco.mjtObj.mjOBJ_GEOM), geom.id)
    body = model.body(name)
    return ("x", body.id), int(body.id), (int(mujoco.mjtObj.mjOBJ_XBODY), body.id)
