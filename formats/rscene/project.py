"""Projects of RaiSim Engine 2, and where the assets of a scene are.

A project is a folder with a file `raisim_engine2_project`: a version, then one `key value...` per line.
"""

from dataclasses import dataclass
from pathlib import Path

from diorama.formats.files import read_file
from diorama.formats.rscene.document import Document
from diorama.formats.rscene.validate import version_of
from diorama.schemas.errors import Problem, SceneError, did_you_mean

PROJECT_FILE = "raisim_engine2_project"
_KEYS = ("name", "asset_directory", "scene_directory", "default_scene", "description")


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project: its folder, and its directories and default scene as full paths."""

    root: Path
    name: str = ""
    description: str = ""
    asset_directory: Path
    scene_directory: Path
    default_scene: Path


def read_project(path: str | Path) -> Project:
    """Read a project by its file or its folder."""
    file = Path(path)
    file = file / PROJECT_FILE if file.is_dir() else file
    return parse_project(read_file(file), str(file))


def parse_project(data: bytes, name: str) -> Project:
    """Read the bytes of a project file of that name; SceneError holds everything wrong with it."""
    problems: list[Problem] = []
    found: dict[str, str] = {}
    lines = [
        (number, line.strip())
        for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1)
        if line.strip() and not line.startswith("#")
    ]
    if not lines or lines[0][1].split() != [PROJECT_FILE, "1"]:
        got = lines[0][1][:60] if lines else "nothing"
        raise SceneError(Problem(f"expected `{PROJECT_FILE} 1` first, got {got!r}", file=name, line=1))
    for number, line in lines[1:]:
        key, _, value = line.partition(" ")
        if key not in _KEYS:
            problems.append(Problem(f"unknown key {key!r}{did_you_mean(key, _KEYS)}", file=name, line=number))
        elif key in found:
            problems.append(Problem(f"{key} is written twice", file=name, line=number))
        found[key] = value.strip()
    if not found.get("default_scene"):
        problems.append(Problem("default_scene: expected the path of a scene, got nothing", file=name))
    if problems:
        raise SceneError(problems)
    root = Path(name).parent
    return Project(
        root=root,
        name=found.get("name", ""),
        description=found.get("description", ""),
        asset_directory=root / found.get("asset_directory", "assets"),
        scene_directory=root / found.get("scene_directory", "."),
        default_scene=root / found["default_scene"],
    )


def project_of(scene: str | Path) -> Project | None:
    """The project whose folder a scene lies in, or None."""
    for folder in Path(scene).absolute().parents:
        if (folder / PROJECT_FILE).is_file():
            return read_project(folder)
    return None


def resolve_asset(reference: str, scene: str | Path, document: Document) -> Path | None:
    """Where the file is that a scene refers to; None for an empty reference.

    Beside the scene when it is there, else below `asset_root`. That is relative to the scene's folder, but in a
    version 1 scene of a project to the project's, where `.` means its asset directory.
    """
    if not reference:
        return None
    path, folder = Path(reference), Path(scene).parent
    if path.is_absolute() or (folder / path).exists():
        return path if path.is_absolute() else folder / path
    record = document.last("asset_root")
    root = Path(record.get("path") if record is not None else ".")
    if version_of(document) == 1 and (project := project_of(scene)) is not None:
        return (project.asset_directory if root == Path() else project.root / root) / path
    return folder / root / path
