"""`diorama shot`: a picture of a scene, without a browser."""

import argparse
from typing import TYPE_CHECKING

from diorama.cli.arguments import endpoint, seconds
from diorama.cli.tell import add_json, tell

if TYPE_CHECKING:
    from diorama.ecs import World

PICTURES = (".png", ".pdf", ".svg", ".jpg")


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "shot",
        help="draw a picture of a scene, without a browser",
        description="Draw a published scene, a scene file or the demo, in perspective and from above.",
        epilog="examples:\n"
        "  diorama shot tcp://127.0.0.1:5555 now.png\n"
        "  diorama shot examples/houston.scene.json houston.pdf\n"
        "  diorama shot demo demo.png",
    )
    parser.add_argument(
        "source", type=_source, metavar="ENDPOINT", help="where it is published; or a scene file; or `demo`"
    )
    parser.add_argument(
        "output", type=_picture, metavar="OUT.png", help="the picture: .png, .pdf, .svg, .jpg"
    )
    parser.add_argument(
        "--timeout", type=seconds, default=5.0, metavar="S", help="how long to wait for a scene (default 5)"
    )
    add_json(parser, "print what was drawn as one line of JSON")
    parser.set_defaults(run=run)


def _source(text: str) -> str:
    """An endpoint is checked; whatever is none is a file or the demo."""
    return endpoint(text) if "://" in text or text.startswith("zenoh:") else text


def _picture(text: str) -> str:
    if not text.lower().endswith(PICTURES):
        raise argparse.ArgumentTypeError(f"expected a name ending in {', '.join(PICTURES)}, got {text!r}")
    return text


def run(args: argparse.Namespace) -> int:
    """Take the picture."""
    from diorama.viewer.shot import shot

    world = _world(args.source, args.timeout)
    shot(world, args.output)
    told = {"file": args.output, "entities": len(world)}
    tell(args, told, f"{args.output}: {len(world)} entities")
    return 0


def _world(source: str, timeout_s: float) -> "World":
    """The world of an endpoint, of a file, or the demo's after half a minute."""
    if source == "demo":
        from diorama.runtime.clock import Tick
        from diorama.runtime.demo import demo
        from diorama.runtime.step import step

        scene = demo()
        step(scene.world, Tick(900, 30_000_000_000, 33_000_000), scene.systems)
        return scene.world
    if "://" not in source and not source.startswith("zenoh:"):
        from diorama.runtime.load import load

        return load(source)
    from diorama.schemas.errors import DioramaError
    from diorama.transport.replica import Replica

    with Replica(source) as replica:
        try:
            replica.wait_until_whole(timeout_s)
        except TimeoutError as problem:
            raise DioramaError(f"{source}: {problem}") from None
        return replica.world
