"""Runs a command so that none of its processes outlives weaklink, without changing its terminal and signals.

Three processes take part. weaklink forks the supervisor before it has threads; the supervisor forks the command. All
are in one process group, so that the terminal's signals (Ctrl-C, Ctrl-Z, the size of the window) reach the command
directly; weaklink blocks them. A signal that another process sends to weaklink is passed on to the command.

Orders go to the supervisor through a pipe, as JSON lines. When weaklink ends for any reason, the pipe closes, and the
supervisor ends the command and all its descendants. It is their subreaper (Linux): orphaned descendants become its
children, so that it finds them. If the supervisor is killed, the kernel kills the command, and the processes that the
command started become children of weaklink, which ends them. macOS has no subreaper: there, a process whose parent
ended before weaklink is not found.
"""

import ctypes
import errno
import json
import os
import platform
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import NoReturn

from msgspec import Struct

from weaklink.storage.running.rows import has_ended

_PASSED_ON = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2})
_BY_TERMINAL = frozenset({signal.SIGINT, signal.SIGQUIT})
_IS_LINUX = platform.system() == "Linux"
_GRACE_S = 2.0  # after SIGTERM, before SIGKILL
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # prctl(2)
NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""The exit codes of a shell for a command that does not exist, or cannot be run."""


class CommandEnd(Struct, frozen=True):
    """How a command ended: its exit code, or 128 plus the number of the signal; `problem` says why it never ran."""

    code: int
    problem: str = ""


class Supervisor:
    """Runs one command. Create it before the program has threads, since it forks."""

    def __init__(self) -> None:
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        orders, self._orders = os.pipe()
        self._reports, reports = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        if not self._pid:
            os.close(self._orders)
            os.close(self._reports)
            _Supervision(orders, reports, self._mask).run()
        os.close(orders)
        os.close(reports)

    def launch(self, words: Sequence[str], variables: Mapping[str, str]) -> None:
        """Run a command with these additional variables. From now on it receives the signals sent to weaklink."""
        self._order({"run": list(words), "variables": dict(variables)})
        Thread(target=self._pass_signals_on, daemon=True).start()

    def wait(self, own: Callable[[], int] = lambda: 0) -> CommandEnd:
        """Wait for the end of the command and of all processes that it started.

        `own` returns the id of another child of weaklink, which is left alone; 0 for none.
        """
        report = b""
        while piece := os.read(self._reports, 65_536):
            report += piece
        os.close(self._orders)
        with suppress(ChildProcessError):
            os.waitpid(self._pid, 0)
        if not report:  # the supervisor was killed
            end_descendants(os.getpid(), own)
            return CommandEnd(128 + signal.SIGKILL)
        end = json.loads(report)
        return CommandEnd(end["code"], end.get("problem", ""))

    def _order(self, order: Mapping[str, object]) -> None:
        with suppress(BrokenPipeError):
            os.write(self._orders, json.dumps(order).encode() + b"\n")

    def _pass_signals_on(self) -> None:
        """Pass on signals from other processes; the terminal itself signals both weaklink and the command."""
        while True:
            if not _IS_LINUX:
                number = signal.sigwait(_PASSED_ON)
                is_by_process = number not in _BY_TERMINAL
            else:
                info = signal.sigwaitinfo(_PASSED_ON)
                number, is_by_process = info.si_signo, info.si_code <= 0  # SI_USER and its like; SI_KERNEL is positive
            if is_by_process:
                with suppress(OSError):
                    self._order({"signal": int(number)})


class _Supervision:
    """The supervisor's side, in its own process."""

    def __init__(self, orders: int, reports: int, mask: set[int | signal.Signals]) -> None:
        self._orders, self._reports, self._mask = orders, reports, mask
        self._command = 0
        self._unread = b""

    def run(self) -> NoReturn:
        """Execute orders until the command or weaklink ends."""
        with suppress(BaseException):  # whatever happens here, this process must not go on as a second weaklink
            self._serve()
        os._exit(0)

    def _serve(self) -> None:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        awake, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while True:
            ready, _, _ = select.select([self._orders, awake], [], [])
            if awake in ready:
                os.read(awake, 4_096)
                if self._has_ended():
                    return
            if self._orders in ready and not self._take_orders():
                end_descendants(os.getpid())
                return

    def _take_orders(self) -> bool:
        """Execute the orders that arrived; False if weaklink has ended."""
        piece = os.read(self._orders, 65_536)
        *lines, self._unread = (self._unread + piece).split(b"\n")
        for line in lines:
            order = json.loads(line)
            if "run" in order:
                self._run(order["run"], order["variables"])
            elif self._command:
                with suppress(ProcessLookupError):
                    os.kill(self._command, order["signal"])
        return bool(piece)

    def _run(self, words: list[str], variables: dict[str, str]) -> None:
        problem, write_problem = os.pipe()
        parent = os.getpid()
        self._command = os.fork()
        if not self._command:
            _become(words, variables, self._mask, parent, write_problem)
        os.close(write_problem)
        number = os.read(problem, 16)
        os.close(problem)
        if number:
            os.waitpid(self._command, 0)
            self._command = 0
            reason = int(number)
            code = NOT_FOUND if reason in (errno.ENOENT, errno.ENOTDIR) else NOT_EXECUTABLE
            self._report(code, os.strerror(reason))

    def _has_ended(self) -> bool:
        """Reap processes that have ended. If the command has, end those that it left behind, and return True."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return not self._command
            if not pid:
                return False
            if pid == self._command:
                end_descendants(os.getpid())
                code = os.waitstatus_to_exitcode(status)
                self._report(code if code >= 0 else 128 - code)
                return True

    def _report(self, code: int, problem: str = "") -> None:
        os.write(self._reports, json.dumps({"code": code, "problem": problem}).encode())


def _become(
    words: list[str], variables: dict[str, str], mask: set[int | signal.Signals], parent: int, write_problem: int
) -> NoReturn:
    """Replace the process that was forked for the command by the command."""
    try:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # the parent died before the line above
            os._exit(128 + signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, or we handle them
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.execvpe(words[0], words, os.environ | variables)
    except OSError as error:
        os.write(write_problem, str(error.errno or errno.EINVAL).encode())
    except ValueError:  # a NUL in a word
        os.write(write_problem, str(errno.EINVAL).encode())
    finally:
        os._exit(NOT_EXECUTABLE)


def end_descendants(of: int, spared: Callable[[], int] = lambda: 0) -> None:
    """End all descendants of a process but one, by SIGTERM, then SIGKILL; return once none is left that may be ended.

    `spared` returns the id of the one that is left alone; 0 for none.
    """
    deadline = time.monotonic() + _GRACE_S
    number = signal.SIGTERM
    signalled: set[int] = set()
    while left := [pid for pid in _descendants(of) if not has_ended(pid) and pid != spared()]:
        if time.monotonic() > deadline:
            number = signal.SIGKILL
        for pid in left:
            if number is signal.SIGKILL or pid not in signalled:
                signalled.add(pid)
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
                    os.kill(pid, signal.SIGCONT)  # a stopped process would not end
        if all(not _may_end(pid) for pid in left):
            return
        _reap()
        time.sleep(0.01)
    _reap()


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _may_end(pid: int) -> bool:
    """Whether this user may end a process."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return False
    except ProcessLookupError:
        return True
    return True


def _descendants(of: int) -> Iterator[int]:
    """The descendants of a process, parents before their children."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    waiting = list(children.get(of, ()))
    while waiting:
        pid = waiting.pop(0)
        yield pid
        waiting += children.get(pid, ())


def _parents() -> Iterator[tuple[int, int]]:
    """Every process and its parent."""
    if _IS_LINUX:
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                with suppress(OSError):
                    stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")
                    yield int(entry.name), int(stat.rpartition(")")[2].split()[1])
        return
    with os.popen("ps -axo pid=,ppid=") as listed:  # a constant command
        for line in listed:
            pid, parent = line.split()
            yield int(pid), int(parent)


def _prctl(option: int, value: int) -> None:
    if _IS_LINUX:
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
