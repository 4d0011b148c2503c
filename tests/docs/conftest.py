"""Places for the pages, each made once, and the account of what was run and what was not."""

import pytest
from pages import PAGES, read_page
from place import Place
from shelf import Shelf

ACCOUNT = {}
"""The place of every page that was run to its end, by the page's name."""


@pytest.fixture(scope="session")
def run_page(tmp_path_factory, encoder):
    """Run a page once and return its place; the README first, where a page needs its versions."""
    begun = set()

    def run(path):
        page = read_page(path)
        if path not in begun:
            begun.add(path)
            place = Place(tmp_path_factory.mktemp("page") / path.stem, encoder)
            shelf = Shelf(lambda: run(PAGES[0]))
            for name in page.given:
                shelf.put(name, place.folder / name)
            ACCOUNT[page.name] = place.walk(page)
        assert page.name in ACCOUNT, f"{page.name} failed, and its versions are needed here"
        return ACCOUNT[page.name]

    return run


def pytest_terminal_summary(terminalreporter):
    """Say how much was run, and everything that was not, with its reason: nothing is passed over in silence."""
    if not ACCOUNT:
        return
    blocks = [block for place in ACCOUNT.values() for _, block in place.done]
    left_out = [(where, block) for place in ACCOUNT.values() for where, block in place.left_out]
    calls = sum(len(block.calls) for block in blocks)
    programs = sum(block.language == "python" for block in blocks)
    terminalreporter.section("what was run")
    terminalreporter.write_line(f"{len(ACCOUNT)} pages: {calls} commands and {programs} Python programs were run")
    terminalreporter.write_line("the longest of them:")
    for seconds, where, step in sorted((one for place in ACCOUNT.values() for one in place.times), reverse=True)[:8]:
        terminalreporter.write_line(f"  {seconds:5.1f} s  {where}: {step[:90]}")
    terminalreporter.write_line(f"{len(left_out)} blocks were not:")
    for where, block in left_out:
        what = f"{len(block.calls)} commands" if block.calls else block.language
        terminalreporter.write_line(f"  {where} ({what}): {block.reason}")
