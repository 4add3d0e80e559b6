"""What can be said about a model file from its text alone, without MuJoCo."""

import re
from pathlib import Path

from diorama.schemas.errors import Problem, SceneError, reason

ROOTS = ("mujoco", "mujocoinclude", "robot")
# Roots of other programs' XML that could be mistaken for a model.
OTHERS = {
    "raisim": "a RaiSim world, which is read by RaiSim only",
    "sdf": "an SDF model; convert it to URDF or MJCF first",
    "COLLADA": "a COLLADA mesh",
}


def read_text(path: str | Path, place: str = "") -> str:
    """The text of a model file."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise SceneError(Problem(f"cannot be read: {reason(error)}", path=place, file=str(path))) from error


def without_comments(text: str) -> str:
    """The text with comments, declarations and doctypes blanked; every other character keeps its place."""
    pattern = r"<!--.*?-->|<\?.*?\?>|<!DOCTYPE[^>]*>"
    return re.sub(pattern, lambda found: re.sub(r"[^\n]", " ", found.group()), text, flags=re.DOTALL)


def refuse_others(text: str, file: str) -> None:
    """Say what a file is when it is XML of some other kind, or none."""
    root = re.search(r"<\s*([A-Za-z][\w.-]*)", without_comments(text))
    found = root.group(1) if root else ""
    if found not in ROOTS:
        what = OTHERS.get(found, f"XML with the root <{found}>" if found else "no XML")
        raise SceneError(Problem(f"expected MJCF (<mujoco>) or URDF (<robot>), got {what}", file=file))


def included_files(text: str, directory: Path) -> dict[str, bytes]:
    """Every file a model includes, directly or through others, by the name it is included under."""
    found: dict[str, bytes] = {}
    pending = [text]
    while pending:
        for name in re.findall(r"<include\s+file\s*=\s*[\"']([^\"']+)", without_comments(pending.pop())):
            file = directory / name
            if name not in found and file.is_file():
                found[name] = file.read_bytes()
                pending.append(found[name].decode("utf-8", errors="replace"))
    return found
