#!/usr/bin/env python3
"""Renders an HTML file in headless Chromium, over its debugging pipe, and checks what a reader would notice.

page_check.py FILE [--width 1000] [--height 900] [--dark] [--screenshot FILE.png]

Fails if the page says anything on the console, loads anything but itself, is wider than the window, hides a part of a section
outside of it, or has text that can hardly be told from its background.
"""
import argparse
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile

MIN_CONTRAST = 4.5  # WCAG 2, level AA

# What a reader sees: the width, what sticks out, and the contrast of each piece of text with what lies below it.
LOOK = """(() => {
  const parse = text => (text.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.length < 4 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const light = color => color.slice(0, 3).map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const visible = [...document.body.querySelectorAll("*")].filter(e => e.getClientRects().length);
  const texts = visible.filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) && !e.closest("svg"));
  const width = document.documentElement.clientWidth;
  return JSON.stringify({
    width, scroll: document.documentElement.scrollWidth,
    outside: visible.filter(e => !e.closest("svg")).filter(e => e.getBoundingClientRect().right > width + 0.5)
      .slice(0, 5).map(e => e.outerHTML.slice(0, 100)),
    faint: texts.filter(e => contrast(parse(getComputedStyle(e).color), behind(e)) < %s)
      .slice(0, 5).map(e => e.outerHTML.slice(0, 100)),
    texts: texts.length,
    sections: [...document.querySelectorAll("section h2")].map(e => e.textContent),
    page: light(parse(getComputedStyle(document.body).backgroundColor)),
    height: document.documentElement.scrollHeight,
  });
})()""" % MIN_CONTRAST


class Chromium:
    """One browser. Messages are JSON with a NUL behind each, on descriptors 3 and 4 of the browser."""

    def __init__(self, profile):
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]  # fmt: skip
        # By way of two that are neither 3 nor 4.
        shell = f'exec {{read}}<&{to_read} {{write}}>&{to_write}; exec 3<&$read 4>&$write; exec "$@"'
        self._process = subprocess.Popen(["bash", "-c", shell, "bash", *command], pass_fds=(to_read, to_write),
                                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self._received = b""
        self._last = 0
        self.events = []

    def close(self):
        os.close(self._to)  # it ends when nobody can speak to it any more
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._from)

    def _message(self):
        while b"\0" not in self._received:
            more = os.read(self._from, 1 << 20)
            if not more:
                raise RuntimeError("the browser has ended")
            self._received += more
        message, self._received = self._received.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self._last += 1
        request = {"id": self._last, "method": method, "params": parameters}
        if session:
            request["sessionId"] = session
        os.write(self._to, json.dumps(request).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self._last:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def wait_for(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self._message())


def render(browser, file, options):
    """What LOOK says, and the complaints of the browser."""
    target = browser.call("Target.createTarget", url="about:blank")["targetId"]
    session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ("Page", "Runtime", "Log", "Network"):
        browser.call(f"{domain}.enable", session)
    browser.call("Emulation.setDeviceMetricsOverride", session, width=options.width, height=options.height,
                 deviceScaleFactor=options.scale, mobile=options.width < 600)  # fmt: skip
    scheme = "dark" if options.dark else "light"
    browser.call("Emulation.setEmulatedMedia", session, features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.events.clear()
    browser.call("Page.navigate", session, url=file.as_uri())
    browser.wait_for("Page.loadEventFired")
    look = json.loads(browser.call("Runtime.evaluate", session, expression=LOOK)["result"]["value"])
    complaints = []
    for event in browser.events:
        parameters = event.get("params", {})
        if event.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            complaints.append(f"the console says {json.dumps(parameters)[:300]}")
        if event.get("method") == "Network.requestWillBeSent" and parameters["request"]["url"] != file.as_uri():
            complaints.append(f"it loads {parameters['request']['url']}")
    if options.screenshot:
        clip = {"x": 0, "y": 0, "width": options.width, "height": min(look["height"], options.height), "scale": 1}
        image = browser.call("Page.captureScreenshot", session, format="png", clip=clip, captureBeyondViewport=True)
        pathlib.Path(options.screenshot).write_bytes(base64.b64decode(image["data"]))
    return look, complaints


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--width", type=int, default=1000)
    parser.add_argument("--height", type=int, default=900)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--screenshot")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Chromium(profile)
        try:
            look, complaints = render(browser, options.file.resolve(), options)
        finally:
            browser.close()
    if look["scroll"] > look["width"]:
        complaints.append(f"it is {look['scroll']} pixels wide in a window of {look['width']}")
    complaints += [f"outside of the window: {element}" for element in look["outside"]]
    complaints += [f"hard to read: {element}" for element in look["faint"]]
    if (look["page"] < 0.2) != options.dark:
        complaints.append(f"the page is not {'dark' if options.dark else 'light'}")
    if look["texts"] < 10:
        complaints.append("there is hardly any text")
    print(*look["sections"], sep="\n")
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
