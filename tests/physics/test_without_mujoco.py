"""Without the extra everything else works, and what needs it says how to get it."""

import subprocess
import sys

SCRIPT = """
import sys
sys.modules["mujoco"] = None  # as if it were not installed
import diorama.physics
from diorama.physics import ROUGH_TERRAINS_CFG, EntityCfg, RayCastSensorCfg, SceneCfg, TerrainEntityCfg
import diorama.ecs, diorama.runtime
SceneCfg(terrain=TerrainEntityCfg(terrain_type="generator", terrain_generator=ROUGH_TERRAINS_CFG))
try:
    from diorama.physics import Scene
except ImportError as error:
    print(type(error).__name__, error)
"""


def test_configurations_work_and_scenes_name_the_extra() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.startswith("MissingExtraError composing and stepping physics scenes needs")
    assert "pip install 'diorama[mujoco]'" in done.stdout
