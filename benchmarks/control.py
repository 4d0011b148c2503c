"""A sequence of tasks learned with RDP, written the usual way: the control that retainer's own loop is timed against.

Eager, full precision, the frozen teacher run again in every step, random batches padded to their longest sentence,
losses read back in every step, predictions scored word by word in Python. Same data, encoder, method and schedule.
"""

import random
import time
from typing import Any

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from retainer.data.labels import Labels
from retainer.data.spans import Sentence
from retainer.data.tasks import Plan, Task
from retainer.methods import IGNORE, RDP, Tokens
from retainer.methods.rdp import prototype_weights, prototypes
from retainer.model.tagger import Tagger, load_tagger
from retainer.model.tagger_output import TaggerOutput
from retainer.training.prepare import gold_labels
from retainer.training.recipe import Recipe


def control(plan: Plan, encoder: str, recipe: Recipe, seed: int, device: str, epochs: int) -> dict[str, Any]:
    """Learn all tasks, ``epochs`` epochs each, and return the seconds of every part."""
    random.seed(seed)
    torch.manual_seed(seed)
    spent = {"prepare": 0.0, "steps": 0.0, "dev": 0.0, "test": 0.0}
    steps, teacher = 0, load_tagger(encoder).to(device)
    for number in range(1, len(plan) + 1):
        task = plan.task(number)
        learner = Learner(teacher, task, recipe, device, spent)
        for epoch in range(epochs):
            steps += learner.epoch(epoch)
            learner.score("dev", task.dev.sentences if task.dev else ())
        learner.score("test", task.test.sentences if task.test else ())
        teacher = learner.student.settled()
    return {"epochs": epochs, "steps": steps, "seconds": spent}


class Learner:
    """One task."""

    def __init__(self, teacher: Tagger, task: Task, recipe: Recipe, device: str, spent: dict[str, float]) -> None:
        began = time.perf_counter()
        self.teacher, self.task, self.recipe, self.device, self.spent = teacher.eval(), task, recipe, device, spent
        self.base = not task.old
        labels = teacher.labels.grow(task.new)
        self.rows = [self.encode(sentence, labels) for sentence in task.train.sentences]
        hidden = [self.outputs(teacher, batch) for batch in self.batches(range(len(self.rows)))]
        vectors = torch.cat([out.hidden[tokens.labelled] for out, tokens in hidden])
        scores = torch.cat([out.logits[tokens.labelled] for out, tokens in hidden])
        gold = gold_labels(task.train.sentences, labels).to(device)
        self.student = teacher.grown(labels, teacher.head.grow(labels, vectors, gold))
        guess = scores.softmax(-1).argmax(-1)
        self.centres, self.seen = prototypes(vectors, guess, gold == labels.outside, scores.shape[-1])
        self.optimizer = torch.optim.AdamW(self.student.parameters(), lr=recipe.lr)
        spent["prepare"] += time.perf_counter() - began

    def encode(self, sentence: Sentence, labels: Labels) -> tuple[list[int], list[int]]:
        """Return the pieces of a sentence and the label of every first piece."""
        made = self.teacher.tokenize.tokenizer(list(sentence.words), is_split_into_words=True, truncation=True)
        ids, firsts, last = labels.ids(sentence), [], None
        for word in made.word_ids():
            firsts.append(ids[word] if word is not None and word != last else IGNORE)
            last = word
        return made["input_ids"], firsts

    def batches(self, order: Any) -> Any:
        """Yield padded batches."""
        order, pad = list(order), self.teacher.tokenize.tokenizer.pad_token_id
        for at in range(0, len(order), self.recipe.batch):
            rows = [self.rows[i] for i in order[at : at + self.recipe.batch]]
            ids = pad_sequence([torch.tensor(ids) for ids, _ in rows], True, pad).to(self.device)
            labels = pad_sequence([torch.tensor(labels) for _, labels in rows], True, IGNORE).to(self.device)
            yield ids, ids != pad, labels.flatten()

    def outputs(self, tagger: Tagger, batch: Any, grad: bool = False) -> tuple[TaggerOutput, Tokens]:
        """Run a tagger."""
        ids, mask, labels = batch
        with torch.set_grad_enabled(grad):
            hidden = tagger.body(input_ids=ids, attention_mask=mask.long()).last_hidden_state.flatten(0, 1)
            old = len(self.teacher.labels.names)
            return TaggerOutput(tagger.head(hidden), hidden), Tokens(labels, labels, self.teacher.labels.outside, old)

    def epoch(self, epoch: int) -> int:
        """Make one pass and return the number of steps."""
        began, losses = time.perf_counter(), []
        self.student.train()
        order = random.sample(range(len(self.rows)), len(self.rows))
        for step, batch in enumerate(self.batches(order)):
            student, tokens = self.outputs(self.student, batch, grad=True)
            if self.base:
                loss = nn.functional.cross_entropy(student.logits, tokens.labels, ignore_index=IGNORE)
            else:
                loss = self.rdp(student, tokens, batch)
            for group in self.optimizer.param_groups:
                share = (epoch + step * self.recipe.batch / len(order)) / self.recipe.epochs
                group["lr"] = self.recipe.rate(share, epoch, base=self.base)
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.student.parameters(), 1.0)
            self.optimizer.step()
            losses.append(loss.item())
        self.spent["steps"] += time.perf_counter() - began
        return len(losses)

    def rdp(self, student: TaggerOutput, tokens: Tokens, batch: Any) -> torch.Tensor:
        """Return RDP's loss, with the teacher run once more."""
        teacher, _ = self.outputs(self.teacher, batch)
        weights = prototype_weights(teacher.hidden, self.centres, self.seen, 1.0)
        guess = (weights * teacher.logits.softmax(-1)).argmax(-1)
        labels = torch.where(tokens.unannotated, guess, tokens.labels)
        targets = Tokens(labels, labels, tokens.outside, tokens.old)
        return sum(RDP().losses(student, teacher, tokens, targets).values(), torch.zeros((), device=self.device))

    @torch.no_grad()
    def score(self, part: str, sentences: Any) -> float:
        """Return the micro F1, counted word by word."""
        began = time.perf_counter()
        self.student.eval()
        kept, labels = self.rows, self.student.labels
        self.rows = [self.encode(Sentence(s.words, ()), labels) for s in sentences]
        correct = found = gold = row = 0
        for batch in self.batches(range(len(self.rows))):
            best = self.outputs(self.student, batch)[0].logits.argmax(-1).view(batch[0].shape)
            for line, marks in zip(best, batch[2].view(batch[0].shape), strict=True):
                names = [labels.names[int(i)] for i, mark in zip(line, marks, strict=True) if mark.item() != IGNORE]
                predicted, wanted = entities(names), {(s.start, s.end, s.type) for s in sentences[row].spans}
                correct, found, gold = correct + len(predicted & wanted), found + len(predicted), gold + len(wanted)
                row += 1
        self.rows = kept
        self.spent[part] += time.perf_counter() - began
        return 200 * correct / max(1, found + gold)


def entities(names: list[str]) -> set[tuple[int, int, str]]:
    """Read entities out of IOB2 tags."""
    found, start = set(), 0
    for i, (name, after) in enumerate(zip(names, [*names[1:], "O"], strict=True)):
        if name.startswith("B-") or (name != "O" and (i == 0 or names[i - 1][2:] != name[2:])):
            start = i
        if name != "O" and (after == "O" or after.startswith("B-") or after[2:] != name[2:]):
            found.add((start, i + 1, name[2:]))
    return found
