"""`diorama record`, `replay`, `info`: keep what is published in a file, publish it again, look into it."""

import argparse
import sys
from typing import TYPE_CHECKING

from diorama.cli.arguments import PUBLISHED_AT, endpoint, rate, seconds
from diorama.cli.parser import add_command
from diorama.cli.signals import end_tidily
from diorama.cli.tell import add_json, json_text, tell

if TYPE_CHECKING:
    from diorama.viewer.record import Recorder

SHOW_S = 0.5


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the three commands."""
    record = add_command(
        subparsers,
        "record",
        "record a published scene to a file",
        "Record every update of a scene and the topics beside it to an MCAP file, which Foxglove opens as it is.\n"
        "Ctrl-C ends it; after a crash the file is good up to the last second.",
        "  diorama record -o flight.mcap\n  diorama record -o flight.mcap /perception --endpoint tcp://127.0.0.1:6000",
        run_record,
    )
    record.add_argument("-o", "--output", required=True, metavar="FILE.mcap")
    record.add_argument(
        "topics", nargs="*", default=[], metavar="TOPIC", help="topics beside the scene (default: all)"
    )
    record.add_argument(
        "--endpoint",
        type=endpoint,
        default=PUBLISHED_AT,
        help=f"where the publisher is (default {PUBLISHED_AT})",
    )
    record.add_argument("--seconds", type=seconds, default=0.0, help="stop after so long (default: never)")
    add_json(record, "print what was recorded as one line of JSON")
    record.add_argument(
        "--no-foxglove", action="store_true", help="leave Foxglove's own messages out: smaller files"
    )

    replay = add_command(
        subparsers,
        "replay",
        "publish a recording again",
        "Publish a recording with the timing it had. Everybody follows it as if it were live.",
        "  diorama replay flight.mcap\n  diorama replay flight.mcap --rate 4 --loop --from 30",
        run_replay,
    )
    replay.add_argument("file", metavar="FILE.mcap")
    replay.add_argument(
        "--endpoint", type=endpoint, default=PUBLISHED_AT, help=f"where to publish (default {PUBLISHED_AT})"
    )
    replay.add_argument("--rate", type=rate, default=1.0, help="2 is twice as fast (default 1)")
    replay.add_argument("--loop", action="store_true", help="begin again at the end")
    replay.add_argument(
        "--from", dest="start", type=seconds, default=0.0, metavar="S", help="begin so many seconds in"
    )
    replay.add_argument(
        "--to", dest="end", type=seconds, default=float("inf"), metavar="S", help="end so many seconds in"
    )
    replay.add_argument("--paused", action="store_true", help="wait for `resume` or `step`")
    replay.add_argument(
        "--service", type=endpoint, help="where to pause, step, resume and ask (default tcp://127.0.0.1:5556)"
    )

    add_json(replay, "say where it is published as one line of JSON")

    info = add_command(
        subparsers,
        "info",
        "say what is in a recording",
        "Print the topics of a recording, how many messages each has, how long it is and how large.",
        "  diorama info flight.mcap\n  diorama info flight.mcap --json",
        run_info,
    )
    info.add_argument("file", metavar="FILE.mcap")
    add_json(info, "print JSON")


def run_record(args: argparse.Namespace) -> int:
    """Record until Ctrl-C."""
    from time import monotonic

    from diorama.viewer.record import Recorder

    end_tidily()
    begin = shown = monotonic()
    with Recorder(args.output, args.endpoint, args.topics, with_foxglove=not args.no_foxglove) as recorder:
        if not args.json:
            print(f"recording {args.endpoint} to {args.output}; Ctrl-C ends it", flush=True)
        try:
            while not args.seconds or monotonic() - begin < args.seconds:
                recorder.poll(0.1)
                if sys.stdout.isatty() and not args.json and monotonic() - shown > SHOW_S:
                    shown = monotonic()
                    print(f"\r  {_progress(recorder, shown - begin)}   ", end="", flush=True)
        except KeyboardInterrupt:
            print(file=sys.stderr)  # below the ^C
        recorder.recording.flush(at_once=True)
        told = {"file": args.output, "updates": recorder.updates, "gaps": recorder.dropped}
        told["bytes"] = recorder.recording.size
        tell(args, told, f"{args.output}: {_progress(recorder, monotonic() - begin)}")
        if recorder.updates:
            return 0
    print(
        f"{args.endpoint}: nothing heard; is a publisher running there? Try: diorama serve FILE",
        file=sys.stderr,
    )
    return 1


def run_replay(args: argparse.Namespace) -> int:
    """Publish to the end of the file, or until Ctrl-C."""
    from diorama.transport.publisher import Publisher
    from diorama.viewer.mcap_file import read
    from diorama.viewer.replay import Replay, answering

    next(read(args.file), None)  # a file that is none is refused before anything is announced
    end_tidily()
    with Publisher(args.endpoint) as publisher:
        replay = Replay(
            args.file, publisher, rate=args.rate, loop=args.loop, start_s=args.start, end_s=args.end
        )
        replay.is_paused = args.paused
        with answering(replay, args.service) as service:
            told = {"file": args.file, "endpoint": publisher.endpoint, "service": service}
            line = f"{args.file} at {publisher.endpoint}, {args.rate:g} × as fast; asked at {service}"
            tell(args, told, line)
            replay.run()
    tell(args, {"updates": replay.updates}, f"{replay.updates} updates")
    return 0


def run_info(args: argparse.Namespace) -> int:
    """Print what is in a file."""
    from diorama.viewer.mcap_file import contents

    found = contents(args.file)
    seconds = (found.last_ns - found.first_ns) * 1e-9
    if args.json:
        told = {
            "seconds": seconds,
            "first_ns": found.first_ns,
            "last_ns": found.last_ns,
            "size": found.size,
            "is_complete": found.is_complete,
            "topics": {
                topic: {"messages": count, "format": found.formats[topic]}
                for topic, count in found.messages.items()
            },
        }
        print(json_text(told, indented=True))
        return 0
    state = "" if found.is_complete else ", broken off: everything up to there is readable"
    print(f"{args.file}: {seconds:.1f} s, {found.size / 1e6:.2f} MB{state}")
    widest = max((len(topic) for topic in found.messages), default=0)
    for topic, count in sorted(found.messages.items()):
        rate = f"{count / seconds:8.1f} Hz" if seconds else ""
        print(f"  {topic.ljust(widest)}  {count:7d}  {rate}  {found.formats[topic]}")
    return 0


def _progress(recorder: "Recorder", seconds: float) -> str:
    lost = f", {recorder.dropped} gaps" if recorder.dropped else ""
    size = recorder.recording.size / 1e6
    return f"{recorder.updates} updates in {seconds:.1f} s, {size:.2f} MB{lost}"
