"""A single MJCF or URDF file as a world, or as a running scene that feeds one."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from diorama.ecs import World
from diorama.physics.config import EntityCfg, SceneCfg
from diorama.physics.terrain import TerrainEntityCfg
from diorama.physics.xml_text import read_text, refuse_others
from diorama.schemas.errors import Problem

if TYPE_CHECKING:
    from diorama.physics.graph import SceneGraph


def read(
    path: str | Path,
    *,
    warnings: list[Problem] | None = None,  # noqa: ARG001  every format is told where to put them
    envs: int = 1,
    spacing: float = 2.0,
) -> World:
    """The world of an MJCF or URDF file at its initial state: bodies, shapes and sensors.

    With several `envs` there are that many copies on a grid, `spacing` metres apart.
    """
    return open_model(path, envs=envs, spacing=spacing).world


def open_model(
    path: str | Path,
    *,
    envs: int = 1,
    spacing: float = 2.0,
    shown: int | None = None,
    nthread: int = 0,
    ground: bool = False,
    geoms: bool = True,
) -> "SceneGraph":
    """A file as a running scene of `envs` environments, the first `shown` of which (all) feed a new world.

    Step it with `graph.scene.step()` and bring poses over with `graph.update()`, or let `graph.advance` be a
    system of the world. `ground` adds an endless plane.
    """
    # Here, not above: a table of formats is made of modules that can be imported without MuJoCo.
    from diorama.physics.graph import NODE, SceneGraph
    from diorama.physics.scene import Scene

    if Path(path).suffix.lower() != ".zip":
        refuse_others(read_text(path), str(path))
    name = re.sub(r"\W+", "_", Path(path).stem)
    if name in ("", "terrain", NODE):
        name += "_model"
    cfg = SceneCfg(
        num_envs=envs,
        env_spacing=spacing,
        terrain=TerrainEntityCfg() if ground else None,
        entities={name: EntityCfg(file=path)},
    )
    scene = Scene(cfg).initialize(nthread)
    chosen = None if shown is None else range(min(shown, envs))
    return SceneGraph(scene, World(), chosen, numbered=envs > 1, geoms=geoms)
