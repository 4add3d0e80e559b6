"""What a scene can sense: MuJoCo's own sensors, contacts and rays, as plain values."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

ContactField = Literal["found", "force", "torque", "dist", "pos", "normal", "tangent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjRef:
    """An element of the model: its type (`site`, `body`, `joint`, …), its name, and the entity it is in."""

    type: str
    name: str
    entity: str | None = None

    @property
    def full_name(self) -> str:
        """The name in the composed model."""
        return f"{self.entity}/{self.name}" if self.entity else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class SensorCfg:
    """Any sensor: it is `scene[name]`."""

    name: str

    @property
    def key(self) -> str:
        """The name under which the scene knows the sensor."""
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltinSensorCfg(SensorCfg):
    """One of MuJoCo's sensors (`gyro`, `framepos`, …) on an element; it is `scene["<entity>/<name>"]`."""

    sensor_type: str
    obj: ObjRef | None = None
    ref: ObjRef | None = None
    cutoff: float = 0.0

    @property
    def key(self) -> str:
        """The name under which the scene knows the sensor."""
        return f"{self.obj.entity}/{self.name}" if self.obj and self.obj.entity else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactMatch:
    """Geoms, bodies or subtrees of an entity whose whole name matches `pattern` and none of `exclude`."""

    mode: Literal["geom", "body", "subtree"]
    pattern: str | tuple[str, ...]
    entity: str | None = None
    exclude: tuple[str, ...] = ()

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns, as a tuple."""
        return (self.pattern,) if isinstance(self.pattern, str) else self.pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactSensorCfg(SensorCfg):
    """Contacts of each primary with the secondary, or with anything.

    Every primary reports `num_slots` contacts chosen by `reduce`; forces and torques are in the contact
    frame (normal, tangent, second tangent) or, with `global_frame`, in the world's axes.
    """

    primary: ContactMatch
    secondary: ContactMatch | None = None
    fields: tuple[ContactField, ...] = ("found", "force")
    reduce: Literal["none", "mindist", "maxforce", "netforce"] = "maxforce"
    num_slots: int = 1
    global_frame: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GridPatternCfg:
    """Parallel rays from a horizontal grid of `size` (m) around the frame, `resolution` (m) apart."""

    size: tuple[float, float] = (1.6, 1.0)
    resolution: float = 0.1
    direction: tuple[float, float, float] = (0.0, 0.0, -1.0)

    def rays(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Starts and unit directions in the frame, (n, 3) each, x running fastest."""
        axes = [
            np.linspace(-length / 2, length / 2, round(length / self.resolution) + 1) for length in self.size
        ]
        y, x = np.meshgrid(axes[1], axes[0], indexing="ij")
        starts = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1)
        direction = np.asarray(self.direction, dtype=np.float64)
        return starts, np.broadcast_to(direction / np.linalg.norm(direction), starts.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class RingPatternCfg:
    """Rays straight out from the frame, `num_rays` around each elevation (rad above the horizon)."""

    num_rays: int = 36
    elevations: tuple[float, ...] = (0.0,)

    def rays(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Starts and unit directions in the frame, (n, 3) each, ring after ring."""
        azimuth = np.arange(self.num_rays) * (2 * np.pi / self.num_rays)
        rings = [
            np.stack(
                [
                    np.cos(azimuth) * np.cos(elevation),
                    np.sin(azimuth) * np.cos(elevation),
                    np.full(self.num_rays, np.sin(elevation)),
                ],
                axis=1,
            )
            for elevation in self.elevations
        ]
        directions = np.concatenate(rings)
        return np.zeros_like(directions), directions


@dataclass(frozen=True, slots=True, kw_only=True)
class PinholeCameraPatternCfg:
    """One ray per pixel of a pinhole camera that looks along -z with +y up, as MuJoCo's cameras do."""

    width: int = 16
    height: int = 12
    fovy_deg: float = 45.0

    def rays(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Starts and unit directions in the frame, (n, 3) each, row by row from the top left."""
        focal = self.height / 2 / np.tan(np.radians(self.fovy_deg) / 2)
        u = np.arange(self.width) + 0.5 - self.width / 2
        v = self.height / 2 - np.arange(self.height) - 0.5
        v_grid, u_grid = np.meshgrid(v, u, indexing="ij")
        directions = np.stack(
            [u_grid.ravel() / focal, v_grid.ravel() / focal, np.full(u_grid.size, -1.0)], axis=1
        )
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return np.zeros_like(directions), directions


RayPattern = GridPatternCfg | RingPatternCfg | PinholeCameraPatternCfg


# The elements that rays can start from.
RAY_FRAMES = ("body", "xbody", "site", "geom")


@dataclass(frozen=True, slots=True, kw_only=True)
class RayCastSensorCfg(SensorCfg):
    """Distances along rays that start at a frame (a body, site or geom).

    `ray_alignment` says how the pattern turns with the frame: fully (`base`), about the vertical only
    (`yaw`), or not at all (`world`). `geom_groups` limits what rays can hit.
    """

    frame: ObjRef
    pattern: RayPattern = GridPatternCfg()
    ray_alignment: Literal["base", "yaw", "world"] = "yaw"
    max_distance: float = 10.0
    exclude_parent_body: bool = True
    geom_groups: tuple[int, ...] | None = None


def references(cfg: SensorCfg) -> Iterator[ObjRef]:
    """The elements a sensor configuration names one by one."""
    if isinstance(cfg, BuiltinSensorCfg):
        yield from (ref for ref in (cfg.obj, cfg.ref) if ref is not None)
    elif isinstance(cfg, RayCastSensorCfg):
        yield cfg.frame
