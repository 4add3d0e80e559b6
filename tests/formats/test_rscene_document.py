"""The `.rscene` document: the same bytes back, typed values, edits that touch only their words."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diorama.formats.rscene import Record, canonical, parse
from diorama.formats.rscene.table import Field, Kind, kinds
from diorama.formats.rscene.tokens import (
    split_words,
    text_from_word,
    texts_from_word,
    word_from_text,
    word_from_texts,
)
from diorama.formats.rscene.values import STRUCTS, VECTORS, same

WORKSHOP = (Path(__file__).parent.parent / "scenes" / "workshop.rscene").read_bytes()
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
# Every character, lone surrogates excluded but for those that stand for bytes.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
CRATE = (
    b"object /World/A box 1.0 2 3 1 0 0 0 1 1 1 0.5 1 2.50 default m false true false - dynamic true 1 7 id=a"
)


def test_the_table_is_whole() -> None:
    assert len(kinds()) == 39
    assert sum(len(kind.keys) for kind in kinds().values()) == 864
    # One name, one field: the only clash of the format has a name of its own.
    assert kinds()["deformable"].fields["uniformScale"].key == b"scale"


def test_every_kind_of_record_comes_back() -> None:
    document = parse(WORKSHOP)
    assert {record.tag for record in document.records} == set(kinds())
    assert document.to_bytes() is WORKSHOP
    for record in document.records:
        for name in record.written():
            record[name] = record[name]
    assert document.to_bytes() == WORKSHOP


@given(st.binary(max_size=400))
def test_any_bytes_come_back(data: bytes) -> None:
    document = parse(data)
    assert document.to_bytes() == data
    for record in document.records:
        assert b"".join(record.words) == bytes(byte for byte in record.raw if byte not in b" \t\r")


def test_words_are_cut_at_blanks_tabs_and_returns_only() -> None:
    odd = "a\u00a0b\u3000c\u2028d\x0be\x0cf\x1cg".encode()
    assert split_words(b" \t" + odd + b"\t\r x \r") == [odd, b"x"]


@given(TEXTS)
def test_any_text_is_one_word(text: str) -> None:
    word = word_from_text(text)
    assert text_from_word(word) == text
    assert split_words(b"x " + word) == [b"x", word]


@given(st.lists(TEXTS.filter(bool), max_size=5))
def test_any_texts_are_one_word(texts: list[str]) -> None:
    assert texts_from_word(word_from_texts(texts)) == texts


def test_the_dash_is_empty_and_a_dash_is_escaped() -> None:
    assert text_from_word(b"-") == text_from_word(b"") == ""
    assert word_from_text("") == b"-"
    assert word_from_text("-") == b"%2D"
    assert word_from_text("--") == b"--"
    assert text_from_word(b"%2d") == "-"
    assert word_from_text("a b%c=d;e\n") == b"a%20b%25c%3Dd%3Be%0A"
    assert texts_from_word(b"-") == texts_from_word(b"") == []
    assert word_from_text(text_from_word(b"\xff%20")) == b"\xff%20"
    for bad in (b"%", b"%G1", b"a%2"):
        with pytest.raises(ValueError, match="bad percent escape"):
            text_from_word(bad)


def test_fields_are_typed() -> None:
    by_id = {record.extra(b"id"): record for record in parse(WORKSHOP).records}
    crate = by_id[b"object_crate"]
    assert crate["path"] == "/World/Workshop/Crate"
    assert crate["position"].tolist() == [-0.6, 0.2, 0.6]
    assert crate["rotation"].tolist() == [0.8, 0, 0, 0.6]
    assert crate["collisionMask"] == 2**64 - 1
    assert crate["raisimCollisionMask"] == 2**64 - 2
    assert crate["visible"] is True
    assert crate["castShadow"] is True  # not written: the default
    assert crate["materialRemaps"] == []
    assert by_id[b"asset_crane"]["materialRemaps"] == [("body", "paint"), ("hook", "worn steel")]
    assert by_id[b"articulated_walker"]["jointOrder"] == ["hip", "knee", "ankle"]
    assert by_id[b"terrain_yard"]["heights"].shape == (6,)
    assert by_id[b"instanced_pebbles"]["instances"].shape == (3, 10)
    assert by_id[b"pointcloud_map"]["colors"][1].tolist() == [1, 0.5, 0, 1]
    assert by_id[b"deformable_banner"]["scale"].tolist() == [1, 1, 1]
    assert by_id[b"deformable_banner"]["uniformScale"] == 1.5
    with pytest.raises(KeyError, match="no field 'weight'"):
        crate["weight"]


def test_edits_touch_only_their_words() -> None:
    record = Record(CRATE)
    record["position"] = (1, 2.5, 3)
    assert record.raw == CRATE.replace(b" 1.0 2 3 ", b" 1.0 2.5 3 ")
    record = Record(CRATE.replace(b" ", b"\t ") + b"\r")
    record["mass"] = 0.0001
    assert record.raw == CRATE.replace(b" ", b"\t ").replace(b"2.50", b"1e-04") + b"\r"
    record = Record(CRATE + b" segmentationColor=1.0,0.50,0 custom=1")
    record["segmentationColor"] = (1, 0.5, 1)
    assert record.raw == CRATE + b" segmentationColor=1.0,0.50,1 custom=1"
    record["parentGroupId"] = "p q"
    assert record.raw == CRATE + b" parentGroupId=p%20q segmentationColor=1.0,0.50,1 custom=1"
    del record["parentGroupId"], record["segmentationColor"]
    assert record.raw == CRATE + b" custom=1"
    with pytest.raises(ValueError, match="positional"):
        del record["mass"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("position", (1, 2)),
        ("position", (1, 2, np.nan)),
        ("mass", np.inf),
        ("collisionMask", -1),
        ("visible", 1),
    ],
)
def test_a_refused_value_changes_nothing(name: str, value: object) -> None:
    record = Record(CRATE)
    with pytest.raises(ValueError, match=r"expected"):
        record[name] = value
    assert record.raw == CRATE


def test_older_layouts_are_read() -> None:
    words = CRATE.split()
    short = Record(b" ".join(words[:18]))
    assert short["material"] == "m"
    assert short["bodyMode"] == "dynamic"
    assert "bodyMode" not in short
    older = Record(b" ".join([*words[:18], b"false", b"true"]))
    assert older["visible"] is False
    assert older["locked"] is True


def test_lists_take_both_signs_and_a_dash() -> None:
    record = Record(b"point_cloud /World/P points=1,2,3,4;5;6 colors=1,0,0;0,1,0")
    assert record["points"].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert record["colors"].tolist() == [[1, 0, 0, 1], [0, 1, 0, 1]]
    assert Record(b"point_cloud /World/P points=-")["points"].shape == (0, 3)
    with pytest.raises(ValueError, match="entries of 3 numbers, got 4"):
        Record(b"point_cloud /World/P points=1,2,3,4")["points"]


def value_for(field: Field) -> st.SearchStrategy[Any]:
    if field.count > 1:
        return st.lists(
            FLOATS if field.type == "f64" else st.booleans(), min_size=field.count, max_size=field.count
        )
    if field.type in VECTORS:
        return st.lists(FLOATS, min_size=VECTORS[field.type], max_size=VECTORS[field.type]).map(np.array)
    if field.type in STRUCTS:
        width = STRUCTS[field.type]
        return st.lists(st.lists(FLOATS, min_size=width, max_size=width), min_size=1, max_size=3).map(
            np.array
        )
    pairs = st.lists(st.tuples(TEXTS, TEXTS), max_size=3)
    return {
        "f64": FLOATS,
        "i32": st.integers(-(2**31), 2**31 - 1),
        "u32": st.integers(0, 2**32 - 1),
        "i64": st.integers(-(2**63), 2**63 - 1),
        "u64": st.integers(0, 2**64 - 1),
        "bool": st.booleans(),
        "str": TEXTS,
        "path": TEXTS,
        "enum": st.sampled_from(sorted(set((field.names or {"a": "any"}).values()))),
        "f64list": st.lists(FLOATS, max_size=5).map(np.array),
        "i32list": st.lists(st.integers(-(2**31), 2**31 - 1), max_size=5).map(
            lambda x: np.array(x, dtype=np.int64)
        ),
        "u8list": st.lists(st.integers(0, 255), max_size=5).map(lambda x: np.array(x, dtype=np.int64)),
        "strlist": st.lists(TEXTS.filter(bool), max_size=4),
        "remaplist": pairs,
    }[field.type]


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_random_records_keep_what_is_set(data: st.DataObject) -> None:
    kind: Kind = data.draw(st.sampled_from(list(kinds().values())))
    record = Record(b" ".join([kind.tag.encode(), *[b"0"] * kind.longest]))
    fields = data.draw(
        st.lists(st.sampled_from(list(kind.fields.values())), max_size=6, unique_by=lambda f: f.name)
    )
    chosen = {field.name: data.draw(value_for(field)) for field in fields} if kind.fields else {}
    for name, value in chosen.items():
        record[name] = value
    again = Record(record.raw)
    for name, value in chosen.items():
        expected = np.asarray(value) if isinstance(value, list) and kind.fields[name].count > 1 else value
        assert same(again[name], expected), (name, record.raw)
    # The saver's order of keys, whatever the order of setting them.
    orders = [kind.keys[key].order for key in again.keys]
    assert orders == sorted(orders)


def test_canonical_saving_is_stable_and_in_order() -> None:
    assert canonical(parse(WORKSHOP)).to_bytes() == WORKSHOP
    lines = WORKSHOP.splitlines()
    mixed = [
        b"# first",
        lines[0],
        *reversed([line for line in lines[1:] if b"compound_child" not in line]),
        b"",
    ]
    mixed += [
        b"# wheels",
        *[line for line in lines if b"compound_child" in line],
        b"from_the_future 1 a=2",
        b"# end",
    ]
    messy = b"\r\n".join(mixed).replace(b" 0.5 ", b"\t0.50 ").replace(b"=true", b"=yes")
    once = canonical(parse(messy)).to_bytes()
    assert canonical(parse(once)).to_bytes() == once
    assert once.startswith(b"# first\nraisim_engine_scene 2\ntime_step")
    assert once.endswith(b"from_the_future 1 a=2\n# end\n")
    kept = [line for line in once.splitlines() if line and line[:1] != b"#" and b"future" not in line]
    assert sorted(kept) == sorted(lines)
    tags = [line.split()[0] for line in kept]
    assert tags[tags.index(b"compound") + 1 :][:2] == [b"compound_child"] * 2


def test_canonical_spelling() -> None:
    line = (
        b"object /World/A cube 0.0005 0.10 -0.0 1 0 0 0 1 1 1 .5 1 100000 d m off ON no - fixed 1 007 8"
        b" zz=1 castShadow=0 id=a"
    )
    assert canonical(parse(line)).to_bytes() == (
        b"object /World/A box 5e-04 0.1 -0 1 0 0 0 1 1 1 0.5 1 1e+05 d m false true false - static true 7 8"
        b" id=a castShadow=false zz=1\n"
    )
