"""Tiny models and corpora built on the spot: no network, no weights, seconds on a laptop."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is loaded: tiny models gain nothing from a second thread
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import contextlib
from dataclasses import replace
from pathlib import Path

import loading
import pytest
import slow_work
import torch
from elsewhere import Pipeline
from made_once import made_once
from tiny import SPECIAL, empty_wordpiece, pieces, texts
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig,
    BertForTokenClassification,
    BertModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForTokenClassification,
)

from retainer.data.generated import generate


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="only tests that start no process, browser or training")


def pytest_collection_finish():
    loading.finished()


@pytest.fixture(scope="session", autouse=True)
def no_slow_work(request):
    """Leave out, under --quick, every test that turns out to be slow."""
    if not request.config.getoption("quick"):
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        hook = slow_work.refuse(patch)
        yield
        hook.remove()


SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def beside(name):
    """Return the folder of a real corpus where somebody has put it beside the checkout."""
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(f"the files of {name} are not beside this checkout")
    return folder


@pytest.fixture(scope="session")
def conll2003():
    """The corpus most tables are made on."""
    return beside("conll2003")


@pytest.fixture(scope="session")
def fewnerd():
    """The corpus with many types."""
    return beside("fewnerd")


@pytest.fixture(scope="session")
def wnut17():
    """The corpus with small slices."""
    return beside("wnut17")


@pytest.fixture(scope="session")
def snips():
    """The corpus with most tasks."""
    return beside("snips")


@pytest.fixture(scope="session", params=["snips", "wnut17"])
def open_corpus(request):
    """The name and the folder of a corpus that anybody may have."""
    return request.param, beside(request.param)


@pytest.fixture(scope="session")
def wordpiece():
    """An uncased WordPiece tokenizer of a few hundred pieces, in the manner of BERT."""
    tokenizer = empty_wordpiece(pieces())
    tokenizer.add_special_tokens(SPECIAL)
    ids = [(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ids)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=64,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )


@pytest.fixture(scope="session")
def bytelevel():
    """A cased byte-level BPE tokenizer, in the manner of RoBERTa."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=special, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(texts(), trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=True)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=64,
        unk_token="<unk>",
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        cls_token="<s>",
        sep_token="</s>",
        add_prefix_space=True,
    )


SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}


@pytest.fixture(scope="session")
def encoder(tmp_path_factory, wordpiece):
    """A folder with a bare encoder."""
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("encoder")
    BertModel(BertConfig(vocab_size=len(wordpiece), max_position_embeddings=64, **SMALL)).save_pretrained(folder)
    wordpiece.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory, wordpiece):
    """Make a foreign token-classification checkpoint with the given labels (BERT's kind)."""

    def make(*labels):
        torch.manual_seed(1)
        folder = tmp_path_factory.mktemp("checkpoint")
        names = {"id2label": dict(enumerate(labels)), "label2id": {name: i for i, name in enumerate(labels)}}
        config = BertConfig(vocab_size=len(wordpiece), max_position_embeddings=64, **SMALL, **names)
        BertForTokenClassification(config).save_pretrained(folder)
        wordpiece.save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="session")
def roberta(tmp_path_factory, bytelevel):
    """A foreign checkpoint of RoBERTa's kind."""
    torch.manual_seed(2)
    folder = tmp_path_factory.mktemp("roberta")
    names = {"id2label": {0: "B-x", 1: "I-x", 2: "O"}, "label2id": {"B-x": 0, "I-x": 1, "O": 2}}
    config = RobertaConfig(vocab_size=len(bytelevel), max_position_embeddings=66, pad_token_id=1, **SMALL, **names)
    RobertaForTokenClassification(config).save_pretrained(folder)
    bytelevel.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def pipeline():
    """Tag texts with transformers alone, in a process without retainer."""
    with contextlib.closing(Pipeline()) as found:
        yield found


@pytest.fixture(scope="session")
def city():
    """Sentences in which only cities are annotated, though artists occur."""
    from retainer.data.tasks import hide

    return hide(generate(60, seed=5, types=["artist", "city"]), ["city"])


@pytest.fixture(scope="session")
def few(city):
    """Three batches of these sentences, for what is tried with every method."""
    return replace(city, sentences=city.sentences[:24])


@pytest.fixture(scope="session")
def artist():
    """Sentences in which only artists are annotated."""
    from retainer.data.tasks import hide

    return hide(generate(60, seed=6, types=["artist", "city"]), ["artist"])


@pytest.fixture(scope="session")
def quick():
    """A recipe that takes a second."""
    from retainer.training.recipe import Recipe

    return Recipe(epochs=2, batch=16, base_lr=1e-3, lr=1e-3)


@pytest.fixture(scope="session")
def first(encoder, artist, quick):
    """A version that knows artists."""
    from retainer.training.learn import learn

    return learn(artist, encoder, recipe=quick, seed=1, device="cpu")


@pytest.fixture(scope="session")
def pair(tmp_path_factory, encoder):
    """The folders of two versions that find something, the second made from the first; neither is calibrated."""
    from retainer.data.tasks import hide
    from retainer.training.learn import learn
    from retainer.training.recipe import Recipe

    def teach(place):
        recipe = Recipe(epochs=6, batch=8, base_lr=5e-3, lr=5e-3)
        data = generate(200, seed=5, types=["artist", "city"])
        learn(hide(data, ["artist"]), encoder, recipe=recipe, seed=1, device="cpu").save(place / "v1")
        learn(hide(data, ["city"]), place / "v1", recipe=recipe, seed=2, device="cpu").save(place / "v2")

    place = made_once(tmp_path_factory, "pair", teach)
    return {"v1": place / "v1", "v2": place / "v2"}
