"""What a key may hold: checks that return the value as Python, or note a problem at its line.

A check is a function `(source, path, value) -> value`; it returns MISSING after noting an error, so that one
wrong value does not hide the next. A form maps the keys of an object to checks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from re import compile as regex
from typing import Any

from orjson import dumps

from diorama.formats.jsonc import Document, Path
from diorama.schemas.errors import Problem, did_you_mean

MISSING: Any = object()
AT = "@"
_IDENTIFIER = regex(r"[a-zA-Z][a-zA-Z0-9_-]*")
MAX_SHOWN = 60


@dataclass(slots=True)
class Source:
    """A document under examination, and what was found so far."""

    document: Document
    errors: list[Problem]
    warnings: list[Problem]
    exact: bool = False

    def error(self, path: Path, message: str, *, key: bool = False) -> Any:
        """Note an error; returns MISSING."""
        self.errors.append(self.document.problem(path, message, key=key))
        return MISSING

    def warn(self, path: Path, message: str, *, key: bool = False) -> None:
        """Note something odd that can be read all the same."""
        self.warnings.append(self.document.problem(path, message, key=key))


Check = Callable[[Source, Path, Any], Any]


@dataclass(frozen=True, slots=True)
class Form:
    """The keys of an object. `aliases` are spellings Project AirSim ignores, mapped to the ones it reads."""

    keys: Mapping[str, Check]
    required: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)


def read_object(source: Source, path: Path, value: Any, form: Form) -> dict[str, Any]:
    """The checked values of an object, by key; what is unknown is kept as it is, with a warning."""
    if not isinstance(value, dict):
        source.error(path, f"expected an object, got {shown(value)}")
        return {}
    found: dict[str, Any] = {}
    for key, inner in value.items():
        name = form.aliases.get(key, key)
        if name != key:
            source.warn(
                (*path, key),
                f"Project AirSim reads {name!r} and ignores this spelling; read as {name!r}",
                key=True,
            )
        check = form.keys.get(name)
        if check is not None:
            checked = check(source, (*path, key), inner)
            if checked is not MISSING:
                found[name] = checked
        else:
            found[key] = inner
            if not key.startswith("$"):  # $schema is the editor's
                hint = did_you_mean(key, form.keys)
                source.warn((*path, key), f"unknown key, kept but without effect{hint}", key=True)
    for key in form.required:
        if key not in value and not any(form.aliases.get(other) == key for other in value):
            near = [other for other in value if other not in form.keys]
            hint = did_you_mean(key, near).replace("did you mean", "is it") if near else ""
            source.error(path, f"{key!r} is missing{hint}")
    return found


def group(form: Form) -> Check:
    """An object with the keys of a form."""
    return lambda source, path, value: read_object(source, path, value, form)


def items(check: Check) -> Check:
    """An array whose elements all pass the same check; elements that do not are left out."""

    def run(source: Source, path: Path, value: Any) -> Any:
        if not isinstance(value, list):
            return source.error(path, f"expected an array, got {shown(value)}")
        checked = [check(source, (*path, index), inner) for index, inner in enumerate(value)]
        return [inner for inner in checked if inner is not MISSING]

    return run


def located(check: Check) -> Check:
    """An object that remembers under the key AT where it was written."""

    def run(source: Source, path: Path, value: Any) -> Any:
        found = check(source, path, value)
        if isinstance(found, dict):
            found[AT] = (source, path)
        return found

    return run


def plain(value: Any, *without: str) -> Any:
    """Checked values as plain JSON: vectors as lists, places gone."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items() if key != AT and key not in without}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def anything(source: Source, path: Path, value: Any) -> Any:  # noqa: ARG001
    """Whatever it is, it is kept."""
    return value


def text(source: Source, path: Path, value: Any) -> Any:
    """A string."""
    return value if isinstance(value, str) else source.error(path, f"expected a string, got {shown(value)}")


def identifier(source: Source, path: Path, value: Any) -> Any:
    """A name: a letter, then letters, digits, _ and -."""
    if isinstance(value, str) and _IDENTIFIER.fullmatch(value.strip()):
        return value.strip()
    return source.error(
        path, f"expected a name of letters, digits, _ and -, a letter first, got {shown(value)}"
    )


def flag(source: Source, path: Path, value: Any) -> Any:
    """True or false; a number counts as Project AirSim counts it, with a warning."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        source.warn(path, f"expected true or false, got {value}; read as {str(bool(value)).lower()}")
        return bool(value)
    return source.error(path, f"expected true or false, got {shown(value)}")


def number(low: float = -inf, high: float = inf) -> Check:
    """A number within limits."""

    def run(source: Source, path: Path, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return source.error(path, f"expected a number, got {shown(value)}")
        if not low <= value <= high:
            return source.error(path, f"expected a number {_range(low, high)}, got {value}")
        return float(value)

    return run


def integer(low: float = -inf, high: float = inf) -> Check:
    """A whole number within limits."""

    def run(source: Source, path: Path, value: Any) -> Any:
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if isinstance(value, bool) or not whole:
            return source.error(path, f"expected a whole number, got {shown(value)}")
        if not low <= value <= high:
            return source.error(path, f"expected a whole number {_range(low, high)}, got {value}")
        if abs(value) >= 2**63:  # JSON could not be written again
            return source.error(path, f"expected a whole number of at most 64 bits, got {value}")
        return int(value)

    return run


def choice(*options: str) -> Check:
    """One of a few words."""

    def run(source: Source, path: Path, value: Any) -> Any:
        if value in options:
            return value
        expected = " or ".join((", ".join(options[:-1]), options[-1])) if len(options) > 1 else options[0]
        hint = did_you_mean(value, options) if isinstance(value, str) else ""
        return source.error(path, f"expected {expected}, got {shown(value)}{hint}")

    return run


def vector(source: Source, path: Path, value: Any) -> Any:
    """Three finite numbers in a string, `"x y z"`."""
    return _numbers(source, path, value, 3, 'three numbers as "x y z"')


def color(source: Source, path: Path, value: Any) -> Any:
    """Three or four numbers in a string, `"r g b a"`."""
    count = 3 if isinstance(value, str) and len(value.split()) == 3 else 4
    return _numbers(source, path, value, count, 'four numbers as "r g b a"')


def numbers(source: Source, path: Path, value: Any) -> Any:
    """An array of numbers."""
    if isinstance(value, list) and all(type(inner) in (int, float) for inner in value):
        return [float(inner) for inner in value]
    if not isinstance(value, list):
        return source.error(path, f"expected an array of numbers, got {shown(value)}")
    for index, inner in enumerate(value):
        if type(inner) not in (int, float):
            source.error((*path, index), f"expected a number, got {shown(inner)}")
    return MISSING


def _numbers(source: Source, path: Path, value: Any, count: int, expected: str) -> Any:
    if isinstance(value, list) and len(value) == count:
        hint = " ".join(map(str, value))
        return source.error(path, f'expected {expected}, got an array; write "{hint}"')
    words = value.split() if isinstance(value, str) else []
    try:
        found = tuple(float(word) for word in words)
    except ValueError:
        # Project AirSim reads "1, 2, 3" as 1 2 3.
        try:
            found = tuple(float(word.rstrip(",;")) for word in words)
            source.warn(path, f"expected blanks between the numbers, got {shown(value)}; the rest is ignored")
        except ValueError:
            found = ()
    if len(found) != count or not all(map(isfinite, found)):
        return source.error(path, f"expected {expected}, got {shown(value)}")
    return found


def shown(value: Any) -> str:
    """A value as it would be written, shortened."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    written = dumps(value).decode()
    return written if len(written) <= MAX_SHOWN else written[: MAX_SHOWN - 1] + "…"


def _range(low: float, high: float) -> str:
    if high == inf:
        return f"of at least {low:g}"
    return f"of at most {high:g}" if low == -inf else f"from {low:g} to {high:g}"
