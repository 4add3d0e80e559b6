"""What the format has no words for, kept where every reader looks away.

A record carries it in a key of ours, `diorama=`, which other readers ignore as they ignore any unknown key; the
scene carries it in a comment, `# diorama {...}`. Both hold JSON.
"""

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from diorama.formats.rscene import tokens
from diorama.formats.rscene.document import Document, Record

KEY = b"diorama"
COMMENT = b"# diorama {"
Vector = tuple[float, float, float]


class NodeExtras(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Notes on one record; None stands for what other notes or the record wrongly suggest.

    `components` are by group.
    """

    name: str | UnsetType = UNSET
    key: str | UnsetType = UNSET
    parent: str | UnsetType | None = UNSET
    asset: str | UnsetType = UNSET
    position: Vector | UnsetType = UNSET
    orientation: tuple[float, float, float, float] | UnsetType = UNSET
    scale: Vector | UnsetType = UNSET
    velocity: tuple[Vector, Vector] | UnsetType | None = UNSET
    components: dict[str, Any] | UnsetType = UNSET


class SceneExtras(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Notes on the scene; `origin` is latitude and longitude in degrees and altitude in metres.

    `ellipsoid` is equatorial radius in metres and flattening, where it is not WGS 84's.
    `implied` are notes on entities that no record stands for, by key.
    """

    origin: Vector | UnsetType = UNSET
    ellipsoid: tuple[float, float] | UnsetType = UNSET
    resources: dict[str, Any] | UnsetType = UNSET
    implied: dict[str, NodeExtras] | UnsetType = UNSET


NOTHING = NodeExtras()
NO_SCENE_NOTES = SceneExtras()


def node_extras(record: Record) -> NodeExtras:
    """The notes on a record; ValueError when they are there but cannot be read."""
    word = record.extra(KEY)
    if word is None:
        return NOTHING
    try:
        return msgspec.json.decode(tokens.text_from_word(word), type=NodeExtras)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise ValueError(f"diorama: {error}") from None


def store_node_extras(record: Record, extras: NodeExtras) -> None:
    """Write the notes on a record, or leave the key out when there are none."""
    text = msgspec.json.encode(extras, order="deterministic").decode()
    record.set_extra(KEY, tokens.word_from_text(text) if extras != NOTHING else None)


def scene_extras(line: bytes) -> SceneExtras | None:
    """The notes on the whole scene, when a line is that comment; any other comment is just a comment."""
    if not line.startswith(COMMENT):
        return None
    try:
        return msgspec.json.decode(line[len(COMMENT) - 1 :], type=SceneExtras)
    except (msgspec.DecodeError, UnicodeError):
        return None


def document_extras(document: Document) -> SceneExtras:
    """The notes on the scene of a document; the first that can be read counts."""
    for line in document.lines:
        if isinstance(line, bytes) and (found := scene_extras(line)) is not None:
            return found
    return NO_SCENE_NOTES


def line_from_scene_extras(extras: SceneExtras) -> bytes:
    """The notes on the whole scene as a comment line."""
    return COMMENT[:-1] + msgspec.json.encode(extras, order="deterministic")
