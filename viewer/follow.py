"""Following a published scene into the page: a Replica on one side, the page on the other, thirty times a second.

Everything about the world happens in the thread that runs `View.run`; clicks come in through the page's queue.
"""

from collections import deque
from collections.abc import Sequence
from math import atan2, remainder, tau
from pathlib import Path
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import Entity, Sensor, Velocity, World
from diorama.geo.rotation import rotate
from diorama.perception.parameters import DETECTION_TOPIC, GROUND_TRUTH_TOPIC
from diorama.schemas.errors import MessageError
from diorama.transport.replica import Replica, Update
from diorama.transport.subscriber import Subscriber
from diorama.viewer.appearance import Appearance, appearance
from diorama.viewer.batches import Batch, batches, same_structure, scene_center
from diorama.viewer.cameras import frustum_of, is_camera, is_lidar
from diorama.viewer.control import Control
from diorama.viewer.overlays import Trails, boxes_of_message, range_rings, selection_box, size_of
from diorama.viewer.page import SWITCHES, Page
from diorama.viewer.panels import Status, inspector_html, map_html, status_html, tree_html
from diorama.viewer.site_map import SiteMap

Floats = NDArray[np.float64]
FRAME_S = 1.0 / 30.0
PANEL_S = 0.2
MAP_S = 0.5
STALE_S = 1.0  # detections older than this are no longer shown
SILENT_S = 3.0
REBUILD_S = 0.5  # a scene whose structure changes all the time is rebuilt no more often
TURNING = 0.08  # of the difference in heading, each picture, while following
BEHIND = np.array([-0.9, 0.0, -0.36])
MOST_TRAILS = 60
MOST_LABELS = 40
MOST_FRUSTUMS = 60
TRAIL, PALE = np.array([46.0, 116.0, 214.0]), np.array([214.0, 226.0, 240.0])
DETECTED, TRUE, SELECTED, RING = (240, 110, 30), (40, 150, 80), (30, 96, 230), (40, 160, 220)


class View:
    """One scene in one page."""

    def __init__(
        self, endpoint: str, page: Page, *, service: str | None = None, assets: Sequence[Path] = ()
    ) -> None:
        self.endpoint, self.page, self._assets = endpoint, page, assets
        self._control = Control(service) if service else None
        self.replica = Replica(endpoint, on_event=self._event)
        self._perceived = Subscriber(endpoint, "/", queue=20)
        self._boxes: dict[str, tuple[float, Floats]] = {}  # lines by topic ending, and when they came
        self._switches = {name: value for name, (_, value) in SWITCHES.items()}
        self._batches: list[Batch] = []
        self._looks: dict[Entity, Appearance] = {}
        self._cameras: list[Entity] = []
        self._lidars: list[Entity] = []
        self._labelled: list[Entity] = []
        self._trails = Trails()
        self._origin = np.zeros(3)
        self._radius = 1.0
        self._ground = 0.0
        self._built: tuple[World, int] | None = None  # the world that is drawn, and its epoch then
        self._last_build = -1.0
        self._selected: Entity | None = None
        self._selected_name = ""
        self._opened: set[Entity] = set()
        self._hidden: set[Entity] = set()
        self._search = ""
        self._mode = "free"
        self._yaw = 0.0
        self._through: Entity | None = None
        self._tick, self._time_ns = 0, 0
        self._beats: deque[tuple[float, int, int]] = deque(maxlen=60)  # wall s, sim ns, sequence
        self._heard = monotonic()
        self._map = SiteMap()
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
            self._draw(update)
        if monotonic() >= self._next_panel:
            self._next_panel = monotonic() + PANEL_S
            self._tell()
        if monotonic() >= self._next_map:
            self._next_map = monotonic() + MAP_S
            drawn = self._map.draw(self.replica.world, self._trails, self._selected) if self._batches else ""
            self.page.set_html("map", map_html(drawn))
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

    def _take(self, update: Update) -> None:
        self._heard = monotonic()
        if update.time_ns < self._time_ns:
            self._beats.clear()
        self._tick, self._time_ns = update.index, update.time_ns
        self._beats.append((self._heard, update.time_ns, update.sequence))

    def _event(self, event: str, detail: str) -> None:
        if event in ("restart", "silence"):
            self.page.notify(event, detail)

    def _listen(self) -> None:
        """The newest message of each perception topic."""
        while (message := self._perceived.receive(0.0)) is not None:
            for ending in (DETECTION_TOPIC, GROUND_TRUTH_TOPIC):
                if f"/{message.topic.strip('/')}".endswith(ending):
                    try:
                        lines = boxes_of_message(message.json(), self._origin)
                    except (MessageError, KeyError, TypeError, ValueError, AttributeError):
                        continue  # somebody else's message under a name like ours
                    self._boxes[ending] = (monotonic(), lines)

    # -- drawing -------------------------------------------------------------------------------------------------

    def _draw(self, update: Update | None) -> None:
        world = self.replica.world
        if not self.replica.whole and not self._batches:
            return
        now = monotonic()
        another = self._built is None or self._built[0] is not world
        if another or (not same_structure(self._built, world) and now - self._last_build > REBUILD_S):
            self._rebuild(world)
            self._last_build = now
        elif update is not None:
            moved = np.zeros(world.table.high, np.bool_)
            moved[world.rows(update.changed)] = True
            for number, batch in enumerate(self._batches):
                if moved[batch.rows].any():
                    self.page.move_batch(number, batch.instances(world, self._origin))
        if update is not None:
            self._draw_overlays(world)
        self._draw_boxes()

    def _rebuild(self, world: World) -> None:
        """Structure changed: sort everything into batches again."""
        fresh = self._built is None or self._built[0] is not world
        self._built = (world, world.epoch)
        self._reselect(world, fresh)
        rows = world.rows(world.entities)
        if fresh:
            first = not self._batches
            self._origin = scene_center(world)
            self._measure(world.table.pose[rows, 0:3])
            self.page.set_furniture(self._radius, ground=self._ground)
            self.page.show_furniture(self._switches["grid"])
            self.page.set_home(self._middle, self._radius, jump=first)
            self._opened = {entity for entity in self._opened if world.alive(entity)}
        by_segmentation = self._switches["segmentation"]
        self._looks = {
            entity: look
            for entity in world.entities.tolist()
            if (look := appearance(world, entity, by_segmentation=by_segmentation, folders=self._assets))
            is not None
        }
        self._batches = batches(world, self._looks.get, self._concealed(world))
        self.page.set_batches(
            self._batches, [batch.instances(world, self._origin) for batch in self._batches]
        )
        moving = {int(entity) for batch in self._batches if batch.moving for entity in batch.entities}
        if world.origin is not None:
            self._map.stand(world, [entity for entity in self._looks if entity not in moving])
            if fresh:
                self._map.navigate(world, "map", "site", None)
        sensors = world.query(Sensor)
        self._cameras = [entity for entity, sensor in sensors if is_camera(sensor)][:MOST_FRUSTUMS]
        self._lidars = [entity for entity, sensor in sensors if is_lidar(sensor)][:MOST_FRUSTUMS]
        movers = [entity for entity, _ in world.query(Velocity) if world.parent(entity) is None]
        movers.sort(key=lambda entity: -size_of(world, entity))
        large = 0.6 * size_of(world, movers[0]) if movers else 0.0
        self._trails.follow(
            [entity for entity in movers[:MOST_TRAILS] if size_of(world, entity) >= 0.3 * large]
        )
        self._labelled = [entity for entity in movers[:MOST_LABELS] if size_of(world, entity) >= large > 0.0]

    def _measure(self, places: Floats) -> None:
        """Where the middle of the scene is and how far it reaches, without the farthest tenth."""
        relative = places - self._origin
        if not len(relative):
            self._middle, self._radius = np.zeros(3), 10.0
            return
        low, high = np.percentile(relative, [8, 92], axis=0)
        self._middle = 0.5 * (low + high)
        self._radius = max(2.0, 0.5 * float(np.linalg.norm(high - low)))
        self._ground = float(np.clip(relative[:, 2].max(), 0.0, 0.0))

    def _draw_overlays(self, world: World) -> None:
        shown, origin = self._switches, self._origin
        if self._trails.note(world, self._time_ns) or not shown["trails"]:
            lines, ages = self._trails.segments(origin)
            color = PALE + ages[..., None] * (TRAIL - PALE)
            visible = len(lines) if shown["trails"] else 0
            self.page.set_lines("trails", lines[:visible], color[:visible], 2.0)
        labels = {}
        if shown["labels"]:
            above = [
                entity for entity in self._labelled if entity != self._selected and entity not in self._hidden
            ]
            labels = {str(entity): (world.name(entity), self._above(world, entity)) for entity in above}
        if self._selected is not None:
            labels["selected"] = (f"◆ {self._selected_name}", self._above(world, self._selected))
        self.page.set_labels(labels)
        frustums = []
        if shown["frustums"]:
            length = min(12.0, 0.03 * self._radius)
            frustums = [
                frustum_of(world, entity, origin, length)
                for entity in self._cameras
                if entity != self._through
            ]
        self.page.set_frustums(frustums)
        self.page.set_lines(
            "rings", range_rings(world, self._lidars if shown["frustums"] else [], origin), RING, 1.5
        )
        if self._selected is not None:
            look = self._looks.get(self._selected)
            size, center = (look.size, look.center) if look else ((1.0, 1.0, 1.0), (0.0, 0.0, 0.0))
            self.page.set_lines(
                "selected", selection_box(world, self._selected, size, center, origin), SELECTED, 3.0
            )
        else:
            self.page.set_lines("selected", np.zeros((0, 2, 3)), SELECTED)
        if self._mode == "follow" and self._selected is not None:
            self._chase(world, self._selected)
        if self._through is not None:
            look = self._looks.get(self._through)
            # From before the lens: the camera's own shape would hide everything.
            ahead = look.center[0] + 0.5 * look.size[0] + 0.05 if look else 0.0
            self.page.look_through(frustum_of(world, self._through, origin, 1.0, ahead))

    def _draw_boxes(self) -> None:
        recent = monotonic() - STALE_S
        for name, ending, color in (
            ("detections", DETECTION_TOPIC, DETECTED),
            ("truth", GROUND_TRUTH_TOPIC, TRUE),
        ):
            came, lines = self._boxes.get(ending, (0.0, np.zeros((0, 2, 3))))
            if not self._switches[name] or came < recent:
                lines = lines[:0]
            self.page.set_lines(name, lines, color, 2.5)

    def _above(self, world: World, entity: Entity) -> Floats:
        """A place right above an entity."""
        look, pose = self._looks.get(entity), world.table.pose[world.row(entity)]
        place: Floats = pose[0:3] - self._origin
        if look is not None:
            place = place + rotate(pose[3:7], pose[7:10] * np.array(look.center))
            place[2] -= 0.5 * look.size[2] * pose[9] + 0.02 * max(look.size)
        return place

    def _concealed(self, world: World) -> set[Entity]:
        """What is hidden, with everything below it."""
        found: set[Entity] = set()
        if self._hidden:
            for entity in world.entities.tolist():
                if entity in self._hidden or world.parent(entity) in found:
                    found.add(entity)
        return found

    # -- the panels ----------------------------------------------------------------------------------------------

    def _tell(self) -> None:
        world = self.replica.world
        self.page.set_html("status", status_html(self.status()))
        self.page.allow_control(self._control is not None and self._control.allowed)
        if self.replica.whole or self._batches:
            self.page.set_html(
                "tree",
                tree_html(
                    world,
                    search=self._search,
                    opened=self._opened,
                    hidden=self._hidden,
                    selected=self._selected,
                ),
            )
            self.page.set_html("inspector", inspector_html(world, self._selected))

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
                self._search = argument.strip()
            elif verb == "switch":
                name, _, value = argument.partition(" ")
                self._turn(name, value == "1")
            elif verb == "camera":
                self._steer(world, argument)
            elif verb == "control" and self._control is not None:
                self._control.ask(argument)
            elif verb in ("zoom", "pan", "map"):
                self._next_map = 0.0
                self._map.navigate(world, verb, argument, self._selected)
            elif argument.isdigit() and world.alive(entity := int(argument)):
                self._pick(world, verb, entity)
            self._next_panel = 0.0

    def _pick(self, world: World, verb: str, entity: Entity) -> None:
        if verb == "select":
            self._select(world, entity)
        elif verb == "fold":
            self._opened ^= {entity}
        elif verb == "hide":
            self._hidden ^= {entity}
            self._redraw()
        elif verb == "through":
            self._select(world, entity)
            self._through, self._mode = entity, "free"
            self.page.hold(np.zeros(3))

    def _select(self, world: World, entity: Entity) -> None:
        self._selected, self._selected_name = entity, world.name(entity)
        above = world.parent(entity)
        while above is not None:
            self._opened.add(above)
            above = world.parent(above)
        if self._mode == "follow":
            self._steer(world, "follow")

    def _reselect(self, world: World, fresh: bool) -> None:
        """Handles mean something else in another world: find the selected one by its name."""
        if self._selected is not None and (fresh or not world.alive(self._selected)):
            self._selected = world.names.get(self._selected_name)
        if fresh:
            self._hidden.clear()
        if self._through is not None and (fresh or not world.alive(self._through)):
            self._through = None
            self.page.normal_lens()

    def _chase(self, world: World, entity: Entity) -> None:
        """Keep an entity in the middle and its nose ahead, without jerks."""
        self._yaw += TURNING * remainder(_heading(world, entity) - self._yaw, tau)
        self.page.hold(world.table.pose[world.row(entity), 0:3] - self._origin, self._yaw)

    def _turn(self, name: str, value: bool) -> None:
        self._switches[name] = value
        if name == "grid":
            self.page.show_furniture(value)
        elif name == "segmentation":
            self._redraw()

    def _redraw(self) -> None:
        """Sort everything into batches again with the next picture."""
        if self._built is not None:
            self._built = (self._built[0], -1)
            self._last_build = -1.0

    def _steer(self, world: World, mode: str) -> None:
        if self._through is not None:
            self._through = None
            self.page.normal_lens()
        self._mode = mode
        if mode == "follow" and self._selected is not None:
            look = self._looks.get(self._selected)
            away = 3.0 * max(look.size) if look else 20.0
            self._yaw = _heading(world, self._selected)
            self._chase(world, self._selected)
            self.page.look(away * BEHIND, np.zeros(3))
        elif mode == "home":
            self._mode = "free"
            self.page.hold(np.zeros(3))
            self.page.set_home(self._middle, self._radius, jump=True)


def _heading(world: World, entity: Entity) -> float:
    """Where an entity's nose points, in rad east of north."""
    north, east, _ = rotate(world.table.pose[world.row(entity), 3:7], (1.0, 0.0, 0.0)).tolist()
    return atan2(east, north)


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
