"""The JSONC reader against json for plain texts, and its positions against a scan of its own."""

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diorama.formats.jsonc import blank_comments, parse, path_text
from diorama.schemas.errors import SceneError

KEYS = st.text(max_size=6) | st.sampled_from(["a//b", "/* c */", 'quo"te', "back\\", "a.b", "é", "🚁", ",]"])
NUMBERS = (
    st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.none()
)
VALUES = st.recursive(
    NUMBERS | KEYS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)
GAPS = st.sampled_from(
    [
        "",
        " ",
        "\n",
        "\r\n",
        "\t",
        '// it\'s "a" comment, {[\n',
        "/* two\nlines */",
        "/**/",
        "// é🚁 ]}\r\n",
        "/* // */",
    ]
)


def write(
    value: Any, draw: Any, out: list[str], where: dict[tuple[str | int, ...], int], path: Any = ()
) -> None:
    """Write JSONC with gaps drawn between all tokens, noting at which character each value begins."""

    def gap() -> None:
        out.append(draw(GAPS))

    def begin() -> int:
        return sum(map(len, out))

    where[path] = begin()
    if isinstance(value, dict | list):
        items = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
        out.append("{" if isinstance(value, dict) else "[")
        gap()
        for place, (key, inner) in enumerate(items):
            if isinstance(value, dict):
                out.append(json.dumps(key, ensure_ascii=draw(st.booleans())))
                gap()
                out.append(":")
                gap()
            write(inner, draw, out, where, (*path, key))
            gap()
            if place + 1 < len(items) or draw(st.booleans()):
                out.append(",")
                gap()
        out.append("}" if isinstance(value, dict) else "]")
    else:
        out.append(json.dumps(value, ensure_ascii=draw(st.booleans())))


def has_lone_surrogate(value: Any) -> bool:
    text = json.dumps(value, ensure_ascii=False)
    return any("\ud800" <= character <= "\udfff" for character in text)


@given(VALUES, st.sampled_from([None, 2]), st.booleans())
def test_plain_json_reads_as_json_reads_it(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    if not has_lone_surrogate(value):
        assert parse(text).value == json.loads(text)
        assert parse(text.encode(), comments=False).value == json.loads(text)
        assert parse(b"\xef\xbb\xbf" + text.encode()).value == json.loads(text)


@settings(deadline=None)
@given(VALUES, st.data())
def test_comments_and_trailing_commas_change_nothing_and_positions_are_where_it_was_written(
    value: Any, data: st.DataObject
) -> None:
    out = [data.draw(GAPS)]
    where: dict[tuple[str | int, ...], int] = {}
    write(value, data.draw, out, where)
    out.append(data.draw(GAPS))
    text = "".join(out)
    document = parse(text.encode())
    assert document.value == value
    for path, at in where.items():
        before = text[:at]
        assert document.position(path) == (before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1)


@given(st.text(alphabet='{}[]",:/*\\ \n1a#-é', max_size=40))
def test_any_text_is_read_or_refused_with_a_position(text: str) -> None:
    blanked = text.encode()
    try:
        blanked = blank_comments(text.encode())
        document = parse(text, "any.jsonc")
    except SceneError as error:
        (problem,) = error.problems
        assert problem.file == "any.jsonc" or not problem.file
        assert problem.line is not None
        assert problem.column is not None
        assert 1 <= problem.line <= text.count("\n") + 1
        assert 1 <= problem.column <= len(text) + 1
    else:
        assert document.value == json.loads(blanked)
    assert len(blanked) == len(text.encode())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"url": "https://x/*y*/"} // end', {"url": "https://x/*y*/"}),
        ('["\\"// not a comment", 1]', ['"// not a comment', 1]),
        ('["ends with backslash\\\\", /* c */ 2,]', ["ends with backslash\\", 2]),
        ('{"a": [1, 2, ], }', {"a": [1, 2]}),
        ('{"a": 1 /* , } */ , // ]\n }', {"a": 1}),
        ("/* a */ /* b */ 1 /* c */", 1),
        ("1 // no newline at the end", 1),
        ('{\r\n  "a": 1, // x\r\n}\r\n', {"a": 1}),
        ('"\\u00e9\\ud83d\\ude81"', "é🚁"),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ('["a,]", ",}"]', ["a,]", ",}"]),
        ("[/**/]", []),
        ("[/*/ still a comment */]", []),
        ("[1, /***/ 2]", [1, 2]),
    ],
)
def test_hard_texts(text: str, value: Any) -> None:
    assert parse(text).value == value


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "f:1:1: the file is empty; expected a JSON document"),
        (b"// only this\n", "f:1:1: the file is empty; expected a JSON document"),
        (b'{"a": NaN}', "f:1:7: expected a finite number, got NaN; JSON has no such number"),
        (b"[1,\n -Infinity]", "f:2:2: expected a finite number, got -Infinity; JSON has no such number"),
        (b"[1e400]", "f:1:2: a number too large for a double"),
        (b"[1\n 2]", "f:2:2: expected ',' or ']', got '2'"),
        (b"{a: 1}", "f:1:2: expected a key in double quotes, got 'a'"),
        (b'{"a" 1}', "f:1:6: expected ':' after key, got '1'"),
        (b"[,]", "f:1:2: expected a value, got ','"),
        (b"[1,,]", "f:1:4: expected a value, got ','"),
        (b"[1] 2", "f:1:5: expected the end of the file, got '2'"),
        ('/* é */ ["é", é]'.encode(), "f:1:15: expected a value, got 'é'"),
        (b'["a\nb"]', "f:1:4: a string is not closed on its line; write a line break as \\n"),
        (b"[1, /* 2]", "f:1:5: this comment is not closed; expected */"),
        (b'{\n  "a": [1,\n', "f:3:1: the text ends too early; the '[' of line 2, column 8 is not closed"),
        (b'{"a": "b', "f:1:9: the text ends too early; the '{' of line 1, column 1 is not closed"),
        (b"\xff\xfe1\x00", "f:1:1: expected UTF-8, got UTF-16; save the file as UTF-8"),
        (b'{"a":\n "\xe9"}', "f:2:3: expected UTF-8, got the byte 0xe9; save the file as UTF-8"),
        ("\ud800", "f:1:1: expected UTF-8, got the byte 0xed; save the file as UTF-8"),
    ],
)
def test_what_is_refused_and_where(data: bytes | str, message: str) -> None:
    with pytest.raises(SceneError) as caught:
        parse(data, "f")
    assert str(caught.value) == message


def test_comments_are_refused_in_plain_json() -> None:
    with pytest.raises(SceneError, match="f:1:4: expected a value, got '/'"):
        parse("[1,// x\n2]", "f", comments=False)


@pytest.mark.parametrize(
    ("opening", "size"),
    [(b"[", 50_000_000), (b'{"a":[', 50_000_000), (b"// c\n[", 5_000_000), (b'{"a":"\\"', 50_000_000)],
)
def test_megabytes_of_nesting_are_an_error_and_no_crash(opening: bytes, size: int) -> None:
    with pytest.raises(SceneError, match=r"nested too deeply; 1024 levels are read|expected"):
        parse(opening * (size // len(opening)))


def test_megabytes_of_comment_take_no_more_than_some_copies() -> None:
    text = b"[1] //" + b"x" * 1_000_000
    tracemalloc.start()
    try:
        blanked = blank_comments(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert blanked == b"[1]" + b" " * (len(text) - 3)
    assert peak < 6 * len(text)


def test_problem_names_file_position_and_path_and_falls_back_to_the_parent() -> None:
    document = parse('{\n  "actors": [{"x": 1}, // one\n             {"the key": "2"}]}', "s.jsonc")
    assert str(document.problem(("actors", 1, "the key"), "no")) == 's.jsonc:3:26: actors[1]["the key"]: no'
    assert document.problem(("actors", 1, "the key"), "no", key=True).column == 15
    assert str(document.problem(("actors", 1, "absent", 3), "no")) == "s.jsonc:3:14: actors[1].absent[3]: no"
    assert document.position(()) == (1, 1)
    assert document.position(("actors", 7)) == document.position(("actors",)) == (2, 13)


def test_duplicate_keys_are_reported_on_request() -> None:
    document = parse(
        '{"a": {"b": 1,\n "b": 2}, "c": [{"a": ["b", "b"]}, {"x": 1, "y": {"x": 1}, "\\u0078": 3}]}', "f"
    )
    assert [str(problem) for problem in document.duplicates()] == [
        "f:2:2: a.b: this key is written twice in one object; the last one counts",
        "f:2:60: c[1].x: this key is written twice in one object; the last one counts",
    ]
    assert document.position(("a", "b")) == (2, 7)


def test_path_text() -> None:
    assert path_text(("a", "b", 2, "c-d", "e.f", "", 0)) == 'a.b[2].c-d["e.f"][""][0]'
