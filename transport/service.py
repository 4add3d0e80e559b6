"""The service: answers what clients ask about a world, and does what they command, between ticks.

    with Service(world, "tcp://127.0.0.1:5556") as service:
        for tick in clock:
            step(world, tick)
            service.poll(tick=tick.index)

A request is JSON, `{"id": 1, "method": "where", "params": {"name": "evtol_0"}}`, with binary bodies after it where a
method takes them; an answer is `{"id": 1, "result": ..., "tick": 17}` or `{"id": 1, "error": {"code", "message",
"path"}}`. No message, however malformed, stops the service. The methods are in `queries`, `commands`, `clock_methods`,
`airsim_methods` and `feed`.
"""

import logging
import re
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, Self

import msgspec
from msgspec import Meta

from diorama.ecs import World
from diorama.schemas.errors import DioramaError, GeoError, SceneError, did_you_mean
from diorama.transport import airsim_methods, clock_methods, commands, feed, listing, queries
from diorama.transport.engine import Frame
from diorama.transport.methods import METHODS, Call, Handlers, Limits, Method, RequestError
from diorama.transport.security import ServerSecurity
from diorama.transport.service_link import Caller, open_answer_link

LOG = logging.getLogger("diorama.transport")
THEMES = (queries, listing, commands, clock_methods, airsim_methods, feed)  # importing them fills the table
AT = re.compile(r" - at `\$(.*)`$")
RequestId = int | Annotated[str, Meta(max_length=200)] | None


class Request(msgspec.Struct):
    """The envelope of every request."""

    method: Annotated[str, Meta(max_length=100)]
    id: RequestId = None
    params: msgspec.Raw = msgspec.Raw(b"{}")


class Numbered(msgspec.Struct):
    """What a refusal must know of a request, however wrong the rest of it is."""

    id: RequestId = None


_decode = msgspec.json.Decoder(Request).decode
_decode_id = msgspec.json.Decoder(Numbered).decode
_encode = msgspec.json.Encoder().encode


class Service:
    """A world's answering side.

    `world` may be a function that returns the world, where a reload replaces it. `scenes` is the only directory that
    file names in commands may lead into. `read_only` refuses every command.
    """

    def __init__(
        self,
        world: World | Callable[[], World],
        endpoint: str = "tcp://127.0.0.1:5556",
        *,
        handlers: Handlers | None = None,
        scenes: str | Path | None = None,
        read_only: bool = False,
        limits: Limits | None = None,
        security: ServerSecurity | None = None,
        insecure: bool = False,
    ) -> None:
        self.limits = limits or Limits()
        self.tick = -1  # the last finished tick, as `poll` was told
        self._world = world
        self._handlers = handlers or Handlers()
        self._scenes = None if scenes is None else Path(scenes).resolve()
        self._owners = feed.Owners()
        self._allowances: OrderedDict[bytes, Allowance] = OrderedDict()
        self.methods: dict[str, Method] = {
            name: method for name, method in METHODS.items() if not (read_only and method.is_command)
        }
        self.link = open_answer_link(
            endpoint, security=security, insecure=insecure, max_message_bytes=self.limits.message_bytes
        )

    @property
    def endpoint(self) -> str:
        """Where clients connect to, with the port that was really taken."""
        return self.link.endpoint

    @property
    def world(self) -> World:
        """The world that answers are about."""
        return self._world() if callable(self._world) else self._world

    def poll(self, timeout_s: float = 0.0, *, tick: int | None = None, budget_s: float = 0.01) -> int:
        """Answer what is there, waiting that long for the first request; returns the number of answers.

        Call it between ticks, with the tick just finished. It begins no further request after `budget_s`, so that
        a flood of requests cannot hold up the simulation; what is left waits for the next call.
        """
        if tick is not None:
            self.tick = tick
        answered = 0
        received = self.link.receive(timeout_s)
        end = monotonic() + budget_s
        while received is not None:
            caller, frames = received
            self.link.reply(caller, self.answer(caller, frames))
            answered += 1
            received = self.link.receive(0.0) if monotonic() < end else None
        return answered

    def answer(self, caller: Caller, frames: list[Frame]) -> list[Frame]:
        """The answer to one request, whatever it is made of."""
        try:
            self._refuse_hurry(caller)
            if not frames:
                raise RequestError("bad_request", "expected a JSON request, got an empty message")
            if sum(len(frame) for frame in frames) > self.limits.message_bytes:
                raise RequestError(
                    "too_large", f"expected at most {self.limits.message_bytes} bytes in a request"
                )
            request = _decode_as("", _decode, frames[0], "bad_request")
            return self._perform(request, [memoryview(frame) for frame in frames[1:]])
        except RequestError as error:
            refusal = error
        except SceneError as error:
            refusal = RequestError("bad_scene", str(error))
        except GeoError as error:
            refusal = RequestError("bad_place", str(error))
        except (DioramaError, ValueError, TypeError) as error:
            refusal = RequestError("refused", str(error))
        except Exception:  # whatever it is, the next client must be answered
            LOG.exception("a request failed in a way nobody foresaw")
            refusal = RequestError("internal", "the request failed inside the service; its log says more")
        error_part = {"code": refusal.code, "message": refusal.message, "path": refusal.path}
        return [_encode({"id": _id_in(frames), "error": error_part})]

    def close(self) -> None:
        """End."""
        self.link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def _perform(self, request: Request, bodies: list[memoryview]) -> list[Frame]:
        method = self.methods.get(request.method)
        if method is None:
            known = " (the service is read-only)" if request.method in METHODS else ""
            hint = did_you_mean(request.method, self.methods)
            raise RequestError(
                "unknown_method", f"there is no method {request.method!r}{known}{hint}", "method"
            )
        params = _decode_as("params", method.decoder.decode, request.params, "bad_params")
        call = Call(
            world=self.world,
            tick=self.tick,
            bodies=bodies,
            limits=self.limits,
            handlers=self._handlers,
            scenes=self._scenes,
            owners=self._owners,
            methods=self.methods,
        )
        result = method.function(call, params)
        tick = self._next_tick() if method.is_command else self.tick
        head = _encode({"id": request.id, "result": result, "tick": tick})
        return [head] if call.body_out is None else [head, call.body_out]

    def _next_tick(self) -> int:
        """The first tick that shows a command: while the clock is paused the last one is published once more."""
        clock = self._handlers.clock
        is_paused = clock is not None and clock().is_paused
        return max(self.tick, 0) if is_paused else self.tick + 1

    def _refuse_hurry(self, caller: Caller) -> None:
        """Refuse a client that asks more often than it may: each has a second's worth saved up at most."""
        rate = self.limits.requests_per_s
        now = monotonic()
        allowance = self._allowances.get(caller.name)
        if allowance is None:
            if len(self._allowances) >= self.limits.clients:
                self._allowances.popitem(last=False)
            allowance = self._allowances[caller.name] = Allowance(rate, now)
        self._allowances.move_to_end(caller.name)
        allowance.left = min(rate, allowance.left + (now - allowance.at) * rate)
        allowance.at = now
        if allowance.left < 1.0:
            raise RequestError("rate_limited", f"expected at most {rate:g} requests a second from one client")
        allowance.left -= 1.0


class Allowance:
    """How many requests a client has left, and when that was reckoned."""

    __slots__ = ("at", "left")

    def __init__(self, left: float, at: float) -> None:
        self.left, self.at = left, at


def _id_in(frames: list[Frame]) -> int | str | None:
    """The id of a request, if one can be read in it: who has many under way must know which one was refused."""
    try:
        return _decode_id(frames[0]).id
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, IndexError):
        return None


def _decode_as(path: str, decode: Callable[[Any], Any], data: Any, code: str) -> Any:
    """Decode JSON; what is wrong with it becomes a structured error with the place."""
    try:
        return decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        text = str(error)
        found = AT.search(text)
        inside = path + found[1] if found else path
        raise RequestError(code, AT.sub("", text), inside.removeprefix(".")) from None
