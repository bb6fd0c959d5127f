"""One person's day with the management pages, in headless Chromium over `teia serve`.

    python story.py BASE TOKEN SITE PAGES FOLDER before|after

BASE is the server, TOKEN the admin's, SITE the web to collect, which has PAGES pages; FOLDER gets screenshots.
`before` logs in, makes a collection by the form, starts it, watches it and pauses it; then the process is killed and
started again, and `after` resumes it, sees it end, reads the statistics, and removes the host.
"""

import pathlib
import re
import shutil
import sys
import time

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

import picture

base, token, site, pages, folder, part = sys.argv[1:]
pages, folder = int(pages), pathlib.Path(folder)
folder.mkdir(parents=True, exist_ok=True)
outside, errors = [], []


def watch(page):
    page.on("request", lambda request: None if request.url.startswith((base, "data:", "about:")) else outside.append(request.url))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))


def look(page, name):
    """axe-core finds nothing wrong, nothing scrolls sideways, and somebody can look at it later."""
    options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
    results = Axe().run(page, options=options)
    wrong = [
        (found["id"], found["help"], [node["html"][:200] for node in found["nodes"][:3]])
        for found in results.response["violations"]
    ]
    assert not wrong, (name, wrong)
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, (name, wide)
    picture.take(page, folder / f"manage-{name}.png", whole=True)


def figure(page, label):
    text = page.locator(f"dl.facts-grid div:has(dt:text-is('{label}')) dd").first.inner_text()
    return int(re.sub(r"\D", "", text.split("\n")[0].split(" over")[0]) or 0)


def until(what, holds):
    for _ in range(1200):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError(what)


# What a collection has once something was fetched, in this order.
PANELS = ["now", "events", "errors", "outcomes", "types", "languages", "times", "depths", "largest", "slowest", "failing", "runs"]
NAMES = "page => [...page.querySelectorAll('[data-part]')].map(part => part.dataset.part)"
FRESH = f"async () => ({NAMES})(new DOMParser().parseFromString(await (await fetch(location.href)).text(), 'text/html'))"


def parts(page):
    return page.evaluate(f"({NAMES})(document)")


def log_in(page):
    page.goto(base + "/collections")
    assert "/login" in page.url, page.url
    page.fill("#token", token)
    page.click("form.login button")
    assert page.url == base + "/collections", page.url


def before(page):
    log_in(page)
    look(page, "empty")
    page.click("text=New collection")
    page.fill("#name", "garden")
    page.fill("[id='seeds']", site)
    page.fill("[id='politeness.delay']", "soon")
    page.click("button[value=save]")
    assert page.locator("[role=alert]").is_visible(), "a wrong delay is refused"
    assert page.input_value("[id='seeds']").strip() == site, "what was typed is still there"
    wrong = page.locator(".field.wrong")
    assert wrong.count() == 1 and wrong.get_attribute("data-key") == "politeness.delay", "the field is marked"
    assert "line" not in wrong.locator(".problem").inner_text(), "a form has no lines"
    page.fill("[id='politeness.delay']", "500ms")
    until("the file follows", lambda: 'delay = "500ms"' in page.input_value("#text"))
    page.fill("#try", site + "/x\nhttp://elsewhere.example/")
    page.click("button[value=check]")
    trials = page.locator(".trials li").all_inner_texts()
    assert [text.split(":")[0] for text in trials] == ["in", "out"], trials
    assert parts(page) == [], "the live page takes nothing away that a form has answered"
    look(page, "new")
    page.click("button[value=save]")
    assert page.url.startswith(base + "/collections/garden"), page.url
    page.click("button[value=start]")
    # Live: the page brings the numbers by itself, and panels that there was nothing for when it was opened.
    page.evaluate("window.sameDay = true")
    until("pages appear", lambda: figure(page, "Pages") >= 3)
    until("a curve appears", lambda: page.locator("svg.curve").count() > 0)
    for part in PANELS:
        until(f"the panel {part} appears", lambda: page.locator(f"[data-part={part}]").count() == 1)
    until("panels stand in the order of a page that is opened now", lambda: parts(page) == page.evaluate(FRESH))
    assert page.evaluate("window.sameDay"), "nobody has loaded the page again"
    picture.take(page, folder / "manage-running.png", whole=True)
    page.click("button[value=pause]")
    assert page.locator("[role=status]:not([hidden])").first.inner_text().startswith("The run rests"), "a pause is told"
    assert figure(page, "Pages") < pages, "it was paused before its end"
    look(page, "paused")


def after(page):
    log_in(page)
    page.click("main a:text-is('garden')")
    until("the pause holds", lambda: "paused" in page.locator(".state").inner_text())
    page.goto(base + "/collections/garden/edit")
    page.fill("[id='politeness.delay']", "20ms")
    page.click("button[value=save]")
    page.locator("button[value=resume], button[value=start]").first.click()
    until("it ends", lambda: "ended" in page.locator(".state").inner_text())
    until("nothing is fetched now", lambda: "now" not in parts(page))
    page.goto(page.url)
    assert figure(page, "Pages") == pages, figure(page, "Pages")
    look(page, "ended")
    for size, scheme, name in [((390, 844), "light", "phone"), ((1280, 900), "dark", "dark")]:
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.emulate_media(color_scheme=scheme)
        look(page, f"ended-{name}")
    page.emulate_media(color_scheme="light")
    for path in ["/collections", "/urls", "/urls?state=fetched&contains=html", "/hosts", "/map", "/statistics", "/explain?url=" + site + "/", "/collections/garden/edit", "/settings", "/bot"]:
        answer = page.goto(base + path)
        assert answer.ok, (path, answer.status)
        look(page, path.split("?")[0].strip("/").replace("/", "-"))
    page.goto(base + "/set?lang=pt&next=/collections/garden")
    look(page, "pt")
    page.goto(base + "/set?lang=en&next=/statistics")
    outcomes = page.locator("#outcomes tbody tr").first.inner_text()
    assert str(pages) in outcomes, outcomes
    page.goto(base + "/hosts")
    page.click("#hosts tbody a")
    text = page.locator(".sentence").first.inner_text()
    assert "we waited at least" in text, text
    look(page, "host")
    page.click("summary:has-text('Remove this host')")
    page.click("details.sure[open] button")
    assert "removed" in page.locator("[role=status]:not([hidden])").first.inner_text()
    page.goto(base + "/search?q=bed")
    assert page.locator(".hit").count() == 0, "nothing of the host is found any more"
    on_a_phone(page)


def legible(page, name):
    """Letters of drawings are not too small, a state is one line, and no label stands there without its value."""
    small = page.evaluate("""[...document.querySelectorAll('.curve text, .map-of-hosts text')]
        .map(it => [it.textContent, parseFloat(getComputedStyle(it).fontSize) * Math.hypot(it.getScreenCTM().a, it.getScreenCTM().b)])
        .filter(([, size]) => size < 11)""")
    assert not small, (name, small)
    broken = page.evaluate("""[...document.querySelectorAll('.headline .state, td .whole')].filter(it => {
        const range = document.createRange();
        range.selectNodeContents([...it.childNodes].find(node => node.textContent.trim()));
        return new Set([...range.getClientRects()].map(line => Math.round(line.top))).size > 1;
    }).map(it => it.innerText)""")
    assert not broken, (name, broken)
    empty = page.evaluate("""[...document.querySelectorAll('.stack :is(td, th) + td')]
        .filter(it => it.offsetParent && !it.textContent.trim()).map(it => it.outerHTML)""")
    assert not empty, (name, empty)


def on_a_phone(page):
    """Nothing to read or press in the rows of a table lies beyond the edge, and everything can be read."""
    page.set_viewport_size({"width": 390, "height": 844})
    for name, path in [
        ("collections", "/collections"), ("garden", "/collections/garden"), ("urls", "/urls?collection=garden&state=fetched"),
        ("hosts", "/hosts?collection=garden"), ("settings", "/settings"), ("explain", "/explain?url=" + site),
        ("map", "/map?collection=garden"), ("statistics", "/statistics?collection=garden"), ("bot", "/bot"),
    ]:
        page.goto(base + path)
        look(page, f"phone-{name}")
        legible(page, name)
        beyond = page.evaluate("""[...document.querySelectorAll('table.stack :is(td, th, a, button, summary)')]
            .filter(it => it.offsetParent && !it.closest('thead') && it.getBoundingClientRect().right > innerWidth)
            .map(it => it.outerHTML.slice(0, 200))""")
        assert not beyond, (name, beyond)
    # The words of one language are longer than those of another.
    page.goto(base + "/set?lang=pt&next=/collections/garden")
    legible(page, "garden in Portuguese")
    cut = page.evaluate("""['outcomes', 'types', 'languages', 'times', 'depths'].map(id => document.querySelector(`#${id} .scroll`))
        .filter(it => it && it.scrollWidth > it.clientWidth).map(it => [it.innerText, it.scrollWidth - it.clientWidth])""")
    assert not cut, cut
    page.goto(base + "/collections")
    legible(page, "collections in Portuguese")
    page.goto(base + "/set?lang=en&next=/settings")
    button = page.locator("#removals tbody button, #removals tbody summary").first.bounding_box()
    assert button and button["x"] + button["width"] <= 390, button


with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
    page = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-GB").new_page()
    watch(page)
    {"before": before, "after": after}[part](page)
    browser.close()
unexpected = [error for error in errors if "422" not in error]
assert not unexpected, unexpected
assert not outside, outside
