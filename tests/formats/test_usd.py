"""USD: the stage stands where the world stands, and the library's own checker is content."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pxr", reason="writing USD needs the extra `usd`")

from pxr import Gf, Usd, UsdGeom

from diorama.ecs import Bounds, Sensor, World, propagate
from diorama.geo import Origin, quaternion_from_rpy
from diorama.geo.axes import ENU
from diorama.geo.rotation import rotate
from diorama.runtime.load import save

NEAR = 1e-6  # m; positions of the size of metres, orientations in double


def small_world() -> World:
    world = World(Origin(29.594656, -95.16384722, -28.3))
    turn = quaternion_from_rpy((0.1, -0.2, 2.0))
    ship = world.spawn(
        "ship 1", Bounds((9.0, 10.0, 2.6), (0.5, 0.0, -0.4)), position=(10.0, 20.0, -30.0), orientation=turn
    )
    camera = {"resolution": {"x": 1920, "y": 1080}, "fov": 90, "near_clip": 0.1, "far_clip": 1000.0}
    world.spawn(
        "ship 1/eye",
        Sensor("eye", "rgb_camera", camera),
        parent=ship,
        position=(4.0, 0.0, 1.0),
        orientation=turn,
    )
    world.spawn("model", asset="assets/tower.usda", position=(1.0, 2.0, 0.0), scale=(2.0, 3.0, 4.0))
    world.spawn("0 odd-näme", asset="demo/tree")
    propagate(world)
    return world


@pytest.fixture
def stage(tmp_path: Path) -> "Usd.Stage":
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "tower.usda").write_text('#usda 1.0\n(defaultPrim = "T")\ndef Xform "T" {}\n')
    save(small_world(), tmp_path / "scene.usda")
    return Usd.Stage.Open(str(tmp_path / "scene.usda"))


def test_every_entity_stands_where_the_world_has_it(stage: "Usd.Stage") -> None:
    world = small_world()
    for name, path in (
        ("ship 1", "/World/ship_1"),
        ("ship 1/eye", "/World/ship_1/eye"),
        ("model", "/World/model"),
    ):
        matrix = UsdGeom.XformCache().GetLocalToWorldTransform(stage.GetPrimAtPath(path))
        row = world.row(world.find(name))
        expected = ENU.points(world.poses.position[row])
        assert np.array(matrix.ExtractTranslation()) == pytest.approx(expected, abs=NEAR)
        # The nose points where the nose points.
        nose = ENU.points(rotate(world.poses.orientation[row], (1.0, 0.0, 0.0)))
        turned = np.array(matrix.TransformDir((1.0, 0.0, 0.0)))
        assert turned / np.linalg.norm(turned) == pytest.approx(nose, abs=NEAR)


def test_cameras_look_ahead_with_the_field_of_view_of_the_sensor(stage: "Usd.Stage") -> None:
    world = small_world()
    row = world.row(world.find("ship 1/eye"))
    camera = UsdGeom.Camera(stage.GetPrimAtPath("/World/ship_1/eye/camera")).GetCamera(0)
    assert camera.GetFieldOfView(Gf.Camera.FOVHorizontal) == pytest.approx(90.0, abs=1e-4)
    assert camera.aspectRatio == pytest.approx(1920 / 1080, rel=1e-6)
    ahead = np.array(camera.transform.TransformDir((0.0, 0.0, -1.0)))
    up = np.array(camera.transform.TransformDir((0.0, 1.0, 0.0)))
    assert ahead == pytest.approx(ENU.points(rotate(world.poses.orientation[row], (1.0, 0.0, 0.0))), abs=NEAR)
    assert up == pytest.approx(ENU.points(rotate(world.poses.orientation[row], (0.0, 0.0, -1.0))), abs=NEAR)


def test_the_stage_says_where_on_earth_it_is_and_refers_to_assets(stage: "Usd.Stage") -> None:
    told = stage.GetRootLayer().customLayerData["diorama"]
    assert (told["latitude_deg"], told["longitude_deg"], told["altitude"]) == (29.594656, -95.16384722, -28.3)
    assert UsdGeom.GetStageUpAxis(stage) == "Z"
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert stage.GetPrimAtPath("/World/model").HasAuthoredReferences()
    odd = stage.GetPrimAtPath("/World/_0_odd_n_me")
    assert odd.GetDisplayName() == "0 odd-näme"
    assert odd.GetAttribute("diorama:asset").Get() == "demo/tree"
    box = UsdGeom.BBoxCache(0, [UsdGeom.Tokens.guide]).ComputeLocalBound(
        stage.GetPrimAtPath("/World/ship_1/bounds")
    )
    assert np.array(box.ComputeAlignedRange().GetSize()) == pytest.approx((9.0, 10.0, 2.6), abs=1e-5)


def test_usds_own_validators_are_content(stage: "Usd.Stage") -> None:
    validation = pytest.importorskip("pxr.UsdValidation", reason="this USD has no validators")
    validators = validation.ValidationRegistry().GetOrLoadAllValidators()
    assert validators
    errors = validation.ValidationContext(validators).Validate(stage)
    assert [error.GetErrorAsString() for error in errors] == []
