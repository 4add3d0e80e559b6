"""`.rscene` to the world and back, and any world to `.rscene` and back."""

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diorama.ecs import (
    Bounds,
    Classification,
    Effector,
    Entity,
    Sensor,
    Transform,
    Velocity,
    World,
    difference,
)
from diorama.formats import rscene
from diorama.formats.rscene import Appearance
from diorama.geo import Ellipsoid, Origin
from diorama.runtime.load import load
from diorama.schemas.errors import SceneError
from diorama.tests.ecs.strategies import forests
from diorama.tests.formats.rscene_round_trips import (
    SCENES,
    WORKSHOP,
    again,
    changed_words,
    forget,
    same_scene,
)

ANGLE = np.pi / 3


def test_untouched_the_bytes_come_back(workshop: World) -> None:
    assert rscene.write(workshop) == WORKSHOP
    assert rscene.write(forget(workshop)) == WORKSHOP
    messy = (
        WORKSHOP.replace(b"\n", b"\r\n").replace(b" 0 0 ", b"\t0.0  00 ").replace(b"=true", b"=ON")
        + b"# \xff end"
    )
    assert rscene.write(forget(rscene.read(messy))) == messy
    assert difference(rscene.read(WORKSHOP), again(forget(workshop))) == ""


@st.composite
def foreign_worlds(draw: st.DrawFn) -> World:
    """Worlds that never saw the format: any names, parents, poses and components."""
    parents, poses = draw(forests(uniform_scale=False, max_size=8))
    world = World(draw(st.sampled_from([None, Origin(47.4, 8.5, 400.0)])))
    names = draw(
        st.lists(st.text(min_size=1, max_size=8), min_size=len(parents), max_size=len(parents), unique=True)
    )
    entities = world.insert(
        names,
        parents=np.array(parents, dtype=np.int64),
        position=poses[:, :3],
        orientation=poses[:, 3:7],
        scale=poses[:, 7:],
    )
    for entity in entities.tolist():
        decorate(draw, world, entity)
    if draw(st.booleans()):
        world.set_resource(
            "weather", draw(st.sampled_from(["sunny", {"preset": "clear"}, {"odd": [1, None]}]))
        )
    return world


def decorate(draw: st.DrawFn, world: World, entity: Entity) -> None:
    choices: list[Any] = [
        Sensor("s", "camera", {"width": 640, "unknown": {"a": 1}}),
        Sensor("s", "imu", {}),
        Bounds((1.0, 2.0, 3.0)),
        Classification("car", 3),
        Velocity((1.0, -0.0, 2.5), (0.0, 0.0, 1.0)),
        Effector("rotor", "x"),
    ]
    for value in draw(st.lists(st.sampled_from(choices), max_size=2, unique_by=type)):
        world.set(entity, value)
    if draw(st.booleans()):
        world.set_asset(entity, draw(st.sampled_from(["a.glb", "assets/b c.obj", "%"])))
    if draw(st.booleans()):
        world.set_group(entity, "not_ours", {"x": [1, "two", None]})


@settings(max_examples=60)
@given(foreign_worlds())
def test_any_world_comes_back_from_the_format(world: World) -> None:
    saved = rscene.write(world)
    reread = rscene.read(saved)
    assert rscene.write(forget(reread)) == saved
    assert same_scene(world, reread) == ""


@settings(max_examples=40)
@given(st.data())
def test_any_history_of_edits_comes_back(data: st.DataObject) -> None:
    world = rscene.read(WORKSHOP)
    for _ in range(data.draw(st.integers(1, 5))):
        if len(world):
            edit(data, world)
        if data.draw(st.booleans()):
            world = again(world)
    saved = rscene.write(world)
    reread = rscene.read(saved)
    assert rscene.write(forget(reread)) == saved
    assert same_scene(world, reread) == ""


def edit(data: st.DataObject, world: World) -> None:
    entity = data.draw(st.sampled_from(world.entities.tolist()))
    poses, tree = ["move", "turn", "size", "drive", "stop"], ["name", "parent", "spawn", "despawn"]
    action = data.draw(st.sampled_from([*poses, *tree, "asset", "hide", "bare", "place", "weather"]))
    transform = world.get(entity, Transform)
    if action == "move":
        transform.position[:] = data.draw(st.tuples(*[st.floats(-1e6, 1e6)] * 3))
    elif action == "turn":
        transform.orientation[:] = (0.0, np.sin(ANGLE / 2), 0.0, np.cos(ANGLE / 2))
    elif action == "size":
        transform.scale[:] = data.draw(st.tuples(*[st.floats(0.5, 2)] * 3))
    elif action == "name":
        name = data.draw(st.sampled_from(["new", "/World/Renamed", "/World/Workshop/Renamed", "a b", "/odd"]))
        if name not in world.names:
            world.rename(entity, name)
    elif action == "parent":
        parent = data.draw(st.sampled_from([None, *world.entities.tolist()]))
        above = parent
        while above is not None and above != entity:
            above = world.parent(above)
        if above is None:
            world.reparent(entity, parent)
    elif action == "spawn":
        world.spawn(parent=entity, asset=data.draw(st.sampled_from(["", "x.glb"])), position=(1, 2, 3))
    elif action == "despawn" and len(world) > 10:
        world.despawn(entity, children=data.draw(st.sampled_from(["despawn", "grandparent"])))
    elif action == "asset":
        world.set_asset(entity, "meshes/other.glb")
    elif action == "hide":
        world.set(entity, Appearance("paint", "rubber", False))
    elif action == "bare":
        for cls in (Appearance, Bounds, Classification, Sensor):
            if world.has(entity, cls):
                world.remove(entity, cls)
    elif action == "drive":
        world.set(entity, Velocity((1.0, 0.0, 0.0), (0.0, 0.0, 0.5)))
    elif action == "stop" and world.has(entity, Velocity):
        world.remove(entity, Velocity)
    elif action == "place":
        world.origin = data.draw(
            st.sampled_from([None, Origin(47.4, 8.5, 400.0), Origin(0.0, 0.0, 0.0, Ellipsoid(6e6, 0.0))])
        )
    elif action == "weather":
        world.set_resource("weather", data.draw(st.sampled_from([None, "sunny", {"preset": "clear"}])))


MINIMAL = b"""raisim_engine_scene 1
time_step 0.0025
gravity 0 0 -9.81
solver 80 1e-07 0.2 accurate defaultFriction=0.8 defaultRestitution=0
snapping true true false false false false false false 0.1 15 0.1 0 surfaceNormal=0,0,1
asset_root .
scene_graph inheritedTransforms=true keepWorldTransformOnReparent=true dragReparenting=true transformSpace=global
editor_ux multiSelect=true copyPaste=true duplicate=true selectionFilterKinds=
render_bake probeCaptureOnSave=false lightmapResolution=1024 probeCubemapSize=256 outputDirectory=bakes
environment 0.08 0.10 0.13 0.24 0.25 0.29 0 true true 10 - backgroundMode=rayrai_sky pbrEnvironmentIntensity=1
weather true preset=clear quality=balanced timeOfDay=12
rayrai_render preset=balanced custom=false colorMode=unreal_preview
material mat_box 0.7 0.3 0.2 1 0 0.6 0 0 0 0 false - - - - - - id=mat_box
group /World id=folder_world parentId=- visible=true locked=false expanded=true
group /World/Props id=folder_props parentId=folder_world visible=true locked=false expanded=true
light /World/MainLight -0.3 0.4 -1.0 3.5 id=light_main type=directional position=0,0,5 shadows=true
camera /World/Cam 3 -5 2 0.92 0 0 0.39 52 0.05 100 1280 720 rgb true id=camera_main
object /World/Ground ground 0 0 0 1 0 0 0 20 20 1 1 0 0 default mat_box false true true - static true 1 \
18446744073709551615 id=object_ground parentGroupId=folder_world
object /World/Props/CrateA box 0 0 0.5 1 0 0 0 1 1 1 0.5 1 1.0 default mat_box false true false - dynamic true 1 \
18446744073709551615 id=object_cratea parentGroupId=folder_props
""".replace(b"\\\n", b"")


def test_the_smallest_whole_scene() -> None:
    world = rscene.read(MINIMAL)
    assert len(world) == 6
    assert rscene.write(forget(world)) == MINIMAL
    world.get(world.find("/World/Props/CrateA"), Transform).position[2] -= 1
    assert changed_words(MINIMAL, rscene.write(world)) == [(b"0.5", b"1.5")]


@pytest.mark.parametrize("name", ["houston.scene.json", "houston.sim_config.json"])
def test_scenes_of_other_formats_come_back(name: str) -> None:
    world = load(SCENES / name)
    saved = rscene.write(world)
    assert same_scene(world, rscene.read(saved)) == ""


def test_a_scene_document_carries_the_records_along(tmp_path: Path) -> None:
    # In processes of their own: the second never reads `.rscene`, it only finds its records in the document.
    for source, target in (
        (SCENES / "workshop.rscene", "w.scene.json"),
        (tmp_path / "w.scene.json", "w.rscene"),
    ):
        call = [sys.executable, "-m", "diorama.cli", "convert", str(source), str(tmp_path / target)]
        subprocess.run(call, check=True, capture_output=True)
    assert (tmp_path / "w.rscene").read_bytes() == WORKSHOP


def test_streams_strings_and_files(tmp_path: Path) -> None:
    world = rscene.read(io.BytesIO(WORKSHOP))
    stream = io.BytesIO()
    rscene.write(world, stream)
    assert stream.getvalue() == WORKSHOP
    assert difference(rscene.read(WORKSHOP.decode()), world) == ""
    assert difference(rscene.read(io.StringIO(WORKSHOP.decode())), world) == ""
    path = tmp_path / "w.rscene"
    rscene.write(world, path)
    assert path.read_bytes() == WORKSHOP
    assert difference(rscene.read(str(path)), world) == ""
    with pytest.raises(SceneError, match="no such file"):
        rscene.read(tmp_path / "none.rscene")
