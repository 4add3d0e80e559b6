"""Shapes, appearances and batches: what is drawn, where, how large, in which colour."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diorama.ecs import Bounds, Classification, Sensor, World, propagate
from diorama.geo.rotation import rotate
from diorama.viewer.appearance import Appearance, appearance, segmentation_color
from diorama.viewer.batches import batches, scene_center
from diorama.viewer.cameras import frustum_of, lens
from diorama.viewer.meshes import find_mesh, mesh_shape
from diorama.viewer.overlays import Trails, boxes
from diorama.viewer.shapes import SHAPES, shape
from diorama.viewer.solids import ball, box, cylinder, tube

SINGLE = 1e-3  # m; what single precision leaves within 20 km


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_fill_the_unit_box_with_sound_triangles(name: str) -> None:
    made = shape(name)
    everything = np.concatenate([part.mesh.vertices for part in made.parts])
    assert everything.min(axis=0) == pytest.approx(-0.5, abs=1e-12)
    assert everything.max(axis=0) == pytest.approx(0.5, abs=1e-12)
    assert sum(len(part.mesh.faces) for part in made.parts) < 1500
    for part in made.parts:
        assert part.mesh.faces.max() < len(part.mesh.vertices)


@pytest.mark.parametrize(
    "solid", [box((1, 2, 3)), cylinder(1.0, 2.0), ball((1, 2, 3)), tube([(0, 1, 1, 0), (-2, 2, 1, 0)])]
)
def test_solids_are_closed_and_face_outward(solid: object) -> None:
    vertices, faces = solid.vertices, solid.faces  # type: ignore[attr-defined]
    corners = vertices[faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    # Closed: the areas of all sides add up to nothing. Outward: the volume is positive.
    assert normal.sum(axis=0) == pytest.approx(0.0, abs=1e-9)
    assert np.einsum("ij,ij->", corners[:, 0], normal) / 6 > 0.1


def test_the_asset_says_what_is_drawn_then_sensor_label_and_name() -> None:
    world = World()
    told = {
        "evtol": world.spawn("a", asset="generic-aircrafts/GenericEVtol/GenericEVTOL"),
        "camera": world.spawn("b", Sensor("b", "sensors/cameras/rgb_camera")),
        "car": world.spawn("c", Bounds((4.0, 2.0, 1.5)), Classification("car", 3)),
        "box": world.spawn("d", Bounds((1.0, 1.0, 1.0))),
        "marker": world.spawn("e", asset="what/ever"),
        "tree": world.spawn("f", asset="Props/PineTree_03"),
    }
    found = {kind: appearance(world, entity) for kind, entity in told.items()}
    assert {kind: look.shape.name for kind, look in found.items() if look} == {kind: kind for kind in told}
    assert appearance(world, world.spawn("group")) is None


def test_segmentation_ids_get_colours_far_apart() -> None:
    colors = np.array([segmentation_color(Classification("x", number), "") for number in range(12)], float)
    apart = np.linalg.norm(colors[:, None] - colors[None], axis=2)[~np.eye(12, dtype=bool)]
    assert apart.min() > 20.0
    assert segmentation_color(Classification("x", 5), "a") == segmentation_color(Classification("y", 5), "b")


def test_instances_stand_where_the_boxes_of_their_entities_are() -> None:
    world = World()
    random = np.random.default_rng(2)
    for number in range(40):
        turn = random.normal(size=4)
        parent = None if number % 3 else world.spawn(f"base_{number}", position=random.normal(size=3) * 100)
        size = tuple(random.uniform(0.5, 9.0, 3))
        world.spawn(
            f"box_{number}",
            Bounds(size, tuple(random.normal(size=3))),
            parent=parent,
            position=random.normal(size=3) * 1000,
            orientation=turn / np.linalg.norm(turn),
            scale=random.uniform(0.5, 2.0, 3),
        )
    propagate(world)
    (batch,) = batches(world, lambda entity: appearance(world, entity))
    place, w_first, size_drawn = batch.instances(world, np.zeros(3))
    for index, entity in enumerate(batch.entities.tolist()):
        bounds, pose = world.get(entity, Bounds), world.table.pose[world.row(entity)]
        corner = 0.5 * np.ones(3)
        expected = pose[0:3] + rotate(
            pose[3:7], pose[7:10] * (np.array(bounds.center) + corner * np.array(bounds.size))
        )
        drawn = place[index] + rotate(w_first[index, [1, 2, 3, 0]].astype(float), corner * size_drawn[index])
        assert drawn == pytest.approx(expected, abs=SINGLE)


def test_hidden_ones_have_no_size_and_far_scenes_no_jitter() -> None:
    world = World()
    entities = world.insert(
        5, Bounds((1.0, 1.0, 1.0)), position=np.full((5, 3), 3e6) + np.arange(15.0).reshape(5, 3)
    )
    propagate(world)
    center = scene_center(world)
    assert np.linalg.norm(center) > 1e6
    (batch,) = batches(world, lambda entity: appearance(world, entity), hidden=[int(entities[2])])
    place, _, size = batch.instances(world, center)
    assert size[2].tolist() == [0.0, 0.0, 0.0]
    assert np.diff(place, axis=0) == pytest.approx(3.0, abs=1e-4)


def test_fields_of_view_in_all_dialects() -> None:
    flat = {"resolution": {"x": 1920, "y": 1080}, "fov": 90}
    assert lens(flat) == pytest.approx((2 * np.arctan(9 / 16), 16 / 9))
    assert lens({"RGBCamera": {"resolution": [1920, 1080], "fov": 90}}) == pytest.approx(lens(flat))
    assert lens({"capture-settings": [{"width": 400, "height": 225, "fov-degrees": 90}]}) == pytest.approx(
        lens(flat)
    )
    assert lens({"fov": "wide", "resolution": None}) == pytest.approx(lens({}))
    assert lens({}) == pytest.approx((2 * np.arctan(9 / 16), 16 / 9))


def test_a_camera_looks_where_its_body_looks() -> None:
    world = World()
    eye = world.spawn(
        "eye", Sensor("eye", "rgb_camera"), position=(1.0, 2.0, 3.0), orientation=(0.0, 0.0, 0.6, 0.8)
    )
    propagate(world)
    seen = frustum_of(world, eye, np.zeros(3), 5.0)
    turn = seen.w_first[[1, 2, 3, 0]]
    assert rotate(turn, (0.0, 0.0, 1.0)) == pytest.approx(rotate((0.0, 0.0, 0.6, 0.8), (1.0, 0.0, 0.0)))
    assert rotate(turn, (0.0, 1.0, 0.0)) == pytest.approx((0.0, 0.0, 1.0))  # its y is down


@given(count=st.integers(1, 30), length=st.integers(2, 8))
def test_trails_keep_the_last_places(count: int, length: int) -> None:
    world = World()
    entity = world.spawn("a")
    trails = Trails(length=length, every_ns=10)
    trails.follow([entity])
    for step in range(count):
        world.transforms.position[world.row(entity)] = (step, 2 * step, 0.0)
        propagate(world)
        assert trails.note(world, step * 10)
        assert not trails.note(world, step * 10 + 5)
    kept = trails.places(0)
    assert kept[:, 0].tolist() == [float(step) for step in range(count)][-length:]
    lines, ages = trails.segments(np.zeros(3))
    assert len(lines) == len(ages) == len(kept) - 1
    trails.note(world, -1000)  # the clock was set back
    assert len(trails.places(0)) == 1


def test_boxes_have_twelve_edges_of_the_right_length() -> None:
    edges = boxes([(1.0, 2.0, 3.0)], [(0.0, 0.0, 0.6, 0.8)], [(2.0, 3.0, 4.0)])
    assert sorted(np.linalg.norm(edges[:, 1] - edges[:, 0], axis=1)) == pytest.approx(
        [2.0] * 4 + [3.0] * 4 + [4.0] * 4
    )
    assert edges.reshape(-1, 3).mean(axis=0) == pytest.approx((1.0, 2.0, 3.0))


def test_meshes_are_read_in_their_own_axes(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh", reason="meshes need the extra `viewer`")
    nose = trimesh.creation.box((4.0, 2.0, 1.0))
    nose.export(tmp_path / "robot.stl")  # 4 m along x, its front
    nose.export(tmp_path / "model.glb")  # 4 m along x, its side
    robot, model = find_mesh("robot.stl", [tmp_path]), find_mesh("model.glb", [tmp_path])
    assert robot is not None
    assert model is not None
    stl, glb = mesh_shape(robot), mesh_shape(model)
    assert stl is not None
    assert glb is not None
    assert stl.size == pytest.approx((4.0, 2.0, 1.0))
    assert glb.size == pytest.approx((1.0, 4.0, 2.0))
    assert find_mesh("missing.stl", [tmp_path]) is None
    (tmp_path / "broken.obj").write_text("nothing of the kind")
    assert mesh_shape(tmp_path / "broken.obj") is None
    world = World()
    look = appearance(world, world.spawn("r", Bounds((9.0, 9.0, 9.0)), asset="robot.stl"), folders=[tmp_path])
    assert isinstance(look, Appearance)
    assert look.size == pytest.approx((4.0, 2.0, 1.0))


def test_geoms_of_physics_models_are_drawn_by_their_own_sizes() -> None:
    world = World()
    sizes = {
        "sphere": [0.5],
        "capsule": [0.1, 0.4],
        "box": [1.0, 2.0, 3.0],
        "cylinder": [0.2, 1.0],
        "plane": [0.0, 0.0, 1.0],
    }
    found = {}
    for kind, size in sizes.items():
        entity = world.spawn(f"{kind}#geom")
        world.set_group(entity, "geom", {"type": kind, "size": size, "rgba": [1.0, 0.5, 0.0, 1.0]})
        look = appearance(world, entity)
        assert look is not None
        assert look.color == (255, 128, 0)
        found[kind] = look.size
    assert found["sphere"] == (1.0, 1.0, 1.0)
    assert found["capsule"] == pytest.approx((0.2, 0.2, 1.0))
    assert found["box"] == (2.0, 4.0, 6.0)
    assert found["cylinder"] == pytest.approx((0.4, 0.4, 2.0))


def test_looking_through_a_camera_begins_before_its_own_shape() -> None:
    world = World()
    east = (0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5))  # yaw 90°
    camera = world.spawn(
        "camera", Sensor("camera", "rgb_camera", {}), position=(10, 20, -5), orientation=east
    )
    propagate(world)
    eye = frustum_of(world, camera, np.zeros(3), 1.0, ahead=0.5)
    np.testing.assert_allclose(eye.position, [10.0, 20.5, -5.0], atol=1e-12)
