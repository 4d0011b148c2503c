"""Compare: two versions side by side, with differences in words and counts."""

from browsing import MARKUP_NAME, TEXT, api, found, put, show, tab
from serving import served

from retainer.data.generated import generate
from retainer.training.learn import learn
from retainer.training.recipe import Recipe


def test_differences_are_in_words_and_counted(page, server, texts, tmp_path):
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
            assert shown == [chip_text(one, side) for one in ordered]


def chip_text(change, side):
    """What the page writes beside an entity."""
    type_ = change[side]["entity_group"]
    if change["kind"] == "relabelled":
        return (
            f"{type_} now {change['new']['entity_group']}"
            if side == "old"
            else f"{type_} was {change['old']['entity_group']}"
        )
    return type_ if change["kind"] == "kept" else f"{type_} {change['kind']}"


def test_relabelled_entities_say_so_on_both_sides(page, server, texts):
    """The third version has another name for cities, so every city is relabelled."""
    text = next(one for one in texts if "city" in dict(map(reversed, found(server, "v2", one))))
    page.click("nav a[href='#compare']")
    page.select_option("#compare-old", "v2")
    page.select_option("#compare-new", MARKUP_NAME)
    show(page, text, "compare")
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
    show(page, TEXT, "compare")
    assert "choose two different ones" in page.inner_text("#compare-alert")


def pairs(page):
    """What stands as old and new in Compare and in Review, and what the page says about it."""
    values = [page.input_value(f"#{one}") for one in ("compare-old", "compare-new", "review-second", "review-version")]
    return values, page.text_content("#compare-order"), page.text_content("#review-order")


def test_old_and_new_come_from_the_lineage(chromium, specs):
    """The README serves the new version first, because it is the default."""
    with served(specs[1], specs[0]) as server, tab(chromium, server.address) as page:
        page.wait_for_selector("#find:not([hidden])")
        assert page.input_value("#find-version") == "v2"
        assert pairs(page) == (["v1", "v2", "v1", "v2"], "", "")
        show(page, TEXT, "compare")
        assert page.inner_text("#compare-types") == "Only the new version knows city."
        page.select_option("#compare-old", "v2")
        page.select_option("#compare-new", "v1")
        assert page.text_content("#compare-order") == "v2 comes from v1: the older version stands as the new one."
    with served(specs[2], specs[0], specs[1]) as server, tab(chromium, server.address) as page:
        page.wait_for_selector("#find:not([hidden])")
        assert pairs(page)[0] == ["v1", MARKUP_NAME, "v2", MARKUP_NAME]


def test_a_sister_of_the_first_version_given_is_not_taken_for_the_new_one(chromium, specs, tmp_path):
    sister = learn(generate(60, seed=5, types=["city"]), specs[0], recipe=Recipe(epochs=1), device="cpu")
    sister.save(tmp_path / "sister")
    with served(specs[1], specs[0], tmp_path / "sister") as server, tab(chromium, server.address) as page:
        page.wait_for_selector("#find:not([hidden])")
        assert pairs(page) == (["v1", "v2", "v1", "v2"], "", "")


def test_unrelated_versions_keep_their_order_and_the_page_says_so(chromium, specs, checkpoint):
    alien = f"alien={checkpoint('O', 'B-x', 'I-x')}"
    for given, names in (((specs[1], alien), ["v2", "alien"]), ((alien, specs[1]), ["alien", "v2"])):
        with served(*given) as server, tab(chromium, server.address) as page:
            page.wait_for_selector("#find:not([hidden])")
            said = "Neither version comes from the other: {} is old and {} new in the order of the server’s arguments."
            note = said.format(*names)
            assert pairs(page) == ([*names, *names], note, note)
            page.click("nav a[href='#compare']")
            page.select_option("#compare-old", names[1])
            page.select_option("#compare-new", names[0])
            assert "as you chose" in page.inner_text("#compare-order")
