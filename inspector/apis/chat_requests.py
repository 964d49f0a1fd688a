"""The requests of OpenAI's chat completions and completions, and of Ollama, which has the same messages."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.apis import ollama
from inspector.apis.openai import chat as openai_answer
from inspector.apis.openai import completions as openai_completions
from inspector.apis.openai.messages import read_message, read_messages, read_tools
from inspector.model import Json, Part, ResultHeader, Role, Turn
from inspector.wire.provider_json import compact_json
from inspector.wire.request import DecodedRequest, flag_of, parameters_of, text_of

_CHAT = ("model", "messages", "tools", "functions", "stream")


def read_chat_request(request: dict[str, Json]) -> DecodedRequest:
    """A request for chat completions; never raises."""
    return DecodedRequest(
        openai_answer.API,
        text_of(request.get("model")),
        read_messages(request.get("messages", [])),
        read_tools(request.get("tools"), request.get("functions")),
        parameters_of(request, without=_CHAT),
        flag_of(request.get("stream")) or False,
    )


def read_completions_request(request: dict[str, Json]) -> DecodedRequest:
    """A request for completions of a raw prompt; never raises.

    The prompt is one user turn, several prompts are several; a prompt of token ids is kept as JSON text in the part
    `content:0`. The template's own turns are not told apart here.
    """
    prompt = request.get("prompt")
    prompts = prompt if isinstance(prompt, list) and not all(isinstance(one, int) for one in prompt) else [prompt]
    return DecodedRequest(
        openai_completions.API,
        text_of(request.get("model")),
        tuple(_prompt(one) for one in prompts if one is not None),
        parameters=parameters_of(request, without=("model", "prompt", "stream")),
        streams=flag_of(request.get("stream")) or False,
    )


def read_ollama_chat_request(request: dict[str, Json]) -> DecodedRequest:
    """A request for Ollama's chat, which streams unless told otherwise; never raises.

    A result names its tool (`tool_name`), older ones not even that; images are kept in the parts `content:N`.
    """
    messages = request.get("messages", [])
    streams = flag_of(request.get("stream"))
    return DecodedRequest(
        ollama.CHAT,
        text_of(request.get("model")),
        tuple(map(_ollama_turn, messages if isinstance(messages, list) else [messages])),
        read_tools(request.get("tools")),
        parameters_of(request, without=_CHAT),
        True if streams is None else streams,
    )


def read_ollama_generate_request(request: dict[str, Json]) -> DecodedRequest:
    """A request for Ollama's generate, which streams unless told otherwise; never raises.

    `context` holds the conversation so far as token ids; it stays among the parameters.
    """
    streams = flag_of(request.get("stream"))
    return DecodedRequest(
        ollama.GENERATE,
        text_of(request.get("model")),
        tuple(_generate_turns(request)),
        parameters=parameters_of(request, without=("model", "prompt", "system", "images", "stream")),
        streams=True if streams is None else streams,
    )


def _prompt(prompt: Json) -> Turn:
    if isinstance(prompt, str):
        return Turn(Role.USER, (Part("text", prompt),), "prompt")
    return Turn(Role.USER, (Part("content:0", compact_json(prompt)),), "prompt")


def _ollama_turn(message: Json) -> Turn:
    turn = read_message(message)
    if not isinstance(message, dict):
        return turn
    if turn.role is Role.TOOL and turn.result is not None and text_of(message.get("tool_name")):
        turn = replace(turn, result=ResultHeader(turn.result.call_id, text_of(message["tool_name"])))
    return replace(turn, parts=(*turn.parts, *_images(message.get("images"))))


def _generate_turns(request: dict[str, Json]) -> Iterator[Turn]:
    if system := text_of(request.get("system")):
        yield Turn(Role.SYSTEM, (Part("text", system),), "system")
    prompt = request.get("prompt")
    if prompt is not None:
        turn = _prompt(prompt)
        yield replace(turn, parts=(*turn.parts, *_images(request.get("images"))))


def _images(images: Json) -> Iterator[Part]:
    for at, image in enumerate(images if isinstance(images, list) else ()):
        yield Part(f"content:{at + 1}", compact_json(image))
