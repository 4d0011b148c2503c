"""The records of Hugging Face datasets: a list of words and a list of tags."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from retainer.data.corpus import Corpus
from retainer.data.formats.completeness import complete_field, complete_types
from retainer.data.formats.records import (
    EMPTY_TEXTS,
    JsonRecord,
    each_member,
    keys_of,
    record_line,
    records_by_line,
    require_kind,
)
from retainer.data.formats.tagged import TaggedWords, decode_tags
from retainer.data.lines import error_location, write_sentences
from retainer.data.oddities import Oddities
from retainer.data.spans import Sentence
from retainer.data.tags import split_tag, tags_of
from retainer.errors import InputError

TAG_KEYS = ("ner_tags", "tags", "labels")
"""The keys under which datasets hold the tags of their words."""


def sniff_tokens(line: str) -> bool:
    """Recognise a record by its words and tags."""
    keys = keys_of(line)
    return "tokens" in keys and not keys.isdisjoint(TAG_KEYS)


def read_tokens(text: str, source: str = "memory") -> Corpus:
    """Read ``{"tokens": [...], "ner_tags": [...]}``; the tags may also be called ``tags`` or ``labels``."""
    rows, complete, oddities = [], [], Oddities(source)
    for line, record in records_by_line(text, source):
        oddities.where = f"{source}:{line}"
        with error_location(oddities.where):
            row, said = tagged_words(record, line), complete_types(record)
        oddities[EMPTY_TEXTS] += not row.words
        if row.words:
            rows.append(row)
            complete.append(said)
    corpus = decode_tags(rows, source, "jsonl", oddities)
    pairs = zip(corpus, complete, strict=True)
    return replace(corpus, sentences=tuple(replace(sentence, complete=types) for sentence, types in pairs))


def write_tokens(sentences: Iterable[Sentence]) -> str:
    """Write words and IOB2 tags; a running text, where there was one, is lost."""
    return write_sentences(sentences, lambda sentence: record_line(_record(sentence)))


def words_of(record: JsonRecord) -> list[str]:
    """Return the words of a record."""
    return each_member(record, "tokens", _word)


def _record(sentence: Sentence) -> JsonRecord:
    return {"tokens": list(sentence.words), "ner_tags": tags_of(sentence), **complete_field(sentence)}


def tagged_words(record: JsonRecord, line: int) -> TaggedWords:
    """Return the words of a record on a line, and their tags."""
    key = next((key for key in TAG_KEYS if key in record), TAG_KEYS[0])
    words, tags = words_of(record), each_member(record, key, require_tag)
    if len(words) != len(tags):
        raise InputError(f"found {len(words)} tokens and {len(tags)} {key}; every token needs one tag")
    return TaggedWords(words, tags, line)


def _word(value: Any) -> str:
    word = require_kind(value, str)
    if not word:
        raise InputError("the word is empty; leave it out, and its tag too")
    return word


def require_tag(value: Any) -> str:
    """Return a tag, if it is one."""
    if type(value) is int:
        raise InputError(f"found the number {value}, and numbers carry no names; write tags as strings such as 'B-PER'")
    tag = require_kind(value, str)
    split_tag(tag)
    return tag
