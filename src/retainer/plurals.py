"""Numbers with the word for what they count, so that no message says "1 sentences", and small numbers as words."""

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


def number_in_words(number: int) -> str:
    """Write a small number as a word."""
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)
