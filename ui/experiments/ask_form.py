"""What a screen's form says of an experiment, as texts that a user typed, and the experiment that it describes."""

import os
import re
import shlex
from collections.abc import Callable

from msgspec import Struct

from inspector.capture.replay_server import ReplayServer
from inspector.capture.resending import ResendTarget, SpendingBounds, target_of
from inspector.model import Trace
from inspector.redaction.redactor import Redactor
from inspector.replay.matching import Replayer
from inspector.replay.recording import recording_of
from inspector.replay.resend import RequestChange, ResendError
from storage import Store
from ui.experiments.ask_again import AskExperiment, AskPlan, AskResult, changed_request, plan_of, question_of

_SHORTEST_KEY = 8
_MOST = 10_000


class AskForm(Struct, frozen=True):
    """The fields; each may be empty. `bounds` are the most requests and the most tokens, with a blank between."""

    server: str = ""
    times: str = "20"
    model: str = ""
    settings: str = ""
    bounds: str = ""
    is_advised: bool = False

    def plan(self, store: Store, id: int, turn: int | None) -> AskPlan:  # as in `Store`
        """What would be sent. ResendError for a field that cannot be read."""
        question = question_of(store, id, turn)
        change = RequestChange(self.model.strip(), tuple(setting_of(word) for word in self._words()))
        changed = changed_request(question, change, is_advised=self.is_advised)
        return plan_of(question, changed, _number(self.times or "20", "how often"))

    def target(self, plan: AskPlan) -> ResendTarget:
        """Where it would be sent; the key comes from the environment."""
        if not self.server.strip():
            raise ResendError("name a server, such as `https://api.openai.com`; nothing is sent without one")
        request = plan.settings[0]
        return target_of(self.server.strip(), request.api, request.path, os.environ)

    def spending(self) -> SpendingBounds:
        """The bounds; what is left out has none."""
        words = [_number(word, "a bound") for word in self.bounds.replace(",", " ").split()]
        return SpendingBounds(*words[:2])

    def _words(self) -> list[str]:
        try:
            return shlex.split(self.settings)
        except ValueError as error:
            raise ResendError(f"the settings cannot be read: {error}") from error


def setting_of(word: str) -> tuple[str, str]:
    """A setting that was written as NAME=VALUE. ResendError for anything else."""
    name, mark, value = word.partition("=")
    if not mark or not all(name.split(".")):
        raise ResendError(f"`{word}` is no NAME=VALUE")
    return name, value


def _number(text: str, what: str) -> int:
    if not text.strip().isdecimal() or not 0 < int(text) <= 10**9:
        raise ResendError(f"`{text}` is no number for {what}")
    return min(int(text), _MOST) if what == "how often" else int(text)


def experiment_of(
    plan: AskPlan,
    target: ResendTarget,
    store: Store,
    bounds: SpendingBounds,
    changed: Callable[[AskResult], None] = lambda result: None,
) -> AskExperiment:
    """The experiment, whose record has no secrets, the key of this very target least of all."""
    patterns = (re.escape(target.key),) if len(target.key) >= _SHORTEST_KEY else ()
    return AskExperiment(plan, target, store, Redactor(patterns), bounds=bounds, changed=changed)


def replay_server_of(store: Store, id: int) -> tuple[ReplayServer, Trace]:  # as in `Store`
    """A server that answers from one trace, and the trace. ResendError where it has no answers."""
    exchanges, trace = store.exchanges.of(id).traces.get(id, ()), store.trace(id)
    recording = recording_of([(trace, exchanges)])
    if not recording.exchanges:
        raise ResendError(f"trace {id} has no answers of a model that could be served")
    return ReplayServer(Replayer(recording), Redactor()), trace
