"""What `check` finds: every finding is shown by a corpus that has it, and by one that does not."""

import time

import pytest

from retainer.data.checks import WEIGHT_MEANINGS, findings, type_clashes, unreadable_scripts
from retainer.data.checks.against_model import script_of
from retainer.data.corpus import Corpus
from retainer.data.formats.conll import read_conll
from retainer.data.formats.doccano import read_doccano
from retainer.data.place import Place
from retainer.data.spans import Sentence, Span


def corpus(*rows):
    """Make sentences out of texts in which entities stand as [type words]."""
    return Corpus(tuple(parsed(row) for row in rows))


def parsed(row):
    words, spans, start, type_ = [], [], None, ""
    for part in row.split():
        if part.startswith("["):
            start, type_ = len(words), part[1:]
            continue
        words.append(part.removesuffix("]"))
        if part.endswith("]"):
            spans.append(Span(start, len(words), type_))
    return Sentence(tuple(words), tuple(spans))


def found(data, **more):
    return {finding.what: finding for finding in findings(data, **more)}


def plenty(type_="x"):
    return [f"w{i} [{type_} name{i}]" for i in range(30)]


def others():
    """As many sentences without an entity."""
    return [f"v{i} u{i}" for i in range(30)]


def test_nothing_odd():
    assert findings(corpus(*plenty(), *others())) == []


def test_sentences_picked_for_a_new_type():
    [finding] = findings(corpus(*plenty(), *others()[1:]))
    assert finding.what == "sentences with x, more than half of all" and finding.count == 30
    assert all(said in finding.advice for said in ("at random", "--dev", "without x", "--text"))
    assert findings(corpus(*plenty()), known=["x"]) == [], "a type the model knows is not new"
    assert not [what for what in found(corpus("a [x b]")) if "half" in what], "of one sentence nothing follows"


def test_what_weighs_most_comes_first():
    data = corpus(*plenty(), *others(), "a [y b]", "w0 [x name0]", "in [x Paris ,]", "so it goes", "on and on")
    assert [finding.weight for finding in findings(data)] == ["mend", "look", "note"] == list(WEIGHT_MEANINGS)


class TestMissed:
    def test_annotated_here_and_not_there(self):
        data = corpus(*plenty(), *["in [x New York] now"] * 3, "to New York again", "York alone")
        finding = found(data)["texts that are usually x, but not annotated"]
        assert finding.count == 1
        assert finding.examples == [Place((34,), "New York", "annotated 3 times elsewhere")]

    def test_a_sentence_is_named_once(self):
        data = corpus(*plenty(), *["in [x New York] now"] * 4, "New York is New York", "see New York")
        (place,) = found(data)["texts that are usually x, but not annotated"].examples
        assert place.sentences == (35, 36) and str(place).startswith("sentences 35 and 36: 'New York'")

    def test_a_text_that_is_mostly_no_entity_is_left_alone(self):
        data = corpus(*plenty(), *["say [x May]"] * 3, *["it May rain"] * 4)
        assert not [what for what in found(data) if what.startswith("texts that are usually")]

    def test_the_longest_text_counts(self):
        """York inside an unannotated New York is not counted once more."""
        data = corpus(*plenty(), *["in [x New York]", "in [x York]"] * 3, "to New York")
        assert found(data)["texts that are usually x, but not annotated"].count == 1

    def test_inside_another_entity_nothing_is_missed(self):
        data = corpus(*plenty(), *["in [x York]"] * 3, "the [x York Minster]")
        assert "texts that are usually x, but not annotated" not in found(data)


class TestEdges:
    def test_punctuation(self):
        finding = found(corpus(*plenty(), "in [x Paris ,] now", "at [x U.S.] now"))
        odd = finding["entities that begin or end with a punctuation mark"]
        assert odd.count == 1 and odd.examples == [Place((31,), "Paris ,")]

    def test_inside_a_word(self):
        half = Sentence.from_text("the Parisian way", [Span(4, 9, "x")])
        whole = Sentence.from_text("the Paris-based way", [Span(4, 9, "x")])
        odd = found(Corpus((*corpus(*plenty()).sentences, half, whole)))["entities that begin or end inside a word"]
        assert odd.count == 1 and odd.examples == [Place((31,), "Paris")]

    def test_inside_a_word_is_reported_once(self):
        """The reader counts such edges too, but does not know where they are."""
        data = read_doccano('{"text": "the Parisian way", "label": [[4, 9, "x"]]}\n')
        assert data.oddities == {"edge inside a word": 1}
        assert [what for what in found(data) if "inside a word" in what] == ["entities that begin or end inside a word"]
        assert "edge inside a word" in found(Corpus(corpus(*plenty()).sentences, oddities=data.oddities))

    def test_every_han_character_is_a_word(self):
        data = Corpus((*corpus(*plenty()).sentences, Sentence.from_text("我在北京市", [Span(2, 4, "x")])))
        assert findings(data, known=["x"]) == []


class TestRepeatedTexts:
    def test_are_named_with_their_sentences(self):
        data = corpus(*plenty(), *["to [x Rome]"] * 4)
        (finding,) = findings(data, known=["x"], show=2)
        assert (finding.what, finding.count) == ("sentences that repeat an earlier one", 3)
        assert [str(place) for place in finding.examples] == ["sentences 31, 32 and 2 more: 'to Rome'"]

    def test_annotated_in_two_ways_is_reported_once(self):
        (finding,) = findings(corpus(*plenty(), "to [x Rome]", "to Rome"), known=["x"])
        assert finding.what == "texts annotated in different ways"
        assert finding.examples == [Place((31, 32), "to Rome")]


class TestNames:
    def test_in_the_data(self):
        finding = found(corpus(*plenty("City"), *plenty("city")))
        similar = finding["types that differ in spelling alone: City, city"]
        assert similar.weight == "mend"
        assert list(map(str, similar.examples)) == [
            "sentences 1, 2, 3 and 27 more (City)",
            "sentences 31, 32, 33 and 27 more (city)",
        ]

    def test_a_rare_type_shows_where_it_is(self):
        assert found(corpus(*plenty(), "a [y b]"))["few entities of type y"].examples == [Place((31,), "b")]

    def test_beside_a_model(self):
        data, what = (
            corpus(*plenty("creative-work")),
            "types that differ in spelling alone: Creative_Work, creative-work",
        )
        assert what in found(data, known=["Creative_Work"])
        assert not found(data, known=["creative-work", "person"])


class TestSchemes:
    @pytest.mark.parametrize(
        ("text", "mixed"),
        [
            ("a B-x\nb E-x\n\nc S-x\n", 0),
            ("a B-x\nb E-x\n\nc B-x\nd I-x\n\ne B-x\n", 2),
            ("a B-x\nb E-x\n\nc B-x\nd L-x\n", 1),
            ("a B-x\nb I-x\n\nc B-x\n", 0),
        ],
    )
    def test_two_in_one_file(self, text, mixed):
        seen = read_conll(text, "memory").oddities
        assert [count for what, count in seen.items() if "two tag schemes" in what] == [mixed] * bool(mixed)


class TestClashes:
    def test_counts_and_share(self):
        data = corpus("[band Genesis] plays", "[band Boston] plays", "[city Boston] sleeps")
        guesses = [[Span(0, 2, "person")], [], [Span(0, 1, "person")]]
        one, two = type_clashes(data, guesses, ("person",))
        assert (one.what, one.count) == ("entities of the new type band lie where the model sees person", 1)
        assert "50 %" in one.advice and one.examples == [Place((1,), "Genesis")]
        assert "100 %" in two.advice

    def test_what_the_model_knows_already_is_no_clash(self):
        assert type_clashes(corpus("[person Genesis]"), [[Span(0, 1, "person")]], ("person",)) == []


class TestSplitting:
    def test_unknown_letters(self):
        data = Corpus((Sentence(("привет",) * 30), Sentence(("hello",) * 30)))
        (finding,) = unreadable_scripts(data, [[[7]] * 30, [[1, 2]] * 30], 7)
        assert finding.count == 30 and "Cyrillic" in finding.what and finding.weight == "mend"
        assert finding.examples == [Place((1,), "привет")], "a word is shown once"

    def test_spelling(self):
        data = Corpus((Sentence(("привет",) * 30), Sentence(("hello",) * 30)))
        (finding,) = unreadable_scripts(data, [[[1] * 6] * 30, [[1, 2]] * 30], 7)
        assert "only spells" in finding.what and "6.0 pieces" in finding.advice

    def test_a_few_words_prove_nothing(self):
        assert not list(unreadable_scripts(Corpus((Sentence(("привет",) * 19),)), [[[7]] * 19], 7))

    @pytest.mark.parametrize(("word", "name"), [("Paris", "Latin"), ("1Ω", "Greek"), ("東京", "Cjk"), ("--12", "")])
    def test_scripts(self, word, name):
        assert script_of(word) == name


class TestLongSentences:
    """Every check takes time in proportion to the data, however few sentences hold them."""

    def corpus(self, entity=1):
        """10,000 words in one sentence, of which every second group of words is an entity."""
        words = tuple(f"w{number % 97}" for number in range(10_000))
        spans = tuple(Span(at, at + entity, "x") for at in range(0, len(words), 2 * entity))
        return Corpus((Sentence(words, spans),) * 3)

    @pytest.mark.parametrize("entity", [1, 1000])
    def test_many_or_long_entities(self, entity, monkeypatch):
        located = []
        monkeypatch.setattr(Sentence, "located", lambda self, own=Sentence.located: located.append(self) or own(self))
        began = time.perf_counter()
        findings(self.corpus(entity))
        assert len(located) == 3, "once per sentence, not once per entity"
        assert time.perf_counter() - began < 2

    def test_a_model_that_finds_as_many(self):
        corpus = self.corpus()
        guesses = [tuple(Span(at, at + 1, "y") for at in range(10_000))] * 3
        began = time.perf_counter()
        assert [one.count for one in type_clashes(corpus, guesses, ["y"])] == [15_000]
        assert time.perf_counter() - began < 2

    def test_overlaps_are_all_found_and_an_entity_counts_once(self):
        sentence = Sentence(tuple("abcdefgh"), (Span(0, 3, "x"), Span(4, 8, "x")))
        guesses = [(Span(2, 5, "y"), Span(5, 6, "y"), Span(0, 1, "z"))]
        clashes = type_clashes(Corpus((sentence,)), guesses, ["y", "z"])
        counts = [(one.count, one.advice.split("(")[1]) for one in clashes]
        assert counts == [(2, "100 % of them)"), (1, "50 % of them)")]


class TestComplete:
    """Data that say in a sentence which types are complete in it."""

    def said(self, *types):
        data = corpus(*plenty())
        return Corpus(tuple(one.completed(types) for one in data))

    def test_nothing_odd(self):
        assert findings(self.said("x"), known=["x"]) == []

    def test_complete_nowhere(self):
        finding = found(self.said())["entities of x, which is complete in no sentence"]
        assert (finding.count, finding.weight) == (30, "mend")

    def test_a_name_that_has_no_entity(self):
        finding = found(self.said("x", "X."))["sentences complete for X., of which there is no entity"]
        assert finding.count == 30

    def test_some_do_not_say(self):
        data = Corpus((*self.said("x"), *corpus("w [x name]")))
        finding = found(data)["sentences without complete, among others with it"]
        assert (finding.count, finding.examples) == (1, [Place((31,))])

    def test_an_open_o_is_no_missed_mention(self):
        rows = corpus(*["in [x New York] now"] * 3, "to New York again", "to New York today").sentences
        said = [one.completed(["x"] if at != 3 else []) for at, one in enumerate(rows)]
        finding = found(Corpus(tuple(said)))["texts that are usually x, but not annotated"]
        assert finding.examples == [Place((5,), "New York", "annotated 3 times elsewhere")]


def test_what_is_quoted_is_the_text_as_it_stands():
    texts = ["it costs 12.5 kg, or so", "it costs 12.5 kg, or so", "12.5 kg here"]
    rows = [Sentence.from_text(text, [Span(text.index("12.5"), text.index("kg") + 2, "mass")]) for text in texts]
    rows += [Sentence.from_text(f"take {at} 12.5 kg", []) for at in "ab"]
    odd = found(Corpus(tuple(rows)))
    assert odd["few entities of type mass"].examples[0].text == "12.5 kg"
    assert odd["sentences that repeat an earlier one"].examples[0].text == texts[0]
    missed = odd["texts that are usually mass, but not annotated"].examples[0]
    assert (missed.text, missed.sentences) == ("12.5 kg", (4, 5))
