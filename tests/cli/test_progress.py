"""The bar: on terminals, after half a second, and gone at the end."""

from io import StringIO

import pytest

from diorama.cli.progress import Bar


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [StringIO(), Terminal()])
def test_a_bar_appears_after_half_a_second_on_terminals_only(stream: StringIO) -> None:
    time = [0.0]
    bar = Bar(stream, lambda: time[0])
    for done in range(100):
        bar("reading", done, 100)
        time[0] += 0.01
        if done < 49:
            assert stream.getvalue() == ""
    bar("reading", 100, 100)
    if stream.isatty():
        assert "\r\x1b[Kreading  ███████████████░░░░░░░░░░░░░░░  50/100" in stream.getvalue()
        assert stream.getvalue().endswith("\r\x1b[K")
        assert stream.getvalue().count("reading") == 10  # every 50 ms
    else:
        assert stream.getvalue() == ""
