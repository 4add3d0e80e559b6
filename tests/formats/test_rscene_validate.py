"""Errors and warnings of `.rscene`: all of a file at once, each with its line."""

from pathlib import Path

import pytest

from diorama.formats.rscene import lint, parse, validate

WORKSHOP = (Path(__file__).parent.parent / "scenes" / "workshop.rscene").read_bytes()
HEAD = b"raisim_engine_scene 1\n"
BOX = b"object /World/%b box 0 0 0 1 0 0 0 1 1 1 0.5 1 1 default engine_default false true false - dynamic true 1 1"


def errors(data: bytes) -> list[str]:
    found = validate(parse(data))
    return [str(problem) for problem in found.fatal + found.errors]


def warnings(data: bytes) -> list[str]:
    return [str(problem) for problem in lint(parse(data))]


def test_the_workshop_has_neither() -> None:
    assert errors(WORKSHOP) == []
    assert warnings(WORKSHOP) == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "line 1: missing raisim_engine_scene header"),
        (b"# only words\n\n", "line 1: missing raisim_engine_scene header"),
        (b"# x\ngravity 0 0 -9\n", "line 2: missing raisim_engine_scene header"),
        (b"raisim_engine_scene 3\n", "line 1: unsupported rscene version: expected 1 or 2, got '3'"),
        (b"raisim_engine_scene\n", "line 1: unsupported rscene version: expected 1 or 2, got nothing"),
        (b"raisim_engine_scene 1 2\n", "line 1: unsupported rscene version: expected 1 or 2, got '1' '2'"),
        (HEAD + HEAD, "line 2: raisim_engine_scene: a second header; the one on line 1 counts"),
        (HEAD + b"gravity 0 0", "line 2: gravity: expected 3 positional fields, got 2"),
        (HEAD + b"gravity 0 0 -9,81", "line 2: gravity: gravity: expected a number, got '-9,81'"),
        (HEAD + b"time_step 1e400", "time_step: dt: number out of the range"),
        (HEAD + b"gravty 0 0 1", "line 2: gravty: unknown tag 'gravty'; did you mean 'gravity'?"),
        (
            HEAD + b"scene_graph inheritedTransforms=maybe",
            "inheritedTransforms: expected true or false, got 'maybe'",
        ),
        (HEAD + b"solver 80.5 0 0 fast", "iterations: expected a whole number, got '80.5'"),
        (HEAD + b"solver 80 0 0 fast erp2=1 more", "positional field 'more' after a key"),
        (HEAD + b"solver 80 0 0 fast erp2=1 erp2=2", "key erp2 is written twice"),
        (HEAD + b"solver 80 0 0 fast =2", "a value without a key"),
        (HEAD + BOX % b"A%2", "path: bad percent escape"),
        (HEAD + BOX % b"A" + b" segmentationColor=1,2", "segmentationColor: expected 3 numbers"),
        (HEAD + BOX.rsplit(b" ", 1)[0] % b"A", "expected 25 or 19 or 17 positional fields, got 24"),
        (HEAD + b"compound_child /World/C box 0 0 0 1 0 0 0 1 1 1", "no compound has this path"),
        (HEAD + b"wire /World/W stiff a b 1", "bodyA: nothing has the id or path 'a'"),
        (
            HEAD + b"terrain_region /World/T 2 2 1 1 0 0 0 heights=1,2,3",
            "heights: expected 2 x 2 numbers, got 3",
        ),
        (
            HEAD + b"terrain_region /World/T 1 2 1 1 0 0 0 heights=1,2",
            "xSamples: expected 2 to 16384 samples, got 1",
        ),
        (
            HEAD + b"terrain_region /World/T 16384 16384 1 1 0 0 0 sourceKind=procedural",
            "expected at most 67108864 samples, got 16384 x 16384",
        ),
        (HEAD + b"point_cloud /World/P points=1,2,x", "points: expected a number, got 'x'"),
        (b"\xef\xbb\xbf" + HEAD, "line 1: byte order mark"),
    ],
)
def test_errors_say_what_and_where(data: bytes, message: str) -> None:
    found = errors(data)
    assert any(message in line for line in found), found


def test_every_error_is_found_at_once_in_the_order_of_the_file() -> None:
    data = HEAD + b"gravity 0 0\ntime_step x\n\nwhat\nsolver 80 0 0 fast erp2=a sleepingEnabled=b"
    assert [line.split(":")[0] for line in errors(data)] == ["line 2", "line 3", "line 5", "line 6", "line 6"]


def test_parts_follow_their_owner() -> None:
    part = b"terrain_splat_layer /World/T weights=1\n"
    region = b"terrain_region /World/T 2 2 1 1 0 0 0 heights=1,2,3,4\n"
    assert errors(HEAD + region + part) == []
    assert "comes before its terrain_region" in errors(HEAD + part + region)[0]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([BOX % b"A", BOX % b"A"], "path /World/A is already on line 2"),
        ([BOX % b"A" + b" id=x", BOX % b"B" + b" id=x"], "id x is already on line 2"),
        ([b"time_step 1", b"time_step 2"], "record time_step is already on line 2; the last counts"),
        ([BOX.replace(b"engine_default", b"gold") % b"A"], "material: no material is named 'gold'"),
        ([BOX % b"A" + b" assetId=gold"], "assetId: no asset is named 'gold'"),
        ([BOX % b"A" + b" parentGroupId=gold"], "parentGroupId: no node has the id 'gold'"),
        (
            [BOX % b"A" + b" id=x", BOX % b"B" + b" parentGroupId=x"],
            "path and parent disagree: 'x' is /World/A",
        ),
        (
            [BOX.replace(b" 1 0 0 0 ", b" 1 1 0 0 ") % b"A"],
            "the quaternion is not of unit length (got 1.41421356)",
        ),
        (
            [b"instanced_visual /World/I box instances=0,0,0,2,0,0,0,1,1,1;0,0,0,1,0,0,0,1,1,1"],
            "1 of 2 quaternions",
        ),
        (
            [BOX % b"A" + b" castShadows=true"],
            "unknown key 'castShadows' is not looked at; did you mean 'castShadow'?",
        ),
        ([BOX % b"A" + b" extra"], "'extra' is not looked at: object has 25 positional fields"),
        ([b"gravity 0 0 -9.81 \\"], "there is no line continuation"),
        ([BOX.replace(b"dynamic", b"dynamik") % b"A"], "bodyMode: 'dynamik' is not one of static, kinematic"),
        ([BOX.replace(b"/World", b"/Home") % b"A"], "does not begin with /World"),
        ([b"prefab_override /World/X property=a value=b"], "nodePath: no node is named '/World/X'"),
        (
            [BOX % b"A", b"prefab_override /World/A property=visble value=false"],
            "property: object has no field 'visble'; the override changes nothing; did you mean 'visible'?",
        ),
        (
            [BOX % b"A", b"prefab_override /World/A property=visible value=maybe"],
            "value: visible: expected true or false, got 'maybe'; the override changes nothing",
        ),
        (
            [BOX % b"A", b"prefab_override /World/A property=rotation value=1,0,0"],
            "value: rotation: expected 4 values, got [1.0, 0.0, 0.0]; the override changes nothing",
        ),
        (
            [BOX % b"A", b"prefab_override /World/A property=path value=/World/B"],
            "property: path says which node this is and where it hangs; the override changes nothing",
        ),
        ([b"  # note"], "indented comment"),
    ],
)
def test_the_linter_names_what_is_odd(lines: list[bytes], message: str) -> None:
    data = HEAD + b"\n".join(lines)
    assert errors(data) == []
    found = warnings(data)
    assert any(message in line for line in found), found


def test_only_the_first_of_many_wrong_names_are_searched_for() -> None:
    lines = [BOX % b"A%d" % number + b" assetId=/World/A%d_" % number for number in range(50)]
    hinted = ["did you mean" in line for line in warnings(HEAD + b"\n".join(lines))]
    assert hinted == [True] * 20 + [False] * 30
