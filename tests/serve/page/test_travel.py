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


def test_scores_say_on_what_they_were_measured(page):
    """Without --dev it is a part of the data, set aside."""

    def set_aside(route):
        response = route.fetch()
        answer = response.json()
        for step in (step for version in answer["versions"] for step in version["lineage"]):
            step["data"]["dev_given"] = False
        route.fulfill(response=response, json=answer)

    page.click("nav a[href='#travel']")
    page.keyboard.press("ArrowLeft")
    assert "F1 on its dev set" in page.inner_text("#travel-step")
    page.route("**/v1/versions", set_aside)
    page.reload()
    page.wait_for_selector("#travel:not([hidden])")
    page.keyboard.press("ArrowLeft")
    assert "F1 on what was set aside" in page.inner_text("#travel-step")


def test_record_and_curves_stand_above_the_texts(page, texts):
    page.click("nav a[href='#travel']")
    page.fill("#text", "\n".join(texts))
    page.click("#go")
    page.wait_for_selector("#travel-results .card")
    tops = [page.locator(one).bounding_box()["y"] for one in ("#travel-step", "#travel-curves", "#travel-results")]
    assert tops == sorted(tops)


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


def with_lineage(page, server, scores, names=("v1", "v2", "v3"), data=None):
    """Show the versions of a made-up lineage, with F1 by type and version; None was not measured."""
    answer = httpx2.get(f"{server.address}/v1/versions").json()
    first = answer["versions"][0]
    steps = [
        {
            **{"number": number, "hash": f"{number}" * 64, "served_as": name, "what": "learned", "gained": []},
            **{"types": list(scores), "change": {}, "data": data or {}},
            "scores": {
                "per_type": {
                    type_: {"f1": f1[number - 1], "support": 7} for type_, f1 in scores.items() if f1[number - 1]
                }
            },
        }
        for number, name in enumerate(names, 1)
    ]
    made = [
        {**first, "name": one["served_as"], "hash": one["hash"], "lineage": steps[: at + 1][::-1]}
        for at, one in enumerate(steps)
    ]
    page.route("**/v1/versions", lambda route: route.fulfill(json={"versions": made}))
    page.goto(f"{server.address}/#travel")
    page.reload()
    page.wait_for_selector("#travel:not([hidden]) svg.chart")


def drawn_steps(page):
    """How many steps every piece of every line takes; a dot alone takes none."""
    paths = page.locator("#travel-curves .chart .line").evaluate_all("all => all.map(one => one.getAttribute('d'))")
    return [[part.count("L") for part in path.split("M")[1:]] for path in paths]


def test_only_what_was_measured_is_drawn(page, server):
    """No line over a version that was not measured, none from a last value to a name, and nothing behind it."""
    with_lineage(
        page, server, {"a": (80, None, 60, 50), "b": (None, 30, None, None), "c": (10, 20, None, None)}, "wxyz"
    )
    assert drawn_steps(page) == [[0, 1], [1], [0]]
    assert page.locator("#travel-curves .chart .dot").count() == 6
    strokes = page.locator("#travel-curves .chart").evaluate("one => one.querySelectorAll('path, line').length")
    assert strokes == 3 + 6 + 5 + 1  # curves, dots, the grid, and the version on show
    legend = page.locator("#travel-curves .legend li").all_inner_texts()
    assert legend == ["a 50.0 in z", "c 20.0 in x", "b 30.0 in x"]


def test_what_learn_set_aside_is_not_called_a_dev_set(page, server):
    with_lineage(page, server, {"a": (80, 60, 50)}, data={"dev_given": False})
    about = page.inner_text("#travel-step").replace("\n", " ")
    assert "F1 on what was set aside a 50.0 (7 entities)" in about and "dev" not in about
    with_lineage(page, server, {"a": (80, 60, 50)}, data={"dev_given": True})
    about = page.inner_text("#travel-step").replace("\n", " ")
    assert "F1 on its dev set a 50.0" in about and "entities" not in about


CUT = """
() => [...document.querySelectorAll("#travel *")].filter((one) => {
  if (!one.checkVisibility() || one.closest(".scroll")) return false;
  const box = one.getBoundingClientRect();
  const chart = one.closest("svg.chart")?.getBoundingClientRect();
  const outside = chart && (box.left < chart.left - 1 || box.right > chart.right + 1 || box.bottom > chart.bottom + 1);
  return outside || box.right > innerWidth || box.left < 0 || one.textContent.includes("…");
}).map((one) => one.outerHTML.slice(0, 90))
"""


def overlapping_ticks(page):
    boxes = page.locator("#travel-curves .chart .tick").evaluate_all(
        "all => all.filter(one => one.getAttribute('text-anchor') === 'middle')"
        ".map(one => one.getBoundingClientRect()).map(one => [one.left, one.right])"
    )
    return [pair for pair in zip(boxes, boxes[1:], strict=False) if pair[0][1] > pair[1][0]]


def test_nothing_is_cut_on_a_phone(chromium, server):
    many = {f"a type with quite a long name, number {at}": (at + 1, 90 - at, 50) for at in range(24)}
    for names in (("v1", "v2", "v3"), ("the first version of all", "v2-reviewed-and-calibrated", "W" * 60)):
        with tab(chromium, server.address, viewport={"width": 390, "height": 844}, is_mobile=True) as page:
            with_lineage(page, server, many, names)
            assert page.evaluate(CUT) == [] and overlapping_ticks(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") == 390
            shown = page.locator("#travel-curves .legend bdi").all_inner_texts()[::2]
            assert shown == list(many)


def test_a_foreign_checkpoint_is_a_lineage_of_one(chromium, checkpoint):
    with served(f"alien={checkpoint('O', 'B-x', 'I-x')}") as server, tab(chromium, server.address) as page:
        show(page, TEXT, "travel")
        page.wait_for_selector("#travel-results .card")
        assert "no record" in page.inner_text("#travel-step") and page.is_disabled("#travel-slider")
        assert "This lineage records no scores" in page.inner_text("#travel-curves")
        assert drawn(page, "travel") == found(server, "alien", TEXT)
        page.click("nav a[href='#find']")
        assert page.is_disabled("#find-calibrated") and "this version has none" in page.inner_text("#find")
