"""One world from several: names with prefixes, places on Earth, sources that die and come back."""

from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diorama.ecs import Transform, Velocity, World, difference, locate, propagate
from diorama.geo import Origin, ned_from_lla
from diorama.runtime.clock import Tick
from diorama.runtime.composite import Composite, Stale
from diorama.runtime.graft import Graft
from diorama.runtime.step import step
from diorama.schemas.errors import DioramaError
from diorama.tests.patience import patiently
from diorama.tests.transport.engines import FREE_PORT, on_every_engine
from diorama.tests.transport.history import play
from diorama.transport.publisher import Publisher
from diorama.transport.replica import Replica

HOUSTON = Origin(29.594656, -95.163847, -28.3)
DALLAS = Origin(32.7767, -96.7970, 130.0)
TICK = Tick(0, 1_000_000, 1_000_000)
# A tangent plane 350 km away: the places agree to rounding of ECEF, 1e-9 m of 6e6 m, times a few operations.
METRES = 1e-7


def part_of(whole: World, name: str, like: World) -> str:
    """The difference between a part, with its prefix taken away, and the world it comes from."""
    bare = World(like.origin)
    for resource, value in like.resources.items():
        bare.set_resource(resource, value)
    inside = {e: whole.name(e) for e in whole.entities.tolist() if whole.name(e).startswith(f"{name}/")}
    made: dict[int, int] = {}
    for entity, called in inside.items():
        parent = whole.parent(entity)
        made[entity] = bare.spawn(
            called.removeprefix(f"{name}/"),
            key=whole.key(entity).removeprefix(f"{name}/"),
            asset=whole.asset(entity),
            parent=made.get(-1 if parent is None else parent),
        )
        bare.table.local[bare.row(made[entity])] = whole.table.local[whole.row(entity)]
        for group, value in whole.groups(entity).items():
            bare.set_group(made[entity], group, value)
        if whole.has(entity, Velocity):
            bare.set(made[entity], Velocity())
            bare.velocities.block[bare.row(made[entity])] = whole.velocities.block[whole.row(entity)]
    return difference(like, bare)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2**32)), min_size=1, max_size=10))
def test_grafts_are_their_worlds_after_any_history(history: list[tuple[str, int]]) -> None:
    whole = World()
    sources = {"a": World(), "b": World()}
    grafts = {name: Graft(whole, name) for name in sources}
    for name, seed in history:
        if seed % 7 == 0:  # another world under the same name
            sources[name] = World()
        play(sources[name], seed)
        grafts[name].take(sources[name])
        propagate(whole)
        for known, graft in grafts.items():
            if graft.root is not None:
                assert part_of(whole, known, sources[known]) == ""
    whole_entities = sum(len(graft.entities) + (graft.root is not None) for graft in grafts.values())
    assert len(whole) == whole_entities


def test_a_source_with_another_origin_is_where_it_is_on_earth() -> None:
    whole, far = World(HOUSTON), World(DALLAS)
    drone = far.spawn("drone", Velocity((10.0, 0.0, 0.0)), position=(100.0, 200.0, -300.0))
    far.spawn("camera", parent=drone, position=(1.0, 0.0, 0.0))
    propagate(far)
    graft = Graft(whole, "far")
    graft.take(far)
    propagate(whole)
    for name in ("drone", "camera"):
        there = locate(far, [far.row(far.find(name))]).lla
        here = whole.get(whole.find(f"far/{name}"), Transform).world_position
        np.testing.assert_allclose(here, ned_from_lla(there, HOUSTON)[0], atol=METRES)
    # North there is not quite north here, but as fast.
    speed = whole.get(whole.find("far/drone"), Velocity).linear
    assert np.linalg.norm(speed) == pytest.approx(10.0, abs=1e-12)
    assert speed[1] != 0.0
    far.origin = HOUSTON
    propagate(far)
    graft.take(far)
    propagate(whole)
    here = whole.get(whole.find("far/drone"), Transform).world_position
    np.testing.assert_allclose(here, [100.0, 200.0, -300.0], atol=METRES)
    assert whole.get(whole.find("far/drone"), Velocity).linear.tolist() == [10.0, 0.0, 0.0]


def until(condition: Callable[[], object], composite: Composite, *publishers: Publisher) -> None:
    for _ in patiently():
        for publisher in publishers:
            publisher.poll(0.001)
        step(composite.world, TICK, [composite])
        if condition():
            return
    raise AssertionError(f"it did not become so: {composite.states}")


@on_every_engine
def test_two_sources_joined_and_published_again(free_port: str) -> None:
    north, south = World(HOUSTON), World(HOUSTON)
    play(north, 1)
    play(south, 2)
    north.origin = south.origin = HOUSTON
    propagate(north)
    propagate(south)
    with (
        Publisher(free_port) as one,
        Publisher(free_port) as two,
        Publisher(free_port) as out,
        Composite({"north": one.endpoint, "south": two.endpoint}) as composite,
        Replica(out.endpoint) as replica,
    ):
        for seed in range(3, 6):
            one.publish(north)
            two.publish(south)
            until(
                lambda: (
                    all(state == "live" for state in composite.states.values())
                    and part_of(composite.world, "north", north) == ""
                    and part_of(composite.world, "south", south) == ""
                ),
                composite,
                one,
                two,
            )
            out.publish(composite.world)
            for _ in patiently():
                out.poll()
                replica.poll(0.005)
                if replica.whole and replica.sequence == out.sequence:
                    break
            assert difference(composite.world, replica.world) == ""
            play(north, seed)
            play(south, seed)
            north.origin = south.origin = HOUSTON
            propagate(north)
            propagate(south)


def test_a_dead_source_is_stale_then_gone_and_comes_back() -> None:
    events: list[tuple[str, str]] = []
    world = World()
    drone = world.spawn("drone", position=(1, 2, 3))
    world.spawn("camera", parent=drone)
    other = World()
    other.spawn("tower")
    publisher, steady = Publisher(FREE_PORT), Publisher(FREE_PORT)
    composite = Composite(
        {"a": publisher.endpoint, "b": steady.endpoint},
        stale_after_s=3.0,  # longer than the heartbeat
        remove_after_s=3600.0,
        on_event=lambda source, state: events.append((source, state)),
    )
    publisher.publish(world)
    steady.publish(other)
    until(lambda: set(composite.states.values()) == {"live"}, composite, publisher, steady)
    joined = composite.world
    handle = joined.find("a/drone")

    publisher.close()
    until(lambda: composite.states["a"] == "stale", composite, steady)
    assert all(joined.has(joined.find(name), Stale) for name in ("a/drone", "a/camera"))
    assert not joined.has(joined.find("b/tower"), Stale)
    assert joined.resource("sources")["a"]["state"] == "stale"

    again = Publisher(publisher.endpoint)
    again.publish(world)
    until(lambda: composite.states["a"] == "live", composite, again, steady)
    assert joined.find("a/drone") == handle
    assert not joined.has(handle, Stale)

    again.close()
    composite._remove_after_s = 0.2  # before, it was to come back while stale, however long that takes
    until(lambda: composite.states["a"] == "gone", composite, steady)
    assert set(joined.names) == {"b", "b/tower"}
    world.spawn("late")
    last = Publisher(publisher.endpoint)
    last.publish(world)
    until(lambda: composite.states["a"] == "live", composite, last, steady)
    assert {"a/drone", "a/camera", "a/late"} <= set(joined.names)
    assert [state for source, state in events if source == "a"] == [
        "live",
        "stale",
        "live",
        "stale",
        "gone",
        "live",
    ]
    last.close()
    steady.close()
    composite.close()


def test_what_a_composite_refuses() -> None:
    with pytest.raises(DioramaError, match="expected a name without slashes"):
        Composite({"a/b": FREE_PORT})
    with pytest.raises(DioramaError, match="at least one"):
        Composite({})
    with Composite({"a": "tcp://127.0.0.1:1"}) as composite, pytest.raises(ValueError, match="its own world"):
        step(World(), TICK, [composite])


@pytest.mark.parametrize(
    ("lost", "children"),
    [("part/a", "despawn"), ("part/a", "grandparent"), ("part", "despawn"), ("part", "grandparent")],
)
def test_what_a_client_despawned_comes_back_and_nobody_elses_row_is_written(
    lost: str, children: Literal["despawn", "grandparent"]
) -> None:
    whole, source = World(HOUSTON), World(DALLAS)
    a = source.spawn("a", position=(1, 0, 0))
    source.spawn("below", parent=a, position=(2, 0, 0))
    propagate(source)
    graft = Graft(whole, "part")
    graft.take(source)
    whole.despawn(whole.find(lost), children)
    whole.insert([f"mine {index}" for index in range(4)], position=(50.0, 0.0, 0.0))
    source.transforms.position[source.row(a), 0] = 7.0
    propagate(source)
    assert graft.take(source)
    propagate(whole)
    assert part_of(whole, "part", source) == ""
    assert whole.parent(whole.find("part/a")) == whole.find("part")
    here = whole.get(whole.find("part/a"), Transform).world_position
    there = locate(source, [source.row(a)]).lla
    np.testing.assert_allclose(here, ned_from_lla(there, HOUSTON)[0], atol=METRES)
    for index in range(4):
        assert whole.get(whole.find(f"mine {index}"), Transform).position.tolist() == [50, 0, 0]
    assert not graft.take(source)
    whole.despawn(whole.find(lost), children)
    graft.clear()
    assert [name for name in whole.names if name.startswith("part")] == []


def test_a_source_that_dies_after_a_client_despawned_some_of_it() -> None:
    world = World()
    for name in ("kept", "lost"):
        world.spawn(name)
    publisher = Publisher(FREE_PORT)
    with (
        Publisher(FREE_PORT) as steady,
        Composite({"a": publisher.endpoint, "b": steady.endpoint}, stale_after_s=1.5) as composite,
    ):
        publisher.publish(world)
        until(lambda: composite.states["a"] == "live", composite, publisher)
        publisher.close()
        composite.world.despawn(composite.world.find("a/lost"))
        until(lambda: composite.states["a"] == "stale", composite, steady)
        composite.world.remove(composite.world.find("a/kept"), Stale)
        with Publisher(publisher.endpoint) as again:
            again.publish(world)
            until(lambda: composite.states["a"] == "live", composite, again)
            assert {"a/kept", "a/lost"} <= set(composite.world.names)


def test_a_group_that_is_null_is_taken_along() -> None:
    whole, source = World(), World()
    source.set_group(source.spawn("a"), "nothing", None)
    propagate(source)
    Graft(whole, "part").take(source)
    assert whole.groups(whole.find("part/a")) == {"nothing": None}
