"""`diorama view`: follow a published scene in the browser."""

import argparse
from pathlib import Path

from diorama.cli.arguments import ANSWERED_AT, PUBLISHED_AT, endpoint, folder, port
from diorama.cli.signals import end_tidily
from diorama.cli.tell import add_json, tell

PORT = 8080


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "view",
        help="follow a published scene in the browser",
        description="Draw any published scene in a page: as an ordinary renderer, from any machine that reaches it.",
        epilog="examples:\n"
        "  diorama view\n"
        "  diorama view tcp://127.0.0.1:6000 --port 9000 --no-browser\n"
        "  diorama view --rerun",
    )
    parser.add_argument(
        "endpoint",
        nargs="?",
        type=endpoint,
        default=PUBLISHED_AT,
        help=f"where it is published (default {PUBLISHED_AT})",
    )
    parser.add_argument(
        "--port", type=port, default=PORT, help=f"port of the page (default {PORT}, or the next free one)"
    )
    parser.add_argument(
        "--service",
        type=endpoint,
        help=f"where to pause, step and resume (default {ANSWERED_AT} for the usual endpoint)",
    )
    parser.add_argument(
        "--assets",
        action="append",
        type=folder,
        default=[],
        metavar="DIR",
        help="where to look for meshes; may be repeated",
    )
    parser.add_argument("--rerun", action="store_true", help="show it in Rerun instead of the browser")
    parser.add_argument("--no-browser", action="store_true", help="only print the address of the page")
    add_json(parser, "print the address of the page as one line of JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Follow until Ctrl-C."""
    if args.rerun:
        from diorama.viewer.rerun_sink import follow

        follow(args.endpoint)
        return 0
    from diorama.viewer.follow import View
    from diorama.viewer.page import Page

    # Whoever answers at the usual place is another simulation when this one is published elsewhere.
    service = args.service or (ANSWERED_AT if args.endpoint == PUBLISHED_AT else None)
    end_tidily()
    page = Page(port=args.port)
    view = View(args.endpoint, page, service=service, assets=[Path(place) for place in args.assets])
    told = {"endpoint": args.endpoint, "page": page.url}
    tell(args, told, f"{args.endpoint} in the browser: {page.url}")
    if not args.no_browser:
        open_browser(page.url)
    try:
        view.run()
    finally:
        view.close()
    return 0


def open_browser(url: str) -> bool:
    """Open the page where there is a screen to show it on."""
    import os
    import sys
    import webbrowser

    screen = (
        sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
    return bool(screen) and webbrowser.open(url)
