"""Pause, step and resume through the simulation's service, from a thread of its own: nobody's picture waits for it."""

from queue import Empty, SimpleQueue
from threading import Event, Thread

from diorama.schemas.errors import DioramaError
from diorama.transport.client import Client
from diorama.transport.methods import RequestError

LOOK_S = 2.0  # how often to look for the service
PATIENCE_S = 0.5


class Control:
    """What a service lets us do with its clock. `allowed` says whether there is one that takes commands."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.allowed = False
        self.complaint = ""  # why the last command was refused
        self._wanted: SimpleQueue[str] = SimpleQueue()
        self._over = Event()
        self._thread = Thread(target=self._run, name="control", daemon=True)
        self._thread.start()

    def ask(self, verb: str) -> None:
        """Ask for `pause`, `step` or `resume`; it happens soon, or `complaint` says why not."""
        self._wanted.put(verb)

    def close(self) -> None:
        """End."""
        self._over.set()
        self._wanted.put("")
        self._thread.join()

    def _run(self) -> None:
        with Client(self.endpoint, timeout_s=PATIENCE_S) as client:
            while not self._over.is_set():
                try:
                    verb = self._wanted.get(timeout=LOOK_S if self.allowed else 0.05)
                except Empty:
                    verb = ""
                try:
                    if verb in ("pause", "step", "resume"):
                        client.request(verb)
                        self.complaint = ""
                    else:
                        self.allowed = any(method["name"] == "pause" for method in client.describe())
                except RequestError as error:
                    self.complaint = str(error)
                except DioramaError:
                    self.allowed = False
                    self._over.wait(LOOK_S)
