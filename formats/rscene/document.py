"""The document: the lines of a file, kept as bytes, and a typed view of each record.

`parse(data).to_bytes()` is `data`, whatever the file holds. Setting a field rewrites the words that it
touches and nothing else of the line.
"""

from collections.abc import Iterator, Mapping
from operator import is_
from typing import Any

import numpy as np

from diorama.formats.rscene import numbers, tokens, values
from diorama.formats.rscene.table import Field, Kind, kinds

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BLANKS = b" \t\r"


class Record:
    """One line `tag positional... key=value...`, seen through the record table.

    `record["mass"]` is the typed value, or the default when the field is not written; ValueError when it
    cannot be read, KeyError when the table knows no such field. `record["mass"] = 2.0` rewrites its words.
    Vectors, transforms and lists of numbers are arrays, in the axes and the order of the file.
    """

    __slots__ = ("_keys", "_layout", "_positional", "_words", "kind", "line", "raw", "tag")

    def __init__(self, raw: bytes, line: int = 0) -> None:
        self.raw = raw
        self.line = line
        match = tokens.WORD.search(raw)
        # The first word, and the row of the table for it, or None when it is unknown.
        self.tag = match[0].decode("utf-8", "backslashreplace") if match else ""
        self.kind: Kind | None = kinds().get(self.tag)
        self._words: list[bytes] | None = None
        self._positional = 0
        self._layout: Mapping[str, tuple[int, Field]] = {}
        self._keys: Mapping[bytes, int] | None = None

    def __repr__(self) -> str:
        return f"Record({self.raw[:60]!r}, line={self.line})"

    @property
    def words(self) -> list[bytes]:
        """Every word of the line, the tag first."""
        if self._words is None:
            words = self._words = tokens.split_words(self.raw)
            count = len(words) - 1
            for index, word in enumerate(words):
                if b"=" in word and index:
                    count = index - 1
                    break
            self._positional = count
            if self.kind is not None:
                self._layout = self.kind.layout(count)
        return self._words

    @property
    def positional(self) -> list[bytes]:
        """The words between the tag and the first key."""
        words = self.words
        return words[1 : self._positional + 1]

    @property
    def keys(self) -> Mapping[bytes, int]:
        """Every key of the line and the index of its word; of a repeated key the last."""
        if self._keys is None:
            words = self.words
            first = self._positional + 1
            self._keys = {
                word.partition(b"=")[0]: index
                for index, word in enumerate(words[first:], first)
                if b"=" in word
            }
        return self._keys

    def take_keys(self, keys: Mapping[bytes, int]) -> None:
        """Share the `keys` of a record with as many positional words and the same keys in the same order."""
        self._keys = keys

    def __contains__(self, name: str) -> bool:
        """Whether the field is written in the line."""
        kind = self.kind
        return kind is not None and name in kind.fields and self._find(name)[0] is not None

    def has_room(self, name: str) -> bool:
        """Whether a field can be written: any key can, a positional field only where the line is long enough for it."""
        if self.kind is None or name not in self.kind.fields:
            return False
        index, field = self._find(name)
        return index is not None or bool(field.key)

    def __getitem__(self, name: str) -> Any:
        index, field = self._find(name)
        return values.default(field) if index is None else self._read(index, field)

    def get(self, name: str) -> Any:
        """The value of a field, or its default where the word cannot be read: what Engine 2 goes on with."""
        index, field = self._find(name)
        try:
            return values.default(field) if index is None else self._read(index, field)
        except ValueError:
            return values.default(field)

    def get_written(self, name: str) -> Any:
        """The value of a field that is in the line and can be read; None for any other."""
        if self.kind is None or name not in self.kind.fields:
            return None
        index, field = self._find(name)
        if index is None:
            return None
        try:
            return self._read(index, field)
        except ValueError:
            return None

    def written(self) -> Iterator[str]:
        """The names of the known fields that the line holds, in the order of the table."""
        kind = self.kind
        if kind is None:
            return
        layout = kind.layout(len(self.positional))
        yield from (
            name for name, (start, field) in layout.items() if start + field.count <= len(self.positional)
        )
        yield from (field.name for key, field in kind.keys.items() if key in self.keys)

    def __setitem__(self, name: str, value: Any) -> None:
        index, field = self._find(name)
        if index is None:
            if not field.key:
                raise ValueError(f"{self.tag}: the short layout of line {self.line} has no room for {name}")
            self._insert(field, values.encode(field, value))
        elif field.count == 1:
            self._set_word(index, field, value)
        else:
            if np.shape(value) != (field.count,):
                raise ValueError(f"{name}: expected {field.count} values, got {value!r}")
            # Encode all before the first is written, so that a refused value changes nothing.
            for part in value:
                values.encode(field, part)
            for offset, part in enumerate(value):
                self._set_word(index + offset, field, part)

    def __delitem__(self, name: str) -> None:
        index, field = self._find(name)
        if index is None:
            return
        if not field.key:
            raise ValueError(f"{self.tag}: {name} is positional and cannot be left out")
        self.set_extra(field.key, None)

    def set_extra(self, key: bytes, value: bytes | None) -> None:
        """Write, replace or (None) leave out a key that the table does not know; `value` is its word."""
        index = self.keys.get(key)
        if value is None:
            if index is not None:
                _, before = tokens.word_span(self.raw, index - 1)
                self._replace(before, tokens.word_span(self.raw, index)[1], b"")
        elif index is None:
            end = tokens.word_span(self.raw, len(self.words) - 1)[1]
            self._replace(end, end, b" " + key + b"=" + value)
        elif self.words[index] != key + b"=" + value:
            self._replace(*tokens.word_span(self.raw, index), key + b"=" + value)

    def extra(self, key: bytes) -> bytes | None:
        """The word of a key, known to the table or not."""
        index = self.keys.get(key)
        return None if index is None else self.words[index][len(key) + 1 :]

    def words_of(self, name: str) -> list[bytes]:
        """The words of a field as they stand in the line, without the key; none when it is not written."""
        index, field = self._find(name)
        if index is None:
            return []
        if field.key:
            return [self._value(index, field)]
        return self.words[index : index + field.count]

    def _find(self, name: str) -> tuple[int | None, Field]:
        """The index of a field's first word, or None when the line does not hold it."""
        if self._words is None:
            self.words  # noqa: B018  (cuts the line)
        place = self._layout.get(name)
        if place is not None:
            start, field = place
            return (start + 1 if start + field.count <= self._positional else None), field
        if self.kind is None:
            raise KeyError(f"unknown tag {self.tag!r} has no named fields")
        found = self.kind.fields.get(name)
        if found is None:
            raise KeyError(f"{self.tag} has no field {name!r}")
        return (self.keys.get(found.key) if found.key else None), found

    def _read(self, index: int, field: Field) -> Any:
        if field.count == 1:
            return values.decode(field, self._value(index, field))
        words = self.words[index : index + field.count]
        if field.type == "f64":
            return numbers.floats_from_words(words)
        return np.array([values.decode(field, word) for word in words])

    def _value(self, index: int, field: Field) -> bytes:
        return self.words[index][len(field.key) + 1 :] if field.key else self.words[index]

    def _set_word(self, index: int, field: Field, value: Any) -> None:
        old = self._value(index, field)
        word = values.encode(field, value)
        try:
            if values.same(values.decode(field, old), values.decode(field, word)):
                return
        except ValueError:
            pass  # what was there could not be read
        if field.type in values.VECTORS:
            word = _keep_equal_parts(old, word)
        start, end = tokens.word_span(self.raw, index)
        self._replace(start, end, field.key + b"=" + word if field.key else word)

    def _insert(self, field: Field, word: bytes) -> None:
        """Write a new key where the saver would: after the last key that comes before it."""
        kind = self.kind
        assert kind is not None
        last = self._positional
        for key, index in self.keys.items():
            known = kind.keys.get(key)
            if known is not None and known.order < field.order:
                last = max(last, index)
        _, end = tokens.word_span(self.raw, last)
        self._replace(end, end, b" " + field.key + b"=" + word)

    def _replace(self, start: int, end: int, text: bytes) -> None:
        self.raw = self.raw[:start] + text + self.raw[end:]
        self._words = self._keys = None


class Document:
    """The lines of a file: bytes for blank lines and comments, a `Record` for each other line."""

    __slots__ = ("_source", "_split", "lines", "marked")

    def __init__(self, lines: list[bytes | Record], *, marked: bool = False) -> None:
        self.lines = lines
        self.marked = marked  # the file began with a byte order mark
        self._source: bytes | None = None
        self._split: list[bytes] = []

    @property
    def records(self) -> list[Record]:
        """The records in the order of the file."""
        return [line for line in self.lines if isinstance(line, Record)]

    def of(self, tag: str) -> list[Record]:
        """The records of one tag in the order of the file."""
        return [record for record in self.records if record.tag == tag]

    def last(self, tag: str) -> Record | None:
        """The record of a tag that counts when only one may."""
        return next(
            (line for line in reversed(self.lines) if isinstance(line, Record) and line.tag == tag), None
        )

    def to_bytes(self) -> bytes:
        """The bytes of the file; the very object that was parsed when nothing was changed."""
        now = [line.raw if isinstance(line, Record) else line for line in self.lines]
        if self._source is not None and len(now) == len(self._split) and all(map(is_, now, self._split)):
            return self._source
        return (BYTE_ORDER_MARK if self.marked else b"") + b"\n".join(now)


def parse(data: bytes) -> Document:
    """Split a file into lines and records; never fails, since nothing is read yet."""
    marked = data.startswith(BYTE_ORDER_MARK)
    split = (data[len(BYTE_ORDER_MARK) :] if marked else data).split(b"\n")
    lines: list[bytes | Record] = []
    for number, line in enumerate(split, 1):
        content = line.lstrip(BLANKS) if line[:1] <= b" " else line
        lines.append(Record(line, number) if content and content[:1] != b"#" else line)
    document = Document(lines, marked=marked)
    document._source, document._split = data, split
    return document


def _keep_equal_parts(old: bytes, new: bytes) -> bytes:
    """Of a vector, rewrite only the components that changed."""
    before, after = old.split(b","), new.split(b",")
    if len(before) == 4 and len(after) == 3:  # a colour that is read without its alpha keeps it
        after.append(before[3])
    if len(before) != len(after):
        return new
    number = Field(name="", type="f64")

    def part(was: bytes, now: bytes) -> bytes:
        try:
            return was if values.same(values.decode(number, was), values.decode(number, now)) else now
        except ValueError:
            return now

    return b",".join(map(part, before, after))
