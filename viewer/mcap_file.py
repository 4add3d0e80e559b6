"""Recordings as MCAP files: written so that a crash loses no more than a second, read as far as they go.

Our own messages keep every byte: encoding `diorama`, the header of 64 bytes and then each frame after its length
(uint32, little-endian). The only home of mcap.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from struct import Struct, error
from time import monotonic
from typing import Any, Self

from diorama.schemas.errors import MessageError, SceneError, missing_extra, reason
from diorama.transport.codec import HEADER_SIZE, Frame, Header, pack_header, unpack_header

try:
    import zstandard
    from mcap.exceptions import McapError
    from mcap.records import Channel, Message, Schema
    from mcap.stream_reader import StreamReader
    from mcap.writer import Writer
except ImportError:
    missing_extra("record", "recording and replaying")

OURS = "diorama"
SCHEMA_NAME = "diorama.Message"
SCHEMA_TEXT = (
    b"diorama's wire: a header of 64 bytes, then each frame after its length (uint32, little-endian)"
)
FLUSH_S = 0.5
FINISH_CHUNK = "_Writer__finalize_chunk"
CHUNK_BYTES = 1 << 20
_LENGTH = Struct("<I")


@dataclass(frozen=True, slots=True)
class Recorded:
    """One message of ours in a file: when it came (ns since 1970), its topic, header and frames."""

    time_ns: int
    topic: str
    header: Header
    frames: tuple[bytes, ...]


class Recording:
    """A file that is being written. What is older than a second is on the disk, readable, whatever happens next."""

    def __init__(self, path: str | Path) -> None:
        self._file = Path(path).open("wb")  # noqa: SIM115  (closed by `close`)
        self._writer: Any = Writer(self._file, chunk_size=CHUNK_BYTES)
        self._writer.start(profile="", library="diorama")
        self._ours = self._writer.register_schema(SCHEMA_NAME, OURS, SCHEMA_TEXT)
        self._channels: dict[str, int] = {}
        self._flushed = monotonic()
        self.messages: dict[str, int] = {}

    @property
    def size(self) -> int:
        """Bytes in the file so far."""
        return self._file.tell()

    def add(
        self, time_ns: int, topic: str, header: Header, frames: "list[Frame] | tuple[Frame, ...]"
    ) -> None:
        """Write a message of ours."""
        data = [pack_header(header)]
        for frame in frames:
            data += [_LENGTH.pack(len(frame)), bytes(frame)]
        if topic not in self._channels:
            self._channels[topic] = self._writer.register_channel(topic, OURS, self._ours)
        self._write(self._channels[topic], topic, time_ns, b"".join(data), header.sequence)

    def add_encoded(self, time_ns: int, topic: str, schema: "EncodedSchema", data: bytes) -> None:
        """Write a message of somebody else's format."""
        if topic not in self._channels:
            number = self._writer.register_schema(schema.name, schema.encoding, schema.data)
            self._channels[topic] = self._writer.register_channel(topic, schema.encoding, number)
        self._write(self._channels[topic], topic, time_ns, data, 0)

    def _write(self, channel: int, topic: str, time_ns: int, data: bytes, sequence: int) -> None:
        self._writer.add_message(channel, time_ns, data, time_ns, sequence & 0xFFFFFFFF)
        self.messages[topic] = self.messages.get(topic, 0) + 1
        self.flush()

    def flush(self, *, at_once: bool = False) -> None:
        """Bring what is pending to the disk, twice a second at most."""
        if not at_once and monotonic() - self._flushed < FLUSH_S:
            return
        self._flushed = monotonic()
        # The writer closes a chunk only when it is full; a quiet scene would wait for minutes.
        getattr(self._writer, FINISH_CHUNK)()
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Finish the file with its index."""
        self._writer.finish()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class EncodedSchema:
    """The schema of a message format of somebody else's."""

    name: str
    encoding: str
    data: bytes


@dataclass(slots=True, kw_only=True)
class Contents:
    """What is in a file."""

    messages: dict[str, int]
    formats: dict[str, str]
    first_ns: int = 0
    last_ns: int = 0
    is_complete: bool = True
    size: int = 0


def records(path: str | Path) -> Iterator[tuple[Any, Any, Any]]:
    """(schema, channel, message) in the order of the file; ends early, without a word, where a broken file ends."""
    schemas: dict[int, Schema] = {}
    channels: dict[int, Channel] = {}
    try:
        with Path(path).open("rb") as file:
            for record in StreamReader(file).records:
                if isinstance(record, Schema):
                    schemas[record.id] = record
                elif isinstance(record, Channel):
                    channels[record.id] = record
                elif isinstance(record, Message):
                    channel = channels[record.channel_id]
                    yield schemas.get(channel.schema_id), channel, record
    except OSError as problem:
        raise SceneError(f"{path}: {reason(problem)}") from None
    except (McapError, zstandard.ZstdError, error, EOFError, ValueError) as problem:
        if not channels:
            said = str(problem) or "the file ends before it begins"  # the library has no word for that
            raise SceneError(f"{path}: expected an MCAP recording: {said}") from None


def read(path: str | Path) -> Iterator[Recorded]:
    """Our own messages, in the order they came."""
    for _, channel, message in records(path):
        if channel.message_encoding == OURS:
            yield _decoded(channel.topic, message.log_time, message.data)


def contents(path: str | Path) -> Contents:
    """Look through a file."""
    found = Contents(messages={}, formats={}, size=0)
    for schema, channel, message in records(path):
        found.messages[channel.topic] = found.messages.get(channel.topic, 0) + 1
        found.formats[channel.topic] = schema.name if schema else channel.message_encoding
        found.first_ns = min(found.first_ns or message.log_time, message.log_time)
        found.last_ns = max(found.last_ns, message.log_time)
    found.size = Path(path).stat().st_size
    with Path(path).open("rb") as file:
        file.seek(max(0, found.size - 8))
        found.is_complete = file.read() == b"\x89MCAP0\r\n"
    return found


def _decoded(topic: str, time_ns: int, data: bytes) -> Recorded:
    header, rest, frames = unpack_header(data[:HEADER_SIZE]), memoryview(data)[HEADER_SIZE:], []
    while rest:
        if len(rest) < _LENGTH.size or len(rest) < _LENGTH.size + (length := _LENGTH.unpack(rest[:4])[0]):
            raise MessageError(f"{topic}: a recorded message is cut off")
        frames.append(bytes(rest[4 : 4 + length]))
        rest = rest[4 + length :]
    return Recorded(time_ns, topic, header, tuple(frames))
