"""The errors a user can cause, all under one base.

DioramaError
    SceneError      a file or document is wrong
    MessageError    bytes on the wire are wrong
    GeoError        a place on Earth is asked for that does not exist, or without an Earth
    StateError      the world refuses a change, or holds numbers it cannot resolve
    MissingExtraError    an optional library is not installed
"""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NoReturn


class DioramaError(Exception):
    """Anything that went wrong because of what was given to diorama."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a document: where, what, and what would do.

    `file` and `line` are empty when the text did not come from a file or the position is not known;
    `path` is the place inside the document, such as `actors[2].origin.xyz`.
    """

    message: str
    path: str = ""
    file: str = ""
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        line = self.line if self.file or self.line is None else f"line {self.line}"
        place = ":".join(str(part) for part in (self.file, line, self.column) if part not in ("", None))
        return ": ".join(part for part in (place, self.path, self.message) if part)


class SceneError(DioramaError):
    """A file or document is wrong. `problems` holds everything found, not only the first."""

    def __init__(self, problems: str | Problem | Iterable[Problem]) -> None:
        if isinstance(problems, str):
            problems = Problem(problems)
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class MessageError(DioramaError):
    """Bytes on the wire are not a message of ours."""


class GeoError(DioramaError, ValueError):
    """A coordinate is impossible, or is asked of a scene that has no place on Earth."""


class StateError(DioramaError, ValueError):
    """The world refuses a change (a cycle, a duplicate name) or holds numbers that cannot be resolved."""


class MissingExtraError(DioramaError, ImportError):
    """An optional library is not installed."""


def missing_extra(extra: str, purpose: str) -> NoReturn:
    """Say which extra installs what is missing: called from an `except ImportError`."""
    raise MissingExtraError(
        f"{purpose} needs an optional library; install it with: pip install 'diorama[{extra}]'"
    )


def reason(error: OSError) -> str:
    """What the system refused, and what would do, as far as its kind tells."""
    if isinstance(error, FileNotFoundError):
        return "no such file or folder"
    if isinstance(error, IsADirectoryError):
        return "expected a file, got a folder"
    if isinstance(error, (FileExistsError, NotADirectoryError)):
        return "expected a folder, got a file; choose another name"
    if isinstance(error, PermissionError):
        return "no permission; choose a place that you may use, or ask its owner"
    return (error.strerror or str(error)).lower()


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the nearest known name, or nothing."""
    names = list(known)
    near = get_close_matches(wrong, names, n=1) or [name for name in names if wrong and wrong in name]
    return f"; did you mean {near[0]!r}?" if near else ""
