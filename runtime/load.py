"""Files to worlds and back: which format a file has, and the functions that read, write and check it.

A format is a module with

    read(path, *, warnings, **options) -> World      warnings: list[Problem] to append to
    write(world, path, **options) -> None            where the format can be written
    check(path, *, warnings, **options) -> None      where checking can say more than reading; raises SceneError

and a line in FORMATS. Modules are imported when a file of their format turns up, so that the table costs nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from diorama.ecs import World, propagate
from diorama.formats.files import read_file
from diorama.geo import Origin
from diorama.schemas.errors import DioramaError, GeoError, Problem, SceneError, StateError, did_you_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How to know a format: by the end of the file's name, and among those that share it by `markers`.

    Markers are pieces of text that files of the format contain; of the formats a suffix allows, the one most of
    whose markers are there is taken.
    """

    name: str
    about: str
    module: str
    suffixes: tuple[str, ...]
    markers: tuple[bytes, ...] = ()


FORMATS = (
    Format(
        name="scene",
        about="the scene document (JSON): entities, components, resources",
        module="diorama.formats.aerosim",
        suffixes=(".json", ".jsonc"),
        markers=(b"entities", b"components", b"actor_properties", b"actor_state"),
    ),
    Format(
        name="sim_config",
        about="AeroSim's sim_config.json",
        module="diorama.formats.aerosim_config",
        suffixes=(".json", ".jsonc"),
        markers=(b'"world"', b'"orchestrator"', b'"renderers"', b'"actor_name"'),
    ),
    Format(
        name="airsim",
        about="Project AirSim's scene configuration (JSONC), with the robot files it names",
        module="diorama.formats.airsim",
        suffixes=(".json", ".jsonc"),
        markers=(b'"id"', b'"actors"', b'"clock"', b'"home-geo-point"', b'"robot-config"'),
    ),
    Format(
        name="mjcf",
        about="MuJoCo's MJCF, and URDF: bodies, shapes and sensors of a robot (extra mujoco)",
        module="diorama.physics.load",
        suffixes=(".xml", ".mjcf", ".urdf", ".zip"),
        markers=(b"<mujoco", b"<robot"),
    ),
    Format(
        name="usd",
        about="USD stages, written only: hierarchy, poses, cameras, references (extra usd)",
        module="diorama.formats.usd",
        suffixes=(".usda", ".usdc", ".usd"),
    ),
    Format(
        name="rscene",
        about="RaiSim Engine 2 scenes (.rscene) and projects",
        module="diorama.formats.rscene",
        suffixes=(".rscene", "raisim_engine2_project"),
    ),
    Format(
        name="raisim",
        about="RaiSim's world XML and scripts: recognised, not read",
        module="diorama.formats.rscene.foreign",
        suffixes=(".xml", ".re2"),
        markers=(b"<raisim",),
    ),
)


def load(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002  (what everybody calls it)
    origin: Origin | None = None,
    warnings: list[Problem] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    **options: Any,
) -> World:
    """The world of a scene file, settled: every world pose is right before the first tick.

    The format is found by name and content unless given. `origin` puts the scene at that place on Earth, whatever
    the file says. What is odd but not wrong is appended to `warnings`. `progress` is told (what, done, total) by
    formats that take their time. `options` are the format's own.
    """
    chosen = _format_to_read(path, format)
    noted: list[Problem] = [] if warnings is None else warnings
    reader = _function(chosen, "read", options)
    if progress is not None and "progress" in signature(reader).parameters:
        options["progress"] = progress
    try:
        world: World = reader(path, warnings=noted, **options)
    except RecursionError:
        raise SceneError(
            Problem("expected some hundred levels of brackets at most, got more", file=str(path))
        ) from None
    if origin is not None:
        world.origin = origin
    propagate(world)
    return world


def save(
    world: World,
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002
    **options: Any,
) -> None:
    """Write a world in the format of the suffix, or in the one given; the file is replaced whole or not at all."""
    chosen = (
        _named(format)
        if format
        else next((found for found in _by_suffix(path) if _can(found, "write")), None)
    )
    if chosen is None:
        endings = sorted({ending for found in FORMATS if _can(found, "write") for ending in found.suffixes})
        raise DioramaError(f"{path}: expected a file name ending in {', '.join(endings)}, or a format")
    _function(chosen, "write", options)(world, path, **options)


def check(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002
    warnings: list[Problem] | None = None,
    **options: Any,
) -> list[Problem]:
    """Everything wrong with a file; nothing when it can be loaded. What is only odd is appended to `warnings`."""
    noted: list[Problem] = [] if warnings is None else warnings
    try:
        chosen = _format_to_read(path, format)
        if _can(chosen, "check"):
            _function(chosen, "check", options)(path, warnings=noted, **options)
        else:
            load(path, format=chosen.name, warnings=noted, **options)
    except SceneError as error:
        return list(error.problems)
    except (GeoError, StateError) as error:
        return [Problem(str(error), file=str(path))]
    return []


def format_of(path: str | Path) -> str:
    """The name of the format a file is in, by its name and, where several share the ending, its content."""
    return _format_to_read(path, None).name


def _format_to_read(path: str | Path, name: str | None) -> Format:
    if name:
        return _named(name)
    found = _by_suffix(path)
    if not found and Path(path).is_dir():
        raise SceneError(Problem("expected a file, got a folder; name a file in it", file=str(path)))
    if not found:
        endings = sorted({ending for known in FORMATS for ending in known.suffixes})
        raise SceneError(
            Problem(
                f"expected a file name ending in {', '.join(endings)}; or name the format", file=str(path)
            )
        )
    if len(found) == 1:
        return found[0]
    data = read_file(path)
    shares = [sum(marker in data for marker in known.markers) / max(1, len(known.markers)) for known in found]
    return found[shares.index(max(shares))]


def _by_suffix(path: str | Path) -> list[Format]:
    """The formats with the longest ending that fits."""
    name = Path(path).name.lower()
    fits = [(ending, known) for known in FORMATS for ending in known.suffixes if name.endswith(ending)]
    longest = max((len(ending) for ending, _ in fits), default=0)
    return [known for ending, known in fits if len(ending) == longest]


def _named(name: str) -> Format:
    for known in FORMATS:
        if known.name == name:
            return known
    names = [known.name for known in FORMATS]
    raise DioramaError(f"format: expected one of {', '.join(names)}, got {name!r}{did_you_mean(name, names)}")


def _can(chosen: Format, verb: str) -> bool:
    return hasattr(import_module(chosen.module), verb)


def _function(chosen: Format, verb: str, options: dict[str, Any]) -> Callable[..., Any]:
    """A format's `read`, `write` or `check`, once it is sure to understand the options."""
    if not _can(chosen, verb):
        raise DioramaError(f"format {chosen.name}: there is no way to {verb} it")
    function: Callable[..., Any] = getattr(import_module(chosen.module), verb)
    parameters = signature(function).parameters
    for option in options:
        if option not in parameters:
            known = [name for name in parameters if name not in ("path", "world", "warnings", "progress")]
            there = f"; there is {', '.join(known)}" if known else ""
            raise DioramaError(f"format {chosen.name}: there is no option {option!r} to {verb} it{there}")
    return function
