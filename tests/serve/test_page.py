"""The page at /, in a real browser: find, compare, travel, review; and nothing a stranger writes becomes ours."""

import json
import re
import unicodedata
from pathlib import Path

import httpx2
import pytest
from browsing import browser, contrasts, served, tab
from playwright.sync_api import expect

import retainer
from retainer.data.generated import generate
from retainer.data.tasks import hide
from retainer.data.words import word_offsets
from retainer.training.learn import learn
from retainer.training.recipe import Recipe
from retainer.versions.retype import rename

EVIL = '<img src="x" onerror="window.hurt=1">\u202egnp'
"""A type whose name is markup, and turns around what follows it."""
NAMED = "<u>v3<script>window.hurt()"
TEXT = "play songs by boston on the drive to paris"
TOKEN = "a-token-of-sixteen-characters"
VIEWS = ("find", "compare", "travel", "review")


@pytest.fixture(scope="module")
def places(tmp_path_factory, encoder):
    """A lineage of three versions: artists; artists and cities; the same with the cities by another name."""
    folder, recipe = tmp_path_factory.mktemp("tour"), Recipe(epochs=6, batch=8, base_lr=5e-3, lr=5e-3)
    data, dev = (generate(size, seed=seed, types=["artist", "city"]) for size, seed in ((200, 5), (60, 8)))
    learn(hide(data, ["artist"]), encoder, dev=hide(dev, ["artist"]), recipe=recipe, seed=1, device="cpu").save(
        folder / "v1"
    )
    second = learn(hide(data, ["city"]), folder / "v1", dev=dev, recipe=recipe, seed=2, device="cpu")
    second.save(folder / "v2")
    rename(retainer.load(folder / "v2", device="cpu"), {"city": EVIL}).save(folder / "v3")
    return [str(folder / "v1"), str(folder / "v2"), f"{NAMED}={folder / 'v3'}"]


@pytest.fixture(scope="module")
def server(places):
    with served(*places) as running:
        yield running


@pytest.fixture(scope="module")
def opened():
    with browser() as running:
        yield running


@pytest.fixture
def page(opened, server):
    """The page, loaded; whatever fails in it fails the test."""
    with tab(opened, server.address) as loaded:
        loaded.wait_for_selector("#find:not([hidden])")
        yield loaded


@pytest.fixture(scope="module")
def texts():
    return [" ".join(sentence.words) for sentence in generate(12, seed=31, types=["artist", "city"])]


def api(server, path, **question):
    answer = httpx2.post(f"{server.address}/v1/{path}", json=question, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()


def look(page, text, view="find"):
    """Have a view look at a text, and wait for what it says."""
    if not page.locator(f"#{view}").is_visible():
        page.click(f"nav a[href='#{view}']")
    page.fill("#text", text)
    page.click("#go")
    page.wait_for_selector(f"#{view}-results .card, #{view}-alert:not(:empty)")


def drawn(page, view, nth=0):
    """The entities a text shows: words and types."""
    return (
        page.locator(f"#{view}-results .text")
        .nth(nth)
        .evaluate(
            "text => [...text.querySelectorAll('.entity')]"
            ".map(one => [one.querySelector('.words').textContent, one.querySelector('bdi').textContent])"
        )
    )


def plain(page, view):
    """The texts as they are shown, without what was written beside their entities."""
    return page.locator(f"#{view}-results .text").evaluate_all(
        "all => all.map(text => { const copy = text.cloneNode(true);"
        " copy.querySelectorAll('.chip').forEach(one => one.remove()); return copy.textContent; })"
    )


def found(server, version, text):
    [result] = api(server, "predict", texts=[text], version=version)["results"]
    return [[one["word"], one["entity_group"]] for one in result["entities"]]


def put(tmp_path, content, name="texts.txt"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


# ---------------------------------------------------------------------------------------------------------- find


def test_find_shows_what_the_server_finds(page, server, texts):
    text = next(one for one in texts if len(found(server, "v2", one)) > 1)
    page.select_option("#find-version", "v2")
    look(page, text)
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
    look(page, text)
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
    look(page, text)
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


def test_places_are_code_points(page, server):
    """In UTF-16 everything after an emoji is moved by one, and marks are characters of their own."""
    text = f"😀👩‍🚀 {TEXT} 😀 cafe\u0301 {TEXT}"
    page.select_option("#find-version", "v2")
    look(page, text)
    assert drawn(page, "find") == found(server, "v2", text) != []
    assert plain(page, "find") == [text]


def test_a_file_is_read_and_shown_text_by_text(page, server, texts, tmp_path):
    lines = "\ufeff" + "\r\n".join(texts[:3]) + "\r\n\r\n"
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
    "picture.png": (b"\x89PNG\r\n\x1a\n\x00\x00\x00", "looks like a binary file"),
    "latin.txt": ("caf\u00e9".encode("latin-1"), "is not UTF-8"),
    "broken.jsonl": (b'{"text": "a"}\n{"text": \n', "line 2: this is not JSON"),
    "other.jsonl": (b'{"words": "a"}\n', 'the key "text" is missing or is not a string; found words'),
    "half.jsonl": (b'{"text": "a \\ud800 b"}\n', "half a character"),
    "list.json": (b'[{"text": "a"}]\n', "one JSON list; write one JSON object per line"),
    "empty.txt": (b" \n\r\n", "holds no text"),
    "long.txt": (b"a " * 30_000, "line 1: 60,000 characters are too many; a text may have 50,000"),
    "odd.jsonl": (
        b'{"text": "a b", "spans": [{"start": 1, "end": 9, "label": "x"}]}\n',
        "entity 1 has offsets outside the text",
    ),
}


@pytest.mark.parametrize("view", ["find", "review"])
def test_a_wrong_file_is_told_in_words(page, tmp_path, view):
    page.click(f"nav a[href='#{view}']")
    for name, (content, said) in BROKEN.items():
        page.set_input_files("#file" if view == "find" else "#review-file", put(tmp_path, content, name))
        page.wait_for_selector(f"#{view}-alert:has-text('{said}')")
        assert page.inner_text(f"#{view}-alert").startswith(name)


def test_a_text_that_is_missing_or_too_long_is_told_in_words(page):
    page.fill("#text", "  \n ")
    page.click("#go")
    assert page.inner_text("#find-alert") == "There is no text yet: type or paste one, or choose a file."
    page.fill("#text", "a " * 30_000)
    page.click("#go")
    assert "The text: 60,000 characters are too many" in page.inner_text("#find-alert")
    look(page, TEXT)
    page.wait_for_selector("#find-results .card")
    assert page.inner_text("#find-alert") == ""


# ------------------------------------------------------------------------------------------------------- compare


def test_compare_tells_differences_in_words_and_counts(page, server, texts, tmp_path):
    page.click("nav a[href='#compare']")
    page.select_option("#compare-new", "v2")
    page.set_input_files("#file", put(tmp_path, "\n".join(texts)))
    page.wait_for_selector("#compare-results .card")
    answer = api(server, "compare", old="v1", new="v2", texts=texts)
    assert page.locator("#compare-counts li").all_inner_texts() == [f"{n} {k}" for k, n in answer["changes"].items()]
    apart = sum(n for kind, n in answer["changes"].items() if kind != "kept")
    assert apart > 3 and f"{apart} differences in 12 texts" in page.inner_text("#compare-status")
    assert page.inner_text("#compare-types") == "Only the new version knows city."
    for number, result in enumerate(answer["results"]):
        card = page.locator("#compare-results .card").nth(number)
        for side, at in (("old", 0), ("new", 1)):
            shown = (
                card.locator(".side")
                .nth(at)
                .locator(".chip")
                .evaluate_all(
                    "all => all.map(one => [...one.childNodes].filter(n => !n.classList?.contains('tip'))"
                    ".map(n => n.textContent).join(''))"
                )
            )
            ordered = sorted((one for one in result["changes"] if one[side]), key=lambda one: one[side]["start"])
            assert shown == [told(one, side) for one in ordered]


def told(change, side):
    type_ = change[side]["entity_group"]
    if change["kind"] == "relabelled":
        return (
            f"{type_} now {change['new']['entity_group']}"
            if side == "old"
            else f"{type_} was {change['old']['entity_group']}"
        )
    return type_ if change["kind"] == "kept" else f"{type_} {change['kind']}"


def test_relabelled_entities_say_so_on_both_sides(page, server, texts):
    """The third version has the cities by another name, so every city is relabelled."""
    text = next(one for one in texts if "city" in dict(map(reversed, found(server, "v2", one))))
    page.click("nav a[href='#compare']")
    page.select_option("#compare-old", "v2")
    page.select_option("#compare-new", NAMED)
    look(page, text, "compare")
    chips = page.locator("#compare-results .relabelled .chip").all_inner_texts()
    assert "city now <img src=" in chips[0] and chips[-1].split("\n")[0].endswith("was city")


def test_keys_jump_from_difference_to_difference(page, server, texts, tmp_path):
    page.click("nav a[href='#compare']")
    page.select_option("#compare-new", "v2")
    page.set_input_files("#file", put(tmp_path, "\n".join(texts)))
    page.wait_for_selector("#compare-results .card")
    page.locator("#compare-title").focus()
    apart = sum(
        n for kind, n in api(server, "compare", old="v1", new="v2", texts=texts)["changes"].items() if kind != "kept"
    )
    seen = []
    for _ in range(apart):
        page.keyboard.press("n")
        seen.append(page.evaluate("document.activeElement.dataset.id"))
        assert page.evaluate("document.activeElement.classList.contains('current')")
    assert len(set(seen)) == apart
    page.keyboard.press("n")
    assert page.evaluate("document.activeElement.dataset.id") == seen[0]  # and around
    page.keyboard.press("p")
    assert page.evaluate("document.activeElement.dataset.id") == seen[-1]
    assert page.inner_text("#compare-status").startswith(f"Difference {apart} of {apart}: ")
    page.focus("#compare-old")
    page.keyboard.press("n")  # a list to choose from keeps its keys
    assert page.inner_text("#compare-status").startswith(f"Difference {apart} of {apart}: ")
    page.check("#compare-only")
    same = sum(
        all(one["kind"] == "kept" for one in result["changes"])
        for result in api(server, "compare", old="v1", new="v2", texts=texts)["results"]
    )
    assert page.locator("#compare-results .card").count() == 12 - same


def test_a_version_is_not_compared_with_itself(page):
    page.click("nav a[href='#compare']")
    page.select_option("#compare-new", "v1")
    look(page, TEXT, "compare")
    assert "choose two different ones" in page.inner_text("#compare-alert")


# --------------------------------------------------------------------------------------------------- time travel


def test_arrow_keys_travel_through_the_lineage(page, server, texts):
    text = next(one for one in texts if found(server, "v1", one) != found(server, "v2", one))
    look(page, text, "travel")
    page.wait_for_selector("#travel-results .card")
    page.focus("#travel-slider")
    assert page.input_value("#travel-slider") == "2"
    for version in ("v2", "v1"):
        page.keyboard.press("ArrowLeft")
        page.wait_for_selector(f"#travel-status:text-matches('^{version}, ')")
        assert drawn(page, "travel") == found(server, version, text)
    assert page.get_attribute("#travel-slider", "aria-valuetext") == "v1, learned artist"
    about = page.inner_text("#travel-step")
    assert (
        "learned artist" in about and "200 sentences" in about and "version 1 of 3" in about and "rdp, seed 1" in about
    )
    assert re.search(r"\d+ \w+ 20\d\d", page.inner_text("#travel-step time"))
    page.locator("#travel-title").focus()  # anywhere in the view they work too
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#travel-status:text-matches('^v2, ')")
    scores = api_versions(server)["v2"]["lineage"][0]["scores"]
    artist = scores["per_type"]["artist"]["f1"], scores["before"]["artist"]["f1"]
    assert f"artist {artist[0]:.1f} (before {artist[1]:.1f})" in page.inner_text("#travel-step")
    page.fill("#text", f"{text} . {TEXT}")  # another text is asked about anew
    page.click("#go")
    expect(page.locator("#travel-results .text")).to_contain_text("boston")
    assert plain(page, "travel") == [f"{text} . {TEXT}"]
    assert drawn(page, "travel") == found(server, "v2", f"{text} . {TEXT}") != found(server, "v2", text)


def api_versions(server):
    return {one["name"]: one for one in httpx2.get(f"{server.address}/v1/versions").json()["versions"]}


def test_the_curves_are_those_of_the_records(page, server):
    page.click("nav a[href='#travel']")
    steps = {one["number"]: one for one in api_versions(server)["v2"]["lineage"]}
    page.click("#travel-curves summary")
    rows = page.locator("#travel-curves tbody tr").all_inner_texts()
    f1 = {(n, t): f"{s['f1']:.1f}" for n, step in steps.items() for t, s in step["scores"]["per_type"].items()}
    assert rows[0].split() == ["artist", f1[1, "artist"], f1[2, "artist"], "–"]
    assert rows[1].split()[-3:] == ["–", f1[2, "city"], "–"] and rows[1].startswith("<img")  # renamed: its line goes on
    assert page.locator("#travel-curves svg .line").count() == 2
    assert f"artist {f1[1, 'artist']} in v1, {f1[2, 'artist']} in v2" in page.get_attribute(
        "#travel-curves svg", "aria-label"
    )
    heights = page.locator("#travel-curves svg .dot.c0").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().y)"
    )
    low, high = sorted((1, 2), key=lambda n: float(f1[n, "artist"]))
    assert heights[low - 1] >= heights[high - 1]


def test_a_checkpoint_of_somebody_else_is_a_lineage_of_one(opened, checkpoint):
    with served(f"alien={checkpoint('O', 'B-x', 'I-x')}") as server, tab(opened, server.address) as page:
        look(page, TEXT, "travel")
        page.wait_for_selector("#travel-results .card")
        assert "no record" in page.inner_text("#travel-step") and page.is_disabled("#travel-slider")
        assert "This lineage records no scores" in page.inner_text("#travel-curves")
        assert drawn(page, "travel") == found(server, "alien", TEXT)
        page.click("nav a[href='#find']")
        assert page.is_disabled("#find-calibrated") and "this version has none" in page.inner_text("#find")


# -------------------------------------------------------------------------------------------------------- review

HARD = [
    "😀👩\u200d🚀 play songs by boston on the drive to paris",
    "cafe\u0301 re\u0301sume\u0301: songs by boston\r\nand on the drive to paris 😀 paris",
    "from here to denver and play prince 🎸",
]


def reviewing(page, path, second=""):
    page.click("nav a[href='#review']")
    page.select_option("#review-version", "v2")
    page.select_option("#review-second", second)
    page.set_input_files("#review-file", path)
    page.wait_for_selector("#review-item:not([hidden])")


def desk(page):
    """What lies on the desk: number, words and type."""
    one = page.locator("#review-text .current")
    return (one.locator(".words").text_content(), one.locator("bdi").text_content())


def saved(page, tmp_path):
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
    """The entities of a file as retainer reads it: text, places in characters, types."""
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
    places = {(at, one) for _, at, start, end, *_ in queue for one in range(start, end)}
    before = [
        max((one for one, _ in word_offsets(HARD[at]) if one < start), default=None) for _, at, start, *_ in queue
    ]
    grown = next(n for n in range(2, len(queue)) if before[n] is not None and (queue[n][1], before[n]) not in places)
    wanted = {}
    for number, (_, at, start, end, type_, word) in enumerate(queue):
        assert desk(page) == (word, type_)  # the most doubtful first
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
            assert desk(page)[0] == HARD[at][before[number] : end]
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
    """Its line would say that what nobody decided about is no entity."""
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
    before = desk(page)
    line = [match.span() for match in re.finditer(r"[\w\u0301]+|\S", text)]
    start = text.index(before[0])
    end = start + len(before[0])
    states = [before]
    for key, step in (("Shift+ArrowLeft", -1), ("Shift+ArrowLeft", -1), ("Shift+ArrowRight", 1)):
        starts = [one for one, _ in line]
        start = max(one for one in starts if one < start) if step < 0 else min(one for one in starts if one > start)
        page.keyboard.press(key)
        assert desk(page) == (text[start:end], before[1])
        states.append(desk(page))
    page.keyboard.press("a")
    assert "1 corrected" in page.inner_text("#review-counts")
    page.keyboard.press("u")
    assert "0 corrected" in page.inner_text("#review-counts")
    for state in reversed(states):
        assert desk(page) == state
        page.keyboard.press("u")
    assert page.inner_text("#review-alert") == "There is nothing to undo."
    for _ in range(30):
        page.keyboard.press("Shift+ArrowLeft")
    assert (
        desk(page)[0].startswith("😀 e\u0301tude") and page.inner_text("#review-alert") == "It cannot be moved further."
    )


def test_disputes_come_first_and_the_other_reading_can_be_taken(page, server, texts, tmp_path):
    """The last version calls cities otherwise: each of them is a dispute."""
    page.click("nav a[href='#review']")
    page.select_option("#review-version", NAMED)
    page.select_option("#review-second", "v2")
    page.set_input_files("#review-file", put(tmp_path, "\n".join(texts)))
    page.wait_for_selector("#review-item:not([hidden])")
    assert "v2 says city" in page.inner_text("#review-facts") and desk(page)[1].startswith("<img")
    results = api(server, "compare", old="v2", new=NAMED, texts=texts)["results"]
    all_ = [(one["kind"] == "kept", one["new"]["score"], one["new"]["word"]) for r in results for one in r["changes"]]
    assert min(score for kept, score, _ in all_ if kept) < max(score for kept, score, _ in all_ if not kept)
    seen = []
    for _ in all_:
        seen.append(desk(page)[0])
        page.keyboard.press("j")
    assert seen == [word for _, _, word in sorted(all_, key=lambda one: one[:2])]
    for _ in all_:
        page.keyboard.press("k")
    words = desk(page)[0]
    page.keyboard.press("s")
    assert desk(page) == (words, "city")
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
    while not (text.index(desk(page)[0]) == end + 1 and "text 1" in page.inner_text("#review-facts")):
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


def test_leaving_with_unsaved_work_is_asked_about(opened, server, texts, tmp_path):
    asked = []
    with tab(opened, server.address) as page:
        page.on("dialog", lambda one: (asked.append(one.type), one.dismiss()))
        page.wait_for_selector("#find:not([hidden])")
        reviewing(page, put(tmp_path, "\n".join(texts)))
        page.keyboard.press("a")
        page.evaluate("location.reload()")
        page.wait_for_timeout(300)
        assert asked == ["beforeunload"] and page.locator("#review-item").is_visible()
        page.select_option("#review-version", "v1")  # would begin anew
        assert asked[1:] == ["confirm"] and page.input_value("#review-version") == "v2"
        reject_the_rest(page)
        saved(page, tmp_path)
        page.reload()
        assert len(asked) == 2


# ------------------------------------------------------------------------------------------------------ strangers


HURT = [
    "<script>window.hurt=1</script> play songs by boston",
    '<img src=x onerror="window.hurt=1"> on the drive to paris',
    "\u202e\u2066 play songs by boston \u202c</p></article><h1>owned</h1>",
    "{{constructor.constructor('window.hurt=1')()}} javascript:window.hurt=1",
]


def test_nothing_a_stranger_writes_becomes_markup(page, server, tmp_path):
    before = page.evaluate("document.querySelectorAll('script').length")
    name = "<img src=x onerror=hurt()>\u202etxt.<b>.jsonl"
    path = put(tmp_path, "".join(json.dumps({"text": one}) + "\n" for one in HURT), name)
    for view in ("find", "compare", "travel"):
        page.click(f"nav a[href='#{view}']")
        if view == "find":
            page.select_option("#find-version", NAMED)
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
    assert EVIL.replace("\u202e", "⟨U+202E⟩") in page.inner_text("#find-types")


def test_a_type_that_turns_text_around_stays_in_its_chip(page, server, texts):
    text = next(one for one in texts if EVIL in dict(map(reversed, found(server, NAMED, one))))
    page.select_option("#find-version", NAMED)
    look(page, text)
    chip = page.locator("#find-results .chip bdi").filter(has_text="<img").first
    assert unicodedata.bidirectional("\u202e") == "RLO" and "\u202e" not in chip.text_content()


# ----------------------------------------------------------------------------------------------------- misfortune


def test_a_server_that_stops_is_told_in_words(opened, places, tmp_path):
    with served(places[1]) as server, tab(opened, server.address, fine=["ERR_CONNECTION"]) as page:
        page.wait_for_selector("#find:not([hidden])")
        look(page, TEXT)
        server.stop()
        page.click("#go")
        page.wait_for_selector("#find-alert:has-text('The server cannot be reached')")
        assert page.input_value("#text") == TEXT
        page.click("nav a[href='#review']")
        page.set_input_files("#review-file", put(tmp_path, TEXT))
        page.wait_for_selector("#review-alert:has-text('The server cannot be reached')")


def answering(status, body):
    return lambda route: route.fulfill(status=status, body=body)


def test_a_busy_or_broken_server_is_told_in_words(opened, server):
    said = {
        503: (
            {"error": {"code": "busy", "message": "too many requests at once"}},
            "is busy: too many requests at once.",
        ),
        504: ({"error": {"code": "timeout", "message": "it took long"}}, "took too long: it took long."),
        422: (
            {"error": {"code": "unknown_version", "message": "there is no such version"}},
            "refused: there is no such version.",
        ),
        500: ("<h1>nonsense</h1>", "The server failed (status 500)."),
    }
    with tab(opened, server.address, fine=["Failed to load resource"]) as page:
        page.wait_for_selector("#find:not([hidden])")
        page.fill("#text", TEXT)
        for status, (body, words) in said.items():
            content = body if isinstance(body, str) else json.dumps(body)
            page.route("**/v1/predict", answering(status, content))
            page.click("#go")
            page.wait_for_selector(f"#find-alert:has-text('{words}')")
            page.unroute("**/v1/predict")
        page.route("**/v1/predict", answering(200, '{"results": ['))
        page.click("#go")
        page.wait_for_selector("#find-alert:has-text('broke off')")


def test_a_token_is_asked_for_and_kept_nowhere(opened, places):
    with served(places[1], token=TOKEN) as server, tab(opened, server.address, fine=["401"]) as page:
        page.wait_for_selector("#token[open]")
        page.keyboard.type("a-wrong-token-with-letters")
        page.keyboard.press("Enter")
        page.wait_for_selector("#token-wrong:has-text('not the token')")
        page.click("#token-cancel")
        page.wait_for_selector("#begin:has-text('This server needs a token')")
        page.click("#begin button")
        page.wait_for_selector("#token[open]")
        page.fill("#token-field", TOKEN)
        page.keyboard.press("Enter")
        page.wait_for_selector("#find:not([hidden])")
        look(page, TEXT)
        assert page.locator("#find-results .card").count() == 1
        kept = page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie, location.href])")
        assert TOKEN not in kept and TOKEN not in page.content()
        page.reload()
        page.wait_for_selector("#token[open]")


# ------------------------------------------------------------------------------------------------ for everybody


def test_everything_can_be_done_with_keys_alone(page, server):
    def tab_to(selector):
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("one => document.activeElement.matches(one)", selector):
                where = "one => getComputedStyle(one.querySelector('.words') ?? one).outlineStyle"
                assert page.locator(":focus").evaluate(where) == "solid"  # one sees where one is
                return
        raise AssertionError(f"the tab key never comes to {selector}")

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
    """Fill all views, so that there is something to look at in each."""
    page.select_option("#find-version", NAMED)
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


def test_a_phone_never_scrolls_sideways(opened, server, texts, tmp_path):
    with tab(opened, server.address, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True) as page:
        page.wait_for_selector("#find:not([hidden])")
        for view in filled(page, texts, tmp_path):
            wide = page.evaluate(
                "[...document.querySelectorAll('main *')].filter(one => one.checkVisibility()"
                " && !one.closest('.scroll, #review-list .chip')"
                " && one.getBoundingClientRect().right > 391).map(one => one.outerHTML.slice(0, 80))"
            )
            assert wide == [], view
            assert page.evaluate("document.documentElement.scrollWidth") == 390, view


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_word_has_contrast(opened, server, texts, tmp_path, scheme):
    with tab(opened, server.address, color_scheme=scheme) as page:
        page.wait_for_selector("#find:not([hidden])")
        grounds = set()
        for view in filled(page, texts, tmp_path):
            seen = contrasts(page)
            assert len(seen) > 20
            assert [one for one in seen if one[0] < 4.5] == [], view
            grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert grounds == {"rgb(248, 247, 244)" if scheme == "light" else "rgb(18, 21, 26)"}


def test_everything_has_a_name_and_a_place(page, texts, tmp_path):
    assert page.locator("header, main, footer, nav").count() == 4
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
    docs = Path(__file__).parents[2] / "docs"
    assert all((docs / f"serve-{name}.png").stat().st_size < 200_000 for name in ("find", "compare", "review"))
