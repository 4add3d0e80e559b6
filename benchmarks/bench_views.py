"""A thousand views of about a hundred entities each over a scene of 100 000: their cost against one complete update.

Every entity moves between updates, so that the index is rebuilt and every view is encoded anew.
"""

import numpy as np
from measure import measure, table

from diorama.ecs import World, propagate
from diorama.schemas.view import View
from diorama.transport import codec
from diorama.transport.views import Views

ENTITIES = 100_000
VIEWS = 1_000
SIDE_M = 10_000.0
# A disc of this radius holds about a hundred of 100 000 entities spread over 10 km x 10 km.
RADIUS_M = float(np.sqrt(100 / ENTITIES / np.pi) * SIDE_M)


def main() -> None:
    random = np.random.default_rng(1)
    world = World()
    ground = np.zeros((ENTITIES, 3))
    ground[:, :2] = random.uniform(0, SIDE_M, (ENTITIES, 2))
    world.insert(ENTITIES, position=ground)
    propagate(world)
    views = Views()
    for center in random.uniform(0, SIDE_M, (VIEWS, 2)):
        views.want(View(near=(float(center[0]), float(center[1]), 0.0), radius=RADIUS_M).topic, True)
    step = 0

    def move() -> None:
        nonlocal step
        step += 1
        world.transforms.position[:ENTITIES, 0] += 0.01
        propagate(world)

    def complete() -> None:
        move()
        rows = world.forest.order()
        codec.encode_structure(world, rows, None)
        codec.encode_blocks(world, "world", rows, rows[:0])

    def all_views() -> None:
        move()
        for _ in views.updates(world, step):
            pass

    timings = measure({"one complete update": complete, f"{VIEWS} views": all_views}, seconds=20.0)
    print(table(f"{ENTITIES} entities, all moving; {VIEWS} views of about 100", timings))
    members = [len(state.members) for _, state in views.states()]
    print(f"  entities in a view: {np.mean(members):.0f} on the average")


if __name__ == "__main__":
    main()
