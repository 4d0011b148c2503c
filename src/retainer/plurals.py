"""Numbers with the word for what they count ("1 sentence", not "1 sentences"), small numbers as words, and times."""

_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
).split()


def amount(number: int, one: str, many: str | None = None) -> str:
    """Write how many there are of something; ``many`` where its plural is not ``one`` with an s."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def sentences(number: int) -> str:
    """Write a number of sentences."""
    return amount(number, "sentence")


def entities(number: int) -> str:
    """Write a number of entities."""
    return amount(number, "entity", "entities")


def duration(seconds: float) -> str:
    """Write roughly how long something takes."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def number_in_words(number: int) -> str:
    """Write a small number as a word."""
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)
