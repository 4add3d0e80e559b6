"""Scene documents written and read again, by the fast and by the careful reader."""

from collections.abc import Callable
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from diorama.ecs import World, difference
from diorama.formats.aerosim import document, parse, world_from_document
from diorama.formats.aerosim_typed import batch_from_bytes
from diorama.schemas.errors import Problem, SceneError
from diorama.tests.formats.scene_documents import example
from diorama.tests.formats.scene_worlds import json_values, worlds


@given(worlds())
def test_what_is_written_is_read_back(world: World) -> None:
    data = orjson.dumps(document(world))
    warnings: list[Problem] = []
    assert difference(world, parse(data, warnings=warnings)) == ""
    assert [warning.message for warning in warnings] == []


@given(worlds())
def test_the_fast_and_the_careful_reader_agree(world: World) -> None:
    value = document(world)
    assert difference(parse(orjson.dumps(value)), world_from_document(value)) == ""


@given(st.data())
def test_whatever_stands_in_a_document_is_read_or_refused_and_both_readers_say_the_same(
    data: st.DataObject,
) -> None:
    value = example()
    for _ in range(data.draw(st.integers(1, 3))):
        holder: Any = value
        if not holder:
            break
        step: Any = data.draw(st.sampled_from(list(holder)))
        while isinstance(holder[step], dict | list) and holder[step] and data.draw(st.integers(0, 5)):
            holder = holder[step]
            step = data.draw(
                st.sampled_from(list(holder) if isinstance(holder, dict) else range(len(holder)))
            )
        if data.draw(st.booleans()):
            del holder[step]
        else:
            holder[step] = data.draw(json_values | st.sampled_from(["entity_0", "entity_2", "sensor", 1e308]))
    readers: tuple[Callable[[], World], ...] = (
        lambda: parse(orjson.dumps(value)),
        lambda: world_from_document(value),
    )
    outcomes: list[Any] = []
    for read in readers:
        try:
            outcomes.append(document(read()))
        except SceneError as error:
            outcomes.append({problem.message for problem in error.problems})
    assert outcomes[0] == outcomes[1]


def test_the_fast_reader_reads_what_is_usual() -> None:
    world = parse(orjson.dumps(example()))
    for value in (example(), document(world)):
        assert batch_from_bytes(orjson.dumps(value)) is not None
