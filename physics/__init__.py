"""Composing and stepping MuJoCo scenes, and feeding them into the world (extra `mujoco`).

Names are imported when first used: configurations need no MuJoCo, scenes do.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diorama.physics.config import (
        ActuatorCfg,
        ArticulationCfg,
        EntityArticulationInfoCfg,
        EntityCfg,
        InitialStateCfg,
        SceneCfg,
    )
    from diorama.physics.entity import EntityData, SceneEntity
    from diorama.physics.graph import SceneGraph
    from diorama.physics.load import open_model
    from diorama.physics.scene import Scene
    from diorama.physics.sensor_config import (
        BuiltinSensorCfg,
        ContactMatch,
        ContactSensorCfg,
        GridPatternCfg,
        ObjRef,
        PinholeCameraPatternCfg,
        RayCastSensorCfg,
        RingPatternCfg,
        SensorCfg,
    )
    from diorama.physics.simulation import Divergence
    from diorama.physics.structure import Body, Environment, Geom
    from diorama.physics.terrain import ROUGH_TERRAINS_CFG, Terrain, TerrainEntityCfg, TerrainGeneratorCfg
    from diorama.physics.terrain_shapes import (
        BoxFlatTerrainCfg,
        BoxInvertedPyramidStairsTerrainCfg,
        BoxPyramidStairsTerrainCfg,
        FlatTerrainCfg,
        HfPyramidSlopedTerrainCfg,
        HfRandomUniformTerrainCfg,
        HfWaveTerrainCfg,
        RoughTerrainCfg,
        SlopeTerrainCfg,
        StairsTerrainCfg,
        SubTerrainCfg,
        WaveTerrainCfg,
    )

# module -> names it defines
_HOME = {
    "config": (
        "SceneCfg",
        "EntityCfg",
        "InitialStateCfg",
        "ActuatorCfg",
        "ArticulationCfg",
        "EntityArticulationInfoCfg",
    ),
    "sensor_config": (
        "ObjRef",
        "SensorCfg",
        "BuiltinSensorCfg",
        "ContactMatch",
        "ContactSensorCfg",
        "RayCastSensorCfg",
        "GridPatternCfg",
        "RingPatternCfg",
        "PinholeCameraPatternCfg",
    ),
    "terrain": (
        "TerrainEntityCfg",
        "TerrainGeneratorCfg",
        "Terrain",
        "ROUGH_TERRAINS_CFG",
    ),
    "terrain_shapes": (
        "SubTerrainCfg",
        "FlatTerrainCfg",
        "StairsTerrainCfg",
        "SlopeTerrainCfg",
        "RoughTerrainCfg",
        "WaveTerrainCfg",
        "BoxFlatTerrainCfg",
        "BoxPyramidStairsTerrainCfg",
        "BoxInvertedPyramidStairsTerrainCfg",
        "HfPyramidSlopedTerrainCfg",
        "HfRandomUniformTerrainCfg",
        "HfWaveTerrainCfg",
    ),
    "scene": ("Scene",),
    "entity": (
        "SceneEntity",
        "EntityData",
    ),
    "simulation": ("Divergence",),
    "graph": ("SceneGraph",),
    "structure": ("Body", "Environment", "Geom"),
    "load": ("open_model",),
}
_MODULE = {name: f"diorama.physics.{module}" for module, names in _HOME.items() for name in names}

__all__ = [
    "SceneCfg",
    "EntityCfg",
    "InitialStateCfg",
    "ActuatorCfg",
    "ArticulationCfg",
    "EntityArticulationInfoCfg",
    "ObjRef",
    "SensorCfg",
    "BuiltinSensorCfg",
    "ContactMatch",
    "ContactSensorCfg",
    "RayCastSensorCfg",
    "GridPatternCfg",
    "RingPatternCfg",
    "PinholeCameraPatternCfg",
    "TerrainEntityCfg",
    "TerrainGeneratorCfg",
    "Terrain",
    "ROUGH_TERRAINS_CFG",
    "SubTerrainCfg",
    "FlatTerrainCfg",
    "StairsTerrainCfg",
    "SlopeTerrainCfg",
    "RoughTerrainCfg",
    "WaveTerrainCfg",
    "BoxFlatTerrainCfg",
    "BoxPyramidStairsTerrainCfg",
    "BoxInvertedPyramidStairsTerrainCfg",
    "HfPyramidSlopedTerrainCfg",
    "HfRandomUniformTerrainCfg",
    "HfWaveTerrainCfg",
    "Scene",
    "SceneEntity",
    "EntityData",
    "Divergence",
    "SceneGraph",
    "Body",
    "Environment",
    "Geom",
    "open_model",
]


def __getattr__(name: str) -> object:
    if name not in _MODULE:
        raise AttributeError(f"module 'diorama.physics' has no attribute {name!r}")
    value = getattr(import_module(_MODULE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
