"""Places for the pages, each made once, and the account of what was run and what was not."""

import pickle

import pytest
import torch
from made_once import made_once
from pages import PAGES, ROOT, read_page
from place import Place
from shelf import Shelf

ACCOUNT = []
"""What was run of every page that was run to its end, and what was not."""

LONG = ("test_demo.py", "tutorial.md", "README.md")
"""What takes minutes begins first. Of two processes one begins with the first, the other with the third of all."""


def pytest_collection_modifyitems(items):
    """Put what takes long first, and the README, of which others need the versions, where it begins at once."""
    items.sort(key=lambda item: next((at for at, name in enumerate(LONG) if name in item.nodeid), len(LONG)))


@pytest.fixture(scope="session", autouse=True)
def two_threads():
    """What the pages show was made on two cores, and where a single entity decides, the number of threads does too."""
    one = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "2")
        torch.set_num_threads(2)
        yield
        torch.set_num_threads(one)


@pytest.fixture(scope="session")
def run_page(tmp_path_factory, encoder):
    """Run a page once, in whichever process, and return its place; the README where a page needs its versions."""

    def run(path):
        def walk(folder):
            page, place = read_page(path), Place(folder / path.stem, encoder)
            shelf = Shelf(lambda: run(PAGES[0]))
            for name in page.given:
                shelf.put(name, place.folder / name)
            (folder / "place").write_bytes(pickle.dumps(place.walk(page)))

        name = path.relative_to(ROOT).as_posix().replace("/", "-")
        return pickle.loads((made_once(tmp_path_factory, name, walk) / "place").read_bytes())

    return run


@pytest.fixture
def account(record_property):
    """Note what was run of a page, where the process that prints the summary finds it."""

    def note(place):
        blocks = [block for _, block in place.done]
        left_out = [(where, len(block.calls), block.language, block.reason) for where, block in place.left_out]
        programs = sum(block.language == "python" for block in blocks)
        calls = sum(len(block.calls) for block in blocks)
        record_property("page", (calls, programs, sorted(place.times, reverse=True)[:8], left_out))

    return note


def pytest_runtest_logreport(report):
    """Collect the accounts of all processes."""
    if report.when == "call":
        ACCOUNT.extend(value for name, value in report.user_properties if name == "page")


def pytest_terminal_summary(terminalreporter):
    """Say how much was run, and everything that was not, with its reason: nothing is passed over in silence."""
    if not ACCOUNT:
        return
    calls, programs, times, left_out = zip(*ACCOUNT, strict=True)
    terminalreporter.section("what was run")
    terminalreporter.write_line(
        f"{len(ACCOUNT)} pages: {sum(calls)} commands and {sum(programs)} Python programs were run"
    )
    terminalreporter.write_line("the longest of them:")
    for seconds, where, step in sorted((one for page in times for one in page), reverse=True)[:8]:
        terminalreporter.write_line(f"  {seconds:5.1f} s  {where}: {step[:90]}")
    blocks = sorted(tuple(one) for page in left_out for one in page)
    terminalreporter.write_line(f"{len(blocks)} blocks were not:")
    for where, number, language, reason in blocks:
        terminalreporter.write_line(f"  {where} ({f'{number} commands' if number else language}): {reason}")
