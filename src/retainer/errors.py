"""The one error a user is meant to see."""


class InputError(ValueError):
    """The user's input or call is wrong; the message is one clear sentence that says what to do.

    The command line turns it into exit status 2. Anything else that escapes is our own fault (status 3).
    """
