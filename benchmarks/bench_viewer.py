"""What the page costs: the demo with 10 000 moving entities at 30 Hz into the viewer, with one browser's worth of
listening. The claim: under one core for the Python side.

A process of its own publishes, another takes what the page sends and throws it away, as a browser with a fast graphics
card would; this one is the viewer, and its CPU time is what counts.
"""

import subprocess
import sys
import time

from diorama.viewer.follow import FRAME_S, View
from diorama.viewer.page import Page

ENTITIES = 10_000
SECONDS = 8.0
ENDPOINT = "tcp://127.0.0.1:5691"
# The page's own version check wants to see its version in the subprotocol.
LISTENER = """
import sys
from viser import __version__
from websockets.sync.client import connect
taken = 0
version = "viser-v" + __version__
with connect(sys.argv[1], subprotocols=[version], max_size=None, compression=None, proxy=None) as socket:
    for message in socket:
        taken += len(message)
        print(taken, flush=True)
"""


def main() -> None:
    command = [
        sys.executable,
        "-m",
        "diorama.cli",
        "demo",
        "--headless",
        "--rate",
        "30",
        "--endpoint",
        ENDPOINT,
    ]
    publisher = subprocess.Popen([*command, "--entities", str(ENTITIES)], stdout=subprocess.DEVNULL)
    page = Page(port=0)
    view = View(ENDPOINT, page)
    listener = subprocess.Popen(
        [sys.executable, "-c", LISTENER, page.url.replace("http", "ws")], stdout=subprocess.PIPE, text=True
    )
    try:
        while not view.status().entities:
            view.frame(FRAME_S)
        for _ in range(60):  # warm up: everything compiled, the first complete scene drawn
            view.frame(FRAME_S)
        begin, cpu, pictures, updates, costs = time.monotonic(), time.process_time(), 0, 0, []
        due = begin
        while time.monotonic() - begin < SECONDS:
            start = time.thread_time()
            updates += view.frame(max(0.0, due - time.monotonic())) is not None
            costs.append(time.thread_time() - start)
            pictures += 1
            due = max(due + FRAME_S, time.monotonic())
        wall, used = time.monotonic() - begin, time.process_time() - cpu
    finally:
        publisher.terminate()
        listener.terminate()
        view.close()
    taken = [int(line) for line in (listener.stdout or ())]
    print(f"the page with {view.status().entities} entities, {ENTITIES} asked for, nearly all moving")
    print(
        f"  pictures      {pictures / wall:6.1f} a second, {updates / wall:.1f} of them with news (30 wanted)"
    )
    print(f"  CPU           {used / wall:6.1%} of a core, the web server's threads included (< 100 %)")
    print(
        f"  one picture   {1e3 * min(costs):6.2f} ms at best, {1e3 * sorted(costs)[len(costs) // 2]:.2f} ms median"
    )
    print(f"  to a browser  {(taken[-1] if taken else 0) / 1e6 / (wall + 2):6.1f} MB a second")


if __name__ == "__main__":
    main()
