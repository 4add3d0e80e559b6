"""Views: the part of a scene that a subscriber wants, spelled as a topic of its own.

The topic is the wish: who subscribes to `view.topic` is sent that part, equal wishes share one encoding, and the
publisher forgets a view when its last subscriber leaves.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error

import msgspec

from diorama.schemas.errors import MessageError

VIEW = "view/"
SNAPSHOT_PREFIX = "view."
MOST_TEXT = 2048


class View(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """Which entities, how often, and in what numbers. What is left out does not narrow the view.

    `under`: the name of an entity; it and all below it. `components`: groups an entity must have, all of them.
    `classes`: labels of Classification, any of them. `near`: a point (NED metres) or the name of an entity, with
    `radius` in metres. `rate_hz`: at most so many updates a second of simulated time. `geo`: with ECEF and LLA.
    `float32`: poses as float32, positions relative to the centre of the view; never ECEF or LLA.
    """

    under: str = ""
    components: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    near: str | tuple[float, float, float] | None = None
    radius: float | None = None
    rate_hz: float | None = None
    geo: bool = False
    float32: bool = False

    def __post_init__(self) -> None:
        if (self.near is None) != (self.radius is None):
            raise ValueError("a view by distance needs both near and radius")
        if self.radius is not None and not 0 < self.radius < 1e9:
            raise ValueError(f"radius: expected metres above 0 and below 1e9, got {self.radius}")
        if self.rate_hz is not None and not 0 < self.rate_hz <= 1e4:
            raise ValueError(f"rate_hz: expected a number above 0 and up to 10000, got {self.rate_hz}")
        if isinstance(self.near, tuple) and not all(abs(value) < 1e9 for value in self.near):
            raise ValueError(f"near: expected three finite numbers, got {self.near}")

    @property
    def text(self) -> str:
        """The wish in characters any topic may have; equal views have equal texts."""
        # There and back: 5 and 5.0 are one wish, and what publishers would drop in silence is refused here.
        return _text(view_from_text(_text(self)))

    @property
    def topic(self) -> str:
        """Where updates of this view come."""
        return f"{VIEW}{self.text}/"

    @property
    def encoding(self) -> str:
        """The encoding to ask for in a snapshot topic."""
        return f"{SNAPSHOT_PREFIX}{self.text}"


def _text(view: View) -> str:
    return urlsafe_b64encode(msgspec.json.encode(view, order="sorted")).decode().rstrip("=")


def view_from_text(text: str) -> View:
    """The view a topic stands for; MessageError when it is none."""
    if len(text) > MOST_TEXT:
        raise MessageError(f"view: expected at most {MOST_TEXT} characters, got {len(text)}")
    try:
        view = msgspec.json.decode(urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=View)
        # All of these, or any of those: neither order nor a name told twice makes it another wish.
        return msgspec.structs.replace(
            view, components=tuple(sorted({*view.components})), classes=tuple(sorted({*view.classes}))
        )
    except (msgspec.DecodeError, Base64Error, ValueError) as problem:
        raise MessageError(f"view: {problem}") from None
