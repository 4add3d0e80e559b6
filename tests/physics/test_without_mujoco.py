"""Without the extra everything else works, and what needs it says how to get it."""

import subprocess
import sys
from pathlib import Path

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

COMMAND = """
import sys
sys.modules["mujoco"] = None
from diorama.cli.main import main
sys.exit(main(["serve", sys.argv[1]]))
"""


def test_serving_a_robot_says_what_to_install(tmp_path: Path) -> None:
    robot = tmp_path / "robot.xml"
    robot.write_text("<mujoco/>")
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, str(robot)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "pip install 'diorama[mujoco]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_configurations_work_and_scenes_name_the_extra() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.startswith("MissingExtraError composing and stepping physics scenes needs")
    assert "pip install 'diorama[mujoco]'" in done.stdout
