"""`.spacy` files, against spaCy itself."""

import importlib.util
import random
import zlib
from itertools import pairwise

import pytest
import spacy
import srsly
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin, Span

import retainer
from retainer.cli.main import main
from retainer.data.formats.docbin import read_docbin, sniff_docbin, write_docbin
from retainer.data.spans import Sentence
from retainer.data.spans import Span as Entity
from retainer.data.texts import read_texts, texts_or_corpus
from retainer.errors import InputError

NLP = spacy.blank("en")
WILD = st.sampled_from("ab \n\t\u3000\xa0\x00\u2028😀é.,-") | st.characters(exclude_categories=["Cs"])
WILD_TYPES = st.sampled_from(["PER", "B-X", "O", "a b", "X "]) | st.text(WILD, min_size=1, max_size=4)
TAME = st.sampled_from("abcÄß0.,'-+👩漢أ")


@st.composite
def any_sentences(draw, characters, types):
    """Draw words alone, or a running text, with entities on them."""
    words = draw(st.lists(st.text(characters, min_size=1, max_size=4), min_size=1, max_size=6))
    text = draw(st.text(characters, min_size=1, max_size=20)) if draw(st.booleans()) else ""
    size = len(text or words)
    cuts = sorted(draw(st.sets(st.integers(0, size), max_size=5)))
    spans = [Entity(*pair, draw(types)) for pair in pairwise(cuts) if draw(st.booleans())]
    if not text:
        return Sentence(tuple(words), tuple(spans))
    return Sentence.from_text(text, [span for span in spans if text[span.start : span.end].strip()])


def packed(*docs, **options):
    return DocBin(docs=docs, **options).to_bytes()


def document(text, *entities):
    doc = NLP(text)
    doc.ents = [doc.char_span(*entity) for entity in entities]
    return doc


def test_documents_of_spacy_are_read():
    doc = document("Mira  Vell\nleft Oslo's port. ", (0, 10, "person"), (16, 20, "city"))
    sentence = read_docbin(packed(doc, NLP(" \n")), "F")[0]
    assert sentence.text == doc.text
    assert sentence.words == tuple(token.text for token in doc if not token.is_space)
    assert [(s.start, s.end, s.type) for s in sentence.character_spans()] == [(0, 10, "person"), (16, 20, "city")]
    assert read_docbin(packed(doc, NLP(" \n")), "F").oddities == {"empty texts": 1}


def test_what_is_not_an_entity_is_not_read():
    """Blocked and missing tokens count as O; an entity of white space is counted."""
    doc = NLP("a b \n c d")
    doc.set_ents(
        [Span(doc, 2, 3, label="X"), Span(doc, 3, 4, label="Y")], blocked=[Span(doc, 0, 1)], missing=[doc[1:2]]
    )
    corpus = read_docbin(packed(doc), "F")
    assert [(s.start, s.end, s.type) for s in corpus[0].spans] == [(2, 3, "Y")]
    assert corpus.oddities == {"entities of white space alone": 1}


def test_words_without_known_spaces():
    doc = Doc(NLP.vocab, words=["New", "York"], ents=["B-city", "I-city"])
    sentence = read_docbin(packed(doc), "F")[0]
    assert (sentence.words, sentence.spans, sentence.text) == (("New", "York"), (Entity(0, 2, "city"),), None)


def same(sentence):
    text, offsets = sentence.located()
    return text, offsets, sentence.spans


@settings(max_examples=150, deadline=None)
@given(st.lists(any_sentences(WILD, WILD_TYPES), max_size=4))
def test_what_is_taken_comes_back(made):
    """And spaCy finds the same entities in it as we do."""
    fine = [sentence for sentence in made if takes(sentence)]
    if fine:
        data = write_docbin(fine)
        assert sniff_docbin(data)
        assert [same(one) for one in read_docbin(data, "F")] == [same(one) for one in fine]
        for sentence, doc in zip(fine, DocBin().from_bytes(data).get_docs(NLP.vocab), strict=True):
            assert doc.text == sentence.located()[0]
            found = [Entity(e.start_char, e.end_char, e.label_) for e in doc.ents]
            assert found == list(sentence.character_spans())


def takes(sentence):
    try:
        write_docbin([sentence])
    except InputError as error:
        assert str(error).startswith("sentence 1: ") and len(str(error).split()) > 6
        return False
    return True


@settings(max_examples=50, deadline=None)
@given(st.lists(any_sentences(TAME, st.sampled_from(["PER", "Größe"])), min_size=1, max_size=4))
def test_ordinary_sentences_are_never_refused(made):
    assert len(read_docbin(write_docbin(made), "F")) == len(made)


def test_broken_files_get_a_sentence(tmp_path):
    """Bytes changed anywhere, before and after compression: read, or refused in one sentence."""
    data = packed(document("Mira left Oslo", (10, 14, "city")), document("on the way to Bonn", (14, 18, "city")))
    inside, draw = bytearray(zlib.decompress(data)), random.Random(1)
    refused = 0
    for _ in range(400):
        changed = bytearray(inside)
        for _ in range(draw.randint(1, 4)):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        whole = zlib.compress(bytes(changed[: draw.choice([len(changed), draw.randrange(len(changed))])]))
        try:
            read_docbin(whole, "F")
        except InputError as error:
            refused += 1
            assert str(error).startswith("F: ") and "\n" not in str(error)
    assert 100 < refused
    file = tmp_path / "half.spacy"
    file.write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match="not a whole .spacy file"):
        retainer.read(file)


def test_what_unpacks_to_too_much_is_refused(monkeypatch):
    monkeypatch.setattr("retainer.data.formats.docbin.MOST_BYTES", 2**20)
    with pytest.raises(InputError, match="unpacks to more than"):
        read_docbin(zlib.compress(srsly.msgpack_dumps({"version": "0.1", "attrs": b"0" * 2**22})), "F")


def test_without_entities():
    with pytest.raises(InputError, match="holds no entities, ENT_IOB is not among its attributes"):
        read_docbin(DocBin(attrs=["LEMMA"], docs=[NLP("a b")]).to_bytes(), "F")


def test_verbs_take_it(tmp_path, capsys):
    """Its format is known by what it holds, whatever its name, wherever a corpus or texts are read."""
    source, there = tmp_path / "both.conll", tmp_path / "both.spacy"
    source.write_text("play O\nboston B-artist\n\nin O\nnew B-city\nyork I-city\n", "utf-8")
    assert main(["convert", str(source), str(there)]) == 0
    (moved := tmp_path / "data").write_bytes(there.read_bytes())
    corpus = retainer.read(moved)
    assert (corpus.format, corpus.counts) == ("spacy", {"artist": 1, "city": 1})
    assert [s.words for s in read_texts(moved).chunks(9, 999).__next__()] == [("play", "boston"), ("in", "new", "york")]
    assert texts_or_corpus(moved).format == "spacy"
    assert main(["convert", str(moved), str(tmp_path / "back.conll")]) == 0
    assert (tmp_path / "back.conll").read_text("utf-8").split() == source.read_text("utf-8").split()
    assert "spacy -> conll" in capsys.readouterr().out


def test_what_it_cannot_hold_is_refused(tmp_path):
    complete = Sentence(("a",), (), complete=("X",))
    with pytest.raises(InputError, match="spacy cannot hold that"):
        retainer.write([complete], tmp_path / "x.spacy", "spacy")
    assert not list(tmp_path.iterdir())


def test_without_spacy(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr("retainer.data.formats.docbin.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'retainer\[spacy\]'"):
        read_docbin(packed(NLP("a")), "F")
