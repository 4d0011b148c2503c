"""Files of texts in every shape, and what each verb must make of them: one table for the reader and for the verbs."""

import json
from dataclasses import dataclass


def records(*values):
    """Write one JSON record per line; what is a string already stays as it is."""
    return "".join(value if isinstance(value, str) else json.dumps(value) + "\n" for value in values)


@dataclass(frozen=True)
class TextCase:
    """A file and its texts."""

    content: str
    texts: list[str]
    format: str = "plain text"
    gold: bool = False
    """Whether `compare` takes the file for gold; the other verbs ignore its annotation."""
    by_line: bool = True
    """Whether the same bytes on stdin give the same texts: what is not read line by line is plain lines there."""

    @property
    def bytes(self):
        """What stands in the file."""
        return self.content.encode()

    @property
    def worded(self):
        """The texts with a word in them, by their numbers."""
        return {number: text for number, text in enumerate(self.texts, 1) if text.strip()}


def _annotated(content, texts, format):
    return TextCase(content, texts, format, gold=True, by_line=format == "jsonl")


TOKEN = {"text": "to paris", "start": 0, "end": 8, "id": 0}

_PLAIN = {
    "lines": ("play songs\nto paris\n", ["play songs", "to paris"]),
    "no line feed at the end": ("play songs\nto paris", ["play songs", "to paris"]),
    "an empty file": ("", []),
    "a byte order mark and nothing else": ("\ufeff", []),
    "one empty line": ("\n", [""]),
    "only empty lines": ("\n \n\t\n", ["", " ", "\t"]),
    "empty lines between": ("play songs\n\n  \nto paris\n\n", ["play songs", "", "  ", "to paris", ""]),
    "line ends of Windows": ("play songs\r\n\r\nto paris\r\n", ["play songs", "", "to paris"]),
    "a carriage return that ends no line": ("play\rsongs\r\r\nto paris\r", ["play\rsongs\r", "to paris"]),
    "a byte order mark": ("\ufeffplay songs\n\ufeffto paris\n", ["play songs", "\ufeffto paris"]),
    "other line separators": (
        "play \u2028 songs\x85\n\x0bto\x0cparis\x1e\n",
        ["play \u2028 songs\x85", "\x0bto\x0cparis\x1e"],
    ),
    "NUL": ("play\0songs\n\0\nto paris\n", ["play\0songs", "\0", "to paris"]),
    "white space at the edges": ("  play songs \n\tto paris\n", ["  play songs ", "\tto paris"]),
    "one line that ends like a row of columns": ("we flew a B-52\n", ["we flew a B-52"]),
    "half of the lines end like rows": ("play O\nto paris\nto O\nto rome\n", ["play O", "to paris", "to O", "to rome"]),
    "a row beyond the first line": ("to paris\nto\tB-city\nto rome\n", ["to paris", "to\tB-city", "to rome"]),
    "an object after the first line": ('play songs\n{"text": "to paris"}\n', ["play songs", '{"text": "to paris"}']),
    "braces": ("{ play } songs\n[ to ] paris\n", ["{ play } songs", "[ to ] paris"]),
}

_JSON_LINES = {
    "JSON lines": (records({"text": "play\nsongs"}, {"text": "to paris", "id": 2}), ["play\nsongs", "to paris"]),
    "empty lines among JSON lines": (
        records("\n \n", {"text": "play songs"}, "\r\n", {"text": ""}, {"text": " "}, {"text": "to paris"}, "\n"),
        ["", " ", "play songs", "", "", " ", "to paris", ""],
    ),
    "JSON lines of Windows": ('\ufeff{"text": "play"}\r\n{"text": "paris"}', ["play", "paris"]),
    "Prodigy without annotation": (records({"text": "to paris", "tokens": [TOKEN]}), ["to paris"]),
    "tokens without tags": (records({"tokens": ["to", "paris"]}), ["to paris"]),
}

_ANNOTATED = {
    "doccano": (
        records({"text": "play songs", "label": []}, {"text": "to paris", "label": [[3, 8, "city"]]}),
        ["play songs", "to paris"],
        "jsonl",
    ),
    "Prodigy, rejected too": (
        records({"text": "play songs", "spans": []}, {"text": "to paris", "answer": "reject"}),
        ["play songs", "to paris"],
        "jsonl",
    ),
    "Hugging Face": (
        records({"tokens": ["play", "songs"], "ner_tags": ["O", "O"]}, {"tokens": [], "ner_tags": []}),
        ["play songs", ""],
        "jsonl",
    ),
    "Hugging Face with a text": (
        records({"text": "playsongs", "tokens": ["play", "songs"], "ner_tags": ["O", "O"]}),
        ["playsongs"],
        "jsonl",
    ),
    "columns": ("play O\nsongs O\n\nto O\nparis B-city\n", ["play songs", "to paris"], "conll"),
    "columns after the beginning of a document": ("-DOCSTART- O\n\nto O\nparis B-city\n", ["to paris"], "conll"),
    "one row with a tab": ("paris\tB-city\n", ["paris"], "conll"),
    "documents in tags": (
        '<DOC DOCNO="a">\nto <ENAMEX TYPE="city">paris</ENAMEX>\n</DOC>\n',
        ["to paris"],
        "enamex",
    ),
    "tasks of Label Studio": (
        json.dumps([{"data": {"text": text}, "annotations": [{"result": []}]} for text in ("play", "to paris")]),
        ["play", "to paris"],
        "labelstudio",
    ),
}

CASES = {
    **{name: TextCase(*case) for name, case in _PLAIN.items()},
    **{name: TextCase(*case, "jsonl") for name, case in _JSON_LINES.items()},
    **{name: _annotated(*case) for name, case in _ANNOTATED.items()},
}
"""Every shape of a file, by what is special about it."""

REFUSED = {
    "bytes that are not UTF-8": (b"play\ncaf\xe9\n", "in:2: the byte 0xe9 is not UTF-8 here"),
    "a record without a text": (b'{"text": "a"}\n\n{"txt": "b"}\n', "in:3: the key 'text' is missing; found 'txt'"),
    "a text that is a number": (b'{"text": 7}\n', "in:1: text: must be a string, found 7"),
    "a record that is none": (b'{"text": "a"}\nb\n', "in:2: this is not JSON"),
    "a broken first record": (b'{"text": "a\n', "in:1: this is not JSON"),
    "half a character": (b'{"text": "a"}\n{"text": "\\ud800"}\n', "in:2: found half a surrogate pair"),
    "tokens that are not those of the text": (
        records({"text": "to rome", "tokens": [TOKEN]}).encode(),
        "in:1: tokens[0]: token 0-8 is empty or lies outside the text of 7 characters",
    ),
    "a broken list": (b"[{", "in:1: this is not JSON"),
    "columns with a broken line": (b"a\tO\nb\tB-x\nc\tnothing\nd\tO\n", "in:3: tag 'nothing' fits no scheme"),
    "columns with a short line": (b"a O\nb B-X\nc\n", "in:3: found 1 column where the lines before have 2"),
    "XML of others": (b'<?xml version="1.0"?>\n<a/>\n', "in:2: found <a> where <deIdi2b2> must stand"),
}
"""Files that every verb refuses, and how the sentence begins."""
