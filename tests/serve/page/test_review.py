"""Review: decisions by keys, and a download that retainer reads."""

import json
import re

from browsing import MARKUP_NAME, TEXT, api, put, tab

import retainer
from retainer.data.words import word_offsets

HARD = [
    "😀👩\u200d🚀 play songs by boston on the drive to paris",
    "cafe\u0301 re\u0301sume\u0301: songs by boston\r\nand on the drive to paris 😀 paris",
    "from here to denver and play prince 🎸",
]


def reviewing(page, path, second=""):
    """Open a file for review."""
    page.click("nav a[href='#review']")
    page.select_option("#review-version", "v2")
    page.select_option("#review-second", second)
    page.set_input_files("#review-file", path)
    page.wait_for_selector("#review-item:not([hidden])")


def current(page):
    """The words and the type of the current entity."""
    one = page.locator("#review-text .current")
    return (one.locator(".words").text_content(), one.locator("bdi").text_content())


def saved(page, tmp_path):
    """Download the result."""
    with page.expect_download() as waiting:
        page.click("#review-save")
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def reject_the_rest(page):
    """Decide about everything that is left, so that no text is held back."""
    while not page.inner_text("#review-counts").endswith(" 0 left"):
        page.keyboard.press("r")


def read_back(path):
    """The entities of a file as retainer reads it: text, offsets in characters, types."""
    return {
        sentence.located()[0]: sorted((one.start, one.end, one.type) for one in sentence.character_spans())
        for sentence in retainer.read(path)
    }


def test_what_was_reviewed_is_what_retainer_reads(page, server, tmp_path):
    """Every decision once, by keys alone, over emoji, combining marks and line ends of Windows."""
    path = put(tmp_path, "".join(json.dumps({"text": one}) + "\n" for one in HARD), "hard.jsonl")
    reviewing(page, path)
    proposed = api(server, "predict", texts=HARD, version="v2", calibrated=True)["results"]
    queue = sorted(
        (
            (one["score"], at, one["start"], one["end"], one["entity_group"], one["word"])
            for at, r in enumerate(proposed)
            for one in r["entities"]
        )
    )
    taken = {(at, one) for _, at, start, end, *_ in queue for one in range(start, end)}
    before = [
        max((one for one, _ in word_offsets(HARD[at]) if one < start), default=None) for _, at, start, *_ in queue
    ]
    grown = next(n for n in range(2, len(queue)) if before[n] is not None and (queue[n][1], before[n]) not in taken)
    wanted = {}
    for number, (_, at, start, end, type_, word) in enumerate(queue):
        assert current(page) == (word, type_)  # the most doubtful first
        kept = wanted.setdefault(HARD[at], [])
        if number == 0:
            page.keyboard.press("r")
        elif number == 1:
            other = {"artist": "2", "city": "1"}[type_]
            page.keyboard.press(other)
            page.keyboard.press("a")
            kept.append((start, end, {"1": "artist", "2": "city"}[other]))
        elif number == grown:
            page.keyboard.press("Shift+ArrowLeft")
            assert current(page)[0] == HARD[at][before[number] : end]
            page.keyboard.press("a")
            kept.append((before[number], end, type_))
        else:
            page.keyboard.press("a")
            kept.append((start, end, type_))
    assert "Everything is decided" in page.inner_text("#review-status")
    assert page.inner_text("#review-counts") == f"{len(queue) - 3} accepted, 2 corrected, 1 rejected, 0 left"
    got = read_back(saved(page, tmp_path))
    assert page.evaluate("document.querySelector('#review-status').textContent").startswith(f"{len(wanted)} text")
    assert got == {text: sorted(spans) for text, spans in wanted.items()}


def test_a_text_with_something_to_decide_is_held_back(page, server, tmp_path):
    """Its line would say that the undecided rest is not an entity."""
    texts = ["play songs by boston on the drive to paris", "play songs by boston"]
    path = put(tmp_path, "\n".join(texts))
    found = [one["entities"] for one in api(server, "predict", texts=texts, version="v2", calibrated=True)["results"]]
    assert len(found[0]) > 1
    order = sorted((one["score"], at, one["start"]) for at, some in enumerate(found) for one in some)
    reviewing(page, path)
    last = max(number for number, (_, at, _) in enumerate(order) if at == 0)
    for number in range(len(order)):
        page.keyboard.press("j" if number == last else "a")
    got = read_back(saved(page, tmp_path))
    assert set(got) == {texts[1]} and "1 text with something still to decide held back" in page.inner_text(
        "#review-status"
    )
    while page.inner_text("#review-counts").endswith(" 1 left"):
        page.keyboard.press("a")
    assert set(read_back(saved(page, tmp_path))) == set(texts)
    assert "held back" not in page.inner_text("#review-status")


def test_boundaries_move_by_words_and_everything_can_be_undone(page, tmp_path):
    text = "😀 e\u0301tude play songs by boston on the drive to paris"
    reviewing(page, put(tmp_path, text))
    before = current(page)
    line = [match.span() for match in re.finditer(r"[\w\u0301]+|\S", text)]
    start = text.index(before[0])
    end = start + len(before[0])
    states = [before]
    for key, step in (("Shift+ArrowLeft", -1), ("Shift+ArrowLeft", -1), ("Shift+ArrowRight", 1)):
        starts = [one for one, _ in line]
        start = max(one for one in starts if one < start) if step < 0 else min(one for one in starts if one > start)
        page.keyboard.press(key)
        assert current(page) == (text[start:end], before[1])
        states.append(current(page))
    page.keyboard.press("a")
    assert "1 corrected" in page.inner_text("#review-counts")
    page.keyboard.press("u")
    assert "0 corrected" in page.inner_text("#review-counts")
    for state in reversed(states):
        assert current(page) == state
        page.keyboard.press("u")
    assert page.inner_text("#review-alert") == "There is nothing to undo."
    for _ in range(30):
        page.keyboard.press("Shift+ArrowLeft")
    assert (
        current(page)[0].startswith("😀 e\u0301tude")
        and page.inner_text("#review-alert") == "It cannot be moved further."
    )


def test_disagreements_come_first_and_the_other_reading_can_be_taken(page, server, texts, tmp_path):
    """The last version has another name for cities: each of them is a disagreement."""
    page.click("nav a[href='#review']")
    page.select_option("#review-version", MARKUP_NAME)
    page.select_option("#review-second", "v2")
    page.set_input_files("#review-file", put(tmp_path, "\n".join(texts)))
    page.wait_for_selector("#review-item:not([hidden])")
    assert "v2 says city" in page.inner_text("#review-facts") and current(page)[1].startswith("<img")
    results = api(server, "compare", old="v2", new=MARKUP_NAME, texts=texts)["results"]
    all_ = [(one["kind"] == "kept", one["new"]["score"], one["new"]["word"]) for r in results for one in r["changes"]]
    assert min(score for kept, score, _ in all_ if kept) < max(score for kept, score, _ in all_ if not kept)
    seen = []
    for _ in all_:
        seen.append(current(page)[0])
        page.keyboard.press("j")
    assert seen == [word for _, _, word in sorted(all_, key=lambda one: one[:2])]
    for _ in all_:
        page.keyboard.press("k")
    words = current(page)[0]
    page.keyboard.press("s")
    assert current(page) == (words, "city")
    page.keyboard.press("a")
    page.click("#review-sure")
    left = page.inner_text("#review-counts")
    page.keyboard.press("u")
    assert page.inner_text("#review-counts") != left
    reject_the_rest(page)
    spans = [one for found in read_back(saved(page, tmp_path)).values() for one in found]
    assert [type_ for *_, type_ in spans] == ["city"]


def test_what_the_file_already_has_stays_and_overlaps_are_refused(page, server, tmp_path):
    text = f"😀 {TEXT}"
    [result] = api(server, "predict", texts=[text], version="v2")["results"]
    words = [match.span() for match in re.finditer(r"\w+", text)]
    taken = {at for one in result["entities"] for at in range(one["start"], one["end"])}
    start, end = next((a, b) for a, b in words if a not in taken and b + 1 in taken)  # just before an entity
    record = {"text": text, "spans": [{"start": start, "end": end, "label": "verb"}]}
    first = result["entities"][0]
    known = {"text": text + " .", "label": [[first["start"], first["end"], "mine"]]}  # the version finds it too
    reviewing(page, put(tmp_path, f"{json.dumps(record)}\n{json.dumps(known)}", "given.jsonl"))
    twice = api(server, "predict", texts=[text, known["text"]], version="v2")["results"]
    proposed = sum(len(one["entities"]) for one in twice)
    assert f"1 of {proposed - 1}," in page.inner_text("#review-facts")
    while not (text.index(current(page)[0]) == end + 1 and "text 1" in page.inner_text("#review-facts")):
        page.keyboard.press("j")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("a")
    assert "which the file already has" in page.inner_text("#review-alert")
    page.keyboard.press("u")
    page.keyboard.press("a")
    reject_the_rest(page)
    spans, mine = read_back(saved(page, tmp_path)).values()
    assert (start, end, "verb") in spans and len(spans) == 2
    assert mine == [(first["start"], first["end"], "mine")]


def test_leaving_with_unsaved_work_is_asked_about(chromium, server, texts, tmp_path):
    dialogs = []
    with tab(chromium, server.address) as page:
        page.on("dialog", lambda one: (dialogs.append(one.type), one.dismiss()))
        page.wait_for_selector("#find:not([hidden])")
        reviewing(page, put(tmp_path, "\n".join(texts)))
        page.keyboard.press("a")
        with page.expect_event("dialog"):
            page.evaluate("location.reload()")
        assert dialogs == ["beforeunload"] and page.locator("#review-item").is_visible()
        page.select_option("#review-version", "v1")  # would start again
        assert dialogs[1:] == ["confirm"] and page.input_value("#review-version") == "v2"
        reject_the_rest(page)
        saved(page, tmp_path)
        page.reload()
        assert len(dialogs) == 2
