"""Several threads read the first value of a type at once: a trace is opened while the list of traces is loading."""

import subprocess
import sys

_READ = """
import os, sys
from threading import Barrier, Thread

import msgspec
from weaklink.inspector import model
from weaklink.inspector.chain.steps import Chain, Status
from weaklink.inspector.inspected import Inspection

sys.setswitchinterval(1e-6)


def read(together, value, type_):
    together.wait()
    msgspec.convert(value, type_)


VALUES = [
    ({"turns": (), "is_open": False}, model.Trace),
    ({"role": "user", "parts": ()}, model.Turn),
    (["1", "hermes", (), msgspec.to_builtins(Chain((), Status.OK, None)), ()], Inspection),
]
for _ in range(30):
    child = os.fork()
    if child == 0:
        for value, type_ in VALUES:
            together = Barrier(4)
            threads = [Thread(target=read, args=(together, value, type_)) for _ in range(4)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_threads_that_read_the_first_value_of_a_type_together_do_not_crash() -> None:
    done = subprocess.run([sys.executable, "-c", _READ], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
