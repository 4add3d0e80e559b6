"""Every example runs, is short, and says what to look at."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# Examples that would run for long take the number of ticks as their argument.
ARGUMENTS = {"08_robots.py": ["3"], "03_serve_and_follow.py": ["15"]}
NEEDS = {"07_detections.py": ["matplotlib", "yaml"], "08_robots.py": ["mujoco"], "ros2_bridge.py": ["rclpy"]}
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
NUMBERED = [path for path in EXAMPLES if path.name[:2].isdecimal()]
MOST_LINES = 38
# What only a run that did what it says would print.
SAYS = {
    "01_where.py": "29.59573858 -95.16423948",
    "02_tree.py": "the tip is -3.10 m north",
    "03_serve_and_follow.py": "4 moved",
    "04_components.py": "Battery(charge=600",
    "05_rscene.py": "+gravity 0 0 -1.62",
    "06_ask.py": "evtol is at",
    "07_detections.py": "of 48 cars are reported",
    "08_robots.py": "env-steps",
    "09_airsim.py": "gps",
    "10_fleet.py": "austin [  78",  # km north of Houston
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs(path: Path, tmp_path: Path) -> None:
    for library in NEEDS.get(path.name, []):
        pytest.importorskip(library, reason=f"{path.name} needs {library}")
    # From a folder of its own, with warnings as errors, as a user would: `python examples/01_where.py`.
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path), *ARGUMENTS.get(path.name, [])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert SAYS.get(path.name, "") in done.stdout
    assert done.stdout or list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "library", "said"),
    [
        ("ros2_bridge.py", "rclpy", "needs a ROS 2 installation"),
        ("07_detections.py", "matplotlib", "pip install 'diorama[perception,plot]'"),
        ("07_detections.py", "yaml", "pip install 'diorama[perception,plot]'"),
        ("08_robots.py", "mujoco", "pip install 'diorama[mujoco]'"),
    ],
)
def test_an_example_says_what_it_needs(name: str, library: str, said: str, tmp_path: Path) -> None:
    path = str(ROOT / "examples" / name)
    code = f"import sys, runpy; sys.modules[{library!r}] = None; runpy.run_path({path!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_short_and_explains_itself(path: Path) -> None:
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    assert ast.get_docstring(ast.parse(text))


def test_the_examples_are_numbered_and_all_in_the_list() -> None:
    assert [int(path.name[:2]) for path in NUMBERED] == list(range(1, 11))
    listed = (ROOT / "examples" / "README.md").read_text("utf-8")
    for path in (ROOT / "examples").iterdir():
        if path.suffix in (".py", ".c"):
            assert f"({path.name})" in listed
