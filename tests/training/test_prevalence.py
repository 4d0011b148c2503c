"""How often a new type is found elsewhere beside how often it is annotated, and what `learn` makes of it."""

from dataclasses import replace

import pytest

from retainer.cli.main import main
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.data.tasks import hide
from retainer.training import prevalence as module
from retainer.training.learn import learn
from retainer.training.prevalence import prevalence, prevalence_in_words
from retainer.training.recipe import Recipe
from retainer.training.request import LearnRequest


def facts(where, annotated, found, sentences=100):
    types = {"genre": {"annotated": annotated, "found": found}}
    return {"where": where, "sentences": sentences, "annotated_sentences": 20, "types": types}


class TestWords:
    def test_rarer_in_the_text(self):
        assert prevalence_in_words(facts("text", 92.0, 31.0), dev_given=False) == [
            "F1 of genre may flatter: 92 % of the sentences in DATA have it, and it is found in 31 % of 100 "
            "sentences of text; draw sentences at random for a dev set (--dev) or add sentences without genre"
        ]

    def test_without_text(self):
        assert prevalence_in_words(facts("data", 92.0, 4.0), dev_given=False) == [
            "F1 of genre may flatter: 92 % of the sentences in DATA have it; draw sentences at random for a dev set "
            "(--dev), add sentences without genre or give texts as they come (--text)"
        ]
        assert "found" not in prevalence_in_words(facts("data", 92.0, None, 0), dev_given=False)[0]

    def test_of_a_dev_file(self):
        """Whoever gave one needs no advice to give one."""
        assert prevalence_in_words(facts("data", 92.0, 4.0), dev_given=True) == [
            "F1 of genre may flatter: 92 % of the sentences in the dev file have it; draw its sentences at random, add "
            "sentences without genre or give texts as they come (--text)"
        ]

    @pytest.mark.parametrize("where", [("text", 92.0, 80.0), ("text", 20.0, 35.0), ("data", 50.0, 30.0)])
    def test_nothing_to_say(self, where):
        assert prevalence_in_words(facts(*where), dev_given=False) == []

    @pytest.mark.parametrize("number", [1, 19])
    def test_a_few_sentences_have_no_share(self, number):
        """All of one sentence is 100 %."""
        assert (
            prevalence_in_words(facts("data", 100.0, None, 0) | {"annotated_sentences": number}, dev_given=False) == []
        )


class TestMeasured:
    @pytest.fixture(scope="class")
    def task(self, first):
        """City in all of 60 sentences that were picked for it; in the text it is in about half."""
        picked = [one for one in hide(generate(300, seed=3, types=["artist", "city"]), ["city"]) if one.spans][:60]
        bare = [one for one in hide(generate(300, seed=4, types=["artist", "city"]), ["city"]) if not one.spans][:25]
        corpus = replace(generate(1, seed=1), sentences=(*picked, *bare))
        return LearnRequest(corpus, first, recipe=Recipe(epochs=1), device="cpu").resolve()

    @pytest.fixture(scope="class")
    def learned(self, encoder, city):
        return learn(city, encoder, recipe=Recipe(epochs=8, base_lr=3e-3), device="cpu", measure=False)

    @staticmethod
    def having(version, sentences):
        """The percentage of sentences in which a version finds a city."""
        return (
            100 * sum(any(span.type == "city" for span in found) for found in version.tag(sentences)) / len(sentences)
        )

    def test_in_the_text(self, task, learned):
        text = generate(200, seed=8, types=["artist", "city"])
        seen = prevalence(learned.tagger, replace(task, text=text))
        found = self.having(learned, text.sentences)
        assert (seen["where"], seen["sentences"]) == ("text", 200) and 0 < found < 100
        assert seen["types"] == {"city": {"annotated": pytest.approx(100 * 60 / 85), "found": found}}

    def test_a_large_text_is_looked_at_in_part(self, task, learned, monkeypatch):
        monkeypatch.setattr(module, "MOST_LOOKED_AT", 30)
        assert prevalence(learned.tagger, replace(task, text=generate(200, seed=8)))["sentences"] == 29

    def test_without_text(self, task, learned):
        seen = prevalence(learned.tagger, task)
        assert (seen["where"], seen["sentences"], seen["annotated_sentences"]) == ("data", 25, 85)
        assert seen["types"]["city"]["found"] == self.having(learned, task.corpus.sentences[60:]) > 0

    def test_a_dev_file_is_what_f1_is_measured_on(self, task, learned):
        dev = generate(40, seed=9, types=["artist"])
        assert prevalence(learned.tagger, replace(task, dev=dev, dev_given=True))["types"]["city"]["annotated"] == 0

    def test_nothing_to_look_at(self, task, learned):
        corpus = replace(task.corpus, sentences=task.corpus.sentences[:60])
        seen = prevalence(learned.tagger, replace(task, corpus=corpus))
        assert seen["sentences"] == 0 and seen["types"]["city"] == {"annotated": 100.0, "found": None}


def test_the_last_lines_of_learn(first, city, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    first.save("v1")
    write(city, "city.conll", "conll")
    assert main(["learn", "city.conll", "--from", "v1", "--out", "v2", "--epochs", "1", "--device", "cpu"]) == 0
    out = capsys.readouterr().out
    assert (
        "F1 of city may flatter: " in out
        and "(--text)\nThese sentences show only large losses, and do not rank methods: " in out
    )
