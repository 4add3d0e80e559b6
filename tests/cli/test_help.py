"""Every help has examples, and they do what they say when they are pasted."""

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from diorama.cli.completion import levels
from diorama.cli.main import build_parser, main

ROOT = Path(__file__).parents[2]
COMMANDS = [level.words for level in levels(build_parser())]
OFFLINE = {"check", "tree", "where", "convert", "geo", "keys", "shot"}
ONLINE = {"ask": "service", "topic": "endpoint", "pause": "service", "step": "service", "resume": "service"}
Captured = pytest.CaptureFixture[str]


def examples(words: tuple[str, ...], capsys: Captured) -> list[str]:
    """What the help of a command shows, without what stands beside it and what the shell would do with it."""
    with pytest.raises(SystemExit) as end:
        main([*words, "--help"])
    assert end.value.code == 0
    lines = capsys.readouterr().out.partition("example")[2].splitlines()
    calls = [line.strip() for line in lines if line.strip().startswith(" ".join(("diorama", *words)))]
    return [call.partition("   ")[0].partition(" | ")[0].partition(" > ")[0] for call in calls]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words) or "diorama")
def test_every_help_has_an_example_that_can_be_parsed(words: tuple[str, ...], capsys: Captured) -> None:
    found = examples(words, capsys)
    assert found or words == ("completion",)  # whose examples begin with `source`
    for example in found:
        build_parser().parse_args(shlex.split(example.partition(" < ")[0])[1:])


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What somebody who cloned it has before them."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def in_the_shell(word: str) -> list[str]:
    """What a shell makes of a word."""
    return sorted(map(str, Path().glob(word))) if "*" in word else [word]


@pytest.mark.parametrize("words", [(), *((name,) for name in sorted(OFFLINE))], ids=" ".join)
def test_the_examples_about_files_work(words: tuple[str, ...], clone: Path, capsys: Captured) -> None:
    pytest.importorskip("matplotlib", reason="`diorama shot` needs the extra `plot`")
    for example in examples(words, capsys):
        call = shlex.split(example)[1:]
        if call[0] in OFFLINE and "tcp://127.0.0.1:5555" not in call and "<" not in call:
            shutil.rmtree(clone / "keys", ignore_errors=True)
            given = [str(clone / word[2:]) if word.startswith("~/") else word for word in call]
            assert main([name for word in given for name in in_the_shell(word)]) == 0, example


@pytest.fixture(scope="module")
def running() -> Iterator[dict[str, str]]:
    """The demo, and where everything of it is."""
    words = [
        "demo",
        "--headless",
        "--json",
        "--endpoint",
        "tcp://127.0.0.1:*",
        "--service",
        "tcp://127.0.0.1:*",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "diorama.cli", *words], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    yield json.loads(process.stdout.readline())
    process.terminate()
    process.communicate()


@pytest.mark.parametrize("words", [words for words in COMMANDS if words and words[0] in ONLINE], ids=" ".join)
def test_the_examples_about_the_demo_work(
    words: tuple[str, ...], running: dict[str, str], capsys: Captured
) -> None:
    if words[0] == "topic":  # a paused demo is silent
        assert main(["resume", "--service", running["service"], "--timeout", "30"]) == 0
    for example in examples(words, capsys):
        call = shlex.split(example)[1:]
        where = ONLINE[call[0]]
        call += [f"--{where}", running[where]]
        if call[:2] == ["topic", "echo"] and "-n" not in call:
            call += ["-n", "1"]
        if call[0] in ("ask", "pause", "step", "resume"):
            call += ["--timeout", "30"]
        assert main(call) == 0, example


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from diorama.cli.main import build_parser; build_parser().format_help(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    heavy = {"numpy", "zmq", "pyproj", "esper", "msgspec", "orjson", "mujoco", "viser", "zenoh", "asyncio"}
    assert not loaded & heavy
