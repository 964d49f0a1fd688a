"""Runs jobs through a server's own parsers: `python run.py vllm|sglang WHEEL < JOBS > RESULTS`, JSON lines both.

A job is {"id", "tool", "reasoning", "stream", "text", "tools"}; `stream` is the number of tokens in a delta, 0 for the
whole text at once. A result is {"id", "result"}, in the order of the jobs.
"""

import contextlib
import importlib
import io
import json
import re
import signal
import sys
import warnings

_TIMEOUT_S = 10  # of this process's own time: on a busy machine an import alone may take that long by the clock
_SUFFIXED = ("think", "tool_calls", "tool_call", "tool_sep", "arg_key", "arg_value")
_SUFFIX = re.compile(rf"</?(?:{'|'.join(_SUFFIXED)})(:[^\s<>]+)>")


class JobTimeoutError(Exception):
    """A parser took longer than _TIMEOUT_S for one text."""


def _stop(*_):
    raise JobTimeoutError(f"no result after {_TIMEOUT_S} seconds")


def main(server, wheel):
    """Reads jobs from the standard input until it ends."""
    warnings.simplefilter("ignore")
    parsers = importlib.import_module(f"{server}_parsers")
    parsers.load(wheel)
    signal.signal(signal.SIGPROF, _stop)
    for line in sys.stdin:
        job = json.loads(line)
        options = {"force": True} if server == "sglang" and job["reasoning"] else {}
        if server == "vllm" and job["tool"] == "mistral" and "[ARGS]" not in job["text"]:
            options = {"without": ["[ARGS]", "[CALL_ID]"]}  # tokenizers before v11, whose models write an array
        suffix = _SUFFIX.search(job["text"])
        if server == "vllm" and suffix is not None:  # a checkpoint's own tags, which its vocabulary contains
            options = {"specials": [f"<{slash}{name}{suffix[1]}>" for name in _SUFFIXED for slash in ("", "/")]}
        signal.setitimer(signal.ITIMER_PROF, _TIMEOUT_S)
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                result = parsers.run(
                    job["text"],
                    job["tools"],
                    tool=job["tool"],
                    reasoning=job["reasoning"],
                    stream=job["stream"],
                    **options,
                )
        except JobTimeoutError as error:
            result = {"error": f"JobTimeoutError: {error}"}
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.write(json.dumps({"id": job["id"], "result": result}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:3])
