"""Hosts for tests: network namespaces around a middle one where the machine allows them, loopback otherwise.

A namespace lives as long as the process that holds it, so nothing is left behind whatever happens.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from queue import Empty, Queue
from threading import Thread

PATIENCE_S = 60.0


class Program:
    """A Python module running somewhere, spoken to in lines."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._lines: Queue[str] = Queue()
        Thread(target=self._read, daemon=True).start()

    def tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def line(self, timeout_s: float = PATIENCE_S) -> str:
        try:
            return self._lines.get(timeout=timeout_s)
        except Empty:
            raise AssertionError("a program said nothing") from None

    def ask(self, line: str) -> str:
        self.tell(line)
        return self.line()

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with suppress(ValueError):  # closed under our eyes
            for line in self._process.stdout:
                self._lines.put(line.strip())


@dataclass
class Hosts:
    """A middle host and leaves; `address(leaf)` is where the middle is, seen from a leaf."""

    middle: list[str] = field(default_factory=list)  # what goes before a command to run it there
    leaves: list[list[str]] = field(default_factory=list)
    apart: bool = False

    def address(self, leaf: int) -> str:
        return f"10.77.{leaf}.1" if self.apart else "127.0.0.1"

    def run(self, leaf: int | None, *arguments: str) -> Program:
        """Start a module of ours on a leaf, or in the middle (None)."""
        where = self.middle if leaf is None else self.leaves[leaf]
        return Program([*where, sys.executable, "-m", *arguments])

    def cut(self, leaf: int) -> None:
        self._link(leaf, "down")

    def mend(self, leaf: int) -> None:
        self._link(leaf, "up")

    def _link(self, leaf: int, state: str) -> None:
        _do([*self.middle, "ip", "link", "set", f"leaf{leaf}", state])


@contextmanager
def hosts(count: int) -> Iterator[Hosts]:
    """A middle host and so many leaves."""
    holders: list[subprocess.Popen[bytes]] = []
    try:
        yield _namespaces(count, holders) if _allowed() else Hosts(leaves=[[] for _ in range(count)])
    finally:
        for holder in holders:
            holder.kill()
            holder.wait()


def _allowed() -> bool:
    if os.name != "posix" or os.geteuid() != 0 or not all(map(shutil.which, ("ip", "unshare", "nsenter"))):
        return False
    probe = ["unshare", "--net", "ip", "link", "add", "probe", "type", "veth", "peer", "name", "other"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


def _namespaces(count: int, holders: "list[subprocess.Popen[bytes]]") -> Hosts:
    inside: list[list[str]] = []
    for _ in range(count + 1):
        # The holder says a line once its namespace is there, then waits for its end.
        command = ["unshare", "--net", "sh", "-c", "ip link set lo up && echo here && exec sleep infinity"]
        holder = subprocess.Popen(command, stdout=subprocess.PIPE)
        holders.append(holder)
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"here\n"
        holder.stdout.close()
        inside.append(["nsenter", f"--net=/proc/{holder.pid}/ns/net"])
    middle, *leaves = inside
    for leaf, prefix in enumerate(leaves):
        pid = str(holders[leaf + 1].pid)
        name = f"leaf{leaf}"
        _do([*middle, "ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", pid])
        _do([*middle, "ip", "addr", "add", f"10.77.{leaf}.1/24", "dev", name])
        _do([*middle, "ip", "link", "set", name, "up"])
        _do([*prefix, "ip", "addr", "add", f"10.77.{leaf}.2/24", "dev", "eth0"])
        _do([*prefix, "ip", "link", "set", "eth0", "up"])
    return Hosts(middle=middle, leaves=leaves, apart=True)


def _do(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True)
