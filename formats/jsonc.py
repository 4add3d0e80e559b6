"""JSON and JSONC with positions: every value of a document can be traced to its line and column.

Comments and trailing commas are blanked in place, so that the text keeps its positions, and the rest is
orjson's work. Positions are found by a scan when somebody asks, which is when something is wrong.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from diorama.schemas.errors import Problem, SceneError

Path = tuple[str | int, ...]

# A string that is not closed ends with its line, so that what follows is still seen as it was meant.
_STRING = rb'"(?:[^"\\\n]++|\\[^\n])*+"?'
# Each of these three always matches, at the end of the text if nowhere else: a search that fails would be
# tried again from every character.
_COMMENT = re.compile(
    rb'(?:[^"/]++|' + _STRING + rb"|/(?![/*]))*+(?:(?P<comment>//[^\n]*+|/\*.*?(?:\*/|\Z))|\Z)", re.DOTALL
)
_COMMA = re.compile(rb'(?:[^",]++|' + _STRING + rb"|,(?!\s*+[\]}]))*+(?:(?P<comma>,)|\Z)")
# To the next bracket, over strings and over whole containers that hold no others.
_BRACKET = re.compile(
    rb'(?:[^"\[\]{}]++|' + _STRING + rb"|\[[^\"\[\]{}]*+\]|\{(?:[^\"\[\]{}]++|" + _STRING + rb")*+\})*+"
    rb"(?:(?P<bracket>[\[\]{}])|\Z)"
)
_KEY = re.compile(_STRING)
_TOKEN = re.compile(_STRING + rb"|[\[\]{}:,]")
_SCALAR = re.compile(rb"[^\s,\]}]*+")
_SPACE = re.compile(rb"\s*+")
_BLANKS = bytes(byte if byte in b"\r\n" else ord(" ") for byte in range(256))
_PLAIN_KEY = re.compile(r"[^\s.\[\]\"']+")
_WORD = re.compile(r"[\w.+-]+|\S?")
_REFUSED = {"NaN", "Infinity", "-Infinity", "+Infinity", "inf", "-inf", "nan"}

# What orjson says, in the words of our errors.
_MEANINGS = {
    "expected a JSON value": "expected a value",
    "expected a string key": "expected a key in double quotes",
    "unexpected content after document": "expected the end of the file",
    "trailing comma is not allowed": "a comma before the closing bracket is not JSON",
    "unexpected control character in string": "a string is not closed on its line; write a line break as \\n",
    "depth limit exceeded": "nested too deeply; 1024 levels are read",
    "number is infinity when parsed as double": "a number too large for a double",
}


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed text: `value` in plain Python, and where each part of it was written."""

    value: Any
    file: str = ""
    source: bytes = b""  # as written, UTF-8 without byte order mark
    _text: bytes = b""  # the same with comments blanked: offsets agree
    _children: dict[int, dict[str | int, tuple[int, int]]] = field(default_factory=dict, repr=False)
    _lines: list[NDArray[np.intp]] = field(default_factory=list, repr=False)  # one array, once asked for

    def position(self, path: Path, *, key: bool = False) -> tuple[int, int]:
        """Line and column, from 1, of the value at `path` (or its key), or of its nearest parent."""
        offset = key_offset = _end(_SPACE, self._text, 0)
        for step in path:
            child = self._inside(offset).get(step) if self._text[offset] in b"[{" else None
            if child is None:
                return self._line_column(offset)
            key_offset, offset = child
        return self._line_column(key_offset if key else offset)

    def problem(self, path: Path, message: str, *, key: bool = False) -> Problem:
        """A problem that names the file, the position and the path."""
        line, column = self.position(path, key=key)
        return Problem(message, path=path_text(path), file=self.file, line=line, column=column)

    def duplicates(self) -> list[Problem]:
        """One problem for each key that is written twice in the same object; the last one counts."""
        if not _repeats_keys(self._text):
            return []
        message = "this key is written twice in one object; the last one counts"
        return [
            Problem(message, path_text(path), self.file, *self._line_column(offset))
            for path, offset in _repeated_keys(self._text)
        ]

    def _inside(self, start: int) -> dict[str | int, tuple[int, int]]:
        """Offsets of (key, value) for each child of the container at `start`; kept for the next question."""
        if start not in self._children:
            self._children[start] = _scan_container(self._text, start)
        return self._children[start]

    def _line_column(self, offset: int) -> tuple[int, int]:
        if not self._lines:
            newlines = np.flatnonzero(np.frombuffer(self.source, np.uint8) == ord("\n"))
            self._lines.append(np.concatenate([[0], newlines + 1]))
        line = int(np.searchsorted(self._lines[0], offset, side="right"))
        begin = int(self._lines[0][line - 1])
        return line, len(self.source[begin:offset].decode("utf-8", "replace")) + 1


def parse(data: bytes | str, file: str = "", *, comments: bool = True) -> Document:
    """Read JSON, or JSONC unless `comments` is off; a syntax error is a SceneError with file:line:column."""
    source = _utf8(data, file)
    try:
        return Document(orjson.loads(source), file, source, source)
    except orjson.JSONDecodeError as error:
        if not comments or "depth limit" in str(error) or not source:
            raise _syntax_error(error, source, source, file) from None
    text = blank_comments(source, file)
    try:
        return Document(orjson.loads(text), file, source, text)
    except orjson.JSONDecodeError as error:
        raise _syntax_error(error, text, source, file) from None


def path_text(path: Path) -> str:
    """`a.b[2].c` for ("a", "b", 2, "c"); a key with dots, brackets or spaces is quoted: `a["b.c"]`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{orjson.dumps(step).decode()}]"
    return text


def blank_comments(source: bytes, file: str = "") -> bytes:
    """The same text with comments and trailing commas replaced by blanks; every offset and line stays."""
    text = bytearray(source)
    for match in _COMMENT.finditer(source):
        begin, end = match.span("comment")
        comment = match["comment"] or b""
        if comment.startswith(b"/*") and (len(comment) < 4 or not comment.endswith(b"*/")):
            raise _error_at(begin, source, file, "this comment is not closed; expected */")
        if comment:
            text[begin:end] = comment.translate(_BLANKS)
    for match in _COMMA.finditer(text):
        at = match.start("comma")  # -1 at the end of the text
        before = at - 1
        while before >= 0 and text[before] in b" \t\r\n":
            before -= 1
        if before >= 0 and text[before] not in b"[{,:":
            text[at] = ord(" ")
    return bytes(text)


def _error_at(offset: int, source: bytes, file: str, message: str) -> SceneError:
    line, column = Document(None, file, source)._line_column(offset)
    return SceneError(Problem(message, file=file, line=line, column=column))


def _utf8(data: bytes | str, file: str) -> bytes:
    """The text as UTF-8 without byte order mark."""
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _error_at(0, data, file, "expected UTF-8, got UTF-16; save the file as UTF-8")
    data = bytes(data).removeprefix(b"\xef\xbb\xbf")
    try:
        if not data.isascii():
            data.decode()
    except UnicodeDecodeError as error:
        message = f"expected UTF-8, got the byte 0x{data[error.start]:02x}; save the file as UTF-8"
        raise _error_at(error.start, data, file, message) from None
    return data


def _syntax_error(error: orjson.JSONDecodeError, text: bytes, source: bytes, file: str) -> SceneError:
    """orjson's complaint with what was found there, and for a truncated text what is still open."""
    reason = error.msg.split(": line ")[0].removeprefix("unexpected character, ")
    message = _MEANINGS.get(reason, reason)
    at = error.pos - error.doc[: error.pos].endswith("-")  # orjson points behind the sign of -Infinity
    word = _WORD.match(error.doc, at)
    found = word[0] if word else ""
    if not text.strip():
        message = "the file is empty; expected a JSON document"
    elif found in _REFUSED:
        message = f"expected a finite number, got {found}; JSON has no such number"
    elif "end of data" in reason or error.pos >= len(error.doc):
        message = "the text ends too early" + _still_open(text, source, file)
    elif message.startswith("expected"):
        message += f", got {found!r}"
    offset = len(error.doc[:at].encode("utf-8", "surrogatepass"))
    return _error_at(offset, source, file, message)


def _still_open(text: bytes, source: bytes, file: str) -> str:
    opened: list[int] = []
    for match in _BRACKET.finditer(text):
        if match["bracket"] in (b"[", b"{"):
            opened.append(match.start("bracket"))
        elif opened and match["bracket"]:
            opened.pop()
    if not opened:
        return ""
    line, column = Document(None, file, source)._line_column(opened[-1])
    return f"; the {chr(text[opened[-1]])!r} of line {line}, column {column} is not closed"


def _end(pattern: re.Pattern[bytes], text: bytes, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _scan_container(text: bytes, start: int) -> dict[str | int, tuple[int, int]]:
    """Children of the object or array that opens at `start` of a valid text."""
    children: dict[str | int, tuple[int, int]] = {}
    is_object = text[start] == ord("{")
    at = _end(_SPACE, text, start + 1)
    while text[at] not in b"]}":
        key: str | int = len(children)
        key_offset = at
        if is_object:
            end = _end(_KEY, text, at)
            key = orjson.loads(text[at:end])
            at = _end(_SPACE, text, text.index(b":", end) + 1)
        children[key] = (key_offset, at)
        at = _end(_SPACE, text, _value_end(text, at))
        if text[at] == ord(","):
            at = _end(_SPACE, text, at + 1)
    return children


def _value_end(text: bytes, at: int) -> int:
    if text[at] == ord('"'):
        return _end(_KEY, text, at)
    if text[at] not in b"[{":
        return _end(_SCALAR, text, at)
    depth = 1
    for match in _BRACKET.finditer(text, at + 1):
        depth += 1 if match["bracket"] in (b"[", b"{") else -1
        if depth == 0:
            return match.end()
    raise AssertionError("a container of a valid text is closed")


def _repeats_keys(text: bytes) -> bool:
    """Whether any object has a key twice, without saying where: the parser of the standard library can tell fast."""
    repeated = False

    def look(pairs: list[tuple[str, Any]]) -> None:
        nonlocal repeated
        repeated = repeated or len(dict(pairs)) < len(pairs)

    try:
        json.loads(text, object_pairs_hook=look)
    except RecursionError:  # fewer levels than orjson's
        return True
    return repeated


def _repeated_keys(text: bytes) -> list[tuple[Path, int]]:
    """(path, offset) of every key that its object already has."""
    found: list[tuple[Path, int]] = []
    seen: list[set[str]] = []  # of each open container; stays empty for an array
    path: list[str | int] = []
    expect_key = False
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in (b"{", b"["):
            seen.append(set())
            path.append("" if token == b"{" else 0)
            expect_key = token == b"{"
        elif token in (b"}", b"]"):
            seen.pop()
            path.pop()
            expect_key = False
        elif token == b",":
            last = path[-1]
            expect_key = isinstance(last, str)
            if isinstance(last, int):
                path[-1] = last + 1
        elif expect_key and token != b":":
            name = path[-1] = orjson.loads(token)
            if name in seen[-1]:
                found.append((tuple(path), match.start()))
            seen[-1].add(name)
            expect_key = False
    return found
