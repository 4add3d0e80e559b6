"""The programs people copy run as they are printed: those of the README and of the pages that teach."""

import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
PATIENCE_S = 60.0


def programs(text: str) -> list[str]:
    """The blocks of Python in a page."""
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


PUBLISH, FOLLOW, LOCATE = programs(README)


def start(program: str, folder: Path = ROOT) -> "subprocess.Popen[str]":
    """A program in a process of its own, with warnings as errors."""
    return subprocess.Popen(
        [sys.executable, "-u", "-W", "error", "-c", program], cwd=folder, stdout=subprocess.PIPE, text=True
    )


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f":{server.getsockname()[1]}"


def test_the_three_programs_are_short() -> None:
    for program in (PUBLISH, FOLLOW, LOCATE):
        assert len(program.strip().splitlines()) <= 10


def test_one_publishes_and_the_other_follows() -> None:
    # As printed, but for the port: another one may be in use on this machine.
    port = free_port()
    publisher = start(PUBLISH.replace(":5555", port))
    follower = start(FOLLOW.replace(":5555", port))
    try:
        assert follower.stdout is not None
        lines = [follower.stdout.readline().split(maxsplit=2) for _ in range(3)]
    finally:
        for process in (publisher, follower):
            process.kill()
            process.communicate(timeout=PATIENCE_S)
    times = [int(words[0]) for words in lines]
    assert times == sorted(set(times))
    assert [int(words[1]) for words in lines[1:]] == [4, 4]  # the aircraft and what hangs under it


def test_the_third_says_where_the_camera_is() -> None:
    said, _ = start(LOCATE).communicate(timeout=PATIENCE_S)
    assert [float(word) for word in said.strip(" []\n").split()] == pytest.approx(
        [29.59573858, -95.16423948, 31.20124678], abs=1e-7
    )


@pytest.mark.parametrize("page", ["contributing.md", "first-steps.md"])
def test_the_programs_of_a_page_run(page: str, tmp_path: Path) -> None:
    for program in programs((ROOT / "docs" / page).read_text("utf-8")):
        if program.startswith("Format("):  # a line of a table
            continue
        once = program.replace(
            "for tick in diorama.SteppableClock(step_ns=20_000_000):",
            "for tick in [diorama.Tick(0, 0, 20_000_000)]:",
        ).replace(":5555", free_port())
        process = start(once, tmp_path)
        process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, program


def test_every_extra_the_pages_name_exists() -> None:
    settings = (ROOT / "pyproject.toml").read_text("utf-8")
    pages = [README, *(path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.md"))]
    named = {extra for page in pages for extra in re.findall(r"diorama\[([a-z,]+)\]", page)}
    for extra in {part for names in named for part in names.split(",")}:
        assert re.search(rf"^{extra} = \[", settings, flags=re.MULTILINE), extra
