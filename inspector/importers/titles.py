"""What a session is called where its source gives it no title: the user's first words, and the project's folder."""

import re
from collections.abc import Iterable

from inspector.model import Role, Turn

_LONGEST = 120
# What clients put before or around the user's own words.
_TAGGED = re.compile(r"\s*<(?P<tag>[\w-]{1,60})(?:\s[^<>]{0,200})?>.*?</(?P=tag)>\s*", re.DOTALL)
_READ = 20_000


def first_words(turns: Iterable[Turn]) -> str:
    """The first line that the user wrote, at most 120 characters; `""` where the user wrote none.

    Turns with a flag (injected, copied) and blocks in tags (`<system-reminder>`) are not the user's words.
    """
    for turn in turns:
        if turn.role is not Role.USER or turn.flags:
            continue
        said = " ".join(part.text[:_READ] for part in turn.parts if part.name == "text")
        line = next((line.strip() for line in _TAGGED.sub("\n", said).splitlines() if line.strip()), "")
        if line:
            return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1].rstrip()}…"
    return ""


def project_of(folder: str) -> str:
    """The last part of the path of the folder that an agent worked in, `""` where it is not known."""
    return folder.replace("\\", "/").rstrip("/").rpartition("/")[2]
