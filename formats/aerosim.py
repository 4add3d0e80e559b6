"""The scene document: the JSON of AeroSim's scene graph, read and written.

`entities` lists the component groups of each entity; `components` holds them, by group and entity; `resources` belong
to the whole scene. See docs/formats/aerosim.md. Poses are physical body-to-parent rotations; AeroSim's own encoding
is a profile, chosen by name.
"""

from pathlib import Path
from time import time_ns
from typing import Any

import orjson

from diorama.ecs import World, propagate
from diorama.formats import jsonc
from diorama.formats.aerosim_batch import world_from_batch
from diorama.formats.aerosim_careful import batch_from_json
from diorama.formats.aerosim_profile import (
    check_profile,
    decode_batch,
    is_message,
    looks_like_aerosim,
    message,
    open_message,
    profile_document,
)
from diorama.formats.aerosim_typed import batch_from_bytes
from diorama.formats.aerosim_write import document
from diorama.formats.files import read_file, replace_file
from diorama.formats.findings import Findings
from diorama.schemas.errors import Problem, StateError

__all__ = ["check", "document", "parse", "read", "world_from_document", "write"]


def read(path: str | Path, *, warnings: list[Problem], profile: str | None = None) -> World:
    """The world of a scene document; `profile="aerosim"` decodes what AeroSim itself sends."""
    return parse(read_file(path), str(path), warnings=warnings, profile=profile)


def parse(
    data: bytes, file: str = "", *, warnings: list[Problem] | None = None, profile: str | None = None
) -> World:
    """The world of a scene document in bytes, settled; SceneError holds everything that is wrong with it."""
    check_profile(profile)
    noted: list[Problem] = [] if warnings is None else warnings
    batch = batch_from_bytes(data) if profile is None else None
    if batch is None:
        return _read_carefully(jsonc.parse(data, file), noted, profile)
    findings = Findings()
    world = world_from_batch(batch, findings)
    if findings.errors or findings.oddities:
        findings.settle(jsonc.parse(data, file), noted)
    return world


def world_from_document(value: Any, *, warnings: list[Problem] | None = None) -> World:
    """The world of a scene document that is already in memory as plain Python values."""
    return _read_carefully(jsonc.Document(value), [] if warnings is None else warnings, None)


def _read_carefully(written: jsonc.Document, warnings: list[Problem], profile: str | None) -> World:
    findings = Findings()
    if is_message(written.value):
        if profile is None:
            advice = "read it with the profile aerosim (--profile aerosim)"
            findings.wrong((), f"this is a message in AeroSim's own encoding; {advice}")
        inner = open_message(written.value, findings)
        findings.settle(written, [])
        written = jsonc.Document(inner, written.file)  # positions inside one long string would help nobody
    elif profile is None and looks_like_aerosim(written.value):
        advice = "its quaternions are taken as rotations; --profile aerosim decodes AeroSim's"
        findings.odd((), f"this looks like a document of AeroSim's own; {advice}")
    batch = batch_from_json(written.value, findings)
    if profile is not None:
        decode_batch(batch)
    world = world_from_batch(batch, findings, compare=profile is None)
    findings.settle(written, warnings)
    return world


def check(path: str | Path, *, warnings: list[Problem], profile: str | None = None) -> None:
    """Raise SceneError with everything wrong; a key that is written twice is noted too."""
    data = read_file(path)
    warnings += jsonc.parse(data, str(path)).duplicates()
    parse(data, str(path), warnings=warnings, profile=profile)


def write(world: World, path: str | Path, *, profile: str | None = None) -> None:
    """Write a world as a scene document, indented for people, or as a message in AeroSim's own encoding."""
    check_profile(profile)
    propagate(world)
    content = document(world) if profile is None else profile_document(world)
    try:
        if profile == "aerosim-message":
            data = message(content, platform_time_ns=time_ns())
        else:
            data = orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError as error:
        raise StateError(f"{path}: some component or resource cannot be written as JSON: {error}") from None
    replace_file(path, data)
