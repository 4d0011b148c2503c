"""Text of a file that reaches the terminal: it steers nothing there, is not taken for markup, and is not endless."""

import json

import pytest

from retainer.cli.main import main
from retainer.cli.output import balance_table, say_table, score_table
from retainer.data.io import read
from retainer.errors import InputError, printable
from retainer.metrics.f1 import Score, Scores
from retainer.training.progress import ConsoleProgress

ORDER = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\r"
"""Orders to a terminal: another title, an empty screen, red, and text that runs backwards."""


@pytest.fixture
def data(tmp_path):
    """A file whose type is an order, a line of its own and markup."""
    file = tmp_path / "data.jsonl"
    label = f"{ORDER}x\nretainer: all is well[/red]"
    records = [{"text": f"a{number} b", "label": [[0, 2, label]]} for number in range(3)]
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return file


def harmless(text):
    return not any(character in text for character in "\x1b\x07\x9b\u202e\r") and "\nretainer: all is well" not in text


def test_check_shows_orders_as_escapes(data, capsys):
    assert main(["check", str(data)]) == 0
    out = capsys.readouterr().out
    assert harmless(out) and "\\u001b]0;owned\\u0007" in out and "x\\nretainer" in out


def test_json_means_the_same(data, capsys):
    assert main(["check", str(data), "--json"]) == 0
    out = capsys.readouterr().out
    assert harmless(out) and next(iter(json.loads(out)["entities"])).startswith(ORDER)


def test_complaints(data, capsys):
    assert main(["learn", str(data), "--from", "builtin", "--out", "v", "--types", "y"]) == 2
    err = capsys.readouterr().err
    assert harmless(err) and err.count("\n") == 1


def test_tables_take_no_markup(capsys):
    label = f"[/red]{ORDER}"
    say_table(score_table(Scores({label: Score(1, 1, 1)}), f"[/x] on {label}", {}))
    fates = dict.fromkeys(("found", "kept", "moved", "relabelled", "lost", "given", "corrected"), 1)
    old = {label: {**fates, "before": None, "after": None}}
    new = {label: {"f1": 1.0, "support": 1}}
    say_table(balance_table({"sentences": 1, "place": "set aside", "old": old, "all": fates, "new": new}))
    out = capsys.readouterr().out
    assert harmless(out) and out.count("[/red]") == 4


def test_progress(capsys):
    progress = ConsoleProgress()
    progress.start(f"learning {ORDER}", 1)
    progress.note(ORDER)
    err = capsys.readouterr().err
    assert harmless(err) and err.count("owned") == 2


def test_what_is_harmless_stays():
    text = "tab\tline\r\nÄ 漢 emoji 😀 zero\u200djoiner"
    assert printable(text) == text


LONG = "x" * 1_000_000


@pytest.mark.parametrize(
    "text",
    [
        f"word\t{LONG}\n",
        f"word\t{LONG}\nword\t{LONG}\n",
        json.dumps({"text": "a", "label": [[0, 9, LONG]]}),
        json.dumps({"text": "a", "label": [[0, 1, LONG], [0, 1, LONG]]}),
        json.dumps({LONG: 1, "text": "a"}),
        json.dumps({"text": "a", "spans": [], "tokens": [{"start": 0, "end": 1, "text": LONG}]}),
        json.dumps([{"data": {"text": "a"}, "annotations": [{"result": [{"type": f"{LONG}labels"}]}]}]),
        json.dumps([{LONG: 1}]),
        f"<deIdi2b2><TEXT>a</TEXT><TAGS><N id='{LONG}' start='{LONG}' end='1' TYPE='x'/></TAGS></deIdi2b2>",
        f"<deIdi2b2><TEXT>a</TEXT><TAGS><N start='0' end='1' text='{LONG}' TYPE='x'/></TAGS></deIdi2b2>",
        f'<DOC DOCNO="a">\n<ENAMEX {LONG}>a</ENAMEX>\n</DOC>',
        f"#begin document (a); part 0\na 0 0 w - - - - - - ({LONG}( -\n",
    ],
    ids=range(12),
)
def test_complaints_stay_short(text, tmp_path):
    (tmp_path / "f").write_text(text)
    with pytest.raises(InputError) as error:
        read(tmp_path / "f")
    assert len(str(error.value)) < 600


def test_whatever_is_quoted_a_sentence_has_an_end():
    message = str(InputError(f"begins {LONG} ends"))
    assert len(message) <= 2001 and message.startswith("begins") and message.endswith("ends")
