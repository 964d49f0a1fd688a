"""Stands in for a model server that writes malformed calls, to try `weaklink ask` and `doctor` without a model.

    python examples/unreliable_model.py          # listens on 127.0.0.1:8000

It speaks OpenAI's chat completions. Asked for the weather, it calls the tool, with a comma too many in 7 of 10 calls;
where the prompt speaks of valid JSON, in 1 of 10. After an error it gives up. The seed makes its answers repeatable.
"""

import argparse
import json
import random
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any

BREAKS, BREAKS_WHEN_ADVISED = 0.7, 0.1


class UnreliableModel:
    """Decides what is answered; thread-safe."""

    def __init__(self, seed: int) -> None:
        self._random, self._lock = random.Random(seed), Lock()

    def message(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """The answer to a conversation: a call, or words once there is a result."""
        last = messages[-1]
        if last["role"] == "tool":
            return {"content": "I could not get it." if "error" in last["content"] else "It is 3 degrees and rains."}
        said = " ".join(str(one["content"]) for one in messages if one["role"] == "system")
        rate = BREAKS_WHEN_ADVISED if "valid JSON" in said else BREAKS
        with self._lock:
            comma, number = "," if self._random.random() < rate else "", self._random.getrandbits(32)
        function = {"name": "get_weather", "arguments": f'{{"city": "Tromsø", "days": 1{comma}}}'}
        return {"tool_calls": [{"index": 0, "id": f"call_{number:08x}", "type": "function", "function": function}]}


class _Handler(BaseHTTPRequestHandler):
    model: UnreliableModel

    def do_POST(self) -> None:  # the name that the library calls
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = {"role": "assistant", "content": None, **self.model.message(request["messages"])}
        reason = "tool_calls" if "tool_calls" in message else "stop"
        if request.get("stream"):
            choices: list[dict[str, Any]] = [
                {"delta": message, "finish_reason": None},
                {"delta": {}, "finish_reason": reason},
            ]
            events = [json.dumps(_body("chat.completion.chunk", one), ensure_ascii=False) for one in choices]
            raw = "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"]).encode()
        else:
            choice = {"message": message, "finish_reason": reason}
            raw = json.dumps(_body("chat.completion", choice), ensure_ascii=False).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if request.get("stream") else "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: Any) -> None:  # the library's name
        """Stay silent."""


def _body(kind: str, choice: dict[str, Any]) -> dict[str, Any]:
    usage = {"prompt_tokens": 120, "completion_tokens": 20, "total_tokens": 140}
    return {"id": "chatcmpl-1", "object": kind, "created": 0, "model": "unreliable", "usage": usage} | {
        "choices": [{"index": 0, **choice}]
    }


def serve(port: int, seed: int) -> ThreadingHTTPServer:
    """A server that is ready to `serve_forever`; port 0 takes any free one."""
    handler = type("_SeededHandler", (_Handler,), {"model": UnreliableModel(seed)})
    return ThreadingHTTPServer(("127.0.0.1", port), handler)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with serve(given.port, given.seed) as server:
        print(f"http://127.0.0.1:{server.server_port}")
        server.serve_forever()
