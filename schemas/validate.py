"""Validate JSON against the schemas of this folder: all errors at once. Needs the extra `check`, and only here.

The readers of formats/ need no schema: they check more (parents, names, agreement), and say it with line numbers.
"""

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import orjson

from diorama.schemas.errors import Problem, did_you_mean, missing_extra

if TYPE_CHECKING:
    from jsonschema_rs import Validator


def names() -> list[str]:
    """The schemas there are, such as `scene`."""
    suffix = ".schema.json"
    found = (entry.name for entry in files("diorama.schemas").iterdir())
    return sorted(name.removesuffix(suffix) for name in found if name.endswith(suffix))


def schema(name: str) -> dict[str, Any]:
    """A JSON Schema (draft 2020-12) by name."""
    if name not in names():
        raise ValueError(
            f"schema: expected one of {', '.join(names())}, got {name!r}{did_you_mean(name, names())}"
        )
    value: dict[str, Any] = orjson.loads(
        files("diorama.schemas").joinpath(f"{name}.schema.json").read_bytes()
    )
    return value


def problems(value: Any, name: str) -> list[Problem]:
    """Everything in which a JSON value differs from the schema of that name."""
    return [
        Problem(error.message, _path_text(error.instance_path))
        for error in _validator(name).iter_errors(value)
    ]


@cache
def _validator(name: str) -> "Validator":
    try:
        import jsonschema_rs
    except ImportError:
        missing_extra("check", "validation against a JSON Schema")
    return jsonschema_rs.validator_for(schema(name))


def _path_text(path: list[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
