"""What people chose on the page: what is selected, unfolded, hidden, searched for and switched on."""

from dataclasses import dataclass, field

from diorama.ecs import Entity, World

# What can be switched on and off: the words beside the box, and how it is at first.
SWITCHES = {
    "labels": ("Labels", True),
    "trails": ("Trails", True),
    "frustums": ("Cameras and LiDARs", True),
    "detections": ("Detections", True),
    "truth": ("Ground truth", False),
    "grid": ("Grid and axes", True),
    "segmentation": ("Colours by segmentation id", False),
}


@dataclass(slots=True)
class Choices:
    """The state of one page. `through` is the camera that is looked through, `name` that of the selected entity."""

    selected: Entity | None = None
    name: str = ""
    opened: set[Entity] = field(default_factory=set)
    hidden: set[Entity] = field(default_factory=set)
    search: str = ""
    following: bool = False
    through: Entity | None = None
    switches: dict[str, bool] = field(
        default_factory=lambda: {name: on for name, (_, on) in SWITCHES.items()}
    )

    def select(self, world: World, entity: Entity) -> None:
        """Select an entity, and unfold the tree down to it."""
        self.selected, self.name = entity, world.name(entity)
        above = world.parent(entity)
        while above is not None:
            self.opened.add(above)
            above = world.parent(above)

    def carry_over(self, world: World, *, fresh: bool) -> None:
        """Keep what still means something in a world that changed.

        In another one (`fresh`) handles mean something else: the selected one is found by its name.
        """
        if self.selected is not None and (fresh or not world.alive(self.selected)):
            self.selected = world.names.get(self.name)
        if self.through is not None and (fresh or not world.alive(self.through)):
            self.through = None
        if fresh:
            self.hidden.clear()
            self.opened = {entity for entity in self.opened if world.alive(entity)}

    def concealed(self, world: World) -> set[Entity]:
        """What is hidden, with everything below it."""
        found: set[Entity] = set()
        if self.hidden:
            for entity in world.entities.tolist():
                if entity in self.hidden or world.parent(entity) in found:
                    found.add(entity)
        return found
