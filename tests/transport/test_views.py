"""Views: parts of a scene, entering and leaving, at rates of their own."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from diorama.ecs import Bounds, Classification, Transform, World, propagate
from diorama.geo import Origin
from diorama.runtime.clock import Tick
from diorama.schemas.errors import MessageError
from diorama.schemas.view import View, view_from_text
from diorama.tests.patience import PATIENCE_S, patiently
from diorama.tests.transport.engines import FREE_PORT
from diorama.tests.transport.history import play
from diorama.transport import codec
from diorama.transport.publisher import Publisher
from diorama.transport.replica import Replica
from diorama.transport.subscriber import Message, Subscriber
from diorama.transport.views import Views

# Positions up to 1e4 m about a centre nearby, as float32: half a unit in the last place of 2e4.
FLOAT32_METRES = 2e-3


def catch_up(publisher: Publisher, world: World, view: View, replica: Replica) -> None:
    """Until the replica holds exactly the view; bounded."""
    expected = names_in(world, view)
    for _ in patiently():
        publisher.poll()
        replica.poll(0.005)
        if replica.whole and set(replica.world.names) == expected and poses_agree(world, view, replica):
            return
    raise AssertionError(f"{set(replica.world.names)} is not {expected}")


def poses_agree(world: World, view: View, replica: Replica) -> bool:
    tolerance = FLOAT32_METRES if view.float32 else 0.0
    for name, entity in replica.world.names.items():
        ours = world.get(world.find(name), Transform).world_position
        theirs = replica.world.get(entity, Transform).world_position
        if not np.allclose(ours, theirs, rtol=0, atol=tolerance):
            return False
    return True


def names_in(world: World, view: View) -> set[str]:
    """Who should be in a view, found by looking at everybody."""
    found = set()
    for name, entity in world.names.items():
        groups = world.groups(entity)
        if any(group not in groups for group in view.components):
            continue
        if view.classes and groups.get("classification", {}).get("label") not in view.classes:
            continue
        above: int | None = entity
        while view.under and above is not None and world.name(above) != view.under:
            above = world.parent(above)
        if above is None:
            continue
        if view.radius is not None:
            if isinstance(view.near, str):
                if view.near not in world.names:
                    continue
                center = world.get(world.find(view.near), Transform).world_position
            else:
                center = np.array(view.near)
            offset = world.get(entity, Transform).world_position - center
            if float(np.linalg.norm(offset)) > view.radius:
                continue
        found.add(name)
    return found


VIEWS = {
    "everything": View(),
    "near a point": View(near=(0.0, 0.0, 0.0), radius=3000.0),
    "near an entity": View(near="anchor", radius=5000.0),
    "near an entity that is not there": View(near="nobody", radius=5000.0),
    "under": View(under="anchor"),
    "with components": View(components=("bounds",)),
    "with somebody else's component": View(components=("somebody_elses",)),
    "of a class, near": View(classes=("car", "bus"), near=(0.0, 0.0, 0.0), radius=8000.0),
    "float32": View(near="anchor", radius=20000.0, float32=True),
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("seed", range(3))
def test_after_any_history_a_view_holds_what_belongs_in_it(name: str, seed: int) -> None:
    view = VIEWS[name]
    world = World(Origin(10.0, 20.0, 0.0))
    anchor = world.spawn("anchor", position=(100, 200, -300))
    world.spawn("child", Classification("car"), Bounds((1, 1, 1)), parent=anchor)
    world.spawn("bus", Classification("bus"), position=(9000, 0, 0))
    with Publisher(FREE_PORT) as publisher:
        replica = Replica(publisher.endpoint, view=view)
        for step in range(6):
            play(world, seed * 10 + step)
            publisher.publish(world)
            catch_up(publisher, world, view, replica)
        late = Replica(publisher.endpoint, view=view)
        catch_up(publisher, world, view, late)
        replica.close()
        late.close()


def test_equal_views_share_one_topic_and_are_forgotten_when_nobody_listens() -> None:
    world = World()
    one = View(components=("bounds", "sensor"), near=(1.0, 2.0, 3.0), radius=5.0)
    same = View(radius=5, near=(1, 2, 3), components=("bounds", "sensor"))
    assert one == same
    assert one.topic == same.topic
    with Publisher(FREE_PORT) as publisher:
        first, second = Replica(publisher.endpoint, view=one), Replica(publisher.endpoint, view=same)
        publisher.publish(world)
        for replica in (first, second):
            catch_up(publisher, world, one, replica)
        assert len(publisher._views) == 1
        first.close()
        second.close()
        for _ in patiently():
            publisher.poll(0.005)
            if len(publisher._views) == 0:
                break
        assert len(publisher._views) == 0


def test_a_listener_whose_connection_broke_comes_back_to_the_whole_view() -> None:
    """The publisher has forgotten the view; what it tells then must not pass for old news, nor for the next update."""
    world = World()
    mover = world.spawn("mover")
    view = View(near=(0.0, 0.0, 0.0), radius=1e6)
    with Publisher(FREE_PORT) as publisher, Replica(publisher.endpoint, view=view) as replica:
        for north in range(1, 20):
            world.get(mover, Transform).position[0] = north
            propagate(world)
            publisher.publish(world)
            catch_up(publisher, world, view, replica)
        replica._link.unsubscribe(view.topic)  # as the end of a connection does
        while len(publisher._views):
            publisher.poll(0.01)
        world.spawn("newcomer")
        propagate(world)
        replica._link.subscribe(view.topic)
        while not len(publisher._views):
            publisher.poll(0.01)
        publisher.publish(world)
        catch_up(publisher, world, view, replica)


def test_an_update_of_a_view_holds_only_what_changed_and_a_heartbeat_shows_that_it_was_lost() -> None:
    world = World()
    mover, _ = world.spawn("mover"), world.spawn("rock")
    view = View(near=(0.0, 0.0, 0.0), radius=1e6)
    events: list[str] = []
    with Publisher(FREE_PORT) as publisher:
        replica = Replica(publisher.endpoint, view=view, on_event=lambda event, _: events.append(event))
        publisher.publish(world)
        catch_up(publisher, world, view, replica)
        world.get(mover, Transform).position[0] = 5.0
        propagate(world)
        publisher.publish(world)
        header = None
        while header is None or header.kind != codec.UPDATE:  # it is lost: read here, where nobody applies it
            topic, frames = replica._link.receive(5.0) or ("", [])
            header = codec.unpack_header(frames[0])
        assert topic == view.topic
        assert codec.decode_columns(frames[1:]).rows.tolist() == [world.row(mover)]
        catch_up(publisher, world, view, replica)
        assert events == ["joined", "gap", "joined"]
        replica.close()


def test_a_view_keeps_its_own_rate() -> None:
    """100 ticks of 10 ms at 30 Hz: 30 updates and the complete one, not 25 or 33."""
    world = World()
    entity = world.spawn("a")
    view = View(rate_hz=30.0)
    with (
        Publisher(FREE_PORT, queue=1000) as publisher,
        Subscriber(publisher.endpoint, "end", view.topic) as subscriber,
    ):
        publisher.publish(world, Tick(0, 0, 0))
        while len(publisher._views) == 0:
            publisher.poll(0.01)
        for index in range(1, 101):
            world.get(entity, Transform).position[0] = index
            propagate(world)
            publisher.publish(world, Tick(index, index * 10_000_000, 10_000_000))
        publisher.send_json("end", {})
        kinds = []
        while (message := subscriber.receive(PATIENCE_S)) is not None and message.topic != "end":
            kinds.append(message.header.kind)
    assert kinds.count(codec.COMPLETE) == 1
    assert kinds.count(codec.UPDATE) in (29, 30)


def test_neither_order_nor_repetition_makes_another_wish() -> None:
    first = View(classes=("car", "bus", "car"), components=("bounds", "classification"))
    assert first.topic == View(classes=("bus", "car"), components=("classification", "bounds")).topic
    world = World()
    for name in ("a", "b"):
        world.set(world.spawn(name), Classification("car"), Bounds((1.0, 1.0, 1.0)))
    written_elsewhere = "eyJjbGFzc2VzIjpbImNhciIsImNhciJdfQ"  # {"classes":["car","car"]}
    views = Views()
    for view in (first, view_from_text(written_elsewhere)):
        propagate(world)
        assert views.members_of(world, view_from_text(view.text)).tolist() == world.entities.tolist()


def test_a_rate_holds_nothing_back_when_time_begins_anew_or_stands_still() -> None:
    first, second = World(), World()
    first.spawn("old")
    second.spawn("new")
    with (
        Publisher(FREE_PORT) as publisher,
        Replica(publisher.endpoint, view=View(rate_hz=1.0)) as replica,
    ):

        def seen_after(world: World, *ticks: Tick) -> set[str]:
            for tick in ticks:
                publisher.publish(world, tick)
            while not replica.whole:
                publisher.poll(0.01)
                replica.poll(0.01)
            replica.poll(0.2)
            return set(replica.world.names)

        assert seen_after(first, Tick(500, 500_000_000_000, 0)) == {"old"}
        # Another scene is loaded, and its clock begins at zero: nobody waits until it shows 501 s.
        assert seen_after(second, Tick(0, 0, 0)) == {"new"}
        second.spawn("soon")
        assert seen_after(second, Tick(1, 20_000_000, 0)) == {"new"}
        # Paused: the same tick once more, with what was commanded.
        assert seen_after(second, Tick(1, 20_000_000, 0)) == {"new", "soon"}


def test_a_view_with_geo_brings_ecef_and_lla() -> None:
    world = World(Origin(29.594656, -95.16384722, -28.3))
    world.spawn("a")
    view = View(geo=True)
    with Publisher(FREE_PORT) as publisher, Subscriber(publisher.endpoint, view.topic) as subscriber:
        publisher.publish(world)
        message: Message | None = None
        while message is None or message.header.kind != codec.COMPLETE:
            publisher.poll()
            publisher.publish(world)
            message = subscriber.receive(0.01)
        numbers = np.frombuffer(message.frames[5], "<f8")
    expected = [-499573.586028, -5528032.628386, 3131368.369713, 29.594656, -95.16384722, -28.3]
    np.testing.assert_allclose(numbers, expected, rtol=0, atol=1e-6)


def test_a_view_with_geo_is_told_again_when_the_origin_moves() -> None:
    world = World(Origin(10.0, 20.0, 0.0))
    world.spawn("a")
    view = View(geo=True)
    with Publisher(FREE_PORT) as publisher, Subscriber(publisher.endpoint, view.topic) as subscriber:
        message: Message | None = None
        while message is None or message.header.kind != codec.COMPLETE:
            publisher.publish(world)
            message = subscriber.receive(0.01)
        world.origin = Origin(30.0, 40.0, 50.0)
        last = publisher.sequence + 1
        publisher.publish(world, Tick(last, last, 1))
        while message is None or message.header.tick != last:
            message = subscriber.receive(PATIENCE_S)
        found = np.frombuffer(message.frames[5], "<f8")
    np.testing.assert_allclose(found[3:], [30.0, 40.0, 50.0], rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"radius": 5.0}, "needs both near and radius"),
        ({"near": (0.0, 0.0, 0.0), "radius": -1.0}, "radius: expected metres above 0"),
        ({"rate_hz": 0.0}, "rate_hz: expected a number above 0"),
        ({"near": (float("inf"), 0.0, 0.0), "radius": 1.0}, "near: expected three finite numbers"),
    ],
)
def test_impossible_views_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        View(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"classes": "car"}, r"Expected `array`, got `str` - at `\$.classes`"),
        ({"near": (0.0, 0.0), "radius": 1.0}, r"Expected `array` of length 3.* - at `\$.near`"),
        ({"under": "x" * 2000}, "view: expected at most 2048 characters"),
    ],
)
def test_what_a_publisher_would_drop_is_refused_where_it_is_wished(
    wrong: dict[str, object], message: str
) -> None:
    view = View(**wrong)  # type: ignore[arg-type]
    with pytest.raises(MessageError, match=message):
        _ = view.topic


@pytest.mark.parametrize("text", ["", "%%%", "e30x", "AAAA", "x" * 5000])
def test_wild_topics_are_no_views_and_stop_nothing(text: str) -> None:
    with pytest.raises(MessageError, match="view: "):
        view_from_text(text)
    views = Views()
    views.want(f"view/{text}/", True)
    assert len(views) == 0


def test_the_examples_of_views_in_the_documentation_are_right() -> None:
    page = (Path(__file__).parents[2] / "docs" / "wire.md").read_text()
    for view in (View(near=(0.0, 0.0, 0.0), radius=100.0), View(near="evtol_0", radius=500.0)):
        wish = msgspec.json.encode(view, order="sorted").decode()
        assert f"`{wish}` is `{view.topic}`" in page
