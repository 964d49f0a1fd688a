"""What weaklink raises: only for its caller's mistakes and for the outside world, never for a fault in a stream."""


class WeaklinkError(Exception):
    """The root of every exception that weaklink raises on purpose; its text names the thing and the place."""


class UnknownFormatError(WeaklinkError):
    """A format was asked for by a name that no registered format bears."""


class UnknownRuleError(WeaklinkError):
    """A rule was asked for by a code, name or prefix that stands for none."""


class UnreadableFileError(WeaklinkError):
    """A file could not be read, or is not what its reader expects; the text bears path and line."""


class StoreError(WeaklinkError):
    """A database could not be opened, read or written; the text bears its path or its URL without the password."""


class SinkError(WeaklinkError):
    """What was recorded could not be handed to the place it was meant for; the text bears that place."""


class InvalidPatternError(WeaklinkError):
    """A pattern that the caller gave cannot be used; the text bears the pattern and why."""
