"""The whole loop by keyboard alone, as a screen reader hears it, narrow and wide, light and dark."""

import pytest
from benching import workbench
from browsing import another_text, contrasts, tab
from playwright.sync_api import expect

from retainer.data.generated import generate
from retainer.data.spans import Span
from retainer.data.tasks import hide
from retainer.workbench.annotation import Annotation
from retainer.workbench.exchange import ImportableData, import_data

CITIES = hide(generate(40, seed=5, types=["artist", "city"]), ["city"])
PLAIN = [" ".join(one.words) for one in generate(20, seed=77, types=["artist", "city"])]
LISTEN = """
window.heard = [];
addEventListener("DOMContentLoaded", () => {
  for (const region of document.querySelectorAll("#workbench :is([role=status], [role=alert])"))
    new MutationObserver(() => region.textContent && window.heard.push(region.textContent))
      .observe(region, { childList: true, characterData: true, subtree: true });
});
"""
"""Keeps what the live regions of the workbench say, one after the other."""


@pytest.fixture
def bench(tmp_path, encoder, specs):
    """A project with a version that knows artists, and texts in which cities are marked."""
    with workbench(tmp_path / "project", encoder, v1=specs[0]) as running:
        import_data(running.project, ImportableData.of(CITIES))
        running.project.texts.add(PLAIN, "requests.txt")
        yield running


@pytest.fixture
def page(chromium, bench):
    with tab(chromium, bench.address, fine=("409",)) as page:
        page.add_init_script(LISTEN)
        page.reload()
        page.wait_for_selector("#look-item:not([hidden])")
        yield page


def tab_to(page, selector, most=120):
    """Press Tab until something has the focus, which must be visible then."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("one => document.activeElement.matches(one)", selector):
            assert page.locator(":focus").evaluate("one => getComputedStyle(one).outlineStyle") != "none", selector
            return
    raise AssertionError(f"the tab key never reaches {selector}")


def go(page, selector):
    """Press Enter on something that Tab reaches."""
    tab_to(page, selector)
    page.keyboard.press("Enter")


def status(page, text, seconds=10):
    expect(page.locator("#workbench-status")).to_contain_text(text, timeout=1000 * seconds)


def fits(page, part):
    """Nothing is wider than the window, and every word has contrast, narrow and wide, light and dark."""
    for width in (390, 1600):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == width, part
        for scheme in ("dark", "light"):
            page.emulate_media(color_scheme=scheme)
            seen = contrasts(page)
            assert len(seen) > 20 and [one for one in seen if one[0] < 4.5] == [], (part, width, scheme)
    page.set_viewport_size({"width": 1100, "height": 900})


def live_regions(page):
    """The live regions in the accessibility tree: how they speak up, and what they say."""
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    by_id = {one["nodeId"]: one for one in tree}

    def words(one):
        own = one.get("name", {}).get("value", "") if one.get("role", {}).get("value") == "StaticText" else ""
        return own + "".join(words(by_id[child]) for child in one.get("childIds", ()) if child in by_id)

    def live(one):
        return next((p["value"].get("value") for p in one.get("properties", ()) if p["name"] == "live"), None)

    roles = ("status", "alert")
    found = [one for one in tree if one.get("role", {}).get("value") in roles and not one.get("ignored")]
    return [(one["role"]["value"], live(one), words(one)) for one in found]


def decide(page):
    """Accept what is left of the text and decide, by keys."""
    with another_text(page):
        page.keyboard.press("Shift+D" if page.locator("#look-rest").is_visible() else "d")
        if page.locator("#person").is_visible():
            page.keyboard.type("Mia")
            page.keyboard.press("Enter")


def test_the_whole_loop_by_keyboard_alone_as_it_is_heard(page, bench):
    go(page, "#skip")
    assert page.evaluate("document.activeElement.id") == "workbench-title"
    decided = bench.project.texts.count(decided=True)
    page.keyboard.press("m")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("2")
    status(page, "Marked.")
    page.keyboard.press("u")
    page.keyboard.press("Shift+D")
    expect(page.locator("#person")).to_be_visible()
    page.keyboard.type("Mia")
    page.keyboard.press("Enter")
    status(page, "decided.")
    for _ in range(2):
        decide(page)
    assert bench.project.texts.count(decided=True) == decided + 3
    tab_to(page, "#texts-list")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    last = bench.project.texts.count()
    expect(page.locator(f"#texts-list [data-text='{last}'] button")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#look-state")).to_contain_text(f"Text {last}")
    fits(page, "look")
    page.locator("#skip").focus()
    go(page, "#bench-parts a[href='#workbench/teach']")
    go(page, "#teach-check")
    status(page, "you can")
    tab_to(page, "#teach-epochs")
    page.keyboard.press("Control+A")
    page.keyboard.type("6")
    page.evaluate("window.heard.length = 0")
    page.keyboard.press("Enter")
    status(page, "v2 is ready", 60)
    heard = page.evaluate("window.heard")
    assert any(one.startswith("Epoch ") and " of at most 6: loss " in one for one in heard), heard
    assert "Done: v2 is ready." in heard or heard[-1].startswith("v2 is ready: compare it"), heard
    regions = {role: (live, said) for role, live, said in live_regions(page)}
    assert regions["status"][0] == "polite" and "v2 is ready" in regions["status"][1], regions
    fits(page, "teach")
    page.locator("#skip").focus()
    go(page, "#job a[href='#workbench/against']")
    go(page, "#against-go")
    expect(page.locator("#against-verdict")).to_be_focused(timeout=20_000)
    fits(page, "against")
    go(page, "#against-use")
    status(page, "v2 is in use now.")
    page.locator("#skip").focus()
    go(page, "#bench-parts a[href='#workbench/history']")
    expect(page.locator("#history-versions .used")).to_contain_text("v2")
    fits(page, "history")
    page.locator("#history-versions summary").press("Enter")
    expect(page.locator("#history-versions .texts-named button").first).to_have_text("Text 1")
    tab_to(page, "#history-versions button[aria-label='Look through v1']")
    page.keyboard.press("Enter")
    expect(page.locator("#against-new")).to_have_value("v1")
    expect(page.locator("#against-verdict")).to_be_focused(timeout=20_000)
    page.locator("#skip").focus()
    go(page, "#bench-parts a[href='#workbench/history']")
    go(page, "#history-back")
    status(page, "v1 is in use now.")
    assert bench.project.versions.in_use().name == "v1"
    assert page.evaluate("window.heard").count("v1 is in use now.") == 1


def test_a_conflict_is_heard_and_undo_and_redo_say_what_they_mean(page, bench):
    page.locator("#look-text").focus()
    decide(page)
    page.keyboard.press("p")
    expect(page.locator("#look-state")).to_contain_text("decided by Mia")
    text = int(page.inner_text("#look-state").split()[1].rstrip(","))
    page.keyboard.press("u")
    status(page, f"Undone: text {text} is as it was.")
    bench.project.annotations.write(text, Annotation(complete=("city",)), seen=2, who="Bo")
    page.keyboard.press("y")
    expect(page.locator("#look-conflict")).to_contain_text(
        f"Bo changed text {text} after your undo; nothing was redone"
    )
    regions = {role: (live, said) for role, live, said in live_regions(page)}
    assert regions["status"][0] == "polite" and "nothing was redone" in regions["status"][1], regions
    assert page.locator("#look-conflict button").all_inner_texts() == [
        f"Open text {text}",
        "Redo what you took back before that",
    ]
    go(page, "#look-conflict button:nth-child(2)")
    status(page, "There is nothing before that to redo.")
    expect(page.locator("#look-conflict")).to_be_hidden()
    revision = bench.project.annotations.get(text).revision
    assert bench.project.annotations.get(text).who == "Bo"
    page.reload()
    page.wait_for_selector("#look-item:not([hidden])")
    page.locator("#look-text").focus()
    decide(page)
    page.keyboard.press("p")
    expect(page.locator("#look-state")).to_contain_text("decided by Mia")
    other = int(page.inner_text("#look-state").split()[1].rstrip(","))
    bench.project.annotations.write(other, Annotation(), seen=bench.project.annotations.get(other).revision, who="Bo")
    expect(page.locator("#workbench-status")).to_contain_text("Bo changed this text", timeout=8_000)
    page.keyboard.press("u")
    expect(page.locator("#look-conflict")).to_contain_text(f"Bo changed text {other} after you did; nothing was undone")
    assert page.locator("#look-conflict button").last.inner_text() == "Undo what you did before that"
    assert other == text or bench.project.annotations.get(text).revision == revision


def test_a_change_is_heard_also_while_the_text_is_being_opened_as_it_was_before(page, bench):
    page.locator("#look-text").focus()
    text = int(page.inner_text("#look-state").split()[1].rstrip(","))
    decide(page)
    under_way = []
    page.route(f"**/v1/project/texts/{text}", lambda route: under_way.append((route, route.fetch())), times=1)
    with page.expect_request(f"**/v1/project/texts/{text}"):
        page.keyboard.press("p")
    page.wait_for_timeout(500)
    [(route, before)] = under_way
    with page.expect_response("**/v1/project/changes*"):
        bench.project.annotations.write(text, Annotation(), seen=1, who="Bo")
    page.wait_for_timeout(3_500)
    route.fulfill(response=before)
    status(page, "Bo changed this text")


def test_a_finding_opens_its_text(page, bench):
    project = bench.project
    added = [project.texts.get(id_) for id_ in project.texts.add([f"go to oslo , {at}" for at in range(9)], "odd").ids]
    odd = next(text for text in added if not text.held_back)
    project.annotations.write(odd.id, Annotation((Span(6, 12, "city"),), True, ("city",)), seen=0, who="ann")
    page.click("#bench-parts a[href='#workbench/teach']")
    page.click("#teach-check")
    finding = page.locator("#teach-findings .findings > li:has-text('punctuation mark')")
    expect(finding).to_contain_text(f"Text {odd.id}: “oslo ,”")
    finding.locator("button").click()
    expect(page.locator("#look-state")).to_contain_text(f"Text {odd.id} from odd")
    assert page.locator("#part-look").is_visible()
