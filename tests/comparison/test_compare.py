"""Two versions compared: the numbers are those of a slow recomputation, whatever the models and the data."""

import re
import statistics
from collections import Counter

import numpy as np
import pytest
from scripted import EVERY, KNOWN, Scripted, noisy

import retainer
from retainer.comparison.changes import changes
from retainer.comparison.compare import CHUNK_TEXTS, compare
from retainer.comparison.gates import Gates
from retainer.data.corpus import Corpus
from retainer.data.generated import generate
from retainer.data.io import read, write
from retainer.data.spans import Sentence, Span
from retainer.errors import InputError
from retainer.training.learn import learn
from retainer.training.recipe import Recipe
from retainer.versions.version import load

LONGER = Recipe(epochs=12, base_lr=1e-3, lr=1e-3)


@pytest.fixture(scope="module")
def corpus():
    return generate(300, seed=9, types=EVERY)


@pytest.fixture(scope="module")
def pair():
    return Scripted(KNOWN, noisy(1, 0.75)), Scripted(EVERY, noisy(2, 0.65))


@pytest.fixture(scope="module")
def able(encoder, artist):
    """A version trained long enough to find artists."""
    return learn(artist, encoder, recipe=LONGER, device="cpu")


@pytest.fixture(scope="module")
def grown(able, city):
    """The version after it, which finds cities too."""
    return learn(city, able, recipe=LONGER, device="cpu")


def found_by(version, sentences):
    return [set(spans) for spans in version.tag(list(sentences))]


def counted(gold, found, type_):
    """Right, found and wanted, one sentence after the other."""
    right = found_ = wanted = 0
    for truth, given in zip(gold, found, strict=True):
        a, b = {s for s in truth if s.type == type_}, {s for s in given if s.type == type_}
        right, found_, wanted = right + len(a & b), found_ + len(b), wanted + len(a)
    return right, found_, wanted


def measures(right, found, wanted):
    precision, recall = 100 * right / found if found else 0.0, 100 * right / wanted if wanted else 0.0
    return precision, recall, 2 * precision * recall / (precision + recall) if right else 0.0


class TestWithGold:
    def test_scores_as_slowly(self, corpus, pair):
        difference = compare(*pair, corpus)
        gold = [set(sentence.spans) for sentence in corpus]
        sides = {name: found_by(version, corpus) for name, version in zip(("old", "new"), pair, strict=True)}
        scored = difference.scored
        assert list(scored.kept) == list(KNOWN) and list(scored.gained) == ["dish"]
        for type_, both in {**scored.kept, **scored.gained}.items():
            for name, found in sides.items():
                score = getattr(both, name)
                if type_ == "dish" and name == "old":
                    assert score is None
                    continue
                expected = measures(*counted(gold, found, type_))
                assert (score.precision, score.recall, score.f1) == pytest.approx(expected)
        f1 = {
            name: {t: measures(*counted(gold, found, t))[2] for t in (*KNOWN, "dish")} for name, found in sides.items()
        }
        before, keep = (statistics.fmean(f1[name][t] for t in KNOWN) for name in ("old", "new"))
        assert (scored.before, scored.keep) == pytest.approx((before, keep))
        assert scored.forget == pytest.approx(before - keep) and abs(scored.forget) > 1
        assert scored.gain == pytest.approx(f1["new"]["dish"])

    def test_intervals_as_slowly(self, corpus, pair):
        """Every drawn test set counted one sentence at a time."""
        small = Corpus(corpus.sentences[:60])
        difference = compare(*pair, small)
        gold = [set(sentence.spans) for sentence in small]
        old, new = (found_by(version, small) for version in pair)
        random_ = np.random.default_rng(0)
        apart, forgotten = {type_: [] for type_ in KNOWN}, []
        for _ in range(1000):
            rows = random_.integers(60, size=60)
            part = [[side[row] for row in rows] for side in (gold, old, new)]
            each = {t: [measures(*counted(part[0], side, t)) for side in part[1:]] for t in KNOWN}
            for type_ in KNOWN:
                apart[type_].append([b - a for a, b in zip(*each[type_], strict=True)])
            there = [t for t in KNOWN if counted(part[0], part[1], t)[2]]
            forgotten.append(statistics.fmean(each[t][0][2] - each[t][1][2] for t in there))
        for type_, both in difference.scored.kept.items():
            for at, name in enumerate(("precision", "recall", "f1")):
                drawn = np.array(apart[type_])[:, at]
                one = both.differences[name]
                assert (one.low, one.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))
                assert one.difference == pytest.approx(getattr(both.new, name) - getattr(both.old, name))
        lost = difference.scored.forgotten
        assert (lost.low, lost.high) == pytest.approx(tuple(np.quantile(forgotten, [0.025, 0.975])))

    def test_the_same_numbers_as_evaluate(self, able, grown):
        both = generate(60, seed=3, types=["artist", "city"])
        scored = compare(able, grown, both).scored
        assert scored.kept["artist"].old == able.evaluate(both).per_type["artist"]
        assert scored.kept["artist"].new == grown.evaluate(both).per_type["artist"]
        assert scored.gained["city"].new == grown.evaluate(both).per_type["city"]
        assert scored.before > 0 and scored.keep > 0 and scored.gain > 0, "versions that find nothing prove nothing"

    def test_types_without_gold_are_compared_by_agreement(self, corpus, pair):
        hidden = Corpus(tuple(s.with_spans([x for x in s.spans if x.type not in ("movie", "dish")]) for s in corpus))
        plain = {sentence.words: sentence for sentence in corpus}
        old, new = (Scripted(v.types, lambda s, v=v: v.said(plain[s.words])) for v in pair)
        heard = []
        difference = compare(old, new, hidden, note=heard.append)
        assert list(difference.scored.kept) == ["artist", "city"] and not difference.scored.gained
        assert difference.scored.gain is None and difference.types.unscored == ("movie", "dish")
        assert heard == [
            "types of the old version without gold in the data, compared by agreement instead: movie",
            "types only the new version knows, without gold in the data, so not scored: dish",
        ]
        movies = [sum(s.type == "movie" for spans in found_by(v, hidden) for s in spans) for v in (old, new)]
        assert [difference.agreements["movie"].old, difference.agreements["movie"].new] == movies
        dishes = sum(s.type == "dish" for spans in found_by(new, hidden) for s in spans)
        assert difference.found_of_gained_types == {"dish": dishes} and dishes > 5
        right = [c["right"] for case in difference.cases for c in case.as_dict(difference.scored_types)["changes"]]
        assert None in right and {"old", "new"} <= set(right)

    def test_types_neither_knows_are_left_out(self, corpus):
        heard = []
        difference = compare(
            Scripted(["artist"], noisy(1, 0.9)), Scripted(["artist"], noisy(2, 0.9)), corpus, note=heard.append
        )
        assert heard == ["types neither version knows are left out: city, dish, movie"]
        assert list(difference.scored.kept) == ["artist"]

    def test_a_type_the_new_version_has_not_is_lost(self, corpus):
        heard = []
        old, new = Scripted(["city", "movie"], noisy(1, 1.0)), Scripted(["movie"], noisy(1, 1.0))
        difference = compare(old, new, corpus, note=heard.append)
        assert "types the new version does not know, so all their entities are lost: city" in heard
        assert difference.scored.kept["city"].new.f1 == 0 and difference.agreements["city"].agreement == 0
        assert difference.scored.kept["movie"].drop == 0

    def test_annotation_no_version_knows(self, corpus):
        difference = compare(Scripted(["x"], noisy(1, 1)), Scripted(["x"], noisy(1, 1)), corpus)
        assert difference.scored is None and difference.agreement is None


class TestWithoutGold:
    def test_agreement_as_slowly(self, corpus, pair):
        texts = [" ".join(sentence.words) for sentence in corpus]
        truth = {text: sentence for text, sentence in zip(texts, corpus, strict=True)}
        old, new = (Scripted(v.types, lambda s, v=v: v.said(truth[s.text])) for v in pair)
        texts = [text for text in texts if Sentence.from_text(text).words == truth[text].words]
        assert len(texts) > 200
        difference = compare(old, new, texts)
        assert difference.scored is None and difference.types.annotated is None
        sentences = [Sentence.from_text(text) for text in texts]
        before, after = found_by(old, sentences), found_by(new, sentences)
        for type_ in KNOWN:
            both, new_count, old_count = counted(before, after, type_)
            assert difference.agreements[type_].agreement == pytest.approx(200 * both / (new_count + old_count))
        assert set(difference.agreements) == set(KNOWN) and difference.found_of_gained_types["dish"] > 0
        cases = list(difference.cases)
        assert [case.number for case in cases] == [
            i for i, (a, b) in enumerate(zip(before, after, strict=True), 1) if a or b
        ]
        for case in cases:
            row = case.number - 1
            sides = [sentences[row].with_spans(side[row]).character_spans() for side in (before, after)]
            assert case.changes == changes(*sides) and case.text == texts[row] and case.gold == ()
        assert difference.kinds == Counter(change.kind for case in cases for change in case.changes)

    def test_texts_are_taken_part_by_part(self):
        """However many there are, no more than one part is taken ahead of what was tagged."""
        taken = []

        def texts():
            for at in range(5 * CHUNK_TEXTS + 7):
                taken.append(at)
                yield f"song {at}"

        version = Scripted(["artist"], lambda sentence: [Span(0, 1, "artist")])
        ahead = []
        whole = version.tag
        version.tag = lambda sentences: ahead.append(len(taken) - sum(version.asked) // 2) or whole(sentences)
        difference = compare(version, version, texts())
        assert difference.texts == 5 * CHUNK_TEXTS + 7 == difference.total.kept
        assert max(ahead) <= 2 * CHUNK_TEXTS and version.asked == [CHUNK_TEXTS] * 10 + [7] * 2

    def test_long_texts_make_short_parts(self):
        version = Scripted(["artist"], lambda sentence: [])
        compare(version, version, ["word " * 30_000] * 7)
        assert version.asked == [3, 3, 3, 3, 1, 1]

    def test_a_text_longer_than_any_window(self, able, grown):
        long = " ".join(sentence.located()[0] for sentence in generate(60, seed=3, types=["artist", "city"]))
        difference = compare(able, grown, [long])
        places = [{(e["start"], e["end"], e["entity_group"]) for e in v.predict(long)} for v in (able, grown)]
        (case,) = difference.cases
        for side, expected in zip(("old", "new"), places, strict=True):
            spans = [getattr(change, side) for change in case.changes]
            assert {(s.start, s.end, s.type) for s in spans if s} == expected
        assert len(places[0] | places[1]) > 5

    def test_the_same_text_twice_counts_twice(self, pair, corpus):
        once = compare(*pair, corpus)
        twice = compare(*pair, Corpus(corpus.sentences * 2))
        for type_ in KNOWN:
            assert twice.agreements[type_].old == 2 * once.agreements[type_].old
            assert twice.agreements[type_].agreement == pytest.approx(once.agreements[type_].agreement)
            assert twice.scored.kept[type_].new.f1 == pytest.approx(once.scored.kept[type_].new.f1)
        assert len(twice.cases) == 2 * len(once.cases)
        assert twice.kinds == {kind: 2 * number for kind, number in once.kinds.items()}


class TestItself:
    @pytest.mark.parametrize("gold", [True, False])
    def test_no_difference(self, able, gold):
        both = generate(60, seed=3, types=["artist", "city"])
        data = both if gold else [sentence.located()[0] for sentence in both]
        difference = compare(able, able, data)
        assert difference.agreement == 100 and difference.total.low == difference.total.high == 100
        assert {kind for kind, number in difference.kinds.items() if number} == {"kept"}
        assert not any(case.differs for case in difference.cases) and len(difference.cases) > 10
        if gold:
            both = difference.scored.kept["artist"]
            assert both.old == both.new and difference.scored.forget == 0 and not both.real
            assert all((one.low, one.high, one.p) == (0, 0, 1) for one in both.differences.values())

    def test_from_a_folder_twice(self, able, tmp_path):
        folder = able.save(tmp_path / "v")
        texts = [sentence.located()[0] for sentence in generate(40, seed=3, types=["artist"])]
        difference = retainer.compare(folder, str(folder), texts, device="cpu")
        assert difference.texts == 40 and difference.kinds["kept"] == sum(difference.kinds.values()) > 10


class TestAnyModels:
    def test_foreign_checkpoints_with_other_tokenizers_and_labels(self, checkpoint, roberta, tmp_path):
        """BIOES beside IOB2, WordPiece beside byte-level BPE, no record of ours in either."""
        folder = checkpoint("S-x", "O", "B-x", "I-x", "E-x", "B-per", "I-per")
        texts = [" ".join(s.words) for s in generate(60, seed=4)]
        (tmp_path / "texts.txt").write_text("\n".join(texts))
        difference = retainer.compare(folder, roberta, tmp_path / "texts.txt", device="cpu")
        assert difference.types.old == ("x", "per") and difference.types.dropped == ("per",)
        old, new = (load(one, device="cpu") for one in (folder, roberta))
        sentences = [Sentence.from_text(text) for text in texts]
        before, after = found_by(old, sentences), found_by(new, sentences)
        both, new_count, old_count = counted(before, after, "x")
        assert old_count > 5 and new_count > 5, "models that find nothing prove nothing"
        assert difference.agreements["x"].agreement == pytest.approx(200 * both / (old_count + new_count))
        assert (difference.agreements["x"].old, difference.agreements["x"].new) == (old_count, new_count)

    def test_a_bare_encoder_is_refused(self, encoder, first):
        with pytest.raises(InputError, match="no token-classification head"):
            compare(first, encoder, ["text"])

    def test_bad_data_is_noticed_before_a_model_is_loaded(self, tmp_path):
        with pytest.raises(InputError, match="nowhere"):
            compare("no/such/model", "no/such/model", tmp_path / "nowhere")

    def test_data_in_any_shape(self, first, tmp_path):
        both = generate(40, seed=3, types=["artist", "city"])
        write(both, tmp_path / "data", "prodigy")
        kinds = [compare(first, first, data).as_dict() for data in (both, tmp_path / "data", read(tmp_path / "data"))]
        assert kinds[0] == kinds[1] == kinds[2]

    @pytest.mark.parametrize("data", [[], ["", "  "], Corpus(())])
    def test_nothing_to_compare_on(self, first, data):
        with pytest.raises(InputError, match="memory: found no text"):
            compare(first, first, data)


class TestGates:
    @pytest.fixture(scope="class")
    def difference(self, corpus, pair):
        return compare(*pair, corpus)

    def drops(self, difference):
        return {type_: one.old.f1 - one.new.f1 for type_, one in difference.scored.kept.items()}

    def test_the_limit_itself_is_allowed(self, difference):
        drops = self.drops(difference)
        worst = max(drops, key=drops.get)
        assert drops[worst] > 1
        (at,) = Gates(max_drop=drops[worst]).outcomes(difference)
        (above,) = Gates(max_drop=drops[worst] - 0.001).outcomes(difference)
        assert at.passed and not above.passed and list(above.broken) == [worst]
        both = difference.scored.kept[worst]
        assert above.sentence() == (
            f"--max-drop {above.limit!r}: no, {worst} dropped by {drops[worst]:.2f} points of F1 "
            f"({both.old.f1:.2f} to {both.new.f1:.2f})"
        )

    @pytest.mark.parametrize("apart", [10.0**-power for power in range(1, 9)])
    def test_digits_show_that_the_limit_is_broken(self, difference, apart):
        drops = self.drops(difference)
        worst = max(drops, key=drops.get)
        (outcome,) = Gates(max_drop=drops[worst] - apart).outcomes(difference)
        fall, before, after = re.search(r"by (\S+) .*\((\S+) to (\S+)\)", outcome.broken[worst]).groups()
        assert float(fall) > outcome.limit and outcome.sentence().startswith(f"--max-drop {outcome.limit!r}: no")
        assert len({len(number.partition(".")[2]) for number in (fall, before, after)}) == 1
        lowest = difference.total.agreement
        (outcome,) = Gates(min_agreement=lowest + apart).outcomes(difference)
        shown = re.search(r"is (\S+) %", outcome.broken["all old types together"])[1]
        assert float(shown) < outcome.limit

    def test_every_type_above_the_limit_is_named(self, difference):
        (outcome,) = Gates(max_drop=0).outcomes(difference)
        fallen = [type_ for type_, drop in self.drops(difference).items() if drop > 0]
        assert list(outcome.broken) == fallen and len(fallen) > 1
        assert all(type_ in outcome.sentence() for type_ in fallen)

    def test_agreement_of_types_and_of_all(self, difference):
        agreements = {type_: one.agreement for type_, one in difference.agreements.items()}
        assert all(0 < value < 100 for value in agreements.values())
        lowest = min(agreements.values())
        assert Gates(min_agreement=0) and Gates(min_agreement=1), "no shares, which are refused"
        assert Gates(min_agreement=lowest).outcomes(difference)[0].passed
        broken = Gates(min_agreement=100).outcomes(difference)[0].broken
        assert list(broken) == ["all old types together", *KNOWN]
        assert f"{difference.agreement:.2f} %" in broken["all old types together"]
        one = Gates(min_agreement=lowest + 0.001).outcomes(difference)[0].broken
        assert list(one) == [min(agreements, key=agreements.get)]

    def test_both_at_once(self, difference):
        assert [outcome.name for outcome in Gates(100, 0).outcomes(difference)] == ["max-drop", "min-agreement"]
        assert all(outcome.passed for outcome in Gates(100, 0).outcomes(difference))
        assert Gates().outcomes(difference) == []

    def test_what_a_gate_cannot_see_is_named(self, corpus, pair):
        only = Corpus(tuple(s.with_spans([x for x in s.spans if x.type == "city"]) for s in corpus))
        (outcome,) = Gates(max_drop=100).outcomes(compare(*pair, only))
        assert outcome.passed and outcome.unmeasured == ("artist", "movie")
        assert outcome.sentence() == "--max-drop 100: passed by city (not measured: artist, movie)"

    @pytest.mark.parametrize("value", [-0.1, 100.1, float("nan"), float("inf")])
    def test_limits_that_are_none(self, value):
        with pytest.raises(InputError, match="--max-drop.*from 0 to 100"):
            Gates(max_drop=value)
        with pytest.raises(InputError, match="--min-agreement.*from 0 to 100"):
            Gates(min_agreement=value)

    def test_nothing_found_is_no_agreement(self):
        version = Scripted(["city"], lambda sentence: [])
        with pytest.raises(InputError, match="neither version finds an entity"):
            Gates(min_agreement=90).outcomes(compare(version, version, ["text"]))
