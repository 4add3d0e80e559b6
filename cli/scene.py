"""`diorama check`, `tree`, `where`, `convert`: look into a scene file, and turn it into another."""

import argparse
import sys
from typing import TYPE_CHECKING, Any

from diorama.cli.arguments import add_origin, add_reading, reading, some
from diorama.cli.colour import paint
from diorama.cli.parser import add_command
from diorama.cli.signals import end_tidily
from diorama.cli.tell import add_json, json_text, tell
from diorama.schemas.errors import Problem, StateError

if TYPE_CHECKING:
    from diorama.ecs import World

# Deeper branches of the tree are drawn with their depth in numbers instead of lines.
DRAWN_DEPTH = 40


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the four commands to those of `diorama`."""
    check = add_command(
        subparsers,
        "check",
        "say everything that is wrong with scene files",
        "Read scene files and print everything that is wrong with them, file:line first, and what is odd as a warning.",
        "  diorama check examples/houston.scene.json\n"
        "  diorama check examples/*.json examples/yard.rscene --json | jq '.[].message'",
        run_check,
    )
    check.add_argument("files", nargs="+", metavar="FILE")
    add_json(check, "print a list of problems as JSON")
    add_reading(check)

    tree = add_command(
        subparsers,
        "tree",
        "draw who hangs under whom",
        "Draw the hierarchy of a scene: names, ids, what each entity is, and its asset.",
        "  diorama tree examples/houston.scene.json\n"
        "  diorama tree examples/yard.rscene --depth 2\n"
        "  diorama tree examples/houston.scene.json --json | jq '.[].name'",
        run_tree,
    )
    tree.add_argument("file", metavar="FILE")
    tree.add_argument("--depth", type=some, metavar="N", help="draw N levels only")
    add_json(tree, "print a list of objects, parents before children")
    add_reading(tree)

    where = add_command(
        subparsers,
        "where",
        "print where things are: NED, latitude-longitude-altitude, ECEF",
        "Print the world positions of entities: metres north, east and down of the origin; latitude and longitude\n"
        "in degrees with the altitude in metres above the ellipsoid; Earth-centred, Earth-fixed metres.",
        "  diorama where examples/houston.scene.json\n"
        "  diorama where examples/houston.scene.json generic_evtol_0 rgb_camera_0 --json\n"
        "  diorama where examples/yard.rscene --origin 47.37,8.54,408",
        run_where,
    )
    where.add_argument("file", metavar="FILE")
    where.add_argument(
        "names", nargs="*", default=[], metavar="NAME", help="names or ids of entities (default: all)"
    )
    add_json(where, "print a list of objects with all digits")
    add_origin(where)
    add_reading(where)

    convert = add_command(
        subparsers,
        "convert",
        "turn a scene file into another format",
        "Read a scene and write it again; the formats are known by the names and contents of the files.",
        "  diorama convert examples/yard.rscene yard.scene.json --origin 47.37,8.54,408\n"
        "  diorama convert examples/houston.scene.json for_aerosim.json --profile aerosim\n"
        "  diorama convert examples/scene_harbour.jsonc harbour.rscene",
        run_convert,
    )
    convert.add_argument("source", metavar="IN")
    convert.add_argument("target", metavar="OUT")
    add_origin(convert)
    add_reading(convert, prefix="from")
    convert.add_argument("--to", metavar="FORMAT", help="format to write, when the name of OUT does not say")
    convert.add_argument(
        "--profile",
        metavar="PROFILE",
        help="`aerosim`: write AeroSim's own encoding; `aerosim-message`: the same in its message envelope",
    )
    add_json(convert, "print what was written as one line of JSON")


def run_check(args: argparse.Namespace) -> int:
    """Print all problems of the files; 1 if any is an error."""
    from diorama.runtime.load import check

    found: list[tuple[str, Problem]] = []
    for file in args.files:
        warnings: list[Problem] = []
        errors = check(file, warnings=warnings, **reading(args))
        found += [("error", problem) for problem in errors]
        found += [("warning", problem) for problem in warnings]
        if not args.json:
            for problem in errors:
                print(problem)
            _print_warnings(warnings, sys.stdout)
            colour = "red" if errors else "yellow" if warnings else "green"
            print(f"{file}: {paint(_verdict(len(errors), len(warnings)), colour, sys.stdout)}")
    if args.json:
        told = [{"severity": severity, **_json_from_problem(problem)} for severity, problem in found]
        print(json_text(told, indented=True))
    return 1 if any(severity == "error" for severity, _ in found) else 0


def run_tree(args: argparse.Namespace) -> int:
    """Draw the hierarchy."""
    world = _load(args.file, args)
    if args.json:
        told = [_json_from_entity(world, entity) for entity in world.entities.tolist()]
        print(json_text(told, indented=True))
        return 0
    print(f"{args.file}: {_count(len(world), 'entity', 'entities')}, {_origin_text(world)}")
    roots = [entity for entity in world.entities.tolist() if world.parent(entity) is None]
    # (entity, lines to its left, whether it is the last of its siblings), the next one to draw at the end
    pending = [(entity, "", entity == roots[-1]) for entity in reversed(roots)]
    while pending:
        entity, left, last = pending.pop()
        depth = len(left) // 4
        lines = left if depth <= DRAWN_DEPTH else f"│ {depth} levels … "
        print(f"{lines}{'└── ' if last else '├── '}{_label(world, entity)}")
        children = world.children(entity)
        if args.depth is not None and depth + 1 >= args.depth and children:
            print(f"{lines}{'    ' if last else '│   '}└── … {len(children)} below")
            continue
        below = left + ("    " if last else "│   ")
        pending += [(child, below, child == children[-1]) for child in reversed(children)]
    return 0


def run_where(args: argparse.Namespace) -> int:
    """Print coordinates as a table or as JSON."""
    from diorama.ecs import locate

    world = _load(args.file, args)
    entities = [find(world, name) for name in args.names] if args.names else world.entities.tolist()
    place = locate(world, world.rows(entities) if entities else [])
    names = [world.name(entity) for entity in entities]
    if args.json:
        rows = zip(
            names, map(world.key, entities), place.ned, place.lla, place.ecef, place.cartesian, strict=True
        )
        keys = ("name", "id", "ned", "lla", "ecef", "cartesian")
        print(json_text([dict(zip(keys, row, strict=True)) for row in rows], indented=True))
        return 0
    header = ["name", "north", "east", "down", "latitude", "longitude", "altitude", "x", "y", "z"]
    formats = ["%.3f"] * 3 + ["%.8f", "%.8f", "%.3f"] + ["%.3f"] * 3
    table = [header, ["", *["m"] * 3, "°", "°", *["m"] * 4]]
    for name, *numbers in zip(
        names, place.ned.tolist(), place.lla.tolist(), place.ecef.tolist(), strict=True
    ):
        flat = [number for triple in numbers for number in triple]
        table.append([name, *(text % (number + 0.0) for text, number in zip(formats, flat, strict=True))])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        print("  ".join(cells).rstrip())
    return 0


def run_convert(args: argparse.Namespace) -> int:
    """Read one file, write the other."""
    if args.source.lower().endswith(".mcap") and args.target.lower().endswith(".rrd"):
        from diorama.viewer.rerun_sink import convert_recording

        updates = convert_recording(args.source, args.target)
        tell(
            args,
            {"file": args.target, "updates": updates},
            f"{args.target}: {_count(updates, 'update', 'updates')}",
        )
        return 0
    from diorama.runtime.load import save

    world = _load(args.source, args)
    options = {"format": args.to, "profile": args.profile}
    end_tidily()
    save(world, args.target, **{name: value for name, value in options.items() if value is not None})
    told = {"file": args.target, "entities": len(world), "origin": world.origin and world.origin.lla}
    tell(args, told, f"{args.target}: {_count(len(world), 'entity', 'entities')}, {_origin_text(world)}")
    return 0


def _load(file: str, args: argparse.Namespace) -> "World":
    """The world of a file; what is odd about it goes to stderr."""
    from diorama.cli.progress import Bar
    from diorama.runtime.load import load

    warnings: list[Problem] = []
    bar = Bar(sys.stderr)
    try:
        world = load(file, warnings=warnings, progress=bar, **reading(args))
    finally:
        bar.clear()
    _print_warnings(warnings, sys.stderr)
    return world


def find(world: "World", name: str) -> int:
    """An entity by name or, failing that, by id."""
    by_key = world.find_key(name)
    if by_key is not None and name not in world.names:
        return by_key
    try:
        return world.find(name)
    except StateError as error:
        hint = "" if "did you mean" in str(error) else "; `diorama tree FILE` shows all names"
        raise StateError(f"{error}{hint}") from None


def _label(world: "World", entity: int) -> str:
    """Name, id, what it is, asset."""
    from diorama.ecs import Effector, Sensor

    name, key = world.name(entity), world.key(entity)
    parts = [name] if key in (name, "") else [f"{name} ({key})"]
    effector, sensor = world.try_get(entity, Effector), world.try_get(entity, Sensor)
    if effector is not None:
        parts = [f"{name} · effector", effector.path]
    if sensor is not None:
        parts.append(f"· sensor {sensor.type}")
    return "  ".join(part for part in (*parts, world.asset(entity)) if part)


def _origin_text(world: "World") -> str:
    if world.origin is None:
        return "no place on Earth"
    return "at {:.8g}°, {:.8g}°, {:.6g} m".format(*world.origin.lla)


def _print_warnings(warnings: list[Problem], file: Any) -> None:
    for problem in warnings:
        place = Problem("", problem.path, problem.file, problem.line, problem.column)
        print(": ".join(part for part in (str(place), "warning", problem.message) if part), file=file)


def _json_from_entity(world: "World", entity: int) -> dict[str, Any]:
    from diorama.ecs import Effector, Sensor

    parent = world.parent(entity)
    sensor, effector = world.try_get(entity, Sensor), world.try_get(entity, Effector)
    return {
        "name": world.name(entity),
        "id": world.key(entity),
        "parent": None if parent is None else world.name(parent),
        "asset": world.asset(entity),
        "sensor": None if sensor is None else sensor.type,
        "effector": None if effector is None else effector.path,
    }


def _json_from_problem(problem: Problem) -> dict[str, Any]:
    return {name: getattr(problem, name) for name in ("message", "path", "file", "line", "column")}


def _verdict(errors: int, warnings: int) -> str:
    parts = [_count(errors, "error", "errors")] if errors else ["ok"]
    return ", ".join([*parts, _count(warnings, "warning", "warnings")] if warnings else parts)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
