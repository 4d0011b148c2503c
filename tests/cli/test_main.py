"""The command line as a person meets it: what it prints where, what it refuses, and that it loses nothing."""

import io
import json
import os
import re
import signal
import subprocess
import sys

import pytest

from retainer.cli.main import VERBS, main
from retainer.data.io import read, write
from retainer.errors import InputError
from retainer.training.progress import QuietProgress


@pytest.fixture
def here(tmp_path, monkeypatch, artist, city):
    """A folder with a few files to work on."""
    monkeypatch.chdir(tmp_path)
    write(artist, "artist.conll", "conll")
    write(city, "city.jsonl", "doccano")
    return tmp_path


@pytest.fixture
def run(here, capsys):
    """Run a command; return its status and what it printed."""

    def call(*argv):
        status = main([str(arg) for arg in argv])
        out, err = capsys.readouterr()
        return status, out, err

    return call


@pytest.fixture
def refused(run, here):
    """Run a command that must be refused: status 2, one sentence, nothing written."""

    def call(*argv, says):
        before = sorted(here.rglob("*"))
        status, out, err = run(*argv)
        assert status == 2 and out == "", err
        complaint = [line for line in err.splitlines() if line.startswith("retainer: ")]
        assert len(complaint) == 1 and err.splitlines()[-1] == complaint[0]
        for part in [says] if isinstance(says, str) else says:
            assert part in complaint[0]
        assert sorted(here.rglob("*")) == before, "something was written"

    return call


@pytest.fixture
def v1(first, here):
    return first.save(here / "v1")


class TestBasics:
    def test_help(self, run):
        for argv in ((), ("--help",), ("help",)):
            status, out, _ = run(*argv)
            assert status == 0 and all(verb in out for verb in VERBS)

    @pytest.mark.parametrize("verb", VERBS)
    def test_every_verb_explains_itself(self, verb, capsys):
        with pytest.raises(SystemExit) as exit:
            main([verb, "--help"])
        out = capsys.readouterr().out
        assert exit.value.code == 0 and f"retainer {verb}" in out
        flags = [line for line in out.splitlines() if line.startswith("  --")]
        assert flags and "--config" in out

    def test_version(self, run):
        assert run("--version")[1].startswith("retainer 0.")

    def test_unknown_verb_and_flags(self, refused):
        refused("lern", says="there is no verb 'lern' (did you mean 'learn'?); known are demo")
        refused("Bench", says="did you mean 'bench'")
        refused("xyzzy", says="there is no verb 'xyzzy'; known are")
        refused("evaluate", "m", "d", "--jsn", says=["--jsn (did you mean '--json'?)", "retainer evaluate --help"])
        refused("evaluate", "m", "d", "--xyzzy", says="there is no --xyzzy (see")
        refused("learn", "artist.conll", "--out", "x", says="from")
        refused("learn", "artist.conll", "--from", "builtin", "--out", "x", "--epochs", "many", says="whole number")
        refused("evaluate", says="missing: model")
        refused(
            "export", "somewhere", says="exactly one of --onnx DIR, --plain DIR, --labelstudio FILE and --prodigy FILE"
        )

    def test_our_own_fault_is_status_3(self, run, monkeypatch):
        monkeypatch.setattr("retainer.cli.verbs.evaluate.read", lambda *_, **__: 1 / 0)
        status, out, err = run("evaluate", "m", "d")
        assert status == 3 and out == "" and "ZeroDivisionError" in err and "Traceback" not in err

    def test_as_a_module_and_a_closed_pipe(self, here):
        command = f"{sys.executable} -m retainer check artist.conll | head -c 1"
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
        assert done.returncode == 0 and done.stderr == ""


class TestLearn:
    def test_from_encoder_to_second_version(self, run, encoder, here):
        fast = ("--epochs", 2, "--device", "cpu")
        status, out, err = run("learn", "artist.conll", "--from", encoder, "--out", "v1", *fast)
        assert status == 0 and "learned   artist" in out and "epoch 2/2" in err
        status, out, _ = run(
            "learn", "city.jsonl", "--from", "v1", "--out", "v2", "--method", "extend_ner", *fast, "--json"
        )
        record = json.loads(out)
        assert record["tasks"] == [["artist"], ["city"]] and record["method"] == "extend_ner"
        assert not list(here.glob("*.partial"))

    def test_the_time_left_and_a_quiet_run(self, run, v1, here):
        learn = ("learn", "city.jsonl", "--from", "v1", "--epochs", 2, "--out")
        _, _, err = run(*learn, "v2")
        first, second = (line for line in err.splitlines() if "epoch " in line)
        assert re.search(r"epoch 1/2 .* s, at most \d+ s left$", first) and "left" not in second
        status, out, err = run(*learn, "v3", "--quiet")
        assert status == 0 and err == "" and "learned   city" in out

    def test_sigterm_keeps_what_ctrl_c_keeps(self, run, v1, here, monkeypatch):
        """A scheduler or a container ends a run by it."""
        done, handler = [], signal.getsignal(signal.SIGTERM)
        monkeypatch.setattr(QuietProgress, "epoch", lambda self, epoch: done.append(epoch.number))
        monkeypatch.setattr(QuietProgress, "step", lambda self: len(done) == 1 and os.kill(os.getpid(), signal.SIGTERM))
        learn = ("learn", "city.jsonl", "--from", "v1", "--epochs", 3, "--out", "v2", "--quiet")
        status, out, err = run(*learn)
        assert (status, out) == (130, "") and "run the same command again to continue" in err
        assert (here / "v2.partial").exists() and signal.getsignal(signal.SIGTERM) == handler
        monkeypatch.setattr(QuietProgress, "step", lambda self: None)
        status, out, _ = run(*learn)
        assert status == 0 and "learned   city" in out and done == [1, 2, 3]
        assert not list(here.glob("v2.partial*"))

    def test_fields_and_configuration_files(self, run, v1, here):
        (here / "run.yaml").write_text("set:\n  temperature: 0.5\n  batch: 8\nepochs: 1\nmethod: rdp\n")
        argv = ("learn", "city.jsonl", "--from", "v1", "--out", "v2", "--json")
        status, out, _ = run(*argv, "--config", "run.yaml", "--set.lr", "5e-4")
        record = json.loads(out)
        assert status == 0 and record["fields"]["temperature"] == 0.5
        assert (record["recipe"]["batch"], record["recipe"]["lr"], record["recipe"]["epochs"]) == (8, 5e-4, 1)

    @pytest.mark.parametrize(
        "content",
        [
            "Wilhelmina\tB-bird\nwas\tO\n",
            "Wilhelmina O\nwas O\n",
            "Wilhelmina\n",
            "Wilhelmina: is ill\n",
            '{"id2label": {"0": "Wilhelmina"}, "model_type": "bert", "dtype": "float32"}',
        ]
        + [
            "[Wilhelmina",
            "epochs: 1\nout: [Wilhelmina\n",
            "",
            "- Wilhelmina\n",
            "Wilhelmina\udcff",
            "a: &b Wilhelmina\nc: *d\n",
        ],
    )
    def test_a_wrong_configuration_file_is_never_quoted(self, run, refused, here, content):
        (here / "wrong").write_bytes(content.encode(errors="surrogateescape"))
        learn = ("learn", "city.jsonl", "--from", "v1", "--out", "v2")
        says = "wrong is neither a YAML file of options nor the retainer.json of a version"
        refused(*learn, "--config", "wrong", says=says)
        refused(*learn, "--config=wrong", says=says)
        refused("evaluate", "v1", "city.jsonl", "--config", "wrong", says="wrong is not a YAML file of options")
        (here / "outer.yaml").write_text("config: wrong\n")
        for one in ("wrong", "outer.yaml"):
            assert "Wilhelmina" not in run(*learn, "--config", one)[2]

    def test_configuration_files_that_are_not_there(self, refused, here):
        learn = ("learn", "city.jsonl", "--from", "v1", "--out", "v2")
        refused(*learn, "--config", "nope.yaml", says="retainer: nope.yaml: there is no such file")
        refused(*learn, "--config", "x" * 5000, says="there is no such file")
        (here / "empty").mkdir()
        refused(*learn, "--config", "empty", says="empty is neither a YAML file of options nor")
        (here / "broken.yaml").write_text("epochs: 1\nout: [a\n")
        refused(*learn, "--config", "broken.yaml", says="of a version (line 3 is not valid YAML)")

    def test_types_are_picked(self, run, v1, here):
        from retainer.data.generated import generate

        write(generate(60, seed=4, types=["city", "movie", "dish"]), "more.conll", "conll")
        status, out, _ = run(
            "learn", "more.conll", "--from", "v1", "--out", "v2", "--types", "movie,city", "--epochs", 1
        )
        assert status == 0 and "learned   movie, city" in out

    def test_wrong_calls(self, refused, v1, encoder, here):
        learn = ("learn", "city.jsonl", "--from", "v1", "--out", "v2")
        (here / "wrong.yaml").write_text("methd: rdp\n")
        refused("learn", "nowhere.conll", "--from", "v1", "--out", "v2", says="nowhere.conll")
        refused("learn", "artist.conll", "--from", "v1", "--out", "v2", says=["is new to the model", "artist"])
        refused(*learn, "--types", "movie", says=["no entity of type 'movie'", "city"])
        refused(*learn[:-1], "v1", says="v1 exists already")
        refused(*learn[:-1], "city.jsonl/v2", says="not a folder you may write to")
        refused(*learn, "--method", "rpd", says="did you mean 'rdp'")
        refused(*learn, "--method", "CFNER", says="did you mean 'cfner'")
        refused(*learn, "--method", "cfnr", says="did you mean 'cfner'")
        refused(*learn, "--methd", "rdp", says="there is no --methd (did you mean '--method'?)")
        refused(*learn, "--epoch", "3", says="there is no --epoch (did you mean '--epochs'?)")
        refused(*learn, "--config", "wrong.yaml", says="there is no --methd (did you mean '--method'?)")
        refused(*learn, "--method", "rdp", "--set.temprature", 2, says="did you mean 'temperature'")
        refused(*learn, "--set.LR", 2, says="did you mean 'lr'")
        refused(*learn, "--method", "rdp", "--set.pseudo", "Argmax", says="did you mean 'argmax'")
        refused(*learn, "--set.optimizer", "AdamW", says="did you mean 'adamw'")
        refused(*learn, "--set.batch", "big", says="batch")
        refused(*learn, "--types", "City", says="did you mean 'city'")
        refused(*learn, "--recipe", "papper", says="did you mean 'paper'")
        refused(*learn, "--dev", "no.conll", says="no.conll")
        refused(*learn, "--device", "cuda:99", says="no device")
        refused(*learn, "--types", "city,,x", says="types")
        refused("learn", "city.jsonl", "--from", "nobody/nothing", "--out", "v2", says="nobody/nothing")

    def test_a_method_is_recorded_as_it_was_asked_for(self, run, v1, here):
        """rdp without prototypes has a name of its own, which nobody gave here."""
        learn = ("learn", "city.jsonl", "--from", "v1", "--epochs", 1, "--json")
        record = json.loads(run(*learn, "--out", "v2", "--set.pseudo", "argmax", "--method", "rdp")[1])
        assert (record["method"], record["fields"]["pseudo"]) == ("rdp", "argmax")
        assert json.loads((here / "v2" / "retainer.json").read_text())["method"] == "rdp"
        assert "rdp (pseudo=argmax), " in run("log", "v2")[1]
        assert json.loads(run(*learn, "--out", "v3", "--method", "rdp-no-ppl")[1])["method"] == "rdp-no-ppl"
        assert "rdp-no-ppl, " in run("log", "v3")[1]

    def test_what_learn_refuses_is_not_offered(self, run, refused, v1, city):
        from retainer.training.learn import learn

        call = ("learn", "city.jsonl", "--from", "v1", "--out", "v2", "--method")
        refused(*call, "rdp_released", says="is for `retainer bench` alone")
        refused(*call, "xyzzy", says="known are finetune")
        with pytest.raises(InputError) as raised:
            learn(city, v1, method="rdp_releasd")
        for said in (str(raised.value), run(*call, "rdp_releasd")[2]):
            assert "rdp_paper" in said and "rdp_released" not in said

    def test_a_loss_that_breaks(self, run, v1, here):
        argv = ("learn", "city.jsonl", "--from", "v1", "--out", "v2", "--set.lr", "1e30", "--set.clip", "0")
        status, out, err = run(*argv, "--recipe", "paper")
        assert status == 2 and out == "" and "is not finite in epoch 1, batch" in err
        assert not (here / "v2").exists()


class TestBadFiles:
    @pytest.mark.parametrize(
        ("content", "says"),
        [
            ("", "no sentence"),
            ("\n\n \n", "no sentence"),
            ("a\tO\nb\tO\tO\n", "bad:2"),
            ("a\tO\nb\n", "bad:2"),
            ("a\n", "bad:1"),
            ("a\tO\nb\tQ-x\n", "bad:2"),
            ("a\tO\nb\tNN\n", "fits no scheme"),
            ('{"text": "ab cd", "label": [[0, 9, "x"]]}\n', "0-9"),
            ('{"text": "ab cd", "label": [[0, 5, "x"], [3, 5, "y"]]}\n', "overlaps"),
            ('{"text": "ab", "label": [[0, 2, "x"]]}\n{"text": \n', "bad:2"),
            ('{"tokens": ["a"], "ner_tags": [3]}\n', "bad:1"),
            ('[{"text": "a"}]', "per line"),
            ("a\tB-O\nb\tO\n", "no type can be called 'O': O marks the words that belong to no entity"),
            ('{"text": "ab cd", "label": [[0, 2, " x"]]}\n', "' x': spaces at the edges of a name get lost"),
        ],
    )
    @pytest.mark.parametrize("verb", ["check", "evaluate", "learn", "convert", "split"])
    def test_are_refused_by_every_verb(self, refused, here, content, says, verb):
        (here / "bad").write_text(content)
        calls = {
            "check": ("check", "bad"),
            "evaluate": ("evaluate", "v1", "bad"),
            "learn": ("learn", "bad", "--from", "builtin", "--out", "v2"),
            "convert": ("convert", "bad", "out.conll"),
            "split": ("split", "bad", "--fg", 1, "--pg", 1, "--out", "tasks"),
        }
        refused(*calls[verb], says=["bad", says])

    def test_not_utf8_and_folders(self, refused, here):
        (here / "latin").write_bytes(b"caf\xe9\tO\n")
        refused("check", "latin", says=["latin:1", "UTF-8"])
        (here / "empty").mkdir()
        refused("check", "empty", says="folder")


class TestPredict:
    def test_a_text(self, run, v1):
        status, out, _ = run("predict", "v1", "play boston by boston")
        document = json.loads(out)
        assert status == 0 and document["text"] == "play boston by boston" and isinstance(document["entities"], list)

    def test_a_file_line_by_line(self, run, v1, here):
        lines = ["play boston", "", "a\u2028b", *["more"] * 600]
        (here / "in.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        _, out, _ = run("predict", "v1", "--input", "in.txt")
        assert [json.loads(line)["text"] for line in out.split("\n") if line] == lines

    def test_the_name_of_a_file_is_refused_as_a_text(self, run, v1, here):
        (here / "some texts.txt").write_text("play boston\n")
        status, out, told = run("predict", "v1", "some texts.txt")
        assert (status, out) == (2, "") and "some texts.txt is a file; to read it say --input 'some texts.txt'" in told
        assert run("predict", "v1", "play boston " * 500)[0] == 0, "a text may be longer than any name of a file"

    def test_text_and_model_swapped(self, run, v1):
        status, out, told = run("predict", "play boston", "v1")
        assert (status, out) == (2, "") and "the model comes first: retainer predict v1 'play boston'" in told

    def test_json_lines_and_stdin(self, run, v1, here, monkeypatch):
        (here / "in.jsonl").write_text('{"text": "play boston"}\n')
        assert json.loads(run("predict", "v1", "--input", "in.jsonl")[1])["text"] == "play boston"
        monkeypatch.setattr("sys.stdin", io.StringIO("one\r\ntwo"))
        out = run("predict", "v1", "--input", "-")[1]
        assert [json.loads(line)["text"] for line in out.splitlines()] == ["one", "two"]

    def test_wrong_calls(self, refused, v1, encoder, here):
        (here / "in.jsonl").write_text('{"txt": "play boston"}\n')
        refused("predict", "v1", says="TEXT or --input")
        refused("predict", "v1", "text", "--input", "in.jsonl", says="TEXT or --input")
        refused("predict", "v1", "--input", "nowhere", says="nowhere")
        refused("predict", "v1", "--input", "in.jsonl", says=["in.jsonl:1", "text"])
        refused("predict", encoder, "text", says="no token-classification head")
        refused("predict", "nowhere", "text", says="nowhere")

    def test_tampered_weights(self, refused, v1):
        file = v1 / "model.safetensors"
        file.write_bytes(file.read_bytes()[:-5])
        refused("predict", "v1", "text", says="truncated or was changed")


class TestEvaluate:
    def test_table_and_json(self, run, v1):
        status, out, err = run("evaluate", "v1", "artist.conll")
        assert status == 0 and "artist" in out and "micro" in out and err == ""
        document = json.loads(run("evaluate", "v1", "artist.conll", "--json")[1])
        assert set(document["per_type"]["artist"]) == {"precision", "recall", "f1", "support"}

    def test_unknown_types(self, run, refused, v1, here):
        from retainer.data.generated import generate

        write(generate(40, seed=4, types=["artist", "city"]), "both.conll", "conll")
        _, out, err = run("evaluate", "v1", "both.conll", "--json")
        assert "left out" in err and "city" in err and list(json.loads(out)["per_type"]) == ["artist"]
        _, out, _ = run("evaluate", "v1", "both.conll", "--json", "--all")
        assert list(json.loads(out)["per_type"]) == ["artist", "city"]
        refused("evaluate", "v1", "city.jsonl", says=["city.jsonl", "no entity of a type this model knows"])

    def test_types_the_data_have_nowhere_are_named_and_not_scored(self, run, pair, here):
        from retainer.data.generated import generate
        from retainer.data.tasks import hide
        from retainer.versions.version import load

        both = generate(60, seed=5, types=["artist", "city"])
        write(hide(both, ["artist"]), "bare.conll", "conll")
        counted = load(pair["v2"], device="cpu").evaluate("bare.conll")
        assert counted.per_type["city"].predicted and counted.micro < counted.per_type["artist"].f1
        status, out, err = run("evaluate", pair["v2"], "bare.conll", "--page", "bare.html")
        assert status == 0 and err == "not in the data, so not scored: city\npage written to bare.html\n"
        assert "city" not in out
        assert ">city<" not in (here / "bare.html").read_text() and ">artist<" in (here / "bare.html").read_text()
        document = json.loads(run("evaluate", pair["v2"], "bare.conll", "--json", "--all")[1])
        assert document["micro"] == document["macro"] == document["old_macro"] == counted.per_type["artist"].f1
        assert list(document["per_type"]) == ["artist"] and document["unscored_types"] == ["city"]
        assert document["new_macro"] is None

    def test_keep_and_gain(self, run, first, city, quick, here):
        from retainer.data.generated import generate
        from retainer.training.learn import learn

        learn(city, first, recipe=quick, device="cpu", out="v2")
        write(generate(40, seed=4, types=["artist", "city"]), "both.conll", "conll")
        out = run("evaluate", "v2", "both.conll")[1]
        assert "keep (old types)" in out and "gain (new types)" in out
        document = json.loads(run("evaluate", "v2", "both.conll", "--json")[1])
        assert document["old_macro"] == document["per_type"]["artist"]["f1"]
        assert document["new_macro"] == document["per_type"]["city"]["f1"]
        assert (document["keep"], document["gain"]) == (document["old_macro"], document["new_macro"])
        precision, recall = document["micro_precision"], document["micro_recall"]
        assert 2 * precision * recall == pytest.approx(document["micro"] * (precision + recall))
        (micro,) = [line.split() for line in out.splitlines() if line.split()[:1] == ["micro"]]
        support = sum(one["support"] for one in document["per_type"].values())
        assert micro[1:] == [f"{precision:.2f}", f"{recall:.2f}", f"{document['micro']:.2f}", str(support)]

    def test_a_bare_encoder(self, refused, encoder):
        refused("evaluate", encoder, "artist.conll", says="no token-classification head")


class TestCheck:
    def test_counts_and_findings(self, run, here):
        (here / "odd.conll").write_text("a\tI-x\n\nb\tB-x\n\nb\tO\n\n" + "w\tO\n" * 500)
        status, out, _ = run("check", "odd.conll", "--json")
        document = json.loads(out)
        assert status == 0 and document["entities"] == {"x": 2} and document["scheme"] == "IOB2"
        found = {finding["what"]: finding["count"] for finding in document["findings"]}
        assert found["I- without B-"] == 1 and found["few entities of type x"] == 2
        assert found["texts annotated in different ways"] == 1 and found["texts of more than 400 words"] == 1
        assert "I- without B-" in run("check", "odd.conll")[1]

    def test_nothing_odd(self, run, here):
        (here / "good.conll").write_text("".join(f"w{i}\tB-x\n\nv{i}\tO\n\n" for i in range(30)))
        assert "nothing odd" in run("check", "good.conll")[1]

    def test_as_many_places_as_wanted(self, run, refused, here):
        (here / "marks.conll").write_text("".join(f"w{row} O\n. B-city\n\n" for row in range(1, 6)))
        shown = [run("check", "marks.conll", *more) for more in ((), ("--show", 9), ("--show", 0))]
        marked = [text.partition("punctuation mark")[2] for _, text, _ in shown]
        assert [text.count(": '.'") for text in marked] == [3, 5, 0]
        assert ["--show 100 lists more" in note for *_, note in shown] == [True, False, False]
        found = json.loads(run("check", "marks.conll", "--show", 9, "--json")[1])["findings"]
        assert max(len(one["examples"]) for one in found) == 5
        refused("check", "marks.conll", "--show", -1, says="--show -1: expected 0 or more")

    def test_with_a_model(self, run, checkpoint, artist, here):
        from retainer.data.spans import Span
        from retainer.versions.version import load

        folder = checkpoint("O", "B-per", "I-per")
        guesses = load(folder, device="cpu").tag(artist.sentences)
        taken = [
            sentence.with_spans([Span(x.start, x.end, "band") for x in spans])
            for sentence, spans in zip(artist, guesses, strict=True)
            if spans
        ]
        assert taken, "a model that finds nothing shows no clash"
        write(taken, "band.conll", "conll")
        document = json.loads(run("check", "band.conll", "--model", folder, "--json")[1])
        assert document["new_types"] == ["band"] and document["old_types"] == []
        clash = [finding for finding in document["findings"] if "where the model sees per" in finding["what"]]
        assert clash[0]["count"] == sum(len(sentence.spans) for sentence in taken) and clash[0]["examples"]


class TestConvert:
    @pytest.mark.parametrize("to", ["conll", "jsonl", "prodigy", "doccano"])
    def test_there_and_back(self, run, here, to):
        assert run("convert", "artist.conll", "there", "--to", to)[0] == 0
        assert run("convert", "there", "back", "--to", "conll")[0] == 0
        assert (here / "back").read_text() == (here / "artist.conll").read_text()

    def test_the_suffix_tells(self, run, here):
        run("convert", "artist.conll", "there.jsonl")
        assert read("there.jsonl").format in ("jsonl", "tokens") or "ner_tags" in (here / "there.jsonl").read_text()

    def test_wrong_calls(self, refused, here):
        refused("convert", "artist.conll", "there.xyz", says="--to")
        refused("convert", "artist.conll", "city.jsonl", says="exists already")
        refused("convert", "artist.conll", "there", "--to", "bart", says="there is no format 'bart'")
        refused("convert", "city.jsonl", "there.conll", "--from", "conll", says="city.jsonl:1")


class TestSplit:
    @pytest.fixture
    def data(self, here):
        from retainer.data.generated import generate

        (here / "data").mkdir()
        for at, (name, size) in enumerate([("train", 90), ("valid", 20), ("test", 30)]):
            write(generate(size, seed=at, types=["artist", "city", "movie"]), here / "data" / f"{name}.conll", "conll")

    def test_a_folder(self, run, here, data):
        status, out, _ = run("split", "data", "--fg", 1, "--pg", 1, "--out", "tasks", "--seed", 7)
        assert status == 0 and "FG-1-PG-1, seed 7" in out
        manifest = json.loads((here / "tasks" / "manifest.json").read_text())
        assert [task["types"] for task in manifest["tasks"]] == [["artist"], ["city"], ["movie"]]
        assert read("tasks/task-02/train.conll").types == ("city",)
        assert read("tasks/task-02/dev.conll").types == ("city",)
        assert read("tasks/task-02/test.conll").types == ("artist", "city")
        rows = [row for task in manifest["tasks"] for row in task["rows"]]
        assert len(rows) == len(set(rows)) == 90
        run("split", "data", "--fg", 1, "--pg", 1, "--out", "again", "--seed", 7)
        assert (here / "again" / "manifest.json").read_text() == (here / "tasks" / "manifest.json").read_text()

    def test_a_file_and_json(self, run, here):
        status, out, _ = run("split", "artist.conll", "--fg", 1, "--pg", 1, "--out", "tasks", "--json")
        assert status == 0 and json.loads(out)["types"] == ["artist"]

    def test_wrong_calls(self, refused, here, data):
        refused("split", "data", "--fg", 1, "--pg", 3, "--out", "tasks", says="FG-1-PG-3")
        refused("split", "data", "--fg", 1, "--pg", 1, "--out", "data", says="exists already")
        refused("split", "data", "--fg", 1, "--pg", 1, "--out", "t", "--types", "city,song", says="song")
        (here / "empty").mkdir()
        refused("split", "empty", "--fg", 1, "--pg", 1, "--out", "tasks", says="no file named train")


class TestTypes:
    @pytest.fixture
    def v2(self, first, city, quick, here):
        from retainer.training.learn import learn

        learn(city, first, recipe=quick, device="cpu", out="v2")

    def test_list(self, run, v2, checkpoint):
        status, out, _ = run("types", "v2")
        assert status == 0 and [line.split()[0] for line in out.splitlines()] == ["artist", "city"]
        document = json.loads(run("types", "v2", "--json")[1])
        assert document["types"][1]["version"] == 2 and document["types"][1]["labels"] == ["B-city", "I-city"]
        assert run("types", checkpoint("O", "B-x", "I-x"))[1] == "x\n"

    def test_f1_of_all_types(self, run, encoder, artist, city, quick, here):
        """The dev set of the second task has no artist, so its F1 is that of the first."""
        from retainer.training.learn import learn

        v1 = learn(artist, encoder, recipe=quick, dev=artist, device="cpu")
        learn(city, v1, recipe=quick, dev=city, device="cpu", out="v2")
        rows = json.loads(run("types", "v2", "--json")[1])["types"]
        artist, city = (row["f1_when_learned"] for row in rows)
        assert [row["f1"] for row in rows] == [None, city]
        lines = run("types", "v2")[1].splitlines()
        assert f"F1 {artist:.2f} on dev when it was learned, not measured since" in lines[0]
        assert f"F1 {city:.2f} on dev)" in lines[1]
        assert run("types", "merge", "v2", "artist,city", "--into", "thing", "--out", "m")[0] == 0
        assert "F1 not measured" in run("types", "m")[1], "together they were never measured"

    def test_what_learn_set_aside_is_not_called_dev(self, run, first, quick, here):
        """The first version was measured on nothing, the second on the tenth of 200 sentences."""
        from retainer.data.generated import generate
        from retainer.training.learn import learn

        made = learn(generate(200, seed=5, types=["city"]), first, recipe=quick, device="cpu", out="v2")
        score = made.lineage.scores["per_type"]["city"]
        lines = run("types", "v2")[1].splitlines()
        assert lines[0] == "artist  (learned in version 1; F1 not measured)"
        assert f"F1 {score['f1']:.2f} on {score['support']} entities set aside)" in lines[1]
        rows = json.loads(run("types", "v2", "--json")[1])["types"]
        assert [(row["support"], row["set_aside"]) for row in rows] == [(None, None), (score["support"], True)]

    @pytest.mark.parametrize("between", [",", ", ", " "])
    def test_commas_and_spaces_separate_types_alike(self, run, v2, here, between):
        def listed(*names):
            return between.join(names).split() if between == " " else [between.join(names)]

        calls = {
            "renamed": ("rename", "v2", *listed("artist=a", "city=b")),
            "merged": ("merge", "v2", *listed("artist", "city"), "--into", "thing"),
            "cut": ("split", "renamed", "b", "--into", "c,d"),
            "dropped": ("drop", "cut", *listed("a", "c")),
        }
        known = {"renamed": ["a", "b"], "merged": ["thing"], "cut": ["a", "c", "d"], "dropped": ["d"]}
        for out, call in calls.items():
            assert run("types", *call, "--out", out)[0] == 0
            assert [row["type"] for row in json.loads(run("types", out, "--json")[1])["types"]] == known[out]

    def test_a_comma_in_a_name(self, run, checkpoint, here):
        folder = checkpoint("O", "B-a,b", "I-a,b", "B-c", "I-c")
        assert run("types", "drop", folder, "a,b", "--out", "x")[1].startswith("dropped a,b")
        assert run("types", "rename", folder, "c=d,e", "--out", "y")[1].startswith("renamed c to d,e")

    def test_every_change(self, run, v2, here):
        calls = {
            "a": ("rename", "v2", "artist=musician", "city=town"),
            "b": ("merge", "v2", "artist,city", "--into", "thing"),
            "c": ("drop", "v2", "city"),
            "d": ("split", "v2", "city", "--into", "north,south"),
        }
        types = {"a": ["musician", "town"], "b": ["thing"], "c": ["artist"], "d": ["artist", "north", "south"]}
        for out, call in calls.items():
            status, said, _ = run("types", *call, "--out", out)
            assert status == 0 and f"types     {', '.join(types[out])}" in said and f"version   {out} (" in said
            assert [row["type"] for row in json.loads(run("types", out, "--json")[1])["types"]] == types[out]
            assert run("verify", out)[0] == 0
        assert "learn DATA --from d" in said and "waits to be learned" in run("types", "d")[1]
        assert json.loads(run("types", "drop", "v2", "city", "--out", "e", "--json")[1])["change"]["verb"] == "drop"

    def test_names_with_signs_in_them(self, run, checkpoint, here):
        folder = checkpoint("O", "B-a=b", "I-a=b")
        assert run("types", "rename", folder, "a=b=c=d", "--out", "x")[0] == 0
        assert run("types", "x")[1].startswith("c=d")

    def test_the_version_before_is_kept_if_asked_for(self, run, v2, here):
        assert run("types", "drop", "v2", "city", "--out", "a", "--keep-parent")[0] == 0
        assert run("types", "drop", "v2", "city", "--out", "b")[0] == 0
        assert (here / "a" / "parent").is_dir() and not (here / "b" / "parent").exists()

    def test_wrong_calls(self, refused, v2, encoder):
        refused("types", "rename", "v2", "citi=x", "--out", "x", says=["'citi'", "did you mean 'city'"])
        refused("types", "rename", "v2", "city", "--out", "x", says="OLD=NEW")
        refused("types", "rename", "v2", "city=x", "city=y", "--out", "x", says="two names")
        refused("types", "rename", "v2", "--out", "x", says="missing: pairs")
        refused("types", "rename", "v2", "city=x", says="missing: --out")
        refused("types", "rename", "v2", "city=x", "--out", "v2", says="exists already")
        refused("types", "merge", "v2", "artist,,city", "--into", "x", "--out", "x", says="no type ''")
        refused("types", "split", "v2", "city", "--out", "x", says="missing: --into")
        refused("types", "split", "v2", "city", "--into", "a", "--out", "x", says="two different names")
        refused("types", "renam", "v2", "city=x", "--out", "x", says=["no `types renam`", "did you mean 'rename'"])
        refused("types", "drop", encoder, "x", "--out", "x", says="no token-classification head")
        refused("types", "drop", "nowhere", "x", "--out", "x", says="nowhere")
        refused("types", encoder, says="no token-classification head")

    @pytest.mark.parametrize("verb", ["rename", "merge", "drop", "split"])
    def test_each_explains_itself(self, verb, capsys):
        with pytest.raises(SystemExit) as exit:
            main(["types", verb, "--help"])
        out = capsys.readouterr().out
        assert exit.value.code == 0 and f"retainer types {verb}" in out and "--keep-parent" in out and "--out" in out
