"""What Project AirSim says about the parts of an actor, kept on their entities with its own keys."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from diorama.ecs import component


@component("airsim_actor")
@dataclass(frozen=True, slots=True)
class Actor:
    """A robot, environment actor, environment object or spawned object, and its settings."""

    type: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@component("airsim_link")
@dataclass(frozen=True, slots=True)
class Link:
    """A rigid part: mass (kg), and the inertial, collision and visual settings as written."""

    mass: float = 0.0
    settings: Mapping[str, Any] = field(default_factory=dict)


@component("airsim_joint")
@dataclass(frozen=True, slots=True)
class Joint:
    """What holds a link to another: its type, and its axis, limit and constants as written."""

    type: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@component("airsim_actuator")
@dataclass(frozen=True, slots=True)
class Actuator:
    """A rotor, tilt, control surface, gimbal or wheel; `link` names the entity of the link it moves, or nothing."""

    type: str
    enabled: bool = True
    link: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


@component("airsim_controller")
@dataclass(frozen=True, slots=True)
class Controller:
    """The flight stack that would fly the robot, and its settings as written."""

    type: str
    settings: Mapping[str, Any] = field(default_factory=dict)
