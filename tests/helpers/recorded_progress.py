"""A progress that keeps what it hears."""

from retainer.training.progress import Progress


class Record(Progress):
    """Remembers what it hears; stops the run after an epoch if asked to."""

    def __init__(self, stop_after=None):
        self.epochs, self.steps, self.stop_after, self.notes = [], 0, stop_after, []

    def step(self):
        self.steps += 1

    def epoch(self, epoch):
        self.epochs.append(epoch)

    def note(self, text):
        self.notes.append(text)
