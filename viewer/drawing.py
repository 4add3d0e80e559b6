"""A world drawn on the page: batches of shapes, and over them trails, labels, frustums and what is selected."""

from collections.abc import Sequence
from math import atan2, remainder, tau
from pathlib import Path
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import Entity, Sensor, Velocity, World
from diorama.geo.rotation import rotate
from diorama.transport.replica import Update
from diorama.viewer.appearance import Appearance, appearance
from diorama.viewer.batches import Batch, batches, same_structure, scene_center
from diorama.viewer.cameras import frustum_of, is_camera, is_lidar
from diorama.viewer.choices import Choices
from diorama.viewer.overlays import Trails, range_rings, selection_box, size_of
from diorama.viewer.page import Page
from diorama.viewer.site_map import SiteMap

Floats = NDArray[np.float64]
REBUILD_S = 0.5  # a scene whose structure changes all the time is rebuilt no more often
TURNING = 0.08  # of the difference in heading, each picture, while following
BEHIND = np.array([-0.9, 0.0, -0.36])
MOST_TRAILS = 60
MOST_LABELS = 40
MOST_FRUSTUMS = 60
TRAIL, PALE = np.array([46.0, 116.0, 214.0]), np.array([214.0, 226.0, 240.0])
SELECTED, RING = (30, 96, 230), (40, 160, 220)


class Drawing:
    """What of a world is on the page, and where its camera is. Places on the page count from `origin` (NED m)."""

    def __init__(self, page: Page, choices: Choices, assets: Sequence[Path] = ()) -> None:
        self.page, self.choices, self._assets = page, choices, assets
        self.origin = np.zeros(3)
        self.trails = Trails()
        self.map = SiteMap()
        self._batches: list[Batch] = []
        self._looks: dict[Entity, Appearance] = {}
        self._cameras: list[Entity] = []
        self._lidars: list[Entity] = []
        self._labelled: list[Entity] = []
        self._middle, self._radius = np.zeros(3), 1.0
        self._built: tuple[World, int] | None = None  # the world that is drawn, and its epoch then
        self._last_build = -1.0
        self._yaw = 0.0

    @property
    def is_there(self) -> bool:
        """Whether anything has been drawn yet."""
        return bool(self._batches)

    def draw(self, world: World, update: Update | None, time_ns: int) -> None:
        """Draw what an update changed, or everything when the structure is another."""
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
                    self.page.move_batch(number, batch.instances(world, self.origin))
        if update is not None:
            self._draw_trails(world, time_ns)
            self._draw_labels(world)
            self._draw_sensors(world)
            self._draw_selected(world)
            self._move_camera(world)

    def redraw(self) -> None:
        """Sort everything into batches again with the next picture."""
        if self._built is not None:
            self._built = (self._built[0], -1)
            self._last_build = -1.0

    # -- the camera ----------------------------------------------------------------------------------------------

    def follow(self, world: World, entity: Entity) -> None:
        """Put the camera behind an entity; it stays there while `choices.following`."""
        look = self._looks.get(entity)
        self._yaw = _heading(world, entity)
        self._chase(world, entity)
        self.page.look((3.0 * max(look.size) if look else 20.0) * BEHIND, np.zeros(3))

    def go_home(self) -> None:
        """Put the camera where it began."""
        self.page.hold(np.zeros(3))
        self.page.set_home(self._middle, self._radius, jump=True)

    def _move_camera(self, world: World) -> None:
        chosen = self.choices
        if chosen.following and chosen.selected is not None:
            self._chase(world, chosen.selected)
        if chosen.through is not None:
            look = self._looks.get(chosen.through)
            # From before the lens: the camera's own shape would hide everything.
            ahead = look.center[0] + 0.5 * look.size[0] + 0.05 if look else 0.0
            self.page.look_through(frustum_of(world, chosen.through, self.origin, 1.0, ahead))

    def _chase(self, world: World, entity: Entity) -> None:
        """Keep an entity in the middle and its nose ahead, without jerks."""
        self._yaw += TURNING * remainder(_heading(world, entity) - self._yaw, tau)
        self.page.hold(world.table.pose[world.row(entity), 0:3] - self.origin, self._yaw)

    # -- the shapes ----------------------------------------------------------------------------------------------

    def _rebuild(self, world: World) -> None:
        """Structure changed: sort everything into batches again."""
        fresh = self._built is None or self._built[0] is not world
        self._built = (world, world.epoch)
        looked_through = self.choices.through
        self.choices.carry_over(world, fresh=fresh)
        if self.choices.through != looked_through:
            self.page.normal_lens()
        if fresh:
            self._furnish(world)
        by_segmentation = self.choices.switches["segmentation"]
        self._looks = {
            entity: look
            for entity in world.entities.tolist()
            if (look := appearance(world, entity, by_segmentation=by_segmentation, folders=self._assets))
            is not None
        }
        self._batches = batches(world, self._looks.get, self.choices.concealed(world))
        self.page.set_batches(self._batches, [batch.instances(world, self.origin) for batch in self._batches])
        moving = {int(entity) for batch in self._batches if batch.moving for entity in batch.entities}
        if world.origin is not None:
            self.map.stand(world, [entity for entity in self._looks if entity not in moving])
            if fresh:
                self.map.navigate(world, "map", "site", None)
        sensors = world.query(Sensor)
        self._cameras = [entity for entity, sensor in sensors if is_camera(sensor)][:MOST_FRUSTUMS]
        self._lidars = [entity for entity, sensor in sensors if is_lidar(sensor)][:MOST_FRUSTUMS]
        movers = [entity for entity, _ in world.query(Velocity) if world.parent(entity) is None]
        movers.sort(key=lambda entity: -size_of(world, entity))
        large = 0.6 * size_of(world, movers[0]) if movers else 0.0
        self.trails.follow(
            [entity for entity in movers[:MOST_TRAILS] if size_of(world, entity) >= 0.3 * large]
        )
        self._labelled = [entity for entity in movers[:MOST_LABELS] if size_of(world, entity) >= large > 0.0]

    def _furnish(self, world: World) -> None:
        """Another world: grid, axes and camera for where it is and how far it reaches."""
        first = not self.is_there
        self.origin = scene_center(world)
        self._middle, self._radius = _extent(world.table.pose[world.rows(world.entities), 0:3] - self.origin)
        self.page.set_furniture(self._radius)
        self.page.show_furniture(self.choices.switches["grid"])
        self.page.set_home(self._middle, self._radius, jump=first)

    # -- what lies over them -------------------------------------------------------------------------------------

    def _draw_trails(self, world: World, time_ns: int) -> None:
        shown = self.choices.switches["trails"]
        if self.trails.note(world, time_ns) or not shown:
            lines, ages = self.trails.segments(self.origin)
            color = PALE + ages[..., None] * (TRAIL - PALE)
            visible = len(lines) if shown else 0
            self.page.set_lines("trails", lines[:visible], color[:visible], 2.0)

    def _draw_labels(self, world: World) -> None:
        chosen, labels = self.choices, {}
        if chosen.switches["labels"]:
            labels = {
                str(entity): (world.name(entity), self._above(world, entity))
                for entity in self._labelled
                if entity != chosen.selected and entity not in chosen.hidden
            }
        if chosen.selected is not None:
            labels["selected"] = (f"◆ {chosen.name}", self._above(world, chosen.selected))
        self.page.set_labels(labels)

    def _draw_sensors(self, world: World) -> None:
        shown, length = self.choices.switches["frustums"], min(12.0, 0.03 * self._radius)
        cameras = [entity for entity in self._cameras if entity != self.choices.through] if shown else []
        self.page.set_frustums([frustum_of(world, entity, self.origin, length) for entity in cameras])
        self.page.set_lines(
            "rings", range_rings(world, self._lidars if shown else [], self.origin), RING, 1.5
        )

    def _draw_selected(self, world: World) -> None:
        lines = np.zeros((0, 2, 3))
        if self.choices.selected is not None:
            look = self._looks.get(self.choices.selected)
            size, center = (look.size, look.center) if look else ((1.0, 1.0, 1.0), (0.0, 0.0, 0.0))
            lines = selection_box(world, self.choices.selected, size, center, self.origin)
        self.page.set_lines("selected", lines, SELECTED, 3.0)

    def _above(self, world: World, entity: Entity) -> Floats:
        """A place right above an entity."""
        look, pose = self._looks.get(entity), world.table.pose[world.row(entity)]
        place: Floats = pose[0:3] - self.origin
        if look is not None:
            place = place + rotate(pose[3:7], pose[7:10] * np.array(look.center))
            place[2] -= 0.5 * look.size[2] * pose[9] + 0.02 * max(look.size)
        return place


def _extent(places: Floats) -> tuple[Floats, float]:
    """Where the middle of some places is and how far they reach, without the farthest tenth."""
    if not len(places):
        return np.zeros(3), 10.0
    low, high = np.percentile(places, [8, 92], axis=0)
    return 0.5 * (low + high), max(2.0, 0.5 * float(np.linalg.norm(high - low)))


def _heading(world: World, entity: Entity) -> float:
    """Where an entity's nose points, in rad east of north."""
    north, east, _ = rotate(world.table.pose[world.row(entity), 3:7], (1.0, 0.0, 0.0)).tolist()
    return atan2(east, north)
