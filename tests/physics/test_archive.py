"""Exported scenes open in MuJoCo by themselves, with meshes and the initial state."""

import re
import shutil
import zipfile
from pathlib import Path

import mujoco
import numpy as np

from diorama.physics import (
    ROUGH_TERRAINS_CFG,
    EntityCfg,
    InitialStateCfg,
    Scene,
    SceneCfg,
    TerrainEntityCfg,
    TerrainGeneratorCfg,
    open_model,
)
from diorama.tests.physics.models import add_gantry, gymnasium_model, textured_cubes, walker

PRINTED = 1e-5  # XML keeps six digits


def test_zip_round_trip_with_the_source_directory_gone(tmp_path: Path) -> None:
    source = tmp_path / "source"
    cfg = SceneCfg(
        num_envs=4,
        terrain=TerrainEntityCfg(),
        entities={
            "robot": EntityCfg(spec_fn=walker, init_state=InitialStateCfg(pos=(0.5, 0, 1))),
            "cubes": EntityCfg(file=textured_cubes(source)),
            "ant": EntityCfg(file=gymnasium_model("ant")),
        },
        spec_fn=add_gantry,
    )
    scene = Scene(cfg)
    shutil.rmtree(source)
    path = scene.to_zip(tmp_path / "scene.zip")
    with zipfile.ZipFile(path) as archive:
        named = set(re.findall(r'file="([^"]+)"', archive.read("scene.xml").decode()))
        assert len(named) == 5
        assert named <= set(archive.namelist())
    with path.open("rb") as file:
        model = mujoco.MjSpec.from_zip(file).compile()
    ours = scene.compile()
    for size in ("nbody", "nq", "nu", "nmesh", "ntex", "nhfield", "ngeom", "ntendon", "nsensor", "nkey"):
        assert getattr(model, size) == getattr(ours, size)
    np.testing.assert_allclose(model.key("init_state").qpos, ours.key("init_state").qpos, atol=PRINTED)
    np.testing.assert_allclose(model.mesh_vert, ours.mesh_vert, atol=PRINTED)
    sites = [model.site(index).name for index in range(model.nsite)]
    marks = [name for name in sites if name.startswith("env_origin_")]
    assert len(marks) == 4
    assert all(model.site(name).group[0] == 4 for name in marks)
    np.testing.assert_allclose(
        sorted(model.site(name).pos.tolist() for name in marks), sorted(scene.env_origins.tolist())
    )
    assert ours.nsite == model.nsite - 4


def test_an_exported_scene_is_an_entity_of_another(tmp_path: Path) -> None:
    cubes = EntityCfg(file=textured_cubes(tmp_path / "source"))
    inner = Scene(SceneCfg(entities={"robot": EntityCfg(spec_fn=walker), "cubes": cubes}))
    path = inner.to_zip(tmp_path / "inner.zip")
    shutil.rmtree(tmp_path / "source")
    outer = Scene(SceneCfg(num_envs=2, entities={"all": EntityCfg(file=path)})).initialize()
    assert outer.model.body("all/robot/trunk").id > 0
    assert outer.model.nmesh == 4
    graph = open_model(path)
    assert "inner/robot/trunk" in graph.world.names


def test_directory_with_generated_terrain(tmp_path: Path) -> None:
    generator = TerrainGeneratorCfg(
        size=(4.0, 4.0), num_rows=2, curriculum=True, sub_terrains=ROUGH_TERRAINS_CFG.sub_terrains
    )
    cfg = SceneCfg(
        num_envs=3,
        terrain=TerrainEntityCfg(terrain_type="generator", terrain_generator=generator, origin_sites=True),
        entities={"robot": EntityCfg(spec_fn=walker)},
    )
    scene = Scene(cfg)
    written = scene.write(tmp_path / "out")
    model = mujoco.MjModel.from_xml_path(str(written / "scene.xml"))
    ours = scene.compile()
    assert (model.ngeom, model.nhfield, model.nsite) == (ours.ngeom, ours.nhfield, ours.nsite)
    np.testing.assert_allclose(model.hfield_data, ours.hfield_data, atol=PRINTED)
    assert scene.write(tmp_path / "again", zip=True) == tmp_path / "again.zip"
