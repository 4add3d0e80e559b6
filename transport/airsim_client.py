"""A client with the method names of Project AirSim's `World`, for programs that were written against it.

    with AirSimClient() as world:
        world.pause()
        world.continue_for_n_steps(10)
        world.get_object_pose("Drone1")["translation"]

Poses are dictionaries as Project AirSim's: `{"translation": {"x", "y", "z"}, "rotation": {"w", "x", "y", "z"}}`.
Unlike there, an unknown object is an error, not a pose of NaNs.
"""

from collections.abc import Callable, Mapping
from time import monotonic, sleep
from typing import Any, Self

from diorama.transport.client import Client
from diorama.transport.methods import NoAnswerError, RefusedError
from diorama.transport.security import ClientSecurity
from diorama.transport.subscriber import Subscriber

Pose = dict[str, dict[str, float]]
SPAWNED = "spawned object"
LOOK_AGAIN_S = 0.002


class AirSimClient:
    """Commands and questions by Project AirSim's names; `client` is the plain one underneath."""

    def __init__(
        self,
        service: str = "tcp://127.0.0.1:5556",
        publisher: str = "tcp://127.0.0.1:5555",
        *,
        timeout_s: float = 10.0,
        security: ClientSecurity | None = None,
    ) -> None:
        self.client = Client(service, timeout_s=timeout_s, security=security)
        self._publisher = publisher
        self._security = security

    # -- time ----------------------------------------------------------------------------------------------------

    def get_sim_clock_type(self) -> str:
        """`steppable` or `real-time`."""
        return str(self._clock()["type"])

    def get_sim_time(self) -> int:
        """Simulated nanoseconds."""
        return int(self._clock()["time_ns"])

    def is_paused(self) -> bool:
        """Whether the clock stands."""
        return bool(self._clock()["is_paused"])

    def pause(self) -> None:
        """Stop the clock."""
        self.client.pause()

    def resume(self) -> None:
        """Let the clock run."""
        self.client.resume()

    def continue_for_sim_time(self, delta_time_ns: int, wait_until_complete: bool = True) -> int:
        """Run for a simulated time, then pause; returns the time reached."""
        return self._go_on(wait_until_complete, "continue_for", duration_ns=delta_time_ns)

    def continue_until_sim_time(self, target_time_ns: int, wait_until_complete: bool = True) -> int:
        """Run until a simulated time, then pause; returns the time reached."""
        return self._go_on(wait_until_complete, "continue_until", time_ns=target_time_ns)

    def continue_for_n_steps(self, n_steps: int, wait_until_complete: bool = True) -> int:
        """Run so many steps, then pause; returns the time reached."""
        return self._go_on(wait_until_complete, "step", ticks=n_steps)

    def continue_for_single_step(self, wait_until_complete: bool = True) -> int:
        """Run one step, then pause; returns the time reached."""
        return self.continue_for_n_steps(1, wait_until_complete)

    # -- objects -------------------------------------------------------------------------------------------------

    def list_actors(self) -> list[str]:
        """The names of all robots."""
        return self.client.list_actors()

    def list_objects(self, name_regex: str = ".*") -> list[str]:
        """The names of all objects that a regular expression matches whole."""
        return self.client.list_objects(name_regex)

    def get_object_pose(self, object_name: str) -> Pose:
        """Where an object is, NED metres."""
        found = self.client.where(object_name)
        (x, y, z), (qx, qy, qz, qw) = found["position"], found["orientation"]
        return {
            "translation": {"x": x, "y": y, "z": z},
            "rotation": {"w": qw, "x": qx, "y": qy, "z": qz},
        }

    def get_object_poses(self, object_names: list[str]) -> list[Pose]:
        """Where some objects are."""
        return [self.get_object_pose(name) for name in object_names]

    def set_object_pose(
        self,
        object_name: str,
        pose: Mapping[str, Mapping[str, float]],
        teleport: bool = True,  # noqa: ARG002
    ) -> bool:
        """Put an object somewhere, NED metres; there is nothing it could sweep into, so it always teleports."""
        position, orientation = _parts(pose)
        self.client.set_pose(object_name, position=position, orientation=orientation, space="world")
        return True

    def get_object_scale(self, object_name: str) -> list[float]:
        """The scale of an object relative to its parent."""
        return list(self.client.entity(object_name)["scale"])

    def set_object_scale(self, object_name: str, scale: list[float]) -> bool:
        """Scale an object relative to its parent."""
        self.client.set_pose(object_name, scale=scale)
        return True

    def spawn_object(
        self,
        object_name: str,
        asset_path: str,
        pose: Mapping[str, Mapping[str, float]],
        scale: list[float],
        enable_physics: bool = False,
    ) -> str:
        """Make an object; returns its name, with a number at the end if it was taken."""
        position, orientation = _parts(pose)
        return self._spawn(object_name, asset_path, position, orientation, scale, enable_physics)

    def spawn_object_at_geo(
        self,
        object_name: str,
        asset_path: str,
        latitude: float,
        longitude: float,
        altitude: float,
        rotation: list[float],
        scale: list[float],
        enable_physics: bool = False,
    ) -> str:
        """Make an object at a place on Earth; `rotation` is a quaternion w, x, y, z."""
        position = self.client.convert([[latitude, longitude, altitude]], "lla", "ned")[0].tolist()
        w, x, y, z = rotation
        return self._spawn(object_name, asset_path, position, [x, y, z, w], scale, enable_physics)

    def destroy_object(self, object_name: str) -> bool:
        """Take an object away; False when there was none."""
        try:
            self.client.despawn(object_name)
        except RefusedError:
            return False
        return True

    def destroy_all_spawned_objects(self) -> bool:
        """Take away everything that was made by `spawn_object`, by whomever."""
        for name in self.client.list_actors(SPAWNED):
            self.destroy_object(name)
        return True

    # -- segmentation, wind, scene -------------------------------------------------------------------------------

    def get_segmentation_id_by_name(self, mesh_name: str, use_owner_name: bool = True) -> int:
        """The id of an object; -1 when it has none."""
        return self.client.segmentation_id(mesh_name, use_owner_name=use_owner_name)

    def set_segmentation_id_by_name(
        self, mesh_name: str, segmentation_id: int, is_name_regex: bool = False, use_owner_name: bool = True
    ) -> bool:
        """Give objects an id; False when there is none of that name."""
        try:
            self.client.set_segmentation_id(
                mesh_name, segmentation_id, is_regex=is_name_regex, use_owner_name=use_owner_name
            )
        except RefusedError:
            return False
        return True

    def get_segmentation_id_map(self) -> dict[str, int]:
        """The ids of all objects that have one."""
        return self.client.segmentation_ids()

    def get_wind_velocity(self) -> tuple[float, float, float]:
        """The wind in m/s, NED."""
        x, y, z = (self.client.get_resource("wind") or {}).get("velocity", (0.0, 0.0, 0.0))
        return float(x), float(y), float(z)

    def set_wind_velocity(self, v_x: float, v_y: float, v_z: float) -> bool:
        """Set the wind in m/s, NED."""
        self.client.set_resource("wind", {"velocity": [v_x, v_y, v_z]})
        return True

    def load_scene(self, scene_config_name: str | None = None) -> str:
        """Load another scene file, or the same again; returns its id. A bad file leaves the running scene as it is."""
        self.client.reload(scene_config_name)
        return str(self.client.get_resource("scene_id"))

    # -- topics --------------------------------------------------------------------------------------------------

    def topic(self, robot: str, name: str = "actual_pose") -> str:
        """The name of a robot's topic, such as `/Sim/<scene>/robots/<robot>/actual_pose`."""
        return f"/Sim/{self.client.get_resource('scene_id')}/robots/{robot}/{name}"

    def subscribe(self, topic: str) -> Subscriber:
        """Listen to a topic; iterate over what is returned, or call its `receive`."""
        return Subscriber(self._publisher, topic, security=self._security)

    def close(self) -> None:
        """End."""
        self.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    # -- inside --------------------------------------------------------------------------------------------------

    def _clock(self) -> dict[str, Any]:
        return self.client.clock()

    def _go_on(self, wait: bool, method: str, **params: Any) -> int:
        self.client.request(method, **params)
        if wait:
            self._wait(lambda: self.is_paused())
        return self.get_sim_time()

    def _wait(self, done: Callable[[], bool]) -> None:
        """Ask until it is so. How long a run takes only its clock knows: as long as it answers, one waits."""
        last, heard = self.get_sim_time(), monotonic()
        while not done():
            sleep(LOOK_AGAIN_S)
            now = self.get_sim_time()
            if now != last:
                last, heard = now, monotonic()
            elif monotonic() - heard > self.client.timeout_s:
                raise NoAnswerError(f"the clock stands at {now} ns without being paused")

    def _spawn(
        self,
        name: str,
        asset: str,
        position: list[float],
        orientation: list[float],
        scale: list[float],
        enable_physics: bool,
    ) -> str:
        taken = set(self.list_objects())
        free = name
        number = 1
        while free in taken:
            free, number = f"{name}{number}", number + 1
        actor = {"type": SPAWNED, "settings": {"physics-enabled": enable_physics}}
        self.client.spawn(
            free,
            asset=asset,
            position=position,
            orientation=orientation,
            scale=scale,
            components={"airsim_actor": actor},
        )
        return free


def _parts(pose: Mapping[str, Mapping[str, float]]) -> tuple[list[float], list[float]]:
    place, turn = pose["translation"], pose["rotation"]
    return [place["x"], place["y"], place["z"]], [turn["x"], turn["y"], turn["z"], turn["w"]]
