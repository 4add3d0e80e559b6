"""`diorama geo`: points from one frame to another, from the arguments or from standard input."""

import argparse
import sys
from collections.abc import Iterable

from diorama.cli.arguments import FRAMES, allow_negative_values, origin, three_numbers
from diorama.cli.tell import add_json, json_text
from diorama.schemas.errors import GeoError, Problem, SceneError

DESCRIPTION = """\
Convert points from one frame to another.

  lla        latitude and longitude in degrees, altitude in metres above the ellipsoid (WGS84)
  ecef       Earth-centred, Earth-fixed metres
  cartesian  ECEF minus the origin's ECEF
  ned        metres north, east, down of the origin; likewise enu, nwu
  unreal     centimetres east, south, up of the origin
  gltf       metres east, up, south of the origin

A point is three numbers with commas or blanks between them. Without points in the arguments they
are read from standard input, one on each line; empty lines and lines that begin with # are left out.
"""

EXAMPLES = """\
examples:
  diorama geo --from lla --to ecef 29.594656,-95.163847,-28.3
  diorama geo --from lla --to ned --origin 29.59,-95.16,0 29.6,-95.2,100 29.7,-95.1,50
  diorama geo --from ned --to lla --origin=-33.9,151.2,20 --json < points.txt
"""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to those of `diorama`."""
    parser = subparsers.add_parser(
        "geo",
        help="convert points between lla, ecef, ned and the axes of renderers",
        description=DESCRIPTION,
        epilog=EXAMPLES,
    )
    allow_negative_values(parser)
    parser.add_argument(
        "points", nargs="*", default=[], metavar="POINT", help="three numbers: 29.6,-95.2,100"
    )
    parser.add_argument("--from", dest="source", required=True, choices=FRAMES, help="frame of the points")
    parser.add_argument("--to", dest="target", required=True, choices=FRAMES, help="frame of the answer")
    parser.add_argument(
        "--origin", type=origin, metavar="LAT,LON,ALT", help="where the local frames stand (degrees, metres)"
    )
    add_json(parser, "print [[x, y, z], ...] with all digits")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the converted points, one on each line; a SceneError holds everything wrong with the input."""
    from diorama.geo import convert

    if args.points:
        points = _read("argument", args.points)
    else:
        if sys.stdin.isatty():
            print("points, one on each line; Ctrl-D ends", file=sys.stderr)
        points = _read("<stdin>", sys.stdin)
    try:
        converted = convert(points, args.source, args.target, args.origin)
    except GeoError as error:
        hint = "; give --origin LAT,LON,ALT" if "expected an origin" in str(error) else ""
        raise GeoError(f"{error}{hint}") from None
    if args.json:
        print(json_text(converted))
        return 0
    # 1e-10 degrees are 11 µm, and half of that is the rounding.
    line = "%.10f %.10f %.6f" if args.target == "lla" else "%.6f %.6f %.6f"
    for point in converted:
        print(line % tuple(point))
    return 0


def _read(file: str, lines: Iterable[str]) -> list[tuple[float, float, float]]:
    points, problems = [], []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            points.append(three_numbers(line))
        except ValueError as error:
            problems.append(Problem(str(error), file=file, line=number))
    if problems:
        raise SceneError(problems)
    return points
