"""One sensor at work: what it sees, how it errs, what it remembers, and what it has yet to say."""

from collections.abc import Callable
from dataclasses import dataclass
from secrets import randbelow

import numpy as np

from diorama.ecs import World
from diorama.geo.axes import ENU
from diorama.geo.rotation import conjugate, rotate
from diorama.perception.draws import Keys, stream
from diorama.perception.messages import Message, Objects, detected_objects, tracked_objects
from diorama.perception.noise import Bools, Errors, Ids, Memory, errors_v1, errors_v2
from diorama.perception.objects import Roster
from diorama.perception.parameters import DetectionParameters, NoiseV1
from diorama.perception.schedule import Delay, Timer, whole_periods
from diorama.perception.sensors import Perceiver
from diorama.perception.visibility import Boxes, in_sight

Wanted = Callable[[str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A world at a tick, with all its boxes in map axes."""

    world: World
    time_ns: int
    roster: Roster
    objects: Objects


class Watch:
    """A sensor's memory of the objects it has seen, and the messages it holds back."""

    def __init__(self, perceiver: Perceiver) -> None:
        self.perceiver = perceiver
        detection, truth = perceiver.parameters.detection, perceiver.parameters.ground_truth
        # A seed of 0 asks for another one each run; it is in every message, so that the run can be repeated.
        self.seed = (detection.seed if detection else 0) or 1 + randbelow(2**31)
        self.timer = Timer(perceiver.period_ns)
        self._source = stream(self.seed, perceiver.name)
        self._memory = Memory()
        period_ns = perceiver.period_ns
        self._detections = Delay[tuple[int, Objects, Errors]](
            whole_periods(detection.delay_ns, period_ns) if detection else 0
        )
        self._truths = Delay[tuple[int, Objects]](whole_periods(truth.delay_ns, period_ns) if truth else 0)

    def forget_all_but(self, alive: Ids) -> None:
        """Drop the memory of objects that are gone."""
        self._memory.forget_all_but(alive)

    def speak(self, moment: Moment, own: Bools, period: int, wanted: Wanted) -> list[tuple[str, Message]]:
        """Capture what there is at the end of a period, and say what is due by then.

        `own` (n,) marks the boxes that belong to the ego itself: it neither sees them nor hides behind them.
        """
        perceiver, now = self.perceiver, moment.time_ns
        messages = []
        if perceiver.parameters.detection is not None:
            told, topic = perceiver.parameters.detection, perceiver.detection_topic
            noise = {"model_version": told.noise.version, "seed": self.seed}
            seen = moment.objects.take(chosen := self._sees(told, moment, own))
            errors = self._errs(told, moment, seen, moment.roster.keys[chosen])
            for then, found, mistakes in self._detections.push(period, (now, seen, errors)):
                if wanted(topic):
                    message = detected_objects(
                        found,
                        mistakes,
                        published_ns=now,
                        captured_ns=then,
                        sensor=perceiver.name,
                        noise=noise,
                    )
                    messages.append((topic, message))
        if perceiver.parameters.ground_truth is not None:
            topic = perceiver.ground_truth_topic
            there = moment.objects.take(moment.roster.reported & ~own)
            for then, found in self._truths.push(period, (now, there)):
                if wanted(topic):
                    message = tracked_objects(
                        found, published_ns=now, captured_ns=then, sensor=perceiver.name
                    )
                    messages.append((topic, message))
        return messages

    def _sees(self, told: DetectionParameters, moment: Moment, own: Bools) -> Bools:
        """Which boxes (n,) are objects within range of the ego and in sight of its rays."""
        row = moment.world.row(self.perceiver.ego)
        away = moment.objects.position - ENU.points(moment.world.poses.position[row])
        chosen: Bools = moment.roster.reported & ~own & (np.linalg.norm(away, axis=1) <= told.range)
        if told.occlusionless or not chosen.any():
            return chosen
        others = ~own
        boxes = Boxes(
            center=moment.objects.center[others],
            orientation=moment.objects.orientation[others],
            half=0.5 * moment.objects.size[others],
        )
        chosen[others] &= in_sight(boxes, self.perceiver.grid, *self.perceiver.pose(moment.world), told.range)
        return chosen

    def _errs(self, told: DetectionParameters, moment: Moment, seen: Objects, keys: Keys) -> Errors:
        """How the sensor mistakes the objects in sight."""
        if isinstance(told.noise, NoiseV1):
            return errors_v1(told.noise, self._source, keys, moment.time_ns)
        row = moment.world.row(self.perceiver.ego)
        away = seen.position - ENU.points(moment.world.poses.position[row])
        distance = np.hypot(away[:, 0], away[:, 1])
        bearing = np.zeros((len(away), 2))
        bearing[:, 0] = 1.0  # east, for what is right above, below or within the ego
        np.divide(away[:, :2], distance[:, None], out=bearing, where=distance[:, None] > 0.0)
        return errors_v2(
            told.noise,
            self._memory,
            self._source,
            ids=seen.ids,
            keys=keys,
            time_ns=moment.time_ns,
            local=rotate(conjugate(ENU.rotations(moment.world.poses.orientation[row])), away)[:, :2],
            bearing=bearing,
            speed=np.linalg.norm(seen.linear, axis=1),
        )
