"""The project itself: layers, packaging, public names."""

import ast
import tomllib
from pathlib import Path

import pytest

import diorama

ROOT = Path(__file__).parent.parent
# Imports point down only: a room may import rooms of a lower level and itself.
LEVELS = {
    "schemas": 0,
    "geo": 1,
    "ecs": 2,
    "formats": 3,
    "perception": 3,
    "physics": 3,
    "transport": 4,
    "runtime": 5,
    "viewer": 6,
    "cli": 7,
}
MODULES = sorted(path for room in LEVELS for path in (ROOT / room).rglob("*.py"))


def imported_rooms(path: Path) -> set[str]:
    """The rooms of diorama that a module imports, wherever in the file the import stands."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] + [
                f"{node.module}.{alias.name}" for alias in node.names if node.module == "diorama"
            ]
        rooms |= {name.split(".")[1] for name in names if name.startswith("diorama.")}
    return rooms


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down_only(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0]
    upward = {other for other in imported_rooms(path) - {room} if LEVELS.get(other, 99) >= LEVELS[room]}
    assert not upward, f"{path.name} in {room}/ imports {upward}, which is not below it"


def test_every_package_is_shipped_and_the_root_holds_one_module() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    on_disk = {"diorama"} | {
        ".".join(("diorama", *path.parent.relative_to(ROOT).parts))
        for room in LEVELS
        for path in (ROOT / room).rglob("__init__.py")
    }
    assert on_disk == set(settings["tool"]["setuptools"]["packages"])
    assert [path.name for path in ROOT.glob("*.py")] == ["__init__.py"]


def test_public_names_exist_and_are_few() -> None:
    assert len(diorama.__all__) <= 20
    for name in diorama.__all__:
        assert getattr(diorama, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        diorama.nothing  # noqa: B018


def test_type_checkers_see_the_names_that_are_there_from_where_they_are() -> None:
    """The front door is written twice, once for them; both lists are sorted and say the same."""
    tree = ast.parse((ROOT / "__init__.py").read_text())
    shown = {
        alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert shown == diorama._HOME
    assert list(diorama._HOME) == sorted(diorama._HOME)
