"""The panels: what they tell, and that no name can break out of its place."""

import re

from diorama.ecs import Bounds, Effector, Sensor, Velocity, World, propagate
from diorama.geo import Origin
from diorama.viewer.panels import MOST_CHILDREN, Status, inspector_html, status_html, tree_html

EVIL = "<img src=x onerror=alert(1)>'\""


def rows(html: str) -> list[str]:
    return re.findall(r"data-do='select (\d+)'", html)


def small_world() -> World:
    world = World(Origin(29.594656, -95.16384722, -28.3))
    ship = world.spawn(
        "ship",
        Velocity((30.0, 40.0, 0.0)),
        Bounds((9.0, 10.0, 2.6)),
        asset="demo/evtol",
        position=(100, 0, -50),
    )
    world.spawn("ship/rotor_1", Effector("rotor_1", "evtol/rotor"), parent=ship)
    world.spawn(
        "ship/eye",
        Sensor("eye", "rgb_camera", {"fov": 90, "resolution": {"x": 1920, "y": 1080}}),
        parent=ship,
    )
    propagate(world)
    return world


def test_the_tree_is_folded_until_opened() -> None:
    world = small_world()
    ship = world.find("ship")
    assert rows(tree_html(world)) == [str(ship)]
    assert len(rows(tree_html(world, opened={ship}))) == 3


def test_the_search_finds_by_parts_of_names() -> None:
    world = small_world()
    assert rows(tree_html(world, search="ROTOR ship")) == [str(world.find("ship/rotor_1"))]
    assert "nothing has that" in tree_html(world, search="zeppelin")


def test_thousands_of_siblings_are_cut_short_and_the_selected_one_stays() -> None:
    world = World()
    entities = world.insert(5000)
    html = tree_html(world, selected=int(entities[4000]))
    assert len(rows(html)) == MOST_CHILDREN + 1
    assert f"{5000 - MOST_CHILDREN} more" in html


def test_the_inspector_tells_everything_about_an_entity() -> None:
    world = small_world()
    told = inspector_html(world, world.find("ship"))
    for part in (
        "demo/evtol",
        "100.00, 0.00, -50.00",
        "50.00 m/s (180 km/h)",
        "° N",
        "° W",
        "ECEF",
        "ship/rotor_1",
        "9 × 10 × 2.6",
    ):
        assert part in told
    eye = inspector_html(world, world.find("ship/eye"))
    for part in ("rgb_camera", "x 1920 y 1080", "In the world", "data-do='select"):
        assert part in eye
    assert "Click something" in inspector_html(world, None)


def test_a_pose_says_in_whose_axes_it_is() -> None:
    world = small_world()
    assert world.find("ship") == 0  # a handle like any other, though it is false to Python
    assert "<h3>In its parent</h3>" in inspector_html(world, world.find("ship/eye"))
    assert "<h3>Pose</h3>" in inspector_html(world, world.find("ship"))


def test_names_cannot_break_out() -> None:
    world = World()
    entity = world.spawn(EVIL, Sensor(EVIL, EVIL, {EVIL: EVIL}), asset=EVIL)
    propagate(world)
    for html in (
        tree_html(world),
        tree_html(world, search="img"),
        inspector_html(world, entity),
        status_html(Status(endpoint=EVIL, state=EVIL)),
    ):
        assert "<img" not in html


def test_the_status_line_counts() -> None:
    told = status_html(
        Status(
            endpoint="tcp://127.0.0.1:5555",
            state="live",
            time_s=83.5,
            tick=4175,
            rate=50.0,
            factor=1.0,
            dropped=2,
            entities=463,
        )
    )
    assert "title='tcp://127.0.0.1:5555'" in told
    plain = re.sub(r"<style>.*?</style>|<[^>]*>", "", told, flags=re.S)
    for part in ("live", "01:23.50", "tick 4175", "50 Hz", "1.00 × real time", "2 dropped", "463 entities"):
        assert part in plain
