"""Rows of public training and evaluation sets whose shape is their own, as rows of OpenAI's messages.

Each reader takes a row and returns it with `messages` and `tools` in OpenAI's form, and its other members; None if the
row has another shape. A set of prompts without answers gives conversations that end with the user's message; their
tools and references can be checked.

A call keeps its own text as the message's arguments wherever the row has one, so that its faults are found.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from msgspec import Struct

from weaklink.inspector.apis.openai.messages import call_object, message_object
from weaklink.inspector.importers.data.tool_definitions import json_objects, openai_tools
from weaklink.inspector.importers.data.written_calls import read_calls
from weaklink.inspector.importers.records import json_within
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.json_scanner import read_json
from weaklink.inspector.json_text import list_of, objects_of, word_of, write_json
from weaklink.inspector.model import Json
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.segmentation import segment

Reader = Callable[[JsonObject], JsonObject | None]


class PublicShape(Struct, frozen=True):
    """A shape: its name, the members by which a row has it, and the reader of such a row.

    `moved` are the members whose contents the reader puts into `messages` and `tools`; they are left out.
    """

    name: str
    keys: tuple[str, ...]
    read: Reader
    moved: tuple[str, ...] = ()


def public_row(row: JsonObject) -> JsonObject | None:
    """The row as OpenAI's messages, by the first shape that it has; None if it has none of them, or was read before.

    An answer that somebody added to a prompt (`ANSWERS`) is the last message.
    """
    found = public_prompt(row)
    return found if found is None else _answered(found)


def public_prompt(row: JsonObject) -> JsonObject | None:
    """The row as `public_row` reads it, with an added answer still in its own member."""
    is_read = row.get("messages") is not None
    for shape in PUBLIC_SHAPES:
        if is_read and "messages" not in shape.keys:
            continue
        if row.get(shape.keys[0]) is not None and all(row.get(key) is not None for key in shape.keys):
            found = shape.read(row)
            if found is not None:
                return {key: value for key, value in found.items() if key not in shape.moved}
    return None


def _answered(row: JsonObject) -> JsonObject:
    """The row with its added answer as messages; unchanged if it has none, or ends with an answer of its own."""
    messages, name = row.get("messages"), _answer_member(row)
    last = messages[-1] if isinstance(messages, list) and messages else None
    if name is None or not isinstance(messages, list) or not isinstance(last, dict) or last.get("role") == "assistant":
        return row
    kept = {key: value for key, value in row.items() if key != name}
    return {**kept, "messages": [*messages, *answer_messages(row[name])]}


def _answer_member(row: JsonObject) -> str | None:
    return next((name for name in ANSWERS if isinstance(row.get(name), str | list | dict)), None)


def answer_messages(answer: Json) -> list[Json]:
    """The messages of an answer: a text, a message, or a list of messages; one without text if it is empty."""
    if isinstance(answer, str):
        return [{"role": "assistant", "content": answer}]
    return (answer if isinstance(answer, list) else [answer]) or [{"role": "assistant", "content": ""}]


def _with(row: JsonObject, messages: Iterable[Json], tools: Json = None, **more: Json) -> JsonObject:
    found: JsonObject = {**row, **more, "messages": list(messages)}
    if tools is not None:
        found["tools"] = openai_tools(tools)
    return found


def _call(name: Json, arguments: Json) -> JsonObject:
    return call_object(name, arguments if isinstance(arguments, str) else write_json(arguments, ascii_only=False))


def _calls_in(value: Json) -> list[JsonObject]:
    """The calls in the content of a message or block: objects, or the text of some, which may be broken."""
    calls = [_call(object_.get("name"), object_.get("arguments", {})) for object_ in json_objects(value)]
    if calls or not isinstance(value, str):
        return calls or [_call(None, value)]
    return [_call(header.name, arguments) for header, arguments in read_calls(value)]


def _xlam(row: JsonObject) -> JsonObject | None:
    """Salesforce/xlam-function-calling-60k and APIGen: the calls are the answer, or the reference of another one."""
    query, answers = row["query"], json_within(row["answers"])
    is_broken = isinstance(answers, str) and answers.lstrip()[:1] == "["
    if not isinstance(query, str) or not (is_broken or isinstance(answers, list)):
        return None
    is_reference = any(row.get(key) is not None for key in (*ANSWERS, *_OTHER_ANSWERS))
    calls = _calls_in(answers) if answers and not is_reference else []
    messages: list[Json] = [message_object("user", query)]
    if not calls:
        return _with(row, messages, row["tools"])
    kept = {key: one for key, one in row.items() if key != "answers"}  # what is the answer is not its own reference
    return _with(kept, [*messages, message_object("assistant", None, calls=calls)], row["tools"])


def _bfcl(row: JsonObject) -> JsonObject | None:
    """The Berkeley leaderboard's tasks: prompts in turns, of which the first is read."""
    question = json_within(row["question"])
    if isinstance(question, str):
        messages: list[Json] = [{"role": "user", "content": question}]
    else:
        turns = question if isinstance(question, list) else []
        messages = list(json_objects(turns[0] if turns and isinstance(turns[0], list) else turns))
    return _with(row, messages, row["function"]) if messages else None


def _verl(row: JsonObject) -> JsonObject | None:
    """Verl's prompts: the reference is in `reward_model`, further members may be in `extra_info`."""
    prompt = json_objects(row["prompt"])
    if not prompt or any(row.get(key) is not None for key in _OTHER_ANSWERS):
        return None
    if row.get("tools") is not None:
        return _with(row, prompt, row["tools"])
    kept, offered = _without_tools(row, "extra_info", ("tools",))
    return _with(kept, prompt, offered)


ANSWERS = ("completion", "answer", "response")
"""The members with the answer to a row's prompt; the first one that is a text, a message or a list counts."""
_OTHER_ANSWERS = ("responses", "output", "chosen")


def _without_tools(row: JsonObject, member: str, names: tuple[str, ...]) -> tuple[JsonObject, Json]:
    """The row without the list of tools in one of its members, which is left out if nothing else is in it; the list."""
    held = json_within(row.get(member))
    name = next((name for name in names if held.get(name)), None) if isinstance(held, dict) else None
    if name is None or not isinstance(held, dict):
        return row, None
    left = {key: one for key, one in held.items() if key != name}
    kept: JsonObject = {key: one for key, one in row.items() if key != member}
    if left:
        kept[member] = write_json(left, ascii_only=False) if isinstance(row[member], str) else left
    return kept, held[name]


def _when2call_preference(row: JsonObject) -> JsonObject | None:
    chosen, messages = json_within(row["chosen_response"]), json_objects(row["messages"])
    answer: JsonObject = chosen if isinstance(chosen, dict) else {"role": "assistant", "content": chosen}
    kept = {key: one for key, one in row.items() if key not in ("chosen_response", "rejected_response")}
    return _with(kept, [*messages, answer], row.get("tools"))


def _when2call_test(row: JsonObject) -> JsonObject | None:
    question, answers = row["question"], json_within(row["answers"])
    if not isinstance(question, str) or not isinstance(answers, dict):
        return None
    right = answers.get(str(row["correct_answer"])) if _answer_member(row) is None else None
    messages: list[Json] = [{"role": "user", "content": question}]
    kept = {key: one for key, one in row.items() if key != "answers"}  # texts of all kinds of answers: no reference
    answer: list[Json] = [{"role": "assistant", "content": right}] if isinstance(right, str) else []
    return _with(kept, [*messages, *answer], row.get("tools"))


def _art(row: JsonObject) -> JsonObject | None:
    """ART's trajectories: messages, and OpenAI's choices in the places of the answers."""
    listed = json_objects(row["messages_and_choices"])
    messages = [one["message"] if isinstance(one.get("message"), dict) else one for one in listed]
    return _with(row, messages, row.get("tools")) if messages else None


_CONTENTS = frozenset({"content", "tool_calls"})


def _trajectory(row: JsonObject) -> JsonObject | None:
    listed = json_objects(row["trajectory"])
    # In a table, a content of null is absent.
    if not listed or not all(isinstance(one.get("role"), str) and one.keys() & _CONTENTS for one in listed):
        return None
    return _with(row, listed, row.get("tools"))


_GLAIVE_PART = lazy_pattern(r"(USER|ASSISTANT|FUNCTION RESPONSE):[ \t]?")
_GLAIVE_CALL = lazy_pattern(r"<functioncall>\s*(\{.*\})\s*", re.DOTALL)
_GLAIVE_ARGUMENTS = lazy_pattern(
    r'"name"\s*:\s*"([^"]*)"\s*,\s*"arguments"\s*:\s*(?:\'(.*)\'|(\{.*\}|".*"))\s*\}', re.DOTALL
)
_GLAIVE_ROLES = {"USER": "user", "ASSISTANT": "assistant", "FUNCTION RESPONSE": "tool"}


def _glaive(row: JsonObject) -> JsonObject | None:
    """Glaive's function calling v2: the system prompt with JSON definitions, and the whole talk in one text."""
    system, chat = row["system"], row["chat"]
    if not isinstance(system, str) or not isinstance(chat, str) or _GLAIVE_PART.search(chat) is None:
        return None
    words = system.removeprefix("SYSTEM:").strip()
    messages: list[Json] = [{"role": "system", "content": words}, *_glaive_messages(chat)]
    return {
        **{key: one for key, one in row.items() if key != "system"},
        "messages": messages,
        "tools": openai_tools([*_definitions_in(words)]),
    }


def _glaive_messages(chat: str) -> Iterator[JsonObject]:
    parts = list(_GLAIVE_PART.finditer(chat))
    ends = [*(part.start() for part in parts[1:]), len(chat)]
    for part, end in zip(parts, ends, strict=True):
        role, text = _GLAIVE_ROLES[part[1]], chat[part.end() : end].strip().removesuffix("<|endoftext|>").strip()
        call = _GLAIVE_CALL.search(text) if role == "assistant" else None
        if call is None:
            yield {"role": role, "content": text}
        else:
            yield message_object("assistant", text[: call.start()].strip() or None, calls=[_glaive_call(call[1])])


def _glaive_call(text: str) -> JsonObject:
    """A call; its arguments are JSON in single quotes, which is no JSON, but how the whole set is written."""
    match = _GLAIVE_ARGUMENTS.search(text)
    if match is None:
        return _call(None, text)
    arguments = match[2] if match[2] is not None else match[3]
    return _call(match[1], arguments.replace("\\'", "'"))


def _definitions_in(text: str) -> list[JsonObject]:
    """The definitions in a text that follow each other or are in a list, each a JSON object."""
    found: list[JsonObject] = []
    depth = start = 0
    in_string = is_escaped = False
    for index, character in enumerate(text):
        if in_string:
            in_string = is_escaped or character != '"'
            is_escaped = character == "\\" and not is_escaped
        elif character == '"':
            in_string = depth > 0
        elif character == "{":
            start = index if not depth else start
            depth += 1
        elif character == "}" and depth:
            depth -= 1
            value = json_within(text[start : index + 1]) if not depth else None
            if isinstance(value, dict) and isinstance(value.get("name"), str):
                found.append(value)
    return found


_TOOLACE_ROLES = {"user": "user", "human": "user", "assistant": "assistant", "gpt": "assistant", "tool": "tool"}


def _toolace(row: JsonObject) -> JsonObject | None:
    """ToolACE with names of tools that no Python name can be: `[Market Trends API(country=5)]`.

    Its other rows are ShareGPT with calls in Python's syntax.
    """
    system, conversation = row["system"], json_objects(row["conversations"])
    if not isinstance(system, str) or not all(word_of(one.get("from")) in _TOOLACE_ROLES for one in conversation):
        return None
    definitions = _definitions_in(system)
    names = [str(tool["name"]) for tool in definitions]
    plain = {name: re.sub(r"\W", "_", name) for name in names if not name.replace(".", "_").isidentifier()}
    if not plain:
        return None
    messages: list[Json] = [_toolace_message(one, plain) for one in conversation]
    return {**row, "messages": messages, "tools": openai_tools([*definitions])}


def _toolace_message(message: JsonObject, plain: Mapping[str, str]) -> JsonObject:
    role, text = _TOOLACE_ROLES[str(message["from"])], str(message.get("value"))
    if role != "assistant" or not text.lstrip().startswith("["):
        return {"role": role, "content": text}
    unknown = {name: re.sub(r"\W", "_", name) for name in _SPACED_NAME.findall(text)}
    for names in (plain, {**unknown, **plain}):  # a misspelt name is one of no tool, and still a call
        renamed = text
        for name in sorted(names, key=len, reverse=True):
            renamed = renamed.replace(f"{name}(", f"{names[name]}(")
        original = {safe: name for name, safe in names.items()}
        calls = segment(renamed, "pythonic").calls
        if calls and all(call.valid and isinstance(call.arguments, dict) for call in calls):
            named = [_call(original.get(call.name or "", call.name), call.arguments) for call in calls]
            return message_object("assistant", None, calls=named)
    return {"role": role, "content": text}


_SPACED_NAME = lazy_pattern(r"(?:^\s*\[|\),\s*)([A-Za-z][\w./-]*(?: [\w./-]+){1,8})(?=\()")  # [Market Trends API(


def _blocks(row: JsonObject) -> JsonObject | None:
    """LLaMA-Factory v1: contents are lists of `{"type", "value"}`, and a call is a block."""
    messages = json_objects(row["messages"])
    if not any(_is_block(block) for message in messages for block in list_of(message.get("content"))):
        return None
    return _with(row, map(_unblocked, messages), row.get("tools"))


def _is_block(value: Json) -> bool:
    return isinstance(value, dict) and isinstance(value.get("type"), str) and "value" in value and "text" not in value


def _unblocked(message: JsonObject) -> JsonObject:
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[JsonObject] = []
    for block in objects_of(message.get("content")):
        kind, value = block.get("type"), block.get("value")
        if kind in ("tool_call", "tool_calls", "function_call"):
            calls += _calls_in(value)
        elif isinstance(value, str):
            (thoughts if kind in ("reasoning", "thinking") else texts).append(value)
    kept = {key: one for key, one in message.items() if key != "content"}
    found: JsonObject = {**kept, **message_object(message.get("role"), "".join(texts), calls=calls)}
    return {**found, "reasoning_content": "\n".join(thoughts)} if thoughts else found


def _swift(row: JsonObject) -> JsonObject | None:
    """ms-swift's roles `tool_call` and `tool_response`; calls that follow each other are parallel."""
    messages = json_objects(row["messages"])
    if not any(message.get("role") in ("tool_call", "tool_response") for message in messages):
        return None
    found: list[JsonObject] = []
    is_open = False
    for message in messages:
        role, content = message.get("role"), message.get("content")
        if role == "tool_call":
            calls = _calls_in(content)
            marks = {key: one for key, one in message.items() if key not in ("role", "content")}
            if is_open:
                listed = found[-1]["tool_calls"]
                assert isinstance(listed, list)
                listed += calls
            else:
                found.append({**message_object("assistant", None, calls=calls), **marks})
        else:
            found.append({**message, "role": "tool"} if role == "tool_response" else message)
        is_open = role == "tool_call"
    return _with(row, found, row.get("tools"))


def _smoltalk(row: JsonObject) -> JsonObject | None:
    """smoltalk2: the tools are arguments of the chat template."""
    kept, tools = _without_tools(row, "chat_template_kwargs", ("xml_tools", "python_tools"))
    return _with(kept, json_objects(row["messages"]), tools) if tools and row.get("tools") is None else None


def _verifiers_result(row: JsonObject) -> JsonObject | None:
    """A result of `verifiers`: TRL's prompt and completion, with the tools in `info`."""
    prompt, completion = json_objects(row["prompt"]), json_objects(row["completion"])
    kept, tools = _without_tools(row, "info", ("oai_tools", "tools"))
    if not prompt or not completion or not tools or row.get("tools") is not None:
        return None
    return {**kept, "prompt": [*prompt], "completion": [*completion], "tools": openai_tools(tools)}


def _ranking(row: JsonObject) -> JsonObject | None:
    """LLaMA-Factory's ranking: the chosen answer is one more message of the conversation."""
    conversation, chosen = json_objects(row["conversations"]), json_within(row["chosen"])
    if not conversation or not isinstance(chosen, dict):
        return None
    kept = {key: one for key, one in row.items() if key not in ("chosen", "rejected")}
    return {**kept, "conversations": [*conversation, chosen]}


_REACT = lazy_pattern(r"(?m)^Action: .+\n+Action Input:")
_LIST_OF_OBJECTS = lazy_pattern(r"\[\s*\{")
_MAX_LISTS = 4


def _toolbench(row: JsonObject) -> JsonObject | None:
    """ToolBench: the system prompt lists the tools in its prose, as Python or JSON writes them; calls are ReAct's."""
    conversation = json_objects(row["conversations"])
    prompt = conversation[0].get("value") if conversation and row.get("tools") is None else None
    is_react = any(isinstance(text := one.get("value"), str) and _REACT.search(text) for one in conversation[1:])
    if not isinstance(prompt, str) or not is_react:
        return None
    for begin in islice(_LIST_OF_OBJECTS.finditer(prompt), _MAX_LISTS):
        nodes = read_json(prompt[begin.start() :]).nodes
        listed = nodes[0].value() if nodes else None
        if isinstance(listed, list) and all(map(_is_definition, listed)):
            return {**row, "tools": openai_tools(listed)}
    return None


def _is_definition(value: Json) -> bool:
    inner = value.get("function", value) if isinstance(value, dict) else None
    return isinstance(inner, dict) and isinstance(inner.get("name"), str) and "parameters" in inner


PUBLIC_SHAPES = (
    PublicShape("ToolBench", ("conversations",), _toolbench),
    PublicShape("xLAM and APIGen", ("query", "answers", "tools"), _xlam, ("query",)),
    PublicShape("Glaive function calling v2", ("system", "chat"), _glaive, ("chat",)),
    PublicShape("the Berkeley leaderboard", ("question", "function"), _bfcl, ("question", "function")),
    PublicShape("When2Call's test", ("question", "answers", "correct_answer"), _when2call_test, ("question",)),
    PublicShape("When2Call's preferences", ("messages", "chosen_response"), _when2call_preference),
    PublicShape("ART", ("messages_and_choices",), _art, ("messages_and_choices",)),
    PublicShape("LLaMA-Factory's ranking", ("conversations", "chosen"), _ranking),
    PublicShape("ToolACE", ("system", "conversations"), _toolace, ("conversations",)),
    PublicShape("smoltalk2", ("messages", "chat_template_kwargs"), _smoltalk),
    PublicShape("LLaMA-Factory v1", ("messages",), _blocks),
    PublicShape("ms-swift", ("messages",), _swift),
    PublicShape("a trajectory of messages", ("trajectory",), _trajectory, ("trajectory",)),
    PublicShape("results of verifiers", ("prompt", "completion", "info"), _verifiers_result),
    PublicShape("verl", ("prompt", "reward_model"), _verl, ("prompt",)),
)
"""Every shape that needs a reader of its own, the more specific ones first."""
