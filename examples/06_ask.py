"""Let a world answer questions and take commands over a socket, and ask it from another thread (or machine)."""

from threading import Thread

import diorama
from diorama.transport.service import Service

world = diorama.World(diorama.Origin(29.594656, -95.163847, -28.3))
world.spawn("tower", position=(0, 0, -60))
world.spawn("evtol", position=(800, 300, -120))


def serve(service: Service) -> None:
    """The simulation: tick, then answer whoever asked."""
    for tick in diorama.SteppableClock(step_ns=20_000_000, realtime_update_ns=0):
        diorama.step(world, tick)
        service.poll(0.02, tick=tick.index)
        if world.resource("over"):
            return


with (
    Service(world, "tcp://127.0.0.1:*") as service,
    diorama.Client(service.endpoint, timeout_s=20.0) as client,
):
    simulation = Thread(target=serve, args=[service])
    simulation.start()
    print("evtol is at", client.where("evtol")["lla"])
    print("from the tower:", client.distance("tower", "evtol"))
    print("north-east-down:", client.convert([[29.6, -95.16, 100.0]], "lla", "ned")[0])
    print("moved from tick", client.set_pose("evtol", position=(0, 0, -100)), client.nearest([0, 0, -100]))
    client.set_resource("over", True)
    simulation.join()
