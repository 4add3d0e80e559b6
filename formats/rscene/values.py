"""Values of fields: one pair of functions per type of the record table, from a word and back to one."""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from diorama.formats.rscene import numbers, tokens
from diorama.formats.rscene.numbers import shown
from diorama.formats.rscene.table import Field

FLAGS = dict.fromkeys((b"true", b"1", b"yes", b"on"), True) | dict.fromkeys(
    (b"false", b"0", b"no", b"off"), False
)
VECTORS = {"vec2": 2, "vec3": 3, "quat": 4, "rgb": 3, "rgba": 4}
# Numbers per entry of the lists of structs.
STRUCTS = {"vec3list": 3, "rgbalist": 4, "xformlist": 10}
INT_LISTS = {"i32list": "i32", "u8list": "u8"}
_PAIR_SIGNS = ("->", ":", "=")


def decode(field: Field, word: bytes) -> Any:
    """The value of one word of a field; ValueError says what was expected and what was found."""
    return _DECODERS[field.type](field, word)


def encode(field: Field, value: Any) -> bytes:
    """The canonical word of a value of a field; ValueError when the format cannot write it."""
    return _ENCODERS[field.type](field, value)


def check(field: Field, word: bytes) -> None:
    """What `decode` checks, without making the numbers of a dense list."""
    if field.type == "f64list" or field.type in STRUCTS:
        _check_entries(field, word)
    else:
        decode(field, word)


def default(field: Field) -> Any:
    """The value that counts when a field is not written: the table's, or nothing of its type."""
    if field.default is not None:
        if field.count == 1:
            return decode(field, field.default)
        return np.array([numbers.float_from_text(part) for part in field.default.split(b",")])
    if field.type == "quat" or field.name == "rotation":
        return np.array([1.0, 0.0, 0.0, 0.0])
    if field.count > 1:
        return np.ones(field.count) if field.name == "scale" else np.zeros(field.count)
    if field.type in VECTORS:
        return np.zeros(VECTORS[field.type])
    if field.type in STRUCTS:
        return np.zeros((0, STRUCTS[field.type]))
    return _NOTHING.get(field.type, int)()


def same(left: Any, right: Any) -> bool:
    """Whether two values are written alike: numbers compare by bits, so 0 and -0 differ."""
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        a, b = np.asarray(left), np.asarray(right)
        return a.shape == b.shape and bool(np.all((a == b) & (np.signbit(a) == np.signbit(b))))
    if isinstance(left, float) and isinstance(right, int | float):
        return left == right and np.signbit(left) == np.signbit(float(right))
    return bool(left == right)


def _flag(_: Field, word: bytes) -> bool:
    value = FLAGS.get(word.lower())
    if value is None:
        raise ValueError(f"expected true or false, got {shown(word)}")
    return value


def _name(field: Field, word: bytes) -> str:
    text = tokens.text_from_word(word)
    return (field.names or {}).get(text.lower(), text)


def _vector(field: Field, word: bytes) -> Any:
    count = VECTORS[field.type]
    parts = word.split(b",")
    # Colours are read with or without their fourth part; alpha is 1 unless said.
    if len(parts) != count and not (field.type in ("rgb", "rgba") and len(parts) in (3, 4)):
        raise ValueError(f"expected {count} numbers with commas between, got {shown(word)}")
    values = [numbers.float_from_text(part) for part in parts]
    if field.type == "quat" and not 0 < sum(value * value for value in values) < np.inf:
        raise ValueError(f"expected a quaternion that can be normalised, got {shown(word)}")
    return np.array([*values, 1.0][:count])


def _flat(word: bytes) -> bytes:
    return word.replace(b";", b",")


def _floats(_: Field, word: bytes) -> Any:
    return numbers.floats_from_text(_flat(word)) if word not in (b"", b"-") else np.zeros(0)


def _ints(field: Field, word: bytes) -> Any:
    if word in (b"", b"-"):
        return np.zeros(0, dtype=np.int64)
    return numbers.ints_from_text(_flat(word), INT_LISTS[field.type])


def _structs(field: Field, word: bytes) -> Any:
    width = STRUCTS[field.type]
    if word in (b"", b"-"):
        return np.zeros((0, width))
    given = _check_entries(field, word)
    rows = numbers.floats_from_text(_flat(word)).reshape(-1, given)
    return rows if given == width else np.column_stack((rows, np.ones(len(rows))))


def _check_entries(field: Field, word: bytes) -> int:
    """Numbers per entry of a list; colours may come without alpha."""
    if word in (b"", b"-"):
        return STRUCTS.get(field.type, 1)
    count = numbers.check_floats(_flat(word))
    width = STRUCTS.get(field.type, 1)
    if field.type == "rgbalist" and count == 3 * (word.count(b";") + 1):
        return 3
    if count % width:
        raise ValueError(f"expected entries of {width} numbers, got {count} numbers")
    return width


def _pairs(_: Field, word: bytes) -> list[tuple[str, str]]:
    """Remaps, as `source:target` items or, in older files, as source and target in turn."""
    if word in (b"", b"-"):
        return []
    parts = word.split(b";")
    signs = [next((sign for sign in _PAIR_SIGNS if sign.encode() in part), "") for part in parts]
    if not any(signs) and len(parts) % 2 == 0:
        texts = [tokens.text_from_word(part) for part in parts]
        return list(zip(texts[::2], texts[1::2], strict=True))
    if not all(signs):
        raise ValueError(f"expected source:target pairs, got {shown(word)}")
    halves = [part.split(sign.encode(), 1) for part, sign in zip(parts, signs, strict=True)]
    return [(tokens.text_from_word(source), tokens.text_from_word(target)) for source, target in halves]


def _write_flag(_: Field, value: Any) -> bytes:
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"expected True or False, got {value!r}")
    return b"true" if value else b"false"


def _write_int(field: Field, value: Any) -> bytes:
    try:
        text = str(operator.index(value)).encode()
    except TypeError:
        raise ValueError(f"expected a whole number, got {value!r}") from None
    numbers.int_from_text(text, field.type)
    return text


def _write_text(_: Field, value: Any) -> bytes:
    if not isinstance(value, str):
        raise ValueError(f"expected text, got {value!r}")
    return tokens.word_from_text(value)


def _write_vector(field: Field, value: Any) -> bytes:
    count = VECTORS[field.type]
    if np.shape(value) != (count,):
        raise ValueError(f"expected {count} numbers, got {value!r}")
    return numbers.text_from_floats(np.asarray(value, dtype=np.float64))


def _write_floats(_: Field, value: Any) -> bytes:
    array = np.asarray(value, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"expected numbers of shape (n,), got shape {array.shape}")
    return numbers.text_from_floats(array) if len(array) else b""


def _write_ints(field: Field, value: Any) -> bytes:
    array = np.asarray(value)
    if array.size and (array.ndim != 1 or array.dtype.kind not in "iu"):
        raise ValueError(f"expected whole numbers of shape (n,), got {array.dtype} of shape {array.shape}")
    text = b",".join(b"%d" % number for number in array.tolist())
    _ints(field, text)
    return text


def _write_structs(field: Field, value: Any) -> bytes:
    width = STRUCTS[field.type]
    array = np.asarray(value, dtype=np.float64)
    if array.size and (array.ndim != 2 or array.shape[1] != width):
        raise ValueError(f"expected numbers of shape (n, {width}), got shape {array.shape}")
    if not array.size:
        return b""
    parts = numbers.text_from_floats(array.ravel()).split(b",")
    return b";".join(b",".join(parts[start : start + width]) for start in range(0, len(parts), width))


def _write_pairs(_: Field, value: Any) -> bytes:
    def half(text: str) -> bytes:
        # What stands between the two must not be found inside them.
        return tokens.word_from_text(text).replace(b":", b"%3A").replace(b"->", b"-%3E")

    return b";".join(half(source) + b":" + half(target) for source, target in value)


_NOTHING: Mapping[str, Callable[[], Any]] = {
    "f64": float,
    "bool": bool,
    "str": str,
    "path": str,
    "enum": str,
    "strlist": list,
    "remaplist": list,
    "f64list": lambda: np.zeros(0),
    "i32list": lambda: np.zeros(0, dtype=np.int64),
    "u8list": lambda: np.zeros(0, dtype=np.int64),
}
_INT_KINDS: Sequence[str] = ("i32", "u32", "i64", "u64")
_DECODERS: Mapping[str, Callable[[Field, bytes], Any]] = {
    "f64": lambda _, word: numbers.float_from_text(word),
    "bool": _flag,
    "str": lambda _, word: tokens.text_from_word(word),
    "path": lambda _, word: tokens.text_from_word(word),
    "enum": _name,
    "strlist": lambda _, word: tokens.texts_from_word(word),
    "remaplist": _pairs,
    "f64list": _floats,
    **dict.fromkeys(_INT_KINDS, lambda field, word: numbers.int_from_text(word, field.type)),
    **dict.fromkeys(INT_LISTS, _ints),
    **dict.fromkeys(VECTORS, _vector),
    **dict.fromkeys(STRUCTS, _structs),
}
_ENCODERS: Mapping[str, Callable[[Field, Any], bytes]] = {
    "f64": lambda _, value: numbers.text_from_float(float(value)).encode(),
    "bool": _write_flag,
    "str": _write_text,
    "path": _write_text,
    "enum": _write_text,
    "strlist": lambda _, value: tokens.word_from_texts(list(value)),
    "remaplist": _write_pairs,
    "f64list": _write_floats,
    **dict.fromkeys(_INT_KINDS, _write_int),
    **dict.fromkeys(INT_LISTS, _write_ints),
    **dict.fromkeys(VECTORS, _write_vector),
    **dict.fromkeys(STRUCTS, _write_structs),
}
