"""Time travel: a text through the versions of a lineage, and the scores of their records."""

import re

import httpx2
from browsing import TEXT, drawn, found, plain, show, tab
from playwright.sync_api import expect
from serving import served


def test_arrow_keys_travel_through_the_lineage(page, server, texts):
    text = next(one for one in texts if found(server, "v1", one) != found(server, "v2", one))
    show(page, text, "travel")
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
    page.locator("#travel-title").focus()  # the keys work anywhere in the view
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#travel-status:text-matches('^v2, ')")
    scores = api_versions(server)["v2"]["lineage"][0]["scores"]
    artist = scores["per_type"]["artist"]["f1"], scores["before"]["artist"]["f1"]
    assert f"artist {artist[0]:.1f} (before {artist[1]:.1f})" in page.inner_text("#travel-step")
    page.fill("#text", f"{text} . {TEXT}")  # another text needs another request
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


def test_a_foreign_checkpoint_is_a_lineage_of_one(chromium, checkpoint):
    with served(f"alien={checkpoint('O', 'B-x', 'I-x')}") as server, tab(chromium, server.address) as page:
        show(page, TEXT, "travel")
        page.wait_for_selector("#travel-results .card")
        assert "no record" in page.inner_text("#travel-step") and page.is_disabled("#travel-slider")
        assert "This lineage records no scores" in page.inner_text("#travel-curves")
        assert drawn(page, "travel") == found(server, "alien", TEXT)
        page.click("nav a[href='#find']")
        assert page.is_disabled("#find-calibrated") and "this version has none" in page.inner_text("#find")
