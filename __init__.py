"""diorama: a scene graph of entities and components that knows where on Earth it is.

The names below are the front door; each is imported when first used, so `import diorama.geo` stays light.
"""

__version__ = "0.1.0"

# name -> module that defines it
_HOME: dict[str, str] = {
    "RealTimeClock": "diorama.runtime.clock",
    "SteppableClock": "diorama.runtime.clock",
    "Tick": "diorama.runtime.clock",
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
