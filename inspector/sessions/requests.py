"""Which exchanges ask a model for an answer, and what they ask."""

import re

from inspector.model import Json
from inspector.sessions.exchange import RequestHead
from inspector.wire.providers import read_request
from inspector.wire.request import DecodedRequest

_WORDS = re.compile(r"[A-Za-z_-]+")
_OTHER_ENDPOINTS = re.compile(
    r"count_?tokens|input_tokens|(?:de)?tokenize|apply[-_]template|(?:batch)?embed(?:dings|content|contents)?|rerank"
    r"|score|classify|pooling|moderations|batches|files|jobs|threads|runs|assistants|show|pull|create|compact",
    re.IGNORECASE,
)
"""The last words of paths that take messages, prompts or inputs and generate nothing (the APIs' own references)."""


def request_of(head: RequestHead, json: Json) -> DecodedRequest | None:
    """What an exchange asks a model; None where it asks none, as most of what passes a proxy. Never raises.

    Counting tokens, embedding and the like have bodies like a generation's and answers that are none.
    """
    path = head.target.partition("?")[0].partition("#")[0]
    words = _WORDS.findall(path.rsplit("/", 1)[-1] or path)
    return None if words and _OTHER_ENDPOINTS.fullmatch(words[-1]) else read_request(head.target, json)
