"""Drive a headless Chromium over its debugging pipe: no driver program, no package, no port.

Chromium reads commands from descriptor 3 and answers on 4, JSON objects that end in NUL (`chromium
--remote-debugging-pipe`; the protocol is Chrome DevTools').
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)

REQUIRED = os.environ.get("DUALIGN_REQUIRE_BROWSER") == "1"
"""Fail where the viewer cannot be tested, rather than skip its tests."""

KEYS = {
    "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "Enter": 13, "Escape": 27, "End": 35,
    "Home": 36, "PageDown": 34, "PageUp": 33, "Tab": 9, " ": 32,
}  # fmt: skip


class Browser:
    """One Chromium with one page."""

    def __init__(self) -> None:
        assert CHROMIUM is not None
        self.folder = tempfile.TemporaryDirectory(prefix="dualign-browser-")
        self.downloads = Path(self.folder.name, "downloads")
        self.downloads.mkdir()
        there, back = os.pipe(), os.pipe()

        def hand_over() -> None:
            # The pipe's ends may themselves be 3 or 4: move them out of the way first.
            read, write = os.dup(there[0]), os.dup(back[1])
            high = [os.dup2(fd, 60 + k) for k, fd in enumerate((read, write))]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        command = [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--no-first-run", "--remote-debugging-pipe", f"--user-data-dir={self.folder.name}/profile",
            "--disable-background-networking", "--disable-component-update", "--disable-extensions",
        ]  # fmt: skip
        self.process = subprocess.Popen(
            command, preexec_fn=hand_over, close_fds=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(there[0])
        os.close(back[1])
        self._to, self._from = there[1], back[0]
        self._number, self._buffer = 0, b""
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        try:
            self._attach()
        except BaseException:
            self.close()
            raise

    def _attach(self) -> None:
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")
        self.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads))
        self.size(1400, 900)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._to)
        os.close(self._from)
        for _ in range(20):
            try:
                self.folder.cleanup()
                return
            except OSError:  # its children are still writing
                time.sleep(0.1)

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; events on the way are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None and not method.startswith(("Target.", "Browser.")):
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive(60)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:
        if "method" in event:
            self.events.append(event)

    def _receive(self, seconds: float) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise AssertionError("Chromium does not answer")
            block = os.read(self._from, 1 << 20)
            if not block:
                raise AssertionError("Chromium is gone")
            self._buffer += block
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    # What tests do.

    def open(self, address: str) -> None:
        """Load a page and wait until it says that it is ready, or that it cannot be."""
        self.send("Page.navigate", url="about:blank")
        self.events.clear()
        self.send("Page.navigate", url=address)
        self.wait("document.documentElement?.dataset.ready || !!document.querySelector('[role=alert]')")

    def reload(self) -> None:
        """Load the page again, in the same process: another might read storage before it is written."""
        self.js("window.former = true")
        self.send("Page.reload")
        self.wait("!window.former && document.documentElement?.dataset.ready")

    def js(self, expression: str) -> Any:
        """The value of an expression; a promise is waited for."""
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, expression: str, seconds: float = 30) -> Any:
        """Wait until an expression is true, and return it."""
        end = time.monotonic() + seconds
        while not (value := self.js(expression)):
            if time.monotonic() > end:
                raise AssertionError(f"never true: {expression}")
            time.sleep(0.02)
        return value

    def size(self, width: int, height: int) -> None:
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def scheme(self, name: str) -> None:
        """Prefer `light` or `dark`."""
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def place(self, selector: str) -> tuple[float, float]:
        """The middle of an element, in sight."""
        x, y = self.js(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); "
            "e.scrollIntoView({block: 'nearest', inline: 'nearest'}); const r = e.getBoundingClientRect(); "
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        return x, y

    def hover(self, x: float, y: float) -> None:
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x: float, y: float) -> None:
        self.hover(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, *keys: str, modifiers: int = 0) -> None:
        """Press and release keys, by name or by the character they type; modifiers 2 is Ctrl."""
        for key in keys:
            more: dict[str, Any] = {"key": key, "modifiers": modifiers}
            if key in KEYS:
                more["windowsVirtualKeyCode"] = KEYS[key]
            if len(key) == 1 and not modifiers:
                more["text"] = key
            elif key == "Enter":
                more["text"] = "\r"
            self.send("Input.dispatchKeyEvent", type="keyDown", **more)
            more.pop("text", None)
            self.send("Input.dispatchKeyEvent", type="keyUp", **more)

    def type(self, text: str) -> None:
        self.send("Input.insertText", text=text)

    def choose(self, selector: str, value: str) -> None:
        """Choose an option as a user does; the page hears of it."""
        self.js(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); "
            f"e.value = {json.dumps(value)}; e.dispatchEvent(new Event('change')); }})()"
        )

    def requests(self) -> list[str]:
        """Addresses that the page has asked for since it was opened, its own included."""
        self.js("1")
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def complaints(self) -> list[str]:
        """Errors that the page has thrown or logged."""
        self.js("1")
        thrown = [
            str(event["params"]["exceptionDetails"]["exception"].get("description"))
            for event in self.events
            if event["method"] == "Runtime.exceptionThrown"
        ]
        logged = [
            event["params"]["entry"]["text"]
            for event in self.events
            if event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error"
        ]
        return thrown + logged

    def downloaded(self, name: str, seconds: float = 10) -> str:
        """The text of a file that the page has saved; the file is removed."""
        path = self.downloads / name
        end = time.monotonic() + seconds
        while not path.exists():
            if time.monotonic() > end:
                raise AssertionError(f"{name} was not saved")
            time.sleep(0.05)
        text = path.read_text(encoding="utf-8")
        path.unlink()
        return text

    def picture(self, path: str | Path) -> None:
        """Save a screenshot."""
        Path(path).write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))
