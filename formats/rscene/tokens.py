"""Words of a line: exactly the separators of the format, percent-encoding, and the dash for empty.

A line is bytes. Words are separated by spaces, tabs and carriage returns and by nothing else: vertical tabs,
form feeds and the blanks of Unicode belong to words. `%HH` stands for one byte; `-` alone, or nothing,
is the empty string, so a dash itself is `%2D`.
"""

import re

WORD = re.compile(rb"[^ \t\r]+")
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})?")
_UNSAFE = re.compile(rb"[\x00-\x20%=;]")


def split_words(line: bytes) -> list[bytes]:
    """The words of a line."""
    if b"\x0b" in line or b"\x0c" in line:  # bytes.split would cut at these two as well
        return WORD.findall(line)
    return line.split()


def word_span(line: bytes, index: int) -> tuple[int, int]:
    """Where word `index` of a line begins and ends, in bytes."""
    for count, match in enumerate(WORD.finditer(line)):
        if count == index:
            return match.span()
    raise IndexError(f"the line has no word {index}")


def text_from_word(word: bytes) -> str:
    """Decode one word to text; bytes that are not UTF-8 survive as surrogates."""
    if word in (b"-", b""):
        return ""
    return _unescape(word).decode("utf-8", "surrogateescape")


def word_from_text(text: str) -> bytes:
    """Encode text as one word: controls, blanks, `%`, `=` and `;` escaped, `-` for empty."""
    raw = text.encode("utf-8", "surrogateescape")
    if not raw:
        return b"-"
    if raw == b"-":
        return b"%2D"
    return _UNSAFE.sub(lambda match: b"%%%02X" % match[0][0], raw)


def texts_from_word(word: bytes) -> list[str]:
    """Decode a `;` list of texts; `-` or nothing is the empty list."""
    if word in (b"-", b""):
        return []
    return [text_from_word(part) for part in word.split(b";")]


def word_from_texts(texts: list[str]) -> bytes:
    """Encode a `;` list of texts; the empty list is nothing. The format cannot tell `[""]` from `[]`."""
    return b"" if texts in ([], [""]) else b";".join(word_from_text(text) for text in texts)


def _unescape(word: bytes) -> bytes:
    if b"%" not in word:
        return word

    def byte(match: re.Match[bytes]) -> bytes:
        if match[1] is None:
            raise ValueError("bad percent escape: expected % and two hexadecimal digits")
        return bytes.fromhex(match[1].decode())

    return _ESCAPE.sub(byte, word)
