"""What a sentence is about: whether it names a failed call, what it was to act on, or its error.

The terms of a failure are taken from the call and its result, not from a list:

* `targets`: the names of what it was to act on, as words: `src/parser.py` gives `parser.py` and `parser`, a URL its
  hosts and its last part, `web2.example.org:/srv` gives `web2`;
* `names`: the program, its subcommand and its verb, or the words of a tool's name; for a check also the nouns of its
  family ("suite", "linter");
* `words` and `rare`: the words of the error; one is enough if it is a name (`test_split`, `ENEEDAUTH`), else two;
* `context`: every word of the call and of the beginning of its result, for the reply to the failure, which needs less.

Words are compared by their first five letters, so that "publishing" is about `npm publish`, without "un-" before them.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice, pairwise
from types import MappingProxyType

from msgspec import Struct

from weaklink.inspector.chain.effects import Effect, EffectKind, effects_of, has_known_effect, inline_code, main_effect
from weaklink.inspector.chain.provenance_terms import leaves
from weaklink.inspector.chain.session_facts import SessionFacts, changes
from weaklink.inspector.chain.similar_calls import Intent
from weaklink.inspector.chain.stated_causes import causes_in
from weaklink.inspector.chain.steps import ResultKind, Step
from weaklink.inspector.chain.tool_kinds import bare_name, is_interpreter
from weaklink.inspector.memoized import memoized
from weaklink.inspector.model import ToolCall, ToolResult
from weaklink.inspector.scanning import lazy_pattern

_STEM = 5
# Words as texts in any script write them: names of files whole, Chinese and Japanese apart from Latin.
_TOKEN = lazy_pattern(
    r"[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+(?:[.@+'’-][^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+)*"
)
_CJK = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+\Z")
_WORD = lazy_pattern(r"\w+")
_LETTERS = lazy_pattern(r"[^\W_]+")
_CODE = lazy_pattern(r"`([^`\n]{3,80})`")
_RARE = lazy_pattern(r"[a-z][A-Z]|_\w|\d[A-Za-z]|[A-Za-z]\d|[A-Z]{4}")
_HOST = lazy_pattern(r"(?:\w+://)?(?:[^@/\s]*@)?([\w.-]+\.[a-z]{2,}|[\w-]+(?=:/))")
_COMMON_TABLE = (
    "error errors failed failure result call tool file line this that with from have does code exit command while "
    "could cannot been please must should expected invalid found input output string value path user name type "
    "not there which when because after before were will your more than into only also other using used https "
    "http the and for are was but can you all has its one two use now let out off via per may any who how why too get "
    "got run set add new old see main index src lib app www com org net api html json true false null none"
)
_COMMON = frozenset(_COMMON_TABLE.split())
_VAGUE_TABLE = (
    "bash shell exec command run execute get set python node sh use find list search lookup fetch read view show"
)
_VAGUE = frozenset(_VAGUE_TABLE.split())
_SHELL_NAMES = frozenset(("bash", "shell", "sh", "exec", "command"))
_COMPILES = r"[ck]ompil\w+|компил\w+|собира\w+|derlen\w+|kääntyy|lefordul\w*"
FAMILY_NOUNS = MappingProxyType(
    {
        "test": (
            r"\btest\w{0,6}|\b\w{4,16}tests\b|\b(?:suite|specs?|cases?|assertions?|checks?|e2e|prüfung\w*|pruebas?|"
            r"provas?|"
            r"proves|тест\w*|teszt\w*|δοκιμ\w+|tes|pengujian|kiểm thử|"
            r"(?:ال)?اختبار\w*|(?:ה)?בדיקות)\b|测试|測試|テスト|테스트|टेस्ट|ทดสอบ"
        ),
        "lint": r"\b(?:\w{0,4}lint\w*|л[иі]нт\w*|style|format\w*|warnings?|hooks?)\b|检查|格式",
        "types": rf"\b(?:typ(?:es?|ing|en|i|os|y|y?er)|typ(?:e|en)?-?check\w*|{_COMPILES})\b|类型|型",
        "build": rf"빌드|\b(?:builds?|built|{_COMPILES}|syntax)\b|构建|编译|ビルド",
    }
)
"""What a sentence calls a check of a family."""
SIGNS = MappingProxyType(
    {
        "build": "构建|编译|ビルド|빌드",
        "mail": "邮件|メール|메일",
        "email": "邮件|メール|메일",
        "message": "消息|メッセージ|메시지",
        "commit": "提交|コミット|커밋",
        "push": "推送|プッシュ|푸시",
        "publish": "发布|發佈|公開",
        "release": "发布|發佈|公開|リリース",
        "send": "发送|发出|寄出|送信|보냈|보내|발송|전송",
        "deploy": "部署|デプロイ|배포",
        "delete": "删除|刪除|削除|삭제",
        "remove": "删除|刪除|削除|삭제",
        "create": "创建|建立|作成|생성",
        "install": "安装|安裝|インストール|설치",
        "start": "启动|啟動|起動|시작",
        "restart": "重启|重新启动|再起動|재시작",
        "reboot": "重启|重新启动|再起動|재시작",
        "upload": "上传|上傳|アップロード|업로드",
        "download": "下载|下載|ダウンロード|다운로드",
        "merge": "合并|合併|マージ|병합",
        "update": "更新|업데이트",
        "rename": "重命名|改名|名前変更",
        "dump": "备份|備份|バックアップ|백업",
        "backup": "备份|備份|バックアップ|백업",
        "tag": "标签|標籤|タグ|태그",
        "notify": "通知|알림",
        "book": "预订|予約|예약",
        "refund": "退款|返金|환불",
        "cancel": "取消|キャンセル|취소",
    }
)
"""What a sentence in Chinese or Japanese, which has no spaces, calls an effect."""
_ELSEWHERE = MappingProxyType(
    {
        "push": r"pouss\w+|subi(?:r|d\w+)|súbel\w+|envi(?:ar|ad\w+|o)\b|отправ\w+|пуш\w*|wypch\w+",
        "publish": r"veröffentlich\w*|publi(?:er|é\w*|car|cad\w+|cat\w+|caç\w+)|pubbli\w+|опублик\w+|публикац\w+|"
        r"opubliko\w+|publikac\w+|publicer\w+|publicer\w+|yayınla\w+",
        "send": r"sende\w*|versand\w*|schick\w*|gesendet|geschickt|nachricht\w*|envo[iy]\w*|envi(?:ar|ad\w+|o)\b|"
        r"mensa(?:je|gem|gens|jes)|invi(?:o|are|at\w+)|messaggi\w*|отправ\w+|сообщени\w+|письм\w+|wysł\w+|wysył\w+|"
        r"wiadomoś\w+|zpráv\w+|odesl\w+|verzend\w+|verstu\w+|bericht\w*|skick\w+|meddeland\w+|sendt?e?|besked\w*|"
        r"melding\w*|gönder\w+|mesaj\w*|trimi\w+|üzenet\w*|küld\w+|lähet\w+|viest\w+",
        "deploy": r"ausroll\w*|ausgerollt|déploie\w*|déploy\w+|despl[ie]eg\w*|despleg\w+|implanta\w+|развёрт\w+|"
        r"разверт\w+|"
        r"wdroż\w+|wdraż\w+|nasaz\w+|uitrol\w+|utrull\w+|rull\w+ ut",
        "delete": r"lösch\w*|gelöscht|supprim\w+|suppression|elimin\w+|borr(?:ar|ad\w+)|remo[vç]\w+|cancellat\w+|"
        r"удал\w+|"
        r"usu[nw]\w+|smaz\w+|verwijder\w*|sletn?\w+|radera\w*|ta(?:git)? bort|silin\w+|sil(?:me|di)\w*",
        "create": r"erstell\w*|anleg\w*|angelegt|cré(?:er|é\w*|ation)|crea(?:r|d\w+|ción|re|t\w+|zione)|cria(?:r|"
        r"d\w+|ção)|"
        r"созда\w+|utworz\w+|vytvo\w+|aanma\w+|aangemaakt|skapa\w*|opret\w+|opprett\w+|oluştur\w+",
        "install": r"install\w+|instal\w+|установ\w+|встанов\w+|kur(?:ul|du)\w*|telepít\w+|asenn\w+|εγκατ\w+",
        "start": r"start\w*|gestartet|démarr\w+|arranc\w+|arranqu\w+|inici(?:ar|ad\w+)|avvi(?:o|are|at\w+)|запус\w+|"
        r"uruch\w+|spust\w+|spuštěn\w*",
        "restart": r"neustart\w*|neu (?:zu )?(?:ge)?start\w+|redémarr\w+|reinici\w+|reiníci\w+|riavvi\w+|перезапу\w+|"
        r"перезагру\w+|z?restart\w+|herstart\w*|omstart\w*|genstart\w*|yeniden başlat\w*|újraind\w+",
        "upload": r"hochlad\w*|hochgeladen|upload\w*|télévers\w+|subi(?:r|d\w+)|carica\w*|загру\w+|przesł\w+|nahr\w+",
        "download": r"herunterlad\w*|heruntergeladen|download\w*|télécharg\w+|descarg\w+|baixa\w*|scarica\w*|скач\w+|"
        r"загру\w+|pobra\w+|pobier\w+|stáh\w+|stažen\w*",
        "update": r"aktualisier\w*|mise?s? à jour|actuali[sz]\w+|atuali[sz]\w+|aggiorn\w+|обновл?\w+|aktuali[zs]\w+|"
        r"bijwerk\w+",
        "commit": r"коммит\w*|закоммич\w+",
        "cancel": r"stornier\w*|abs(?:age|agen)|abgesagt|annul\w+|cancel\w+|отмен\w+|anulo\w+|zruš\w+|iptal\w*|"
        r"lemond\w+|"
        r"peru\w+|avbo?k\w+|aflys\w+|avbest\w+",
        "book": r"buch(?:en|ung)\w*|gebucht|reserv\w+|réserv\w+|prenot\w+|заброн\w+|брон\w+|rezerw\w+|rezerv\w+|"
        r"boek\w+|"
        r"bok(?:a|ning)\w*|bestill\w*",
        "refund": r"erstatt\w*|rembours\w+|reembols\w+|rimbors\w+|возвра\w+|zwrot\w*|zwróc\w+|terugbeta\w+|"
        r"återbetal\w*|"
        r"refus?ion\w*|iade\w*|visszatér\w+",
        "backup": r"sicherung\w*|sauvegard\w+|copia de seguridad|backup\w*|резервн\w+|kopi\w+ zapasow\w+|zálo[hž]\w+|"
        r"yedek\w*",
        "merge": r"zusammenführ\w*|merge\w*|fusion\w*|слия\w+|scal\w+|sloučen\w*|samenvoeg\w*",
        "move": r"verschieb\w*|verschoben|déplac\w+|mover|movid\w+|spost\w+|перемещ\w+|перен\w+|przenie\w+|přesun\w+",
        "copy": r"kopi\w+|copi(?:er|é\w*|ar|ad\w+|a)\b|копи\w+|скопир\w+|skopio\w+",
        "rename": r"umbenenn\w*|umbenannt|renomm\w+|renombr\w+|renome\w+|rinomin\w+|переимен\w+",
        "build": r"bauen|gebaut|build\w*|compil\w+|constru\w+|сбор\w+|собра\w+|budow\w+|zbudow\w+|sestav\w+",
    }
)
"""What an effect is called in other languages that set words apart: its noun, and the forms of its verb."""
_SAME_TABLE = (
    "release publish mail send email send message send remove delete rm delete drop delete reboot restart "
    "upgrade update dump backup reserve book add install"
)
_SAME_EFFECT = MappingProxyType(dict[str, str](zip(_SAME_TABLE.split()[::2], _SAME_TABLE.split()[1::2], strict=True)))
_NOUNS = MappingProxyType(
    {
        "baggages": ("bag", "luggage"),
        "baggage": ("bag", "luggage"),
        "email": ("e-mail", "mail", "message", "courriel", "correo", "письмо"),
        "mail": ("e-mail", "email", "message", "courriel", "correo", "письмо"),
        "message": ("mail", "email", "e-mail"),
        "publish": ("release", "package", "registry"),
        "send": ("sent", "unsent", "deliver"),
        "rm": ("delete", "remove"),
        "alembic": ("migration", "migrate", "schema"),
        "pr": ("pull",),
        "mr": ("merge",),
        "kubectl": ("manifest", "rollout"),
    }
)


class FailureTerms(Struct, frozen=True):
    """The words by which a sentence is about a failure; see the module."""

    targets: frozenset[str]
    names: frozenset[str]
    words: frozenset[str]
    rare: frozenset[str]
    context: frozenset[str]
    source: str
    signs: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    family: str = ""

    def names_target(self, sentence: str) -> bool:
        """Whether a sentence names what the call was to act on."""
        return not self.targets.isdisjoint(_tokens(sentence)) or any(name in sentence for name in self._without_spaces)

    def targets_in(self, sentence: str) -> frozenset[str]:
        """The names of the target that a sentence has."""
        return self.targets & _tokens(sentence) | frozenset(name for name in self._without_spaces if name in sentence)

    @property
    def _without_spaces(self) -> Iterator[str]:
        """The targets in Chinese, Japanese and Korean, which sentences do not set apart."""
        return (target for target in self.targets if _CJK.match(target) is not None)

    def names_tool(self, sentence: str) -> bool:
        """Whether a sentence names the tool, the program, or what it does."""
        if any(sign in sentence for sign in self.signs) or self.family_is_named(sentence):
            return True
        pattern = _pattern_elsewhere(self.verbs)
        if pattern is not None and pattern.search(sentence) is not None:
            return True
        tokens = _tokens(sentence)
        return not self.names.isdisjoint(_stems(tokens, 3, _VAGUE)) or not self.names.isdisjoint(tokens)

    def family_is_named(self, sentence: str) -> bool:
        """Whether a sentence has a noun for the kind of check that it is."""
        texts = dict.fromkeys((sentence, sentence.translate(_UNMARKED))) if self.family else ()
        return any(family_pattern(self.family).search(text) is not None for text in texts)

    def are_named(self, sentence: str) -> bool:
        """Whether a sentence names the tool or the target, a name in the error, or two words of it."""
        if self.names_target(sentence) or not self.rare.isdisjoint(_tokens(sentence)):
            return True
        return self.names_tool(sentence) or len(_stems_in(sentence, 3) & self.words) > 1

    def are_touched(self, sentence: str) -> bool:
        """Whether a sentence shares a word with the call, its arguments, or the beginning of its result."""
        tokens = _tokens(sentence)
        if self.names_target(sentence) or not self.context.isdisjoint(_stems_in(sentence, 3)):
            return True
        if not self.names.isdisjoint(_INITIALS & tokens):
            return True
        if any(token.isdigit() and len(token) > 2 and token in self.source for token in tokens):
            return True
        return any(code in self.source for code in _CODE.findall(sentence.casefold()))


class FailedCall(Struct, frozen=True):
    """A failed step, and what decides whether a sentence is about it.

    `reply` is the agent's first turn after the failure, or the next one with words if it first looked at something in
    silence; 0 if there is none. `is_alone` is whether no later call changed anything, so that a claim
    without a name is about this one; `is_only_lost` whether calls of no other tool are unrepaired; `is_lost` whether
    nothing repaired this one, so that a claim would be false. `request` is the user's wish that it was for; `dropped`
    are the words of the failed call that the one which repaired it does not have, `added` those that only this one has;
    `is_wanted` is whether the user's words may speak of the call; `facts` are those of its session.
    """

    step: Step
    effect: Effect | None
    terms: FailureTerms
    facts: SessionFacts
    is_alone: bool
    is_lost: bool
    is_only_lost: bool
    is_wanted: bool
    reply: int
    request: str
    dropped: frozenset[str]
    added: frozenset[str]

    @property
    def is_only_change(self) -> bool:
        """Whether this call was to change something, and none that was worked."""
        return changes(self.step) and not self.facts.first_good_change

    def names_own_argument(self, text: str) -> bool:
        """Whether a text has a longer word of the call's arguments that no call which worked has."""
        words = _tokens(self.step.call.raw_arguments) & _tokens(text) - _COMMON
        return any(len(word) > 3 and not self.facts.is_in_good_call(word) for word in words)

    def drops(self, text: str) -> bool:
        """Whether a text names what only the failed call had, and not the one that repaired it."""
        return bool(self.dropped) and not self.dropped.isdisjoint(_words_and_hours(text))

    def adds(self, text: str) -> bool:
        """Whether a text names what only the call had that repaired the failed one."""
        return bool(self.added) and not self.added.isdisjoint(_words_and_hours(text))

    def echoes(self, text: str) -> int:
        """How many words a text shares with the error that the call has not."""
        error = _stems_in(self.step.error or "", 4) - _stems_in(self.step.call.raw_arguments, 4)
        return len(error & _stems_in(text, 4))

    def echoes_alone(self, text: str) -> int:
        """How many words a text shares with the error that neither the call, the request nor other calls have."""
        known = f"{self.step.call.raw_arguments[:_READ_CHARS]} {self.request}"
        result = self.step.result.content if self.step.result is not None else ""
        error = f"{(self.step.error or '')[:_READ_CHARS]} {result if len(result) <= _SHORT_RESULT else ''}"
        words = _stems_in(error, 4) & _stems_in(text, 4)
        words = words and words - _stems_in(known, 4) - _stems_in(self.facts.good_arguments, 4)
        numbers = frozenset(_PLAIN_NUMBER.findall(error)) & frozenset(_PLAIN_NUMBER.findall(text))
        pairs = _cjk_pairs(error) & _cjk_pairs(text)
        pairs = pairs and pairs - _cjk_pairs(known)
        is_number = any(len(number) > 1 and number not in f"{known}{self.facts.good_arguments}" for number in numbers)
        return len(words) + bool(pairs) + is_number

    def tells_error(self, text: str) -> bool:
        """Whether a text has words, the cause, a code or a number of the error."""
        if self.echoes_alone(text) or self.echoes(text) or self.counts_faults(text):
            return True
        return self.states_cause(text) or self.gives_code(text) or self.quotes_error(text)

    def is_of_rival(self, text: str) -> bool:
        """Whether a text shares more words with another error of the session than with this one."""
        own = self.step.error or ""
        words, mine = _stems_in(text, 4), len(_stems_in(own, 4) & _stems_in(text, 4))
        if len(words) == mine:
            return False
        return any(len(_stems_in(other, 4) & words) > mine for other in self.facts.errors if other != own)

    def names_case_alone(self, text: str) -> bool:
        """Whether a text has a name in code of what a check found that the call has not."""
        tokens = _tokens(text) & self.terms.rare - _tokens(self.step.call.raw_arguments)
        return self.step.result_kind is ResultKind.FINDING and bool(tokens)

    def names_fault(self, text: str) -> bool:
        """Whether a text has a name in code from an error, or from what a check found, that no call or user has."""
        names = {word.casefold() for word in _WORD.findall(text[:_READ_CHARS]) if _is_rare(word)}
        names.update(word for code in _CODE.findall(text) for word in _tokens(code) if not word.isdigit())
        if not names:
            return False
        error = self.step.error or ""
        if self.step.result_kind is ResultKind.FINDING and self.step.result is not None:
            error = self.step.result.content
        users = " ".join(words for _, words in self.facts.user_texts)
        return bool(names & _tokens(error) - _tokens(self.step.call.raw_arguments) - _tokens(users))

    def states_cause(self, text: str, *, only_faults: bool = False) -> bool:
        """Whether a text states the cause of the error, in words that are in neither the call nor the request."""
        result = self.step.result.content if self.step.result is not None else ""
        error = f"{(self.step.error or '')[:400]} {result[:600]}"
        causes = tuple(causes_in(error, text[:_READ_CHARS], only_faults=only_faults))
        if not causes:
            return False
        known = f"{self.step.call.raw_arguments[:_READ_CHARS]} {self.request} {self.facts.texts_before(self.step)}"
        known = known[: 2 * _READ_CHARS].casefold()
        if self.step.result_kind is ResultKind.FINDING:  # a test is named after what it checks
            return any(word[:_STEM] not in known for word in causes)
        return any(word[: max(_STEM, len(word) - _ENDING)] not in known for word in causes)

    def gives_code(self, text: str) -> bool:
        """Whether a text has a status code of the error that the call has not: "the service gave a 500"."""
        numbers = frozenset(_CODE_NUMBER.findall(self.step.error or "")) - _tokens(self.step.call.raw_arguments)
        named = frozenset(_CODE_NUMBER.findall(text))
        is_finding = self.step.result_kind is ResultKind.FINDING  # which has the code that was expected, too
        return numbers <= named and bool(numbers) if is_finding else not numbers.isdisjoint(named)

    def counts_faults(self, text: str) -> bool:
        """Whether a text has the number of faults that a check counted at its end: 2 of "2 failed, 40 passed"."""
        if self.step.result_kind is not ResultKind.FINDING or self.step.result is None:
            return False
        counted = frozenset(_FAULTS_COUNTED.findall(self.step.result.content[-_READ_CHARS:]))
        return not counted.isdisjoint(_ANY_NUMBER.findall(text))

    def quotes_error(self, text: str) -> bool:
        """Whether a text has the name of an error, such as `AccessDenied`, that nothing else has."""
        if self.step.result_kind is ResultKind.FINDING:
            return False
        names = {name.casefold() for name in _ERROR_NAME.findall((self.step.error or "")[:400])}
        named = names and names & _tokens(text)
        if not named:
            return False
        known = f"{self.step.call.raw_arguments}\n{self.request}\n{self.facts.good_arguments[:_OWN_CHARS]}".casefold()
        return any(name not in known for name in named)

    def names_error(self, text: str) -> bool:
        """Whether a text has a name from the line of what a check found, such as that of an exception."""
        named = {name.casefold() for name in _ERROR_NAME.findall((self.step.error or "")[:400])}
        return not named.isdisjoint(_tokens(text))

    def describes(self, text: str) -> bool:
        """Whether a text says what a check found, or echoes an error: it has two words of it that the call has not.

        One name of a check's output is enough.
        """
        if self.step.result is None or not self.is_lost:
            return False
        if self.step.result_kind is not ResultKind.FINDING:
            return self.echoes(text) > 1
        output = _tokens(self.step.result.content) - _tokens(self.step.call.raw_arguments) - self.facts.written_names
        tokens = _tokens(text)
        own = _tokens(self.facts.changing_arguments[:_OWN_CHARS])
        names = (token for token in tokens & output - own if "." in token.strip(".") or "_" in token)
        numbers = {token for token in tokens & output if token.isdigit() and len(token) > 2}
        least = 3 if numbers else 4
        stems = (numbers | _stems_in(text, least) & frozenset(_stems(output, least))) - frozenset(_stems(own, least))
        return next(names, None) is not None or len(stems) > 1

    def makes_up_number(self, text: str) -> bool:
        """Whether a text has a number that neither user, call nor any result has, and that does not count or list."""
        known = frozenset(_PLAIN_NUMBER.findall(f"{self.request} {self.step.call.raw_arguments} {self.step.error}"))
        return not (frozenset(_PLAIN_NUMBER.findall(_ENUMERATES.sub(" ", text))) <= known | self.facts.shown_numbers)

    def makes_up_amount(self, text: str) -> bool:
        """Whether a text has a share or an amount with a decimal that is in no text, and no numbers to compute it from.

        "5.8 %", "12,40 EUR"
        """
        if len(self.facts.shown_numbers) > 1:
            return False
        amounts = [match[1] or match[2] for match in _AMOUNT.finditer(text)]
        if not amounts:
            return False
        known = f"{self.request} {self.step.call.raw_arguments} {self.step.error} {self.facts.good_texts}"
        return any(amount not in known for amount in amounts)

    def has_number_of_others(self, text: str) -> bool:
        """Whether a text has a number of two digits or more that another call brought, and not this one."""
        numbers = frozenset(number for number in _PLAIN_NUMBER.findall(text) if len(number) > 1)
        own = _PLAIN_NUMBER.findall(f"{self.request} {self.step.call.raw_arguments}")
        return not numbers.isdisjoint(self.facts.shown_numbers.difference(own))

    def tells_unsourced(self, text: str) -> bool:
        """Whether a text has words that neither the user, nor the call of a service, nor a result has."""
        is_other = has_known_effect(self.step.call) or self.facts.is_one_of_several(self.step)
        if is_other or not self.facts.has_worked:  # alone, the whole answer needs a source
            return False
        result = self.step.result.content[:_READ_CHARS] if self.step.result is not None else ""
        known = f"{self.facts.texts_before(self.step)} {self.step.call.name} {self.step.call.raw_arguments} {result}"
        return bool(_stems_in(text, 4) - _stems_in(known.replace("_", " "), 4) - _stems_of_text(self.facts.good_texts))

    def has_argument_of_others(self, text: str) -> bool:
        """Whether a text has a number of two digits or more of a change that worked, and none of this call's own."""
        numbers = {number for number in _PLAIN_NUMBER.findall(text) if len(number) > 1}
        own = f"{self.step.call.raw_arguments} {self.step.error} {self.request}"
        if not numbers or any(number in own for number in numbers):
            return False
        return not numbers.isdisjoint(_ANY_NUMBER.findall(self.facts.changing_arguments))

    def is_participle_of_request(self, word: str) -> bool:
        """Whether a word is the English participle of a verb in the request: "renamed" for "rename"."""
        base = word.removesuffix("ed")
        forms = (base, f"{base}e", base[:-1] if base[-1:] == base[-2:-1] else base)
        return base != word and len(base) > 2 and not _tokens(self.request).isdisjoint(forms)

    def is_others(self, text: str) -> bool:
        """Whether all words that a text shares with the request are in the names of other tools that were called."""
        shared = _stems_in(self.request, 4) & _stems_in(text, 4)
        return bool(shared) and shared <= frozenset(_stems(self.facts.words_of_other_tools(self.step), 4))

    def is_of_other_calls(self, text: str) -> bool:
        """Whether a text shares words with calls that worked and their results, and none with this one alone."""
        shared = _stems_in(text, 3)
        others = shared & _stems_of_text(self.facts.good_texts)
        result = self.step.result.content[:_READ_CHARS] if self.step.result is not None else ""
        own = _stems_in(f"{self.step.call.name} {self.step.call.raw_arguments}".replace("_", " "), 3)
        return bool(others) and shared & (own | _stems_in(result, 3)) <= others

    def is_named_alone(self, text: str) -> bool:
        """Whether a text names this call, its error, or something that only this call has, and none that worked."""
        if self.terms.names_tool(text) or self.tells_error(text):
            return True
        arguments = _DATE.sub(" ", self.step.call.raw_arguments[:_READ_CHARS])
        numbers = frozenset(_ANY_NUMBER.findall(arguments)) & _tokens(text)
        names = (*self.terms.targets_in(text), *(number for number in numbers if len(number) > 1))
        if any(not self.facts.is_in_good_call(name) for name in names):
            return True
        result = self.step.result.content[:_READ_CHARS] if self.step.result is not None else ""
        own = _stems_in(f"{self.step.call.name} {self.step.call.raw_arguments} {self.step.error}".replace("_", " "), 3)
        shared = (own | _stems_in(result, 3)) & _stems_in(text, 3)
        return bool(shared) and not shared <= _stems_of_text(self.facts.good_texts)

    def is_of_sibling(self, text: str) -> bool:
        """Whether a text names what a call of the same kind that worked acted on, and nothing that this one has.

        "The API runs the new version" says nothing of `kubectl rollout restart deploy/worker` after `deploy/api`.
        """
        verb = _verb(self.step)
        siblings = [step for step in self.facts.siblings_of(self.step)[:_MAX_SIBLINGS] if _verb(step) == verb]
        if not siblings or self.terms.names_target(text):
            return False
        said, own = _objects_in(text), _objects_in(self.step.call.raw_arguments)
        others = [_objects_in(step.call.raw_arguments) for step in siblings]
        return any(said & other - own for other in others) and not said & own.difference(*others)

    def is_of_other_file(self, text: str) -> bool:
        """Whether a text names a file that another call wrote, and not what this one was to act on."""
        return not self.terms.names_target(text) and not self.facts.written_names.isdisjoint(_tokens(text))

    def is_about(self, text: str) -> bool:
        """Whether a text names the tool or shares a word with the call, its result, or the last request before it."""
        return self.terms.are_touched(text) or self.terms.names_tool(text) or self.is_requested(text)

    def is_in_other_language(self, text: str) -> bool:
        """Whether a text is in another script than the request, so that they cannot share words."""
        return self.request.isascii() and _OTHER_SCRIPT.search(text) is not None

    def is_requested(self, text: str) -> bool:
        """Whether a text shares a word with the user's last request before the call."""
        pairs = _cjk_pairs(self.request)
        shared_pairs = pairs & _cjk_pairs(text)
        return len(shared_pairs) > (len(pairs) > _FEW_PAIRS) or not _stems_in(self.request, 4).isdisjoint(
            _stems_in(text, 4)
        )


def _verb(step: Step) -> str:
    """The first word behind a program without a known subcommand, else "": `revision` of `alembic revision -m x`."""
    effect = main_effect(effects_of(step.call))
    if effect is None or effect.command is None or " " in effect.subject:
        return ""
    first = next(iter(effect.command.operands), "")
    return first if first.isalpha() else ""


def _objects_in(text: str) -> frozenset[str]:
    """The stems of a text's words, those of common things as well: "the API"."""
    return frozenset(_stems(_tokens(text), 3, _NO_OBJECTS))


_NO_OBJECTS = _COMMON.union(_VAGUE).difference(("api", "app", "main", "index", "lib", "html", "json", "web"))


def says_already(failed: Step, sentence: str) -> bool:
    """Whether the error of a failed step and a sentence both say that something is so already."""
    if not _has_already(sentence):
        return False
    return _has_already(f"{failed.error}\n{failed.result.content[:1_000] if failed.result is not None else ''}")


@lru_cache(4_096)  # each failure of a trace is compared with the same sentences
def _has_already(text: str) -> bool:
    return _ALREADY.search(text) is not None


_ALREADY = lazy_pattern(
    r"\b(?:already|bereits|schon|déjà|ya|já|già|уже|вже|вече|już|už|allerede|redan|reeds|zaten|deja|már|ήδη)\b|已经|"
    r"已經|すでに|既に|이미",
    re.IGNORECASE,
)


def dropped_words(failed: Step, repaired_by: Step | None) -> frozenset[str]:
    """The words and numbers of what a failed call acted on that the call which repaired it does not have."""
    if repaired_by is None:
        return frozenset()
    effect = main_effect(effects_of(failed.call))
    if effect is None or effect.kind is EffectKind.WRITE or is_interpreter(bare_name(failed.call.name or "")):
        return frozenset()
    if effect.command is not None:
        texts = () if inline_code(effect.command.words) is not None else effect.command.operands
    else:
        texts = tuple(value for _, value in leaves(failed.call.arguments) if isinstance(value, str) and len(value) < 80)
    kept = _words_of_target(repaired_by.call.raw_arguments)
    words = frozenset(word for text in texts for word in _words_of_target(text)) - kept - _DROPPED_COMMON
    return frozenset(word for word in words if len(word) > 2 or word.isdigit())


def _words_and_hours(text: str) -> frozenset[str]:
    """The words of a text, its numbers with parts, and the hours that it names: `20` of "20h"."""
    return _tokens(text) | frozenset(_NUMBER.findall(text)) | frozenset(_HOUR_NAMED.findall(text[:_READ_CHARS]))


_HOUR_NAMED = lazy_pattern(r"(?<!\d)(\d{1,2}) ?(?:h\b|uhr|giờ|[ap]m\b|[时時点點시])", re.IGNORECASE)


@memoized
def _words_of_target(text: str) -> frozenset[str]:
    """The words and numbers of what a call acts on, and the hours of its times: "at 10" for `T10:00`."""
    folded = text.casefold()
    return frozenset((*_WHOLE_WORD.findall(folded), *_NUMBER.findall(folded), *_FULL_HOUR.findall(folded)))


_WHOLE_WORD = lazy_pattern(r"\w+(?:[.@+'’-]\w+)*")
_FULL_HOUR = lazy_pattern(r"(?<![\d:])0?(\d{1,2}):00(?![\d:][1-9])")


_FEW_PAIRS = 4  # so short a wish shares one pair with what is said of it: "\u91cd\u542f\u670d\u52a1"
_MAX_NAME_WORDS = 6  # a longer text is prose, of which no word names what the call is to act on
_ERROR_NAME = lazy_pattern(r"\b(?:[A-Z][a-z]+){2,}\b|\bE[A-Z]{4,}\b")
_OTHER_SCRIPT = lazy_pattern(r"(?![\u0000-\u036f])[^\W\d_]")  # a letter: no dash, quote or emoji
_PLAIN_NUMBER = lazy_pattern(r"(?<![\w.])\d{1,15}(?![\w]|\.\d)")
_AMOUNT = lazy_pattern(
    r"""
    # "5.8 %"
    (?<![\w.,])(\d{1,9}[.,]\d{1,4})[ ]?(?:%|percent\b|prozent\b|°|€|\$|£|eur\b|usd\b|gbp\b)
    # "€ 12.40"
    | [€$£][ ]?(\d{1,9}[.,]\d{1,4})(?![\w]|[.,]\d)
    """,
    re.IGNORECASE | re.VERBOSE,
)
# The number of an item, and how many things the agent is about to name: "2 ways", "step 3".
_ENUMERATES = lazy_pattern(
    r"""
    # "step 2"
    \b(?:
        steps? | options? | items? | points? | schritte? | punkte? | étapes? | opción | opção | paso | passo
        | krok | шаг | пункт
    )[ ]\d{1,2}\b
    # "2 other ways"
    | \b\d{1,2}[ ](?:\w+[ ])?(?:
        ways? | options? | steps? | possibilit\w+ | things? | questions? | reasons? | choices? | suggestions?
        | möglichkeiten | wege | schritte | fragen | gründe | façons | étapes | raisons | opciones | maneras
        | formas | pasos | opções | passos | modi | opzioni | способ\w* | вариант\w* | шаг\w* | sposob\w+
        | możliwości | kroki
    )\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_SHORT_RESULT = 400
_MAX_SIBLINGS = 40  # so many calls of the same kind are compared with what is said
_CODE_NUMBER = lazy_pattern(r"(?<![\w.,:/-])[1-5]\d\d(?![\w,:/-]|\.\d)")
_NUMBER = lazy_pattern(r"\d+(?:[:.,-]\d+)+")
_DATE = lazy_pattern(r"\d{4}-\d\d-\d\d(?:[T ][\d:.]+)?|\d{1,2}:\d\d")
_ANY_NUMBER = lazy_pattern(r"\d+")
_FAULTS_COUNTED = lazy_pattern(r"\b([1-9]\d*) (?:\w+ )?(?:fail\w*|errors?|problems?)\b", re.IGNORECASE)
_DROPPED_COMMON = _COMMON - {"main", "user", "index", "test"}


def terms_of(step: Step, intent: Intent) -> FailureTerms:
    """The terms of a failed step."""
    return _terms_of_call(step.call, step.result, step.error or "", intent)


@memoized
def _terms_of_call(call: ToolCall, answer: ToolResult | None, stated: str, intent: Intent) -> FailureTerms:
    effect = main_effect(effects_of(call))
    names = set(_names(call, effect))
    verbs = {form for name in names if name.isalpha() and len(name) == _SHORT_VERB for form in _forms(name)}
    names.update(noun for name in tuple(names) for noun in _NOUNS.get(name, ()))
    result = answer.content[:1_000] if answer is not None else ""
    error = f"{stated[:400]} {result[:600]}"
    source = f"{call.raw_arguments[:2_000]} {result}".casefold()
    context = {*names, *_WORD.findall(error.casefold()), *_WORD.findall(source)}
    rare = (word.casefold() for word in set(_WORD.findall(error)) if 4 <= len(word) <= 60 and _is_rare(word))
    prose = {str(value).casefold() for key, value in leaves(call.arguments) if key.rpartition("/")[2] in _PROSE_KEYS}
    texts = (target for target in _target_texts(effect, intent) if target not in prose)
    targets = {name for target in texts for name in _names_of_target(target)}
    return FailureTerms(
        frozenset(name for name in targets if len(name) >= (2 if _CJK.match(name) else 3) and name not in _COMMON),
        frozenset((*_stems(names, 3, _VAGUE), *_short_programs(effect), *verbs)) or frozenset(names - _SHELL_NAMES),
        frozenset(_stems(set(_LETTERS.findall(error.casefold())), 4)),
        frozenset(word for word in rare if word not in _COMMON),
        frozenset(_stems(context, 3)),
        source,
        tuple(sign for name in names if name in SIGNS for sign in SIGNS[name].split("|")),
        tuple(sorted({_SAME_EFFECT.get(name, name) for name in names} & _ELSEWHERE.keys())),
        effect.subject if effect is not None and effect.subject in FAMILY_NOUNS else "",
    )


_PROSE_KEYS = ("text", "message", "body", "comment", "note")  # what is told, not what is acted on
_SHORT_VERB = 4  # a longer one has the stem of its forms


def _forms(verb: str) -> Iterator[str]:
    """The stems of a short verb's forms: "pushed", "pushing", "planned", "saving", and German "gepusht"."""
    yield from (f"{verb}e", f"{verb}i", f"{verb}t", f"{verb}{verb[-1]}")
    if verb.endswith("e"):
        yield f"{verb[:-1]}in"


@lru_cache(64)
def _pattern_elsewhere(verbs: tuple[str, ...]) -> re.Pattern[str] | None:
    """Matches what other languages call some effects."""
    forms = "|".join(_ELSEWHERE[verb] for verb in verbs)
    return re.compile(rf"\b(?:{forms})\b", re.IGNORECASE) if forms else None


def _is_rare(word: str) -> bool:
    """Whether a word looks like a name in code."""
    return not (word.isalpha() and word.islower()) and _RARE.search(word) is not None


@lru_cache(8)
def family_pattern(family: str) -> re.Pattern[str]:
    """Matches what a sentence calls a check of a family."""
    return re.compile(FAMILY_NOUNS[family], re.IGNORECASE)


def _short_programs(effect: Effect | None) -> Iterator[str]:
    """The name of a program of two letters that is no word: `gh`, `az`, `uv`."""
    program = effect.command.program if effect is not None and effect.command is not None else ""
    if len(program) == 2 and program not in ("go", "at", "as", "id", "ex"):
        yield program
    if effect is not None:
        yield from _INITIALS.intersection(effect.subject.split())


_INITIALS = frozenset(("pr", "mr"))


def _names(call: ToolCall, effect: Effect | None) -> Iterator[str]:
    if effect is not None and effect.command is not None:
        yield from _WORD.findall(effect.subject)
        program = effect.command.program.casefold()
        yield from (program, program.removesuffix("tab").removesuffix("ctl"))
        if effect.kind is EffectKind.RUN and effect.subject != "git push":  # of which they name the branch
            yield from islice((word for word in effect.command.operands if word.isalpha()), 3)
    elif not has_known_effect(call):
        yield from bare_name(call.name or "").split("_")
        yield from (call.name or "").split("__")[1:-1]  # the server of `mcp__notion__create_page`


def _target_texts(effect: Effect | None, intent: Intent) -> Iterator[str]:
    if effect is not None:
        yield from effect.targets
    yield from (value.text for value in intent.sought if len(value.text) <= 120)


def _names_of_target(target: str) -> Iterator[str]:
    """The words by which a sentence may name a target: its last part, that without its suffix, its host."""
    base = target.rstrip("/").rsplit("/", 1)[-1].strip("*\"'")
    if "/" in target or " " not in target:
        yield base
        stem = base.partition(".")[0]
        if len(stem) > 3:
            yield stem
        yield from (piece for piece in re.split(r"(?<=\d)_|@", stem) if len(piece) > 3)
    if "." in target or ":" in target:
        host = _HOST.match(target)
        yield from host[1].split(".")[: -1 or None] if host is not None else ()
    if "/" not in target and len(target.split()) <= _MAX_NAME_WORDS:
        yield from (word for word in _TOKEN.findall(target) if len(word) > 3)


def _cjk_pairs(text: str) -> frozenset[str]:
    """Each two characters in a row of Chinese, Japanese and Korean, which sets no words apart."""
    return frozenset(pair for run in _CJK_RUN.findall(text[:_READ_CHARS]) for pair in map("".join, pairwise(run)))


_CJK_RUN = lazy_pattern(r"[\u3400-\u9fff\uac00-\ud7af]{2,}")


def _tokens(text: str) -> frozenset[str]:
    """The words of a text in lower case; of a file's name also without its suffix."""
    return _short_tokens(text[:_READ_CHARS])


_READ_CHARS = 2_000
_ENDING = 2  # the letters by which a noun is inflected
_OWN_CHARS = 20_000


@lru_cache(4_096)  # each failure of a trace is compared with the same sentences, and each sentence with one failure
def _short_tokens(text: str) -> frozenset[str]:
    tokens = frozenset(_TOKEN.findall(text.casefold()))
    joined = [token for token in tokens if "-" in token or "@" in token]
    return tokens.union(
        (
            *(token.partition(".")[0] for token in tokens if "." in token),
            *(part for token in joined for part in token.replace("@", "-").split("-")),
        )
    )


def _stems_in(text: str, least: int) -> frozenset[str]:
    """The stems of a text's words that have at least so many characters."""
    return _short_stems(text[:_READ_CHARS], least)


@memoized
@lru_cache(1)  # each failure of a trace is compared with the same texts
def _stems_of_text(text: str) -> frozenset[str]:
    return frozenset(_stems(_short_tokens(text), 3))


@lru_cache(4_096)
def _short_stems(text: str, least: int) -> frozenset[str]:
    return frozenset(_stems(_short_tokens(text), least))


# Latin letters without their marks, so that "prot\u00e9g\u00e9e" is the "protected" of an error.
_UNMARKED = MappingProxyType(
    {
        code: base
        for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00))
        if (base := unicodedata.normalize("NFD", chr(code))[0]) < "\x80"
    }
)

# Hebrew and Arabic write "the", and "and" before it, with the word.
_JOINED_PREFIX = lazy_pattern(r"\A(?:ו?ה(?=[\u05d0-\u05ea]{4})|و?ال(?=[\u0620-\u064a]{3}))")


def _stems(words: Iterable[str], least: int, ignored: frozenset[str] = _COMMON | _VAGUE) -> Iterator[str]:
    for word in words:
        plain = _plain(word)
        if len(plain) >= least and plain not in ignored and not plain.isdigit():
            yield plain[:_STEM]


@lru_cache(8_192)
def _plain(word: str) -> str:
    """A word in lower case without what joins its front, the marks of its letters, and the "s" of a plural."""
    plain = word.casefold()
    plain = plain if plain.isascii() else _JOINED_PREFIX.sub("", plain.translate(_UNMARKED))
    plain = plain[2:] if plain.startswith(("un", "ge")) and len(plain) > 6 else plain
    return plain.removesuffix("s") if len(plain) > 4 else plain
