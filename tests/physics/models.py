"""Models for the physics tests: a few small ones of our own, and where third-party packages keep theirs."""

import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mujoco

# A box that floats, with two hinged legs, hooks for ropes, sensors and a keyframe.
WALKER = """
<mujoco model="walker">
  <compiler angle="radian"/>
  <option timestep="0.004"/>
  <worldbody>
    <body name="trunk" pos="0 0 0.5">
      <freejoint name="base"/>
      <geom name="trunk" type="box" size="0.2 0.1 0.05" mass="3"/>
      <site name="imu"/>
      <site name="left_hook" pos="0 0.1 0.05"/>
      <site name="right_hook" pos="0 -0.1 0.05"/>
      <body name="left_leg" pos="0 0.12 0">
        <joint name="left_hip" axis="0 1 0" range="-1.2 1.2" damping="0.5"/>
        <geom name="left_foot" type="capsule" fromto="0 0 0 0 0 -0.3" size="0.03" mass="0.5"/>
      </body>
      <body name="right_leg" pos="0 -0.12 0">
        <joint name="right_hip" axis="0 1 0" range="-1.2 1.2" damping="0.5"/>
        <geom name="right_foot" type="capsule" fromto="0 0 0 0 0 -0.3" size="0.03" mass="0.5"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="left_hip" joint="left_hip" kp="40"/>
    <position name="right_hip" joint="right_hip" kp="40"/>
  </actuator>
  <sensor>
    <gyro name="trunk_imu" site="imu"/>
    <jointpos joint="left_hip"/>
  </sensor>
  <keyframe>
    <key name="stand" qpos="0 0 0.34 1 0 0 0 0.1 -0.1" ctrl="0.1 -0.1"/>
    <key name="crouch" qpos="0 0 0.3 1 0 0 0 0.5 -0.5" ctrl="0.5 -0.5"/>
  </keyframe>
</mujoco>
"""

# Fixed to the world, with a ball joint and an unnamed hinge.
ARM = """
<mujoco model="arm">
  <worldbody>
    <body name="pedestal" pos="0 0 0.1">
      <geom type="cylinder" size="0.1 0.1" mass="5"/>
      <body name="upper" pos="0 0 0.2">
        <joint name="shoulder" type="ball" damping="0.2"/>
        <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="1"/>
        <body pos="0.3 0 0">
          <joint axis="0 1 0" damping="0.1"/>
          <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" mass="0.5"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""

CUBE = """
<mujoco model="cube">
  <worldbody>
    <body name="cube" pos="0 0 0.05"><freejoint/><geom name="cube" type="box" size="0.05 0.05 0.05" mass="0.2"/></body>
  </worldbody>
</mujoco>
"""


def walker() -> Any:
    return mujoco.MjSpec.from_string(WALKER)


def arm() -> Any:
    return mujoco.MjSpec.from_string(ARM)


def cube() -> Any:
    return mujoco.MjSpec.from_string(CUBE)


def hand() -> Any:
    """A body that goes where it is put."""
    made = mujoco.MjSpec()
    made.worldbody.add_body(name="hand", mocap=True).add_geom(size=[0.1, 0, 0])
    return made


def gymnasium_model(name: str) -> Path:
    """A robot of the gymnasium package."""
    spec = find_spec("gymnasium")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0]) / "envs" / "mujoco" / "assets" / f"{name}.xml"


def mujoco_testdata() -> Path:
    """MuJoCo's own test data."""
    return Path(mujoco.__file__).parent / "testdata"


def textured_cubes(directory: Path) -> Path:
    """MuJoCo's model with meshes, a texture and a height field in files, unpacked."""
    with zipfile.ZipFile(mujoco_testdata() / "MJCF_Root.zip") as archive:
        archive.extractall(directory)
    return directory / "MJCF_Zipped" / "model_with_assetdir.xml"


def add_gantry(spec: Any) -> None:
    spec.worldbody.add_site(name="gantry", pos=(0, 0, 2))
    for side in ("left", "right"):
        tendon = spec.add_tendon(name=f"{side}_rope", limited=True, range=(0, 1))
        tendon.wrap_site("gantry")
        tendon.wrap_site(f"robot/{side}_hook")
    spec.add_sensor(
        name="rope_length",
        type=mujoco.mjtSensor.mjSENS_TENDONPOS,
        objtype=mujoco.mjtObj.mjOBJ_TENDON,
        objname="left_rope",
    )
