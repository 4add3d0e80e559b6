"""The record table: what every tag of the format carries, read from `records.toml`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

Names = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a record: `count` words in a row, or the value of `key` when that is not empty.

    `names` maps every accepted spelling of an enumeration to the one that is saved; `closed` says that the
    list is complete.
    """

    name: str
    type: str
    count: int = 1
    key: bytes = b""
    order: int = 0
    default: bytes | None = None
    names: Names | None = None
    closed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One tag: its place in a saved scene, its positional layouts by word count, and its keys."""

    tag: str
    order: int
    role: str
    many: bool
    owner: str
    layouts: Mapping[int, Mapping[str, tuple[int, Field]]]
    keys: Mapping[bytes, Field]
    fields: Mapping[str, Field]
    longest: int  # the number of positional words of the full layout
    pose: int  # where position, rotation and scale stand in a row of ten words; -1 when they do not

    def layout(self, count: int) -> Mapping[str, tuple[int, Field]]:
        """Where each positional field of a record with `count` words begins; extra words are not looked at."""
        exact = self.layouts.get(count)
        return exact if exact is not None else self.layouts[self.longest]


@cache
def kinds() -> Mapping[str, Kind]:
    """Every tag of the format, in saving order."""
    rows = tomllib.loads(files("diorama.formats.rscene").joinpath("records.toml").read_text("utf-8"))
    return {tag: _kind(tag, order, row) for order, (tag, row) in enumerate(rows.items())}


def _kind(tag: str, order: int, row: Mapping[str, object]) -> Kind:
    names = row.get("names", {})
    assert isinstance(names, dict)
    words = str(row.get("positional", "")).split()
    required = [_field(word, names) for word in words if "?" not in word]
    optional = [_field(word.replace("?", ""), names) for word in words if "?" in word]
    older = [_field(word, names) for word in str(row.get("older", "")).split()]
    layouts = [_layout(required + tail) for tail in (optional, older, [])]
    keyed = [
        _field(word, names, keyed=True, order=place)
        for place, word in enumerate(str(row.get("keys", "")).split())
    ]
    full = layouts[0]
    starts = [full[name][0] if name in full else -1 for name in ("position", "rotation", "scale")]
    return Kind(
        tag=tag,
        order=order,
        role=str(row["role"]),
        many=bool(row.get("many", False)),
        owner=str(row.get("owner", "")),
        # The full layout comes last so that it wins where two have the same number of words.
        layouts={_width(layout): layout for layout in reversed(layouts) if layout or not words},
        keys={field.key: field for field in keyed},
        fields={field.name: field for field in keyed + required + optional},
        longest=_width(full),
        pose=starts[0] if starts == [starts[0], starts[0] + 3, starts[0] + 7] else -1,
    )


def _field(word: str, names: Mapping[str, str], *, keyed: bool = False, order: int = 0) -> Field:
    word, _, default = word.partition("=")
    label, _, kind = word.partition(":")
    kind, _, count = kind.partition("*")
    name, _, key = label.partition("/")
    known = names.get(name, "").split()
    return Field(
        name=name,
        type=kind,
        count=int(count or 1),
        key=(key or name).encode() if keyed else b"",
        order=order,
        default=default.encode() if default else None,
        names={alias: group.split("|")[0] for group in known for alias in group.split("|")}
        if known
        else None,
        closed=bool(known) and "..." not in known,
    )


def _layout(fields: list[Field]) -> dict[str, tuple[int, Field]]:
    layout, start = {}, 0
    for field in fields:
        layout[field.name] = (start, field)
        start += field.count
    return layout


def _width(layout: Mapping[str, tuple[int, Field]]) -> int:
    return sum(field.count for _, field in layout.values())
