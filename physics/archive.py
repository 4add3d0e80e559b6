"""Composed models as files: one zip with the XML and every asset, which MuJoCo opens by itself."""

import zipfile
from pathlib import Path

from diorama.physics.mujoco_import import MjSpec, composing

XML_NAME = "scene.xml"


def _contents(spec: MjSpec) -> dict[str, bytes]:
    """The files of a spec by name."""
    with composing():
        xml = spec.to_xml()
    files = {XML_NAME: xml.encode()}
    files.update((name, bytes(data)) for name, data in spec.assets.items())
    return files


def write_zip(spec: MjSpec, path: str | Path) -> Path:
    """Write the spec and its assets as a zip file; returns its path."""
    target = Path(path)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in _contents(spec).items():
            archive.writestr(name, data)
    return target


def write_directory(spec: MjSpec, path: str | Path) -> Path:
    """Write the spec as `scene.xml` next to its assets; returns the directory."""
    target = Path(path)
    for name, data in _contents(spec).items():
        file = target / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return target
