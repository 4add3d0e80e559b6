"""The page in a real browser: it loads, shows the demo, moves, selects, and survives a restart of the publisher."""

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from diorama.runtime.answer import answer
from diorama.runtime.clock import SteppableClock
from diorama.runtime.demo import demo
from diorama.runtime.simulation import Simulation
from diorama.tests.patience import PATIENCE_S
from diorama.tests.viewer.browser import Browser
from diorama.transport.publisher import Publisher
from diorama.viewer.follow import View
from diorama.viewer.page import Page

CLICK = "[...document.querySelectorAll('[data-do^={verb}]')].find(e => e.innerText == '{text}').click()"
TICK = "Number(document.body.innerText.match(/tick (\\d+)/)[1])"


class Demo:
    """The demo scene, running in a thread; `restart` is another run at the same endpoint."""

    def __init__(self) -> None:
        self.endpoint = "tcp://127.0.0.1:*"
        self.start()

    def start(self, *, paused: bool = False) -> None:
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready, paused))
        self._thread.start()
        assert ready.wait(PATIENCE_S)

    def _run(self, ready: threading.Event, paused: bool) -> None:
        scene = demo()
        with Publisher(self.endpoint) as publisher:
            self.endpoint = publisher.endpoint
            clock = SteppableClock(33_000_000, pause_on_start=paused)
            self.simulation = Simulation(
                scene.world, publisher, clock=clock, systems=scene.systems, reporters=scene.reporters
            )
            with answer(self.simulation, "tcp://127.0.0.1:*") as service:
                self.service = service.endpoint
                ready.set()
                self.simulation.run()

    def stop(self) -> None:
        self.simulation.stop()
        self._thread.join()


@pytest.fixture(scope="module")
def running() -> Iterator[Demo]:
    scene = Demo()
    yield scene
    scene.stop()


@pytest.fixture(scope="module")
def view(running: Demo) -> Iterator[View]:
    page = Page(port=0)
    shown = View(running.endpoint, page, service=running.service)
    thread = threading.Thread(target=shown.run)
    thread.start()
    yield shown
    shown.stop()
    thread.join()
    shown.close()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile"), width=820, height=640) as opened:
        yield opened


def test_the_page_needs_nothing_from_elsewhere(browser: Browser, view: View) -> None:
    browser.open(view.page.url)
    browser.wait_for("document.body.innerText.includes('evtol_0')")
    loaded = browser.evaluate("performance.getEntriesByType('resource').map(e => e.name)")
    assert [url for url in loaded if not url.startswith((view.page.url, "data:", "blob:"))] == []
    assert np.isfinite(view.status().time_s)


def test_the_buttons_pause_and_resume_the_simulation(browser: Browser, view: View, running: Demo) -> None:
    browser.open(view.page.url)
    press = "[...document.querySelectorAll('button')].find(e => e.innerText == '{}').click()"
    browser.wait_for("[...document.querySelectorAll('button')].some(e => e.innerText == 'pause')")
    browser.evaluate(press.format("pause"))
    browser.until(lambda: running.simulation.clock.is_paused, "the clock is held")
    browser.wait_for("document.body.innerText.includes('paused')")
    held = running.simulation.finished
    browser.wait_for(f"{TICK} == {held}")  # what is drawn comes a moment after what is done
    browser.evaluate(press.format("step"))
    browser.wait_for(f"{TICK} == {held} + 1")
    browser.evaluate(press.format("resume"))
    browser.wait_for(f"{TICK} > {held} + 2")


def test_the_page_shows_the_demo_moves_selects_and_survives_a_restart(
    browser: Browser, view: View, running: Demo
) -> None:
    browser.open(view.page.url)
    browser.wait_for("document.body.innerText.includes('helicopter_2')")
    assert "463 entities" in browser.text()

    # It moves: ticks go on, and so does the picture.
    first = browser.wait_for(TICK)
    browser.wait_for(f"{TICK} > {first}")
    browser.wait_for("document.querySelector('canvas') !== null")
    before = browser.screenshot()
    assert _until_different(browser, before)

    # A click in the tree selects, and the panel tells.
    browser.evaluate(CLICK.format(verb="select", text="evtol_1"))
    browser.wait_for("document.body.innerText.includes('demo/evtol')")
    told = browser.text()
    for part in ("latitude", "° N", "° W", "ECEF", "evtol_1/rotor_3", "km/h"):
        assert part in told

    # Folding a branch open shows what is below, the search finds by name.
    browser.evaluate("document.querySelector('[data-do^=\"fold \"]').click()")
    browser.wait_for("document.body.innerText.includes('hangar_3')")

    # The map knows where on Earth it is.
    assert browser.wait_for("document.body.innerText.includes('95.16')")
    browser.evaluate(CLICK.format(verb="map", text="world"))
    browser.wait_for("document.body.innerText.includes('km')")

    # A publisher that is started again is followed again, and what was selected still is.
    running.stop()
    running.start(paused=True)  # so that its ticks are below the old ones however late the page looks
    browser.wait_for(f"{TICK} < {first}")
    running.simulation.clock.resume()
    browser.wait_for("document.body.innerText.includes('live')")
    browser.wait_for("document.querySelector('.dio-row.on').innerText.includes('evtol_1')")


def _until_different(browser: Browser, before: bytes) -> bool:
    return any(browser.screenshot() != before for _ in range(20))
