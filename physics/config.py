"""What a physics scene consists of, as plain values: no MuJoCo is needed to write one down.

Everything here speaks MuJoCo: metres, radians, z up, quaternions with w first. The names are those of
mjlab, so that its configurations carry over.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from diorama.physics.sensor_config import SensorCfg
    from diorama.physics.terrain import TerrainEntityCfg

Vector3 = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
JointValues = Mapping[str, float | tuple[float, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class InitialStateCfg:
    """Where an entity starts, relative to its environment's origin.

    What is None stays as in the model's first keyframe or, without one, as in its joints' reference.
    The keys of `joint_pos` and `joint_vel` are regular expressions on whole joint names; of several that
    match a joint the last one counts. A ball joint takes four numbers (a quaternion) and three (velocity).
    """

    pos: Vector3 | None = None
    rot: Quaternion | None = None
    lin_vel: Vector3 = (0.0, 0.0, 0.0)
    ang_vel: Vector3 = (0.0, 0.0, 0.0)
    joint_pos: JointValues | None = None
    joint_vel: JointValues | None = None


# Inside EntityCfg the name itself is taken by the class attribute below.
_InitialState = InitialStateCfg


@dataclass(frozen=True, slots=True, kw_only=True)
class ActuatorCfg:
    """An actuator for every joint whose whole name matches one of the expressions.

    `position` servos towards an angle with `stiffness` (N·m/rad) and `damping` (N·m·s/rad), `velocity`
    towards a speed with `damping`, `motor` applies the control as a torque. What is None stays as modelled.
    """

    target_names_expr: tuple[str, ...] = (".*",)
    kind: Literal["position", "velocity", "motor"] = "position"
    stiffness: float = 0.0
    damping: float = 0.0
    effort_limit: float | None = None
    armature: float | None = None
    frictionloss: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticulationCfg:
    """Settings of an entity's joints and actuators."""

    actuators: tuple[ActuatorCfg, ...] = ()
    soft_joint_pos_limit_factor: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityCfg:
    """One robot or object: a function that makes its `MjSpec`, or an MJCF or URDF file."""

    InitialStateCfg: ClassVar[type[_InitialState]] = _InitialState

    spec_fn: Callable[[], Any] | None = None
    file: str | Path | None = None
    init_state: _InitialState = field(default_factory=_InitialState)
    articulation: ArticulationCfg = field(default_factory=ArticulationCfg)


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneCfg:
    """A whole scene: entities on a terrain, with sensors, in many environments.

    `option` sets fields of MuJoCo's options (`{"timestep": 0.005, "integrator": "implicitfast"}`) over what
    the entities' files ask for. `spec_fn` edits the composed `MjSpec` before it is compiled. `seed` draws
    the terrain and the patches environments start on. `extent` is the size shown by MuJoCo's viewer (m).
    """

    num_envs: int = 1
    env_spacing: float = 2.0
    terrain: "TerrainEntityCfg | None" = None
    entities: Mapping[str, EntityCfg] = field(default_factory=dict)
    sensors: tuple["SensorCfg", ...] = ()
    spec_fn: Callable[[Any], None] | None = None
    option: Mapping[str, Any] = field(default_factory=dict)
    extent: float | None = None
    seed: int = 0


# The names mjlab uses.
EntityArticulationInfoCfg = ArticulationCfg
