"""Drives headless Chromium over `teia serve`: what people see, on desktop and phone, light and dark.

    python browser.py BASE LITTLE FOLDER

BASE is the server, LITTLE a page of the little web that was collected twice, FOLDER gets the screenshots.
Ends with 0 and a line of counts, or with the first thing that is wrong.
"""

import itertools
import pathlib
import shutil
import sys
from urllib.parse import quote

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

import picture

base, little, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
folder.mkdir(parents=True, exist_ok=True)
outside, errors, checked = [], [], []


def watch(page):
    def asked(request):
        if not request.url.startswith((base, "data:", "about:")):
            outside.append(request.url)

    page.on("request", asked)
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))


def is_known(error):
    """What the browser says of parts that are missing or refused on purpose."""
    return any(text in error for text in ("404", "400 (Bad Request)", "ERR_BLOCKED_BY_RESPONSE", "Content Security Policy", "Blocked script execution", "frame-ancestors", "Unsafe attempt to load URL", "blocked by CORS policy", "ERR_FAILED", "Blocked form submission"))


def accessible(page, name):
    """axe-core finds nothing wrong: labels, contrast, order, roles."""
    results = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]})
    wrong = [
        (found["id"], found["help"], [node["html"][:200] for node in found["nodes"][:3]], found["nodes"][0].get("failureSummary", "")[:300])
        for found in results.response["violations"]
    ]
    assert not wrong, (name, wrong)
    checked.append(name)


def fits(page, name):
    """Nothing makes the page itself scroll sideways."""
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, (name, wide)


def shot(page, name, whole=False):
    picture.take(page, folder / f"{name}.png", whole)


def visit(page, path):
    answer = page.goto(base + path)
    assert answer.ok or answer.status in (400, 404), (path, answer.status)
    return answer


PAGES = [
    ("home", "/"),
    ("results", "/search?q=museu+arte"),
    ("filtered", "/search?q=pão&lang=pt&sort=date"),
    ("nothing", "/search?q=qwertyzxcv"),
    ("help", "/help"),
    ("about", f"/page?url={quote(little, safe='')}"),
    ("links", f"/page?url={quote(little, safe='')}&tab=out"),
    ("map", f"/page?url={quote(little, safe='')}&tab=map"),
    ("history", f"/page?url={quote(little, safe='')}&tab=history"),
    ("captures", f"/archive/*/{little}"),
    ("error", "/search?q=x&page=5000"),
]


def look(browser, kind, size, scheme, language):
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, locale=language, has_touch=kind == "phone"
    )
    page = context.new_page()
    watch(page)
    for name, path in PAGES:
        visit(page, path)
        full = f"{name}-{kind}-{scheme}"
        fits(page, full)
        accessible(page, full)
        shot(page, full)
    context.close()


def searching(page):
    visit(page, "/")
    assert page.locator("#q").evaluate("query => query === document.activeElement"), "one can type at once"
    page.keyboard.type("mus", delay=30)
    page.wait_for_selector(".suggestions li")
    shot(page, "suggestions-desktop")
    first = page.locator(".suggestions li").first.inner_text()
    page.keyboard.press("ArrowDown")
    assert page.input_value("#q") == first, first
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit")
    assert page.locator(".hit mark").count() > 0, "the words are marked"
    assert "ms" in page.locator(".tally").inner_text()
    # Keys move through the results, and to the query and away from it.
    page.locator("main").focus()
    page.keyboard.press("/")
    assert page.locator("#q").evaluate("query => query === document.activeElement")
    page.locator("main").focus()
    page.keyboard.press("j")
    page.keyboard.press("j")
    chosen = page.locator(".hit").nth(1).locator(".title")
    assert chosen.evaluate("link => link === document.activeElement")
    page.keyboard.press("k")
    assert page.locator(".hit").nth(0).evaluate("hit => hit.classList.contains('chosen')")
    shot(page, "keys-desktop")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    shot(page, "help-dialog-desktop")
    page.keyboard.press("Escape")


def narrowing(page):
    """Filters, paging and sorting keep the query and each other; the address is all there is to it."""
    visit(page, "/search?q=a+o+the+de")
    total = page.locator(".tally").inner_text()
    page.locator(".filters summary").nth(1).click()
    shot(page, "menu-desktop")
    page.locator(".filters details[open] li a").nth(1).click()
    assert "lang=" in page.url and "q=" in page.url, page.url
    assert page.locator(".filters details.set").count() == 1
    assert page.locator(".tally").inner_text() != total or "1" in total
    page.locator(".pages a[rel=next]").click()
    assert "page=2" in page.url and "lang=" in page.url, page.url
    second = page.locator(".hit .title").first.get_attribute("href")
    page.goto(page.url)
    assert page.locator(".hit .title").first.get_attribute("href") == second, "a permalink"
    page.locator(".filters details.menu").last.locator("summary").click()
    page.locator(".filters details[open] li a").nth(1).click()
    assert "sort=fresh" in page.url and "page=" not in page.url, page.url
    page.locator(".filters details.menu").last.locator("summary").click()
    page.locator(".filters details[open] li a").nth(2).click()
    assert "sort=date" in page.url and "page=" not in page.url, page.url


def about(page):
    visit(page, f"/page?url={quote(little, safe='')}")
    assert page.locator(".versions tbody tr").count() == 2, "it was collected twice"
    page.get_by_role("button", name="Compare").click()
    assert page.locator("ins").count() > 0 and page.locator("del").count() > 0
    shot(page, "difference-desktop", whole=True)
    page.locator(".tabs a").nth(3).click()
    nodes = page.locator(".map a[data-node]")
    assert nodes.count() > 5, nodes.count()
    nodes.nth(2).locator("circle, rect, path").first.hover()
    page.wait_for_selector(".map.looking")
    shot(page, "map-looking-desktop")
    page.mouse.move(5, 5)
    page.locator(".tabs a").nth(4).click()
    assert page.locator("table tbody tr").count() > 1


def fingers(browser):
    """The map on a phone: names that can be read, two fingers come nearer, one moves; a tab is in view."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, locale="pt-PT", has_touch=True)
    page = context.new_page()
    watch(page)
    visit(page, f"/page?url={quote(little, safe='')}")
    page.locator(".tabs a").nth(3).click()
    page.wait_for_selector(".map .views")
    assert page.locator(".tabs a[aria-current]").evaluate("tab => tab.getBoundingClientRect().top < innerHeight && tab.getBoundingClientRect().left < innerWidth")
    box = page.locator(".map svg").bounding_box()
    assert box["y"] < 844, box
    # The one in the middle is the page that is looked at, whose name stands above.
    names = [name.bounding_box() for name in page.locator(".map a.named:not(.here) text.short").all()]
    assert len(names) > 10, "pages on the map have names"
    for name in names:
        assert name["height"] >= 11, "a name can be read"
        assert name["x"] >= box["x"] and name["x"] + name["width"] <= box["x"] + box["width"], ("a name is not cut off", name, box)
    for one, other in itertools.combinations(names, 2):
        assert abs(one["y"] - other["y"]) >= 11 or abs(one["x"] - other["x"]) >= 60, ("a name is on another", one, other)
    for button in page.locator(".map .views button").all():
        place = button.bounding_box()
        assert place["y"] + place["height"] <= box["y"], ("a button covers nothing", place, box)
        assert min(place["width"], place["height"]) >= 44, ("a finger finds a button", place)
    shot(page, "map-fingers-phone")
    x, y = box["x"] + box["width"] / 2, min(box["y"] + box["height"] / 2, 800)
    hand = context.new_cdp_session(page)

    def touch(kind, *points):
        points = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
        hand.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def view():
        return page.locator(".map svg").evaluate("svg => [svg.viewBox.baseVal.x, svg.viewBox.baseVal.width]")

    before = view()
    touch("touchStart", (x - 20, y), (x + 20, y))
    for step in range(25, 60, 5):
        touch("touchMove", (x - step, y), (x + step, y))
    touch("touchEnd")
    near = view()
    assert near[1] < before[1] * 0.7, (before, near)
    touch("touchStart", (x, y))
    for step in range(5, 60, 5):
        touch("touchMove", (x - step, y))
    touch("touchEnd")
    assert view()[0] > near[0] + 10, (near, view())
    shot(page, "map-near-phone")
    page.locator(".map .views button").last.click()
    assert view() == before, view()
    visit(page, f"/page?url={quote(little, safe='')}&tab=history")
    text = page.locator(".panel").inner_text()
    assert "tentativa 1" in text and "try 1" not in text, text
    context.close()


def copies(page, evil):
    """An archived page: its pictures and styles, none of its scripts, nothing from anywhere else."""
    visit(page, f"/archive/2027/{little}")
    assert "/archive/" in page.url and "2027" not in page.url.split("/archive/")[1][:4], page.url
    frame = page.frame_locator("iframe")
    frame.locator("#stays").wait_for()
    inner = next(frame for frame in page.frames if "mp_/" in frame.url)
    assert inner.evaluate("window.origin") == "null", "an origin of its own"
    assert inner.evaluate("document.title").endswith("two"), inner.evaluate("document.title")
    assert inner.evaluate("document.querySelector('#picture').naturalWidth") == 1, "the picture is there"
    assert inner.evaluate("getComputedStyle(document.querySelector('#stays')).color") == "rgb(1, 2, 3)", "the style is there"
    assert inner.evaluate("typeof window.ran") == "undefined", "no script ran"
    assert page.context.cookies() == [], page.context.cookies()
    page.wait_for_timeout(500)
    assert page.url.startswith(base), "no refresh led away"
    shot(page, "copy-desktop")
    assert page.locator(".banner time").inner_text()
    page.locator(".banner nav a").first.click()
    page.wait_for_selector("iframe")
    # A link inside the copy leads to another copy, with its banner.
    page.frame_locator("iframe").locator("a#onward").click()
    page.wait_for_url("**/archive/**/other")
    page.wait_for_selector(".banner")
    accessible_banner = page.locator("iframe").get_attribute("title")
    assert accessible_banner


def ways_out(page):
    """Whatever is clicked in a copy leads to another copy, or nowhere."""
    tried = []
    for path in ("ways", "ways/base"):
        visit(page, f"/archive/2027/{little}{path}")
        address = page.url

        def inner():
            page.frame_locator("iframe").locator("p").first.wait_for()
            return next(frame for frame in page.frames if "mp_/" in frame.url)

        names = inner().evaluate("[...document.querySelectorAll('[data-way]')].map(one => one.dataset.way)")
        names += inner().evaluate(
            "[...document.querySelectorAll('*')].flatMap(one => one.shadowRoot ? [...one.shadowRoot.querySelectorAll('[data-way]')] : []).map(one => one.dataset.way)"
        )
        if path == "ways":
            shown = inner().evaluate("document.querySelector('#shown').naturalWidth")
            assert shown == 1, "a picture for browsers without scripts is there"
            shot(page, "ways-desktop")
        for name in names:
            page.goto(address)
            inner().locator(f"[data-way={name}]").click(force=True, timeout=5000)
            page.wait_for_timeout(120)
            assert page.url.startswith(base), (name, page.url)
            assert all(frame.url.startswith((base, "about:", "data:")) or not frame.url for frame in page.frames), (name, [frame.url for frame in page.frames])
            tried.append(name)
    assert {"noscript", "set", "animate", "area", "base", "target"} <= set(tried), tried


def switches(browser):
    context = browser.new_context(locale="pt-PT")
    page = context.new_page()
    watch(page)
    visit(page, "/search?q=museu")
    assert page.locator("html").get_attribute("lang") == "pt"
    assert "resultado" in page.locator(".tally").inner_text()
    shot(page, "results-portuguese")
    page.get_by_role("link", name="English").click()
    assert page.locator("html").get_attribute("lang") == "en" and "q=museu" in page.url
    page.locator(".switches summary").click()
    page.locator(".switches details a").nth(2).click()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(16, 21, 23)", ground
    context.close()


def without_script(browser):
    context = browser.new_context(java_script_enabled=False, locale="en-GB")
    page = context.new_page()
    watch(page)
    visit(page, "/")
    page.fill("#q", "museu")
    page.click("form.query button")
    assert page.locator(".hit").count() > 0
    page.locator(".filters summary").first.click()
    page.locator(".filters details[open] li a").nth(1).click()
    assert "site=" in page.url
    shot(page, "no-script")
    page.get_by_role("link", name="about this page").first.click()
    page.locator(".tabs a").nth(3).click()
    assert page.locator(".map svg circle, .map svg rect, .map svg path").count() > 1
    shot(page, "map-no-script")
    context.close()


with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
    context = browser.new_context(viewport={"width": 1280, "height": 860}, locale="en-GB")
    page = context.new_page()
    watch(page)
    searching(page)
    narrowing(page)
    about(page)
    copies(page, None)
    ways_out(page)
    # The whole search page is small.
    sizes = []
    page.on("response", lambda answer: sizes.append(len(answer.body())))
    visit(page, "/search?q=museu")
    page.wait_for_load_state("networkidle")
    assert sum(sizes) < 50_000, sizes
    context.close()
    switches(browser)
    fingers(browser)
    without_script(browser)
    look(browser, "desktop", (1280, 860), "light", "en-GB")
    look(browser, "desktop", (1280, 860), "dark", "en-GB")
    look(browser, "phone", (390, 844), "light", "pt-PT")
    look(browser, "phone", (390, 844), "dark", "en-GB")
    browser.close()

assert not outside, outside
unknown = [error for error in errors if not is_known(error)]
assert not unknown, unknown
print(f"{len(checked)} pages looked at, {len(list(folder.glob('*.png')))} screenshots in {folder}")
