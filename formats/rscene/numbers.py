"""Numbers as the format writes them: the shortest text that reads back to the same double.

The rule is that of C++ `std::to_chars`: of the plain and the scientific spelling the shorter wins, the plain
one on a tie, exponents are signed and have at least two digits, and a whole number in plain spelling shows
every digit of the double it is. Reading follows `std::from_chars`: no leading `+`, no `inf`, no `nan`, and a
number too large or too small for a double is an error rather than infinity or zero.
"""

import math
import re
from collections.abc import Sequence
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

# Numbers too short to leave the range of doubles, with blanks between.
_SHORT = rb"-?(?:\d{1,25}(?:\.\d{0,25})?|\.\d{1,25})(?:[eE][+-]?\d\d?)?"
_SHORT_NUMBERS = re.compile(rb"(?:%b )*+%b" % (_SHORT, _SHORT))
_LONG_EXPONENT = re.compile(rb"e[+-]?\d{3}")
# A plain number that fits in two blocks cannot leave the range of doubles; eights let numpy count faster.
_BLOCK = 19 * 8
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
        return int(np.count_nonzero(np.frombuffer(raw, dtype=np.uint8) == ord(","))) + 1
    return len([float_from_text(part) for part in raw.split(b",")])


def floats_from_text(raw: bytes) -> NDArray[np.float64]:
    """Read a comma-separated list of doubles, shape (n,)."""
    count = check_floats(raw)
    values = np.fromstring(raw, dtype=np.float64, sep=",")
    assert len(values) == count  # the grammar was checked above
    return values


def floats_from_words(words: Sequence[bytes]) -> NDArray[np.float64]:
    """Read one double from each of a few words, shape (n,)."""
    check_few(words)
    return np.array(list(map(float, words)))


def check_few(words: Sequence[bytes]) -> None:
    """Check a few words that should be doubles; most are short and need only a look at their letters."""
    if not are_short(words):
        for word in words:
            float_from_text(word)


def are_short(words: Sequence[bytes]) -> bool:
    """Whether all of a few words are doubles of no unusual length."""
    return _SHORT_NUMBERS.fullmatch(b" ".join(words)) is not None


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
    if _LONG_EXPONENT.search(raw) or (b"E" in raw and _LONG_EXPONENT.search(raw.lower())):
        return False
    if _has_long_number(raw):
        return False
    try:
        _JSON_SYNTAX.decode(b"[" + raw + b"]")
    except msgspec.DecodeError:
        return False
    return bool(raw)


def _has_long_number(raw: bytes) -> bool:
    """Whether somewhere a whole block of bytes has no comma."""
    whole = len(raw) // _BLOCK * _BLOCK
    if not whole:
        return False
    commas = np.frombuffer(raw, dtype=np.uint8, count=whole) == ord(",")
    return not commas.view(np.uint64).reshape(-1, _BLOCK // 8).any(axis=1).all()
