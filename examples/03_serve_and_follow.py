"""Serve an AeroSim scene and follow it as a renderer does, in glTF's axes. Look at x: 5 m/s to the east, 0.1 m a tick.

`03_serve_and_follow.py 100000` goes on for long: then `diorama view ENDPOINT` shows it in the browser.
"""

import sys
from itertools import islice
from pathlib import Path

import diorama

world = diorama.load(Path(__file__).with_name("houston.scene.json"))
evtol = world.get(world.find("generic_evtol_0"), diorama.Transform)
ticks = int(sys.argv[1]) if len(sys.argv) > 1 else 50
# The replica is usually in a process of its own, on this machine or another, in this language or another.
with (
    diorama.Publisher("tcp://127.0.0.1:*") as publisher,
    diorama.Replica(publisher.endpoint, axes="gltf") as replica,
):
    print(f"{len(world)} entities at {publisher.endpoint}", flush=True)
    for tick in islice(diorama.SteppableClock(step_ns=20_000_000), ticks):
        evtol.position[1] += 5.0 * tick.step_s
        diorama.step(world, tick)
        publisher.publish(world, tick)
        if update := replica.poll(timeout_s=0.005):
            poses = replica.poses([replica.world.find("generic_evtol_0")])
            print(f"tick {update.index}: {len(update.changed)} moved; x, y, z = {poses.position[0].round(3)}")
