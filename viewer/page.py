"""The page in the browser: nodes, panels and clicks. The only home of viser; it knows arrays and HTML, and no worlds.

The page's axes are the world's own, north-east-down, with up set to -z: nothing is converted. All nodes hang under
`/world`, which is moved the other way to follow something: the camera stays the user's own.
"""

from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diorama.schemas.errors import missing_extra
from diorama.viewer.batches import Batch
from diorama.viewer.cameras import Frustum
from diorama.viewer.choices import SWITCHES
from diorama.viewer.earth_map import round_length

try:
    import viser
except ImportError:
    missing_extra("viewer", "the page in the browser")

Floats = NDArray[np.float64]
ROOT = "/world"
GROUND, HORIZON, SKY = (168, 186, 160), (196, 217, 240), (136, 182, 232)


class Page:
    """A server with one scene and its panels. What people do arrives in `commands` as (verb, argument) pairs."""

    def __init__(self, *, host: str = "127.0.0.1", port: int = 8080, title: str = "diorama") -> None:
        self.commands: SimpleQueue[tuple[str, str]] = SimpleQueue()
        with redirect_stdout(StringIO()):  # it greets at length
            self._server = viser.ViserServer(host=host, port=port, label=title, verbose=False)
        self._nodes: list[list[Any]] = []  # of each batch, one for each colour of its shape
        self._labels: dict[str, Any] = {}
        self._frustums: dict[str, tuple[tuple[float, float, float], Any]] = {}
        self._lines: dict[str, Any] = {}
        self._html: dict[str, Any] = {}
        self._told: dict[str, str] = {}
        self._furniture: list[Any] = []
        self._server.scene.set_up_direction("-z")
        self._root = self._server.scene.add_frame(ROOT, show_axes=False)
        self._light()
        self._panels(title)

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{self._server.get_host()}:{self._server.get_port()}"

    def close(self) -> None:
        """End the page."""
        with redirect_stdout(StringIO()):
            self._server.stop()

    def together(self) -> Any:
        """A context in which all changes reach the browser in one go."""
        return self._server.atomic()

    # -- the scene -----------------------------------------------------------------------------------------------

    def set_batches(self, batches: Sequence[Batch], placed: Sequence[tuple[Any, Any, Any]]) -> None:
        """Draw these batches and nothing else; `placed` are the instances of each."""
        for node in (node for nodes in self._nodes for node in nodes):
            node.remove()
        self._nodes = [
            self._batch_nodes(number, batch, instances)
            for number, (batch, instances) in enumerate(zip(batches, placed, strict=True))
        ]

    def _batch_nodes(self, number: int, batch: Batch, placed: tuple[Any, Any, Any]) -> list[Any]:
        position, w_first, size = placed
        nodes = []
        for index, part in enumerate(batch.shape.parts):
            node = self._server.scene.add_batched_meshes_simple(
                f"{ROOT}/entities/{number}_{index}",
                part.mesh.vertices.astype(np.float32),
                part.mesh.faces,
                w_first,
                position,
                batched_scales=size,
                batched_colors=_linear(batch.color if part.color is None else part.color),
                flat_shading=True,
                side="double",
                lod="off",
                cast_shadow=False,
                receive_shadow=False,
            )
            self._selects(node, batch.entities.tolist())
            nodes.append(node)
        return nodes

    def _selects(self, node: Any, entities: list[int]) -> None:
        def select(event: Any) -> None:
            if event.instance_index is not None and event.instance_index < len(entities):
                self.commands.put(("select", str(entities[event.instance_index])))

        node.on_click(select)

    def move_batch(self, number: int, placed: tuple[Any, Any, Any]) -> None:
        """New poses for one batch."""
        position, w_first, size = placed
        for node in self._nodes[number]:
            node.batched_positions = position
            node.batched_wxyzs = w_first
            node.batched_scales = size

    def set_lines(self, name: str, segments: Floats, color: Any, thickness: float = 2.0) -> None:
        """Draw (n, 2, 3) segments under a name, in pixels of thickness; none takes the name away."""
        if not len(segments):
            if name in self._lines:
                self._lines.pop(name).remove()
            return
        points = np.asarray(segments, np.float32)
        colors = np.asarray(color, np.uint8)
        node = self._lines.get(name)
        if (
            node is None
            or node.colors.shape != colors.shape
            or (colors.ndim > 1 and len(node.points) != len(points))
        ):
            self._lines[name] = self._server.scene.add_line_segments(
                f"{ROOT}/lines/{name}", points, colors, thickness=thickness, thickness_units="screen"
            )
            return
        node.points = points
        if colors.ndim > 1:
            node.colors = colors

    def set_labels(self, labels: Mapping[str, tuple[str, Floats]]) -> None:
        """Show texts at places (NED m), by key."""
        for key in self._labels.keys() - labels.keys():
            self._labels.pop(key).remove()
        for key, (text, place) in labels.items():
            node = self._labels.get(key)
            if node is None:
                self._labels[key] = self._server.scene.add_label(
                    f"{ROOT}/labels/{key}",
                    text,
                    position=place,
                    anchor="bottom-center",
                    font_screen_scale=0.8,
                )
            else:
                node.position = place
                if node.text != text:
                    node.text = text

    def set_frustums(self, frustums: Sequence[Frustum]) -> None:
        """Show what cameras see; a click on one looks through it."""
        wanted = {frustum.key for frustum in frustums}
        for key in self._frustums.keys() - wanted:
            self._frustums.pop(key)[1].remove()
        for frustum in frustums:
            form = (frustum.fov, frustum.aspect, frustum.length)
            known = self._frustums.get(frustum.key)
            if known is None or known[0] != form:
                node = self._server.scene.add_camera_frustum(
                    f"{ROOT}/frustums/{frustum.key}",
                    fov=frustum.fov,
                    aspect=frustum.aspect,
                    scale=frustum.length,
                    color=(240, 140, 40),
                    thickness=1.5,
                    thickness_units="screen",
                    wxyz=frustum.w_first,
                    position=frustum.position,
                    cast_shadow=False,
                    receive_shadow=False,
                    variant="filled",
                )
                self._looks_through(node, frustum.key)
                self._frustums[frustum.key] = (form, node)
            else:
                known[1].wxyz, known[1].position = frustum.w_first, frustum.position

    def _looks_through(self, node: Any, key: str) -> None:
        node.on_click(lambda _: self.commands.put(("through", key)))

    def set_furniture(self, radius: float) -> None:
        """The ground, a grid on it and the arrows north, east and up, for a scene of that size (m)."""
        for node in self._furniture:
            node.remove()
        section = round_length(0.25 * radius)
        scene = self._server.scene
        grid = scene.add_grid(
            f"{ROOT}/grid",
            plane="xy",
            infinite_grid=True,
            cell_size=section / 5,
            section_size=section,
            cell_color=(200, 212, 202),
            section_color=(176, 192, 184),
            cell_thickness=0.5,
            section_thickness=0.9,
            fade_distance=radius * 9,
            shadow_opacity=0.0,
            position=(0.0, 0.0, 0.0004 * radius),
        )
        angle = np.linspace(0.0, 2 * np.pi, 65)[:-1]
        rim = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(64)]) * 60.0 * radius
        here = np.arange(64, dtype=np.uint32)
        floor = scene.add_mesh_simple(
            f"{ROOT}/floor",
            np.concatenate([rim, np.zeros((1, 3))]).astype(np.float32),
            np.column_stack([np.full(64, 64, np.uint32), (here + 1) % 64, here]),
            color=GROUND,
            side="double",
            cast_shadow=False,
            receive_shadow=False,
            position=(0.0, 0.0, 0.0008 * radius),
        )
        length = round_length(0.2 * radius)
        ends = np.zeros((3, 2, 3))
        ends[0, 1, 0] = ends[1, 1, 1] = length
        ends[2, 1, 2] = -length
        ends[:, :, 2] -= 0.004 * radius
        colors = np.array([(214, 58, 52), (46, 150, 72), (48, 104, 214)], np.uint8)
        thin = 0.012 * length
        arrows = scene.add_arrows(
            f"{ROOT}/axes", ends, colors, shaft_radius=thin, head_radius=3 * thin, head_length=9 * thin
        )
        names = (("north", (1.06, 0.0, 0.0)), ("east", (0.0, 1.06, 0.0)), ("up", (0.0, 0.0, -1.06)))
        texts = [
            scene.add_label(
                f"{ROOT}/axes/{name}",
                name,
                position=np.array(place) * length,
                anchor="center-center",
            )
            for name, place in names
        ]
        self._furniture = [*texts, arrows, grid, floor]
        scene.configure_fog(3.0 * radius, 14.0 * radius, color=HORIZON)

    def show_furniture(self, visible: bool) -> None:
        """Show or hide grid and axes."""
        for node in self._furniture:
            node.visible = visible

    # -- the camera ----------------------------------------------------------------------------------------------

    def set_home(self, target: ArrayLike, radius: float, *, jump: bool) -> None:
        """Where the camera starts and returns to: south of the target and above it, looking north."""
        goal = np.asarray(target, np.float64)
        place = goal + radius * np.array([-0.80, -0.42, -0.50])
        start = self._server.initial_camera
        start.near, start.far = float(np.clip(radius / 1500.0, 0.01, 1.0)), max(1000.0, 60.0 * radius)
        start.position, start.look_at = place, goal
        if jump:
            for client in self._server.get_clients().values():
                with client.atomic():
                    client.camera.near, client.camera.far = start.near, start.far
                self.look(place, goal)

    def look(self, place: ArrayLike, target: ArrayLike) -> None:
        """Put everybody's camera there, looking at the target."""
        for client in self._server.get_clients().values():
            with client.atomic():
                client.camera.up_direction = np.array([0.0, 0.0, -1.0])
                client.camera.position = np.asarray(place, np.float64)
                client.camera.look_at = np.asarray(target, np.float64)

    def look_through(self, frustum: Frustum) -> None:
        """Put everybody's camera where a camera of the scene is."""
        for client in self._server.get_clients().values():
            with client.atomic():
                client.camera.wxyz = frustum.w_first
                client.camera.position = frustum.position
                client.camera.fov = frustum.fov

    def normal_lens(self) -> None:
        """Back to the usual field of view."""
        for client in self._server.get_clients().values():
            client.camera.fov = 0.9

    def hold(self, place: ArrayLike, yaw: float = 0.0) -> None:
        """Keep that place (NED m) at the page's origin and that heading ahead: the scene moves, not the camera."""
        cos, sin = np.cos(yaw), np.sin(yaw)
        north, east, down = np.asarray(place, np.float64)
        self._root.wxyz = (np.cos(-0.5 * yaw), 0.0, 0.0, np.sin(-0.5 * yaw))
        self._root.position = (-(cos * north + sin * east), sin * north - cos * east, -down)

    # -- the panels ----------------------------------------------------------------------------------------------

    def set_html(self, panel: str, html: str) -> None:
        """The content of one of the panels `status`, `tree`, `inspector`, `map`."""
        if self._told.get(panel) != html:
            self._told[panel] = html
            self._html[panel].content = html

    def notify(self, title: str, text: str) -> None:
        """A note at the edge of everybody's page that goes away by itself."""
        for client in self._server.get_clients().values():
            client.add_notification(title, text, auto_close_seconds=4.0)

    def allow_control(self, allowed: bool) -> None:
        """Whether pause, step and resume are there to be pressed."""
        if self._control.visible != allowed:
            self._control.visible = allowed

    def _panels(self, title: str) -> None:
        gui = self._server.gui
        gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(46, 116, 214))
        gui.set_panel_label(title)
        left = gui.add_panel()
        with left.add_tab("Scene", viser.Icon.LIST_TREE):
            search = gui.add_text("Search", "")
            search.on_update(lambda _: self.commands.put(("search", search.value)))
            self._talking_html("tree")
        left.dock_left()
        left.set_width(310)
        below = gui.add_panel()
        with below.add_tab("Map", viser.Icon.MAP_2):
            self._talking_html("map")
        below.dock_below(left)
        self._html["status"] = gui.add_html("")
        self._control = gui.add_button_group("Time", ("pause", "step", "resume"), visible=False)
        self._control.on_click(lambda _: self.commands.put(("control", self._control.value)))
        camera = gui.add_button_group("Camera", ("home", "follow", "free"))
        camera.on_click(lambda _: self.commands.put(("camera", camera.value)))
        with gui.add_folder("Selected"):
            self._talking_html("inspector")
        with gui.add_folder("Show", expand_by_default=True):
            for name, (label, value) in SWITCHES.items():
                self._switch(gui.add_checkbox(label, value), name)
        gui.main_panel.dock_right()
        gui.main_panel.set_width(330)

    def _switch(self, box: Any, name: str) -> None:
        box.on_update(lambda _: self.commands.put(("switch", f"{name} {int(box.value)}")))

    def _talking_html(self, panel: str) -> None:
        """HTML with the unseen text field through which it tells what was clicked."""
        field = self._server.gui.add_text(panel, "")

        @field.on_update
        def _(_event: Any) -> None:
            verb, _, rest = field.value.partition(" ")
            argument = rest.rpartition(" ")[0]  # the last word is the time of the click
            if verb and argument:
                self.commands.put((verb, argument))

        self._html[panel] = self._server.gui.add_html("<div class='dio-live'></div>")

    def _light(self) -> None:
        scene = self._server.scene
        part = np.linspace(0.0, 1.0, 256)[:, None, None] ** 0.6
        sky = np.array(SKY) + part * (np.array(HORIZON) - np.array(SKY))
        scene.set_background_image(np.broadcast_to(sky, (256, 4, 3)).astype(np.uint8), format="png")
        scene.configure_default_lights(enabled=False, cast_shadow=False)
        scene.add_light_hemisphere(
            "/light/sky", sky_color=(250, 252, 255), ground_color=(140, 150, 140), intensity=1.25
        )
        # A directional light shines along its own axis from where it stands.
        scene.add_light_directional(
            "/light/sun", color=(255, 244, 224), intensity=1.5, position=(-600.0, -900.0, -1200.0)
        )


def _linear(color: ArrayLike) -> NDArray[np.uint8]:
    """Colours as people write them (sRGB), the way instances are drawn: in amounts of light."""
    light: NDArray[np.uint8] = np.round(255.0 * (np.asarray(color) / 255.0) ** 2.2).astype(np.uint8)
    return light
