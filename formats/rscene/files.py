"""Reading and writing `.rscene`: from paths, bytes and streams to worlds, and back.

A scene is refused with every error of the file at once (`strict`), or read as Engine 2 would read it, with what it
forgives as warnings.
"""

from pathlib import Path
from typing import BinaryIO, TextIO

from diorama.ecs import Entity, World, propagate
from diorama.formats.files import read_file, replace_file
from diorama.formats.rscene.build import world_from_document
from diorama.formats.rscene.document import Document, parse
from diorama.formats.rscene.foreign import foreign_problem
from diorama.formats.rscene.lint import lint
from diorama.formats.rscene.moved import remember
from diorama.formats.rscene.project import PROJECT_FILE, parse_project
from diorama.formats.rscene.save import document_from_world
from diorama.formats.rscene.validate import validate
from diorama.schemas.errors import Problem, SceneError

Source = str | Path | bytes | BinaryIO | TextIO


def read(source: Source, *, strict: bool = True, warnings: list[Problem] | None = None) -> World:
    """The world of a scene, or of the default scene of a `raisim_engine2_project`.

    `source` is a path, the bytes or the text of a file, or a stream. With `strict=False` errors that Engine 2 forgives
    are appended to `warnings` instead of being raised.
    """
    document = _readable(source, strict, warnings)
    world = world_from_document(document)
    propagate(world)
    remember(world, document)
    return world


def write(world: World, target: str | Path | BinaryIO | None = None) -> bytes:
    """The scene of a world as bytes, written to a path or a binary stream when one is given."""
    if isinstance(target, str | Path) and Path(target).name.endswith(PROJECT_FILE):
        raise SceneError(
            Problem(
                "expected the path of a scene, got that of a project, which only names one", file=str(target)
            )
        )
    data = document_from_world(world).to_bytes()
    if isinstance(target, str | Path):
        replace_file(target, data)
    elif target is not None:
        target.write(data)
    return data


def check(source: Source, *, strict: bool = True, warnings: list[Problem] | None = None) -> None:
    """Raise SceneError with all errors of a scene; append what is odd, but no error, to `warnings`."""
    document = _readable(source, strict, warnings)
    world_from_document(document)
    if warnings is not None:
        warnings += lint(document, _name(source))


def reparent(world: World, entity: Entity, parent: Entity | None) -> None:
    """Hang an entity under another as the scene wants it: `keepWorldTransformOnReparent`, true unless said."""
    graph = world.resource("scene_graph", {})
    keep = graph.get("keepWorldTransformOnReparent", True) if isinstance(graph, dict) else True
    world.reparent(entity, parent, keep="world" if keep else "local")


def _readable(source: Source, strict: bool, warnings: list[Problem] | None) -> Document:
    data, name = _data(source), _name(source)
    if data.startswith(PROJECT_FILE.encode()) and name:
        scene = parse_project(data, name).default_scene
        data, name = read_file(scene), str(scene)
    document = parse(data)
    found = validate(document, name)
    if found.fatal:
        raise SceneError(foreign_problem(data, name) or found.fatal)
    if strict and found.errors:
        raise SceneError(found.errors)
    if warnings is not None:
        warnings += found.errors
    return document


def _data(source: Source) -> bytes:
    if isinstance(source, Path) or (isinstance(source, str) and not _is_text(source)):
        return read_file(source)
    content = source if isinstance(source, bytes | str) else source.read()
    return content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content


def _name(source: Source) -> str:
    return (
        str(source) if isinstance(source, Path) or (isinstance(source, str) and not _is_text(source)) else ""
    )


def _is_text(source: str) -> bool:
    """Whether a string is a scene rather than the path of one: no path has line ends."""
    return "\n" in source
