"""`openai`: the JSON of OpenAI's APIs: messages, chat completions and their chunks, Responses items and events.

Sources: OpenAI's API reference; langchain-openai:tests/unit_tests/chat_models/test_base.py. Any other text is the plain
content of such an answer: servers of open models leave reasoning tags in it.
"""

from msgspec.structs import replace

from weaklink.inspector.apis.openai.located import OpenAiShapes
from weaklink.inspector.formats.api.parser import api_or_text
from weaklink.inspector.formats.completion import CompletionCalls, openai_message
from weaklink.inspector.formats.dialect import dialect_format
from weaklink.inspector.formats.format import DetectionPatterns
from weaklink.inspector.formats.json.call_shape import is_json_call, json_of
from weaklink.inspector.formats.span_readers import ReasoningReader
from weaklink.inspector.segmenter.events import ParseResult

_TEXT_SIDE = dialect_format(
    lambda closed: closed.reading or ParseResult(),  # the parser reads calls
    ReasoningReader(()),
    name="openai",
    summary="the JSON of OpenAI's APIs: messages, completions, chunks, Responses",
    aliases=("openai_api", "responses"),
    models=("gpt-3*", "gpt-4*", "gpt-5*", "chatgpt*", "o1*", "o3*", "o4*", "codex*"),
    signs=DetectionPatterns(
        calls={},
        hints={
            r'"object"\s*:\s*"(?:chat\.completion|response)': 0.95,
            r'"tool_calls"\s*:\s*\[\s*\{[^{}]{0,200}"function"\s*:\s*\{': 0.9,
            r'"type"\s*:\s*"(?:function_call(?:_output)?|response\.[a-z_.]+)"': 0.9,
            r'^\s*(?:data:\s*)?\{\s*"role"\s*:\s*"assistant"': 0.6,
        },
    ),
    write_calls=lambda calls: json_of(openai_message((CompletionCalls(tuple(calls)),))),
    expresses=is_json_call,
    ids=True,
)
OPENAI = replace(_TEXT_SIDE, new_parser=api_or_text(OpenAiShapes, _TEXT_SIDE.new_parser))
