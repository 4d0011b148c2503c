"""The page works with keys alone, on a phone, in both colour schemes, for screen readers and on paper."""

import re
from pathlib import Path

from browsing import MARKUP_NAME, TEXT, contrasts, drawn, found, put, tab
from playwright.sync_api import expect


def test_everything_can_be_done_with_keys_alone(page, server):
    def tab_to(selector):
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("one => document.activeElement.matches(one)", selector):
                where = "one => getComputedStyle(one.querySelector('.words') ?? one).outlineStyle"
                assert page.locator(":focus").evaluate(where) == "solid"  # the focus is visible
                return
        raise AssertionError(f"the tab key never reaches {selector}")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "skip"
    tab_to("#text")
    page.keyboard.type(TEXT)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#find-results .card")
    tab_to("#find-version")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#find-types label")).to_have_count(2)
    tab_to("#find-results .entity")
    assert drawn(page, "find") == found(server, "v2", TEXT)
    page.keyboard.press("Shift+Tab")
    page.evaluate("document.body.focus()")
    page.locator("#skip").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "find-title"
    page.locator("#skip").focus()
    tab_to("nav a[href='#compare']")
    page.keyboard.press("Enter")
    page.wait_for_selector("#compare-results .card")  # the text came along
    assert page.evaluate("document.activeElement.id") == "compare-title"
    tab_to("#compare-next")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.classList.contains('entity')")
    page.go_back()
    assert page.locator("#find").is_visible() and page.title() == "Find · retainer"


def filled(page, texts, tmp_path):
    """Fill all views one after the other, and yield their names."""
    page.select_option("#find-version", MARKUP_NAME)
    page.set_input_files("#file", put(tmp_path, "\n".join([*texts, "x" * 300, "unbroken-" * 60])))
    for view in ("find", "compare", "travel"):
        page.click(f"nav a[href='#{view}']")
        page.wait_for_selector(f"#{view}-results .card")
        yield view
    page.click("nav a[href='#review']")
    page.set_input_files("#review-file", put(tmp_path, "\n".join(texts)))
    page.wait_for_selector("#review-item:not([hidden])")
    page.keyboard.press("a")
    yield "review"


def test_a_phone_never_scrolls_sideways(chromium, server, texts, tmp_path):
    with tab(chromium, server.address, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True) as page:
        page.wait_for_selector("#find:not([hidden])")
        for view in filled(page, texts, tmp_path):
            wide = page.evaluate(
                "[...document.querySelectorAll('main *')].filter(one => one.checkVisibility()"
                " && !one.closest('.scroll, #review-list .chip')"
                " && one.getBoundingClientRect().right > 391).map(one => one.outerHTML.slice(0, 80))"
            )
            assert wide == [], view
            assert page.evaluate("document.documentElement.scrollWidth") == 390, view


def test_a_phone_shows_what_a_button_did(chromium, server, texts, tmp_path):
    """The buttons of the progress stand far below the text and the messages."""
    with tab(chromium, server.address, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True) as page:
        page.goto(f"{server.address}/#review")
        page.wait_for_selector("#review:not([hidden])")
        page.set_input_files("#review-file", put(tmp_path, "\n".join(texts)))
        page.wait_for_selector("#review-item:not([hidden])")
        page.locator("#review-save").tap()
        expect(page.locator("#review-facts")).not_to_be_in_viewport()
        expect(page.locator("#review-status")).to_be_in_viewport()
        assert page.inner_text("#review-status").startswith("There is nothing to download yet")
        page.locator("#review-list button").last.tap()
        expect(page.locator("#review-facts")).to_be_in_viewport()
        status, facts = (page.locator(one).bounding_box() for one in ("#review-status", "#review-facts"))
        assert status["y"] + status["height"] <= facts["y"]


CHIP = """
async note => {
  const { Text } = await import('/page/codepoints.js');
  const { drawText } = await import('/page/entities.js');
  const mark = { start: 0, end: 5, type: 'artist', note };
  const drawn = drawText(new Text('paris'), [mark], { style: () => ({ hue: 1 }) });
  document.querySelector('#find-results').replaceChildren(drawn);
  return drawn.querySelector('.chip').getBoundingClientRect().right;
}
"""


def test_what_an_entity_became_wraps_on_a_phone(chromium, server):
    with tab(chromium, server.address, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True) as page:
        page.wait_for_selector("#find:not([hidden])")
        assert page.evaluate(CHIP, "now " + "a-type-with-a-long-name " * 3) < 391


GAP = """
async ([text, words]) => {
  const { Text } = await import('/page/codepoints.js');
  const { drawText } = await import('/page/entities.js');
  const start = text.indexOf(words);
  const mark = { start, end: start + words.length, type: 'city' };
  const drawn = drawText(new Text(text), [mark], { style: () => ({ hue: 1 }) });
  document.querySelector('#find-results').replaceChildren(drawn);
  const [a, b] = [...drawn.querySelector('.entity').children].map(one => one.getBoundingClientRect());
  return Math.max(a.left, b.left) - Math.min(a.right, b.right);
}
"""


def test_a_type_stands_apart_from_its_words_in_any_direction(page):
    hello = "\u0645\u0631\u062d\u0628\u0627"
    for text, words in ((TEXT, "paris"), (f"{hello} {TEXT}", "boston"), (f"{hello} paris", "paris"), (hello, hello)):
        assert 3 < page.evaluate(GAP, [text, words]) < 12, text


def test_every_word_has_contrast(page, texts, tmp_path):
    for view in filled(page, texts, tmp_path):
        for scheme, background in (("dark", "rgb(18, 21, 26)"), ("light", "rgb(248, 247, 244)")):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == background
            seen = contrasts(page)
            assert len(seen) > 20
            assert [one for one in seen if one[0] < 4.5] == [], (view, scheme)


def test_everything_has_a_name_and_a_place(page, texts, tmp_path):
    assert page.locator("header, main, footer, nav:visible").count() == 4
    for view in filled(page, texts, tmp_path):
        nameless = page.evaluate(
            "[...document.querySelectorAll('button, input, select, textarea, [tabindex=\"0\"]')]"
            ".filter(one => one.checkVisibility() && !one.labels?.length && !one.getAttribute('aria-label')"
            " && !one.textContent.trim()).map(one => one.outerHTML)"
        )
        assert nameless == [], view
        assert (
            page.locator(f"#{view} [role=status]").count() == 1 and page.locator(f"#{view} [role=alert]").count() == 1
        )
        assert page.locator("nav [aria-current=page]").inner_text() == {"travel": "Time travel"}.get(view, view.title())
        assert re.findall(r"\b(?:null|undefined|NaN|\[object)\b", page.inner_text("body")) == [], view
        assert page.locator("h1:visible").count() == 1 and page.locator("main h2:visible").count() == 1


def test_a_page_can_be_printed(page, texts, tmp_path):
    for view in filled(page, texts, tmp_path):
        page.emulate_media(media="print", color_scheme="dark")
        assert not page.locator("#text").is_visible() and page.locator(f"#{view} .card").first.is_visible()
        assert (
            page.evaluate("getComputedStyle(document.querySelector('.card')).backgroundColor") == "rgb(255, 255, 255)"
        )
        page.emulate_media(media="screen", color_scheme="light")


def test_the_pictures_are_small():
    docs = Path(__file__).parents[3] / "docs"
    names = [f"serve-{name}" for name in ("find", "compare", "review")]
    names += [f"workbench-{name}" for name in ("look", "teach", "compare", "use")]
    assert all((docs / f"{name}.png").stat().st_size < 200_000 for name in names)
