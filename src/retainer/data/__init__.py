"""Text in and out: spans, tags, words, corpora, tasks, file formats, and checks of what they hold."""
