"""Runs vLLM's own tool-call and reasoning parsers on texts, without a GPU, torch or a model.

What the parsers import beyond themselves is stubbed; nothing of vLLM is copied. `load` takes the folder of an unpacked
wheel, `run` then returns what `vllm serve --tool-call-parser X --reasoning-parser Y` would for a text. Tested with vLLM
0.33.0. Runs in the environment that `make build/servers/installed` makes, not in weaklink's.
"""

import importlib
import importlib.abc
import importlib.machinery
import logging
import pathlib
import re
import sys
import types
from unittest.mock import MagicMock

STUBS = (
    "torch triton xgrammar llguidance outlines_core ray zmq vllm._C vllm.assets vllm.attention "
    "vllm.beam_search vllm.compilation vllm.config vllm.connections vllm.distributed vllm.engine vllm.entrypoints "
    "vllm.env_override vllm.envs vllm.exceptions vllm.inputs vllm.logger vllm.lora vllm.model_executor vllm.multimodal "
    "vllm.outputs vllm.platforms vllm.plugins vllm.pooling_params vllm.renderers vllm.sampling_params vllm.sequence "
    "vllm.tokenizers vllm.tracing vllm.transformers_utils vllm.usage vllm.utils.math_utils vllm.utils.mistral "
    "vllm.utils.network_utils vllm.utils.serial_utils vllm.utils.torch_utils vllm.v1 vllm.version vllm.parser.metrics"
).split()
PLAIN = {"DeltaFunctionCall", "DeltaMessage", "DeltaToolCall", "ExtractedToolCallInformation", "FunctionCall"}
PLAIN |= {"ToolCall", "FunctionDefinition"}


class Namespace(types.SimpleNamespace):
    """Stands for the small protocol models that parsers build."""

    def __init__(self, **given):
        for name in "id index type function name arguments content reasoning tool_calls role tools_called".split():
            given.setdefault(name, None)
        if type(self).__name__ == "DeltaMessage":
            given["tool_calls"] = given["tool_calls"] or []
        if type(self).__name__ == "DeltaToolCall" and isinstance(given["function"], dict):  # as pydantic does
            given["function"] = Namespace(**given["function"])
        super().__init__(**given)

    def model_dump(self, **_):
        return {name: value for name, value in vars(self).items() if value is not None}


class _Anything(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _anything(name)

    def __or__(cls, other):
        return cls

    __ror__ = __getitem__ = __or__

    def __iter__(cls):
        return iter(())


def _anything(name):
    from pydantic_core import core_schema

    members = {
        "__get_pydantic_core_schema__": classmethod(lambda cls, source, handler: core_schema.any_schema()),
        "__init__": lambda self, *args, **kwargs: None,
        "__class_getitem__": classmethod(lambda cls, key: cls),
        "__call__": lambda self, *args, **kwargs: args[0] if args and callable(args[0]) else self,
        "__getattr__": lambda self, attribute: MagicMock(),
    }
    return _Anything(name, (), members)


class _StubModule(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = type(name, (Namespace,), {}) if name in PLAIN else _anything(name)
        setattr(self, name, value)
        return value


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if any(name == stub or name.startswith(stub + ".") for stub in STUBS):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return _StubModule(spec.name)

    def exec_module(self, module):
        if module.__name__ == "vllm.logger":

            def logger(name):
                made = logging.getLogger(name)
                for level in ("warning", "info", "debug", "error"):
                    setattr(made, f"{level}_once", getattr(made, level))
                return made

            module.init_logger = logger
        elif module.__name__ == "vllm.envs":
            module.VLLM_TOOL_JSON_ERROR_AUTOMATIC_RETRY = False
            module.VLLM_TOOL_PARSE_REGEX_TIMEOUT_SECONDS = 1
            module.VLLM_USE_EXPERIMENTAL_PARSER_CONTEXT = False
            module.VLLM_ENFORCE_STRICT_TOOL_CALLING = False
            module.VLLM_BEAM_ALWAYS_CONSTRAIN_OUTPUT = False
        elif module.__name__ == "torch":
            module.Tensor, module.dtype, module.device = (type(n, (), {}) for n in ("Tensor", "dtype", "device"))
        elif module.__name__ == "vllm.exceptions":
            module.VLLMValidationError = type("VLLMValidationError", (ValueError,), {})
        elif module.__name__ == "vllm.utils.mistral":
            module.is_mistral_tokenizer = lambda tokenizer: False
        elif module.__name__ == "vllm.renderers.chat_utils":
            module.make_tool_call_id = lambda *args, **kwargs: "call_0"
            module.get_tool_call_id_type = lambda *args: "random"


def load(wheel):
    """Makes `import vllm.parser` read the unpacked wheel."""
    sys.meta_path.insert(0, _Finder())
    package = types.ModuleType("vllm")
    package.__path__ = [str(pathlib.Path(wheel).resolve() / "vllm")]
    sys.modules["vllm"] = package
    package.envs = importlib.import_module("vllm.envs")
    logging.disable(logging.CRITICAL)
    utils = importlib.import_module("vllm.tool_parsers.utils")
    utils._is_function_tool = lambda tool: True
    utils._extract_tool_info = lambda tool: (tool.function.name, tool.function.parameters)


SPECIALS = """<think> </think> <tool_call> </tool_call> <tool_calls> </tool_calls> <tool_sep> <arg_key> </arg_key>
<arg_value> </arg_value> <|tool_calls_section_begin|> <|tool_calls_section_end|> <|tool_call_begin|> <|tool_call_end|>
<|tool_call_argument_begin|> <minimax:tool_call> </minimax:tool_call> <|tool_call> <tool_call|> <|"|> <|channel>
<channel|> [TOOL_CALLS] [ARGS] [CALL_ID] [THINK] [/THINK] <｜tool▁calls▁begin｜> <｜tool▁calls▁end｜>
<｜tool▁call▁begin｜> <｜tool▁call▁end｜> <｜tool▁sep｜> <tool_calls_begin> <seed:think> </seed:think>
<seed:tool_call> </seed:tool_call> <|python_tag|> <|tool_call|> <|start_of_role|> <|tools_prefix|> <|tools_suffix|>
<|inner_prefix|> <|inner_suffix|> <|tool_call_start|> <|tool_call_end|> <ifm|think> </ifm|think> <ifm|think_fast>
</ifm|think_fast> <ifm|think_faster> </ifm|think_faster> <ifm|tool_calls> </ifm|tool_calls> <|message_model|>
<|content_text|> <|content_thinking|> <|content_invoke_tool_json|> <|content_invoke_tool_text|> <|content_tool_error|>
<|content_model_end_sampling|> <|end_message|> <mm:think> </mm:think> ]<]minimax[>[ <longcat_tool_call>
</longcat_tool_call> <start_function_call> <end_function_call> <escape> <|open|> <|close|> <|sep|> <|end_of_msg|>
<|START_THINKING|> <|END_THINKING|> <|START_ACTION|> <|END_ACTION|> <|START_RESPONSE|> <|END_RESPONSE|>
<|START_TEXT|> <|END_TEXT|> <|start|> <|message|> <|eom|> <|eot|> <|channel|> <|end|> <|call|> <|return|> <|constrain|>
<|plamo:begin_tool_requests:plamo|> <|plamo:end_tool_requests:plamo|> <|plamo:begin_tool_request:plamo|>
<|plamo:end_tool_request:plamo|> <|plamo:begin_tool_name:plamo|> <|plamo:end_tool_name:plamo|>
<|plamo:begin_tool_arguments:plamo|> <|plamo:constrain|> <|plamo:msg|> <|plamo:end_tool_arguments:plamo|>
<|plamo:begin_think:plamo|> <|plamo:end_think:plamo|> <function </function> <param </param> <response> </response>
<｜tool_calls_begin｜> <｜tool_calls_end｜> <｜tool_call_begin｜> <｜tool_call_end｜> <｜tool_sep｜>
<|message_sep|> <|role_sep|> <dots_function_call> </dots_function_call> <|action_start|> <|action_end|> <|plugin|>
<assistant> </assistant> <answer> </answer> <function_calls> </function_calls>""".split()


class Tokenizer:
    """Special tokens are one token each; every other code point is one token."""

    chat_template = ""
    all_special_ids, all_special_tokens = [], []
    is_fast, eos_token_id, bos_token_id = True, None, None

    def __init__(self, specials=(), response_template=None, without=()):
        known = [token for token in dict.fromkeys([*SPECIALS, *specials]) if token not in without]
        self.specials = sorted(known, key=len, reverse=True)
        self.ids = {token: 2_000_000 + at for at, token in enumerate(self.specials)}
        self.vocabulary = {
            **self.ids,
            **{token: 3_000_000 + at for at, token in enumerate(["Ġ</", "</", "think", ">"])},
        }
        self.tokens = {at: token for token, at in self.ids.items()}
        self.pattern = re.compile("|".join(map(re.escape, self.specials)) + "|.", re.DOTALL)
        self.init_kwargs = {}
        self.response_template = response_template

    def get_vocab(self):
        return dict(self.vocabulary)

    vocab = property(get_vocab)

    def tokenize(self, text, **_):
        return self.pattern.findall(text)

    def encode(self, text, **_):
        return [self.ids[token] if token in self.ids else ord(token) for token in self.tokenize(text)]

    def decode(self, ids, **_):
        ids = [ids] if isinstance(ids, int) else ids
        return "".join(self.tokens.get(at) or chr(at) for at in ids)

    def convert_tokens_to_ids(self, tokens):
        return self.ids.get(tokens) if isinstance(tokens, str) else [self.ids.get(token) for token in tokens]

    def convert_ids_to_tokens(self, ids, **_):
        return self.decode(ids) if isinstance(ids, int) else [self.decode(at) for at in ids]

    def convert_tokens_to_string(self, tokens):
        return "".join(tokens)

    def __call__(self, text, **_):
        return types.SimpleNamespace(input_ids=self.encode(text))

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: []


def request(tools, kwargs):
    """A chat request with these tools."""
    made = []
    for tool in tools or []:
        function = tool.get("function", tool)
        made.append(
            types.SimpleNamespace(
                type="function",
                function=types.SimpleNamespace(
                    name=function["name"], parameters=function.get("parameters"), description=None, strict=None
                ),
                model_dump=lambda tool=tool, **_: tool,
            )
        )
    return types.SimpleNamespace(
        tools=made,
        tool_choice="auto",
        messages=[],
        chat_template_kwargs=kwargs,
        reasoning_effort=kwargs.get("reasoning_effort"),
        skip_special_tokens=False,
        include_reasoning=True,
        input=[],
        parallel_tool_calls=True,
    )


def parser(tool, reasoning, tokenizer, tools, kwargs):
    """The parser that `vllm serve --tool-call-parser TOOL --reasoning-parser REASONING` makes for one request."""
    manager = importlib.import_module("vllm.parser.parser_manager").ParserManager
    made = manager.get_parser(tool_parser_name=tool, reasoning_parser_name=reasoning, enable_auto_tools=True)
    return made(tokenizer, tools, chat_template_kwargs=kwargs)


def run(
    text,
    tools=None,
    tool=None,
    reasoning=None,
    kwargs=None,
    specials=(),
    stream=0,
    response_template=None,
    prompt=None,
    without=(),
):
    """What vLLM returns for a text: {"content", "reasoning", "tool_calls"} or {"error"}."""
    kwargs = kwargs or {}
    tokenizer = Tokenizer(specials, response_template, without)
    try:
        asked = request(tools, kwargs)
        made = parser(tool, reasoning, tokenizer, asked.tools, kwargs)
        if prompt is not None:
            made.set_prompt_token_ids(tokenizer.encode(prompt))
        if stream:
            return _streamed(made, text, tokenizer, asked, stream, prompt)
        thought, content, calls = made.parse(text, asked, True, tokenizer.encode(text))
        return _answer(thought, content, [(call.name, call.arguments) for call in calls or []])
    except Exception as error:  # the server would answer 500
        return {"error": f"{type(error).__name__}: {error}"[:300]}


def _streamed(made, text, tokenizer, asked, step, prompt):
    thought, content, calls = "", "", {}
    tokens = tokenizer.tokenize(text)
    pieces = ["".join(tokens[at : at + step]) for at in range(0, len(tokens), step)] or [""]
    for at, piece in enumerate(pieces):
        delta = made.parse_delta(
            piece, tokenizer.encode(piece), asked, tokenizer.encode(prompt or ""), finished=at == len(pieces) - 1
        )
        if delta is None:
            continue
        if not all(isinstance(part, str | None) for part in (delta.reasoning, delta.content)):
            raise TypeError("the stubs do not cover the streaming of this parser")
        thought, content = thought + (delta.reasoning or ""), content + (delta.content or "")
        for call in delta.tool_calls or []:
            entry = calls.setdefault(call.index, [None, ""])
            entry[0] = entry[0] or (call.function and call.function.name)
            more = (call.function and call.function.arguments) or ""
            if not isinstance(more, str):
                raise TypeError("the stubs do not cover the streaming of this parser")
            entry[1] += more
    return _answer(thought or None, content or None, [tuple(call) for _, call in sorted(calls.items())])


def _answer(thought, content, calls):
    return {
        "content": content,
        "reasoning": thought,
        "tool_calls": [{"name": name, "arguments": arguments} for name, arguments in calls],
    }
