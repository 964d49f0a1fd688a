"""Several output messages of one request: pieces of one answer, or choices of which the first is the answer."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from inspector.model import CallHeader, Part, Role, Turn

_JOINED = ("text", "reasoning")


def one_answer(messages: Sequence[Turn]) -> Turn:
    """All that the messages say as one turn of the assistant; there must be one message. Nothing is left out.

    Messages of which only some hold calls are pieces of one answer, in their order: their texts follow each other on
    lines of their own, and their calls are numbered through. Else the first is the answer, and the parts of the others
    have the names of further choices (`choice1:text`).
    """
    turns = [replace(one, role=Role.ASSISTANT, result=None) for one in messages]
    with_calls = sum(bool(one.calls) for one in turns)
    if len(turns) > 1 and 0 < with_calls < len(turns):
        return _joined(turns)
    first, *others = turns
    further = [replace(part, name=f"choice{at}:{part.name}") for at, one in enumerate(others, 1) for part in one.parts]
    return replace(first, parts=(*first.parts, *further))


def _joined(turns: Sequence[Turn]) -> Turn:
    parts: dict[str, Part] = {}
    calls: list[CallHeader] = []
    seen: Counter[str] = Counter()
    for turn in turns:
        named = {header.part: header for header in turn.calls}
        for part in turn.parts:
            if part.name in named:
                name = f"call:{len(calls)}"
                calls.append(replace(named[part.name], part=name))
                parts[name] = replace(part, name=name)
            elif part.name in _JOINED and part.name in parts:
                before = parts[part.name].text
                parts[part.name] = Part(
                    part.name, f"{before}\n{part.text}" if before and part.text else before + part.text
                )
            else:
                seen[part.name] += 1
                name = part.name if seen[part.name] == 1 else f"{part.name}:{seen[part.name]}"
                parts[name] = replace(part, name=name)
    return replace(turns[0], parts=tuple(parts.values()), calls=tuple(calls))
