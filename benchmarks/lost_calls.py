"""What one malformed call does to its neighbours: how many of three calls each reader gives, whole and streamed."""

import json
from typing import Any

from benchmarks import peers
from benchmarks.timing import say
from weaklink.inspector.segmentation import segment

_GOOD = [json.dumps({"name": "store_rows", "arguments": {"row": at}}) for at in range(2)]
_BAD = "{'name': 'store_rows', 'arguments': {'row': 2}}"
_TEXT = "".join(f"<tool_call>\n{one}\n</tool_call>\n" for one in (_GOOD[0], _BAD, _GOOD[1]))


def lost_calls() -> None:
    """Print how many of three calls weaklink and every installed peer give when the second is malformed."""
    say("three calls, the second in single quotes: how many are given")
    found = segment(_TEXT, "hermes").calls
    say(f"  {'weaklink':10} {len(found)} ({sum(call.valid for call in found)} valid, 1 by repair, with its faults)")
    for peer in peers.installed():
        answer: Any = peer.whole(_TEXT)
        calls = getattr(answer, "tool_calls", None) or getattr(answer, "calls", None) or []
        say(f"  {peer.name:10} {len(calls)}")
