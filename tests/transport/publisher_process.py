"""A publisher in a process of its own, for tests: each line on stdin is a seed; it plays it, publishes, and answers
with the sequence number. Run with the endpoint as its argument.
"""

import sys
from queue import Empty, Queue
from threading import Thread

from diorama.ecs import World
from diorama.tests.transport.history import play
from diorama.transport.publisher import Publisher


def main() -> None:
    """Publish until stdin ends."""
    lines: Queue[str] = Queue()

    def read() -> None:
        for line in sys.stdin:
            lines.put(line)
        lines.put("")

    Thread(target=read, daemon=True).start()
    world = World()
    with Publisher(sys.argv[1], queue=64) as publisher:
        print(publisher.endpoint, flush=True)
        while True:
            publisher.poll(0.002)
            try:
                line = lines.get_nowait()
            except Empty:
                continue
            if not line:
                return
            play(world, int(line))
            publisher.publish(world)
            print(publisher.sequence, flush=True)


if __name__ == "__main__":
    main()
