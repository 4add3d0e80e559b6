"""Components that `.rscene` brings along: the record an entity came from, and what it is made of."""

from dataclasses import dataclass

import msgspec

from diorama.ecs import Entity, World, component


@component("rscene_record")
@dataclass(frozen=True, slots=True)
class RsceneRecord:
    """The line an entity was read from; empty when other lines only imply the entity, as paths imply folders.

    `encoding` is utf-8 unless the line was not; encoding the text with it gives the bytes of the file.
    """

    text: str
    encoding: str = "utf-8"

    @classmethod
    def from_bytes(cls, raw: bytes) -> "RsceneRecord":
        """The record of a line."""
        try:
            return cls(raw.decode("utf-8"))
        except UnicodeDecodeError:
            return cls(raw.decode("latin-1"), "latin-1")

    def to_bytes(self) -> bytes:
        """The line of the record."""
        return self.text.encode(self.encoding)


def came_from(world: World, entity: Entity) -> RsceneRecord | None:
    """The record of an entity; also when the world was read before this module was, and so kept it as JSON."""
    typed = world.try_get(entity, RsceneRecord)
    if typed is not None:
        return typed
    raw = world.groups(entity).get("rscene_record")
    try:
        return None if raw is None else msgspec.convert(raw, RsceneRecord)
    except msgspec.ValidationError:
        return None


@component("appearance")
@dataclass(frozen=True, slots=True)
class Appearance:
    """The visual and the contact material of an entity, by name, and whether it is shown."""

    material: str = ""
    contact_material: str = ""
    visible: bool = True
