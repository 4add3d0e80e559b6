"""diorama: a scene graph of entities and components that knows where on Earth it is.

The names below are the front door; each is imported when first used, so `import diorama.geo` stays light.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the same names for type checkers and editors
    from diorama.ecs import Transform as Transform
    from diorama.ecs import World as World
    from diorama.geo import Origin as Origin
    from diorama.runtime.clock import RealTimeClock as RealTimeClock
    from diorama.runtime.clock import SteppableClock as SteppableClock
    from diorama.runtime.clock import Tick as Tick
    from diorama.runtime.load import load as load
    from diorama.runtime.load import save as save
    from diorama.runtime.step import step as step
    from diorama.schemas.errors import DioramaError as DioramaError
    from diorama.schemas.errors import SceneError as SceneError
    from diorama.transport.client import Client as Client
    from diorama.transport.publisher import Publisher as Publisher
    from diorama.transport.replica import Replica as Replica
    from diorama.transport.subscriber import Subscriber as Subscriber

__version__ = "0.1.0"

# name -> module that defines it
_HOME: dict[str, str] = {
    "Client": "diorama.transport.client",
    "DioramaError": "diorama.schemas.errors",
    "Origin": "diorama.geo",
    "Publisher": "diorama.transport.publisher",
    "RealTimeClock": "diorama.runtime.clock",
    "Replica": "diorama.transport.replica",
    "SceneError": "diorama.schemas.errors",
    "SteppableClock": "diorama.runtime.clock",
    "Subscriber": "diorama.transport.subscriber",
    "Tick": "diorama.runtime.clock",
    "Transform": "diorama.ecs",
    "World": "diorama.ecs",
    "load": "diorama.runtime.load",
    "save": "diorama.runtime.load",
    "step": "diorama.runtime.step",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'diorama' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
