"""How long until something happens: importing diorama, the first tick with numba (warm) and without, a command's help.

Each is a process of its own, started anew; what an empty Python and numpy take is measured beside it.
"""

import subprocess
import sys
import time

from measure import Row

FIRST_TICK = """
from diorama import World
from diorama.ecs import propagate
world = World()
world.insert(1000)
propagate(world)
"""
PROGRAMS = {
    "an empty Python": "",
    "import numpy": "import numpy",
    "import diorama": "import diorama",
    "import diorama, with World and Publisher": "from diorama import Publisher, World",
    "first tick of 1,000 entities (numpy)": 'import sys; sys.modules["numba"] = None\n' + FIRST_TICK,
    "first tick of 1,000 entities (numba, warm)": FIRST_TICK,
    "diorama --help": "import sys; sys.argv = ['diorama', '--help']\nfrom diorama.cli.main import main; main()",
}
GOALS = {
    "import diorama": "at most 0.25 s",
    "import diorama, with World and Publisher": "at most 0.25 s",
    "first tick of 1,000 entities (numpy)": "at most 0.6 s",
    "first tick of 1,000 entities (numba, warm)": "at most 1.5 s",
}


def seconds_of(program: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - start


def rows(quick: bool) -> list[Row]:
    """Whole processes, from their start to their end."""
    times: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for program in PROGRAMS.values():
        seconds_of(program)  # compiled and cached
    for _ in range(4 if quick else 10):
        for name, program in PROGRAMS.items():
            times[name].append(seconds_of(program))
    floor = min(times["an empty Python"])
    return [
        Row(
            work=f"start: {name}",
            ours=min(taken),
            limit="an empty Python",
            limit_s=floor,
            goal=GOALS.get(name, ""),
            spread=sorted(taken)[len(taken) // 2] / min(taken),
        )
        for name, taken in times.items()
        if name != "an empty Python"
    ]


def main() -> None:
    for row in rows(quick=False):
        print(f"{row.work}: {row.ours:.3f} s {row.goal}")


if __name__ == "__main__":
    main()
