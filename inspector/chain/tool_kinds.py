"""What kind of tool a call uses, by its name and command line: terminal, reading, writing, searching, a shell."""

import re
import shlex
from enum import Enum
from functools import lru_cache
from itertools import islice
from typing import Any

from weaklink.inspector.model import ToolCall
from weaklink.inspector.scanning import lazy_pattern

_READS_TABLE = (
    "get list search find read fetch lookup look track check show open view evaluate query describe browse "
    "retrieve load download scan stat inspect count calculate convert compute translate grep glob cat web "
    "screenshot ocr extract parse analyze analyse summarize summarise detect compare diff verify validate resolve peek "
    "sample measure wait geocode console snapshot consume receive poll dig whois nslookup"
)
# The verbs of searching in the languages of services, as they are written in identifiers.
_SEARCHES_IN_LANGUAGES = (
    "suche suchen finde finden chercher cherche rechercher recherche trouver trouve buscar busca encontrar procurar "
    "pesquisar cercare cerca trovare trova zoek zoeken zoek_op vind vinden sok soka sök söka sog søg sok søk finn hae "
    "etsi szukaj znajdz znajdź wyszukaj hledat hledej najdi najit keres kereses keresés cauta caută gaseste ara bul "
    "cari tim tìm найти поиск искать знайти пошук 搜索 查找 查询 検索 검색"
)
_READS = frozenset(f"{_READS_TABLE} {_SEARCHES_IN_LANGUAGES}".split())

_WRITES_TABLE = (
    "create add book make send post put update set write edit delete remove cancel refund pay transfer submit "
    "order buy sell modify change exchange return move rename upload save insert replace apply patch reset "
    "schedule archive transition pin unpin lock unlock extend approve assign close reopen merge deploy publish notify "
    "invite enable disable grant revoke resume suspend activate share start stop restart reserve "
    "restore block unblock register subscribe unsubscribe renew forward reply cast vote print import sync "
    "ingest migrate resize rotate refresh rebuild regenerate reindex reboot attach detach terminate provision purge "
    "promote unmute deactivate reactivate reassign reschedule rebook deregister dispatch escalate append charge "
    "withdraw deposit"
)

# ... in the languages of services, too.
_WRITES_IN_LANGUAGES = (
    "buche buchen reserviere reservieren erstelle erstellen anlegen sende senden verschicke loesche löschen "
    "storniere stornieren aendere ändern ueberweise überweisen bezahle bestelle bestellen drucke starte réserver "
    "reserver creer créer envoyer supprimer annuler modifier payer commander imprimer reservar crear "
    "enviar borrar eliminar cancelar modificar pagar pedir agendar imprimir criar apagar alterar prenota "
    "prenotare crea creare invia inviare annulla annullare paga pagare ordina boeken reserveren "
    "maak verstuur stuur verwijder annuleer betaal zarezerwuj rezerwuj utworz utwórz wyslij wyślij usun usuń "
    "anuluj zaplac zapłać zamow zamów rezervuj vytvor odesli smaz zrus boka skapa skicka avboka betala opret "
    "afbestil bestill varaa luo laheta lähetä peruuta foglal letrehoz kuld küld torol töröl olustur oluştur "
    "speichere speichern enregistrer guardar salvar salva salvare opslaan spara lagre zapisz uloz tallenna kaydet "
    "simpan gonder gönder sil iptal rezerva creeaza trimite sterge anuleaza buat kirim hapus batalkan bayar"
)
_WRITES = frozenset(f"{_WRITES_TABLE} {_WRITES_IN_LANGUAGES}".split())
_SEARCHES_TABLE = "search find list query lookup grep glob browse scan filter match select discover"
_SEARCHES = frozenset(f"{_SEARCHES_TABLE} {_SEARCHES_IN_LANGUAGES}".split())

# OpenHands `finish`, SWE-agent `submit`, smolagents `final_answer`, Pydantic AI `final_result`, Cline and Roo Code
# `attempt_completion`, tau-bench and the OpenAI Agents SDK `transfer_to_...`.
_NAMES_TABLE = (
    "finish finished submit submit_answer submit_final_answer final_result final_answer finish_task task_complete "
    "task_done complete complete_task mark_task_complete attempt_completion done stop terminate exit end end_task "
    "end_conversation end_call hang_up handoff hand_off escalate_to_human"
)

_NAMES = frozenset(_NAMES_TABLE.split())
_HAND_OVERS = ("transfer_to_", "handoff_to_", "hand_off_to_", "hand_over_to_", "final_result_")
_SUBMITS = lazy_pattern(r"\becho \W{0,3}(?:COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT|MINI_SWE_AGENT_FINAL_OUTPUT)")
_FINAL_ANSWER = lazy_pattern(
    r"""
    ^[ \t]*(?:\w{1,40}[ ]?=[ ]?)?final_answer\(         # a statement of the program
    (?:\s{0,40}(?:answer\s?=\s?)?[rf]{0,2}(?P<quote>"{3}|'{3}|["'])(?P<words>.*?)(?P=quote))?
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_HUMP = lazy_pattern(r"(?<=[a-z0-9])(?=[A-Z])")
_NAMESPACE = lazy_pattern(r"(?:.*(?:[.:/]|__))?", re.DOTALL)

_SHELLS_TABLE = (
    "bash shell sh zsh terminal execute execute_bash execute_command execute_shell run_command run_shell "
    "run_shell_command run_in_terminal run_terminal_cmd run_bash exec exec_command shell_command local_shell "
    "command cmd powershell console container_exec bash_command"
)

_SHELLS = frozenset(_SHELLS_TABLE.split())

_INTERPRETERS_TABLE = (
    "python python3 ipython execute_python run_python python_interpreter python_repl code_interpreter "
    "execute_code run_code execute_ipython_cell jupyter notebook repl javascript node run_javascript"
)

_INTERPRETERS = frozenset(_INTERPRETERS_TABLE.split())
_COMMAND_KEYS = ("command", "cmd", "commands", "script", "keystrokes", "input")
_STATEMENT_KEYS = frozenset(("sql", "statement", "query", "stmt"))  # of a database's `execute`
_OBJECT_KEYS = frozenset(("path", "file_path", "file", "filename", "url"))
_CODE_WORD = lazy_pattern(r"[^\W\d]\w{2,80}")
_MAX_LINE_CHARS, _MAX_WORDS = 2_000, 48

SPOKEN = {"mr": "merge", "pr": "pull", "db": "database", "env": "environment", "repo": "repository", "cfg": "config"}
"""What people and tools call the things that commands name by their initials."""


class ToolKind(Enum):
    """What a call of a tool does to the world."""

    READS = "reads"
    WRITES = "writes"
    UNKNOWN = "unknown"


def kind_of(tool: str) -> ToolKind:
    """The kind of a tool, by the first word of its name that is in a table."""
    for word in bare_name(tool).split("_"):
        if word in _READS:
            return ToolKind.READS
        if word in _WRITES:
            return ToolKind.WRITES
    return ToolKind.UNKNOWN


def is_search(tool: str) -> bool:
    """Whether a tool searches, and so may find nothing, by the words of its name."""
    return not _SEARCHES.isdisjoint(bare_name(tool).split("_"))


def subjects_of(tool: str) -> tuple[str, ...]:
    """The words of a tool's name without a leading verb and plural endings: `order` for `get_orders`."""
    first, *others = bare_name(tool).split("_")
    words = others if first in _READS | _WRITES else [first, *others]
    return tuple(word.removesuffix("s") for word in words if len(word) > 2)


def operation_of(call: ToolCall) -> str:
    """What a tool that does several things is to do, in lower case: `list` of `{"action": "list"}`; "" for another."""
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    values = (arguments.get(key) for key in _OPERATION_KEYS)
    return next((value.casefold() for value in values if isinstance(value, str) and value.isidentifier()), "")


_OPERATION_KEYS = ("action", "operation", "op", "method", "command", "subcommand", "verb")


@lru_cache(1_024)  # a trace calls few tools, many times
def is_terminal(tool: str | None) -> bool:
    """Whether a call of this tool ends the work or hands it over."""
    if tool is None or len(tool) > 200:
        return False
    name = bare_name(tool)
    return name in _NAMES or name.startswith(_HAND_OVERS)


def ends_run(call: ToolCall) -> bool:
    """Whether a call ends the work: of a terminal tool, or a command that submits (mini-swe-agent, SWE-agent)."""
    line = call.raw_arguments[:_MAX_LINE_CHARS]
    if program_answer(call) is not None:
        return True
    if is_terminal(call.name) or ("_FINAL_OUTPUT" in line and _SUBMITS.search(line) is not None):
        return True
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    return call.name is not None and (is_shell(bare_name(call.name), arguments) or "").strip() == "submit"


def program_answer(call: ToolCall) -> str | None:
    """The text of `final_answer("...")` in a program (smolagents' `CodeAgent`), "" if it computes its answer.

    None if the call runs no program, or one without an answer.
    """
    if not is_interpreter(bare_name(call.name or "")):
        return None
    arguments = call.arguments if isinstance(call.arguments, dict) else {"code": call.arguments}
    code = next((value for value in arguments.values() if isinstance(value, str) and "final_answer(" in value), "")
    answers = list(_FINAL_ANSWER.finditer(code[-_MAX_LINE_CHARS:]))
    return (answers[-1]["words"] or "") if answers else None


def bare_name(tool: str) -> str:
    """A tool's name in lower case, with underscores and no namespace: `functions.Final-Answer` is `final_answer`."""
    return _bare_name(tool[:200])


@lru_cache(1_024)  # a trace calls few tools, many times
def _bare_name(tool: str) -> str:
    snake = _HUMP.sub("_", tool)
    flat = snake.lower().replace("-", "_")
    return flat[_NAMESPACE.match(flat).end() :]  # type: ignore[union-attr]  # it matches any text


def is_interpreter(tool: str) -> bool:
    """Whether a tool runs code from its arguments."""
    return tool in _INTERPRETERS


def is_shell(tool: str, arguments: dict[str, Any]) -> str | None:
    """The command line that a call passes to a shell; None if the call runs no shell."""
    key = next((key for key in _COMMAND_KEYS if key in arguments), None)
    if tool in _SHELLS and _STATEMENT_KEYS.isdisjoint(arguments):
        command = arguments[key] if key else next(iter(arguments.values()), "")
        return _line(command, is_lines=key == "commands")
    if key in ("command", "cmd", "commands") and _OBJECT_KEYS.isdisjoint(arguments):
        return _line(arguments[key], is_lines=key == "commands")
    return None


def code_words(code: str) -> frozenset[str]:
    """The names in a piece of code, at most 48."""
    return frozenset(islice((word.casefold() for word in _CODE_WORD.findall(code[:_MAX_LINE_CHARS])), _MAX_WORDS))


def _line(command: Any, *, is_lines: bool) -> str:
    """A command as a shell's text: some tools take its words, with the shell itself as the first, others its lines."""
    if isinstance(command, str):
        return command
    if not isinstance(command, list):
        return ""
    words = [word for word in islice(command, 200) if isinstance(word, str)]
    if is_lines or len(words) == 1:
        return "\n".join(words)
    if len(words) > 2 and words[0].rsplit("/", 1)[-1] in ("bash", "sh", "zsh") and words[1].startswith("-"):
        return words[2]
    return shlex.join(words)
