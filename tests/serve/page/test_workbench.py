"""The workbench in a browser: from an empty folder to a version in use and back."""

import pytest
from benching import TOKEN, workbench
from browsing import another_text, tab
from playwright.sync_api import expect

from retainer.data.generated import generate
from retainer.data.words import word_offsets

SENTENCES = {" ".join(one.words): one for one in generate(40, seed=31, types=["artist", "city"])}


def enter(page, name="Mia"):
    """Say who works here."""
    page.wait_for_selector("#person[open]")
    page.fill("#person-field", name)
    page.keyboard.press("Enter")


def shown(page):
    """The text that is looked at, without what is written beside its entities."""
    return page.locator("#look-text .text").evaluate(
        "text => { const copy = text.cloneNode(true); copy.querySelectorAll('.chip').forEach(one => one.remove());"
        " return copy.textContent; }"
    )


def choose(page, text, span):
    """Choose the words of an entity by tapping the first and the last of them."""
    places = [at for at, (start, _) in enumerate(word_offsets(text)) if span.start <= start < span.end]
    for at in dict.fromkeys((places[0], places[-1])):
        page.locator(f"#look-text [data-word='{at}']").click()


def decide(page):
    """Mark the cities of the text that is shown, as a person who knows them; leave the rest, and decide."""
    for _ in range(page.locator("#look-list button").count()):
        page.keyboard.press("r")
    text = shown(page)
    for span in SENTENCES[text].character_spans():
        if span.type == "city":
            choose(page, text, span)
            page.keyboard.press("1")
    with another_text(page):
        page.keyboard.press("d")


def taught(page, name):
    """Check, teach for an epoch, and see how it goes."""
    page.click("#bench-parts a[href='#workbench/teach']")
    page.click("#teach-check")
    expect(page.locator("#workbench-status")).to_contain_text("teach.")
    assert not any(one[0].islower() for one in page.locator("#teach-findings .findings > li").all_inner_texts())
    page.fill("#teach-epochs", "1")
    page.click("#teach-go")
    expect(page.locator("#job-compare")).to_be_hidden()
    expect(page.locator("#job-epochs tr")).to_have_count(1, timeout=30_000)
    expect(page.locator("#job-now")).to_have_text(f"Done: {name} is ready.", timeout=60_000)
    expect(page.locator("#teach-jobs li").first).to_contain_text(f", done: {name}")
    assert page.locator("#job-compare").is_visible() and not page.locator("#job-cancel").is_visible()
    assert page.inner_text("#teach-findings") == "" and not page.locator("#teach-form").is_visible()


@pytest.fixture
def empty(tmp_path, encoder):
    with workbench(tmp_path / "project", encoder, token=TOKEN) as running:
        yield running


def test_from_a_text_file_to_a_version_in_use_and_back(chromium, empty, tmp_path):
    (tmp_path / "requests.txt").write_text("\n".join(SENTENCES), encoding="utf-8")
    with tab(chromium, empty.address) as page:
        page.wait_for_selector("#token[open]")
        page.keyboard.type(TOKEN)
        page.keyboard.press("Enter")
        page.wait_for_selector("#add-details[open]")
        assert page.title() == "Workbench · retainer" and page.locator("#views a:visible").count() == 1
        page.set_input_files("#add-file", tmp_path / "requests.txt")
        expect(page.locator("#workbench-status")).to_have_text("40 texts added from requests.txt.")
        page.click("#bench-parts a[href='#workbench/teach']")
        assert page.inner_text("#teach-title") == "Teach a first version what you decided"
        page.click("#teach-check")
        expect(page.locator("#workbench-status")).to_have_text("There is nothing to teach yet.")
        reason = "No text to teach from has a decision yet; look at some texts first."
        expect(page.locator("#teach-findings .reason")).to_have_text(reason)
        page.click("#bench-parts a[href='#workbench/look']")
        page.locator("#look-text").focus()
        page.keyboard.press("m")
        page.keyboard.press("t")
        page.keyboard.type("city")
        page.keyboard.press("Enter")
        enter(page)
        expect(page.locator("#look-types button")).to_have_text(["1 city"])
        page.keyboard.press("u")  # the first word was none
        expect(page.locator("#look-text .entity")).to_have_count(0)
        for _ in range(12):
            decide(page)
        expect(page.locator("#bench-facts")).to_contain_text("40 texts, 12 decided")
        assert empty.project.texts.count(decided=True) == 12
        taught(page, "v1")
        page.click("#job a")
        page.click("#against-go")
        expect(page.locator("#against-verdict")).to_contain_text(": ")
        assert [page.input_value(f"#against-{one}") for one in ("old", "new")] == ["", "v1"]
        page.click("#bench-parts a[href='#workbench/history']")
        page.click("#history-versions button")
        expect(page.locator("#workbench-status")).to_have_text("v1 is in use now.")
        expect(page.locator("#views a:visible")).to_have_count(5)
        page.click("#bench-parts a[href='#workbench/look']")
        with another_text(page):
            page.keyboard.press("n")
        for _ in range(4):
            decide(page)
        taught(page, "v2")
        page.click("#job a")
        page.click("#against-go")
        page.wait_for_selector("#against-answer:not([hidden])")
        assert page.inner_text("#against-verdict").split(":")[0] in ("Yes", "No", "Not enough evidence")
        assert [page.input_value(f"#against-{one}") for one in ("old", "new")] == ["v1", "v2"]
        page.click("#against-use")
        expect(page.locator("#workbench-status")).to_have_text("v2 is in use now.")
        page.click("#bench-parts a[href='#workbench/history']")
        page.click("#history-back")
        expect(page.locator("#workbench-status")).to_have_text("v1 is in use now.")
        assert "v1 in use\n\ntaught from" in page.inner_text("#history-versions .used")
        assert page.locator("#history-uses li").count() == 3
        expect(page.locator("#history-back")).to_be_disabled()  # v1 was the first
        page.click("nav a[href='#find']")
        expect(page.locator("#find-version")).to_have_value("v1")
    assert empty.project.versions.in_use().name == "v1"
