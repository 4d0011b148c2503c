"""Find: what the page shows is what the server finds."""

import gzip
import json

import pytest
from browsing import TEXT, api, drawn, found, plain, put, show
from playwright.sync_api import expect

from retainer.cli.main import main


def test_find_shows_what_the_server_finds(page, server, texts):
    text = next(one for one in texts if len(found(server, "v2", one)) > 1)
    page.select_option("#find-version", "v2")
    show(page, text)
    assert drawn(page, "find") == found(server, "v2", text)
    assert page.locator("#find-results .text").inner_text().replace("\n", "").startswith(text[:4])
    count = len(found(server, "v2", text))
    assert page.inner_text("#find-status") == f"{count} {'entity' if count == 1 else 'entities'} in 1 text."
    page.select_option("#find-version", "v1")  # asks again by itself
    expect(page.locator("#find-types label")).to_have_count(1)
    assert drawn(page, "find") == found(server, "v1", text)


def test_scores_are_seen_on_hover_and_on_focus(page, server, texts):
    page.select_option("#find-version", "v2")
    text = next(one for one in texts if len(found(server, "v2", one)) > 1)
    show(page, text)
    entities = page.locator("#find-results .entity")
    seen = "one => getComputedStyle(one.querySelector('.tip')).display !== 'none'"
    assert not entities.nth(0).evaluate(seen)
    entities.nth(0).hover()
    assert entities.nth(0).evaluate(seen)
    page.mouse.move(0, 0)
    entities.nth(0).focus()
    assert entities.nth(0).evaluate(seen)
    page.keyboard.press("ArrowRight")
    assert entities.nth(1).evaluate(seen) and not entities.nth(0).evaluate(seen)
    scores = [one["score"] for one in api(server, "predict", texts=[text], version="v2")["results"][0]["entities"]]
    assert entities.nth(1).locator(".tip").text_content() == f"score {scores[1]:.2f}"
    assert f"score {scores[1]:.2f}" in entities.nth(1).get_attribute("aria-label")


def test_threshold_and_types_hide_and_calibrated_asks_again(page, server, texts):
    text = " . ".join(texts[:6])
    page.select_option("#find-version", "v2")
    show(page, text)
    scores = [one["score"] for one in api(server, "predict", texts=[text], version="v2")["results"][0]["entities"]]
    page.locator("#find-threshold").evaluate("one => { one.value = 0.9; one.dispatchEvent(new Event('input')); }")
    assert len(drawn(page, "find")) == sum(score >= 0.9 for score in scores)
    assert page.inner_text("#find-least") == "0.90"
    page.locator("#find-threshold").evaluate("one => { one.value = 0; one.dispatchEvent(new Event('input')); }")
    page.get_by_role("checkbox", name="city").uncheck()
    assert {type_ for _, type_ in drawn(page, "find")} == {"artist"}
    assert "hidden by threshold or type" in page.inner_text("#find-status")
    page.check("#find-calibrated")
    page.wait_for_selector("#find-results .tip:text-matches('right with')", state="attached")
    calibrated = api(server, "predict", texts=[text], version="v2", calibrated=True)["results"][0]["entities"]
    first = next(one for one in calibrated if one["entity_group"] == "artist")
    assert page.locator("#find-results .tip").first.text_content() == f"right with {first['score'] * 100:.0f} %"


def test_it_is_said_which_part_of_the_types_is_calibrated(page):
    def one_less(route):
        response = route.fetch()
        answer = response.json()
        for version in answer["versions"]:
            version["calibrated_types"] = version["calibrated_types"][:1]
        route.fulfill(response=response, json=answer)

    page.select_option("#find-version", "v2")
    assert page.inner_text("#find-calibrated-note") == ""
    page.route("**/v1/versions", one_less)
    page.reload()
    page.wait_for_selector("#find:not([hidden])")
    page.select_option("#find-version", "v2")
    assert page.inner_text("#find-calibrated-note") == "(1 of 2 types)"
    page.select_option("#find-version", "v1")
    assert page.inner_text("#find-calibrated-note") == ""


def test_a_browser_of_2023_is_enough(page, server):
    """Firefox learned String.isWellFormed late in that year."""
    page.evaluate("delete String.prototype.isWellFormed")
    page.select_option("#find-version", "v2")
    show(page, TEXT)
    assert drawn(page, "find") == found(server, "v2", TEXT)


def test_the_browser_does_not_keep_what_was_typed(page):
    """It would write it to its disk, to restore the field later."""
    assert page.get_attribute("#text", "autocomplete") == "off"


def test_places_are_code_points(page, server):
    """In UTF-16 everything after an emoji is moved by one, and marks are characters of their own."""
    text = f"😀👩‍🚀 {TEXT} 😀 cafe\u0301 {TEXT}"
    page.select_option("#find-version", "v2")
    show(page, text)
    assert drawn(page, "find") == found(server, "v2", text) != []
    assert plain(page, "find") == [text]


def test_every_typed_line_is_a_text(page, server, texts, tmp_path, specs, capsys):
    """As `predict` takes the lines of a file; blank lines are left out."""
    lines = texts[:3]
    page.select_option("#find-version", "v2")
    show(page, "\n".join([lines[0], "", f"{lines[1]}  ", lines[2], " "]))
    assert plain(page, "find") == [lines[0], f"{lines[1]}  ", lines[2]]
    assert main(["predict", specs[1], "--input", put(tmp_path, "\n".join(lines)), "--device", "cpu"]) == 0
    told = [json.loads(line)["entities"] for line in capsys.readouterr().out.splitlines()]
    wanted = [[[one["word"], one["entity_group"]] for one in some] for some in told]
    assert [drawn(page, "find", nth) for nth in range(3)] == wanted
    page.click("nav a[href='#compare']")
    page.wait_for_selector("#compare-results .card >> nth=2")
    page.fill("#text", "fine\n" + "a " * 30_000)
    page.click("#go")
    assert "Line 2: 60,000 characters are too many" in page.inner_text("#compare-alert")


def test_a_file_is_read_and_shown_text_by_text(page, server, texts, tmp_path):
    lines = "\ufeff" + "\r\n".join(texts[:3]) + "\r\n"
    page.set_input_files("#file", put(tmp_path, lines, "three.txt"))
    page.wait_for_selector("#find-results .card >> nth=2")
    assert "three.txt: 3 texts" in page.inner_text("#file-shown")
    assert [drawn(page, "find", nth) for nth in range(3)] == [found(server, "v1", text) for text in texts[:3]]
    assert plain(page, "find") == texts[:3]  # neither the mark at the beginning nor the line ends
    records = "".join(json.dumps({"id": 1, "text": f"😀 {text}"}) + "\n" for text in texts[3:5])
    page.set_input_files("#file", put(tmp_path, records, "two.jsonl"))
    expect(page.locator("#find-results .card")).to_have_count(2)
    assert drawn(page, "find", 1) == found(server, "v1", f"😀 {texts[4]}")
    page.click("#file-shown button")
    assert page.locator("#text").is_visible() and page.evaluate("document.activeElement.id") == "text"


def test_a_file_can_be_dropped_and_a_long_one_comes_in_parts(page, texts):
    many = "\\n".join(texts * 10)
    drop = "files => { for (const kind of ['dragover', 'drop']) document.querySelector('main')" + (
        ".dispatchEvent(new DragEvent(kind, {dataTransfer: files, bubbles: true, cancelable: true})); }"
    )
    handle = page.evaluate_handle(
        f"() => {{ const all = new DataTransfer(); all.items.add(new File([`{many}`], 'many.txt')); return all; }}"
    )
    page.evaluate(drop, handle)
    page.wait_for_selector("#find-results .card >> nth=39")
    assert page.locator("#find-results .card").count() == 40
    page.click("#find-results .more button")
    assert page.locator("#find-results .card").count() == 80
    assert "in 120 texts" in page.inner_text("#find-status")


BROKEN = {
    "picture.png": (b"\x89PNG\r\n\x1a\n\x00\x00\x00", "binary file. Choose plain text, "),
    "texts.txt.gz": (gzip.compress(b"play songs"), "is compressed (gzip): unpack it"),
    "latin.txt": ("caf\u00e9".encode("latin-1"), "is not UTF-8"),
    "broken.jsonl": (b'{"text": "a"}\n{"text": \n', "line 2: this is not JSON"),
    "other.jsonl": (b'{"words": "a"}\n', 'the key "text" is missing or is not a string; found words'),
    "half.jsonl": (b'{"text": "a \\ud800 b"}\n', "half a character"),
    "list.json": (b'[{"text": "a"}]\n', "holds tasks of Label Studio, which the page does not read"),
    "wide.conll": (b"a\tO\nb\tx\tO\n", "line 2: found 3 columns where the lines before have 2"),
    "tag.conll": (b"a\tO\nb\tO\nc\tcity\n", "line 3: “city” is not a tag"),
    "words.jsonl": (b'{"tokens": ["a", ""]}\n', "“tokens” must be a list of words"),
    "empty.txt": (b" \n\r\n", "holds no text"),
    "long.txt": (b"a " * 30_000, "line 1: 60,000 characters are too many; a text may have 50,000"),
}
ANNOTATED = {
    "odd.jsonl": (
        b'{"text": "a b", "spans": [{"start": 1, "end": 9, "label": "x"}]}\n',
        "entity 1 has offsets outside the text",
    ),
    "numbers.jsonl": (b'{"tokens": ["a"], "ner_tags": [1]}\n', "“ner_tags” must be a list of tags such as O"),
    "short.jsonl": (b'{"tokens": ["a", "b"], "tags": ["O"]}\n', "found 2 tokens and 1 tag."),
}
"""What is wrong with the annotation matters only where it is shown."""


@pytest.mark.parametrize("view", ["find", "review"])
def test_a_wrong_file_is_explained(page, tmp_path, view):
    page.click(f"nav a[href='#{view}']")
    for name, (content, message) in {**BROKEN, **(ANNOTATED if view == "review" else {})}.items():
        page.set_input_files("#file" if view == "find" else "#review-file", put(tmp_path, content, name))
        page.wait_for_selector(f"#{view}-alert:has-text('{message}')")
        assert page.inner_text(f"#{view}-alert").startswith(name)


def test_a_text_that_is_missing_or_too_long_is_explained(page):
    page.fill("#text", "  \n ")
    page.click("#go")
    assert page.inner_text("#find-alert") == "There is no text yet: type or paste one, or choose a file."
    page.fill("#text", "a " * 30_000)
    page.click("#go")
    assert "The text: 60,000 characters are too many" in page.inner_text("#find-alert")
    show(page, TEXT)
    page.wait_for_selector("#find-results .card")
    assert page.inner_text("#find-alert") == ""
