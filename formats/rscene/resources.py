"""Records about the whole scene as resources of the world, and back.

`time_step` (s) and `gravity` (m/s², NED) are plain values. The other single records are objects under their tag,
with the fields that the file writes, in the file's names and axes; those that may be repeated are lists of such
objects under the plural of their tag: `materials`, `assets`.
"""

from typing import Any

import numpy as np

from diorama.formats.rscene import axes, values
from diorama.formats.rscene.derive import json_fields, json_value
from diorama.formats.rscene.document import Document, Record
from diorama.formats.rscene.table import Kind, kinds
from diorama.formats.rscene.validate import HEADER


def resources_of(document: Document) -> dict[str, Any]:
    """Every whole-scene record of a document as a resource, by name."""
    found: dict[str, Any] = {}
    for record in document.records:
        kind = record.kind
        if kind is None or not _is_resource(kind):
            continue
        if kind.many:
            found.setdefault(resource_name(kind), []).append(json_fields(record))
        else:
            found[resource_name(kind)] = _single(record)
    return found


def store_resources(document: Document, wanted: dict[str, Any]) -> None:
    """Write resources to the records that hold them; what does not fit is left as it was."""
    now = resources_of(document)
    added: list[Record] = []
    for kind in kinds().values():
        name = resource_name(kind)
        if not _is_resource(kind) or now.get(name) == wanted.get(name):
            continue
        records = document.of(kind.tag)
        if not kind.many:
            records = records[-1:]
        items = _items(kind, wanted.get(name))
        if items is None:
            continue
        for record, item in zip(records, items, strict=False):
            _store(record, item)
        gone = {id(record) for record in records[len(items) :]}
        if gone:
            document.lines[:] = [line for line in document.lines if id(line) not in gone]
        for item in items[len(records) :]:
            if _has_foreign_name(kind, item):
                continue
            record = blank_record(kind)
            _store(record, item)
            added.append(record)
    insert_in_order(document, added)


def resource_name(kind: Kind) -> str:
    """The name of the resource that records of a kind become."""
    return f"{kind.tag}s" if kind.many else kind.tag


def blank_record(kind: Kind) -> Record:
    """A record of a kind with every positional field at its default."""
    words = [kind.tag.encode()]
    for _, field in kind.layouts[kind.longest].values():
        value = values.default(field)
        parts = np.atleast_1d(value).tolist() if field.count > 1 else [value]
        words += [values.encode(field, part) for part in parts]
    return Record(b" ".join(words))


def insert_in_order(document: Document, records: list[Record]) -> None:
    """Put new records where the saver would: after the last of their kind or of those that come before it."""
    last: dict[int, int] = {}
    for index, line in enumerate(document.lines, 1):
        if isinstance(line, Record) and line.kind is not None:
            last[line.kind.order] = index
    places: dict[int, list[Record]] = {}
    for record in sorted(records, key=_order):
        place = max((index for order, index in last.items() if order <= _order(record)), default=0)
        places.setdefault(place, []).append(record)
    merged: list[bytes | Record] = list(places.get(0, []))
    for index, line in enumerate(document.lines, 1):
        merged += [line, *places.get(index, [])]
    document.lines[:] = merged


def _order(record: Record) -> int:
    return record.kind.order if record.kind is not None else -1


def _is_resource(kind: Kind) -> bool:
    # Overrides are applied to the entities they mean.
    return kind.role in ("scene", "resource") and kind.tag not in (HEADER, "prefab_override")


def _single(record: Record) -> Any:
    if record.tag == "time_step":
        return json_value(record.get("dt"))
    if record.tag == "gravity":
        return axes.ned_from_nwu(record.get("gravity")).tolist()
    return json_fields(record)


def _items(kind: Kind, value: Any) -> list[dict[str, Any]] | None:
    """What a resource says field by field; None when it is nothing of the kind."""
    if value is None:
        return []
    if kind.tag == "time_step":
        return [{"dt": value}] if isinstance(value, int | float) else None
    if kind.tag == "gravity":
        if not isinstance(value, list | tuple) or np.shape(value) != (3,):
            return None
        return [{"gravity": axes.ned_from_nwu(np.asarray(value, dtype=np.float64))}]
    items = value if kind.many else [value]
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        return None
    # A record that shares only the name of a resource would say something else than was meant.
    if any(not item.keys() <= kind.fields.keys() for item in items):
        return None
    return items


def _has_foreign_name(kind: Kind, item: dict[str, Any]) -> bool:
    """Whether an enumeration has a value that the format does not know: the resource is another format's."""
    return any(
        kind.fields[name].closed and str(value).lower() not in (kind.fields[name].names or {})
        for name, value in item.items()
    )


def _store(record: Record, item: dict[str, Any]) -> None:
    kind = record.kind
    assert kind is not None
    for name in list(record.written()):
        if name not in item and kind.fields[name].key:
            del record[name]
    for name, value in item.items():
        try:
            if name not in record or json_value(record.get(name)) != json_value(value):
                record[name] = (
                    np.array(value) if isinstance(value, list) and _is_numeric(kind, name) else value
                )
        except (ValueError, TypeError, OverflowError):
            continue  # what the format cannot hold is kept beside it


def _is_numeric(kind: Kind, name: str) -> bool:
    return kind.fields[name].type not in ("strlist", "remaplist")
