"""Rewrites one raw model output into another format, and reads it back to say what did not survive."""

from collections.abc import Iterator, Sequence

from inspector.dataset.fitting import Fitting
from inspector.dataset.rereading import reread
from inspector.formats.completion import Completion, Piece, Reasoning, Words, write_completion
from inspector.formats.completion.pieces import calls_of, tidy
from inspector.formats.format import Format
from inspector.model import ToolDefinition
from inspector.segmentation import segment


def convert_text(
    text: str, source: Format, target: Format, *, prompt: str = "", tools: Sequence[ToolDefinition] = ()
) -> Completion:
    """`text`, an output of a model of `source`, as a model of `target` would emit it.

    `prompt` is what stood before `text`; `tools` are those on offer, by which values without types are read. `dropped`
    names everything that the target cannot hold, and each malformed call. Raises ValueError where `text` is more than
    one model output.
    """
    offered = tuple(tools)
    read = reread(segment(text, source.name, prompt=prompt, tools=offered))
    notes = list(read.notes)
    pieces = Fitting(target, offered).fit(read.pieces, text, notes)
    return written(pieces, target, offered, notes)


def written(pieces: Sequence[Piece], target: Format, tools: tuple[ToolDefinition, ...], notes: list[str]) -> Completion:
    """The completion of these pieces, with `notes` and what reading it back finds changed in `dropped`."""
    completion = write_completion(pieces, target)
    told = [*notes, *completion.dropped]
    return Completion(completion.text, completion.prompt, (*told, *_changed(pieces, completion, target, tools, told)))


def _changed(
    pieces: Sequence[Piece],
    completion: Completion,
    target: Format,
    tools: tuple[ToolDefinition, ...],
    told: Sequence[str],
) -> Iterator[str]:
    """What the text says to a reader of the target that the pieces did not say."""
    back = segment(completion.text, target.name, prompt=completion.prompt, tools=tools)
    name, calls = target.name, calls_of(pieces)
    found = [call for call in back.calls if call.valid or call.recovered]
    if [call.name for call in found] != [call.name for call in calls]:
        yield (
            f"The calls as they were: read as `{name}`, this text has {_counted(len(found))} where there "
            f"{'was' if len(calls) == 1 else 'were'} {len(calls)}; something in it stands for {name}'s own syntax."
        )
        return
    changed = [one.name for one, two in zip(calls, found, strict=True) if one.arguments != two.arguments]
    if changed and not any("exact arguments" in one for one in told):
        yield f"The exact arguments of the call of `{changed[0]}`: read as `{name}`, they come back changed."
    if completion.dropped or len(found) != len(back.calls):
        return
    if _bare(pieces, Words) != "".join(back.content.split()):
        yield f"The words as they were: read as `{name}`, they come back changed; something in them is {name}'s syntax."
    if _bare(pieces, Reasoning) != "".join(back.reasoning.split()):
        yield f"The reasoning as it was: read as `{name}`, it comes back changed."


def _bare(pieces: Sequence[Piece], kind: type[Words] | type[Reasoning]) -> str:
    """The texts of one kind without white space, which formats put between pieces as they like."""
    return "".join(word for piece in tidy(pieces) if isinstance(piece, kind) for word in piece.text.split())


def _counted(calls: int) -> str:
    return "1 call" if calls == 1 else f"{calls} calls"
