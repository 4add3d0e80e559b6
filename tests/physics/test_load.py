"""One file of MJCF or URDF as a world."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from diorama.ecs import Transform
from diorama.physics import Geom, open_model
from diorama.physics.load import read
from diorama.runtime.load import check, load
from diorama.schemas.errors import SceneError
from diorama.tests.physics.models import gymnasium_model, mujoco_testdata, textured_cubes

URDF = """<?xml version="1.0"?>
<!-- a <mujoco> in a comment does not make it MJCF -->
<robot name="arm">
  <link name="base">
    <visual><origin xyz="0 0 0.05"/><geometry><box size="0.2 0.2 0.1"/></geometry></visual>
    <collision><origin xyz="0 0 0.05"/><geometry><box size="0.2 0.2 0.1"/></geometry></collision>
  </link>
  <link name="boom">
    <inertial><origin xyz="0.25 0 0"/><mass value="1"/>
      <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="0.25 0 0"/><geometry><cylinder radius="0.02" length="0.5"/></geometry></visual>
  </link>
  <joint name="turn" type="revolute">
    <parent link="base"/><child link="boom"/><origin xyz="0 0 0.1" rpy="0 0 1.5707963267948966"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="10" velocity="1"/>
  </joint>
</robot>
"""


def test_a_robot_is_a_world_with_the_models_own_names() -> None:
    path = gymnasium_model("ant")
    world = load(path)
    data = mujoco.MjData(model := mujoco.MjModel.from_xml_path(str(path)))
    mujoco.mj_kinematics(model, data)
    torso = world.get(world.find("ant/torso"), Transform)
    np.testing.assert_allclose(torso.world_position, data.body("torso").xpos * [1, -1, -1], atol=1e-12)
    leg = world.get(world.find("ant/front_left_leg"), Transform)
    np.testing.assert_allclose(leg.world_position, data.body("front_left_leg").xpos * [1, -1, -1], atol=1e-12)
    assert world.get(world.find("ant/torso_geom#geom"), Geom).type == "sphere"
    assert world.name(world.parent(world.find("ant/torso")) or 0) == "mujoco"


def test_many_copies_stand_on_a_grid() -> None:
    world = load(gymnasium_model("hopper"), envs=4, spacing=3.0)
    places = [world.get(world.find(f"env_{env}"), Transform).world_position.tolist() for env in range(4)]
    assert places == [[1.5, 1.5, 0.0], [1.5, -1.5, 0.0], [-1.5, 1.5, 0.0], [-1.5, -1.5, 0.0]]
    assert "env_3/hopper/torso" in world.names


@pytest.mark.parametrize("name", ["MJCF_Root.zip", "MJCF_NoRoot.zip"])
def test_mujocos_own_archives_load(name: str) -> None:
    graph = open_model(path := mujoco_testdata() / name)
    with path.open("rb") as archive:
        alone = mujoco.MjSpec.from_zip(archive).compile()
    assert graph.scene.model.nmesh == alone.nmesh == 4
    np.testing.assert_array_equal(graph.scene.model.mesh_vert, alone.mesh_vert)
    np.testing.assert_array_equal(graph.scene.model.tex_data, alone.tex_data)
    assert len(load(path)) == len(graph.world)


def test_mujocos_own_test_model_loads() -> None:
    world = load(mujoco_testdata() / "model.xml")
    assert "model/head" in world.names
    assert world.resource("physics")["timestep"] == 0.002


def test_urdf_keeps_visuals_and_fixed_links(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(URDF)
    world = load(path)
    boom = world.get(world.find("arm/boom"), Transform)
    np.testing.assert_allclose(boom.world_position, [0, 0, -0.1], atol=1e-12)
    shapes = [world.get(entity, Geom) for entity, _ in world.query(Geom)]
    assert sorted(shape.type for shape in shapes) == ["box", "box", "cylinder"]
    cylinder = next(entity for entity, shape in world.query(Geom) if shape.type == "cylinder")
    # The boom points along its x, which is turned to the west, the positive y of the file.
    at = world.get(cylinder, Transform).world_position
    np.testing.assert_allclose(at, [0, -0.25, -0.1], atol=1e-9)


@pytest.mark.parametrize("mesh", ["package://my_arm/meshes/cube.stl", "../meshes/cube.stl"])
def test_urdf_meshes_are_found_in_their_package(tmp_path: Path, mesh: str) -> None:
    package = tmp_path / "my_arm"
    textured_cubes(tmp_path)
    (tmp_path / "MJCF_Zipped").rename(package)
    path = package / "urdf" / "arm.urdf"
    path.parent.mkdir()
    shape = f"<mesh filename='{mesh}' scale='0.1 0.1 0.1'/>"
    path.write_text(URDF.replace('<cylinder radius="0.02" length="0.5"/>', shape))
    world = load(path)
    (entity,) = [entity for entity, geom in world.query(Geom) if geom.type == "mesh"]
    assert Path(world.asset(entity)).resolve() == package / "meshes" / "cube.stl"
    np.testing.assert_allclose(world.get(entity, Transform).scale, 0.1)
    (package / "meshes" / "cube.stl").unlink()
    with pytest.raises(SceneError, match=r"cube\.stl: entity 'arm': asset cannot be read"):
        load(path)


def test_meshes_name_their_files(tmp_path: Path) -> None:
    path = textured_cubes(tmp_path)
    world = load(path)
    assets = {world.asset(entity) for entity, shape in world.query(Geom) if shape.type == "mesh"}
    meshes = path.parent / "meshes"
    assert assets == {
        str(meshes / "cube.stl"),
        str(meshes / "more_meshes" / "cube.stl"),
        str(meshes / "cube.msh"),
    }


def test_a_running_model_shows_a_few_of_many() -> None:
    graph = open_model(gymnasium_model("ant"), envs=32, shown=4, ground=True)
    graph.scene.step(10)
    graph.update()
    assert len(graph.env_entities) == 4
    assert graph.scene.num_envs == 32
    assert "terrain" in graph.world.names


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "<?xml version='1.0'?>\n<raisim version='1.1'><objects/></raisim>",
            "a RaiSim world, which is read by",
        ),
        ("<sdf version='1.6'/>", "an SDF model; convert it"),
        ("<!-- <mujoco/> --><launch/>", "XML with the root <launch>"),
        ("hello", "no XML"),
    ],
)
def test_other_xml_is_recognised_and_refused(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "world.xml"
    path.write_text(text)
    with pytest.raises(SceneError, match="RaiSim" if "raisim" in text else "expected MJCF"):
        load(path)
    with pytest.raises(SceneError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: expected MJCF (<mujoco>) or URDF (<robot>), got {what}")


def test_included_files_are_found_under_any_ending(tmp_path: Path) -> None:
    body = (
        "<mujocoinclude><body name='b'><geom size='1'/><include file='more/deep.xml'/></body></mujocoinclude>"
    )
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "deep.xml").write_text("<mujocoinclude><site name='s'/></mujocoinclude>")
    (tmp_path / "part.xml").write_text(body)
    for ending in ("xml", "mjcf"):
        path = tmp_path / f"whole.{ending}"
        path.write_text("<mujoco><worldbody><include file='part.xml'/></worldbody></mujoco>")
        assert "whole/b" in load(path).names


def test_files_that_cannot_be_read_or_compiled(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match=r"none\.mjcf: cannot be read: no such file"):
        read(tmp_path / "none.mjcf")
    path = tmp_path / "bad.mjcf"
    path.write_text("<mujoco>\n<worldbody>\n<geom size='x'/>\n</worldbody></mujoco>")
    (problem,) = check(path)
    assert (problem.file, problem.line) == (str(path), 3)
    assert "bad format in attribute 'size'" in problem.message
