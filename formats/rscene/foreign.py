"""Other files of RaiSim: recognised, and refused with a sentence that says what they are."""

from pathlib import Path

from diorama.ecs import World
from diorama.formats.files import read_file
from diorama.formats.rscene.project import PROJECT_FILE
from diorama.schemas.errors import Problem, SceneError


def read(path: str | Path, *, warnings: list[Problem] | None = None) -> World:  # noqa: ARG001
    """Refuse a file that no reader of ours understands."""
    raise SceneError(
        foreign_problem(read_file(path), str(path))
        or Problem("this is neither a scene nor a file of RaiSim's that we know", file=str(path))
    )


def foreign_problem(data: bytes, name: str) -> Problem | None:
    """What a file without the header of a scene is, when it is another of RaiSim's."""
    start = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    if b"<raisim" in start:
        what = "this is RaiSim's world configuration (XML), not a scene of Engine 2, and is not read here"
    elif start.startswith(b"<"):
        what = "this is XML; a scene of RaiSim Engine 2 begins with `raisim_engine_scene`"
    elif name.lower().endswith(".re2"):
        what = (
            "this is a script of RaiSim Engine 2 and is not run here;"
            " `raisim_engine2 --script x.re2 --save x.rscene` makes a scene of it"
        )
    elif start.startswith(PROJECT_FILE.encode()):
        what = "this is a project of RaiSim Engine 2; open it by its path, so that its scene can be found"
    else:
        return None
    return Problem(what, file=name)
