"""A headless Chromium, driven over its DevTools protocol: enough to open a page, look, click and type."""

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest
from websockets.sync.client import connect

from diorama.tests.patience import PATIENCE_S

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-unsafe-swiftshader",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)


def chromium() -> str:
    """The path of Chromium; skips the test, visibly, where there is none."""
    named = [os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome"]
    found = next((path for name in named if name and (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium here: install Debian's `chromium`, or name one in $CHROMIUM")
    return found


class Browser:
    """One page in one browser with a profile of its own."""

    def __init__(self, profile: Path, *, width: int = 1500, height: int = 900) -> None:
        flags = [*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"]
        self._process = subprocess.Popen(
            [chromium(), *flags, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._number = 0
        try:
            self._attach(profile / "DevToolsActivePort", width, height)
        except BaseException:
            self._end()
            raise

    def _attach(self, port_file: Path, width: int, height: int) -> None:
        self.until(lambda: port_file.exists() and len(port_file.read_text().split()) == 2, "Chromium")
        port, path = port_file.read_text().split()
        # A busy machine may keep Chromium from answering in time: `_call` knows how long to wait, pings need not.
        self._socket = connect(
            f"ws://127.0.0.1:{port}{path}",
            max_size=None,
            proxy=None,
            open_timeout=PATIENCE_S,
            ping_interval=None,
        )
        targets = self._call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self._session = self._call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)

    def call(self, method: str, **params: Any) -> Any:
        """One command of the page's DevTools protocol."""
        return self._call(method, self._session, **params)

    def open(self, url: str) -> None:
        """Load a page."""
        self.call("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete'")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> Any:
        """The value of an expression, once it is true."""
        return self.until(lambda: self.evaluate(expression), expression)

    def text(self) -> str:
        """All the text on the page."""
        return str(self.evaluate("document.body.innerText"))

    def click(self, x: float, y: float) -> None:
        """Press and release the left button."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            where = {"x": x, "y": y, "button": "left", "clickCount": 1}
            self.call("Input.dispatchMouseEvent", type=kind, **where)

    def screenshot(self, path: Path | None = None) -> bytes:
        """The page as PNG."""
        png = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        if path is not None:
            path.write_bytes(png)
        return png

    def close(self) -> None:
        """End the browser."""
        self._socket.close()
        self._end()

    def _end(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def _call(self, method: str, session: str | None = None, **params: Any) -> Any:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        self._socket.send(json.dumps(message))
        while True:
            answer = json.loads(self._socket.recv(timeout=PATIENCE_S))
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]

    def until(self, condition: Callable[[], Any], what: str) -> Any:
        """Ask again until it is true: pages have no other way to say that they are ready."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            value = condition()
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"not within {PATIENCE_S} s: {what}")
