"""What the format leaves unchecked: files that load, but hardly as their author meant.

Every finding is a warning: disagreeing paths and parents, names used twice, references to nothing,
quaternions that are not rotations, and words that no reader looks at.
"""

import posixpath
from collections.abc import Iterator

import numpy as np

from diorama.formats.rscene.document import Document, Record
from diorama.formats.rscene.nodes import IDENTITY_FIELDS, override_value
from diorama.formats.rscene.numbers import shown
from diorama.formats.rscene.references import Index, id_of, path_of
from diorama.formats.rscene.table import Kind
from diorama.formats.rscene.validate import HEADER, problem_at
from diorama.schemas.errors import Problem, did_you_mean

# Names that mean something without a record of their own.
IMPLICIT = ("engine_default", "default")
REFERENCES = {
    "object": {"material": "material", "assetId": "asset", "visualMaterialOverlay": "material"},
    "compound_child": {"material": "material"},
    "deformable": {"material": "material"},
    "terrain_region": {"material": "material"},
    "asset": {"defaultMaterial": "material"},
    "instanced_visual": {"terrainBinding": "terrain_region"},
    "prefab_override": {"nodePath": "node"},
}
# Coarser than the rounding of a quaternion written with seven digits.
UNIT_TOLERANCE = 1e-6


def lint(document: Document, file: str = "") -> list[Problem]:
    """Every warning about a document, by line."""
    records = [record for record in document.records if record.kind is not None]
    index = Index(records)
    found = [problem for record in records for problem in _record(record, index, file)]
    found += _repeats(records, file)
    found += (
        Problem(
            "RaiSim Engine 2 takes an indented comment for a record; begin it in column 1",
            file=file,
            line=number,
        )
        for number, line in enumerate(document.lines, 1)
        if isinstance(line, bytes) and line[:1] in (b" ", b"\t") and b"#" in line
    )
    return sorted(found, key=lambda problem: problem.line or 0)


def _record(record: Record, index: Index, file: str) -> Iterator[Problem]:
    kind = record.kind
    assert kind is not None
    for check in (_unread_words, _unknown_names, _references, _override, _parent, _quaternions):
        for message in check(record, kind, index):
            yield problem_at(record, message, file)


def _unread_words(record: Record, kind: Kind, _: Index) -> Iterator[str]:
    for word in record.positional[kind.longest :]:
        hint = "; there is no line continuation" if word == b"\\" else ""
        yield f"{shown(word)} is not looked at: {kind.tag} has {kind.longest} positional fields{hint}"
    for key in record.keys:
        if key not in kind.keys and key != b"diorama":
            name = key.decode("utf-8", "backslashreplace")
            near = did_you_mean(name, [known.decode() for known in kind.keys])
            yield f"unknown key {name!r} is not looked at{near}"


def _unknown_names(record: Record, kind: Kind, _: Index) -> Iterator[str]:
    for name in record.written():
        field = kind.fields.get(name)
        if field is not None and field.closed and field.names is not None:
            value = record.get(name)
            if value not in field.names:
                known = ", ".join(dict.fromkeys(field.names.values()))
                yield f"{name}: {value!r} is not one of {known}"


def _references(record: Record, kind: Kind, index: Index) -> Iterator[str]:
    for name, wanted in REFERENCES.get(kind.tag, {}).items():
        target = record.get(name)
        if not target or (wanted == "material" and target in IMPLICIT):
            continue
        found = index.resource(target) if wanted in ("material", "asset") else index.node(target)
        if found is None or (wanted != "node" and found.tag != wanted):
            yield f"{name}: no {wanted} is named {target!r}{index.hint(target)}"


def _override(record: Record, kind: Kind, index: Index) -> Iterator[str]:
    """An override that changes nothing: of a field the node does not have, or to what it cannot hold."""
    node = index.node(record.get("nodePath")) if kind.tag == "prefab_override" else None
    if node is None or node.kind is None:
        return
    name = record.get("property")
    known = node.kind.fields.get(name)
    if known is None:
        near = did_you_mean(name, node.kind.fields)
        yield f"property: {node.tag} has no field {name!r}; the override changes nothing{near}"
    elif name in IDENTITY_FIELDS:
        yield f"property: {name} says which node this is and where it hangs; the override changes nothing"
    else:
        try:
            Record(node.raw)[name] = override_value(known, record.get("value"))
        except ValueError as error:
            yield f"value: {name}: {str(error).removeprefix(f'{name}: ')}; the override changes nothing"


def _parent(record: Record, kind: Kind, index: Index) -> Iterator[str]:
    if kind.role != "node":
        return
    path = path_of(record)
    if path != "/World" and not path.startswith("/World/"):
        yield f"path {path!r} does not begin with /World"
    name = "parentId" if kind.tag == "group" else "parentGroupId"
    parent_id = record.get(name) if name in kind.fields else ""
    if not parent_id:
        return
    parent = index.node(parent_id)
    if parent is None:
        yield f"{name}: no node has the id {parent_id!r}{index.hint(parent_id)}"
    elif path_of(parent) != posixpath.dirname(path):
        yield f"path and parent disagree: {parent_id!r} is {path_of(parent)}"


def _quaternions(record: Record, kind: Kind, _: Index) -> Iterator[str]:
    for name in record.written():
        field = kind.fields.get(name)
        if field is None or (field.type not in ("quat", "xformlist") and name != "rotation"):
            continue
        value = record.get(name)
        rows = value[:, 3:7] if field.type == "xformlist" else value.reshape(1, -1)
        wrong = np.flatnonzero(np.abs(np.linalg.norm(rows, axis=1) - 1) > UNIT_TOLERANCE)
        if len(wrong):
            many = f"{len(wrong)} of {len(rows)} quaternions are" if len(rows) > 1 else "the quaternion is"
            length = np.linalg.norm(rows[wrong[0]])
            yield f"{name}: {many} not of unit length (got {length:.9g}); readers normalise"


def _repeats(records: list[Record], file: str) -> Iterator[Problem]:
    first: dict[tuple[str, str], int] = {}
    for record in records:
        kind = record.kind
        assert kind is not None
        names = []
        if kind.role == "node":
            names = [("path", path_of(record)), ("id", id_of(record))]
        elif kind.role == "resource" and kind.tag != "contact_material":
            names = [(f"{kind.tag} id", id_of(record))]
        elif kind.role == "scene" and not kind.many and kind.tag != HEADER:
            names = [("record", kind.tag)]
        for what, name in names:
            line = first.setdefault((what, name), record.line)
            if line != record.line:
                counts = "the last counts" if what == "record" else "references mean the first"
                yield problem_at(record, f"{what} {name} is already on line {line}; {counts}", file)
