"""Parquet files and folders of `datasets`, written and read with pyarrow itself, and with `datasets` where it is."""

import gzip
import json
import random

import pyarrow
import pyarrow.parquet
import pytest
from needed import needs

from retainer.cli.main import main
from retainer.data.generated import generate
from retainer.data.io import read, write
from retainer.data.spans import Sentence
from retainer.data.splits import read_splits
from retainer.data.texts import read_texts, texts_or_corpus
from retainer.errors import InputError

NAMES = ["O", "B-city", "I-city"]
ROWS = {"tokens": [["in", "New", "York"], ["x"]], "ner_tags": [[0, 1, 2], [0]]}


def classes(names=NAMES):
    label = {"names": names, "_type": "ClassLabel"}
    words = {"feature": {"dtype": "string", "_type": "Value"}, "_type": "List"}
    features = {"tokens": words, "ner_tags": {"feature": label, "_type": "Sequence"}}
    return {"huggingface": json.dumps({"info": {"features": features}})}


def parquet(path, rows=ROWS, metadata=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.table(rows).replace_schema_metadata(metadata), path)
    return path


def refusal(path, reader=read):
    with pytest.raises(InputError) as raised:
        list(reader(path))
    return str(raised.value)


@pytest.mark.parametrize(("format", "name"), [("parquet", "x.parquet"), ("datasets", "x")])
def test_what_is_written_comes_back(tmp_path, format, name):
    made = [*generate(300, seed=1), Sentence(("a\nb", "\x00", " ")).completed(("city",))]
    write(made, tmp_path / name, format)
    corpus = read(tmp_path / name)
    assert corpus.format == format
    assert [(s.words, s.spans, s.complete) for s in corpus] == [(s.words, s.spans, s.complete) for s in made]
    assert len(list(read_texts(tmp_path / name))) == 301
    with pytest.raises(InputError, match="exists already|cannot be replaced" if format == "datasets" else "no words"):
        write([Sentence(())] if format == "parquet" else made, tmp_path / name, format)


def test_numbers_get_the_names_of_their_classes(tmp_path):
    corpus = read(parquet(tmp_path / "x", metadata=classes()))
    assert (corpus[0].words, corpus.counts) == (("in", "New", "York"), {"city": 1})
    assert "x:1: ner_tags[0]: found the number 0, and numbers carry no names" in refusal(parquet(tmp_path / "x"))
    assert "found the class 2, and the table names 2" in refusal(parquet(tmp_path / "x", metadata=classes(NAMES[:2])))
    assert "numbers carry no names" in refusal(parquet(tmp_path / "x", metadata=classes([])))
    assert "numbers carry no names" in refusal(parquet(tmp_path / "x", metadata={"huggingface": "{"}))


def test_other_layouts(tmp_path):
    spans = {"text": ["in Oslo"], "entities": [[{"start": 3, "end": 7, "label": "city"}]]}
    assert read(parquet(tmp_path / "spans", spans)).counts == {"city": 1}
    lists = {"text": ["in Oslo"], "entities": [{"start": [3], "end": [7], "label": ["city"]}]}
    assert read(parquet(tmp_path / "lists", lists)).counts == {"city": 1}
    words = {"sentence_id": [1, 1, 2], "word": ["in", "Oslo", "x"], "tag": ["O", "B-city", "O"]}
    assert [one.words for one in read(parquet(tmp_path / "words", words))] == [("in", "Oslo"), ("x",)]
    texts = parquet(tmp_path / "texts", {"text": ["a b", None, ""]})
    for reader in (read_texts, texts_or_corpus):
        assert [one.words for _, one in reader(texts)] == [("a", "b"), (), ()]
    assert "found the columns text, so there are texts and no annotation" in refusal(texts)
    outside = {"text": ["Oslo"], "entities": [[{"start": 0, "end": 9, "label": "x"}]]}
    assert "outside:1: span 0-9 (x) is empty or lies outside" in refusal(parquet(tmp_path / "outside", outside))


def test_a_repository_of_parquet_files(tmp_path):
    for name in ("train-00000-of-00002", "train-00001-of-00002", "validation-00000-of-00001"):
        parquet(tmp_path / "data" / f"{name}.parquet", metadata=classes())
    assert "holds the splits train, validation; name one of them, such as" in refusal(tmp_path)
    assert (len(read(tmp_path / "train")), len(read(tmp_path / "data" / "train"))) == (4, 4)
    splits = read_splits(tmp_path)
    assert (len(splits.train), len(splits.dev or ()), splits.test) == (4, 2, None)
    assert len(list(read_texts(tmp_path / "train"))) == 4
    assert "there is no such file" in refusal(tmp_path / "test")


def test_a_saved_folder_lists_its_files(tmp_path):
    write(generate(5, seed=1), tmp_path / "saved", "datasets")
    left_over = tmp_path / "saved" / "data-00000-of-00009.arrow"
    left_over.write_bytes((tmp_path / "saved" / "data-00000-of-00001.arrow").read_bytes())
    assert len(read(tmp_path / "saved")) == 5
    state = tmp_path / "saved" / "state.json"
    state.write_text(json.dumps({"_data_files": [{"filename": "../x.arrow"}]}))
    assert "is not a path inside the folder" in refusal(tmp_path / "saved")
    state.write_text(json.dumps({"_data_files": [{"filename": "x.arrow"}]}))
    assert "x.arrow is missing; save the dataset again" in refusal(tmp_path / "saved")
    state.write_text("[]")
    assert "this is not what `datasets` writes" in refusal(tmp_path / "saved")


def test_damaged_tables_are_read_or_refused(tmp_path):
    """Cut and flipped at random: pyarrow follows no offset that was not checked."""
    write(generate(40, seed=1), tmp_path / "saved", "datasets")
    files = [parquet(tmp_path / "x.parquet", metadata=classes()), tmp_path / "saved" / "data-00000-of-00001.arrow"]
    draw, path = random.Random(0), tmp_path / "damaged"
    for data in [file.read_bytes() for file in files]:
        for number in range(150):
            damaged = bytearray(data if number % 3 else data[: draw.randrange(8, len(data))])
            for _ in range(draw.choice((0, 1, 5, 50)) if not number % 3 else draw.choice((1, 5, 50))):
                damaged[draw.randrange(8, len(damaged))] ^= 1 << draw.randrange(8)
            path.write_bytes(damaged)
            try:
                read(path)
            except InputError as error:
                assert len(str(error)) < 700


def test_a_bomb(tmp_path):
    rows = pyarrow.table({"text": pyarrow.array(["x" * 1000]).take([0] * 200_000)})
    pyarrow.parquet.write_table(rows, tmp_path / "bomb", compression="zstd", use_dictionary=False)
    assert "more than 200 times the size of the file" in refusal(tmp_path / "bomb", read_texts)


def test_without_pyarrow(tmp_path, monkeypatch, capsys):
    path = parquet(tmp_path / "x.parquet", metadata=classes())
    monkeypatch.setattr("retainer.data.formats.columnar.find_spec", lambda name: None)
    assert main(["check", str(path)]) == 2
    assert "Parquet and Arrow need pyarrow; install it: pip install 'retainer[files]'" in capsys.readouterr().err
    assert main(["convert", "examples/cities.jsonl", str(tmp_path / "y.parquet")]) == 2


def test_the_verbs(tmp_path, capsys):
    path = parquet(tmp_path / "x.parquet", metadata=classes())
    assert main(["convert", str(path), str(tmp_path / "x.csv.gz")]) == 0
    assert main(["convert", str(tmp_path / "x.csv.gz"), str(tmp_path / "d"), "--to", "datasets"]) == 0
    assert main(["check", str(tmp_path / "d")]) == 0
    assert main(["project", "import", str(tmp_path / "p"), str(tmp_path / "d")]) == 0
    assert main(["project", "export", str(tmp_path / "p"), "--out", str(tmp_path / "p.parquet")]) == 0
    assert read(tmp_path / "p.parquet")[0].complete == ("city",)
    capsys.readouterr()
    assert main(["convert", str(path), str(tmp_path / "y.parquet.gz")]) == 2
    assert "parquet is compressed inside; leave .gz out" in capsys.readouterr().err


@needs("datasets")
def test_with_datasets_itself(tmp_path):
    import datasets

    write(generate(20, seed=1), tmp_path / "ours", "datasets")
    write(generate(20, seed=1), tmp_path / "ours.parquet", "parquet")
    ours = datasets.load_from_disk(str(tmp_path / "ours"))
    assert ours[3]["tokens"] == list(generate(20, seed=1)[3].words)
    assert datasets.Dataset.from_parquet(str(tmp_path / "ours.parquet"), cache_dir=str(tmp_path))[:] == ours[:]
    tags = datasets.List(datasets.ClassLabel(names=NAMES))
    features = datasets.Features({"tokens": datasets.List(datasets.Value("string")), "ner_tags": tags})
    theirs = datasets.Dataset.from_dict(ROWS, features=features)
    datasets.DatasetDict({"train": theirs.select([0]), "test": theirs}).save_to_disk(str(tmp_path / "theirs"))
    assert "holds the splits test, train" in refusal(tmp_path / "theirs")
    assert read(tmp_path / "theirs" / "train").counts == {"city": 1}
    assert len(read_splits(tmp_path / "theirs").test or ()) == 2


@pytest.mark.parametrize("suffix", ["parquet", "spacy"])
def test_what_is_compressed_inside_is_not_compressed_again(tmp_path, suffix):
    write(read("examples/cities.jsonl"), tmp_path / f"x.{suffix}", suffix)
    packed = tmp_path / f"x.{suffix}.gz"
    packed.write_bytes(gzip.compress((tmp_path / f"x.{suffix}").read_bytes()))
    with pytest.raises(InputError, match=f"this is {suffix} inside gzip.*unpack it first"):
        read(packed)
