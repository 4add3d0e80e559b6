"""How commands end: by Ctrl-C and `kill`, at any moment, and when nobody reads what they print."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest

from diorama.cli.main import main
from diorama.tests.patience import PATIENCE_S, patiently

ROOT = Path(__file__).parents[2]
HOUSTON = str(ROOT / "examples" / "houston.scene.json")


@pytest.mark.parametrize(
    ("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "kill"]
)
def test_a_server_ends_when_told_to(how: signal.Signals, code: int) -> None:
    words = ["serve", HOUSTON, "--endpoint", "tcp://127.0.0.1:*", "--service", "tcp://127.0.0.1:*", "--json"]
    with subprocess.Popen(
        [sys.executable, "-m", "diorama.cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            told = orjson.loads(process.stdout.readline())
            assert told["endpoints"][0].startswith("tcp://127.0.0.1:")
            assert main(["pause", "--service", told["service"], "--timeout", "20", "--json"]) == 0
            process.send_signal(how)
            _, error = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert (process.returncode, error) == (code, "")


@pytest.mark.parametrize(
    "words", [["--help"], ["tree", HOUSTON], ["where", HOUSTON, "--json"]], ids=lambda words: words[0]
)
def test_a_closed_pipe_is_no_error(words: list[str]) -> None:
    end, begin = os.pipe()
    os.close(end)
    with os.fdopen(begin, "w") as pipe:
        done = subprocess.run(
            [sys.executable, "-m", "diorama.cli", *words],
            stdout=pipe,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "kill"])
@pytest.mark.parametrize("after_s", [0.0, 0.1, 0.25, 0.4])
def test_a_command_that_gets_ready_ends_without_a_word(how: signal.Signals, after_s: float) -> None:
    # Imports take most of this time, and numpy's complains at length when an exception comes out of it.
    words = ["serve", HOUSTON, "--endpoint", "tcp://127.0.0.1:*", "--service", "tcp://127.0.0.1:*", "--quiet"]
    process = subprocess.Popen(
        [sys.executable, "-m", "diorama.cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in patiently():
        if catches_kill(process.pid):
            break
    time.sleep(after_s)  # any moment from there on must do
    process.send_signal(how)
    _, error = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, error) == (130 if how == signal.SIGINT else 143, "")


def is_there(group: int) -> bool:
    """Whether any process of a group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def catches_kill(pid: int) -> bool:
    """Whether a process has a handler for SIGTERM, which Python itself does not."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught >> (signal.SIGTERM - 1) & 1)


def test_what_the_signals_did_before_they_do_again(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    assert main(["convert", HOUSTON, str(tmp_path / "out.json")]) == 0
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_demo_and_its_page_end_together(tmp_path: Path) -> None:
    pytest.importorskip("viser", reason="the page needs the extra `viewer`")
    words = ["demo", "--json", "--endpoint", "tcp://127.0.0.1:*", "--service", "tcp://127.0.0.1:*"]
    process = subprocess.Popen(
        [sys.executable, "-m", "diorama.cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert orjson.loads(process.stdout.readline())["page"].startswith("http://127.0.0.1:")
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to both processes at once
    _, error = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, error) == (130, "")
    for _ in patiently():  # the page's process may take its leave a moment later
        if not is_there(process.pid):
            return
    pytest.fail("the page outlived the demo")


@pytest.mark.parametrize(("how", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_in_a_callback_is_not_lost(how: str, code: int) -> None:
    # An exception cannot leave a callback of C: Python prints it and goes on. Compilers have such callbacks.
    program = f"""
import ctypes, os, signal, sys, time
from diorama.cli.signals import end_tidily, obeyed

@ctypes.CFUNCTYPE(None)
def called():
    os.kill(os.getpid(), signal.{how})
    time.sleep(0.01)

with obeyed():
    end_tidily()
    called()
    try:
        time.sleep(30)
    except KeyboardInterrupt:
        sys.exit(130)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert (done.returncode, done.stderr) == (code, "")
