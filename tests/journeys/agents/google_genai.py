"""An agent on google-genai, streamed; the SDK calls the tool itself."""

import httpx
from google import genai
from google.genai import types
from weather import MODEL, PLACE, SYSTEM, StoppedError, get_weather, main, recorded

retries = types.HttpRetryOptions(attempts=3, initial_delay=0.01)
options = types.HttpOptions(retry_options=retries)
if PLACE is not None:
    options.httpx_client = recorded(httpx.Client())
client = genai.Client(http_options=options)


def ask(question):
    by_hand = types.AutomaticFunctionCallingConfig(disable=MODEL == "unanswered")
    config = types.GenerateContentConfig(
        system_instruction=SYSTEM, tools=[get_weather], automatic_function_calling=by_hand
    )
    pieces = list(client.models.generate_content_stream(model=MODEL, contents=question, config=config))
    if MODEL == "unanswered":
        raise StoppedError
    return "".join(piece.text or "" for piece in pieces)


main(ask)
