"""Mutated `.rscene` files: a clean error or a faithful document, never a crash, a hang or a silent change."""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from diorama.ecs import difference
from diorama.formats import rscene
from diorama.formats.rscene import canonical, lint, parse, validate
from diorama.schemas.errors import DioramaError

WORKSHOP = (Path(__file__).parent.parent / "scenes" / "workshop.rscene").read_bytes()
LINES = WORKSHOP.split(b"\n")
WORDS = [
    b"-", b"=", b"%", b"%2D", b"%G1", b"nan", b"inf", b"1e400", b"-1e-400", b"+1", b"1_0", b"\\", b"#", b";", b",",
    b"9" * 400, b"-0", b"18446744073709551616", b"id=", b"id=object_crate", b"parentGroupId=object_lid", b"\xff\xfe",
    b"parentId=folder_workshop", b"diorama=%7B%7D", b'diorama={"name":1}', b'diorama={"position":[1,2,3]}', b"\x00",
    b'diorama={"components":{"bounds":1}}', b'diorama={"parent":"object_lid"}', b"/World/Workshop", b"\x0b", b"true",
    b'diorama={"orientation":[0,0,0,0]}', "\u2028".encode(), b"inheritedTransforms=false", b"sourceKind=clone",
]  # fmt: skip
EXAMPLES = 10_000


def a_few_lines(rng: random.Random) -> list[bytes]:
    """The header and some records: small files make more of them per second, and more references to nothing."""
    return [LINES[0], *rng.sample(LINES[1:], rng.randint(0, 6))]


def mutate(rng: random.Random) -> bytes:
    lines = a_few_lines(rng)
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(lines))
        rng.choice(MUTATIONS)(rng, lines, place)
    data = rng.choice((b"\n", b"\n", b"\r\n")).join(lines)
    if rng.random() < 0.2 and data:
        cut = rng.randrange(len(data))
        data = data[:cut] + bytes([rng.randrange(256)]) * rng.randint(0, 3) + data[cut + rng.randint(0, 3) :]
    return data


def replace_word(rng: random.Random, lines: list[bytes], place: int) -> None:
    words = lines[place].split(b" ")
    words[rng.randrange(len(words))] = rng.choice(WORDS)
    lines[place] = b" ".join(words)


def replace_value(rng: random.Random, lines: list[bytes], place: int) -> None:
    words = lines[place].split(b" ")
    index = rng.randrange(len(words))
    key, sign, _ = words[index].partition(b"=")
    words[index] = key + sign + rng.choice(WORDS)
    lines[place] = b" ".join(words)


def drop_word(rng: random.Random, lines: list[bytes], place: int) -> None:
    words = lines[place].split(b" ")
    del words[rng.randrange(len(words))]
    lines[place] = b" ".join(words)


def add_word(rng: random.Random, lines: list[bytes], place: int) -> None:
    words = lines[place].split(b" ")
    words.insert(rng.randint(0, len(words)), rng.choice(WORDS))
    lines[place] = rng.choice((b" ", b"\t", b"  ")).join(words)


def flip_byte(rng: random.Random, lines: list[bytes], place: int) -> None:
    line = bytearray(lines[place])
    if line:
        line[rng.randrange(len(line))] = rng.randrange(256)
    lines[place] = bytes(line)


def repeat_line(rng: random.Random, lines: list[bytes], place: int) -> None:
    lines.insert(rng.randint(0, len(lines)), lines[place])


def note_the_scene(rng: random.Random, lines: list[bytes], place: int) -> None:
    notes = (
        b'# diorama {"origin":[47,8,400]}', b'# diorama {"origin":[147,8,400]}', b'# diorama {"resources":{"a":null}}',
        b"# diorama {", b'# diorama {"implied":{"folder_/World/Lights":{"name":"x","scale":[2,2,2]}}}',
    )  # fmt: skip
    lines.insert(place, rng.choice(notes))


MUTATIONS: list[Callable[[random.Random, list[bytes], int], None]] = [
    replace_word,
    replace_value,
    drop_word,
    add_word,
    flip_byte,
    repeat_line,
    note_the_scene,
]


def survive(data: bytes) -> str:
    """What became of a file; anything but a clean error or the same bytes fails."""
    document = parse(data)
    assert document.to_bytes() == data
    found = validate(document)
    assert parse(data).to_bytes() == data
    if found.fatal:
        with pytest.raises(DioramaError):
            rscene.read(data, strict=False)
        return "refused"
    once = canonical(document).to_bytes()
    assert canonical(parse(once)).to_bytes() == once
    lint(document)
    try:
        world = rscene.read(data, strict=not found.errors)
    except DioramaError:
        return "refused"
    world.set_resource("touched", 1)
    world.set_resource("touched", None)
    saved = rscene.write(world)
    assert saved == data
    assert difference(world, rscene.read(saved, strict=not found.errors)) == ""
    return "forgiven" if found.errors else "read"


@pytest.mark.parametrize("seed", range(10))
def test_mutated_files_give_a_clean_error_or_a_faithful_document(seed: int) -> None:
    rng = random.Random(seed)
    outcomes: Counter[str] = Counter()
    for _ in range(EXAMPLES // 10):
        data = mutate(rng)
        try:
            outcomes[survive(data)] += 1
        except Exception:
            print(data)
            raise
    # Every outcome is met often, or the fuzz would show nothing.
    assert min(outcomes[name] for name in ("refused", "forgiven", "read")) > EXAMPLES // 10 // 20, outcomes
