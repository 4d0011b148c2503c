"""Review: decisions by keys, and a download that retainer reads."""

import json
import re
import shlex
from pathlib import Path

from browsing import MARKUP_NAME, TEXT, api, put, tab
from playwright.sync_api import expect

import retainer
from retainer.cli.main import main
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
    expect(page.locator("#review-file-shown")).to_contain_text(f"{Path(path).name}: ")
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


MISSED = "we walk, slowly, from here to nowhere in 東京 😀 e\u0301tude"
"""A text with words that no version takes for an entity, and words that are hard to cut."""


def nothing_in_the_second(route):
    """Answer in place of a version that finds nothing in the second text."""
    response = route.fetch()
    answer = response.json()
    answer["results"][1]["entities"] = []
    route.fulfill(response=response, json=answer)


def texts_to_mark(page, tmp_path):
    """Review a text in which nothing is found, behind one with entities."""
    page.route("**/v1/predict", nothing_in_the_second)
    reviewing(page, put(tmp_path, f"{TEXT}\n{MISSED}", "missed.txt"))
    page.keyboard.press("n")
    assert "Text 2 of 2" in page.inner_text("#review-facts")


def word(page, text):
    return page.locator("#review-text .word", has_text=re.compile(f"^{text}$"))


def chosen(page):
    return page.locator("#review-text .word.chosen").all_inner_texts()


def places(text, words):
    start = text.index(words)
    return start, start + len(words)


def records(path):
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def test_words_are_those_of_retainer(page):
    odd = f"{MISSED} a_b\x1c\x85c\ufeffd \u3005漢\U00020000字 3½ x\u200by \u0301z नमस्ते 𝕏\U0001f1e9"
    found = page.evaluate(
        "async text => new (await import('/page/codepoints.js')).Text(text).words().map(one => one)", odd
    )
    assert [tuple(one) for one in found] == list(word_offsets(odd))


def test_a_missed_entity_is_marked_by_mouse(page, tmp_path):
    """Parts of words are selected, and whole words are marked."""
    texts_to_mark(page, tmp_path)
    first, last = (word(page, one).bounding_box() for one in ("slowly", "here"))
    page.mouse.move(first["x"] + first["width"] / 2, first["y"] + first["height"] / 2)
    page.mouse.down()
    page.mouse.move(last["x"] + last["width"] / 2, last["y"] + last["height"] / 2, steps=4)
    page.mouse.up()
    assert chosen(page) == ["slowly", ",", "from", "here"] and page.locator("#review-marked").is_visible()
    page.click("#review-types button[data-type=city]")
    assert current(page) == ("slowly, from here", "city") and "1 added" in page.inner_text("#review-counts")
    page.keyboard.press("ArrowLeft")  # from here on it is an entity like any other
    assert current(page) == ("slowly, from", "city")
    page.mouse.dblclick(10, 10)
    word(page, "slowly").click()
    assert chosen(page) == []  # it belongs to an entity already
    word(page, "from").dblclick()
    page.keyboard.press("1")
    assert "It overlaps “slowly, from”, which is accepted" in page.inner_text("#review-alert")
    page.keyboard.press("Escape")
    for _ in range(2):
        page.keyboard.press("u")
    assert page.locator("#review-text .entity").count() == 0 and "added" not in page.inner_text("#review-counts")


def test_a_missed_entity_is_marked_by_keys_with_a_new_type(page, tmp_path):
    texts_to_mark(page, tmp_path)
    page.keyboard.press("m")
    assert chosen(page) == ["we"]
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "Shift+ArrowRight", "Shift+ArrowRight", "Shift+ArrowLeft"):
        page.keyboard.press(key)
    assert chosen(page) == ["walk", ","]
    page.keyboard.press("t")
    page.keyboard.type(" pace <b> ")
    page.keyboard.press("Enter")
    assert current(page) == ("walk,", "pace <b>")
    page.keyboard.press("m")  # goes on behind it
    assert chosen(page) == ["slowly"]
    page.keyboard.press("3")  # the new type has a number now
    assert current(page) == ("slowly", "pace <b>")
    page.keyboard.press("t")
    page.keyboard.type("O")
    page.keyboard.press("Enter")
    assert page.inner_text("#review-alert") == "No type can be called O: it means no entity."
    page.fill("#review-new-type", "")
    page.focus("#review-text")
    page.keyboard.press("r")  # and it can be taken back
    page.keyboard.press("p")
    reject_the_rest(page)
    spans = read_back(saved(page, tmp_path))[MISSED]
    assert spans == [(*places(MISSED, "walk,"), "pace <b>")]


def test_a_type_that_nothing_gets_does_not_come_into_being(page, tmp_path):
    """A refused mark leaves no button, and no text open for its name."""
    texts_to_mark(page, tmp_path)
    page.fill("#review-new-type", "pace")
    page.keyboard.press("Enter")  # no words are chosen, and there is no current entity
    assert "No entity is proposed in this text" in page.inner_text("#review-alert")
    word(page, "slowly").click()
    page.keyboard.press("1")
    word(page, "slowly").dblclick()
    page.fill("#review-new-type", "pace")
    page.keyboard.press("Enter")
    assert "It overlaps “slowly”, which is accepted" in page.inner_text("#review-alert")
    assert page.locator("#review-types button").count() == 2 and page.input_value("#review-new-type") == "pace"
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    assert page.locator("#review-complete-types input").count() == 2
    assert not page.locator("#review-earlier").is_visible()


def test_a_missed_entity_is_marked_by_touch(chromium, server, tmp_path):
    with tab(chromium, server.address, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True) as page:
        page.wait_for_selector("#find:not([hidden])")
        texts_to_mark(page, tmp_path)
        word(page, "here").tap()
        word(page, "from").tap()
        assert chosen(page) == ["from", "here"]
        word(page, "from").tap()
        assert chosen(page) == []
        word(page, "東").tap()
        word(page, "京").tap()
        page.locator("#review-types button[data-type=city]").tap()
        assert current(page) == ("東京", "city")
        assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_what_is_complete_is_in_the_file(page, server, tmp_path):
    texts_to_mark(page, tmp_path)
    page.keyboard.press("c")
    page.keyboard.press("c")
    assert page.locator("#review-complete input:checked").count() == 0
    page.get_by_role("checkbox", name="city").last.check()
    assert page.evaluate("document.activeElement.type") == "checkbox"  # the keyboard stays where it was
    page.keyboard.press("p")
    reject_the_rest(page)
    path = saved(page, tmp_path)
    first, second = records(path)
    assert (first["spans"], first["complete"], second["complete"]) == ([], [], ["city"])
    rejected = len(api(server, "predict", texts=[TEXT], version="v2")["results"][0]["entities"])
    assert f"{rejected} rejection" in page.inner_text("#review-status")
    assert "will teach nothing: the texts are not complete for the type" in page.inner_text("#review-status")
    page.click("#review-complete-decided")
    path = saved(page, tmp_path)
    assert [one["complete"] for one in records(path)] == [["artist", "city"], ["city", "artist"]]
    assert "teach nothing" not in page.inner_text("#review-status")
    page.keyboard.press("u")
    assert page.locator("#review-complete input:checked").count() == 0
    page.once("dialog", lambda one: one.accept())
    reviewing(page, str(path))  # and it is read again
    assert page.locator("#review-complete input:checked").count() == 2
    assert [sentence.complete for sentence in retainer.read(path)] == [("artist", "city"), ("city", "artist")]


def test_a_type_that_came_later_is_open_in_texts_decided_before(page, tmp_path):
    """Nobody was asked about it there; the page says so, and leads back to them."""
    texts_to_mark(page, tmp_path)
    page.keyboard.press("p")
    reject_the_rest(page)
    page.keyboard.press("n")
    page.keyboard.press("m")
    page.fill("#review-new-type", "pace <b>")
    page.keyboard.press("Enter")
    note = "1 text was decided before “pace <b>” was added and stays open for it."
    assert page.inner_text("#review-earlier-note") == note
    page.click("#review-complete-decided")
    assert page.inner_text("#review-status").startswith(
        f"2 texts are complete for all types that were there when you decided. {note}"
    )
    complete = [one["complete"] for one in records(saved(page, tmp_path))]
    assert complete == [["artist", "city"], ["artist", "city", "pace <b>"]]
    page.click("#review-again")
    assert "text 1 of 2" in page.inner_text("#review-facts")
    assert page.inner_text("#review-status").startswith("Decided before “pace <b>” was added: mark what is missing")
    page.keyboard.press("c")
    assert not page.locator("#review-earlier").is_visible()
    complete = [one["complete"] for one in records(saved(page, tmp_path))]
    assert complete == [["artist", "city", "pace <b>"]] * 2
    page.keyboard.press("u")
    assert page.inner_text("#review-earlier-note") == note
    word(page, "play").click()
    page.keyboard.press("3")  # marking one is a look at the text too
    assert not page.locator("#review-earlier").is_visible()
    page.click("#review-complete-decided")
    assert page.inner_text("#review-status").startswith("2 texts are complete for all types.")
    for _ in range(4):  # both times complete, both marked
        page.keyboard.press("u")
    assert page.locator("#review-types button").count() == 2  # the name of nothing is gone, and so is the note
    assert not page.locator("#review-earlier").is_visible()
    page.click("#review-complete-decided")
    assert [one["complete"] for one in records(saved(page, tmp_path))] == [["artist", "city"]] * 2


def nothing_but_in_the_first(route):
    """Answer in place of a version that finds something in the first text alone."""
    response = route.fetch()
    answer = response.json()
    for one in answer["results"][1:]:
        one["entities"] = []
    route.fulfill(response=response, json=answer)


def test_texts_with_nothing_to_decide_are_complete_too(page, tmp_path):
    """Sentences without an entity are learned; of a type that was added later they say nothing."""
    page.route("**/v1/predict", nothing_but_in_the_first)
    reviewing(page, put(tmp_path, f"{TEXT}\n{MISSED}\n\nnobody looks here\nor here", "some.txt"))
    page.click("#review-complete-decided")  # the first text is not decided yet
    assert page.inner_text("#review-status").startswith(
        "3 texts are complete for all types. In 3 of them nothing was proposed or marked."
    )
    page.keyboard.press("u")
    reject_the_rest(page)
    page.keyboard.press("n")
    word(page, "slowly").click()
    page.fill("#review-new-type", "pace")
    page.keyboard.press("Enter")
    page.keyboard.press("n")  # over the empty one
    page.click("#review-complete-decided")
    assert page.inner_text("#review-status").startswith(
        "4 texts are complete for all types that were there when you decided. "
        "In 2 of them nothing was proposed or marked. 2 texts were decided before “pace” was added"
    )
    old, all_ = ["artist", "city"], ["artist", "city", "pace"]
    lines = records(saved(page, tmp_path))
    assert [one["complete"] for one in lines] == [old, all_, all_, old]  # the third was in view since
    assert [bool(one["spans"]) for one in lines] == [False, True, False, False]
    page.keyboard.press("u")
    assert page.inner_text("#review-earlier-note").startswith("1 text was decided before")


def test_a_text_without_decisions_can_be_looked_at_again_too(page, tmp_path):
    """It was said to be complete before there was the type."""
    texts_to_mark(page, tmp_path)
    page.keyboard.press("c")
    page.keyboard.press("p")
    assert not page.locator("#review-earlier").is_visible()
    for name in ("pace", "place"):
        word(page, "play").click()
        page.fill("#review-new-type", name)
        page.keyboard.press("Enter")
        page.keyboard.press("r")
    assert page.inner_text("#review-earlier-note") == (
        "1 text was decided before “pace”, “place” were added and stays open for them."
    )
    page.click("#review-again")
    assert "Text 2 of 2" in page.inner_text("#review-facts")
    assert page.locator("#review-complete input:checked").count() == 2


def test_a_wrong_complete_is_explained(page, tmp_path):
    page.click("nav a[href='#review']")
    for wrong in ('"city"', '[""]', "[1]", "{}"):
        path = put(tmp_path, f'{{"text": "a", "complete": {wrong}}}\n', "odd.jsonl")
        page.set_input_files("#review-file", path)
        page.wait_for_selector("#review-alert:has-text('line 1: “complete” must be a list of types')")
        page.set_input_files("#review-file", put(tmp_path, " ", "empty.txt"))
        page.wait_for_selector("#review-alert:has-text('holds no text')")


def test_the_page_warns_of_types_that_are_complete_nowhere(page, specs, tmp_path, monkeypatch, capsys):
    """Before the download; what it says to do makes `check` content."""
    monkeypatch.chdir(tmp_path)
    Path("v2").symlink_to(specs[1])
    texts_to_mark(page, tmp_path)
    assert not page.locator("#review-absence").is_visible()
    word(page, "slowly").click()
    page.fill("#review-new-type", "pace")
    page.keyboard.press("Enter")
    assert page.inner_text("#review-absence").startswith("No decided text is complete for “pace”: ")
    saved(page, tmp_path)
    main(commands(page)[0][1:])
    assert "complete in no sentence" in capsys.readouterr().out
    page.click("#review-complete-decided")
    assert not page.locator("#review-absence").is_visible()
    saved(page, tmp_path)
    main(commands(page)[0][1:])
    assert "complete in no sentence" not in capsys.readouterr().out
    page.keyboard.press("u")
    assert page.locator("#review-absence").is_visible()


def commands(page):
    return [shlex.split(line) for line in page.locator("#review-steps pre").text_content().splitlines()]


def test_the_commands_after_the_download_work_as_they_stand(page, specs, tmp_path, monkeypatch):
    """With nothing complete, with something complete, and with a new type."""
    monkeypatch.chdir(tmp_path)
    Path("v2").symlink_to(specs[1])
    reviewing(page, put(tmp_path, TEXT, "my 'texts'.txt"))
    left = page.inner_text("#review-counts")
    assert not left.endswith(" 0 left")
    reject_the_rest(page)
    saved(page, tmp_path)
    assert [one[1] for one in commands(page)] == ["check"] and "no entity" in page.inner_text("#review-steps")
    page.keyboard.press("a")
    saved(page, tmp_path)
    named = commands(page)
    page.keyboard.press("c")
    saved(page, tmp_path)
    assert "--types" in named[1] and "--types" not in commands(page)[1]
    page.keyboard.press("m")
    page.fill("#review-new-type", "thing")
    page.keyboard.press("Enter")
    newest = saved(page, tmp_path)
    complete = commands(page)
    assert newest.name == "my__texts_.reviewed-4.jsonl" and {one[2] for one in complete} == {newest.name}
    for at, (check, learn) in enumerate((named, complete)):
        assert main(check[1:]) == 0
        assert main(learn[1:]) == 0, learn
        Path("v2-reviewed").rename(f"made{at}")
    assert retainer.load("made1", device="cpu").types == ("artist", "city", "thing")
