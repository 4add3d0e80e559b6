"""What is wrong with a document: every error of the file at once, each with its line.

Strict reading refuses a file for any of them. Engine 2 itself forgives all but a missing header and an
unknown version: it keeps the default of a value it cannot read and passes over what it does not know. Lenient
reading does the same and says so.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from diorama.formats.rscene import numbers, values
from diorama.formats.rscene.document import Document, Record
from diorama.formats.rscene.extras import KEY, node_extras
from diorama.formats.rscene.numbers import shown
from diorama.formats.rscene.references import Index, owner_of, parent_of, points_nowhere
from diorama.formats.rscene.table import Field, Kind, kinds
from diorama.schemas.errors import Problem, did_you_mean

HEADER = "raisim_engine_scene"
VERSIONS = (1, 2)
TERRAIN_SAMPLES = range(2, 16385)
MOST_SAMPLES = 2**26
# Words this long are rarely repeated: remembering them would only cost memory.
_REMEMBERED_LENGTH = 64
_REMEMBERED_RESTS = 10_000


@dataclass(frozen=True, slots=True)
class Findings:
    """`fatal` stops any reading; `errors` stop strict reading and are forgiven by lenient reading."""

    fatal: list[Problem] = field(default_factory=list)
    errors: list[Problem] = field(default_factory=list)


def validate(document: Document, file: str = "") -> Findings:
    """Check the header, every record against the table, and the references that a scene cannot do without."""
    records = document.records
    fatal = list(_header_problems(records, file))
    errors: list[Problem] = []
    if document.marked:
        errors.append(
            Problem("byte order mark before the header; save the file without it", file=file, line=1)
        )
    checkers = {tag: _Checker(kind) for tag, kind in kinds().items()}
    for record in records if not fatal else ():
        checker = checkers.get(record.tag)
        if record.tag == HEADER and record is not records[0]:
            messages = iter((f"a second header; the one on line {records[0].line} counts",))
        elif checker is None:
            messages = iter((f"unknown tag {record.tag!r}{did_you_mean(record.tag, kinds())}",))
        else:
            messages = checker.messages(record)
        errors += (problem_at(record, message, file) for message in messages)
    if not fatal:
        errors += (problem_at(record, message, file) for record, message in _reference_problems(records))
    errors.sort(key=lambda problem: problem.line or 0)
    return Findings(fatal, errors)


def problem_at(record: Record, message: str, file: str = "") -> Problem:
    """A problem of one record: its line, its tag and, for what has one, its path or name."""
    named = record.kind is not None and (record.kind.role != "scene" or record.kind.many)
    name = record.positional[0] if named and record.positional else b""
    place = f"{record.tag} {name.decode('utf-8', 'backslashreplace')}".strip()
    return Problem(message, path=place, file=file, line=record.line or None)


def version_of(document: Document) -> int:
    """The version the header names; the newest where lines of a scene have lost it."""
    header = next(iter(document.of(HEADER)), None)
    return VERSIONS[-1] if header is None else int(header.get("version"))


def _header_problems(records: list[Record], file: str) -> Iterator[Problem]:
    if not records or records[0].tag != HEADER:
        line = records[0].line if records else 1
        yield Problem(
            f"missing {HEADER} header; the first record must be `{HEADER} 1` or 2", file=file, line=line
        )
        return
    header = records[0]
    if header.words[1:] not in [[str(version).encode()] for version in VERSIONS]:
        got = " ".join(shown(word) for word in header.words[1:3]) or "nothing"
        yield Problem(f"unsupported rscene version: expected 1 or 2, got {got}", file=file, line=header.line)


class _Checker:
    """Checks records of one kind, remembering the words that were right: most recur on every line."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.seen: dict[bytes, bytes] = {}  # word -> its key
        self.good: set[tuple[str, bytes]] = set()  # field and word
        self.rests: set[tuple[bytes, ...]] = set()  # positional words but for path and pose
        # The last record: how many positional words, which keys, and where they are.
        self.last: tuple[int, list[bytes | None], Mapping[bytes, int]] = (-1, [], {})

    def messages(self, record: Record) -> Iterator[str]:
        if not self._known_positional(record.positional):
            yield from self._positional(record.positional)
        words = record.words[len(record.positional) + 1 :]
        keys = list(map(self.seen.get, words))  # None for a word that was not met before
        if None in keys:
            for place, key in enumerate(keys):
                if key is None:
                    keys[place], message = self._keyed(words[place])
                    if message:
                        yield message
        count = len(record.positional)
        if (count, keys) == self.last[:2] and None not in keys:
            record.take_keys(self.last[2])
        else:
            self.last = count, keys, record.keys
            # Of a key that is written twice the record knows the last.
            again = [
                key
                for index, key in enumerate(keys, count + 1)
                if key is not None and record.keys[key] != index
            ]
            if again:
                yield f"key {again[0].decode('utf-8', 'backslashreplace')} is written twice"
                self.last = (-1, [], {})
        if record.extra(KEY) is not None:
            try:
                node_extras(record)
            except ValueError as error:
                yield str(error)
        if self.kind.tag == "terrain_region":
            yield from _terrain(record)

    def _keyed(self, word: bytes) -> tuple[bytes | None, str]:
        """The key of a word, if it has one, and what is wrong with it."""
        key, sign, value = word.partition(b"=")
        if not sign:
            return None, f"positional field {shown(word)} after a key; all keys come last"
        known = self.kind.keys.get(key)
        message = _check(known, value) if known is not None else ("" if key else "a value without a key")
        if not message and len(word) < _REMEMBERED_LENGTH:
            self.seen[word] = key
        return key, message

    def _known_positional(self, words: list[bytes]) -> bool:
        """Whether a record differs from one that was right only in its path and its pose, and those are right."""
        start = self.kind.pose
        if start < 0 or len(words) not in self.kind.layouts or b"%" in words[0]:
            return False
        rest = (*words[1:start], *words[start + 10 :])
        if rest not in self.rests:
            if len(self.rests) < _REMEMBERED_RESTS and not any(self._positional(words)):
                self.rests.add(rest)
            return rest in self.rests
        return numbers.are_short(words[start : start + 10]) and not any(
            _check_floats("rotation", words[start + 3 : start + 7])
        )

    def _positional(self, words: list[bytes]) -> Iterator[str]:
        layouts = self.kind.layouts
        if len(words) not in layouts and len(words) < self.kind.longest:
            counts = " or ".join(str(count) for count in sorted(layouts, reverse=True))
            yield f"expected {counts} positional fields, got {len(words)}"
        layout = layouts.get(len(words)) or layouts[self.kind.longest]
        for name, (start, known) in layout.items():
            if known.count > 1 and known.type == "f64" and len(words) >= start + known.count:
                yield from _check_floats(name, words[start : start + known.count])
                continue
            for word in words[start : start + known.count]:
                if (name, word) in self.good:
                    continue
                message = _check(known, word)
                if message:
                    yield message
                elif len(word) < _REMEMBERED_LENGTH:
                    self.good.add((name, word))


def _check(known: Field, word: bytes) -> str:
    try:
        values.check(known, word)
    except ValueError as error:
        return f"{known.name}: {error}"
    return ""


def _check_floats(name: str, words: list[bytes]) -> Iterator[str]:
    try:
        numbers.check_few(words)
    except ValueError as error:
        yield f"{name}: {error}"
        return
    if name == "rotation" and not 0 < sum(float(word) * float(word) for word in words) < float("inf"):
        yield f"rotation: expected a quaternion that can be normalised, got {b' '.join(words).decode()}"


def _terrain(record: Record) -> Iterator[str]:
    samples = record.get("xSamples"), record.get("ySamples")
    for name, count in zip(("xSamples", "ySamples"), samples, strict=True):
        if count not in TERRAIN_SAMPLES:
            yield f"{name}: expected 2 to 16384 samples, got {count}"
    if samples[0] * samples[1] > MOST_SAMPLES:
        yield f"expected at most {MOST_SAMPLES} samples, got {samples[0]} x {samples[1]}"
    heights = record.extra(b"heights") or b""
    count = 0 if heights in (b"", b"-") else heights.count(b",") + heights.count(b";") + 1
    if count != samples[0] * samples[1] and (count or record.get("sourceKind") == "samples"):
        yield f"heights: expected {samples[0]} x {samples[1]} numbers, got {count}"


def _reference_problems(records: list[Record]) -> Iterator[tuple[Record, str]]:
    """References without which a record means nothing: its owner, its bodies, its resource."""
    index = Index(records)
    begun: set[int] = set()
    for record in records:
        kind = record.kind
        if kind is None:
            continue
        if kind.role == "node":
            begun.add(id(record))
        for name in points_nowhere(record, index):
            wanted = record.get(name)
            near = index.hint(wanted)
            if kind.role == "part":
                yield record, f"no {kind.owner} has this path{near}"
            else:
                yield record, f"{name}: nothing has the id or path {wanted!r}{near}"
        owner = owner_of(record, index) if kind.role == "part" else None
        if owner is not None and id(owner) not in begun:
            yield record, f"comes before its {kind.owner}; parts follow their owner"
    yield from _circle_problems(records, index)


def _circle_problems(records: list[Record], index: Index) -> Iterator[tuple[Record, str]]:
    """Nodes whose parents lead back to themselves, each circle once."""
    settled: set[int] = set()
    for record in records:
        trail: dict[int, Record] = {}
        above: Record | None = record
        while above is not None and id(above) not in settled:
            if id(above) in trail:
                yield above, "its parents go in a circle"
                break
            trail[id(above)] = above
            above = parent_of(above, index)
        settled.update(trail)
