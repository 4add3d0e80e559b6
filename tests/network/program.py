"""Programs for tests of networks, spoken to in lines: `source ENDPOINT`, `replica ENDPOINT ...`, `router ADDRESS`.

A source answers a seed with `RUN SEQUENCE DIGEST` of what it has published, and `listeners N` once as many listen.
A replica says `ENDPOINT RUN SEQUENCE DIGEST` after every step. A digest stands for a whole world.
"""

import hashlib
import sys
from queue import Empty, Queue
from threading import Thread

import orjson

from diorama.ecs import World
from diorama.formats.aerosim_write import document
from diorama.schemas import topics
from diorama.tests.transport.history import play
from diorama.transport.publisher import Publisher
from diorama.transport.replica import Replica


def digest(world: World) -> str:
    """A short name for everything a world is: its document, and its poses to the bit."""
    text = orjson.dumps(document(world), option=orjson.OPT_SORT_KEYS)
    poses = {
        world.key(entity): world.table.local[world.row(entity)].tobytes().hex()
        for entity in world.names.values()
    }
    return hashlib.sha256(text + orjson.dumps(poses, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def source(endpoint: str) -> None:
    lines: Queue[str] = Queue()

    def read() -> None:
        for line in sys.stdin:
            lines.put(line.strip())
        lines.put("end")

    Thread(target=read, daemon=True).start()
    world = World()
    with Publisher(endpoint) as publisher:
        print("here", flush=True)
        while True:
            publisher.poll(0.01)
            try:
                word, _, number = lines.get_nowait().partition(" ")
            except Empty:
                continue
            if word == "end":
                return
            if word == "listeners":
                while len(publisher.link._listeners.get(topics.SCENE_LOCAL, ())) != int(number):
                    publisher.poll(0.05)
                print(f"listeners {number}", flush=True)
            else:
                play(world, int(word))
                publisher.publish(world)
                print(publisher.run_id.hex(), publisher.sequence, digest(world), flush=True)


def replica(*endpoints: str) -> None:
    replicas = {endpoint: Replica(endpoint) for endpoint in endpoints}
    print("here", flush=True)
    while True:
        for endpoint, one in replicas.items():
            if one.poll(0.005) is not None:
                print(endpoint, one.run_id.hex(), one.sequence, digest(one.world), flush=True)


def router(address: str) -> None:
    from diorama.transport.zenoh_endpoint import parse_endpoint
    from diorama.transport.zenoh_session import open_router

    open_router(parse_endpoint(f"zenoh:?listen={address}"), insecure=True)
    print("here", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    role, *arguments = sys.argv[1:]
    if role == "replica":
        replica(*arguments)
    else:
        (source if role == "source" else router)(arguments[0])
