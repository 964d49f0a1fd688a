"""Runs SGLang's own tool-call detectors and reasoning parsers on texts; as `vllm_parsers`, whose stubs it uses.

Tested with SGLang 0.5.23.
"""

import enum
import importlib
import pathlib
import sys
import types

import vllm_parsers as base

STUBS = "torch xgrammar sglang.srt.environ sglang.srt.entrypoints sglang.srt.arg_groups sglang.srt.utils".split()


class _Flag:
    def __init__(self, name):
        self.name = name

    def get(self):
        return 0 if "LEVEL" in self.name else False


def load(wheel):
    base.STUBS[:] = STUBS
    sys.meta_path.insert(0, base._Finder())
    for name in ("sglang", "sglang.srt"):
        package = types.ModuleType(name)
        package.__path__ = [str(pathlib.Path(wheel).resolve() / name.replace(".", "/"))]
        sys.modules[name] = package
    environ = importlib.import_module("sglang.srt.environ")
    environ.envs = type("Envs", (), {"__getattr__": lambda self, name: _Flag(name)})()
    environ.ToolStrictLevel = enum.IntEnum("ToolStrictLevel", {"OFF": 0, "FUNCTION": 1, "PARAMETER": 2})
    protocol = importlib.import_module("sglang.srt.entrypoints.openai.protocol")
    import pydantic

    class Function(pydantic.BaseModel):
        name: str
        parameters: object = None
        description: object = None
        strict: bool = False

    class Tool(pydantic.BaseModel):
        type: str = "function"
        function: Function

    protocol.Tool, protocol.Function = Tool, Function
    import logging

    logging.disable(logging.CRITICAL)


def run(text, tools=None, tool=None, reasoning=None, stream=0, force=None, tokenizer=None):
    """What SGLang returns for a text, as its OpenAI server puts it together: reasoning first, then the calls."""
    Tool = importlib.import_module("sglang.srt.entrypoints.openai.protocol").Tool
    made = [Tool(**entry) for entry in tools or []]
    thought, calls = None, []
    try:
        if reasoning:
            module = importlib.import_module("sglang.srt.parser.reasoning_parser")
            options = {} if force is None else {"force_reasoning": force}
            reader = module.ReasoningParser(reasoning, stream_reasoning=False, **options)
            thought, text = reader.parse_non_stream(text)
        if tool and text:
            module = importlib.import_module("sglang.srt.function_call.function_call_parser")
            kind = module.FunctionCallParser.ToolCallParserEnum[tool]
            reader = kind()
            if stream:
                out = ""
                tokens = base.Tokenizer().tokenize(text)  # special tokens stay whole, as in a server
                for at in range(0, len(tokens), stream):
                    part = reader.parse_streaming_increment("".join(tokens[at : at + stream]), made)
                    out += part.normal_text
                    calls += [(call.tool_index, call.name, call.parameters) for call in part.calls]
                finish = getattr(reader, "finish", None)
                if finish:
                    part = finish(made)
                    out += part.normal_text
                    calls += [(call.tool_index, call.name, call.parameters) for call in part.calls]
                merged = {}
                for index, name, arguments in calls:
                    entry = merged.setdefault(index, [None, ""])
                    entry[0] = entry[0] or name
                    entry[1] += arguments or ""
                text, calls = out, [tuple(entry) for _, entry in sorted(merged.items())]
            elif reader.has_tool_call(text):
                part = reader.detect_and_parse(text, made)
                text, calls = part.normal_text, [(call.name, call.parameters) for call in part.calls]
        return base._answer(thought or None, text or None, calls)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:300]}
