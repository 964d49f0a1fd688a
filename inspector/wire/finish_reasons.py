"""The words with which servers say why a generation ended, over all providers."""

from inspector.model import FinishReason

_WORDS = {
    FinishReason.STOP: "stop eos eos_token end_turn stop_sequence stop_token complete completed finished STOP",
    FinishReason.TOOL_CALLS: "tool_calls tool_call function_call tool_use",
    FinishReason.LENGTH: "length max_tokens max_output_tokens model_length model_context_window_exceeded MAX_TOKENS",
    FinishReason.FILTER: (
        "content_filter refusal safety SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR "
        "IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION"
    ),
    FinishReason.ERROR: (
        "error failed MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS MALFORMED_RESPONSE "
        "MISSING_THOUGHT_SIGNATURE"
    ),
}
_MEANINGS = {word: meaning for meaning, words in _WORDS.items() for word in words.split()}


def finish_meaning(word: str) -> FinishReason:
    """What a server's finish reason means; OTHER for a word not seen yet.

    Sources: the API references of OpenAI, Anthropic and Google; text-generation-inference (`eos_token`), Mistral
    (`model_length`), OpenLLMetry (`tool_call`).
    """
    return _MEANINGS.get(word, FinishReason.OTHER)
