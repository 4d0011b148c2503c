"""Data into a project and out of it: any format, nothing that was decided is lost or overwritten."""

from dataclasses import replace

import pytest

from retainer.data.corpus import Corpus
from retainer.data.formats.table import FORMATS
from retainer.data.generated import generate
from retainer.data.io import read, write
from retainer.data.spans import Sentence, Span
from retainer.data.texts import Texts
from retainer.errors import InputError
from retainer.workbench.annotation import Annotation
from retainer.workbench.exchange import ImportableData, ImportedData, export_data, import_data, read_data
from retainer.workbench.project import Project

DATA = generate(30, seed=1, types=["artist", "city"])


def corpus(*sentences):
    return Corpus(sentences, "file.jsonl")


def put(project, data, *who):
    return import_data(project, ImportableData.of(data), *who)


def marked(text, *spans, complete=None):
    return replace(Sentence.from_text(text, [Span(*span) for span in spans]), complete=complete)


def said(project, text=1):
    return project.annotations.get(text).annotation


class TestImport:
    @pytest.mark.parametrize("format", FORMATS)
    def test_every_format_comes_in_and_out(self, project, tmp_path, format):
        write(DATA, tmp_path / "in", format)
        before = read(tmp_path / "in", format)
        done = import_data(project, read_data(tmp_path / "in", format))
        assert (done.annotated, done.kept, done.new_types) == (
            len({one.located()[0] for one in before}),
            0,
            before.types,
        )
        export_data(project, tmp_path / "out", format)
        after = read(tmp_path / "out", format)
        assert {(one.words, one.spans) for one in after} == {(one.words, one.spans) for one in before}

    def test_what_no_sentence_says_is_complete(self, project):
        done = put(project, corpus(marked("go to rome", (6, 10, "city")), marked("call Ann")))
        assert done == ImportedData(2, 2, 2, 0, ("city",)) and project.texts.get(1).source == "file.jsonl"
        assert said(project) == Annotation((Span(6, 10, "city"),), True, ("city",))
        assert said(project, 2) == Annotation((), True, ("city",))

    def test_what_sentences_say(self, project):
        one, two = marked("go to rome", (6, 10, "city"), complete=("dish",)), marked("call Ann", (5, 8, "city"))
        put(project, corpus(one, two, marked("eat pie", complete=())))
        assert said(project).complete == ("dish",) and said(project, 2).complete == ()
        assert said(project, 2).decided and not said(project, 3).decided, "one says nothing: it is a text to look at"

    def test_texts_alone(self, project, tmp_path):
        (tmp_path / "texts.txt").write_text("go to rome\n\n  \ncall Ann\ngo to rome\n")
        done = import_data(project, read_data(tmp_path / "texts.txt"))
        assert done == ImportedData(3, 2, 0, 0) and project.texts.count(decided=False) == 2
        assert import_data(project, read_data(tmp_path / "texts.txt")).new == 0

    def test_nothing_that_was_decided_is_overwritten(self, project):
        put(project, corpus(marked("go to rome", (6, 10, "city"))))
        again = put(project, corpus(marked("go to rome", (6, 10, "city"))))
        other = put(project, corpus(marked("go to rome", (3, 10, "city"))))
        assert (again.annotated, again.kept) == (0, 0) and (other.annotated, other.kept) == (0, 1)
        assert said(project).entities == (Span(6, 10, "city"),) and len(project.annotations.history(1)) == 1

    @pytest.mark.parametrize("begun", [Annotation((Span(0, 2, "dish"),)), Annotation(complete=("dish",))])
    def test_nor_what_was_begun(self, project, begun):
        project.texts.add(["go to rome"], "a")
        project.types.add("dish", "ann")
        project.annotations.write(1, begun, seen=0, who="ann")
        assert put(project, corpus(marked("go to rome", (6, 10, "city")))).kept == 1
        assert not said(project).decided

    def test_another_file_about_other_types_joins(self, project):
        text = "play boston in rome"
        put(project, corpus(marked(text, (5, 11, "artist"))))
        done = put(project, corpus(marked(text, (15, 19, "city"))), "ann")
        assert done.annotated == 1
        assert said(project) == Annotation((Span(5, 11, "artist"), Span(15, 19, "city")), True, ("artist", "city"))
        assert [(one.kind, one.who) for one in project.annotations.history(1)] == [
            ("import", "import"),
            ("import", "ann"),
        ]
        assert put(project, corpus(marked(text, (5, 11, "band")))).kept == 1, "the words are taken"

    @pytest.mark.parametrize(
        ("data", "says"),
        [
            (corpus(marked("good one"), marked("x " * 30_000)), "file.jsonl: text 2 has 60000 characters"),
            (corpus(marked("good one"), marked("bad", (0, 3, "O"))), "no type can be called 'O'"),
            (corpus(marked("good one", complete=(" x",))), "no type can be called ' x'"),
            (Texts.of(["good one", "a\ud800"]), "not valid Unicode"),
            (Texts.of(["", " "]), "memory: there is no word in it"),
        ],
    )
    def test_all_or_nothing(self, project, data, says):
        with pytest.raises(InputError, match=says):
            put(project, data)
        assert project.texts.count() == 0 and project.types.all() == ()


class TestExport:
    @pytest.fixture
    def project(self, project):
        """A decided text, one that is partly annotated, a draft, and one that nobody looked at."""
        put(project, Texts.of(["play boston, in rome", "U.S. songs", "call Ann", "go home"]))
        project.types.ensure(["artist", "city"], "ann")
        states = {
            1: Annotation((Span(5, 11, "artist"), Span(16, 20, "city")), True, ("artist", "city")),
            2: Annotation((Span(0, 4, "city"),), True, ("city",)),
            3: Annotation((Span(5, 8, "artist"),)),
        }
        for text, state in states.items():
            project.annotations.write(text, state, seen=0, who="ann")
        return project

    @pytest.mark.parametrize("format", ["prodigy", "doccano"])
    def test_everything_comes_back(self, project, tmp_path, format):
        done = export_data(project, tmp_path / "out.jsonl", format)
        assert (done.texts, done.entities, done.left_out, done.partly_annotated, done.drafts) == (4, 3, 0, 0, 1)
        with Project.open(tmp_path / "again", create=True) as again:
            import_data(again, read_data(tmp_path / "out.jsonl"))
            assert [text.text for text in again.texts.all()] == [text.text for text in project.texts.all()]
            for text in (1, 2, 4):
                assert said(again, text) == said(project, text)
            assert said(again, 3) == Annotation(), "what is not decided stays at home"

    def test_where_complete_cannot_be_said(self, project, tmp_path):
        done = export_data(project, tmp_path / "out.conll", "conll")
        assert (done.texts, done.left_out, done.partly_annotated) == (2, 2, 1)
        assert len(read(tmp_path / "out.conll")) == 2

    def test_what_cannot_be_written(self, project, tmp_path):
        (tmp_path / "folder").mkdir()
        for place, format, says in (
            (tmp_path / "folder", "jsonl", "not a plain file"),
            (tmp_path / "x.jsonl", "jsnl", "did you mean 'jsonl'"),
        ):
            with pytest.raises(InputError, match=says):
                export_data(project, place, format)

    def test_an_empty_project(self, folder, tmp_path):
        with Project.open(folder.with_name("empty"), create=True) as empty:
            with pytest.raises(InputError, match="no sentence to write"):
                export_data(empty, tmp_path / "out.jsonl", "prodigy")
