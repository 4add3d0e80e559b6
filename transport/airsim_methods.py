"""What Project AirSim's clients ask for beyond the other methods: objects by pattern, segmentation ids."""

import re
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from diorama.formats.airsim import segmentation
from diorama.formats.airsim.components import Actor
from diorama.transport import methods
from diorama.transport.methods import Call, Name, RefusedError, RequestError

Pattern = Annotated[str, Meta(max_length=200)]
MOST_REPEATS = 3
LONGEST_NAME = 256  # longer names are not searched: a pattern's cost grows with a power of the length
_REPEATED_GROUP = re.compile(r"\)\s*[*+{?]")
_REPEAT = re.compile(r"(?<!\\)[*+{]")


class ListObjects(msgspec.Struct, forbid_unknown_fields=True):
    """A regular expression that matches whole names, in upper or lower case."""

    name: Pattern = ".*"


@methods.query
def list_objects(call: Call, params: ListObjects) -> list[str]:
    """The names of all entities that a regular expression matches."""
    pattern = _harmless(params.name, "params.name")
    return [name for name in call.world.names if len(name) <= LONGEST_NAME and pattern.fullmatch(name)]


class ListActors(msgspec.Struct, forbid_unknown_fields=True):
    """The type of actor: `robot`, `env_actor`, `env_car`, `env_human`, `object` and others."""

    type: Name = "robot"


@methods.query
def list_actors(call: Call, params: ListActors) -> list[str]:
    """The names of all actors of a type."""
    world = call.world
    return [world.name(entity) for entity, actor in world.query(Actor) if actor.type == params.type]


class SegmentationIds(msgspec.Struct, forbid_unknown_fields=True):
    """Whether objects go by the name of their actor, or by that of their mesh."""

    use_owner_name: bool = True


@methods.query
def segmentation_ids(call: Call, params: SegmentationIds) -> dict[str, int]:
    """The segmentation id of every object that has one, by name."""
    return segmentation.id_map(call.world, use_owner_name=params.use_owner_name)


class SegmentationId(msgspec.Struct, forbid_unknown_fields=True):
    """An object by name, in upper or lower case."""

    name: Name
    use_owner_name: bool = True


@methods.query
def segmentation_id(call: Call, params: SegmentationId) -> int:
    """The segmentation id of an object; -1 when it has none."""
    return segmentation.get_id(call.world, params.name, use_owner_name=params.use_owner_name)


class SetSegmentationId(msgspec.Struct, forbid_unknown_fields=True):
    """Objects by name, or by a regular expression; an id from 0 to 255, or a negative one to take it away."""

    name: Pattern
    id: Annotated[int, Meta(le=255)]
    is_regex: bool = False
    use_owner_name: bool = True


@methods.command
def set_segmentation_id(call: Call, params: SetSegmentationId) -> dict[str, Any]:
    """Give objects a segmentation id; the answer says how many meshes got it."""
    if params.is_regex:
        _harmless(params.name, "params.name")
    count = segmentation.set_id(
        call.world, params.name, params.id, is_regex=params.is_regex, use_owner_name=params.use_owner_name
    )
    if not count:
        raise RefusedError("unknown_entity", f"no object with a mesh is named {params.name!r}", "params.name")
    return {"count": count}


def _harmless(pattern: str, path: str) -> re.Pattern[str]:
    """A pattern that cannot take for ever: no repeated groups, few repeats. Anybody may ask, between two ticks."""
    if _REPEATED_GROUP.search(pattern) or len(_REPEAT.findall(pattern)) > MOST_REPEATS:
        raise RequestError(
            "bad_params",
            f"expected a pattern without repeated groups and at most {MOST_REPEATS} repeats",
            path,
        )
    try:
        return re.compile(pattern, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        raise RequestError("bad_params", f"expected a regular expression: {error}", path) from None
