"""Numbers as the format writes them: the shortest text that reads back to the same double.

The rule is that of C++ `std::to_chars`: of the plain and the scientific spelling the shorter wins, the plain
one on a tie, exponents are signed and have at least two digits, and a whole number in plain spelling shows
every digit of the double it is. Reading follows `std::from_chars`: no leading `+`, no `inf`, no `nan`, and a
number too large or too small for a double is an error rather than infinity or zero.
"""

import math
import re
from decimal import Decimal

import msgspec
import numpy as np
import orjson
from numpy.typing import NDArray

NUMBER = re.compile(rb"-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
INTEGER = re.compile(rb"-?\d+")
# Doubles in this range are spelled as Python spells them, but for a final ".0".
PLAIN_FROM, PLAIN_BELOW = 1e-3, 1e5
RANGES = {
    "i32": (-(2**31), 2**31 - 1),
    "u32": (0, 2**32 - 1),
    "i64": (-(2**63), 2**63 - 1),
    "u64": (0, 2**64 - 1),
    "u8": (0, 255),
}

_LONG_EXPONENT = (re.compile(rb"e[+-]?\d{3}"), re.compile(rb"E[+-]?\d{3}"))
# A plain number shorter than this cannot leave the range of doubles.
_SAFE_LENGTH = 300
# Decoding to Raw walks the grammar of JSON numbers without making an object for any of them.
_JSON_SYNTAX = msgspec.json.Decoder(msgspec.Raw)


def text_from_float(value: float) -> str:
    """Spell a finite double by the rule of `std::to_chars`."""
    size = abs(value)
    if size == 0 or PLAIN_FROM <= size < PLAIN_BELOW:
        return repr(value).removesuffix(".0")
    if not math.isfinite(value):
        raise ValueError(f"expected a finite number, got {value}")
    _, digits, exponent = Decimal(repr(size)).normalize().as_tuple()
    assert isinstance(exponent, int)  # always, for finite numbers
    text = "".join(map(str, digits))
    point = len(text) + exponent  # digits before the decimal point
    fraction = f".{text[1:]}" if len(text) > 1 else ""
    scientific = f"{text[0]}{fraction}e{'-' if point < 1 else '+'}{abs(point - 1):02d}"
    if point <= 0:
        plain = f"0.{'0' * -point}{text}"
    elif exponent >= 0:
        plain = str(int(size))
    else:
        plain = f"{text[:point]}.{text[point:]}"
    shorter = plain if len(plain) <= len(scientific) else scientific
    return f"-{shorter}" if value < 0 else shorter


def float_from_text(raw: bytes) -> float:
    """Read one double; ValueError when the text is not a number or leaves the range of doubles."""
    if not NUMBER.fullmatch(raw):
        raise ValueError(f"expected a number, got {shown(raw)}")
    value = float(raw)
    if math.isinf(value) or (value == 0 and re.match(rb"-?[0.]*[1-9]", raw)):
        raise ValueError(f"number out of the range of doubles: {shown(raw)}")
    return value


def int_from_text(raw: bytes, kind: str) -> int:
    """Read one integer of kind i32, u32, i64, u64 or u8; it never passes through a double."""
    if not INTEGER.fullmatch(raw):
        raise ValueError(f"expected a whole number, got {shown(raw)}")
    low, high = RANGES[kind]
    # Python limits the digits of int(); no type here has more than twenty.
    value = int(raw) if len(raw.lstrip(b"-0")) <= 20 else high + 1
    if not low <= value <= high:
        raise ValueError(f"expected a whole number from {low} to {high}, got {shown(raw)}")
    return value


def check_floats(raw: bytes) -> int:
    """Check a comma-separated list of doubles without making them and return how many there are."""
    if _is_plain_json(raw):
        return raw.count(b",") + 1
    return len([float_from_text(part) for part in raw.split(b",")])


def floats_from_text(raw: bytes) -> NDArray[np.float64]:
    """Read a comma-separated list of doubles, shape (n,)."""
    count = check_floats(raw)
    values = np.fromstring(raw, dtype=np.float64, sep=",")
    assert len(values) == count  # the grammar was checked above
    return values


def ints_from_text(raw: bytes, kind: str) -> NDArray[np.int64]:
    """Read a comma-separated list of integers that fit in int64, shape (n,)."""
    if raw.translate(None, b"0123456789,-") or not _is_plain_json(raw):
        return np.array([int_from_text(part, kind) for part in raw.split(b",")], dtype=np.int64)
    values = np.fromstring(raw, dtype=np.int64, sep=",")
    low, high = RANGES[kind]
    if len(values) and (values.min() < low or values.max() > high):
        bad = next(int(value) for value in values if not low <= value <= high)
        raise ValueError(f"expected whole numbers from {low} to {high}, got {bad}")
    return values


def text_from_floats(values: NDArray[np.float64]) -> bytes:
    """Spell doubles of shape (n,) as a comma-separated list."""
    flat = np.ascontiguousarray(values, dtype=np.float64).ravel()
    if not np.isfinite(flat).all():
        raise ValueError("expected finite numbers")
    text = orjson.dumps(flat, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1]
    # orjson ends whole numbers with ".0"; the comma makes the last one no exception.
    text = (text + b",").replace(b".0,", b",")[:-1]
    size = np.abs(flat)
    odd = np.flatnonzero((size != 0) & ((size < PLAIN_FROM) | (size >= PLAIN_BELOW)))
    if not len(odd):
        return text
    parts = text.split(b",")
    for index in odd.tolist():
        parts[index] = text_from_float(float(flat[index])).encode()
    return b",".join(parts)


def shown(raw: bytes) -> str:
    """A token for an error message, shortened."""
    text = raw.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def _is_plain_json(raw: bytes) -> bool:
    """Whether a list follows JSON's grammar of numbers and none can leave the range of doubles."""
    if raw.translate(None, b"0123456789+-.eE,"):
        return False
    if any(pattern.search(raw) for pattern in _LONG_EXPONENT):
        return False
    half = _SAFE_LENGTH // 2
    if any(raw.find(b",", start, start + half) < 0 for start in range(0, len(raw) - half, half)):
        return False
    try:
        _JSON_SYNTAX.decode(b"[" + raw + b"]")
    except msgspec.DecodeError:
        return False
    return bool(raw)
