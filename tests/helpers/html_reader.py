"""Reads a page the way a browser would: nesting is checked, text and attributes are collected."""

import re
from html.parser import HTMLParser

VOID = {"meta", "br", "link", "img", "hr", "input"}


class Reader(HTMLParser):
    """Checks nesting and collects text, ids and attributes."""

    def __init__(self, html):
        super().__init__()
        self.open, self.seen, self.ids, self.attributes, self.text = [], [], [], [], ""
        self.feed(html)
        self.close()
        assert not self.open
        assert len(self.ids) == len(set(self.ids))

    def handle_startendtag(self, tag, attrs):
        self.note(tag, attrs)

    def handle_starttag(self, tag, attrs):
        self.note(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.text += data

    def note(self, tag, attrs):
        self.seen.append(tag)
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id"]


def words(text):
    return " ".join(text.split())


def headline(html):
    return words(re.sub("<[^>]+>", "", re.search(r"<h1>(.*?)</h1>", html, re.DOTALL)[1]))
