"""Keeps an SDK loaded, and becomes a new process for each run of an agent: importing an SDK takes most of a story.

    python forking.py SOCKET openai_chat.py          the process that has the SDK loaded; it listens at the socket
    python forking.py SOCKET -- SCRIPT [WORD ...]    a run of a script in a process that it becomes

The second form stands for the agent: its streams, its folder, its variables and its status are the agent's, and a
signal that it gets goes to the agent. It imports no SDK.
"""

import ast
import gc
import json
import os
import runpy
import signal
import socket
import struct
import sys
from pathlib import Path

_FOLDER = Path(__file__).parent
_STREAMS = 3
_NUMBER = struct.Struct("!q")


def _run(path: str, words: list[str]) -> None:
    """Let the agent run, and end as it ends."""
    asked = json.dumps([words, str(Path.cwd()), dict(os.environ)]).encode()
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(path)
        socket.send_fds(line, [_NUMBER.pack(len(asked))], range(_STREAMS))
        line.sendall(asked)
        (pid,) = _NUMBER.unpack(_received(line, _NUMBER.size))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(pid, number))
        status = os.waitstatus_to_exitcode(*_NUMBER.unpack(_received(line, _NUMBER.size)))
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)


def _become(path: str, agent: str) -> None:
    """Load what the agent imports; return in a new process for each run of a script, and never in this one."""
    gc.disable()
    script = (_FOLDER / agent).read_text(encoding="utf-8")
    imports = [
        node
        for node in ast.parse(script).body
        if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.module != "weather")
    ]
    exec(compile(ast.Module(imports, []), agent, "exec"), {})
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the processes that wait for agents
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        print("listening", flush=True)
        while True:
            line, _ = listening.accept()
            if not os.fork():
                break
            line.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    head, streams, _, _ = socket.recv_fds(line, _NUMBER.size, _STREAMS)
    words, folder, variables = json.loads(_received(line, *_NUMBER.unpack(head)))
    pid = os.fork()
    if pid:
        line.sendall(_NUMBER.pack(pid))
        line.sendall(_NUMBER.pack(os.waitpid(pid, 0)[1]))
        os._exit(0)
    line.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    sys.argv = words


def _received(line: socket.socket, length: int) -> bytes:
    received = b""
    while len(received) < length:
        received += (piece := line.recv(length - len(received)))
        if not piece:
            raise ConnectionError("the process that has the SDK loaded has ended")
    return received


socket_path, *rest = sys.argv[1:]
if rest[0] == "--":
    _run(socket_path, rest[1:])
else:
    _become(socket_path, rest[0])
    runpy.run_path(sys.argv[0], run_name="__main__")
