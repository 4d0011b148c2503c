"""Types renamed, merged, dropped and split: in every scheme of tags, with both heads, with and without a record."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from transformers import pipeline

from retainer.data.generated import generate
from retainer.data.spans import Span
from retainer.errors import InputError
from retainer.model.predict import tag
from retainer.training.learn import learn
from retainer.training.recipe import Recipe
from retainer.versions import retype
from retainer.versions.version import load

SCHEMES = {
    "IOB2": ("O", "B-per", "I-per", "B-loc", "I-loc", "B-org", "I-org"),
    "IOB2, O in the middle": ("I-loc", "B-per", "B-org", "O", "I-per", "B-loc", "I-org", "X"),
    "IO": ("O", "I-per", "I-loc", "I-org"),
    "IO, bare": ("per", "O", "loc", "org"),
    "BIOES": ("O", *(f"{letter}-{type_}" for type_ in ("per", "loc", "org") for letter in "BIES")),
}
TEXTS = generate(80, seed=77, types=["artist", "city", "movie"]).sentences


@pytest.fixture(scope="module", params=[*SCHEMES, "linear", "cosine"])
def model(request, checkpoint, encoder, artist):
    """A foreign checkpoint in each scheme, and a version of ours with each head, all with types per, loc and org."""
    if request.param in SCHEMES:
        return load(checkpoint(*SCHEMES[request.param]), device="cpu")
    names = {"artist": "per", "city": "loc", "movie": "org"}
    corpus = generate(90, seed=6, types=list(names))
    spans = [sentence.with_spans(Span(x.start, x.end, names[x.type]) for x in sentence.spans) for sentence in corpus]
    recipe = Recipe(epochs=12, base_lr=1e-3, head=request.param)
    return learn(replace(corpus, sentences=tuple(spans)), encoder, recipe=recipe, device="cpu")


@cache
def words(version):
    """Kind and type of every word, and the probability of the answer."""
    answers = tag(version.tagger, version.tagger.tokenize(TEXTS, version.tagger.device))
    return [version.tagger.labels.parts[at] for at in answers.ids], answers.probabilities


@cache
def tagged(version):
    return version.tag(TEXTS)


def found(version, types):
    return [[span for span in spans if span.type in types] for spans in tagged(version)]


LONGER = Recipe(epochs=8, base_lr=3e-3, lr=3e-3, batch=8, holdout=0, patience=0)


@pytest.fixture(scope="module")
def able(encoder):
    """A version that knows its artists and cities."""
    return learn(generate(120, seed=5, types=["artist", "city"]), encoder, recipe=LONGER, device="cpu")


OPERATIONS = {
    "rename": (lambda v: retype.rename_types(v, {"loc": "place"}), {"loc": "place"}),
    "swap": (lambda v: retype.rename_types(v, {"loc": "org", "org": "loc"}), {"loc": "org", "org": "loc"}),
    "merge": (lambda v: retype.merge_types(v, ["loc", "org"], "site"), {"loc": "site", "org": "site"}),
    "merge into one of them": (lambda v: retype.merge_types(v, ["loc", "org"], "org"), {"loc": "org"}),
    "drop": (lambda v: retype.drop_types(v, ["loc"]), {"loc": ""}),
    "split": (lambda v: retype.split_type(v, "loc", ["city", "country", "river"]), {"loc": "city"}),
    "split, old name stays": (lambda v: retype.split_type(v, "loc", ["loc", "country"]), {}),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_word_says_what_became_of_its_type_and_nothing_else(model, operation):
    change, names = OPERATIONS[operation]
    before, sure = words(model)
    assert {type_ for _, type_ in before} >= {"per", "loc", "org"}, "a model that finds nothing would prove nothing"
    after, now_sure = words(change(model))
    kinds = [(kind if names.get(type_, type_) else "O", names.get(type_, type_)) for kind, type_ in before]
    assert after == kinds
    if "split" not in operation:
        assert np.allclose(sure, now_sure, atol=1e-6), "the same rows give the same probabilities"


@pytest.mark.parametrize("operation", OPERATIONS)
def test_entities_of_other_types_do_not_change(model, operation):
    change, names = OPERATIONS[operation]
    others = [type_ for type_ in model.types if type_ not in names and type_ not in names.values()]
    assert "per" in others and any(found(model, others))
    assert found(change(model), others) == found(model, others)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_saved_it_is_a_plain_folder_again(model, operation, tmp_path):
    changed = OPERATIONS[operation][0](model)
    folder = changed.save(tmp_path / "v")
    again = load(folder, device="cpu")
    assert again.types == changed.types and words(again)[0] == words(changed)[0]
    network = pipeline("token-classification", model=str(folder), device="cpu").model
    assert tuple(network.config.id2label.values()) == changed.tagger.labels.names
    for name, at in network.config.label2id.items():
        assert changed.tagger.labels.names.index(name) == at, "the first of several rows is the one a trainer takes"


@pytest.mark.parametrize("operation", ["merge", "drop", "split"])
def test_the_pipeline_finds_the_same(checkpoint, operation, tmp_path):
    version = OPERATIONS[operation][0](load(checkpoint(*SCHEMES["IOB2"]), device="cpu"))
    tagger = pipeline(
        "token-classification", model=str(version.save(tmp_path / "v")), aggregation_strategy="first", device="cpu"
    )
    texts = [" ".join(sentence.words) for sentence in TEXTS[:20]]
    ours = [[(e["entity_group"], e["start"], e["end"]) for e in found] for found in version.predict(texts)]
    theirs = [[(e["entity_group"], e["start"], e["end"]) for e in tagger(text)] for text in texts]
    assert ours == theirs and any(ours)


class TestSplit:
    def test_finer_rows_begin_as_copies_a_little_apart(self, checkpoint):
        version = load(checkpoint(*SCHEMES["IOB2"]), device="cpu")
        made = retype.split_type(version, "loc", ["city", "country", "river"])
        assert made.types == ("per", "city", "org", "country", "river")
        names, head = made.tagger.labels.names, made.tagger.head
        old = version.tagger.head.old
        for at, type_ in enumerate(["city", "country", "river"]):
            row = names.index(f"B-{type_}")
            assert torch.equal(head.old.weight[row], old.weight[3])
            assert float((old.bias[3] - head.old.bias[row]).detach()) == pytest.approx(at * 0.01, abs=1e-6)

    def test_a_cosine_head_becomes_linear_with_the_same_winners(self, encoder, artist):
        recipe = Recipe(epochs=8, base_lr=1e-3, head="cosine")
        version = learn(artist, encoder, recipe=recipe, device="cpu")
        made = retype.split_type(version, "artist", ["singer", "band"])
        assert version.tagger.head.kind == "cosine" and made.tagger.head.kind == "linear"
        before, after = words(version)[0], words(made)[0]
        assert [type_.replace("artist", "singer") for _, type_ in before] == [type_ for _, type_ in after]
        assert "singer" in {type_ for _, type_ in after}

    @pytest.mark.parametrize("scheme", ["IOB2", "IO, bare", "BIOES"])
    def test_learning_takes_the_finer_types_for_new_ones(self, checkpoint, city, quick, scheme):
        """And begins with their rows: nothing changes before the first step, and what is old stays frozen."""
        version = load(checkpoint(*SCHEMES[scheme]), device="cpu")
        made = retype.split_type(retype.merge_types(version, ["loc", "org"], "loc"), "loc", ["north", "south"])
        learned = learn(compass(city), made, recipe=quick, device="cpu")
        assert learned.types == ("per", "north", "south") and learned.new_types == ("north", "south")
        assert learned.lineage.scores["changed_by_growing"] == 0 and learned.lineage.pending == ()
        assert learned.lineage.tasks == (("per",), ("north", "south"))
        before, after = rows(made), rows(learned)
        assert before.keys() == after.keys(), "no row is lost, none is added"
        moved = {name for name, _ in before if not torch.equal(before[name, _], after[name, _])}
        fine = {name for name, _ in before if name.endswith(("north", "south"))}
        assert moved and moved <= fine and len(fine) >= 2

    def test_the_difference_is_learned(self, able):
        made = retype.split_type(able, "city", ["north", "south"])
        data = compass(generate(120, seed=5, types=["city"]))
        assert made.evaluate(data).per_type["south"].recall == 0 < made.evaluate(data).per_type["north"].recall
        learned = learn(data, made, recipe=LONGER, device="cpu").evaluate(data)
        assert learned.per_type["north"].f1 > 60 and learned.per_type["south"].f1 > 60

    def test_only_one_of_them_is_annotated(self, checkpoint, city, quick):
        """The other keeps the rows of the old type: only one of them is named as the first."""
        from retainer.data.tasks import hide

        made = retype.split_type(load(checkpoint(*SCHEMES["IOB2"]), device="cpu"), "loc", ["north", "south"])
        learned = learn(hide(compass(city), ["north"]), made, recipe=quick, device="cpu")
        assert learned.lineage.pending == ("south",) and learned.new_types == ("north",)
        assert set(learned.types) == {"per", "org", "north", "south"}

    def test_together_with_a_type_that_is_really_new(self, checkpoint, quick):
        made = retype.split_type(load(checkpoint(*SCHEMES["IOB2"]), device="cpu"), "loc", ["north", "south"])
        data = compass(generate(60, seed=5, types=["city", "movie"]))
        learned = learn(data, made, recipe=quick, device="cpu")
        assert set(learned.new_types) == {"movie", "north", "south"}
        assert learned.lineage.scores["changed_by_growing"] == 0 and learned.types[-1] == "movie"

    def test_merged_again_it_is_what_it_was(self, model):
        made = retype.merge_types(retype.split_type(model, "loc", ["north", "south"]), ["north", "south"], "loc")
        assert made.lineage.pending == () and words(made)[0] == words(model)[0]


class TestLater:
    """A version whose rows share labels learns and predicts like any other."""

    @pytest.mark.parametrize("scheme", SCHEMES)
    def test_the_row_that_learns_O_is_the_one_that_did(self, checkpoint, scheme):
        version = load(checkpoint(*SCHEMES[scheme]), device="cpu")
        dropped = retype.drop_types(version, ["per", "loc"])
        real = [one.tagger.head.weight()[one.tagger.labels.outside] for one in (version, dropped)]
        assert torch.equal(*real) and dropped.tagger.labels.names.count("O") > 2

    @pytest.mark.parametrize("operation", ["rename", "merge", "drop"])
    @pytest.mark.parametrize("method", ["rdp", "tbcl", "cfner", "lucir"])
    def test_learning_goes_on(self, checkpoint, city, quick, operation, method):
        changed = OPERATIONS[operation][0](load(checkpoint(*SCHEMES["IOB2, O in the middle"]), device="cpu"))
        learned = learn(city, changed, recipe=quick, method=method, device="cpu")
        assert learned.types == (*changed.types, "city") and learned.lineage.scores["changed_by_growing"] == 0
        assert learned.tagger.labels.outside == changed.tagger.labels.outside
        assert learned.tagger.labels.names[learned.tagger.labels.outside] == "O"

    def test_a_dropped_type_can_be_learned_again(self, able):
        dropped = retype.drop_types(able, ["city"])
        assert dropped.types == ("artist",) and not any(found(dropped, ["city"]))
        again = learn(generate(120, seed=5, types=["city"]), dropped, recipe=LONGER, device="cpu")
        assert again.types == ("artist", "city")
        assert again.evaluate(generate(120, seed=5, types=["city"])).per_type["city"].f1 > 60


class TestRecord:
    def test_what_was_done_is_written_down(self, first, tmp_path):
        before = load(first.save(tmp_path / "v1"), device="cpu")
        made = retype.rename_types(before, {"artist": "musician"})
        record = load(made.save(tmp_path / "v2"), device="cpu").lineage
        assert record.change == {"verb": "rename", "became": {"artist": ["musician"]}, "types": ["artist"]}
        assert record.tasks == (("musician",),) and record.task == 1 and record.method == ""
        assert record.parent == before.lineage.weights == record.weights, "not a bit of the weights changes"
        assert record.parent_hash == before.lineage.hash and len(record.ancestors) == 1

    def test_of_a_foreign_checkpoint(self, checkpoint):
        made = retype.drop_types(load(checkpoint(*SCHEMES["BIOES"]), device="cpu"), ["org"])
        assert made.lineage.tasks == (("per", "loc"),) and made.lineage.ancestors == ()
        assert made.lineage.parent_files and made.lineage.change["types"] == ["per", "loc", "org"]

    def test_tasks_follow_the_names(self, first, city, quick):
        second = learn(city, first, recipe=quick, device="cpu")
        merged = retype.merge_types(second, ["artist", "city"], "thing")
        assert merged.lineage.tasks == (("thing",), ()) and merged.new_types == () and merged.old_types == ("thing",)
        assert retype.drop_types(second, ["city"]).lineage.tasks == (("artist",), ())
        assert retype.split_type(second, "artist", ["a", "b"]).lineage.tasks == (("a", "b"), ("city",))

    def test_language_models_come_along(self, encoder, artist, quick, tmp_path):
        version = learn(artist, encoder, recipe=quick, method="learn_and_review", device="cpu")
        assert len(version.generators) == 1
        made = retype.rename_types(version, {"artist": "musician"})
        assert len(load(made.save(tmp_path / "v"), device="cpu").generators) == 1


class TestRefused:
    @pytest.fixture(scope="class")
    def version(self, checkpoint):
        return load(checkpoint(*SCHEMES["IOB2"]), device="cpu")

    def test_unknown_types(self, version):
        for call in (
            lambda: retype.rename_types(version, {"lok": "x"}),
            lambda: retype.merge_types(version, ["per", "lok"], "x"),
            lambda: retype.drop_types(version, ["lok"]),
            lambda: retype.split_type(version, "lok", ["a", "b"]),
        ):
            with pytest.raises(InputError, match=r"no type 'lok' \(did you mean 'loc'\?\); its types are per, loc"):
                call()

    def test_names_that_clash_or_change_nothing(self, version):
        with pytest.raises(InputError, match="two types would be called 'org'.*types merge"):
            retype.rename_types(version, {"loc": "org"})
        with pytest.raises(InputError, match="two types would be called 'x'"):
            retype.rename_types(version, {"loc": "x", "org": "x"})
        with pytest.raises(InputError, match="nothing would change"):
            retype.rename_types(version, {"loc": "loc"})
        with pytest.raises(InputError, match="another type of this model"):
            retype.merge_types(version, ["per", "loc"], "org")
        with pytest.raises(InputError, match="at least two types"):
            retype.merge_types(version, ["per", "per"], "x")
        with pytest.raises(InputError, match="finds nothing"):
            retype.drop_types(version, ["per", "loc", "org"])
        with pytest.raises(InputError, match="two different names"):
            retype.split_type(version, "loc", ["a", "a"])
        with pytest.raises(InputError, match="'per' is another type"):
            retype.split_type(version, "loc", ["a", "per"])

    @pytest.mark.parametrize(("name", "why"), [("O", "O marks the words"), ("", "needs a letter"), (" x", "spaces at")])
    def test_names_no_type_can_have(self, version, name, why):
        with pytest.raises(InputError, match=f"no type can be called '{name}': .*{why}"):
            retype.rename_types(version, {"loc": name})
        with pytest.raises(InputError, match="no type can be called"):
            retype.split_type(version, "loc", ["x", name])

    def test_a_prefix_among_bare_labels(self, checkpoint):
        version = load(checkpoint(*SCHEMES["IO, bare"]), device="cpu")
        with pytest.raises(InputError, match="no prefixes, so a type of it cannot be called 'B-x'"):
            retype.rename_types(version, {"loc": "B-x"})


def rows(version):
    """The rows of a head by label, and by number where several share one."""
    found = {}
    for name, row in zip(version.tagger.labels.names, version.tagger.head.weight(), strict=True):
        found[name, sum(other == name for other, _ in found)] = row
    return found


def compass(corpus):
    """Call cities north or south, by their first letter."""
    sentences = []
    for sentence in corpus:
        names = {x: "north" if sentence.words[x.start].lower() < "m" else "south" for x in sentence.spans}
        spans = [Span(x.start, x.end, names[x] if x.type == "city" else x.type) for x in sentence.spans]
        sentences.append(sentence.with_spans(spans))
    return replace(corpus, sentences=tuple(sentences))
