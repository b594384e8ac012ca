"""A browser by the WebDriver protocol (w3.org/TR/webdriver2), with Python's own library only."""

import base64
import json
import socket
import subprocess
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Driver:
    """A chromedriver of our own; ends with its browsers."""

    def __init__(self):
        self.port = free_port()
        self.process = subprocess.Popen(
            ["chromedriver", f"--port={self.port}", "--log-level=OFF"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while True:
            try:
                if self.call("GET", "/status")["ready"]:
                    return
            except (urllib.error.URLError, ConnectionError):
                pass
            if time.monotonic() > deadline:
                raise RuntimeError("chromedriver does not answer")
            time.sleep(0.1)

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", data=data, method=method,
            headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{path}: {error.read()[:500].decode(errors='replace')}") from None

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


class Browser:
    """One browser with a profile of its own."""

    def __init__(self, driver, profile, script=True):
        options = {
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--no-first-run", "--disable-background-networking",
                     f"--user-data-dir={profile}", "--window-size=1280,900"],
            "prefs": {"profile.managed_default_content_settings.javascript": 1 if script else 2},
        }
        self.driver = driver
        value = driver.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"}, "pageLoadStrategy": "normal"}}})
        self.path = f"/session/{value['sessionId']}"

    def call(self, method, path, body=None):
        return self.driver.call(method, self.path + path, body)

    def close(self):
        self.call("DELETE", "")

    def go(self, url):
        self.call("POST", "/url", {"url": url})

    def url(self):
        return self.call("GET", "/url")

    def source(self):
        return self.call("GET", "/source")

    def find(self, css):
        return self.call("POST", "/element", {"using": "css selector", "value": css})[ELEMENT]

    def find_all(self, css):
        found = self.call("POST", "/elements", {"using": "css selector", "value": css})
        return [element[ELEMENT] for element in found]

    def text(self, css):
        return self.call("GET", f"/element/{self.find(css)}/text")

    def click(self, css):
        self.call("POST", f"/element/{self.find(css)}/click", {})

    def write(self, css, text):
        self.call("POST", f"/element/{self.find(css)}/value", {"text": text})

    def press(self, key):
        """One key, where the focus is."""
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": [
            {"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]}]})

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        return self.call("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def cdp(self, command, **parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def log(self):
        return self.call("POST", "/se/log", {"type": "browser"})

    def screenshot(self, file):
        with open(file, "wb") as out:
            out.write(base64.b64decode(self.call("GET", "/screenshot")))

    def wait(self, what, is_so, seconds=60):
        deadline = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > deadline:
                raise RuntimeError(f"waited {seconds} s in vain: {what}")
            time.sleep(0.1)
