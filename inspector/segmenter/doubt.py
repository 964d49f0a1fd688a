"""A marker in a payload of which it is not yet known whether it is data."""

from inspector.segmenter.payload import Follower

DOUBT_LIMIT = 65_536
"""How many code points a doubtful marker may keep the machine waiting."""


class Doubt:
    """The marker stands at `at` in the whole text, within a string of a payload that `follower` has read up to there.

    The text from `at` on was read up to `read_to`.
    """

    __slots__ = ("_follower", "at", "read_to")

    def __init__(self, at: int, follower: Follower) -> None:
        self.at = self.read_to = at
        self._follower = follower

    def read(self, text: str, start: int, *, final: bool) -> bool | None:
        """Read on in `text` from `start`; whether the marker is data, or None while that is not known.

        It is data if the payload's value completes, and counts if a character comes that no JSON can hold, if
        DOUBT_LIMIT code points have passed, or if the text is `final`, so that nothing follows.
        """
        limit = start + self.at + DOUBT_LIMIT - self.read_to
        read = self._follower.feed(text, start, min(len(text), limit))
        self.read_to += read - start
        if self._follower.completed:
            return True
        return False if self._follower.broken or read == limit or final else None
