"""What a reader finds wrong or odd in a JSON document: all of it, by path, with positions looked up at the end."""

from collections.abc import Collection, Iterable
from math import isfinite
from typing import Any

from diorama.formats.jsonc import Document, Path, path_text
from diorama.schemas.errors import Problem, SceneError, did_you_mean

_COUNTS = {2: "two", 3: "three", 4: "four"}
# The longest piece of a wrong value that an error repeats.
_SHOWN = 60
# The most warnings of one kind that are spelled out.
_SPELLED_OUT = 20
# The most searches for a similar name in one document: each compares with all names there are.
_HINTS = 20


class Findings:
    """Collects what is wrong (the document is refused) and what is odd (it is read all the same).

    The getters return a value of the right type in any case, so that reading goes on to the next mistake.
    """

    def __init__(self) -> None:
        self.errors: list[tuple[Path, str, bool]] = []
        self.oddities: list[tuple[Path, str, bool]] = []
        self._hints: dict[str, str] = {}

    def wrong(self, path: Path, message: str, *, key: bool = False) -> None:
        """Note an error at a path; `key` points at the key rather than the value."""
        self.errors.append((path, message, key))

    def odd(self, path: Path, message: str, *, key: bool = False) -> None:
        """Note something that is read all the same."""
        self.oddities.append((path, message, key))

    def odd_many(self, found: Iterable[tuple[Path, str]]) -> None:
        """Note many oddities of one kind: the first few, and how many more there are."""
        pending = list(found)
        for path, message in pending[:_SPELLED_OUT]:
            self.odd(path, message)
        if len(pending) > _SPELLED_OUT:
            last, _ = pending[_SPELLED_OUT - 1]
            self.odd(last, f"and {len(pending) - _SPELLED_OUT} more like the last one")

    def hint(self, wrong: str, known: Collection[str]) -> str:
        """`; did you mean 'x'?`, for the first few wrong names."""
        if wrong not in self._hints and len(self._hints) < _HINTS:
            self._hints[wrong] = did_you_mean(wrong, known)
        return self._hints.get(wrong, "")

    def settle(self, document: Document, warnings: list[Problem]) -> None:
        """Raise SceneError if anything is wrong; otherwise hand over the oddities. Both in the order of the file."""
        if self.errors:
            raise SceneError(_problems(document, self.errors))
        warnings += _problems(document, self.oddities)

    def as_object(self, value: Any, path: Path, *, what: str = "an object") -> dict[str, Any]:
        """The value if it is an object, else an empty one."""
        if isinstance(value, dict):
            return value
        self.wrong(path, f"expected {what}, got {shown(value)}")
        return {}

    def object_at(self, holder: dict[str, Any], key: str, path: Path) -> dict[str, Any]:
        """The object under a key that must be there."""
        return self.as_object(holder.get(key, MISSING), (*path, key))

    def list_at(self, holder: dict[str, Any], key: str, path: Path) -> list[Any]:
        """The list under a key that must be there."""
        return self.as_list(holder.get(key, MISSING), (*path, key))

    def as_list(self, value: Any, path: Path) -> list[Any]:
        """The value if it is a list, else an empty one."""
        if isinstance(value, list):
            return value
        self.wrong(path, f"expected a list, got {shown(value)}")
        return []

    def text_at(self, holder: dict[str, Any], key: str, path: Path) -> str:
        """The text under a key that must be there."""
        value = holder.get(key, MISSING)
        if isinstance(value, str):
            return value
        self.wrong((*path, key), f"expected text, got {shown(value)}")
        return ""

    def number_at(self, holder: dict[str, Any], key: str, path: Path) -> float:
        """The finite number under a key that must be there."""
        value = holder.get(key, MISSING)
        if is_number(value):
            return float(value)
        self.wrong((*path, key), f"expected a finite number, got {shown(value)}")
        return 0.0

    def numbers_at(self, holder: dict[str, Any], key: str, names: Collection[str], path: Path) -> list[float]:
        """Named numbers under a key, such as {"x": 1, "y": 2, "z": 3}."""
        value = holder.get(key, MISSING)
        if not isinstance(value, dict):
            self.wrong((*path, key), f"expected an object with {', '.join(names)}, got {shown(value)}")
            return [0.0] * len(names)
        self.known_keys(value, names, (*path, key))
        return [self.number_at(value, name, (*path, key)) for name in names]

    def row_at(self, holder: dict[str, Any], key: str, count: int, path: Path) -> list[float]:
        """A list of numbers under a key, such as [1, 2, 3]."""
        value = holder.get(key, MISSING)
        if isinstance(value, list) and len(value) == count and all(map(is_number, value)):
            return [float(number) for number in value]
        self.wrong((*path, key), f"expected {_COUNTS[count]} finite numbers, got {shown(value)}")
        return [0.0] * count

    def known_keys(self, holder: dict[str, Any], names: Collection[str], path: Path) -> None:
        """Keys that mean nothing here are odd."""
        for key in holder:
            if key not in names:
                message = f"this key is not known here and is left out{self.hint(key, names)}"
                self.odd((*path, key), message, key=True)


class Missing:
    """Stands for a value that is not there."""


MISSING = Missing()


def _problems(document: Document, found: list[tuple[Path, str, bool]]) -> list[Problem]:
    if not document.source:
        return [Problem(message, path_text(path), document.file) for path, message, _ in found]
    placed = [document.problem(path, message, key=key) for path, message, key in found]
    return sorted(placed, key=lambda problem: (problem.line or 0, problem.column or 0))


def is_number(value: Any) -> bool:
    """Whether a JSON value is a number that a double can hold."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    except OverflowError:
        return False


def shown(value: Any) -> str:
    """A value in an error: short, and `nothing` when it is missing."""
    if value is MISSING:
        return "nothing"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "an object" if value else "an empty object"
    text = repr(value)
    if len(text) <= _SHOWN:
        return text
    return f"a list of {len(value)}" if isinstance(value, list) else f"{text[:_SHOWN]}…"
