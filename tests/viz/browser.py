"""Drive headless Chromium over the DevTools protocol, with nothing but the standard library.

The protocol runs over two pipes (``--remote-debugging-pipe``): no ports, no web sockets, no driver.
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

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-sync",
    "--hide-scrollbars",
    "--mute-audio",
    "--force-device-scale-factor=1",
    # Graphics on the processor, so that the test needs no graphics card.
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--remote-debugging-pipe",
]


def find_chromium() -> str | None:
    """Return the path of a Chromium that can be driven over pipes, if there is one."""
    if os.name == "nt":
        return None
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next(filter(None, map(shutil.which, names)), None)


class BrowserError(RuntimeError):
    """The browser or the page failed."""


class Browser:
    """One browser with one page.

    Attributes
    ----------
    errors
        What the open page complained about: uncaught exceptions, console errors, failed loads.
    requests
        Every address the open page asked for, without ``data:`` and ``blob:``.
    """

    def __init__(self, *, timeout: float = 60.0) -> None:
        program = find_chromium()
        if program is None:
            raise BrowserError("no Chromium on this machine; install the package `chromium`")
        self.timeout = timeout
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._profile = tempfile.mkdtemp(prefix="fieldconv-browser-")
        self._buffer = b""
        self._last = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self._session: str | None = None

        import fcntl  # there is none on Windows

        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        # Chromium reads on descriptor 3 and writes on 4: move ours out of the way first.
        spare = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in (theirs_in, theirs_out)]

        def place() -> None:
            os.dup2(spare[0], 3)
            os.dup2(spare[1], 4)

        self._process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={self._profile}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=place,
            close_fds=False,
            start_new_session=True,
        )
        for end in (theirs_in, theirs_out, *spare):
            os.close(end)
        self._in, self._out = ours_in, ours_out

        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the browser and remove its profile."""
        try:
            self._session = None
            self.call("Browser.close")
        except (BrowserError, OSError):
            pass
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self._profile, ignore_errors=True)

    # --- the protocol

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command and wait for its answer."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        number, deadline = self._last, time.monotonic() + self.timeout
        while number not in self._answers:
            if not self._receive(deadline - time.monotonic()):
                raise BrowserError(f"no answer to {method} within {self.timeout:g} s")
        answer = self._answers.pop(number)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error'].get('message')}")
        result: dict[str, Any] = answer["result"]
        return result

    def _receive(self, seconds: float) -> bool:
        """Read messages of the browser; return False if there are none."""
        if not select.select([self._in], [], [], max(seconds, 0))[0]:
            return False
        chunk = os.read(self._in, 1 << 20)
        if not chunk:
            raise BrowserError("the browser has ended")
        *messages, self._buffer = (self._buffer + chunk).split(b"\0")
        for text in messages:
            message = json.loads(text)
            if "id" in message:
                self._answers[message["id"]] = message
            else:
                self._note(message["method"], message["params"])
        return True

    def _note(self, event: str, details: dict[str, Any]) -> None:
        if event == "Runtime.exceptionThrown":
            thrown = details["exceptionDetails"]
            self.errors.append(thrown.get("exception", {}).get("description") or thrown["text"])
        elif event == "Runtime.consoleAPICalled" and details["type"] in ("error", "assert"):
            self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in details["args"]))
        elif event == "Log.entryAdded" and details["entry"]["level"] == "error":
            self.errors.append(f"{details['entry']['text']} {details['entry'].get('url', '')}".strip())
        elif event == "Network.requestWillBeSent":
            address = details["request"]["url"]
            if not address.startswith(("data:", "blob:")):
                self.requests.append(address)

    # --- what a person does

    def size(self, width: int, height: int, *, phone: bool = False) -> None:
        """Set the size of the window, in CSS pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if phone else 1,
            mobile=phone,
        )
        self.call("Emulation.setTouchEmulationEnabled", enabled=phone)

    def open(self, path: Path | str, *, ready: str = "document.readyState === 'complete'") -> float:
        """Open a file and wait until ``ready`` (JavaScript) holds; return the seconds."""
        self.errors.clear()
        self.requests.clear()
        start = time.monotonic()
        self.call("Page.navigate", url=Path(path).resolve().as_uri())
        self.wait(ready)
        return time.monotonic() - start

    def run(self, script: str) -> Any:
        """Return the value of a JavaScript expression; promises are awaited."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            thrown = answer["exceptionDetails"]
            raise BrowserError(thrown.get("exception", {}).get("description") or thrown["text"])
        return answer["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until a JavaScript condition holds."""
        deadline = time.monotonic() + self.timeout
        while not self.run(f"Boolean({condition})"):
            if time.monotonic() > deadline:
                raise BrowserError(
                    f"waited {self.timeout:g} s in vain for {condition}; errors: {self.errors}"
                )
            self._receive(0.02)

    def settle(self) -> None:
        """Wait for two frames to be drawn."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def centre(self, selector: str) -> tuple[float, float]:
        """Scroll the first element of a CSS selector into view, and return its middle."""
        x, y = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'nearest'}); const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        return x, y

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def hover(self, x: float, y: float) -> None:
        self.mouse("mouseMoved", x, y)
        self.settle()

    def click(self, selector: str) -> None:
        x, y = self.centre(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)
        self.settle()

    def drag(self, start: tuple[float, float], end: tuple[float, float], *, button: str = "left") -> None:
        """Press, move in steps, and release."""
        self.mouse("mousePressed", *start, button=button, clickCount=1)
        for step in range(1, 6):
            x, y = (a + (b - a) * step / 5 for a, b in zip(start, end, strict=True))
            self.mouse("mouseMoved", x, y, button=button, buttons=1 if button == "left" else 2)
        self.mouse("mouseReleased", *end, button=button, clickCount=1)
        self.settle()

    def press(self, key: str) -> None:
        """Press a key on the element with the focus."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27}
        down: dict[str, Any] = {"text": "\r"} if key == "Enter" else {}
        for kind, more in (("keyDown", down), ("keyUp", {})):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=codes.get(key, 0), **more
            )
        self.settle()

    def wheel(self, x: float, y: float, amount: float) -> None:
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=amount)
        self.settle()

    def screenshot(self, path: Path | str | None = None, *, whole: bool = False) -> bytes:
        """Return a PNG of the window, or of the whole page."""
        png = base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"])
        if path is not None:
            Path(path).write_bytes(png)
        return png
