"""The files of a scene: the scene file itself, and the robot and actor files it names."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from diorama.formats.airsim.fields import MAX_SHOWN, MISSING, Source, shown
from diorama.formats.files import read_file
from diorama.formats.jsonc import Document, Path, parse
from diorama.schemas.errors import Problem, SceneError


@dataclass(slots=True)
class Library:
    """Files read so far, each once; relative names are looked up in `folders`."""

    folders: Sequence[FilePath]
    errors: list[Problem]
    warnings: list[Problem]
    exact: bool
    read: dict[str, Document | None] = field(default_factory=dict)

    def source(self, document: Document) -> Source:
        """A document to examine, with problems going to where all of the scene's go."""
        return Source(document, self.errors, self.warnings, self.exact)

    def configs(self, scene: Source, path: Path, value: Any) -> list[tuple[Source, Path]]:
        """The documents a config key names: a file, a list of files to be merged, or written in place."""
        parts = value if isinstance(value, list) else [value]
        found: list[tuple[Source, Path]] = []
        for index, part in enumerate(parts):
            place = (*path, index) if isinstance(value, list) else path
            if isinstance(part, dict):
                found.append((scene, place))
            elif isinstance(part, str):
                document = self._open(scene, place, part)
                if document is not None:
                    found.append((self.source(document), ()))
            else:
                scene.error(place, f"expected a file name or a list of file names, got {shown(part)}")
        return found

    def _open(self, scene: Source, path: Path, name: str) -> Document | None:
        if name not in self.read:
            file = next((folder / name for folder in self.folders if _is_file(folder / name)), None)
            if file is None:
                looked = ", ".join(str(folder) for folder in self.folders)
                scene.error(path, f"no file {name[:MAX_SHOWN]!r} in {looked}")
                self.read[name] = None
            else:
                try:
                    self.read[name] = document = parse(read_file(file), str(file))
                    self.warnings.extend(document.duplicates())
                except SceneError as error:
                    self.errors.extend(error.problems)
                    self.read[name] = None
        return self.read[name]


def _is_file(path: FilePath) -> bool:
    try:
        return path.is_file()
    except OSError:  # such as a name that is longer than names can be
        return False


def value_at(document: Document, path: Path) -> Any:
    """The value at a path that is known to exist."""
    value = document.value
    for step in path:
        value = value[step]
    return value


def merge(first: Any, second: Any) -> Any:
    """`second` laid over `first`: objects key by key, arrays element by element where names agree."""
    if first is MISSING:
        return second
    if isinstance(first, dict) and isinstance(second, dict):
        merged = dict(first)
        for key, value in second.items():
            merged[key] = merge(first.get(key, MISSING), value)
        return merged
    if isinstance(first, list) and isinstance(second, list):
        merged_list = list(first)
        places = {name: index for index, item in enumerate(first) if (name := _name_of(item))}
        for item in second:
            place = places.get(_name_of(item))
            if place is None:
                merged_list.append(item)
            else:
                merged_list[place] = merge(merged_list[place], item)
        return merged_list
    return second


def _name_of(item: Any) -> str:
    name = item.get("name") if isinstance(item, dict) else None
    return name if isinstance(name, str) else ""
