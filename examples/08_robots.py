"""Step 1 024 walkers on stairs and slopes, publish 64; `08_robots.py 1000` runs on, for `diorama view ENDPOINT`."""

import sys

import numpy as np

import diorama

try:
    import mujoco

    from diorama.physics import ROUGH_TERRAINS_CFG, EntityCfg, Scene, SceneCfg, SceneGraph, TerrainEntityCfg
except ImportError as error:
    sys.exit(f"this needs: pip install 'diorama[mujoco]': {error}")

LEG = """<body name="{0}" pos="0 {1} 0"><joint name="{0}" axis="0 1 0" damping="1"/>
<geom type="capsule" fromto="0 0 0 0 0 -.3" size=".03"/></body>"""
WALKER = f"""<mujoco><option timestep=".005"/><worldbody><body name="trunk" pos="0 0 .5"><freejoint/>
<geom type="box" size=".2 .1 .05"/>{LEG.format("left", 0.15)}{LEG.format("right", -0.15)}</body></worldbody>
<actuator><position joint="left" kp="80"/><position joint="right" kp="80"/></actuator></mujoco>"""

terrain = TerrainEntityCfg(terrain_type="generator", terrain_generator=ROUGH_TERRAINS_CFG)
robot = EntityCfg(spec_fn=lambda: mujoco.MjSpec.from_string(WALKER))
scene = Scene(SceneCfg(num_envs=1024, terrain=terrain, entities={"robot": robot})).initialize()
graph = SceneGraph(scene, diorama.World(), envs=range(64))
random = np.random.default_rng(7)
ticks = int(sys.argv[1]) if len(sys.argv) > 1 else 20
with diorama.Publisher("tcp://127.0.0.1:*") as publisher:
    print(f"{len(graph.world)} entities of 64 environments at {publisher.endpoint}", flush=True)
    for index in range(ticks):
        scene.ctrl[:] = random.uniform(-0.6, 0.6, scene.ctrl.shape)
        tick = diorama.Tick(index, (index + 1) * 20_000_000, 20_000_000)  # four substeps of 5 ms
        diorama.step(graph.world, tick, [graph.advance])
        publisher.publish(graph.world, tick)
print(f"{scene.step_count * 4 * 1024:,} env-steps; {scene.divergence_count} environments diverged")
