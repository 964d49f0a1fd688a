"""Phrases for failure in several languages: of tools in results, of agents in answers.

English, German, French, Spanish, Portuguese, Russian, Chinese and Japanese. Only phrases that rarely mean anything
else. A result is judged at its beginning, and by most phrases only if it contains little else.
"""

import re
from collections.abc import Iterable, Iterator
from enum import Enum

from msgspec import Struct

from weaklink.inspector.chain.tool_kinds import bare_name
from weaklink.inspector.scanning import lazy_pattern

_ERROR_WORDS_TABLE = (
    "fehler erreur errore erro fout fejl feil fel virhe viga błąd chyba hiba eroare hata kesalahan galat lỗi σφάλμα "
    "ошибка помилка грешка שגיאה خطأ خطا त्रुटि ข้อผิดพลาด 错误 錯誤 エラー 오류"
)
ERROR_WORDS = tuple(_ERROR_WORDS_TABLE.split())
"""What an error is called in other languages than English, in lower case."""
_ERROR_IN_LANGUAGES = "|".join(ERROR_WORDS)
_LINE_TABLE = (
    "line column zeile spalte ligne línea linea linha riga regel rad linje linia linii wierszu řádku riadku строке "
    "строка рядку рядок ред satır satırda sorban sor rândul linia rivillä γραμμή baris dòng"
)
# The place of an error in what was to be run: "Syntaxfehler in Zeile 12", "第3行语法错误".
_AT_LINE = rf"(?:{'|'.join(_LINE_TABLE.split())})\W{{0,3}}\d|\d ?(?:행|行|번째 줄)|행 ?\d|\d+\. (?:sor|satır|rivi)"
_NONE_TABLE = (
    "no none nil null keine keiner kein aucune aucun ninguno ninguna nenhum nenhuma nessuno nessuna geen ingen inga "
    "ikke ei eikä brak żaden žádná žádné ziadna nincs nu niciun nicio yok нет немає няма tidak không κανένα כלום אין "
    "لا نه نہیں 无 無 なし 없음 ไม่มี कोई"
)
_NO_ERROR = rf"(?!\s*[:：]?\s*(?:{'|'.join(_NONE_TABLE.split())})\b\W*$)(?!\s*[:：]?\s*0\b)"
MISSING_IN_LANGUAGES = (
    "datei oder verzeichnis nicht gefunden|nicht gefunden|existiert nicht|aucun fichier ou dossier de ce (?:type|nom)|"
    "introuvable|n['\u2019]existe pas|no existe|no encontrad[oa]|inexistente|n\u00e3o encontrad[oa]|n\u00e3o existe|"
    "non esist\\w+|non trovat[oa]|bestaat niet|niet gevonden|nie ma takiego pliku|nie znaleziono|nie istnieje|"
    "neexistuje|"
    "nenalezen\\w*|finns inte|hittades inte|ikke (?:fundet|funnet)|ingen s\u00e5dan|findes ikke|finnes ikke|ei ole|"
    "ei l\u00f6ydy|"
    "nincs ilyen|nem tal\u00e1lhat\u00f3|b\u00f6yle bir dosya|bulunamad\u0131|yok\\b|nu exist\u0103|negăsit|"
    "\u043d\u0435\u0442 \u0442\u0430\u043a\u043e\u0433\u043e|\u043d\u0435 \u043d\u0430\u0439\u0434\u0435\u043d\\w*|"
    "\u043d\u0435 \u0441\u0443\u0449\u0435\u0441\u0442\u0432\u0443\u0435\u0442|"
    "\u043d\u0435\u043c\u0430\u0454 \u0442\u0430\u043a\u043e\u0433\u043e|"
    "\u043d\u0435 \u0437\u043d\u0430\u0439\u0434\u0435\u043d\\w*|"
    "\u03b4\u03b5\u03bd \u03b2\u03c1\u03ad\u03b8\u03b7\u03ba\u03b5|"
    "\u03b4\u03b5\u03bd \u03c5\u03c0\u03ac\u03c1\u03c7\u03b5\u03b9|"
    "tidak ditemukan|tidak ada|kh\u00f4ng t\u00ecm th\u1ea5y|kh\u00f4ng t\u1ed3n t\u1ea1i|"
    "\u6ca1\u6709\u90a3\u4e2a\u6587\u4ef6|\u4e0d\u5b58\u5728|\u627e\u4e0d\u5230|\u672a\u627e\u5230|"
    "\u898b\u3064\u304b\u308a\u307e\u305b\u3093|\u3042\u308a\u307e\u305b\u3093|"
    "\u5b58\u5728\u3057\u307e\u305b\u3093|\uc5c6\uc2b5\ub2c8\ub2e4|\ucc3e\uc744 \uc218 \uc5c6"
)
"""How programs say in other languages than English that something is not there, as glibc and bash do."""
BARRED_IN_LANGUAGES = (
    "keine berechtigung|zugriff verweigert|permission non accord\u00e9e|acc\u00e8s refus\u00e9|permiso denegado|"
    "acceso denegado|"
    "permiss\u00e3o negada|acesso negado|permesso negato|accesso negato|toegang geweigerd|brak dost\u0119pu|"
    "odm\u00edtnut\\w*|"
    "\u00e5tkomst nekas|\u00e5tkomst nekad|ingen adgang|nektet tilgang|ikke tilladelse|lupa ev\u00e4tty|"
    "hozz\u00e1f\u00e9r\u00e9s megtagadva|eri\u015fim engellendi|"
    "\u043e\u0442\u043a\u0430\u0437\u0430\u043d\u043e \u0432 \u0434\u043e\u0441\u0442\u0443\u043f\u0435|"
    "\u0432\u0456\u0434\u043c\u043e\u0432\u043b\u0435\u043d\u043e|\u6743\u9650\u4e0d\u591f|\u62d2\u7edd\u8bbf\u95ee|"
    "\u8a31\u53ef\u304c\u3042\u308a\u307e\u305b\u3093|\ud5c8\uac00 \uac70\ubd80"
)
"""... and that it may not be touched."""
FAILED_LINES = (rf"(?:{_ERROR_IN_LANGUAGES}|fallo){_NO_ERROR}\s*(?:[:：(（\[]|\d{{3}}\b|$)",)
"""Beginnings of a failed result's first line, for results of any length."""

FAILED_BEGINNINGS = (
    (
        r"(?:konnte|kann)\b(?: [\w-]{1,30}){0,5} nicht\b|es tut mir leid\b|\w+ nicht gefunden\b|nicht gefunden\b|"
        r"zugriff verweigert|zeitüberschreitung|"
        r"(?:ungültige|unbekannte)[rsnm]? \w|interner fehler\b"
    ),
    (
        r"impossible d(?:e\b|['’])|introuvable\b|(?:accès|permission) refusée?\b|délai (?:d['’]attente )?dépassé|"
        r"échec d|une erreur (?:est survenue|s['’]est produite)"
    ),
    (
        r"no se (?:pudo|puede|encontr)|no encontrad[oa]\b|(?:acceso|permiso) denegado|tiempo de espera agotado|"
        r"(?:se produjo|ocurrió|ha ocurrido) un error|parámetro inválido"
    ),
    (
        r"não (?:foi possível|encontrad[oa])|(?:acesso|permissão) negad[oa]|tempo (?:limite )?(?:de espera )?esgotado|"
        r"ocorreu um erro|parâmetro inválido"
    ),
    (
        r"не удалось\b|не найден|доступ запрещ|отказано в доступе|время ожидания истекло|произошла ошибка|"
        r"(?:неверн|недопустим|неизвестн)\w{1,4} \w"
    ),
    (
        r"(?:i['’]?m |we['’]re |i am )?(?:very |so )?sorry\b|(?:nous sommes )?désolée?s?\b|lo s(?:iento|entimos)\b|"
        r"mi dispiace\b|het spijt (?:me|ons)\b|entschuldigung\b|perdón\b|disculpe|desculpe|scusa(?:te|ci)?\b|"
        r"przepraszam|omlouv[áa]m|beklager\b|извините|простите|вибачте|üzgün|maaf\b|죄송|sajnálj?uk\b|pahoittele"
    ),
    r"(?:很)?抱歉|对不起|申し訳|未找到|找不到|无法|無法|未能|拒绝访问|权限不足|请求超时|无效的|发生错误|發生錯誤|系统错误",
    r"(?:エラーが発生|アクセスが拒否|タイムアウト|無効な)",
)
"""Beginnings of a failed result that contains little else."""

FAILED_ENDINGS = (
    (
        r"\b(?:nicht gefunden|fehlgeschlagen|existiert nicht|introuvable|non trouvée?|n['’]existe pas|a échoué|"
        r"no encontrad[oa]|no existe|não encontrad[oa]|não existe|не найдена?|не найдено|не существует)\s*[.!]?$"
    ),
    r"(?:失败|失敗|不存在|未找到|找不到|超时|逾時)\s*(?:[:：。！!,，]|$)",
    r"(?:見つかりません(?:でした)?|失敗しました|存在しません|できませんでした)\s*[。！]?$",
)
"""Phrases in the first line of a failed result that contains little else."""

_ADMISSION_TABLE = (
    (
        r"\b(?:leider|fehlgeschlagen|gescheitert|tut mir leid|entschuldig\w{1,6}|nicht in der lage|fehler(?:meldung)?|"
        r"nicht (?:möglich|gefunden|verfügbar|erreichbar|gelungen|geklappt|funktioniert|abrufen|finden)|"
        r"(?:konnte|konnten|kann|können)\b(?: [\w-]{1,40}){0,8} nicht)\b"
    ),
    (
        r"\b(?:malheureusement|désolée?|échoué|échec|introuvable|indisponible|impossible|"
        r"n['’](?:ai|a|avons|est) pas (?:pu|réussi|trouvé|disponible|possible|fonctionné)|"
        r"ne (?:peux|peut|pouvons|parviens|fonctionne|trouve) pas|une erreur)\b"
    ),
    (
        r"\b(?:no (?:pude|pudo|pudimos|he podido|puedo|fue posible|ha sido posible|se pudo|encontr\w{1,4}|logr\w{1,4}|"
        r"funcion\w{1,4}|está disponible)|lo siento|lamentablemente|desafortunadamente|por desgracia|disculp\w{1,4}|"
        r"falló)\b"
    ),
    (
        r"\b(?:não (?:consegui|conseguimos|foi possível|é possível|posso|pude|encontr\w{1,4}|funcion\w{1,4}|"
        r"está disponível)|infelizmente|desculp\w{1,4}|lamento|falhou|um erro)\b"
    ),
    (
        r"\b(?:не (?:удалось|смог\w{0,3}|могу|получилось|найден\w{0,2}|работает)|к сожалению|извините|простите|"
        r"ошибк\w{1,3}|недоступ\w{1,3})\b"
    ),
    r"无法|無法|未能|没能|失败|失敗|抱歉|对不起|對不起|很遗憾|出错|错误|錯誤|找不到|没有找到|未找到|不可用|超时",
    r"できません|できなかった|申し訳|残念ながら|エラー|見つかりません|見つからな|利用できな",
)

HEAD = 2_000
"""How much of a result's beginning is judged, in code points; as much of its end is searched for an exception."""

_SHORT = 400
_USUAL_LINE = 200  # code points

# What follows a heading of errors, unless it states that there are none: `Errors: 0`, `errors: none`, `Errors: []`.
_NOT_NONE = r"(?!\s*(?:0\b(?!\.)|none\b|nil\b|null\b|no\b|\[\s*\]|\{\s*\}|-\s*$|n/a\b))"
_KINDS = "syntax|lint(?:er|ing)?|compil(?:er|ation|e)|parse|parsing|indentation|type|validation|build"

_SOME = r"(?:(?:an?|some|new|the|following|[1-9]\d*) ){0,3}"
_CHANGE = (
    r"(?:(?:your|the|this|that) )?(?:proposed |last |code )?"
    r"(?:edit|edits|changes?|patch|patches|update|replacement|modifications?|it|this|that)"
)

_HEADING = lazy_pattern(rf"^[ \t]*ERRORS?:{_NOT_NONE}[ \t]*(?P<said>\S[^\n]*|\n\s*(?P<below>\S[^\n]*))", re.MULTILINE)
_BARE_HEADING = lazy_pattern(r"(?:\w+ ){0,2}errors?\s*:|(?:#{1,4} |\*\*)(?:\w+ ){0,2}error\W*", re.IGNORECASE)
_TAGS = lazy_pattern(r"^<(?:tool_use_error|error)>|</(?:tool_use_error|error)>$")
_TRACEBACK = lazy_pattern(r"Traceback \(most recent call last\):?")  # IPython's has the exception's name before it
_UNPARSED = lazy_pattern(r"\s*File \"[^\"\n]{1,400}\", line \d+\n")  # Python could not parse the program
_LAST_WORDS = lazy_pattern(
    r"[A-Za-z_][\w.]{0,80}(?:Error|Exception|Interrupt|Exit)\b\s*(?::|$)|(?:[a-z_]\w*\.){1,6}[A-Z]\w+: "
)
SPEECH_LIMIT = 20_000
"""How many code points of a speech are judged, from its beginning."""

_TROUBLE = r"(?:errors?|problems?|issues?|trouble|failures?)"

# "No errors", "I fixed the issue" and "let me know if you have any trouble" admit nothing.
_NO_TROUBLE = lazy_pattern(
    r"""
    # "no errors", "fixed all problems"
    \b(?:
        no | 0 | zero | any | without | free[ ]of | fix(?:e[ds]|ing)? | resolv\w{1,5} | solv\w{1,4}
        | handl\w{1,4} | avoid\w{0,4} | prevent\w{0,4}
    """
    rf")(?:[ ](?:the|an?|all|this|that|these|further|other|more))?(?:[ ][\w-]{{1,30}})?[ ]{_TROUBLE}\b"
    r"""
    # "error handling", "error messages"
    | \berror[- ](?:
        handl\w+ | free | messages? | logs? | codes? | rates? | checking | pages? | types? | class\w* | modules?
        | boundar\w+
    )\b
    """,
    re.IGNORECASE | re.VERBOSE,
)

_ADMISSION = lazy_pattern(
    r"""
    \b(?:
        # "could not", "was not able", "failed", "an error"
        could(?:[ ]not|n['’]t) | can(?:not|['’]t|[ ]not) | unable
        | (?:was|were|am|are|is)(?:[ ]not|n['’]t)[ ](?:able|available|possible|working|reachable|found)
    """
    rf"| fail(?:ed|s|ure)? | {_TROUBLE} | sorry | unfortunately | apologi[sz]e | regret"
    r"""
        # "did not work"
        | (?:did|does|do)(?:[ ]not|n['’]t)[ ](?:
            work | exist | return | find | respond | succeed | complete | match | load | answer | get | give
            | show | contain | have | support | recogni[sz]e | allow | let | go | accept | receive | seem
            | yield | provide | produce | manage | come | see | know
        )
        | won['’]t
        # "has no access", "there were no results"
        | (?:have|has|had|got|received|with)[ ]no[ ](?:\w+[ ])?(?:
            tools? | access | answer | results? | response | data | information | records? | permission | way
            | luck | such
        )
        | there[ ](?:is|was|are|were)[ ]no[ ](?!
            (?:fees?|charges?|costs?|need|extra|additional|limits?|further|doubt)\b
        )
        # words for a failure alone
        | went[ ]wrong | refused | rejected | denied | timed[ ]out | time-?out | unavailable | not[ ]found
        | no[ ](?:answer|result|response|luck) | without[ ]success | unsuccessful(?:ly)? | missing | invalid
        | mistake | incorrect | broken | (?:is|was|are|were|be)[ ]down
    )\b
    """,
    re.IGNORECASE | re.VERBOSE,
)

_SENTENCE_END = lazy_pattern(r"[.!?](?=\s|$)|[。！？\n]")
ADMISSIONS = tuple(lazy_pattern(pattern, re.IGNORECASE) for pattern in _ADMISSION_TABLE)
"""Patterns of an agent's admission that something did not work, for languages other than English."""


class _Where(Enum):
    LINE = "the beginning of the first line, however long the result"
    SHORT = "the beginning of a result that says little else"
    WITHIN = "anywhere in the first line of a result that says little else"


class _Shape(Struct, frozen=True):
    where: _Where
    expression: str
    flags: re.RegexFlag
    pattern: re.Pattern[str]


def _shape(where: _Where, pattern: str, flags: re.RegexFlag = re.IGNORECASE) -> _Shape:
    return _Shape(where, pattern, flags, lazy_pattern(pattern, flags))


_SHAPES = (
    _shape(_Where.LINE, r"traceback \(most recent call last\)"),
    _shape(_Where.LINE, r"<(?:tool_use_error|error(?:_\w+)?)>|\(error\) |api error\b"),
    _shape(_Where.LINE, r"(?:(?:fatal|internal|runtime|tool|syntax|api|http|server|unknown) )?error\s*(?::|\[|\(|$)"),
    # SWE-agent's edit tools (princeton-nlp/SWE-agent, `tools/windowed_edit_linting`) say "Your proposed edit has
    # introduced new syntax error(s)", and under a heading the linter's lines. A summary of zero errors is no error.
    _shape(
        _Where.LINE,
        rf"(?:(?:{_KINDS}|fatal|runtime|tool|api|new|following|0*[1-9]\d*) ){{0,3}}errors"
        rf"(?: (?:found|detected|reported|encountered))?\s*:{_NOT_NONE}",
    ),
    _shape(
        _Where.LINE,
        rf"(?:warning: )?(?:{_CHANGE} )?(?:(?:has|have|had|would(?: have)?|will) )?"
        rf"(?:introduc(?:e|es|ed|ing)|caus(?:e|es|ed|ing)|creat(?:e|es|ed|ing)|produc(?:e|es|ed|ing)|add(?:s|ed)) "
        rf"{_SOME}(?:{_KINDS}) errors?\b",
    ),
    _shape(_Where.LINE, rf"{_SOME}(?:{_KINDS}) (?:errors?|error\(s\)) (?:was|were|(?:has|have) been) introduced\b"),
    _shape(
        _Where.LINE,
        rf"{_CHANGE} (?:(?:was|were|has|have|could|did)(?: not|n't)(?: been| be)? (?:applied|made|accepted|saved|apply)"
        r"|(?:(?:was|were|has been|have been) )?(?:rejected|refused|reverted|discarded))\b",
    ),
    _shape(_Where.LINE, r"\*{2,3} ?(?:fatal|error|panic)\b|(?:#{1,4} |\*\*)(?:\w+ ){0,2}error\W*$|mcp error -?\d"),
    _shape(_Where.LINE, r"\[error\]|\W{1,4}\s?error\s?:"),
    # Clients of services ("Jira API error: 400 Bad Request") and of databases.
    _shape(_Where.LINE, r"(?:[\w.-]{1,30} ){1,3}(?:error|request failed):? ?\(?(?:http |status )?[45]\d\d\b"),
    _shape(
        _Where.LINE,
        r"ERROR \d{4} \(\w{5}\)|Msg \d+, Level \d+, State \d+|(?:ORA|PLS|SP2|TNS)-\d{4,5}: |SQLSTATE\[|E11000 |"
        r"SQL compilation error|Code: \d+\. DB::|DB2 SQL Error: |SQL Error \[|(?:NOAUTH|WRONGTYPE|MISCONF|READONLY) |"
        r"canceling statement due to ",
        re.NOFLAG,
    ),
    _shape(
        _Where.LINE,
        r"error (?:executing|using|calling|running|reading|parsing|fetching|opening|processing|invoking|while|when|"
        r"during|occurred|in (?:tool|function|call|argument)|code\b|\d{3}\b)",
    ),
    _shape(
        _Where.LINE,
        r"[A-Za-z_][\w.]{0,80}(?:Error|Exception)\b\s*(?:\[\w+\])?(?::|\(|$)|"
        r"[A-Z]\w{2,60}(?:Refused|Denied|Failed|Failure|Timeout|NotFound|Unavailable|Disconnected|Rejected|Exceeded|"
        r"Expired|Forbidden|Conflict|Invalid): \S|\[[\w\\]{1,80}(?:Error|Exception)\]$",
        re.NOFLAG,
    ),
    _shape(_Where.LINE, r"(?:exception|fatal|panic|failed|failure|err!?)\s*:"),
    _shape(_Where.LINE, rf"(?:exceptions|failures)\s*:{_NOT_NONE}"),
    # Pydantic's first line, which agents send back as it is, and instructor's heading of it.
    _shape(_Where.LINE, r"[1-9]\d{0,3} validation errors? for [^\W\d][\w.\[\]]*$|validation error found:"),
    _shape(
        _Where.LINE,
        r"(?:an? )?(?:\w+ )?(?:errors?|exceptions?) (?:occurred|was raised|were raised|ha(?:s|ve) occurred)",
    ),
    _shape(_Where.LINE, r"(?:\w{1,40}\()?(?:success|ok|succeeded)=false\b"),  # an object as Python or ROS prints it
    _shape(_Where.LINE, r"run-?time error '?-?\d+"),
    _shape(_Where.LINE, r"\{'(?:error|Error|exception)': *['\"{]", re.NOFLAG),
    _shape(_Where.SHORT, r"(?:the )?(?:\w+ )?failed(?: to\b|\s*[.!]?$| with\b| because\b)"),
    _shape(
        _Where.SHORT, r"(?:\w+ ){1,3}failed\s*:|unsupported (?:call|tool|function)\b"
    ),  # Codex: `apply_patch verification failed:`
    _shape(_Where.SHORT, r"(?:could not|couldn't|cannot|can't|can not|unable to|not able to)\b"),
    _shape(_Where.SHORT, r"(?:unknown|invalid|no such|unsupported|unrecogni[sz]ed|malformed|illegal)\s\w"),
    # With an adjective ("Binder Error: no column x"), not of a statistic ("mean error: 0.2") or of what may be none.
    _shape(
        _Where.SHORT,
        r"(?!standard|mean|median|average|max|min|relative|absolute|squared|root|test|training|total|last|previous|no )"
        rf"(?:[a-z]\w{{1,20}} ){{1,3}}error:{_NOT_NONE}(?! *[\d.+-]) *\S",
    ),
    _shape(
        _Where.SHORT,
        rf"unexpected (?:token|end of|character|symbol|indent\w*|identifier|eof)\b|"
        rf"(?!(?:no|any|without|mean|average|max|min|the|\d+)\b|(?:fix|correct|resolv)\w*\b)(?:\w+[ -]){{0,2}}?"
        rf"(?:error|\w{{0,12}}(?:{_ERROR_IN_LANGUAGES})\w{{0,2}})\b:?(?: [\w'’]+){{0,4}} (?:{_AT_LINE})(?!\d* \w+ed\b)|"
        rf"[^\n:]{{0,3}}(?:{_AT_LINE})[^\n]{{0,12}}(?:{_ERROR_IN_LANGUAGES}|오류)",
    ),
    _shape(_Where.WITHIN, r"\bnet::ERR_[A-Z_]+"),
    _shape(
        _Where.SHORT,
        r"no (?:replacement|edit|change)s? (?:was|were) (?:performed|applied)\b|no (?:\w+ ){1,4}could be \w",
    ),
    _shape(_Where.SHORT, r"missing (?:required|mandatory|argument|parameter|field|value|key|\d)"),
    _shape(
        _Where.SHORT,
        r"(?:http(?:/[\d.]{1,3})? )?[45]\d\d[:,]? (?:not found|bad (?:request|gateway)|internal server error|forbidden|"
        r"unauthorized|service unavailable|too many requests|gateway time-?out|conflict|unprocessable|method not|"
        r"(?:payload|content) too large|insufficient storage|locked|gone|precondition failed|payment required)|"
        r"http (?:error )?[45]\d\d\b",
    ),
    _shape(
        _Where.SHORT, r"(?:access|permission|request|authentication|authorization) (?:was )?(?:denied|failed|refused)"
    ),
    _shape(_Where.SHORT, r"(?:unauthori[sz]ed|forbidden|not authori[sz]ed|not found|not permitted|timed? ?out)\b"),
    _shape(_Where.SHORT, r"(?:rate limit|quota) (?:was |has been )?(?:exceeded|reached)|too many requests"),
    _shape(_Where.WITHIN, r": (?:command )?not found$|command not found"),
    _shape(_Where.WITHIN, r"no such file or directory|permission denied|is a directory$|not a directory$"),
    _shape(
        _Where.WITHIN,
        r"there is no (?:tool|function)\b|\bnot (?:be )?found(?:\.?$|:)|\b(?:do|does|did)(?: not|n't) exist(?:\.?$|"
        r"[.:] )",
    ),
    _shape(
        _Where.WITHIN,
        r"\b(?:timed out|time-?out (?:of )?\d+ ?\w* exceeded|connection (?:refused|reset|closed|error)|"
        r"service unavailable|network error)\b",
    ),
    _shape(
        _Where.WITHIN, r"^(?:the )?(?:tool|function|command|call|request)\b.{0,80}\b(?:failed|not found|is unknown)\b"
    ),
    *(_shape(_Where.LINE, pattern) for pattern in FAILED_LINES),
    *(_shape(_Where.SHORT, pattern) for pattern in FAILED_BEGINNINGS),
    *(_shape(_Where.WITHIN, pattern) for pattern in FAILED_ENDINGS),
)


SIGNS_WITHIN = (
    *(
        "found",
        "director",
        "denied",
        "there is no",
        "exist",
        "timed out",
        "exceeded",
        "connection",
        "unavailable",
        "network",
    ),
    *("net::err", "net::ERR_", "failed", "is unknown", "gefunden", "fehlgeschlagen", "introuvable", "trouv"),
    *("échoué", "encontrad", "найден"),
    *("существует", "失败", "失敗", "不存在", "找", "超时", "逾時", "ません"),
)
"""Case-folded substrings: every text that a `WITHIN` shape matches contains one of them."""

_UNFOLDED = lazy_pattern("[\u0130\u0131]")  # `re` matches them as an i, case folding does not


def fails_within(line: str) -> bool:
    """Whether a line reports a failure anywhere; tries the slow expression only if one of the substrings is there."""
    folded = line.casefold()
    may = any(sign in folded for sign in SIGNS_WITHIN) or _UNFOLDED.search(line) is not None
    return may and _WITHIN.search(line) is not None


# What frameworks write in place of a result whose tool raised an exception or is not there: Qwen-Agent (`An error
# occurred when calling tool`), CrewAI (`I encountered an error while trying to use the tool`, `Action 'x' not found`),
# CAMEL (`Execution of function x failed`), Dify (`tool invoke error`), LlamaIndex (`Encountered error`), MCP's SDK.
_TOOL_FAILED = lazy_pattern(
    r"""
    \s*(?:
        # "an error occurred while calling the tool `x`", "failed to run function x"
        (?:
            (?:an[ ])?error[ ](?:occurred[ ])?(?:when[ ]|while[ ]|in[ ])?(?:calling|executing|running|invoking)
            | failed[ ]to[ ](?:call|execute|run|invoke)
        )[ ](?:the[ ]|async[ ])?(?:tool|function)\b(?:[ ]['\"`]?(?P<tool>[\w-]{1,80}(?:[.:][\w-]{1,40}){0,3}))?
        # the words of single frameworks
        | execution[ ]of[ ](?:tool|function|action)[ ]\S{1,80}[ ]failed\b
        | i[ ]encountered[ ]an[ ]error[ ]while[ ]trying[ ]to[ ]use[ ]the[ ]tool\b
        | action[ ]['\"`]?\S{1,80}[ ](?:not[ ]found|don['’]?t[ ]exist)\b
        | (?:the[ ])?tool[ ](?:['\"`]?\S{1,80}['\"`]?[ ])?(?:returned|raised)[ ](?:an?[ ])?(?:error|exception)\b
        | tool[ ]invoke[ ]error: | \S{1,4}[ ]?tool[ ]error:[ ] | \[tool[ ]error\]
        | encountered[ ](?:an[ ])?error:[ ]\S | unhandled[ ](?:error|exception):[ ]\S
        | exception[ ](?:encountered:[ ]|(?:while|when|during)[ ](?:calling|executing|invoking|running)[ ])\S
        | (?:functiontool[ ])?\w{1,80}[ ]raised[ ]\w{1,60}(?:error|exception):[ ]
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)


def tool_failure(text: str, tool: str) -> str | None:
    """The line of a framework's words for a tool that raised an exception or is not there; None if there are none.

    Words that name another tool than the called one are what the call looked up.
    """
    match = _TOOL_FAILED.match(text)
    if match is None or (match["tool"] and bare_name(match["tool"]) != bare_name(tool)):
        return None
    line, _, below = text.strip().partition("\n")
    return (line.endswith(":") and first_line(below)) or line


def _any_of(where: _Where) -> re.Pattern[str]:
    """The shapes of one kind as one expression, which is fast for the usual result: one that matches none."""
    shapes = (shape for shape in _SHAPES if shape.where is where)
    return lazy_pattern(
        "|".join(f"(?{'i' * bool(shape.flags & re.IGNORECASE)}:{shape.expression})" for shape in shapes)
    )


_LINE, _SHORT_LINE, _WITHIN = map(_any_of, (_Where.LINE, _Where.SHORT, _Where.WITHIN))


def error_line(text: str) -> str | None:
    """The line of `text` that reports an error, None if there is none. Examines a bounded piece of either end."""
    first = first_line(text)
    says_little = len(text) <= 2 * _SHORT and len(first) <= _SHORT and text.strip().count("\n") <= 4
    if _LINE.match(first) or (says_little and (_SHORT_LINE.match(first) or fails_within(first))):
        if _BARE_HEADING.fullmatch(first):
            return _line_below(text) or first
        return last_line(text) if _TRACEBACK.match(first) else _without_tags(first)
    return _uncaught(text) or _under_heading(text)


def first_line(text: str) -> str:
    """The first line that is not blank, up to the end of the part that is judged."""
    line = text[:HEAD].lstrip().partition("\n")[0]
    return line.splitlines()[0].rstrip() if line else ""


def last_line(text: str) -> str:
    """The last line that is not blank, from the start of the part that is judged."""
    tail = text[-HEAD:].rstrip()
    lines = tail[-_USUAL_LINE:].splitlines()
    if len(lines) < 2 and len(tail) > _USUAL_LINE:
        lines = tail.splitlines()
    return lines[-1].lstrip() if lines else ""


# The lines in which checks and builds name what failed, the most telling first: pytest's summary and unittest; Go, TAP,
# Jest, Mocha, Rust; pytest's assertion; compilers and linters at a place of a file; rustc, ESLint, tsc; other programs.
_FAULT_LINES = tuple(
    lazy_pattern(rf"^[ \t]*(?:{expression})[^\n]*", re.MULTILINE)
    for expression in (
        r"FAILED \S+(?:::|\.py)|ERROR \S+(?:::|\.py)|(?:FAIL|ERROR): \w+ \(",
        r"--- FAIL: |not ok \d+ |\u25cf .+ \u203a |[\u2715\u2717\u2718] \S|test \S+ \.\.\. FAILED",
        r"E {2,}\S|Code (?:execution|parsing) failed (?:at|on) line ",
        r"(?:\./|/)?[\w./+@-]{1,200}\.[A-Za-z]\w{0,5}(?::\d+(?::\d+)?|\(\d+,\d+\)): ?\S",
        r"(?:fatal )?error(?:\[\w+\])?: \S|\d+:\d+ +error +\S|error TS\d+|error CS\d+",
        r"\S+: (?:fatal )?error: \S|npm ERR! (?!code|errno)\S|make(?:\[\d+\])?: \*\*\* |E: \S|fatal: \S",
        r"nothing (?:added )?to commit\b|no changes added to commit\b",
    )
)


def fault_line(text: str) -> str | None:
    """The line that names what a check or a build found wrong, None if none does; reads a bounded piece of either end.

    Such a line is seldom the first: pytest begins with `..F`, a build with its progress.
    """
    ends = (text,) if len(text) <= 2 * HEAD else (text[-HEAD:], text[:HEAD])
    matches = (pattern.search(end) for pattern in _FAULT_LINES for end in ends)
    return next((match[0].strip()[:_SHORT] for match in matches if match is not None), None)


# How programs say, in their last lines, that they could not do their work, so that no exit code is needed to know it.
# Any program: `error: ...` at the beginning of a line, and after it nothing but what belongs to it. Not a value
# (`error: 0.23`, `error: false`), and not `errors: none`.
_ERROR_AT_END = lazy_pattern(
    r"(?:(?:\S{1,80}:|[\w.-]{1,40}) )?(?:fatal )?(?:error|fatal|panic)(?:\[\w+\])?:"
    r"(?! *\(?(?:no|none|nil|null|n/a)\W*$)"
    r"(?! *(?:[\d.+~<>\xb1-]|[\[{(\"'`]|(?:about|under|ok|false|true|undefined|never|success\w*)\b)) *\S|"
    rf"(?:\S{{1,80}}: )?(?:{_ERROR_IN_LANGUAGES}){_NO_ERROR}(?:: \D|：\D)|"
    r"(?-i:(?:\w{1,40}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception)(?: \[\w+\])?: \S|"
    r"(?:[a-z_]\w{0,40}\.){1,6}(?:errors?|exceptions?)\.[A-Z]\w{0,60}: \S|"
    r"(?:[\dTZ:.,/-]{4,30} ){0,2}\[?(?:ERROR|FATAL|CRITICAL|SEVERE)\]?:? {1,4}\S)|"
    r"(?:could not|cannot|unable to|failed to) [a-z]\w+ \S|error in [\w ]{1,20}: \S|"
    r"\S{1,40} failed with (?:exit )?(?:code|status) [1-9]|(?:[\w./-]{1,40} ){1,6}failed: \S|"
    r"Killed$|(?:Segmentation fault|Bus error|Aborted) \(core dumped\)|Execution halted$|"
    r"curl: \(\d+\) |wget: unable to |ssh: (?:connect to|could not resolve) |A fatal error occurred: |"
    r"\s*\+ (?:CategoryInfo|FullyQualifiedErrorId) +: |"  # of PowerShell, in any language
    r"Exception in thread \"|\S{1,200}\.rb:\d+:in .{1,400}\(\w+(?:Error|Exception)\)|rsync error: ",
    re.IGNORECASE,
)
_PLAIN_ERROR = lazy_pattern(
    r"""
    # "module.SomeError: ..."
    (?-i:(?:\w{1,40}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception):[ ]\S)
    # "error: ...", unless it says that there is none
    | (?:fatal[ ])?(?:error|fatal|panic):[ ](?![ ]*\(?(?:no|none|nil|null|n/a)\W*$)(?!
        [ ]*(?:[\d.+~<>-]|(?:ok|false|true)\b)
    )[ ]*\S
    """,
    re.IGNORECASE | re.VERBOSE,
)
_BELONGS_TO_ERROR = lazy_pattern(
    r"""
    # a line that is indented, closes a bracket or has no words
    \s | [)}\]]+;?$ | \W*$
    # what SQLAlchemy, Node, npm and psql add
    | \[SQL:[ ] | \(Background[ ]on[ ]this[ ]error | Node\.js[ ]v\d | npm[ ] | ROLLBACK$
    # hints, and that the program ends
    | (?:hint|note|help|info|warning|see|try|run|use|usage|caused[ ]by|please|at|or|and|to|view)\b
    | (?:\[\w{4,8}\][ ])?(?:exiting|aborting|shutting[ ]down|stopping|terminating)\b | [A-Z]+:[ ]
    """,
    re.IGNORECASE | re.VERBOSE,
)
_SUCCEEDED = lazy_pattern(
    r"""
    # check marks
    [\u2713\u2714\u2705]
    # counts and words of success
    | \b(?:
        [1-9]\d*[ ](?:passed|passing) | test[ ]result:[ ]ok | done | ready | query[ ]ok | added[ ]\d+[ ]packages
        | setting[ ]up | fast-forward | (?<!not[ ])(?:success\w*|succeeded)
    )\b
    # Docker Compose, Rails, Git
    | :[ ]started$ | ^Starting[ ]. | :[ ]migrated[ ]\( | ^\[\S{1,100}[ ][0-9a-f]{7,40}\][ ]
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NPM = (
    r"npm (?:ERR!|error) \S|ERR_PNPM_\w|\s*ELIFECYCLE|error Command failed|Node\.js v\d+\.\d+\.\d+$|error during \w+:|"
    r"\s*\u203a +Error: |\u2718 \[ERROR\] |An error occurred while |"
    r"\u27a4 YN0000: \S Failed with errors"  # oclif, wrangler, Prisma
)
_DOCKER = (
    r"(?:docker: )?Error response from daemon:|ERROR: |(?:denied|unauthorized): \S|"
    r"service \"[^\"]{1,80}\" (?:has neither|is not running)|validating \S{1,200}: |dependency failed to start: "
)
_APT = r"E: (?!debconf)\S"
_SSH = r"(?:ssh|scp|sftp): \S|Permission denied \(|Connection (?:closed|reset) by |lost connection$"
_SOLVER = r"(?:.{0,200}\b)?version solving failed\.$"
_GDAL = r"ERROR \d+: \S"
_IMAGES = r"(?:convert|magick|mogrify|identify)[\w.-]{0,20}: .{1,300} @ error/"
_OFFICE = r"Error: (?:source file could not|no export filter|Please verify)"
_ENDS_TABLE = {  # by program, or by program and subcommand
    **dict.fromkeys(("npm", "npx", "pnpm", "yarn", "node", "wrangler", "netlify", "prisma"), _NPM),
    **dict.fromkeys(("docker", "docker-compose", "podman"), _DOCKER),
    **dict.fromkeys(("apt", "apt-get"), _APT),
    **dict.fromkeys(("ssh", "scp", "sftp", "rsync"), _SSH),
    **dict.fromkeys(("dart", "flutter", "poetry"), _SOLVER),
    **dict.fromkeys(("convert", "magick", "mogrify", "identify"), _IMAGES),
    **dict.fromkeys(("ogr2ogr", "gdal_translate", "gdalwarp", "ogrinfo"), _GDAL),
    **dict.fromkeys(("gradle", "gradlew"), r"FAILURE: Build|BUILD FAILED"),
    **dict.fromkeys(("make", "gmake"), r"(?:g?make(?:\[\d+\])?|[\w./-]{1,80}:\d+): \*\*\* \S"),
    **dict.fromkeys(("mysql", "mariadb"), r"ERROR \d{4} \(\w{5}\)"),
    **dict.fromkeys(("kubectl", "oc"), r"Error from server \(|The [\w.]{1,60} \"[^\"]{1,200}\" is invalid:"),
    **dict.fromkeys(("rails", "rake"), r"(?:rails|rake) aborted!|\w+(?:::\w+)*(?:Error|NotFound|Exception): "),
    **dict.fromkeys(("terraform", "tofu"), r"\u2502 Error: |Error: "),
    **dict.fromkeys(("soffice", "libreoffice", "unoconv"), _OFFICE),
    **dict.fromkeys(("powershell", "pwsh"), r"\s*\+ (?:CategoryInfo|FullyQualifiedErrorId) +: "),
    **dict.fromkeys(("code", "codium", "cursor"), r"Failed Installing Extensions: |Extension '[^']{1,80}' not found"),
    **dict.fromkeys(("sqlcmd", "isql", "tsql"), r"Msg \d+, Level \d+, State \d+"),
    "alembic": r"FAILED: \S",
    "ansible-galaxy": r"ERROR! ",
    "ansible-playbook": r"\S{1,80} +: +ok=\d+ .{0,200}\b(?:failed|unreachable)=[1-9]",
    "aws": r"An error occurred \(|(?:upload|download|copy) failed: |Unable to locate credentials|"
    r"Failed to create/update|\s*\"FunctionError\": ",
    "az": r"\([A-Z]\w+\) \S|Please run 'az login'|ERROR: \S",
    "biber": r"ERROR - ",
    "brew": r"Warning: No available (?:formula|cask)|Error: \S",
    "bundle": r"An error occurred while installing |Bundler could not |Could not find (?:gem|compatible)",
    "cabal": r"Error: \[Cabal-\d",
    "cargo": r"thread '[^']{1,80}' panicked at |error: could not ",
    "certbot": r"All renewals failed|Some challenges have failed|[1-9]\d* renew failure",
    "cdk": r"\s*\u274c ",
    "choco": r"\S{1,80} not installed\. ",
    "cmake": r"CMake Error",
    "composer": r"Your (?:lock file|requirements)\b|  Problem \d|\s*Could not find ",
    **dict.fromkeys(("cpan", "cpanm"), r"Warning: Cannot install|! Installing .{1,80} failed"),
    "crontab": r"errors in crontab file",
    "cypress": r"Cypress could not |Your system is missing the dependency",
    "dbt": r"(?:\d\d:\d\d:\d\d +)?Completed with [1-9]\d* error",
    "dotnet": r"Unhandled exception\.|error (?:NU|MSB|CS|NETSDK)\d{2,5}: |Build FAILED\.",
    "eslint": r"Oops! Something went wrong",
    "fastlane": r"\[!\] ",
    "ffmpeg": r"Error (?:opening|while|initializing|submitting) |Conversion failed!|Unknown encoder |"
    r"\S{1,200}: (?:No such file or directory|Invalid data found when processing input|Invalid argument)$",
    "gcloud": r"ERROR: \(gcloud\.",
    **dict.fromkeys(("pio", "platformio"), r"\*\*\* \["),
    **dict.fromkeys(("gh", "glab"), r"GraphQL: |HTTP [45]\d\d|no matches found for |X \S"),
    "git": r"\s*! \[(?:remote )?rejected\]|Automatic merge failed|"
    r"(?:CONFLI(?:CT|T|CTO|TTO|TO)|KONFLIKT|КОНФЛИКТ|冲突|衝突) ?[(（]|"
    rf"(?i:{_ERROR_IN_LANGUAGES}|schwerwiegend|fataal|fatale|критическая ошибка) ?: \S",
    "git commit": r"no changes added to commit|husky - [\w-]{1,40} (?:hook|script) (?:exited|failed)|"
    r".{1,80}\.{3,}Failed$",  # pre-commit
    "gsutil": r"\w+Exception: ",
    "jekyll": r"\s*(?:Liquid Exception|Conversion error): ",
    "jupyter": r"nbclient\.exceptions\.\w",
    "packer": r"==> Builds finished but no artifacts|Build '[^']{1,80}' errored",
    "pandoc": r"\S{1,40} not found\. Please select",
    "patch": r"\d+ out of \d+ hunks? (?:FAILED|ignored)",
    "php": r"\s*SQLSTATE\[",
    "pip": r"ERROR: (?!pip's dependency resolver)\S|\s*\u00d7 \S",
    "playwright": r"browserType\.\w+: \S",
    "pod": r"\[!\] (?:CocoaPods could not|Unable to|No `Podfile|Invalid )",
    "psql": r"\S{1,80}: ERROR: ",
    "pulumi": r"\s*[1-9]\d* errored$|\s+error: \S",
    "rclone": r"[\d/]{10} [\d:]{8} (?:ERROR|CRITICAL)\b|[\d/]{10} [\d:]{8} \w+ ?: Failed to ",
    "redis-cli": r"\(error\) [A-Z]+ ",
    "serverless": r"\u2716 ",
    "service": r".{0,200}\.\.\. ?fail(?:ed)?!$",
    "inkscape": r"\*\* \(inkscape:\d+\): WARNING \*\*: Can't open",
    "snowsql": r"\d{6} \(\w+\): ",
    "sudo": r"sudo: ",
    "Rscript": r"package .{1,80} is not available for|installation of package .{1,80} had non-zero exit status",
    "sphinx-build": r"(?:Extension|Configuration|Theme|Application) error:",
    **dict.fromkeys(("sqlite", "sqlite3"), r"\S{1,200}:\d+: INSERT failed: |(?:Runtime|Parse) error near line "),
    "sqlplus": r"(?:ORA|SP2)-\d{4,5}: ",
    "supervisorctl": r"\S{1,80}: ERROR \(",
    "systemctl": r"Job for \S{1,80} failed",
    "twine": r"ERROR {2,}\S",
    "uv": r"\s*\u00d7 \S",
    "vault": r"Error (?:writing|reading|making|checking|enabling|deleting) ",
    "vagrant": r"The provider '[^']{1,40}' that was requested",
    "wget": r"[\d-]{10} [\d:]{8} ERROR \d{3}: ",
    "winget": r"No package found matching",
    "yarn": rf"{_NPM}|error [A-Z]\w",
}
_ENDS_OF = {name: lazy_pattern(expression) for name, expression in _ENDS_TABLE.items()}
_LAST_LINES = 12


def error_at_end(text: str, programs: Iterable[str] = (), *, is_any_error: bool = True) -> str | None:
    """The line among the last ones of an output that reports a failure; None if there is none.

    `programs` are those that wrote it, with their subcommands (`git commit`). Without `is_any_error` only `error: ...`
    counts of a program that is in no table. What comes before a line that reports a success was overcome.
    """
    names = tuple(programs)
    own = [_ENDS_OF[name] for name in names if name in _ENDS_OF]
    begins = tuple(begin for name in names for begin in (f"{name}: ", f"{name} error: "))
    lines = [line.rstrip() for line in text[-HEAD:].splitlines() if line.strip()][-_LAST_LINES:]
    error_line, is_last = None, True
    after: list[str] = []  # lines whose success matters only if an error is before it
    for line in reversed(lines):
        after.append(line)
        is_own = any(pattern.match(line) for pattern in own)
        is_error = is_last and (_ERROR_AT_END if is_any_error else _PLAIN_ERROR).match(line) is not None
        is_error = is_error or (is_last and line.startswith(begins) and _complains(line))
        if is_own or is_error:
            if any(_SUCCEEDED.search(later) for later in after):
                break
            error_line, after = line, []
        is_last = is_own or is_error or (is_last and _BELONGS_TO_ERROR.match(line) is not None)
    return None if error_line is None else error_line.strip()[:_SHORT]


def _complains(line: str) -> bool:
    return _TELLING.search(line) is not None and _WARNS.search(line) is None


_WARNS = lazy_pattern(r": (?:warning|note|info|hint)\b", re.IGNORECASE)


def own_error(text: str, programs: Iterable[str]) -> str | None:
    """The first line anywhere in an output that reports a failure in the words of one of these programs; else None."""
    own = [_ENDS_OF[name] for name in programs if name in _ENDS_OF]
    lines = (line for line in text[:HEAD].splitlines() if any(pattern.match(line) for pattern in own))
    return next((line.strip()[:_SHORT] for line in lines), None)


_TELLING = lazy_pattern(
    r"\b(?:error|failed|failure|denied|refused|rejected|cannot|can['’]t|could not|unable|not found|not allowed|invalid|"
    r"missing|forbidden|unauthorized|timed? ?out|exceeded|violat\w+|conflict|unsupported|expired|no such)\b",
    re.IGNORECASE,
)
_MIN_TELLING_WORDS = 3


def telling_line(text: str) -> str | None:
    """The first line of several words that says what went wrong, in the first or last part of an output; else None."""
    ends = (text,) if len(text) <= 2 * HEAD else (text[:HEAD], text[-HEAD:])
    lines = (line for end in ends for line in _lines(end) if len(line.split()) >= _MIN_TELLING_WORDS)
    return next((line[:_SHORT] for line in lines if _TELLING.search(line) is not None), None)


def _lines(text: str) -> Iterator[str]:
    return (line.strip() for line in text.splitlines() if line.strip())


def _without_tags(line: str) -> str:
    """An error's line without the tags around it: `<tool_use_error>Error: no</tool_use_error>`."""
    return _TAGS.sub("", line) or line


def _line_below(text: str) -> str | None:
    """The second line that is not blank."""
    lines = _lines(text[:HEAD])
    next(lines, None)
    return next(lines, None)


def _under_heading(text: str) -> str | None:
    """The text after `ERROR:` or `ERRORS:` in capitals at the beginning of a line, or the line below it."""
    head = text[:HEAD]
    heading = _HEADING.search(head) if "ERROR" in head else None
    return None if heading is None else (heading["below"] or heading["said"]).strip()


def _uncaught(text: str) -> str | None:
    """The line that names the uncaught exception in which a program's output ends; its message may go on below it."""
    if _TRACEBACK.search(text[-_MAX_TRACEBACK:]) is None and _UNPARSED.match(text[:HEAD]) is None:
        return None
    last = (line for line in reversed(text[-HEAD:].splitlines()) if line.strip() and not _OF_MESSAGE.match(line))
    line = next(last, "")
    return line if _LAST_WORDS.match(line) else None


_MAX_TRACEBACK = 20_000
_OF_MESSAGE = lazy_pattern(r"\s|DETAIL: |HINT: |CONTEXT: |LINE \d|\^|\[SQL: |\(Background on this error")


def admits_failure(text: str) -> bool:
    """Whether a text admits that something did not work; judges the first 20,000 code points."""
    return _admission_start(text) is not None


def failure_admission(text: str) -> str | None:
    """The first sentence of a text that admits a failure, None if there is none."""
    position = _admission_start(text)
    if position is None:
        return None
    head = text[:SPEECH_LIMIT]
    start = max((end.end() for end in _SENTENCE_END.finditer(head, 0, position)), default=0)
    end = _SENTENCE_END.search(head, position)
    return head[start : end.end() if end else len(head)].strip()


def _admission_start(text: str) -> int | None:
    """The position of the first admission."""
    head = _NO_TROUBLE.sub(lambda match: " " * len(match[0]), text[:SPEECH_LIMIT])
    matches = (pattern.search(head) for pattern in (_ADMISSION, *ADMISSIONS))
    return min((match.start() for match in matches if match is not None), default=None)
