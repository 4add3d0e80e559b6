"""Topic names. ZeroMQ matches topics by prefix, so every name ends with a slash and none is a prefix of another.

What is published of a scene, each encoding only while somebody listens:

    scene/json/      the complete document, every update
    scene/changes/   JSON of what changed
    scene/local/     columns: structure, then local poses as float64 (what a Replica follows)
    scene/world/     columns: structure, then world poses as float64 (a renderer needs no tree)
    scene/geo/       columns: structure, then ECEF and latitude-longitude-altitude as float64
    clock/           tick and simulation time
    resources/       origin, weather and what else belongs to the whole scene; to who begins to listen, and on change
    heartbeat/       the last sequence number, once a second, while paused too
    view/<wish>/     columns of a part of the scene: `schemas/view.py`
    snapshot/<encoding>/<nonce>/   the complete scene, once, to the one who subscribed to it
"""

from diorama.schemas.view import SNAPSHOT_PREFIX, VIEW

SCENE_JSON = "scene/json/"
SCENE_CHANGES = "scene/changes/"
SCENE_LOCAL = "scene/local/"
SCENE_WORLD = "scene/world/"
SCENE_GEO = "scene/geo/"
CLOCK = "clock/"
RESOURCES = "resources/"
HEARTBEAT = "heartbeat/"
SNAPSHOT = "snapshot/"

# The encodings a newcomer can ask a complete scene in, and the topic that continues each.
CONTINUES = {
    "json": SCENE_JSON,
    "changes": SCENE_CHANGES,
    "local": SCENE_LOCAL,
    "world": SCENE_WORLD,
    "geo": SCENE_GEO,
}
OURS = (SCENE_JSON, SCENE_CHANGES, SCENE_LOCAL, SCENE_WORLD, SCENE_GEO, CLOCK, RESOURCES, HEARTBEAT)


def snapshot(encoding: str, nonce: str) -> str:
    """The topic on which one newcomer gets the complete scene."""
    return f"{SNAPSHOT}{encoding}/{nonce}/"


def encoding_of_snapshot(topic: str) -> str | None:
    """The encoding a snapshot topic asks for, or None when it is not such a topic."""
    parts = topic.split("/")
    asks = len(parts) == 4 and parts[0] == "snapshot" and parts[2] and not parts[3]
    return parts[1] if asks and (parts[1] in CONTINUES or parts[1].startswith(SNAPSHOT_PREFIX)) else None


def family(topic: str) -> str:
    """The topic itself; of snapshots and views, whose names are endless, what they have in common."""
    return next((common for common in (SNAPSHOT, VIEW) if topic.startswith(common)), topic)


def user_topic(name: str) -> str:
    """A topic name of the user's own, with the slash at its end; refuses one that would meet ours."""
    topic = name if name.endswith("/") else f"{name}/"
    if topic == "/" or any(topic.startswith(own) or own.startswith(topic) for own in (*OURS, SNAPSHOT, VIEW)):
        raise ValueError(f"topic {name!r} is taken by diorama; choose another name")
    return topic
