"""A headless Chromium, controlled by the WebDriver protocol with only the standard library."""

from __future__ import annotations

import base64
import http.client
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")

_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    # Each page of a server of its own would have a process of its own.
    "--renderer-process-limit=1",
    "--disable-site-isolation-trials",
)


class Browser:
    """A browser window. `console` and `requests` return the messages and requests since the last call."""

    def __init__(self) -> None:
        assert DRIVER
        assert CHROMIUM
        self._profile = tempfile.mkdtemp()
        self._driver = subprocess.Popen(
            [DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._driver.stdout
        for line in self._driver.stdout:
            if "was started successfully on port" in line:
                self._port = int(line.rstrip(".\n").rpartition(" ")[2])
                break
        options = {"binary": CHROMIUM, "args": [*_FLAGS, f"--user-data-dir={self._profile}"]}
        logs = {"browser": "ALL", "performance": "ALL"}
        capabilities = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": logs}
        self._session = ""
        self._session = self._call("POST", "", {"capabilities": {"alwaysMatch": capabilities}})["sessionId"]
        # The page that a browser begins with loads files of its own for a while.
        self.go("about:blank")

    def close(self) -> None:
        try:
            self._call("DELETE", "")
        finally:
            self._driver.terminate()
            self._driver.wait()
            assert self._driver.stdout
            self._driver.stdout.close()
            shutil.rmtree(self._profile, ignore_errors=True)

    def open(self, page: Path) -> None:
        self.go(page.absolute().as_uri())
        self.wait("[...document.querySelectorAll('audio')].every((e) => e.readyState || e.error)")

    def go(self, address: str) -> None:
        self._call("POST", "/url", {"url": address})

    def wait(self, condition: str, seconds: float = 30) -> Any:
        """Return the value of a JavaScript expression as soon as it is true."""
        deadline = time.monotonic() + seconds
        while not (value := self.run(f"return {condition}")):
            if time.monotonic() > deadline:
                raise AssertionError(f"not true within {seconds} s: {condition}")
            time.sleep(0.01)
        return value

    def press(self, *keys: str) -> None:
        """Press and release keys, named as in JavaScript."""
        for key in keys:
            text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
            code = {"Enter": 13, "Escape": 27, " ": 32, "ArrowRight": 39, "ArrowDown": 40}.get(key, 0)
            down = {"type": "keyDown" if text else "rawKeyDown", "key": key, "windowsVirtualKeyCode": code}
            self._devtools("Input.dispatchKeyEvent", {**down, **({"text": text} if text else {})})
            self._devtools("Input.dispatchKeyEvent", {**down, "type": "keyUp"})

    def type(self, *keys: str) -> None:
        """Press and release keys as fast as the driver can, whatever the page does meanwhile."""
        codes = {"Enter": "\ue007", "Escape": "\ue00c", "Backspace": "\ue003"}
        actions = [{"type": kind, "value": codes.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        self._call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def click(self, selector: str) -> None:
        """Click the middle of an element with the mouse."""
        middle = (
            "const e = document.querySelector(arguments[0]); e.scrollIntoView({block: 'center', inline: 'center'});"
            "const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]"
        )
        x, y = self._call("POST", "/execute/sync", {"script": middle, "args": [selector]})
        for kind in ("mousePressed", "mouseReleased"):
            self._devtools(
                "Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
            )

    def drag(self, selector: str, start: float, end: float) -> None:
        """Drag with the mouse over an element, from a share of its width to another."""
        box = f"const r = document.querySelector('{selector}').getBoundingClientRect();"
        x, y, width, height = self.run(f"{box} return [r.x, r.y, r.width, r.height]")
        for kind, share in (("mousePressed", start), ("mouseMoved", end), ("mouseReleased", end)):
            at = {"x": x + share * width, "y": y + height / 2, "button": "left", "buttons": 1, "clickCount": 1}
            self._devtools("Input.dispatchMouseEvent", {"type": kind, **at})

    def show(self, *, width: int, height: int = 900, scheme: str = "light", media: str = "") -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._devtools("Emulation.setDeviceMetricsOverride", size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._devtools("Emulation.setEmulatedMedia", {"media": media, "features": features})

    def run(self, script: str) -> Any:
        return self._call("POST", "/execute/sync", {"script": script, "args": []})

    def press_tab(self) -> None:
        for kind in ("rawKeyDown", "keyUp"):
            key = {"type": kind, "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
            self._devtools("Input.dispatchKeyEvent", key)

    def console(self) -> list[str]:
        return [entry["message"] for entry in self._call("POST", "/se/log", {"type": "browser"})]

    def requests(self) -> list[str]:
        entries = (json.loads(e["message"])["message"] for e in self._call("POST", "/se/log", {"type": "performance"}))
        return [e["params"]["request"]["url"] for e in entries if e["method"] == "Network.requestWillBeSent"]

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        parameters = {"format": "png", "captureBeyondViewport": whole}
        if whole:
            height, width = self.run("return [document.documentElement.scrollHeight, innerWidth]")
            parameters["clip"] = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}  # type: ignore[assignment]
        path.write_bytes(base64.b64decode(self._devtools("Page.captureScreenshot", parameters)["data"]))

    def _devtools(self, command: str, parameters: dict[str, Any]) -> Any:
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            target = f"/session/{self._session}{path}" if self._session else "/session"
            connection.request(method, target, json.dumps(body) if body is not None else None)
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value:
            raise RuntimeError(f"{method} {path}: {value['error']}: {value['message']}")
        return value
