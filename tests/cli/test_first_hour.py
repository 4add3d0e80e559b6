"""What a newcomer does wrong, and what the command line answers: a sentence, the right exit code, no traceback."""

import argparse
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from diorama.cli.completion import Level, levels
from diorama.cli.main import build_parser, main

ROOT = Path(__file__).parents[2]
HOUSTON = str(ROOT / "examples" / "houston.scene.json")
NOBODY = "tcp://127.0.0.1:9"  # the discard port: nobody listens there
PATIENCE_S = 60.0


def run(*words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """The command in a process of its own, as in a shell."""
    return subprocess.run(
        [sys.executable, "-m", "diorama.cli", *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )


@pytest.fixture(scope="module")
def taken() -> Iterator[int]:
    """A port in use."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


# -- wrong calls: 2 ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("chek scene.json", "did you mean 'check'?"),
        ("zzz", "expected one of check, tree"),
        ("check a.json --jsn", "--jsn; did you mean '--json'?"),
        ("geo --from ecf --to ned 1,2,3", "did you mean 'ecef'?"),
        ("topic ech clock", "did you mean 'echo'?"),
        ("serve a.json --endpoint nonsense", "expected tcp://HOST:PORT"),
        ("serve a.json --endpoint tcp://127.0.0.1:99999", "got 'tcp://127.0.0.1:99999'"),
        ("serve a.json --rate 0", "--rate: expected times a second, 0.001 to 1e9, got '0'"),
        ("demo --rate 1e-9", "expected times a second"),
        ("compose a=tcp://127.0.0.1:5 --rate nan", "expected times a second"),
        ("serve a.json --envs 0", "expected a whole number, 1 or more"),
        ("serve a.json --what", "diorama serve: unrecognized arguments: --what"),
        ("tree a.json b.json", "diorama tree: unrecognized arguments: b.json"),
        ("tree a.json --depth 0", "expected a whole number, 1 or more"),
        ("step 0", "expected a whole number, 1 or more"),
        ("ask near 1,2,3 --radius -1", "expected metres, 0 or more"),
        ("ask polygon 1,2 --lowest x", "expected a number, got 'x'"),
        ("replay a.mcap --to nan", "expected seconds, 0 or more"),
        ("view --assets nowhere", "expected a folder, got 'nowhere'"),
        ("keys", "required: DIRECTORY\n"),
        ("demo --port 70000", "expected a port of 1 to 65535"),
        ("demo --ticks -1", "expected a whole number, 0 or more"),
        ("demo --entities 1.5", "expected a whole number, 0 or more"),
        ("ask where x --timeout -1", "expected seconds, 0 or more"),
        ("ask where x --service here", "expected tcp://HOST:PORT"),
        ("view 5555", "expected tcp://HOST:PORT"),
        ("record -o a.mcap --endpoint 5555", "expected tcp://HOST:PORT"),
        ("replay a.mcap --rate 0", "expected a number above 0"),
        ("compose a=b", "expected tcp://HOST:PORT"),
        ("who nonsense", "expected tcp://HOST:PORT"),
        ("completion tcsh", "expected one of bash, zsh, fish"),
        ("check", "required: FILE"),
        ("shot demo demo.xyz", "expected a name ending in .png, .pdf"),
        ("shot tcp://127.0.0.1:99999 demo.png", "expected tcp://HOST:PORT"),
        ("serve a.json --scenes nowhere", "expected a folder, got 'nowhere'"),
    ],
)
def test_a_wrong_call_is_explained_and_ends_with_2(
    line: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(line.split())
    error = capsys.readouterr().err
    assert (end.value.code, said in error) == (2, True), error
    assert error.splitlines()[-1].startswith("see: diorama")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("serve {houston} --ego a", "--ego needs --perception FILE"),
        ("serve {houston} --renderer 0", "--renderer needs --aerosim"),
        ("step 3 --seconds 1", "expected TICKS or --seconds S, one of the two"),
    ],
)
def test_options_that_do_not_go_together(line: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.format(houston=HOUSTON).split()) == 2
    assert said in capsys.readouterr().err


def test_no_command_shows_the_help_and_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "diorama demo" in capsys.readouterr().err


# -- wrong input: 1 ----------------------------------------------------------------------------------------------

READERS = ["check {}", "tree {}", "where {}", "convert {} out.json", "serve {}", "info {}", "replay {}"]


@pytest.mark.parametrize("line", READERS)
def test_a_file_that_is_not_there(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.format("nowhere.json").split()) == 1
    said = capsys.readouterr()
    assert "nowhere.json: no such file" in said.err + said.out


@pytest.mark.parametrize("line", READERS)
def test_a_folder_instead_of_a_file(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.format(tmp_path).split()) == 1
    said = capsys.readouterr()
    assert any(words in said.err + said.out for words in ("got a folder", "is a directory"))


@pytest.mark.parametrize("line", READERS)
def test_a_file_that_is_something_else(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.json").write_text("hello")
    assert main(line.format(tmp_path / "a.json").split()) == 1
    said = capsys.readouterr()
    assert "a.json" in said.err + said.out
    assert "expected" in said.err + said.out


@pytest.mark.parametrize(
    "line",
    [
        "convert {houston} {file}/out.json",
        "record -o {file}/a.mcap --seconds 0.1",
        "keys {file}/keys",
        "keys {file}",
    ],
)
def test_a_place_that_cannot_be_written(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.touch()
    words = line.format(houston=HOUSTON, file=file).split()
    assert main([*words, *(["--endpoint", NOBODY] if words[0] == "record" else [])]) == 1
    error = capsys.readouterr().err
    assert str(file) in error
    assert "Errno" not in error


@pytest.mark.parametrize("line", ["check {}/secret.json", "convert {houston} {}/new.json", "keys {}/keys"])
def test_no_permission(line: str, tmp_path: Path) -> None:
    free, locked = tmp_path / "free", tmp_path / "locked"
    for folder in (free, locked):
        folder.mkdir()
        shutil.copy(HOUSTON, folder / "secret.json")
    (locked / "secret.json").chmod(0)
    locked.chmod(0o555)
    # Root may do everything, and another user perhaps not even run this Python: so the rights are given up halfway,
    # once the same call at a free place has imported all there is to import.
    code = (
        "import os, sys; from diorama.cli.main import main; first, second = (words.split() for words in sys.argv[1:])\n"
        "main(first)\nif os.geteuid() == 0: os.seteuid(65534)\nsys.exit(main(second))"
    )
    for folder in (tmp_path, *tmp_path.parents):
        if "pytest-of-" in str(folder):  # pytest's own, which others may not enter
            folder.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", code, *(line.format(place, houston=HOUSTON) for place in (free, locked))],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    locked.chmod(0o755)
    assert done.returncode == 1
    assert "permission" in (done.stdout + done.stderr).lower()
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "line",
    [
        "serve {houston} --endpoint {port}",
        "serve {houston} --endpoint tcp://127.0.0.1:* --service {port}",
        "demo --headless --endpoint {port}",
        "compose a={nobody} --endpoint {port}",
    ],
)
def test_a_port_in_use(line: str, taken: int, capsys: pytest.CaptureFixture[str]) -> None:
    port = f"tcp://127.0.0.1:{taken}"
    assert main([*line.format(houston=HOUSTON, port=port, nobody=NOBODY).split(), "--ticks", "1"]) == 1
    assert f"{port}: the address is in use" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        "topic list --seconds 0.1 --endpoint",
        "topic hz clock --seconds 0.1 --endpoint",
        "ask scene --timeout 0.1 --service",
        "pause --timeout 0.1 --service",
    ],
)
def test_nobody_at_the_port(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*line.split(), NOBODY]) == 1
    error = capsys.readouterr().err
    assert NOBODY in error
    assert "diorama serve" in error


def test_a_recording_of_nobody_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["record", "-o", str(tmp_path / "a.mcap"), "--seconds", "0.1", "--endpoint", NOBODY, "--json"])
        == 1
    )
    said = capsys.readouterr()
    assert orjson.loads(said.out)["updates"] == 0
    assert "nothing heard" in said.err


@pytest.mark.parametrize("option", ["--envs 2", "--shown 2", "--ground"])
def test_options_for_robots_are_refused_elsewhere(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", HOUSTON, *option.split()]) == 1
    assert "are for robots" in capsys.readouterr().err


def test_an_unknown_name_says_how_to_see_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["where", HOUSTON, "zzz"]) == 1
    assert "no entity is named 'zzz'; `diorama tree FILE` shows all names" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("blocked", "extra", "line"),
    [
        ("viser", "viewer", "view"),
        ("mcap rerun", "rerun", "view --rerun"),
        ("mcap", "record", "info a.mcap"),
        ("zenoh", "zenoh", "who"),
        ("mujoco", "mujoco", "check {robot}"),
        ("yaml", "perception", "serve {houston} --perception {yaml} --endpoint tcp://127.0.0.1:* --ticks 1"),
    ],
)
def test_a_missing_extra_says_how_to_install_it(blocked: str, extra: str, line: str, tmp_path: Path) -> None:
    (tmp_path / "robot.xml").write_text("<mujoco/>")
    (tmp_path / "params.yaml").write_text("a: 1")
    words = line.format(houston=HOUSTON, robot=tmp_path / "robot.xml", yaml=tmp_path / "params.yaml").split()
    # None in sys.modules makes an import fail as if the library were not there.
    code = (
        f"import sys; sys.modules |= dict.fromkeys({blocked.split()}); "
        f"from diorama.cli.main import main; sys.exit(main({words}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert done.returncode == 1
    assert f"pip install 'diorama[{extra}]'" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
@pytest.mark.parametrize(("line", "code"), [("tree {houston} >&-", 0), ("tree nowhere.json 2>&-", 1)])
def test_a_closed_stream_is_no_traceback(line: str, code: int) -> None:
    """As programs that start others without a place to print do."""
    call = f"{sys.executable} -m diorama.cli {line.format(houston=HOUSTON)}"
    done = subprocess.run(["bash", "-c", call], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


# -- colours, JSON, completion -----------------------------------------------------------------------------------


def in_a_terminal(words: list[str], **environment: str) -> str:
    """What a command prints on a terminal."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "diorama.cli", *words],
        stdout=theirs,
        stderr=theirs,
        env={
            **{name: value for name, value in os.environ.items() if name != "NO_COLOR"},
            "TERM": "xterm",
            **environment,
        },
    )
    os.close(theirs)
    text = b""
    try:
        while piece := os.read(ours, 4096):
            text += piece
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(ours)
    process.wait(PATIENCE_S)
    # Colorama, which numba brings, resets the terminal when the program ends; that is no colour of ours.
    return text.decode().removesuffix("\x1b[0m")


def test_colours_are_for_terminals_only() -> None:
    assert "\x1b[32mok\x1b[0m" in in_a_terminal(["check", HOUSTON])
    assert "\x1b[31mnowhere.json" in in_a_terminal(["tree", "nowhere.json"])
    assert "\x1b" not in in_a_terminal(["tree", "nowhere.json"], NO_COLOR="1")
    assert "\x1b" not in in_a_terminal(["tree", "nowhere.json"], TERM="dumb")
    assert "\x1b" not in run("tree", "nowhere.json").stderr


def test_tree_as_json_is_parents_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tree", HOUSTON, "--json"]) == 0
    rows = orjson.loads(capsys.readouterr().out)
    seen: set[str | None] = {None}
    for row in rows:
        assert row["parent"] in seen
        seen.add(row["name"])
    assert {row["name"]: row["sensor"] for row in rows}["rgb_camera_0"] == "rgb_camera"


def completions(line: str, folder: Path) -> list[str]:
    """What bash offers after a line."""
    script = folder / "completion.bash"
    if not script.exists():
        script.write_text(run("completion", "bash").stdout)
    words = line.split(" ")
    asked = f"source {script}; COMP_WORDS=({' '.join(repr(word) for word in words)}); COMP_CWORD={len(words) - 1}; "
    done = subprocess.run(
        ["bash", "--norc", "-c", asked + '_diorama; printf "%s\\n" "${COMPREPLY[@]}"'],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("diorama che", ["check"]),
        ("diorama topic ", ["list", "echo", "hz", "bw", "-h", "--help"]),
        ("diorama topic echo --coun", ["--count"]),
        ("diorama geo --from e", ["ecef", "enu"]),
        ("diorama ask where --axes g", ["gltf"]),
        ("diorama completion z", ["zsh"]),
        ("diorama check hou", ["houston.json"]),
        ("diorama record --output hou", ["houston.json"]),
        ("diorama check ", ["a yard.json", "completion.bash", "houston.json"]),
        ("diorama check a", ["a yard.json"]),
        ("diorama check houston.json --js", ["--json"]),
    ],
)
def test_bash_completes(line: str, offered: list[str], tmp_path: Path) -> None:
    for name in ("houston.json", "a yard.json"):
        (tmp_path / name).touch()
    assert sorted(completions(line, tmp_path)) == sorted(offered)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command_and_option(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for level in levels(build_parser()):
        for name in (*level.commands, *(option.lstrip("-") for option in level.options)):
            assert name in script
    if shutil.which(shell):
        checked = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True, check=False)
        assert (checked.returncode, checked.stderr) == (0, "")


def test_levels_are_read_from_the_parser() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--colour", choices=["red", "blue"], help="of the car; any")
    sub = parser.add_subparsers().add_parser("drive", help="go", add_help=False)
    sub.add_argument("--to", help="where")
    assert list(levels(parser)) == [
        Level((), {"drive": "go"}, {"--colour": "of the car"}, {"--colour": ("red", "blue")}, ()),
        Level(("drive",), {}, {"--to": "where"}, {}, ("--to",)),
    ]


def test_the_demo_says_whom_to_ask_when_the_usual_port_is_taken(
    taken: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The usual port is the whole machine's: another run of the tests may take it or give it back at any moment."""
    for place in ("runtime.answer.ENDPOINT", "cli.demo.ANSWERED_AT"):
        monkeypatch.setattr(f"diorama.{place}", f"tcp://127.0.0.1:{taken}")
    assert main(["demo", "--headless", "--ticks", "1", "--endpoint", "tcp://127.0.0.1:*"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "ask where" in line)
    assert "--service tcp://127.0.0.1:" in line
    assert not line.endswith(f":{taken}")
