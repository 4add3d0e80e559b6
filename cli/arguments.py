"""Arguments that several commands share."""

import argparse
import re
from collections.abc import Callable
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diorama.schemas.errors import GeoError

if TYPE_CHECKING:
    from diorama.geo import Origin
    from diorama.transport.security import ClientSecurity

# Where things are unless said otherwise.
PUBLISHED_AT = "tcp://127.0.0.1:5555"
ANSWERED_AT = "tcp://127.0.0.1:5556"

# The names that diorama.geo has, written out: a --help must not wait for numpy.
AXES = ("ned", "enu", "nwu", "unreal", "gltf")
FRAMES = ("lla", "ecef", "cartesian", *AXES)


def three_numbers(text: str) -> tuple[float, float, float]:
    """Three numbers with commas or blanks between them; ValueError otherwise."""
    try:
        x, y, z = (float(word) for word in text.replace(",", " ").split())
    except ValueError:
        raise ValueError(f"expected three numbers as x,y,z, got {text.strip()!r}") from None
    return x, y, z


def endpoint(text: str) -> str:
    """An address such as tcp://127.0.0.1:5555: an argparse type, as are the numbers below."""
    from diorama.transport.engine import engine_of

    try:
        engine_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            str(error).removeprefix(f"endpoint {text!r}: ") + f", got {text!r}"
        ) from None
    return text


def folder(text: str) -> str:
    """A folder that is there."""
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"expected a folder, got {text!r}; make it first, or name another")
    return text


def number(text: str) -> float:
    """Any number but those that are none."""
    return _number(text, "a number", isfinite)


def rate(text: str) -> float:
    """A number above 0: times as fast."""
    return _number(text, "a number above 0", lambda value: value > 0.0)


def hertz(text: str) -> float:
    """Times a second: from one in a quarter of an hour to one each nanosecond, the shortest step of a clock."""
    return _number(text, "times a second, 0.001 to 1e9", lambda value: 1e-3 <= value <= 1e9)


def metres(text: str) -> float:
    """A length that is not negative."""
    return _number(text, "metres, 0 or more", lambda value: value >= 0.0)


def seconds(text: str) -> float:
    """A time that is not negative."""
    return _number(text, "seconds, 0 or more", lambda value: value >= 0.0)


def count(text: str) -> int:
    """A whole number that is not negative."""
    return int(_number(text, "a whole number, 0 or more", lambda value: value >= 0 and value == int(value)))


def some(text: str) -> int:
    """A whole number above 0."""
    return int(_number(text, "a whole number, 1 or more", lambda value: value >= 1 and value == int(value)))


def port(text: str) -> int:
    """A port of TCP."""
    return int(
        _number(text, "a port of 1 to 65535", lambda value: 1 <= value <= 65535 and value == int(value))
    )


def _number(text: str, expected: str, is_right: Callable[[float], bool]) -> float:
    try:
        value = float(text)
    except ValueError:
        value = nan
    if not (isfinite(value) and is_right(value)):
        raise argparse.ArgumentTypeError(f"expected {expected}, got {text!r}")
    return value


def origin(text: str) -> "Origin":
    """A place on Earth from LAT,LON,ALT: an argparse type."""
    from diorama.geo import Origin

    try:
        return Origin(*three_numbers(text))
    except GeoError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected LAT,LON,ALT, got {text!r}") from None


def allow_negative_values(parser: argparse.ArgumentParser) -> None:
    """Let -33.9,151.2,20 be a value; argparse takes it for an option unless it looks like a negative number to it."""
    parser._negative_number_matcher = re.compile(r"^-[\d.]")


def add_origin(parser: argparse.ArgumentParser) -> None:
    """Add `--origin LAT,LON,ALT`."""
    allow_negative_values(parser)
    parser.add_argument(
        "--origin",
        type=origin,
        metavar="LAT,LON,ALT",
        help="put the scene at this place on Earth (degrees, degrees, metres above the ellipsoid)",
    )


def add_reading(parser: argparse.ArgumentParser, *, prefix: str = "") -> None:
    """Add the options for reading a scene, its format and its profile; `prefix` names the end where there are two."""
    parser.add_argument(
        f"--{prefix or 'format'}",
        dest="read_format",
        metavar="FORMAT",
        help="format of the file, when its name and content do not say",
    )
    parser.add_argument(
        f"--{prefix}-profile" if prefix else "--profile",
        dest="read_profile",
        metavar="PROFILE",
        help="`aerosim`: the file has AeroSim's own encoding of quaternions and sensors",
    )
    parser.add_argument(
        "--airsim-exact",
        dest="read_exact",
        action="store_const",
        const=True,
        help="compute poses of a Project AirSim scene as it does: float32, pitch kept off 90°, geocentric latitude",
    )


def reading(args: argparse.Namespace) -> dict[str, Any]:
    """The keyword arguments for `load` and `check` that were given."""
    given = {
        "format": args.read_format,
        "profile": args.read_profile,
        "exact": args.read_exact,
        "origin": getattr(args, "origin", None),
    }
    return {name: value for name, value in given.items() if value is not None}


def add_client_keys(parser: argparse.ArgumentParser) -> None:
    """Add `--keys DIR` and `--client NAME`, for publishers and services that let in only those they know."""
    parser.add_argument("--keys", metavar="DIR", help="directory with the client's secret key and server.key")
    parser.add_argument(
        "--client", default="client", metavar="NAME", help="whose key to use (default: client)"
    )


def add_service(parser: argparse.ArgumentParser, timeout_s: float) -> None:
    """Add `--service ENDPOINT` and `--timeout S`, and the keys to get in with: whom to ask, and how long to wait."""
    parser.add_argument(
        "--service",
        type=endpoint,
        default=ANSWERED_AT,
        metavar="ENDPOINT",
        help=f"where the simulation answers (default {ANSWERED_AT})",
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=timeout_s,
        metavar="S",
        help=f"seconds to wait (default {timeout_s:g})",
    )
    add_client_keys(parser)


def client_security(args: argparse.Namespace) -> "ClientSecurity | None":
    """The keys those options name, or None."""
    if not args.keys:
        return None
    from diorama.transport.security import load_client

    return load_client(args.keys, args.client)
