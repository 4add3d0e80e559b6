"""`diorama topic list|echo|hz|bw`: look at what is published, in the manner of `ros2 topic`."""

import argparse
import sys
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from diorama.cli.arguments import PUBLISHED_AT, add_client_keys, client_security, count, endpoint, seconds
from diorama.cli.tell import add_json, json_text, tell

if TYPE_CHECKING:
    from diorama.transport.subscriber import Message, Subscriber


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "topic",
        help="list, print and measure what is published",
        description="Look at the topics of a publisher, in the manner of `ros2 topic`.",
        epilog="examples:\n"
        "  diorama topic list\n"
        "  diorama topic echo clock -n 3\n"
        "  diorama topic echo scene/changes --endpoint tcp://127.0.0.1:5555\n"
        "  diorama topic hz scene/local --seconds 5\n"
        "  diorama topic bw scene/json",
    )
    kinds = parser.add_subparsers(title="what to do", metavar="WHAT", required=True)
    for name, about, run, example in (
        ("list", "names of the topics heard within a few seconds", run_list, "diorama topic list --json"),
        ("echo", "print messages as they come", run_echo, "diorama topic echo clock -n 3"),
        ("hz", "messages a second", run_hz, "diorama topic hz scene/local --seconds 5"),
        ("bw", "bytes a second", run_bw, "diorama topic bw scene/json"),
    ):
        kind = kinds.add_parser(
            name, help=about, description=f"{about[0].upper()}{about[1:]}.", epilog=f"example:\n  {example}"
        )
        if name != "list":
            kind.add_argument("topic", metavar="TOPIC")
        kind.add_argument(
            "--endpoint",
            type=endpoint,
            default=PUBLISHED_AT,
            help=f"where the publisher is (default {PUBLISHED_AT})",
        )
        kind.add_argument("--seconds", type=seconds, default=3.0, help="how long to listen (default 3)")
        if name == "echo":
            kind.add_argument(
                "-n", "--count", type=count, default=0, help="stop after so many messages (0: never)"
            )
        add_json(kind, "print JSON")
        add_client_keys(kind)
        kind.set_defaults(run=run)


def run_list(args: argparse.Namespace) -> int:
    """Every topic that speaks within the time: subscribing makes the publisher encode them."""
    heard: dict[str, int] = {}
    with _subscriber(args, "") as subscriber:
        end = monotonic() + args.seconds
        while monotonic() < end:
            message = subscriber.receive(0.1)
            if message is not None and not message.topic.startswith("snapshot/"):  # those are for others
                heard[message.topic] = heard.get(message.topic, 0) + 1
    if not heard:
        return _nothing(args)
    print(json_text(sorted(heard)) if args.json else "\n".join(sorted(heard)))
    return 0


def run_echo(args: argparse.Namespace) -> int:
    """Messages as they come: JSON in full, columns in a line."""
    shown = 0
    with _subscriber(args, args.topic) as subscriber:
        end = monotonic() + args.seconds
        while not args.count or shown < args.count:
            message = subscriber.receive(0.1)
            if message is not None:
                print(_shown(message, args.json), flush=True)
                shown += 1
            elif shown == 0 and monotonic() > end:
                return _nothing(args)
    return 0


def run_hz(args: argparse.Namespace) -> int:
    """Messages a second."""
    return _measure(args, "messages/s", lambda count, _, seconds: count / seconds)


def run_bw(args: argparse.Namespace) -> int:
    """Bytes a second."""
    return _measure(args, "bytes/s", lambda _, size, seconds: size / seconds)


def _measure(args: argparse.Namespace, unit: str, rate: Callable[[int, int, float], float]) -> int:
    count = size = 0
    with _subscriber(args, args.topic) as subscriber:
        begin = end = None
        stop = monotonic() + args.seconds
        while monotonic() < stop:
            message = subscriber.receive(0.1)
            if message is None:
                continue
            end = monotonic()
            if begin is None:
                begin = end  # the rate is of what comes after the first
                continue
            count += 1
            size += message.size
    if begin is None or end is None:
        return _nothing(args)
    if end == begin:
        print(
            f"{args.topic}: one message within {args.seconds:g} s; listen for longer with --seconds",
            file=sys.stderr,
        )
        return 1
    value = rate(count, size, end - begin)
    report = {
        "topic": args.topic,
        unit: round(value, 3),
        "messages": count + 1,
        "seconds": round(end - begin, 3),
    }
    tell(args, report, f"{args.topic}: {value:.1f} {unit} ({count + 1} messages)")
    return 0


def _subscriber(args: argparse.Namespace, topic: str) -> "Subscriber":
    from diorama.transport.subscriber import Subscriber

    name = topic if topic == "" or topic.endswith("/") else f"{topic}/"
    return Subscriber(args.endpoint, name, security=client_security(args))


def _shown(message: "Message", as_json: bool) -> str:
    frames = message.frames
    if len(frames) == 1 and frames[0][:1] in (b"{", b"["):
        return bytes(frames[0]).decode(errors="replace")
    sizes = ", ".join(str(len(frame)) for frame in frames)
    header = message.header
    if as_json:
        told = {"topic": message.topic, "sequence": header.sequence, "tick": header.tick}
        told |= {"time_ns": header.time_ns, "frame_bytes": [len(frame) for frame in frames]}
        return json_text(told)
    when = f"update {header.sequence}, tick {header.tick}, {header.time_ns} ns"
    return f"{message.topic}: {when}, frames of {sizes} bytes"


def _nothing(args: argparse.Namespace) -> int:
    asked = f" of {args.topic!r}" if "topic" in args else ""
    names = "; `diorama topic list` says what is published" if asked else ""
    print(
        f"{args.endpoint}: nothing heard{asked} within {args.seconds:g} s{names}; is a publisher running there, "
        "and not paused? Try: diorama serve FILE",
        file=sys.stderr,
    )
    return 1
