"""Runs one agent for several stories, one after the other: importing an SDK takes most of the time of a story.

    python several_stories.py openai_chat.py answered "How warm is it?" + malformed "How warm is it?" [--record PLACE]

A story may begin with variables of its own, `NAME=VALUE`, as a command does in a shell.
Before a story's output, a line `# ` on stdout and stderr has its question. The status is 1 if that of any story is.
"""

import gc
import os
import runpy
import sys
from itertools import groupby
from pathlib import Path


def main() -> None:
    """Run the agent as if each story had its own process."""
    gc.disable()  # saves a seventh of importing an SDK, nothing of which is garbage; `weather.main` turns it on
    folder = Path(__file__).parent
    sys.path.insert(0, str(folder))
    agent, *words = sys.argv[1:]
    record = words[words.index("--record") :] if "--record" in words else []
    words = words[: len(words) - len(record)]
    statuses = []
    variables = dict(os.environ)
    for is_separator, group in groupby(words, lambda word: word == "+"):
        if is_separator:
            continue
        story = list(group)
        os.environ |= variables
        while "=" in story[0]:
            name, _, value = story.pop(0).partition("=")
            os.environ[name] = value
        sys.argv = [agent, *story, *record]
        sys.modules.pop("weather", None)  # it reads the command line
        for stream in (sys.stdout, sys.stderr):
            print(f"# {sys.argv[2]}", file=stream, flush=True)
        try:
            runpy.run_path(str(folder / agent), run_name="__main__")
        except SystemExit as end:
            statuses.append(end.code)
    sys.exit(max(statuses))


main()
