"""Canonical saving: sections in the saver's order, values in their one spelling, words one blank apart.

Keys keep to the saver's order and unknown keys follow them; none is added, since some mean something by being
there. Comments and blank lines stay before the record they stood before, unknown tags go last as they are.
"""

from diorama.formats.rscene import values
from diorama.formats.rscene.document import Document, Record, parse
from diorama.formats.rscene.references import Index, owner_of
from diorama.formats.rscene.table import Kind, kinds


def canonical(document: Document) -> Document:
    """The same scene as the saver would order and spell it; doing it twice changes nothing more."""
    blocks, rest = _blocks(document)
    index = Index(record for _, record in blocks)
    places = {id(record): place for place, (_, record) in enumerate(blocks)}

    def key(item: tuple[int, tuple[list[bytes], Record]]) -> tuple[int, int, int, int]:
        place, (_, record) = item
        kind = record.kind
        if kind is None:
            return (len(kinds()), 0, 0, place)
        owner = owner_of(record, index) if kind.role == "part" else None
        if owner is None or owner.kind is None:
            return (kind.order, place, 0, place)
        return (owner.kind.order, places[id(owner)], kind.order, place)

    lines: list[bytes] = []
    for _, (before, record) in sorted(enumerate(blocks), key=key):
        lines += before
        lines.append(canonical_line(record))
    return parse(b"\n".join([*lines, *rest, b""]))


def canonical_line(record: Record) -> bytes:
    """One record in its canonical spelling; words that cannot be read stay as they are."""
    kind = record.kind
    if kind is None:
        return record.raw.rstrip(b"\r")
    words = list(record.words)
    layout = kind.layout(len(record.positional))
    for start, field in layout.values():
        for place in range(start + 1, min(start + field.count, len(record.positional)) + 1):
            words[place] = _spelled(kind, field.name, words[place])
    first = len(record.positional) + 1
    tail = sorted(words[first:], key=lambda word: _key_order(kind, word))
    for place, word in enumerate(tail):
        if _key_order(kind, word) < len(kind.keys):
            key, _, value = word.partition(b"=")
            tail[place] = key + b"=" + _spelled(kind, kind.keys[key].name, value)
    return b" ".join(words[:first] + tail)


def _key_order(kind: Kind, word: bytes) -> int:
    """The saver's place of a word after the positional ones; words that no reader looks at come last."""
    key, sign, _ = word.partition(b"=")
    return kind.keys[key].order if sign and key in kind.keys else len(kind.keys)


def _spelled(kind: Kind, name: str, word: bytes) -> bytes:
    field = kind.fields[name]
    if field.type in ("rgb", "rgba") and len(word.split(b",")) != values.VECTORS[field.type]:
        return word  # a colour keeps the number of parts it was written with
    try:
        return values.encode(field, values.decode(field, word))
    except ValueError:
        return word


def _blocks(document: Document) -> tuple[list[tuple[list[bytes], Record]], list[bytes]]:
    """Each record with the comments and blank lines before it, and what stands after the last."""
    blocks: list[tuple[list[bytes], Record]] = []
    waiting: list[bytes] = []
    for line in document.lines:
        if isinstance(line, Record):
            blocks.append((waiting, line))
            waiting = []
        else:
            waiting.append(line.rstrip(b"\r"))
    while waiting and not waiting[-1].strip():
        waiting.pop()
    return blocks, waiting
