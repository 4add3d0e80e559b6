"""The worked examples of how to contribute, followed in a copy of the project: what they add is there and works."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "contributing.md").read_text("utf-8")
PROGRAMS: list[str] = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
ROOMS = ("cli", "ecs", "formats", "geo", "perception", "physics", "runtime", "schemas", "transport", "viewer")


def program(having: str) -> str:
    (found,) = (text for text in PROGRAMS if having in text)
    return found


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with the format and the command of the page, as somebody would add them."""
    place = tmp_path_factory.mktemp("clone")
    for room in ROOMS:
        shutil.copytree(ROOT / room, place / "diorama" / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "__init__.py", place / "diorama")
    reader = program("def read(").partition('\n\nPath("points.txt")')[0]
    (place / "diorama/formats/points.py").write_text(f'"""Points."""\n\n{reader}\n')
    (place / "diorama/cli/count.py").write_text(f'"""Counting."""\n\n{program("def add_parser(")}')
    for file, before, line in (
        ("runtime/load.py", "FORMATS = (", program("Format(name=").strip()),
        ("cli/main.py", "FAMILIES = (", '"count"'),
    ):
        text = (place / "diorama" / file).read_text("utf-8")
        assert text.count(before) == 1
        (place / "diorama" / file).write_text(text.replace(before, f"{before}\n    {line},"), "utf-8")
    (place / "points.txt").write_text("mast 1 2 -10\n\nbuoy 5 5 0\n")
    (place / "wrong.txt").write_text("mast 1 2\nbuoy 5 5 x\n")
    return place


def run(clone: Path, *words: str) -> tuple[int, str]:
    """What the command of the copy says."""
    code = (
        "import sys; sys.path.insert(0, ''); from diorama.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=clone,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


def test_the_format_is_known_to_every_command(clone: Path) -> None:
    assert run(clone, "check", "points.txt") == (
        0,
        "points.txt:2: warning: an empty line\npoints.txt: ok, 1 warning\n",
    )
    assert "└── buoy" in run(clone, "tree", "points.txt")[1]
    code, said = run(clone, "convert", "points.txt", "points.json")
    assert (code, "points.json: 2 entities" in said) == (0, True)
    code, said = run(clone, "check", "wrong.txt")
    assert (code, said.count("expected a name and three numbers")) == (1, 2)


def test_the_command_is_there_with_its_help_and_its_errors(clone: Path) -> None:
    assert run(clone, "count", "points.txt", "--json") == (0, '{"entities":2}\n')
    assert run(clone, "count", "points.txt")[1].endswith("points.txt: 2\n")
    assert run(clone, "count", "missing.txt") == (1, "missing.txt: no such file or folder\n")
    assert "examples:\n  diorama count examples/houston" in run(clone, "count", "--help")[1]
    assert "did you mean 'count'?" in run(clone, "coutn")[1]


def test_what_is_added_passes_the_linter(clone: Path) -> None:
    files = [str(clone / "diorama" / name) for name in ("formats/points.py", "cli/count.py")]
    command = [sys.executable, "-m", "ruff", "check", "--config", str(ROOT / "pyproject.toml"), *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
