"""Raw prompts without a template: each begins with the one before and its answer, as one text."""

from dataclasses import replace

from inspector.model import ParentWhy, Part, Turn, TurnFlag
from inspector.sessions.asking import ReadRequest
from inspector.sessions.finding import Relation, SessionPlace
from inspector.sessions.tracks import Tracks


def place_of_text(tracks: Tracks, read: ReadRequest) -> SessionPlace | None:
    """The trace whose prompt and answer, one text, a raw prompt without a template begins with."""
    prompt, text = read.prompt, read.text
    if text is None:
        return None
    found: SessionPlace | None = None
    for end in tracks.text_ends(read.asked.scope):
        if end.length >= len(prompt):
            break
        text.add(prompt[text.length : end.length])
        if text.value == end.digest:
            is_end = end.digest in end.track.text_answers
            if found is not None and found.cut == end.length and found.relation is Relation.CONTINUES and not is_end:
                continue  # its sibling, which went on
            found = SessionPlace(Relation.CONTINUES if is_end else Relation.BEGINS, end.track, cut=end.length)
    text.add(prompt[text.length :])
    same = tracks.longest(read.asked.scope, read.asked.prints.chain)
    if found is None or (same is not None and same[0]):
        return None
    return found if found.relation is Relation.CONTINUES else replace(found, why=ParentWhy.FORK)


def cut_text(turns: tuple[Turn, ...], at: int) -> tuple[Turn, ...]:
    """The turns with the text of a raw prompt cut in two: what its trace, or the parent, has of it, and what is new."""
    if not at:
        return turns
    prompt = turns[-1]
    text = _prompt_part(prompt)
    others = (Part("text", text.text[at:]), *(part for part in prompt.parts if part is not text))
    old = replace(prompt, parts=(Part("text", text.text[:at]),), flags=prompt.flags | {TurnFlag.COPIED_CONTEXT})
    return (*turns[:-1], old, replace(prompt, parts=others))


def _prompt_part(turn: Turn) -> Part:
    part = turn.part("text")
    assert part is not None, "a prompt that is a text has one"
    return part
