"""Greyscale heights from PNG files: 8 or 16 bits, any filter, not interlaced."""

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Channels by colour type; the first one is the height. Palettes hold colours, not heights.
CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}
LARGEST = 16384


def decode_png(data: bytes) -> NDArray[np.float64]:
    """Pixel values of the first channel as they are stored, shape (height, width), top row first."""
    chunks = list(_chunks(data))
    if not chunks or chunks[0][0] != b"IHDR" or len(chunks[0][1]) != 13:
        raise ValueError("expected a PNG image")
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[0][1])
    if depth not in (8, 16) or colour not in CHANNELS or interlaced:
        raise ValueError("expected a PNG with 8 or 16 bits a channel, no palette and no interlacing")
    if not (0 < width <= LARGEST and 0 < height <= LARGEST):
        raise ValueError(f"expected at most {LARGEST} pixels a side, got {width} x {height}")
    step = CHANNELS[colour] * depth // 8
    stride = step * width + 1
    try:
        inflate = zlib.decompressobj()
        packed = b"".join(body for kind, body in chunks if kind == b"IDAT")
        raw = inflate.decompress(packed, stride * height)
    except zlib.error as error:
        raise ValueError(f"the PNG is damaged: {error}") from None
    if len(raw) < stride * height:
        raise ValueError("the PNG is cut short")
    rows = np.frombuffer(raw, dtype=np.uint8).reshape(height, stride)
    pixels = _unfilter(rows, step)
    channels = pixels.reshape(height, width, step)
    if depth == 16:
        return np.asarray(channels[:, :, 0] * 256.0 + channels[:, :, 1], dtype=np.float64)
    return channels[:, :, 0].astype(np.float64)


def _chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    found: list[tuple[bytes, bytes]] = []
    if not data.startswith(SIGNATURE):
        return found
    place = len(SIGNATURE)
    while place + 8 <= len(data):
        length, kind = struct.unpack(">I4s", data[place : place + 8])
        found.append((kind, data[place + 8 : place + 8 + length]))
        place += 12 + length
    return found


def _unfilter(rows: NDArray[np.uint8], step: int) -> NDArray[np.uint8]:
    """Undo the filter of each row; bytes count modulo 256."""
    out = np.zeros((len(rows), rows.shape[1] - 1), dtype=np.uint8)
    above = np.zeros(out.shape[1], dtype=np.uint8)
    for index, row in enumerate(rows):
        kind, line = int(row[0]), row[1:]
        if kind == 0:
            out[index] = line
        elif kind == 1:
            sums = np.cumsum(line.reshape(-1, step), axis=0, dtype=np.uint64)
            out[index] = (sums & 255).astype(np.uint8).ravel()
        elif kind == 2:
            out[index] = line + above
        elif kind in (3, 4):
            out[index] = _predicted(kind, line.tolist(), above.tolist(), step)
        else:
            raise ValueError(f"the PNG is damaged: unknown filter {kind}")
        above = out[index]
    return out


def _predicted(kind: int, line: list[int], above: list[int], step: int) -> list[int]:
    """Average (3) and Paeth (4): each byte needs the one before it."""
    done = [0] * step
    corner = [0] * step + above
    for place, value in enumerate(line):
        left, up, up_left = done[place], above[place], corner[place]
        if kind == 3:
            guess = (left + up) // 2
        else:
            straight = left + up - up_left
            guess = min((left, up, up_left), key=lambda near, straight=straight: abs(straight - near))  # type: ignore[misc]
        done.append((value + guess) & 255)
    return done[step:]
