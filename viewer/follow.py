"""Following a published scene into the page: a Replica on one side, the page on the other, thirty times a second.

Everything about the world happens in the thread that runs `View.run`; clicks come in through the page's queue.
"""

from collections import deque
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import Entity, World
from diorama.perception.parameters import DETECTION_TOPIC, GROUND_TRUTH_TOPIC
from diorama.schemas.errors import MessageError
from diorama.transport.replica import Replica, Update
from diorama.transport.subscriber import Subscriber
from diorama.viewer.choices import Choices
from diorama.viewer.control import Control
from diorama.viewer.drawing import Drawing
from diorama.viewer.overlays import boxes_of_message
from diorama.viewer.page import Page
from diorama.viewer.panels import Status, inspector_html, map_html, status_html, tree_html

Floats = NDArray[np.float64]
FRAME_S = 1.0 / 30.0
PANEL_S = 0.2
MAP_S = 0.5
STALE_S = 1.0  # detections older than this are no longer shown
SILENT_S = 3.0
DETECTED, TRUE = (240, 110, 30), (40, 150, 80)


class View:
    """One scene in one page."""

    def __init__(
        self, endpoint: str, page: Page, *, service: str | None = None, assets: Sequence[Path] = ()
    ) -> None:
        self.endpoint, self.page = endpoint, page
        self.choices = Choices()
        self._drawing = Drawing(page, self.choices, assets)
        self._control = Control(service) if service else None
        self.replica = Replica(endpoint, on_event=self._event)
        self._perceived = Subscriber(endpoint, "/", queue=20)
        self._boxes: dict[str, tuple[float, Floats]] = {}  # lines by topic ending, and when they came
        self._tick, self._time_ns = 0, 0
        self._beats: deque[tuple[float, int, int]] = deque(maxlen=60)  # wall s, sim ns, sequence
        self._heard = monotonic()
        self._next_panel = self._next_map = 0.0
        self._closed = False

    # -- the loop ------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Follow until closed."""
        due = monotonic()
        while not self._closed:
            self.frame(max(0.0, due - monotonic()))
            due = max(due + FRAME_S, monotonic())

    def frame(self, timeout_s: float = 0.0) -> Update | None:
        """One picture: take what has arrived, waiting that long for it, do what was clicked, draw."""
        end = monotonic() + timeout_s
        update = self.replica.poll(timeout_s)
        while (left := end - monotonic()) > 0.001:  # updates come faster than pictures: the last one counts
            more = self.replica.poll(left)
            update = _both(update, more)
        self._listen()
        with self.page.together():
            if update is not None:
                self._take(update)
            self._obey()
            if self._is_shown:
                self._drawing.draw(self.replica.world, update, self._time_ns)
                self._draw_boxes()
        if monotonic() >= self._next_panel:
            self._next_panel = monotonic() + PANEL_S
            self._tell()
        if monotonic() >= self._next_map:
            self._next_map = monotonic() + MAP_S
            self._draw_map()
        return update

    def stop(self) -> None:
        """Let `run` end after this picture."""
        self._closed = True

    def close(self) -> None:
        """End."""
        self._closed = True
        if self._control is not None:
            self._control.close()
        self.replica.close()
        self._perceived.close()
        self.page.close()

    @property
    def _is_shown(self) -> bool:
        """Whether there is something to show; what was once whole is shown while it becomes whole again."""
        return self.replica.whole or self._drawing.is_there

    def _take(self, update: Update) -> None:
        self._heard = monotonic()
        if update.time_ns < self._time_ns:
            self._beats.clear()
        self._tick, self._time_ns = update.index, update.time_ns
        self._beats.append((self._heard, update.time_ns, update.sequence))

    def _event(self, event: str, detail: str) -> None:
        if event in ("restart", "silence"):
            self.page.notify(event, detail)

    # -- what is perceived ---------------------------------------------------------------------------------------

    def _listen(self) -> None:
        """The newest message of each perception topic."""
        while (message := self._perceived.receive(0.0)) is not None:
            for ending in (DETECTION_TOPIC, GROUND_TRUTH_TOPIC):
                if f"/{message.topic.strip('/')}".endswith(ending):
                    try:
                        lines = boxes_of_message(message.json(), self._drawing.origin)
                    except (MessageError, KeyError, TypeError, ValueError, AttributeError):
                        continue  # somebody else's message under a name like ours
                    self._boxes[ending] = (monotonic(), lines)

    def _draw_boxes(self) -> None:
        recent = monotonic() - STALE_S
        for name, ending, color in (
            ("detections", DETECTION_TOPIC, DETECTED),
            ("truth", GROUND_TRUTH_TOPIC, TRUE),
        ):
            came, lines = self._boxes.get(ending, (0.0, np.zeros((0, 2, 3))))
            if not self.choices.switches[name] or came < recent:
                lines = lines[:0]
            self.page.set_lines(name, lines, color, 2.5)

    # -- the panels ----------------------------------------------------------------------------------------------

    def _tell(self) -> None:
        world, chosen = self.replica.world, self.choices
        self.page.set_html("status", status_html(self.status()))
        self.page.allow_control(self._control is not None and self._control.allowed)
        if self._is_shown:
            tree = tree_html(
                world,
                search=chosen.search,
                opened=chosen.opened,
                hidden=chosen.hidden,
                selected=chosen.selected,
            )
            self.page.set_html("tree", tree)
            self.page.set_html("inspector", inspector_html(world, chosen.selected))

    def _draw_map(self) -> None:
        drawing, drawn = self._drawing, ""
        if drawing.is_there:
            drawn = drawing.map.draw(self.replica.world, drawing.trails, self.choices.selected)
        self.page.set_html("map", map_html(drawn))

    def status(self) -> Status:
        """How the following goes."""
        silent = monotonic() - self._heard
        state = "live" if self.replica.whole else "connecting"
        if self.replica.whole and silent > SILENT_S:
            state = f"silent for {silent:.0f} s"
        elif self.replica.whole and len(self._beats) > 1 and silent > 0.5:
            state = "paused"
        rate = factor = 0.0
        if len(self._beats) > 1 and state == "live":
            (wall, sim, sequence), (wall_now, sim_now, sequence_now) = self._beats[0], self._beats[-1]
            span = max(1e-6, wall_now - wall)
            rate, factor = (sequence_now - sequence) / span, (sim_now - sim) * 1e-9 / span
        return Status(
            endpoint=self.endpoint,
            state=state,
            time_s=self._time_ns * 1e-9,
            tick=self._tick,
            rate=rate,
            factor=factor,
            dropped=self.replica.gaps,
            entities=len(self.replica.world),
        )

    # -- what people do ------------------------------------------------------------------------------------------

    def _obey(self) -> None:
        while not self.page.commands.empty():
            verb, argument = self.page.commands.get()
            world = self.replica.world
            if verb == "search":
                self.choices.search = argument.strip()
            elif verb == "switch":
                name, _, value = argument.partition(" ")
                self._turn(name, value == "1")
            elif verb == "camera":
                self._steer(world, argument)
            elif verb == "control" and self._control is not None:
                self._control.ask(argument)
            elif verb in ("zoom", "pan", "map"):
                self._next_map = 0.0
                self._drawing.map.navigate(world, verb, argument, self.choices.selected)
            elif argument.isdigit() and world.alive(entity := int(argument)):
                self._pick(world, verb, entity)
            self._next_panel = 0.0

    def _pick(self, world: World, verb: str, entity: Entity) -> None:
        chosen = self.choices
        if verb == "select":
            chosen.select(world, entity)
            if chosen.following:
                self._steer(world, "follow")
        elif verb == "fold":
            chosen.opened ^= {entity}
        elif verb == "hide":
            chosen.hidden ^= {entity}
            self._drawing.redraw()
        elif verb == "through":
            chosen.select(world, entity)
            chosen.through, chosen.following = entity, False
            self.page.hold(np.zeros(3))

    def _turn(self, name: str, value: bool) -> None:
        self.choices.switches[name] = value
        if name == "grid":
            self.page.show_furniture(value)
        elif name == "segmentation":
            self._drawing.redraw()

    def _steer(self, world: World, mode: str) -> None:
        """Move the camera `home`, let it `follow` what is selected, or leave it `free`."""
        chosen = self.choices
        if chosen.through is not None:
            chosen.through = None
            self.page.normal_lens()
        chosen.following = mode == "follow"
        if chosen.following and chosen.selected is not None:
            self._drawing.follow(world, chosen.selected)
        elif mode == "home":
            self._drawing.go_home()


def _both(first: Update | None, second: Update | None) -> Update | None:
    """Two updates as one."""
    if first is None or second is None or second.complete:
        return second if first is None or second is not None else first
    return Update(
        second.index,
        second.time_ns,
        second.sequence,
        first.complete,
        np.union1d(first.changed, second.changed),
        (*first.removed, *second.removed),
    )
