"""Texts, file names and names of types may hold anything; nothing of it becomes markup."""

import json
import unicodedata

from browsing import EVIL_TYPE, MARKUP_NAME, found, plain, put, show

HURT = [
    "<script>window.hurt=1</script> play songs by boston",
    '<img src=x onerror="window.hurt=1"> on the drive to paris',
    "\u202e\u2066 play songs by boston \u202c</p></article><h1>owned</h1>",
    "{{constructor.constructor('window.hurt=1')()}} javascript:window.hurt=1",
]


def test_no_text_or_name_becomes_markup(page, server, tmp_path):
    before = page.evaluate("document.querySelectorAll('script').length")
    name = "<img src=x onerror=hurt()>\u202etxt.<b>.jsonl"
    path = put(tmp_path, "".join(json.dumps({"text": one}) + "\n" for one in HURT), name)
    for view in ("find", "compare", "travel"):
        page.click(f"nav a[href='#{view}']")
        if view == "find":
            page.select_option("#find-version", MARKUP_NAME)
            page.set_input_files("#file", path)
        page.wait_for_selector(f"#{view}-results .card >> nth=3")
    assert "⟨U+202E⟩" in page.inner_text("#file-shown") and "<img src=x" in page.inner_text("#file-shown")
    page.click("nav a[href='#review']")
    page.select_option("#review-second", "v2")
    page.set_input_files("#review-file", path)
    page.wait_for_selector("#review-item:not([hidden])")
    for key in "3a1ar":
        page.keyboard.press(key)
    made = page.evaluate(
        "[window.hurt, document.querySelectorAll('script').length, "
        "document.querySelectorAll('main img, main u, main b:not(.counts b), main h1, main script, iframe').length]"
    )
    assert made == [None, before, 0]
    page.click("nav a[href='#find']")
    assert plain(page, "find") == HURT
    assert EVIL_TYPE.replace("\u202e", "⟨U+202E⟩") in page.inner_text("#find-types")


def test_a_type_that_turns_text_around_stays_in_its_chip(page, server, texts):
    text = next(one for one in texts if EVIL_TYPE in dict(map(reversed, found(server, MARKUP_NAME, one))))
    page.select_option("#find-version", MARKUP_NAME)
    show(page, text)
    chip = page.locator("#find-results .chip bdi").filter(has_text="<img").first
    assert unicodedata.bidirectional("\u202e") == "RLO" and "\u202e" not in chip.text_content()
