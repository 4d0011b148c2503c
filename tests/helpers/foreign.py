"""Checkpoints as other people make them: any tokenizer, tag scheme and order of labels, trained without retainer.

Nothing here imports retainer, so what it gets wrong cannot be hidden by doing the same wrong thing twice.
"""

import random
import re

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig,
    BertForTokenClassification,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForTokenClassification,
)

NAMES = {
    "artist": ["Queen", "Prince", "Miles Davis", "Nina Simone", "Florence and the Machine", "Boston", "The Smiths"],
    "city": ["Paris", "Oslo", "New York", "Rio de Janeiro", "Lima", "Kyoto", "Boston"],
}
TEMPLATES = [
    "Play {artist}, please.",
    "Songs by {artist} on the drive to {city}!",
    "What is the weather in {city}?",
    "Is {artist} ({artist}) in {city} tonight?",
    "Mix songs by {artist} {artist} for me.",
    "Drive to {city} {city} by train: how far?",
    "Turn the lights off, please.",
    "play songs by {artist} at 8",
]
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}


def texts(size, seed, types=("artist", "city")):
    """Write texts with all their entities, as (text, [(start, end, type)]); only the given types are annotated."""
    rng = random.Random(seed)
    for _ in range(size):
        text, spans = "", []
        for part in re.split(r"(\{\w+\})", rng.choice(TEMPLATES)):
            if part.startswith("{"):
                name = rng.choice(NAMES[part[1:-1]])
                spans.append((len(text), len(text) + len(name), part[1:-1]))
                part = name
            text += part
        yield text, [span for span in spans if span[2] in types]


def words(text):
    return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


def tags(text, spans, scheme):
    """Tag every word of a text in a scheme."""
    found, before = [], None
    for start, end in words(text):
        span = next((one for one in spans if one[0] <= start and end <= one[1]), None)
        first, last = span is not None and span[0] == start, span is not None and span[1] == end
        touches = before is not None and span is not None and before != span and before[2] == span[2]
        letter = {
            "bare": "",
            "IO": "I",
            "IOB1": "B" if first and touches else "I",
            "IOB2": "B" if first else "I",
            "BIOES": "S" if first and last else "B" if first else "E" if last else "I",
        }[scheme]
        found.append("O" if span is None else f"{letter}-{span[2]}".lstrip("-"))
        before = span
    return found


def _wordpiece(corpus):
    whole = sorted({text[start:end] for text in corpus for start, end in words(text)})
    letters = sorted(set("".join(whole)))
    known = [*SPECIAL, *dict.fromkeys([*whole, *(f"##{letter}" for letter in letters)])]
    made = Tokenizer(models.WordPiece({piece: at for at, piece in enumerate(known)}, unk_token="<unk>"))
    made.pre_tokenizer, made.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    return made


def _bytelevel(corpus):
    """RoBERTa's and GPT-2's as they are released: no blank is put before a text."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        corpus,
        trainers.BpeTrainer(
            vocab_size=4000, min_frequency=1, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
        ),
    )
    return made


def _unigram(corpus):
    """SentencePiece's, as XLM-R has it; a word after a blank and one that touches the word before are two pieces."""
    spots = [(text, start, end) for text in corpus for start, end in words(text)]
    whole = {("▁" if text[:start][-1:] in ("", " ") else "") + text[start:end] for text, start, end in spots}
    letters = sorted(set("".join(whole)) - whole)
    scores = [(piece, 0.0) for piece in SPECIAL]
    scores += [(piece, -1.0) for piece in sorted(whole)] + [(letter, -9.0) for letter in letters]
    made = Tokenizer(models.Unigram(scores, unk_id=SPECIAL.index("<unk>")))
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    made.decoder = decoders.Metaspace()
    return made


KINDS = {"wordpiece": _wordpiece, "bytelevel": _bytelevel, "unigram": _unigram}


def tokenizer(kind, cased):
    """Make a tokenizer in which every word of the texts is one piece: else the strategies of a pipeline differ."""
    corpus = [text for text, _ in texts(600, 99)]
    made = KINDS[kind](corpus if cased else [text.lower() for text in corpus])
    if not cased:
        made.normalizer = normalizers.Lowercase()
    made.add_special_tokens(SPECIAL)
    ends = [(piece, SPECIAL.index(piece)) for piece in ("<s>", "</s>")]
    made.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=ends)
    if kind == "bytelevel":
        made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 1), add_prefix_space=False)
    roles = {"pad_token": "<pad>", "cls_token": "<s>", "sep_token": "</s>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=64, **roles)


def arranged(labels, order):
    """Put labels in an order."""
    labels = sorted(labels)
    random.Random(4).shuffle(labels)
    if order != "shuffled":
        labels.remove("O")
        labels.insert(0 if order == "first" else len(labels), "O")
    return labels


def network(kind, size, labels):
    names = {"id2label": dict(enumerate(labels)), "label2id": {name: at for at, name in enumerate(labels)}}
    made, config = {
        "wordpiece": (BertForTokenClassification, BertConfig),
        "bytelevel": (RobertaForTokenClassification, RobertaConfig),
        "unigram": (RobertaForTokenClassification, RobertaConfig),
    }[kind]
    dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return made(config(vocab_size=size, max_position_embeddings=66, pad_token_id=0, **SMALL, **dropout, **names))


def checkpoint(folder, kind, scheme, order, cased, types=("artist",), steps=110):
    """Train a checkpoint in the way of every other script, and save it as it comes: no retainer anywhere."""
    torch.manual_seed(3)
    data = list(texts(200, 7, types))
    labels = arranged({tag for text, spans in data for tag in tags(text, spans, scheme)}, order)
    pieces = tokenizer(kind, cased)
    model = network(kind, len(pieces), labels).train()
    rows = [pieces(text, return_offsets_mapping=True) for text, _ in data]
    gold = [_gold(row, *one, scheme, labels) for row, one in zip(rows, data, strict=True)]
    descent = torch.optim.AdamW(model.parameters(), lr=5e-3)
    rng = random.Random(5)
    for _ in range(steps):
        chosen = rng.sample(range(len(data)), 16)
        batch = pieces.pad({"input_ids": [rows[at]["input_ids"] for at in chosen]}, return_tensors="pt")
        length = batch["input_ids"].shape[1]
        target = torch.tensor([gold[at] + [-100] * (length - len(gold[at])) for at in chosen])
        descent.zero_grad()
        model(**batch, labels=target).loss.backward()
        descent.step()
    model.save_pretrained(folder)
    pieces.save_pretrained(folder)
    return folder


def _gold(row, text, spans, scheme, labels):
    """Label every piece with the tag of the word it begins in."""
    by_start = dict(zip((start for start, _ in words(text)), tags(text, spans, scheme), strict=True))
    return [labels.index(by_start[start]) if start < end else -100 for start, end in row["offset_mapping"]]
