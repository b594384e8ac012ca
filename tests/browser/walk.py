#!/usr/bin/env python3
"""Walks through the pages as a reviewer; ends with 1 and the reasons where something is wrong."""

import argparse
import sys
import tempfile

from webdriver import Browser, Driver

PROBLEMS = []


def check(condition, text):
    if not condition:
        PROBLEMS.append(text)
        print("WRONG:", text)


class Walk:
    def __init__(self, options, driver):
        self.options = options
        self.driver = driver
        with open(options.axe, encoding="utf-8") as file:
            self.axe = file.read()

    def address(self, path):
        return self.options.url + path

    def task(self, name, rest=""):
        return self.address(f"/tasks/{getattr(self.options, name)}{rest}")

    def open_browser(self, script=True):
        return Browser(self.driver, tempfile.mkdtemp(dir=self.options.home), script)

    def log_in(self, browser, code):
        browser.go(self.address("/"))
        check("/login" in browser.url(), "a stranger is sent to the login")
        browser.write("#code", code.lower())
        browser.click("form .primary")

    # What holds on every page: nothing refused, nothing inaccessible, nothing cut at 200 %.
    def look(self, browser, name):
        browser.screenshot(f"{self.options.screenshots}/{name}.png")
        for entry in browser.log():
            check(entry["level"] not in ("SEVERE", "WARNING"), f"{name}: {entry['message']}")
        self.run_axe(browser, name)
        for css in ("main img", "main script", "main [onload]", "main [onerror]"):
            check(not browser.find_all(css), f"{name}: there is a {css}")

    def run_axe(self, browser, name):
        browser.run(self.axe)
        found = browser.run_async(
            "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']})"
            ".then(r => done(r.violations.map(v => [v.impact, v.id, v.nodes.map(n => n.html)"
            ".slice(0, 3)])), e => done([['critical', String(e), []]]));")
        for impact, rule, nodes in found:
            check(impact not in ("serious", "critical"), f"{name}: axe {impact} {rule}: {nodes}")

    def look_closely(self, browser, name):
        """The same in the dark, and at twice the size."""
        browser.cdp("Emulation.setEmulatedMedia",
                    features=[{"name": "prefers-color-scheme", "value": "dark"}])
        browser.screenshot(f"{self.options.screenshots}/{name}-dark.png")
        self.run_axe(browser, name + ", dark")
        browser.cdp("Emulation.setEmulatedMedia", features=[])
        browser.cdp("Emulation.setDeviceMetricsOverride", width=640, height=450,
                    deviceScaleFactor=2, mobile=False)
        browser.screenshot(f"{self.options.screenshots}/{name}-zoomed.png")
        check(browser.run("return document.scrollingElement.scrollWidth <= innerWidth"),
              f"{name}: at 200 % the page scrolls sideways")
        browser.cdp("Emulation.clearDeviceMetricsOverride")

    def walk(self):
        browser = self.open_browser()
        browser.go(self.address("/login"))
        self.look(browser, "login")
        self.log_in(browser, self.options.code)
        browser.wait("the queue", lambda: "/tasks" in browser.url())
        check(len(browser.find_all("[data-item]")) == 4, "four tasks wait for a decision")
        self.look(browser, "queue")
        self.look_closely(browser, "queue")
        self.read(browser)
        self.refuse(browser)
        self.approve(browser)
        self.survey(browser)
        self.attack(browser)
        browser.go(self.task("failing"))
        self.look(browser, "override")
        browser.close()

    def read(self, browser):
        browser.press("j")
        browser.press("?")
        check(browser.run("return document.getElementById('keys').open"), "? opens the help")
        self.look(browser, "keys")
        browser.click("#keys button")
        browser.go(self.task("approve"))
        check("speed" in browser.text("#gates"), "the verdict names its gates")
        check("BM_Words" in browser.text(".figures"), "the figures stand in a table")
        check(len(browser.find_all(".plot circle")) >= 8, "the plot has a point for each pair")
        self.look(browser, "verdict")
        self.look_closely(browser, "verdict")
        browser.run("document.querySelector('.plots').scrollIntoView()")
        browser.screenshot(f"{self.options.screenshots}/plot.png")
        self.read_diff(browser)
        self.read_log(browser)

    def read_diff(self, browser):
        browser.press("d")
        browser.wait("the diff", lambda: browser.url().endswith("/diff"))
        check(len(browser.find_all("table.unified")) == 1, "the diff begins unified")
        check(len(browser.find_all("mark")) > 0, "differences within lines are marked")
        self.look(browser, "diff")
        browser.click("nav[aria-label^=How] a:nth-child(2)")
        browser.wait("split", lambda: len(browser.find_all("table.split")) == 1)
        self.look(browser, "diff-split")
        self.look_closely(browser, "diff-split")
        browser.click("nav[aria-label^=How] a:nth-child(3)")
        browser.wait("white space", lambda: "space=hide" in browser.url())
        check("≈" in browser.text(".diff"), "a line that differs in white space alone is one line")
        browser.press("n")
        browser.press("j")

    def read_log(self, browser):
        browser.go(self.task("approve"))
        browser.click("#runs a[href*='/logs/']")
        browser.wait("the log", lambda: "/logs/" in browser.url())
        check("green" in browser.text(".log"), "the log is shown")
        check("\\x1b]0;title\\x07" in browser.text(".log"), "what would act is shown")
        check("[32m" not in browser.text(".log"), "colours are left out")
        self.look(browser, "log")
        browser.write("input[name=q]", "green")
        browser.click("form.filters button")
        browser.wait("the search", lambda: "q=green" in browser.url())
        check(len(browser.find_all(".log tr")) == 1, "the search finds one line")

    def refuse(self, browser):
        browser.go(self.task("refuse"))
        browser.write("#refuse-form textarea", "It says less than before.")
        browser.click("#refuse-form .danger")
        browser.wait("the refusal", lambda: "said=refuse" in browser.url())
        check("It says less" in browser.text("#decision"), "the reason is on the page")
        self.look(browser, "refused")

    def approve(self, browser):
        browser.go(self.task("approve"))
        browser.click("#approve-form .primary")
        browser.wait("the approval", lambda: "said=approve" in browser.url())
        browser.run("window.stays = true")
        browser.wait("the landing", lambda: "promoted" in browser.text("h1"), 90)
        check(browser.run("return window.stays === true"), "the page was not loaded again")
        self.look(browser, "promoted")

    def survey(self, browser):
        for path in ("/tasks?view=all", "/board", "/projects", "/projects/measured",
                     "/tasks/t_none"):
            browser.go(self.address(path))
            name = path.strip("/").replace("/", "-").split("?")[0]
            if path.endswith("t_none"):
                browser.log()  # the 404 is one
                continue
            self.look(browser, name if "?" not in path else "queue-all")

    def attack(self, browser):
        check("<img src=x" in self.shown(browser, self.task("hostile")), "the title is text")
        self.look(browser, "hostile")
        shown = self.shown(browser, self.task("hostile", "/diff"))
        check("<svg onload" in shown, "the file's name is text")
        check("\\u{202e}" in shown and "\\x1b[31m" in shown, "what acts is escaped")
        self.look(browser, "hostile-diff")
        self.look_closely(browser, "hostile-diff")

    def shown(self, browser, url):
        browser.go(url)
        return browser.text("main")

    def walk_without_script(self):
        browser = self.open_browser(script=False)
        self.log_in(browser, self.options.plain_code)
        browser.go(self.task("plain"))
        browser.click("#approve-form .primary")
        check("said=approve" in browser.url(), "an approval needs no script")
        check("recorded" in browser.source(), "the page says so")
        self.override(browser)
        browser.close()

    def override(self, browser):
        browser.go(self.task("failing"))
        check(not browser.find_all("#approve-form"), "what failed is not simply approved")
        for box in range(len(browser.find_all("#override-form [type=checkbox]"))):
            browser.click(f"#override-form label:nth-of-type({box + 1}) [type=checkbox]")
        browser.write("#override-form textarea", "The check is wrong.")
        browser.click("#override-form .danger")
        check("said=override" in browser.url(), "an override needs no script")


def main():
    parser = argparse.ArgumentParser()
    for name in ("url", "code", "plain-code", "approve", "refuse", "plain", "hostile",
                 "failing", "axe", "screenshots", "home"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    driver = Driver()
    try:
        walk = Walk(options, driver)
        walk.walk()
        walk.walk_without_script()
    finally:
        driver.stop()
    return 1 if PROBLEMS else 0


if __name__ == "__main__":
    sys.exit(main())
