"""Every example runs, and is short."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# Examples that would run for long take the number of ticks as their argument.
ARGUMENTS = {"08_robots.py": ["3"]}
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs(path: Path, tmp_path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 30
    # From a folder of its own, with warnings as errors, as a user would: `python examples/01_tree.py`.
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path), *ARGUMENTS.get(path.name, [])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout or list(tmp_path.iterdir())


def test_examples_are_numbered() -> None:
    numbers = [int(path.name[:2]) for path in EXAMPLES]
    assert len(set(numbers)) == len(numbers)
