"""`diorama ask`: questions to a running simulation, answered for people or as JSON."""

import argparse
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from diorama.cli.arguments import (
    AXES,
    FRAMES,
    add_service,
    allow_negative_values,
    client_security,
    count,
    metres,
    number,
    origin,
    some,
    three_numbers,
)
from diorama.cli.tell import add_json, tell
from diorama.schemas.errors import DioramaError

if TYPE_CHECKING:
    from diorama.transport.client import Client

Ask = Callable[["Client", argparse.Namespace], Any]

EXAMPLES = """\
examples:
  diorama ask where evtol_0                                     position, latitude and longitude, at which tick
  diorama ask where evtol_0 --axes unreal --json
  diorama ask convert --from lla --to ned 29.6,-95.2,100        about the scene's own origin
  diorama ask near 29.6,-95.2,100 --frame lla -k 3              the three nearest entities
  diorama ask near --name evtol_0 --radius 500                  all within 500 m of an entity
  diorama ask box -100,-100,-50 100,100,0                       all between two corners (NED)
  diorama ask polygon 29.5,-95.2 29.7,-95.2 29.6,-95.0          all over an area of latitudes and longitudes
  diorama ask distance evtol_0 tower_0                          how far, and in which direction
  diorama ask relative evtol_0/nose_camera evtol_0              the pose of one in the other's axes
  diorama ask list --prefix evtol                               which entities there are
  diorama ask call set_pose '{"name": "evtol_0", "position": [0, 0, -50]}'

`diorama ask call describe` lists every method; docs/service.md explains them.
"""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command and its questions."""
    parser = subparsers.add_parser(
        "ask",
        help="ask a running simulation where things are",
        description="Ask a simulation that `diorama serve` runs.",
        epilog=EXAMPLES,
    )
    questions = parser.add_subparsers(title="questions", metavar="QUESTION", required=True)

    where = _question(questions, "where", "where an entity is", _where, "ask where evtol_0 --axes enu")
    where.add_argument("name", metavar="NAME")
    where.add_argument("--axes", choices=AXES, default="ned", help="axes of the pose (default ned)")

    convert = _question(
        questions,
        "convert",
        "points to another frame",
        _convert,
        "ask convert --from lla --to ned 29.6,-95.2,100",
    )
    convert.add_argument("points", nargs="+", metavar="POINT", help="three numbers: 29.6,-95.2,100")
    convert.add_argument("--from", dest="source", required=True, choices=FRAMES)
    convert.add_argument("--to", dest="target", required=True, choices=FRAMES)
    convert.add_argument(
        "--origin", type=origin, metavar="LAT,LON,ALT", help="instead of the scene's own origin"
    )

    near = _question(
        questions,
        "near",
        "the nearest entities, or all within a radius",
        _near,
        "ask near 0,0,-50 --radius 200",
    )
    near.add_argument("point", nargs="?", metavar="POINT", help="three numbers in the frame")
    near.add_argument("--name", help="near this entity instead of a point")
    near.add_argument("--frame", choices=FRAMES, default="ned", help="frame of the point (default ned)")
    near.add_argument("-k", type=some, default=1, metavar="N", help="how many (default 1)")
    near.add_argument("--radius", type=metres, metavar="M", help="all within so many metres instead")

    box = _question(questions, "box", "all entities in a box", _box, "ask box -100,-100,-50 100,100,0")
    box.add_argument("minimum", metavar="CORNER")
    box.add_argument("maximum", metavar="CORNER")
    box.add_argument("--frame", choices=FRAMES, default="ned", help="frame of the corners (default ned)")

    polygon = _question(
        questions,
        "polygon",
        "all entities over an area",
        _polygon,
        "ask polygon 29.5,-95.2 29.7,-95.2 29.6,-95.0",
    )
    polygon.add_argument("corners", nargs="+", metavar="LAT,LON")
    polygon.add_argument("--lowest", type=number, metavar="M", help="from this altitude up")
    polygon.add_argument("--highest", type=number, metavar="M", help="up to this altitude")

    distance = _question(
        questions,
        "distance",
        "distance and bearing between two entities",
        _distance,
        "ask distance evtol_0 tower_0",
    )
    distance.add_argument("start", metavar="FROM")
    distance.add_argument("end", metavar="TO")

    relative = _question(
        questions,
        "relative",
        "the pose of one entity in another's axes",
        _relative,
        "ask relative evtol_0/nose_camera evtol_0",
    )
    relative.add_argument("name", metavar="NAME")
    relative.add_argument("seen_from", metavar="SEEN_FROM")

    listing = _question(
        questions, "list", "which entities there are", _list, "ask list --prefix evtol --count 20"
    )
    listing.add_argument("--prefix", default="", help="only names that begin so")
    listing.add_argument("--count", type=count, default=1000, help="at most so many (default 1000)")

    _question(questions, "scene", "the scene in short", _scene, "ask scene")

    call = _question(
        questions, "call", "any method by name", _call, """ask call get_resource '{"name": "weather"}'"""
    )
    call.add_argument("method", metavar="METHOD")
    call.add_argument("params", nargs="?", default="{}", metavar="JSON", help="parameters as a JSON object")


def run(args: argparse.Namespace) -> int:
    """Ask, and print the answer: lines for people, or one line of JSON with the tick."""
    from diorama.transport.client import Client

    with Client(args.service, timeout_s=args.timeout, security=client_security(args)) as client:
        try:
            result = args.ask(client, args)
        except DioramaError as error:
            if "no entity is named" not in str(error) or "did you mean" in str(error):
                raise
            raise DioramaError(f"{error}; `diorama ask list` shows all names") from None
        tick = client.tick
    when = f"at tick {tick}" if tick >= 0 else "before the first tick"
    tell(args, {"result": result, "tick": tick}, *_lines(result), when)
    return 0


def _question(
    questions: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    about: str,
    ask: Ask,
    example: str,
) -> argparse.ArgumentParser:
    parser = questions.add_parser(
        name,
        help=about,
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=f"example:\n  diorama {example}",
    )
    allow_negative_values(parser)
    add_service(parser, timeout_s=2.0)
    add_json(parser, "print one line of JSON with all digits")
    parser.set_defaults(run=run, ask=ask)
    return parser


# -- questions ---------------------------------------------------------------------------------------------------


def _where(client: "Client", args: argparse.Namespace) -> Any:
    return client.where(args.name, axes=args.axes)


def _convert(client: "Client", args: argparse.Namespace) -> Any:
    points = [_numbers(text, 3) for text in args.points]
    return client.convert(points, args.source, args.target, origin=args.origin and args.origin.lla)


def _near(client: "Client", args: argparse.Namespace) -> Any:
    point = None if args.point is None else _numbers(args.point, 3)
    if args.radius is not None:
        return client.within_radius(args.radius, point, name=args.name, frame=args.frame)
    return client.nearest(point, name=args.name, k=args.k, frame=args.frame)


def _box(client: "Client", args: argparse.Namespace) -> Any:
    return client.within_box(_numbers(args.minimum, 3), _numbers(args.maximum, 3), frame=args.frame)


def _polygon(client: "Client", args: argparse.Namespace) -> Any:
    corners = [(numbers[0], numbers[1]) for numbers in (_numbers(text, 2) for text in args.corners)]
    return client.within_polygon(corners, lowest=args.lowest, highest=args.highest)


def _distance(client: "Client", args: argparse.Namespace) -> Any:
    return client.distance(args.start, args.end)


def _relative(client: "Client", args: argparse.Namespace) -> Any:
    return client.relative_pose(args.name, args.seen_from)


def _list(client: "Client", args: argparse.Namespace) -> Any:
    return client.entities(args.prefix, count=args.count)["entities"]


def _scene(client: "Client", args: argparse.Namespace) -> Any:  # noqa: ARG001
    return client.scene()


def _call(client: "Client", args: argparse.Namespace) -> Any:
    import orjson

    try:
        params = orjson.loads(args.params)
    except orjson.JSONDecodeError as error:
        raise DioramaError(f"parameters: expected a JSON object, got {args.params!r}: {error}") from None
    if not isinstance(params, dict):
        raise DioramaError(f"parameters: expected a JSON object, got {args.params!r}")
    return client.call(args.method, params).result


def _numbers(text: str, count: int) -> tuple[float, ...]:
    try:
        if count == 3:
            return three_numbers(text)
        latitude, longitude = (float(word) for word in text.replace(",", " ").split())
    except ValueError as error:
        wanted = f"expected LAT,LON, got {text!r}" if count == 2 else str(error)
        raise DioramaError(wanted) from None
    return latitude, longitude


# -- answers for people ------------------------------------------------------------------------------------------


def _lines(result: Any) -> list[str]:
    """A result as lines: a table row for each thing of a list, a line for each field of one thing."""
    if isinstance(result, dict):
        width = max((len(str(name)) for name in result), default=0)
        return [f"{name:<{width}}  {_text(value, name)}" for name, value in result.items()]
    if isinstance(result, str) or not hasattr(result, "__iter__"):
        return [_text(result)]
    rows = [row.values() if isinstance(row, dict) else row for row in result]
    return [row if isinstance(row, str) else "  ".join(_cells(row)) for row in rows] or ["nothing"]


def _cells(row: Iterable[Any]) -> list[str]:
    """The cells of a table row; what has parts of its own, such as the schema of a method, is left to --json."""
    return [_text(value) for value in row if not isinstance(value, dict)]


def _text(value: Any, name: str = "") -> str:
    if isinstance(value, bool) or value is None:
        return "-" if value is None else str(value).lower()
    if isinstance(value, float):
        return f"{value:.10f}" if name == "lla" or name.endswith("_deg") else f"{value:.6f}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(part, key)}" for key, part in value.items()) or "-"
    if isinstance(value, (list, tuple)):
        return ", ".join(_text(part, name) for part in value) or "-"
    return str(value)
