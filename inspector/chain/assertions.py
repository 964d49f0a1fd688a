"""What a clause of an agent's text asserts: that something is so, that it is not, or only that it may be.

A sentence is read clause by clause, because each has its own polarity: "0.4.0 is tagged, but not published: the
registry answers 403" asserts a tag and denies a release. Nothing is parsed; three properties of a clause are decided
by closed classes of words, which a language has few of, and not by phrases:

* it *denies* if it has a negation ("not", "no", "nobody", "without", "-n't", "kein", "ne ... pas", "未"), a word for
  failing ("refused", "missing", "blocked"), a participle in "un-" ("unsent"), or a word for what is left to be done
  ("still uses", "remains", "yet", "by hand", "until you", "steht noch aus", "todavía");
* it *supposes* if it speaks of what may come: a condition, a plan, a wish, a question;
* it is *done* if it has a sign of completion: "now", a form of "be" or "have", a participle, a tick, "已", "ました".

Two negations are none: "no test fails", "without errors", "nothing is missing", "keine Fehler" deny nothing, and
neither do names of things such as "error handling" and "tests for missing keys". They are blanked first. Words in
`code` decide no polarity, but they may name what a clause is about. Everything takes time linear in the text.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from types import MappingProxyType

from msgspec import Struct

from weaklink.inspector.chain.failure_words import admits_failure
from weaklink.inspector.scanning import folded, folded_pattern, folded_words_pattern, lazy_pattern

_CODE = lazy_pattern(r"`[^`\n]*`")
_NO_CJK = r"[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"  # which is written beside a name without a space
FILE_NAME = lazy_pattern(
    rf"(?<!{_NO_CJK})(?<!\.)(?:(?:{_NO_CJK}|[.@-])+/)*(?:{_NO_CJK}|[@-])+\.[a-z][a-z0-9_]{{0,5}}(?!{_NO_CJK})(?!\.\w)"
)
"""Matches the name of a file with its folders: `errors.proto` fails nothing."""
_EMPHASIS = lazy_pattern(r"\*{1,3}|~~|__")
_ALTERNATIVES = lazy_pattern(r"\b\w+(?:/\w+){2,}")  # debug/info/warn/error
_LEVEL = r"\b(?:trace|debug|verbose|info|notice|warn(?:ing)?|error|critical|fatal)\b"
_LEVELS = lazy_pattern(rf"{_LEVEL}(?:(?:,| to| bis)? (?:(?:and|or|und|oder|et|ou|y|o|e) )?{_LEVEL})+", re.IGNORECASE)
_CLAUSE_END = lazy_pattern(
    r"""
    # punctuation, also Arabic and Chinese
    (?:,(?!\d)|[;(){}\u2013\u2014\u060c\u061b\uff0c\uff1b\uff1a\u3001\u3002])\s* | :(?=\s|$) | \s-\s
    # a conjunction: English, German, French, Spanish, ...
    | \b(?:
        but | however | because | since | so | although | though | whereas | while | and | aber | weil | denn
        | da | und | mais | car | et | pero | porque | mas | y | e(?=[ ]n[ãa]o|[ ]non) | ma | perché | ale
        | lecz | bo | oraz | protože | але | бо | тому | но | maar | omdat | men | eftersom | fordi | ama
        | çünkü | ve | dar | és(?![ ](?:als?|el|una?|en|que)\b) | mert | mutta | koska | αλλά | nhưng | tetapi
        | tapi | karena | og | och | і | та | dan | và | και | și
    )\s
    """,
    re.IGNORECASE | re.VERBOSE,
)
# "And" in the Slavic languages with Latin letters; elsewhere these are articles and prepositions.
_SLAVIC_LETTER = lazy_pattern(r"[ěřůľťďňčšžđąćęłńśźż]", re.IGNORECASE)
_SLAVIC_AND = lazy_pattern(r"(?<=\w)\s+[ai]\s+(?=\w)")

_TROUBLE = (
    r"(?:errors?|fail\w*|problems?|issues?|warnings?|conflicts?|trouble|complain\w*|findings?|violations?|crash\w*)"
)
# Two negations, and names of things that only sound like failures.
_NO_DENIAL = folded_pattern(
    r"\b(?:sorry|apolog\w+) (?:about|for|to hear)\b[^,;.!]*|\bas soon as (?:they|he|she)\b|"
    r"\b(?:sobald|dès qu['’]|en cuanto|appena) ?(?:er|sie|ils?|elles?|l[oa]s?|l[ei]) |"
    r"\bwithout (?:a |any |further )?(?:hitch\w*|incidents?|ado|delay)\b|"
    rf"\b(?:no|0|zero|without|free of|none of|not an?y?|any|fewer|nothing|no longer|"
    rf"never)(?: [\w-]{{1,30}}){{0,3}}? {_TROUBLE}\b"
    r"(?: (?:any ?more|remain\w*|left|found|reported))?|\b(?:no|nothing|nobody|"
    r"no one)\b(?: [\w-]{1,30}){0,2}? (?:(?:is|are|was|were) )?(?:\w+ )?(?:waiting|blocking|blocked|locked|stuck|"
    r"hanging|holding)\b|\b(?:finds?|found|reports?|reported|shows?|says?) nothing\b|\bnothing (?:else )?to \w+|"
    r"\bnone of (?:them|these|those|the \w+) (?:is|are|was|were) (?:broken|missing|red|failing|invalid|wrong)\b|"
    r"\b(?:the|all|both|any) (?:\w+ )?(?:pending|missing|failing|broken|outstanding|stale|remaining) \w+ "
    r"(?=(?:\w+ )?(?:has|have|is|are|was|were) (?:now |all )?(?:been )?\w+ed\b)|\beverything but (?:errors|warnings)\b|"
    r"\bdenial (?=case|path|flow|page)|"
    r"\bnothing (?:\w+ )?(?:missing|broken|red|lost|breaks|left|pending|open)\b|\b(?:no longer|not|never|don['’]t|"
    r"doesn['’]t|didn['’]t) (?:fail\w*|break\w*|miss\w*|crash\w*|complain\w*|broken|red|missing)\b|"
    rf"\b(?:fix(?:e[ds]|ing)?|resolv\w{{1,5}}|solv\w{{1,4}}|correct(?:s|ed|ing)?|clear(?:s|ed)?|handl\w{{1,4}}|"
    rf"avoid\w{{0,4}}|"
    rf"prevent\w{{0,4}})(?: (?:the|an?|all|this|that|these|those|its|both|remaining|further|other|more|"
    rf"last))*(?: [\w-]{{1,30}}){{0,2}}? "
    rf"(?:{_TROUBLE}|missing \w+|broken \w+|wrong \w+|invalid \w+|bugs?)\b|"
    r"\berrors?[- ](?:handl\w+|free|messages?|logs?|codes?|rates?|checking|pages?|types?|class\w*|modules?|boundar\w+|"
    r"response\w*)\b|(?<!\bcan )(?<!could )\bno longer (?!exist|work|available|there|present|support|reachable|valid|"
    r"build|compile|run|ship)\b|\b(?:handles?|handling|raises?|throws?|returns?|catch(?:es)?|logs?|prints?) (?:an? |"
    r"the |all )?(?:\w+ )?(?:errors?|exceptions?|failures?)\b|\b(?:would|might|may|will|can|could) (?:fail|break|"
    r"error)\w*|\b(?:if|in case|whenever)\b[^,;:.]*|(?<!because )\b(?:for|of|about|on|as) (?:the |an? |any |"
    r"all )?(?:errors?|failures?|problems?)\b|\b(?:for|of|about|on|as|when|with|against) (?:the |an? |any |"
    r"all )?(?:missing|invalid|broken|wrong|unknown|empty|failed|failing|corrupt\w*|expired|unexpected|rejected|"
    r"blocked|incorrect) \w+|\bthe rest (?:of \w+ )?(?:stays?|remains?)\b|\binstead of (?:the )?[$€£¥]?[\d\"'`\u2022]|"
    r"\b(?:under|in|below|to) \W?unreleased\b|\bunused\b|\bunreleased\W{1,2}(?:heading|section|block)\b|"
    r"\bnot only\b|\bno (?:doubt|need|need to|changes? (?:is|are|"
    r"was|were) needed)\b|\bwhy not\b|\b(?:\d+) skipped\b|\bif not\b|\bnot required\b|\b(?:keine?\w?|"
    r"ohne)(?: \w+){0,2} (?:fehler\w*|probleme?\w*|warnung\w*|beanstandung\w*|befunde?\b|einw[aä]nd\w*|meldung\w*)|"
    r"\b(?:aucune?|sans|plus d['’e]|pas d['’e])\s?(?:\w+ ){0,2}(?:erreurs?|problèmes?|échecs?|avertissements?|"
    r"remarques?|alertes?)|\b(?:sin|ning[uú]n\w*|ya no|no hay|nenhum\w*|sem|não há)(?: \w+){0,4}? (?:error\w*|erros?|"
    r"problemas?|fall[oa]s?|falhas?|avisos?|observaciones|advertencias|objeciones|alertas?|ressalvas?|reparos?)|"
    r"\b(?:без|нет|никаких)(?: \w+)? (?:ошиб|проблем|замечани|предупрежден)\w*|\b(?:nessun\w?|senza|non ci sono|bez|"
    r"žádn\w+|żadn\w+|brak|nie ma|nejsou|без|немає|жодн\w+|няма|geen|zonder|utan|inga|sense|inget|ingen|uden|uten|"
    r"hiçbir|fără|nicio|niciun|nincs|nélkül|ilman|ei|χωρίς|δεν υπάρχ\w+|tanpa|tidak ada|không(?: có|"
    r" còn)?)(?: \w+){0,2}? (?:errori|errors|problemi|avvisi|грешк\w*|greš\w+|błęd\w+|problem\w*|ostrzeże\w+|"
    r"ch[yý]b\w*|varování|помил\w+|попереджен\w+|fouten|waarschuwing\w*|fel|fejl|feil|varning\w*|advarsl\w+|hata\w*|"
    r"sorun\w*|erori|eroare|hib\w+|virhe\w*|výhrad\w*|připomín\w+|zastrzeże\w+|uwag|замечани\w+|зауважен\w+|"
    r"забележк\w+|primjedb\w+|opmerking\w*|anmärkning\w*|anmerkning\w*|bemærkning\w*|huomautuk\w*|observații\w*|"
    r"rilievi|segnalazioni|uyarı\w*|beanstandung\w*|ongelm\w+|σφάλμα\w*|kesalahan|masalah|lỗi|vấn đề)|\b(?:hatasız|"
    r"sorunsuz|hibátlanul|virheittä|fejlfri\w*)\b|\bhib[aá]\w* nélkül\b|\bبدون (?:أي )?(?:أخطاء|خطأ|مشاكل)|\b(?:ללא|"
    r"בלי|אין) (?:שגיא\w+|בעיות)|बिना (?:किसी )?त्रुटि|ไม่มี(?:ข้อผิดพลาด|ปัญหา)|(?:오류|에러|문제)(?:가)? ?없|"
    r"(?:没有|沒有|无|未发现|不再)[^,，。]{0,8}?(?:错误|问题|失败|报错|警告)|(?:エラー|失敗|問題)[^。]{0,4}?(?:なし|"
    r"ありません|なく|ない)"
)
# Negations, words for failing and words for what is left to be done: closed classes, one language to a line.
_NEGATIONS = (
    (
        r"not|never|no|none|except(?!ion)\w*|the exceptions? (?:is|are|being)|apart from|aside from|other than|"
        r"save for|all but|"
        r"nothing|nobody|nowhere|neither|nor|without|cannot|hardly|\w+n['’]t|denial|instead|rather than"
    ),
    r"außer|bis auf|ausgenommen|mit ausnahme|nichts?|kein\w{0,2}|nie|niemals|ohne|stattdessen|statt|anstelle|anstatt",
    r"sauf|hormis|excepté|à l['’]exception|ne|n['’]\w+|pas|jamais|aucun\w*|rien|sans|au lieu|passer de",
    (
        r"excepto|exceto|salvo|con excepción|com exceção|nunca|ning[uú]n\w*|sin|nada|no se|en lugar|en vez|não|"
        r"nenhum\w*|sem|em vez"
    ),
    r"tranne|eccetto|ad eccezione|non|nessun\w*|niente|senza|mai|invece",
    r"кроме(?! того)|за исключением|нельзя|не|нет|ни|без|никогда|вместо",
    r"oprócz|z wyjątkiem|nie|nic|nikt|nigdy|bez|żad\w+|zamiast",
    r"kromě|až na|není|nejsou|nelze|nemám|nemá|žádn\w+|nikdo|nikdy|místo (?:toho|něj|něho|ní|nich)|nie je|nebol\w*",
    r"немає|нема|ні|жодн\w+|замість|няма|нито|nije|nisu|nisam|nema\w*|niti|cap|sense",
    r"behalve|niet|geen|nooit|niets|zonder|niemand",
    r"förutom|utom|undtagen|bortset|unntatt|inte|ej|inga|inget|ingen|aldrig|utan|ikke|intet|uden|uten|aldri",
    r"hariç|değil|yok|olmadan|hiçbir|yerine|\w{2,}(?:ma|me)(?:dı|di|mış|miş)\w*|\w{2,}m[ıiuü]yor\w*|\w{2,}[ae]maz",
    r"nu (?:am|a|au|s-a\w*|este|sunt|se|pot|poate|există|merge|e|pe|mai)|niciun|nicio|fără|nimic",
    r"nem|nincs\w*|nélkül|ei|eivät|emme|ilman|en (?:voinut|pystynyt|tehnyt|löytänyt|saanut)",
    r"δεν|μην|χωρίς|κανέν\w+|tidak|belum|bukan|tanpa|không|chưa",
    r"و?(?:لا|لم|لن|ليس\w*|بدون|غير)|לא|אין|בלי|ללא|אינ\w+",
)
_FAILING = (
    (
        r"fail(?!over|safe|back|2ban)\w*|refus\w+|reject\w*|den(?:ied|ies)|declin\w+|turned down|forbid\w*|forbad\w*|"
        r"(?<!in )block(?:ed|s|ing)?|prevent\w*|prohibit\w*|stop(?:s|ped)? (?:short|us|me|it)|missing|absent|lack\w*|"
        r"broken?|breaks|(?<!\ba )(?<!\bthe )red|un(?:reachable|available|able|known|happy|expected\w*|fortunately|"
        r"successful\w*)|un(?!til|der|it|ion|iq|less|used|defined|signed|icode|ified|derstood|limited|install|"
        r"lock|block|zip|"
        r"pack|mount|mut|pin|link|subscrib|archiv|comment)\w{3,24}(?:ed|"
        r"nt|ished)|invalid|incorrect|wrong\w*|mismatch\w*|error(?:s|ed)?|empty-handed|n/a|exit(?:s|"
        r"ed)? (?:with )?(?:an? )?(?:code |status )?[1-9]\d*|non-?zero|problems?|trouble|time[ds]? ?out|time-?outs?|"
        r"crash\w*|hangs?|impossible|sorry|afraid|too late|apolog\w+|regret\w*|conflict\w*|(?:is|are|was|were|be|"
        r"been) (?:\w+ )?down(?! to\b)|only (?:local\w*|on (?:this|your|my|the local) \w+)|(?:local\w*|(?:this|your|"
        r"my) \w+) only|complain(?:s|ed|ing)?|insufficient|expired|outdated|vulnerab\w*|too (?:big|large|long|old|"
        r"many|much|"
        r"small|short|few|slow|early|heavy|tight|strict|narrow|wide|deep|expensive)|(?:ran|run|runs) (?:out|into)|"
        r"(?:is|was|are) full|over(?:loaded| quota)|in vain|outage|offline|ambiguous|bounced|exceed\w*|mistake\w*|"
        r"gave up|give up|corrupt\w*|(?:is|are|was|were|disk|drive|quota|queue|volume|partition) full|(?:is|are|was|"
        r"were|already) taken(?! (?:from|to|care|over|into|out|off))|occupied|(?:already|still|currently|port|"
        r"address|\d+|name|lock) (?:is |was |"
        r"are )?in use|in use (?:by|elsewhere)|busy|read-only|fully booked|booked (?:out|up)|sold out|stopped (?:at|"
        r"in|on)|stuck|fell (?:through|flat)|falls through|only part|exhausted|used up|on hold|halted|stalled|"
        r"held (?:up|back)|disagree\w*|persist\w*|throttl\w*|only (?:the |an? )?\w+ (?:can|may)"
    ),
    (
        r"leider|fehl\w*|abgewiesen|zurückgewiesen|misslungen|misslang|hakt|streikt|bricht ab|brach ab|(?:ab|stürzt|"
        r"stürzte|stürzen) ?ab(?:gestürzt)?|schief\w*|vergeblich|erfolglos|bemängel\w*|beanstande\w*|meckert|"
        r"ausgefallen|überschritten|veraltet\w*|inkompatibel|defekt|beschädigt|nur lokal|un(?:bekannt|zulässig|"
        r"erreichbar|gelöst|vollständig|fertig|erledigt|auffindbar|zugänglich)\w*|zu (?:groß|klein|alt|lang|kurz|"
        r"wenig|viele?)|gescheitert|daneben|scheiter\w+|unmöglich|unverändert|verweiger\w+|abgelehnt|falsch\w*|kaputt|"
        r"rot|blockiert|verboten|ungültig\w*|abgelaufen|abgebrochen|erschöpft|(?:ist|sind|war) voll|"
        r"belegt(?! (?:\w+ )?\d)|besetzt|ausgebucht|ausverkauft|hängt|stehen aus|steht aus|unangetastet|unberührt|"
        r"offline|stockt|klemmt"
    ),
    (
        r"malheureusement|rejet\w+|coinc\w+|cassée?s?|rouges?|dépass\w+|inaccessibles?|incomplète?s?|incomplets?|"
        r"désol\w+|échou\w*|échec\w*|manqu\w+|introuvable|indisponible|inchang\w+|erreurs?|bloqu\w+|interdit\w*|"
        r"(?:est|sont|était) (?:pleine?s?|complete?s?|complète?s?)|(?:déjà|est) pris|occupée?|arrêtée?|épuisée?s?|"
        r"hors (?:ligne|service)|en panne|à l[’\']arrêt|en attente|intacte?s?"
    ),
    (
        r"errores|erros?|roj[oa]|rojos|vermelh[oa]s?|rejeit\w+|negad[oa]s?|fracas\w+|caducad[oa]s?|vencid[oa]s?|"
        r"incomplet[oa]s?|expirad[oa]s?|falt\w+|fall(?:a|ó|o|an|aron|aba)|fallid[oa]s?|sal(?:ió|ieron) mal|atasc\w+|"
        r"rechaz\w+|imposible|lamentablemente|"
        r"rot[oa]s?|denegad\w*|inválid\w*|lo siento|en rojo|está llen[oa]|ocupad[oa]|está complet[oa]|agotad[oa]|"
        r"fuera de servicio|en espera|intact[oa]s?|detenid[oa]|caíd[oa]|fora do ar|deu errado|d(?:eu|á) errado|"
        r"pres[oa] em|travad[oa]|parad[oa]|em espera|falh\w+|"
        r"recus\w+|infelizmente|desculp\w+"
    ),
    (
        r"purtroppo|ross[oae]|fallisc\w+|rifiut\w+|respint\w+|errori|incomplet[oaie]|fallit\w+|errore|impossibile|"
        r"manca\w*|stort[oaie]|bloccat\w+|scadut\w+|rifiutat\w+|negat[oa]|occupat[oa]|esaurit[oa]|ferm[oa]|in attesa|"
        r"intatt[oa]"
    ),
    (
        r"красн\w+|отклон\w+|закончил\w+|истек\w*|истёк|просроч\w+|недостат\w+|неудач\w+|сбо[йяи]\w*|вылет\w+|"
        r"завис(?!и[тм]|е[лт]|я)\w+|застр\w+|не вышло|"
        r"ошиб\w+|пада\w+|упал\w*|провал\w+|отказ\w*|невозможно|недоступ\w+|отсутств\w+|сломан\w*|к сожалению|"
        r"занят\w*|полон|переполнен\w*|остановил\w+|ожида(?!ем|етс|ютс)\w+|нетронут\w+"
    ),
    (
        r"błąd\w*|błęd\w*|niepowodze\w+|niestety|odmów\w*|odmawia\w*|odrzuc\w+|brak\w*|zepsut\w+|pad(?:ł\w*|a|ają)|"
        r"czerwon\w+|zablokow\w+|zajęt\w+|wygas\w+|przepraszam|niedostęp\w+|nieudan\w+|niemożliw\w+|odmowa|"
        r"wyczerpan\w+|zatrzym\w+|wstrzyman\w+|nietknięt\w+|utkn\w+"
    ),
    (
        r"ne(?!j)\w{2,}(?:uje|ují|ají|platí|stačí|běží)|padá|padaj[íi]|spadl\w*|chyb\w+|selhal\w*|selhává|bohužel|"
        r"odmít\w+|odmiet\w+|nedostupn\w+|zlyhal\w*|rozbit\w+|obsazen\w*|vypršel\w*|zablokov\w+|omlouvám|nemožn\w+|"
        r"nemohu|nemůž\w+|nešl\w+|nejde|neexist\w+|nefung\w+|nepro(?:šl|ch)\w*|nenalez\w+|nenašel|neodpovíd\w*|"
        r"ne(?!arly|wly|atly|u|pal|bul|o)\w{3,}l[aiyo]?|vyčerpan\w+|pln[ýáé]|nepodařil\w*|nepovedl\w*|nepodaril\w*"
    ),
    r"помил\w+|пада\w+|впал\w*|відмов\w*|відхил\w+|бракує|неможлив\w+|зламан\w*|на жаль|зайнят\w*|не вдал\w+|вибачте",
    (
        r"грешк\w*|провал\w*|неуспе\w+|за съжаление|липсва\w*|greš\w+|pogreš\w+|neuspje\w+|padaju|odbi[oj]\w*|"
        r"nažalost|nedostup\w+|fallen|rebutj\w+"
    ),
    (
        r"mislukt\w*|mislukken|fout(?:en|ief)?|gefaald|faal\w*|falen|weiger\w*|geweigerd|helaas|ontbreekt|ontbreken|"
        r"kapot|rood|onmogelijk|onbereikbaar|geblokkeerd|verlopen|bezet|afgewezen|vastgelopen|spijt"
    ),
    (
        r"(?:nur|sol[oa]?|sólo|só|apenas|soltanto|только|тільки|tylko|jen|alleen|bara|endast|kun)(?: \w+){0,2} (?:auf |"
        r"op |på )?(?:diesem rechner|dieser maschine|esta máquina|nesta máquina|questa macchina|этой машине|цій машині|"
        r"tej maszynie|tomto počítači|deze machine|denna dator|denne maskine)"
    ),
    (
        r"nur [^\W\d_]\w* (?:kann|können|darf|dürfen)|sol[oa]? \w+ (?:puede|può)|alleen \w+ (?:kan|mag)|"
        r"(?:bara|endast|kun) \w+ (?:kan|får|må)|только \w+ (?:может|могут)|tylko \w+ może|(?:jen|pouze) \w+ může"
    ),
    (
        r"är slut|slut på|tagit slut|er tomt?|opbrugt|gått tom|urladda\w*|o(?:låst|boka[dt]|betal[dt]|skicka[dt]|"
        r"gjord|färdig|besvara[dt]|lös[ta]|ändra[dt]|spara[dt]|öppna[dt])\w*|u(?:låst|betalt|sendt|løst|gjort|ferdig|"
        r"færdig|besvart|ændret|endret|åpnet|åbnet)|on(?:betaald|beantwoord|gewijzigd|opgelost|voltooid|geboekt|"
        r"verzonden)|misslyck\w+|tyvärr|nekad\w*|saknas|trasig\w*|omöjlig\w*|ogiltig\w*|avvisa(?:de|d|r|s)|"
        r"blockera\w+|upptag\w+|röda?|mislykk\w+|desværre|dessverre|nægt\w+|nekt\w+|mangl\w+|umulig\w*|ugyldig\w*|"
        r"afvis\w+|avvis(?:t|te|er|es)|optag\w+|opptatt|fejl\w*|feil\w*|beklager"
    ),
    (
        r"patlıyor\w*|patladı|çöküyor|çöktü|başarısız\w*|hata(?:sı|lar|lı|yla)?|maalesef|redded\w+|reddett\w*|"
        r"bulunam\w+|eksik|bozuk|dolu|kırmızı|imkansız|üzgünüm"
    ),
    (
        r"loppu(?:nut|unut)?|pic[aă]|picat\w*|crap[aă]|elbuk\w+|megbuk\w+|bukik|buknak|kaatu\w+|kaatuvat|"
        r"eșu\w+|eroare\w*|erori\w*|eșec\w*|refuz\w+|lipse\w+|din păcate|imposibil\w*|respins\w*|blocat\w*|ocupat\w*|"
        r"sikertelen\w*|hib[aá]\w*|sajnos|elutasít\w+|hiányz\w+|foglalt|meghiúsult|lejárt|"
        r"epäonnistu\w+|virhe\w*|valitettavasti|hylät\w+|puuttu\w+|varattu|estetty|mahdoto\w+|punai\w+"
    ),
    (
        r"έμειν\w+|μπλοκ\w+|χαλασμέν\w+|απέτυχ\w+|αποτ[υύ]χ\w+|αποτυγχάν\w+|σκάει|σφάλμα\w*|δυστυχώς|αδύνατ\w+|λείπ\w+|"
        r"απορρίφ\w+|gagal|ditolak|kesalahan|sayangnya|maaf|hilang|rusak|penuh|lỗi|thất bại|từ chối|thiếu|rất tiếc|"
        r"xin lỗi|bị chặn"
    ),
    (
        r"و?(?:فشل\w*|خطأ|أخطاء|تعذ\w+|مرفوض\w*|رفض\w*|للأسف|عذر\w+|مستحيل|مشغول\w*|محجوز\w*)|"
        r"נכשל\w*|שגיא\w+|סירב\w*|נדח\w+|לצערי|מצטער\w*|חסר\w*|תפוס\w*|חסום"
    ),
)
_OPEN = (
    (
        r"as soon as|still (?!pass|green|work|succeed|fine|ok)\w+|remain\w*|outstanding|pending|yet|left (?:open|"
        r"undone|over|as|to|out)|(?:is|are|be) left|to be (?:\w+ ){0,2}?\w+(?:ed|en|ne|de|pt)|ha(?:s|ve) to|need(?:s|"
        r"ed)?|yourself|(?<!your )(?<!the )(?<!\ba )stays?|"
        r"from memory|i remember|as it (?:was|is)|original state|(?:keeps|has) (?:its|the|"
        r"their) (?:old|previous|original)|for now|to (?:finish|complete)|wants?|(?<!\bthe )requires?|required|"
        r"asks? for"
    ),
    r"sobald|noch|bleib\w*|muss|müssen|weiterhin|nach wie vor",
    r"dès que|encore|reste\w*|(?:il|vous) (?:\w+ )?fau\w+|devr(?:ez|as)|toujours",
    (
        r"en cuanto|assim que|se (?:ha )?qued(?:ó|ado)|queda\w*(?! \w+[aei]d[oa]s?\b)|pendientes?|todavía|aún|hay que|"
        r"sigue[ns]?|tendr[áé]\w* que|tienes? que|conserva|ainda|continua\w*|permanece\w*|ter[áã]o? que|tem que|"
        r"precisa\w*|(?:fica|ficou|ficaram|ficam|está|queda|quedan|quedó) por \w+|sin hacer"
    ),
    r"non appena|appena|ancora|resta(?:no)?|riman\w+|bisogna|occorre|dov(?:rai|rete|ete)|devi",
    r"как только|пока|по-прежнему|остал\w+|оста[её]т\w+|нужно|прид[её]тся|ещ[её]",
    r"jeszcze|nadal|wciąż|pozosta\w+|trzeba|należy|musi\w*|ještě|stále|zbývá|zůstáv\w+|zůstal\w*|musíte?|ešte|treba",
    r"досі|поки|залиш\w+|потрібно|треба|ще (?:не|треба|потрібно)|още|трябва|остава\w*|još|ostaje|preostaje|encara",
    (
        r"nog|steeds|blijft|moet\w*|resteert|fortfarande|ännu|återstår|måste|kvar|stadig|endnu|mangler|fortsatt|"
        r"ennå|gjenstår"
    ),
    r"hâlâ|hala|henüz|gerek\w*|kaldı|încă|rămâne|rămas\w*|trebuie|még|maradt|kell|vielä|yhä|jäljellä|täytyy|pitää",
    r"ακόμα|ακόμη|πρέπει|μένει|masih|perlu|harus|vẫn|phải|עדיין|צריך|נותר\w*|يزال|يجب|يتبقى|بقي",
)
_NEGATIONS_CJK = (
    r"\A\W*\w*_\w+ nu\W*\Z|\[ \]|[☐❌✗✘]|不(?!仅)|没|沒|未|(?<!少)(?<!危)ない|ません|なかった|않|없|못|नहीं|बिना|ไม่"
)
_FAILING_CJK = (
    r"只在(?:本机|这台)|行き詰ま|うまくいか|出了问题|被拒|驳回|受阻|卡住|卡在|崩溃|挂了|挂掉|中断|红的|红色|飘红|过期|占满|(?<!内存)占用|离线|暂停|[已订]满|不够|无法|無法|"
    r"失败|失敗|错误|錯誤|缺|拒绝|拒絕|超时|逾時|报错|抱歉|对不起|遗憾|落ち(?!着)|赤[いくの]|止ま[りっる]|切れ|壊れ|"
    r"エラー|できず|拒否|不足|残念|申し訳|거절|막혔|중단|깨[졌진]|빨간|만료|부족|초과|실패|오류|못[했하]|거부|불가|"
    r"विफल|असफल|त्रुटि|खेद|बंद है|ล้มเหลว|ผิดพลาด|ปฏิเสธ|ขออภัย"
)
_OPEN_CJK = (
    r"仍|还[是在]|ままで|必要があ|しかな|しかあ|还[没不有需差缺]|需要|まだ|필요|"
    r"[てで]は?い(?:ない|ません)|아직|अभी भी|बाकी|ยัง(?!คง)"
)


_FAILS = folded_words_pattern(_FAILING, _FAILING_CJK)
_DENIES = folded_words_pattern((*_NEGATIONS, *_FAILING, *_OPEN), f"{_NEGATIONS_CJK}|{_FAILING_CJK}|{_OPEN_CJK}")
_LEFT = folded_pattern(rf"\b(?:{'|'.join(_OPEN)})\b|{_OPEN_CJK}")
_ADMITS = folded_words_pattern((*_FAILING, *_OPEN), f"{_FAILING_CJK}|{_OPEN_CJK}")
_SUPPOSES = folded_pattern(
    r"\?\s*$|^\W*(?:once|sobald|une fois|dès que|una vez|en cuanto|assim que|appena|как только|jakmile)\b|"
    r"^\W*(?:run|re-?run|start|execute|try|install|open|use|make sure|ensure) (?!(?:is|was|now|has)\b)|\b(?:if|"
    r"whether|unless|in case|will|['’]ll|shall|should|would|could|may|might|tried|tries|attempted|going to|plan(?:s|"
    r"ned)? to|let me|let['’]s|let us|please|want to|wants to|once you|when you|after you|before you|wenn|falls|"
    r"werde\w*|würde\w*|sollte\w*|könnte\w*|bitte|si|vais|devrai\w*|pourr\w+|voy a|va a|debería\w*|podría\w*|se você|"
    r"если|буд[уе]\w*|должн\w+|jeśli|jeżeli|będ[ęz]\w*|proszę|pokud|budu|bude|prosím|якщо|будь ласка|indien|zal|"
    r"alstublieft|om du|hvis|eğer|lütfen|dacă|vă rog|jos|αν|εάν|jika|kalau|silakan|nếu|vui lòng|إذا|אם)\b|如果|将会|"
    r"将要|请|應該|应该|是否|能否|もし|かどうか|でしょう|यदि|अगर|ถ้า|만약"
)
# Syllables that end a Korean verb in the past: those with a double "s" below, but not "is" and "will".
KOREAN_PAST = (
    f"[{''.join(sorted(set(map(chr, range(0xAC00 + 20, 0xD7A4, 28))) - set('있겠')))}](?:습니다|으며|고(?=[ ]))"
)
"""Matches the end of a Korean verb in the past."""
_DONE_TABLE = (
    r"now|ora|adesso|si trov\w+|is|are|was|were|has|have|had|been|got|gets|\w{2,}ed|made|set|put|wrote|written|"
    r"sent|built|ran|run|runs|live|up|ready|done|uses|è|jetzt|nun|ist|sind|wurde\w*|hat|habe|haben|ge\w{2,}(?:t|en)|"
    r"verwendet|est|sont|été|ai|maintenant|désormais|dorénavant|\w{2,}ée?s?|está\w*|\w{3,}(?<!metad)(?:at|it|ut|unt|"
    r"ert|olt|ost|ess)[oa]|(?:за|от|с)крыт[аоы]?|fue|fueron|ha|he|han|ahora|quedó|\w{2,}[aeií]d[oa]s?|\w{2,}[ióé]|foi|"
    r"foram|agora|теперь|готов\w*|\w{2,}(?:лен|ан|ен|ён|нят)[оаы]?|jest|są|został\w*|ma teraz|mają|gotowe?|zrobion\w+|"
    r"jsou|byl[aoiy]?|bol[aoi]|má|hotov\w*|sú|\w{3,}(?:ано|ено|ито|ені|ані)|є|має|готово|zijn|werd|heeft|heb|klaar|är|"
    r"blev|klart?|er nu|er nå|færdig\w*|ferdig\w*|artık|tamamlandı|\w{3,}(?:ıldı|ildi|uldu|üldü|ndı|ndi)|sunt|kész|"
    r"elkészült|valmis|on (?:nyt|\w{3,}t[ut]?[uy])|είναι|έτοιμ\w+|sudah|telah|selesai|nå|nu|teď|teraz|зараз|şimdi|nyt|"
    r"acum|τώρα|sekarang|đã|xong|و?تم\w?|أصبح\w*|הוא|מוכן\w*|\w+תי"
)
_DONE = folded_words_pattern(
    (_DONE_TABLE,),
    r"\b(?:it|that|there|all|everything)['’]s\b|"
    r"['’](?:ve|re)\b|[✅✓✔☑]|\[x\]|已|了|现在|現在|完成|成功|ました|済|完了|"
    rf"今|{KOREAN_PAST}|완료|चुक|[गद][यि]ा है|แล้ว",
)


class Clause(Struct, frozen=True):
    """A clause and what it asserts.

    `text` is the clause in lower case; `words` are its words, `folded`, without code and without double negations.
    `admits` is whether it denies by a word for failing, or by one for what is left to be done, and not by a mere
    negation.
    """

    text: str
    words: str
    denies: bool
    admits: bool
    supposes: bool
    is_done: bool


@lru_cache(4_096)  # each failure of a trace reads the same sentences
def clauses_of(sentence: str) -> tuple[Clause, ...]:
    """The clauses of a sentence. A condition supposes in all of them, a question in the last."""
    plain = _LEVELS.sub("\u2022", _ALL_BUT.sub(r"\1 except", _EMPHASIS.sub("", sentence)))
    homographs = tuple(word for language, word in _HOMOGRAPHS if word.search(plain) and language.search(plain))
    is_condition = _CONDITION.match(_without_words(plain, homographs)) is not None
    pieces = tuple(_pieces(plain))
    asks = plain.rstrip().endswith(("?", "？"))
    return tuple(
        _clause(text, homographs, is_condition=is_condition or (asks and number == len(pieces)))
        for number, text in enumerate(pieces, 1)
    )


# What denies in one language and is another word in the language of the sentence: Portuguese "no", Swedish "sin",
# German and Romanian "mai", Spanish "red", English "cap" and "sense".
_PORTUGUESE = r"[ãõ]|\b(?:estão|foi|foram|uma|você|pela|pelo|às|ao|aos|também|já|agora|num|numa|esse|essa|isso)\b"
_SCANDINAVIAN = r"[åøæäö]|\b(?:och|og|har|är|er|med|til|till|ikke|inte|det|den)\b"
_HOMOGRAPHS = tuple(
    (lazy_pattern(language, re.IGNORECASE), lazy_pattern(word, re.IGNORECASE))
    for language, word in (
        (_PORTUGUESE, r"(?<!\w)no(?= [^\W\d_])"),
        (r"\b(?:está|fica) no\b", r"(?<=está )no\b|(?<=fica )no\b"),
        (_SCANDINAVIAN, r"\bsin\b"),
        (r"\b(?:gli|sono|dell[aoe]|degli|dei|nel|nell[ao]|nei|ora|adesso|trova(?:no)?|è)\b", r"\bsi\b"),
        (r"\b(?:im|seit|ab|bis|ende|anfang|der|die|das|ist|sind|wird|\d{1,2}\.) mai\b", r"\bmai\b"),
        (r"[șță]|\b(?:este|sunt|și|fost|acum)\b", r"(?<!nu )\bmai\b"),
        (r"[ñ¿áéíóú]|\b(?:el|los|las|está|una|con|por|es)\b", r"\b(?:la|una|de|en la|de la) red\b"),
        (r"\b(?:the|is|are|was|it|this|that|with|for|to|and)\b", r"\b(?:cap|sense)\b"),
    )
)
# "All packages but one" is no clause and another one.
_ALL_BUT = lazy_pattern(r"\b((?:all|every\w*|each)(?: (?:of |the |its |your )*[\w-]+){0,2}?) but\b", re.IGNORECASE)
_CONDITION = lazy_pattern(
    r"""
    \W*(?:
        (?:
            # "if", "in case", in the languages that are read
            if | when(?:ever)? | in[ ]case | should | unless | to[ ](?:handle|avoid|prevent) | wenn | falls | si
            | если | jeśli | jeżeli | pokud | якщо | indien | eğer | dacă | αν | jika | kalau | nếu | إذا | אם
            | अगर | यदि
        )\b
        | 如果 | 若(?!い) | もし | 만약 | ถ้า | หาก
    )
    # "in the case that", not "in this case"
    | .*(?<!この)(?<!今回の)(?<!その)場合は
    # "whoever ..."
    | (?:note[ ]that[ ])?(?:any(?:one|body)|whoever|those|people|users|projects)[ ](?:who|that)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


def _pieces(sentence: str) -> Iterator[str]:
    """The texts between the ends of clauses; those within code end none."""
    code = [match.span() for match in _CODE.finditer(sentence)]
    start = 0
    ends = _CLAUSE_END.finditer(sentence)
    if _SLAVIC_LETTER.search(sentence) is not None:
        ends = iter(sorted((*ends, *_SLAVIC_AND.finditer(sentence)), key=re.Match.start))
    for match in ends:
        if match.start() and not any(first <= match.start() < last for first, last in code):
            yield sentence[start : match.start()]
            start = match.end()
    yield sentence[start:]


def _is_partial(words: str) -> bool:
    """Whether a clause counts fewer than all: "14 of 15 tests pass"."""
    counts = _PARTIAL.search(words)
    if counts is None and (counts := _PARTIAL_CJK.search(words)) is not None:
        return int(counts[2]) < int(counts[1])
    if counts is None and (counts := _PARTIAL_IN_WORDS.search(words)) is not None:
        return _NUMBER_WORDS[counts[1].casefold()] < _NUMBER_WORDS[counts[2].casefold()]
    return counts is not None and int(counts[1]) < int(counts[2])


_PARTIAL_CJK = lazy_pattern(r"(\d{1,6})[^\d年月日時时分]{0,6}中[^\d、。，]{0,6}?(\d{1,6})")
_PARTIAL = lazy_pattern(
    r"""
    # "3 of 5", "3/5", "3 sur 5", not a date
    (?<![\d.,])\b(\d{1,6})[ ]?(?:
        of | / | von | de | из | (?:[^\W\d]\w{1,20}[ ])?(?:sur|out[ ]of)
    )[ ]?(?:(?:the|den|los|las|les|i|gli)[ ])?(\d{1,6})\b(?![/-]|\.\d)
    """,
    re.VERBOSE,
)
_NUMBER_TABLE = (
    "two three four five six seven eight nine ten eleven twelve",
    "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "deux trois quatre cinq six sept huit neuf dix onze douze",
    "dois três quatro cinco seis sete oito nove dez onze doze",
    "due tre quattro cinque sei sette otto nove dieci undici dodici",
    "twee drie vier vijf zes zeven acht negen tien elf twaalf",
    "dos tres cuatro cinco seis siete ocho nueve diez once doce",
)
_ONE = dict.fromkeys(("only one", "only got one", "just one", "nur eine", "nur einer", "solo una", "solo uno"), 1)
_NUMBER_WORDS = MappingProxyType(_ONE | {word: n for row in _NUMBER_TABLE for n, word in enumerate(row.split(), 2)})
_COUNTS = "|".join(_NUMBER_WORDS)
_PARTIAL_IN_WORDS = folded_pattern(
    rf"\b({_COUNTS}) (?:of|out of|von|sur|de) (?:(?:the|den|los|las|les) )?({_COUNTS})\b"
)


def _clause(text: str, homographs: tuple[re.Pattern[str], ...], *, is_condition: bool) -> Clause:
    spoken = folded(_ALTERNATIVES.sub(" ", FILE_NAME.sub(" \u2022 ", _CODE.sub(" \u2022 ", text))))
    spoken = _without_words(spoken, homographs)
    words = _NO_DENIAL.sub(_blank, spoken)
    denies = not is_condition and (_DENIES.search(words) is not None or _is_partial(words))
    return Clause(
        text.casefold(),
        words,
        denies,
        denies and (_ADMITS.search(words) is not None or admits_failure(words)),
        is_condition or _SUPPOSES.search(spoken) is not None,
        _DONE.search(words) is not None,
    )


def _without_words(text: str, words: tuple[re.Pattern[str], ...]) -> str:
    """A text with a preposition that denies nothing for each of some words: Portuguese "na" for "no"."""
    for word in words:
        text = word.sub("na", text)
    return text


def _blank(match: re.Match[str]) -> str:
    """What is read for words that only sound like a failure: that all is well, or nothing at all."""
    return " ok " if _WELL.match(match[0]) else " \u2022 "


_WELL = folded_pattern(
    r"(?:no|0|zero|without|free|none|not|nothing|never|any|fewer|finds?|found|reports?|reported|shows?|says?|don['’]t|"
    r"doesn['’]t|didn['’]t|hatas[ıi]z|sorunsuz|hib[aá]t\w+|virheitt[äa]|fejlfri\w*|fix\w*|resolv\w*|solv\w*|"
    r"correct\w*|clear\w*|keine?\w?|ohne|aucune?|sans|plus|pas|sin|"
    r"ning\w+|ya|nenhum\w*|sem|não|без|нет|никаких|nessun\w?|senza|bez|žádn\w+|żadn\w+|brak|geen|zonder|utan|inga|"
    r"inget|ingen|uden|uten|hiçbir|fără|nicio|niciun|ilman|sense|tanpa|không)\b|[^\x00-\u024f]"
)


@lru_cache(16)  # each failure of a session asks it of the same answer
def is_read(text: str) -> bool:
    """Whether a text may be in a language whose words the tables have: by its alphabet, so Dutch and Finnish pass.

    Two words in small letters with a letter of no such language decide; a name in an English text has a capital.
    """
    words = (word for word in _LETTERS.findall(_CODE.sub(" ", text)) if _FOREIGN_LETTER.search(word))
    return sum(len(word) > 1 and not word[0].isupper() for word in words) < _FOREIGN_WORDS


_FOREIGN_WORDS = 2
_LETTERS = lazy_pattern(r"[^\W\d_]+")
# No letter of the languages in the tables: Latin with the signs of Europe, Turkey and Vietnam, Greek, Cyrillic, Hebrew,
# Arabic, Hindi, Thai, Chinese, Japanese and Korean. Left are the Baltic languages, Georgian, Armenian and others.
_FOREIGN_LETTER = lazy_pattern(
    r"[^A-Za-zÀ-ÿĂ-ćČ-đĘ-ěĞğİıŁ-ńŇňŐ-őŒœŘ-śŞ-ťŮ-űŹ-žƠơƯưȘ-țẠ-ỹ\u0370-\u03ff\u1f00-\u1fff\u0400-\u045f\u0490\u0491"
    r"\u05d0-\u05ea\u0620-\u064a\u0900-\u097f\u0e00-\u0e7f\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)


def denies_plainly(sentence: str) -> bool:
    """Whether a clause of a sentence denies by a negation or a word for failing, not only that something is left."""
    clauses = (clause for clause in clauses_of(sentence) if clause.denies)
    return any(_DENIES.search(_LEFT.sub(" ", clause.words)) is not None for clause in clauses)


def fails(clause: Clause) -> bool:
    """Whether a clause denies by a word for failing: not by a mere negation, nor by what is left to be done."""
    return clause.denies and _FAILS.search(clause.words) is not None


def happens(clause: Clause) -> bool:
    """Whether a clause that is done says more than that something is something: not "the code is KX81QF"."""
    return _DONE.search(_IS.sub(" ", clause.words)) is not None


_IS = lazy_pattern(r"\b(?:is|are)\b(?= (?!now\b|in\b|on\b|at\b|\w+ing\b))", re.IGNORECASE)


def is_unable(clause: Clause) -> bool:
    """Whether a clause says that something was not possible or did not happen, and not how something is."""
    return clause.denies and _NOT_DONE.search(clause.words) is not None


_NOT_DONE_TABLE = (
    (
        r"(?:i|we|nobody|no one)\b(?! (?:have ?n[o'’]t|did ?n[o'’]t) (?:touch|chang|modif|alter)\w*)[^,;.]{0,40}?"
        r"\b(?:(?:could|was|were|am|are|did|do|have|had)(?:n['’]t| ?not)|can(?:['’]t| ?not)|may not)|"
        r"(?:i|we) have no|"
        r"(?:i['’]m|we['’]re|i|we) (?:not|only|could only|can only)|(?:could(?:n['’]t| ?not)|can ?not) be \w+|unable|"
        r"not able|not possible|impossible|did(?:n['’]t| not)|unfortunately|sorry|afraid|regret\w*|gave up|"
        r"got stuck|out of the question|by hand|manually|yourself|you(?:['’]ll| will| would| still)* (?:need|have) to|"
        r"(?:was|were|been|be|is|are|remains?) un(?!install|lock|block|zip|pack|mount|mut|pin|link|"
        r"subscrib|archiv|comment)\w+ed|(?<!you )(?<!they )(?:ha(?:s|ve|d)|was|were|did|would|won)"
        r"(?:n['’]t| not| never|['’]t)(?! (?:touch|chang|modif|alter)\w*)|(?:is|are)(?:n['’]t| not) (?:\w+ )?"
        r"(?:installed|loaded|available|running|configured|enabled|active|supported|allowed|permitted|logged|reachable|"
        r"ready|set up|registered|valid|writable|readable|found|possible|recogni[sz]ed|authori[sz]ed)|"
        r"not (?!(?:touch|chang|modifi|alter)ed)(?:done|\w+ed)$|may not|no[tr]? (?:[\w-]+ ){0,4}yet|(?:stays?|"
        r"remains?) (?:as it|unchanged|the same)|"
        r"no longer be|nothing (?:has|was|were)"
    ),
    (
        r"leider|fehlgeschlagen|gescheitert|tut mir leid|entschuldig\w{1,6}|nicht in der lage|unverändert|"
        r"nicht (?:möglich|gefunden|verfügbar|erreichbar|gelungen|geklappt|funktioniert|abrufen|finden|ge\w+t)|"
        r"(?:konnten?|kann|können|lässt|ließ)\b(?: [\w-]{1,40}){0,8} nicht|blieb\w*|"
        r"(?:wurde|ist|sind|habe) (?:\w+ ){0,3}nicht|ich habe keine?\w?"
    ),
    (
        r"je n['’]ai (?:pas|aucune?)|"
        r"malheureusement|désolée?|échoué|échec|introuvable|indisponible|impossible|une erreur|est restée?s?|"
        r"n['’](?:ai|a|avons|ont|est|a été) (?:donc |pas |encore |pu ){1,3}\w+(?:ée?s?|ie?s?|ue?s?|ite?s?)|"
        r"ne (?:peux|peut|pouvons|parviens|fonctionne|trouve) (?:pas|plus)"
    ),
    (
        r"no (?:tengo|tenemos|me deja\w*)|"
        r"no (?:he|hemos|pude|pudo|pudimos|puedo|fue|ha sido|se ha|se pudo|encontr\w{1,4}|logr\w{1,4}|funcion\w{1,4}|"
        r"está disponible)|lo siento|lamentablemente|desafortunadamente|por desgracia|falló|quedó|quedado"
    ),
    (
        r"não (?:consegu\w+|consigo|foi|foram|é possível|posso|pude|pôde|tenho|encontr\w{1,4}|funcion\w{1,4}|"
        r"está disponível)|infelizmente|lamento|falhou|um erro|ficou"
    ),
    r"non (?:ho|abbiamo|sono riuscit\w+|è (?:stat|andat|riuscit)\w+|riesco|posso|può)|purtroppo|è rimast[oa]",
    (
        r"не (?:удалось|удаётся|смог\w{0,3}|могу|может|получилось|вышло|найден\w{0,2}|работает|был\w*)|нельзя|остал\w+|"
        r"к сожалению|извините|простите|ошибк\w{1,3}|недоступ\w{1,3}"
    ),
    r"не (?:вдалося|вдалось|зміг|змогла|можу|можна|вийшло|був\w*|було|успях|може|бе)|на жаль|за съжаление",
    r"nie (?:udało|mogę|mogł[ae]m|można|da się|zdołał\w*|powiodł\w*|został\w*|był\w*)|niestety",
    r"ne(?:podařilo|podarilo|povedlo|mohu|mohl\w*|môžem|lze|šlo|jde|byl\w*)|bohužel|bohužiaľ|nažalost|nis(?:am|u)|nije",
    r"(?:kan|kon|konden|is|zijn|heb|werd|werden|lukte|ging)\b[^,;.]{0,50}\b(?:niet|geen)|helaas",
    (
        r"(?:kan|kunde|kunne|gick|gikk|går|er|är|har|blev|ble)\b[^,;.]{0,40}\b(?:inte|ikke|inget|ingen)|tyvärr|"
        r"desværre|"
        r"dessverre"
    ),
    r"\w+[ae]m[ae](?:d[ıi]|m[ıi]ş)\w*|\w+[ae]m[ıi]yor\w*|maalesef",
    r"nu (?:am (?:putut|reușit)|s-a (?:putut|reușit)|pot|poate|a (?:fost|mers))|din păcate",
    r"nem (?:tud\w*|siker\w*|lehet\w*|került|ment)|sajnos",
    r"(?:en|ei|eivät) (?:voi\w*|pysty\w*|onnistu\w*|saa\w*|ole \w+|\w+(?:nyt|ttu|tty))|valitettavasti",
    r"δεν (?:μπόρεσα|μπορ\w+|έγινε|κατάφερα|ήταν|\w+θηκε)|δυστυχώς",
    r"(?:tidak|belum) (?:dapat|bisa|berhasil|sempat|ter\w+|di\w+)|gagal|sayangnya",
    r"không (?:thể|\w+ được|thành công)|chưa|rất tiếc",
    r"تعذ?ر|لم (?:أتمكن|نتمكن|أستطع|يتم|تتم)|لا (?:يمكن|أستطيع)|للأسف|לא (?:הצלחתי|ניתן|התאפשר)|אי אפשר|לצערי",
)
_NOT_DONE = folded_words_pattern(
    _NOT_DONE_TABLE,
    "无法|無法|未能|没能|失败|失敗|抱歉|对不起|對不起|遗憾|出错|错误|錯誤|找不到|没有?找到|未找到|"
    r"[查取收]不到|没有?[查取收]到|不可用|超时|不了|没法|できません|できなかった|できて(?:い|お)|ませんでした|ていません|申し訳|残念|"
    r"エラー|見つから|利用できな|못[했하]|수 없|지 (?:않았|못)|नहीं[^।]{0,20}(?:सक|पाय|मिल)|ไม่(?:สามารถ|สำเร็จ)|ไม่ได้",
)


def denies_barely(clause: Clause) -> bool:
    """Whether a clause denies what the one beside it says: it has no words of its own, as "but not yet", "failed"."""
    least = clause.words.isascii() or len(clause.words) <= _BARE_CHARS
    return clause.denies and not clause.supposes and least and len(clause.words.split()) <= _BARE_WORDS


_BARE_WORDS, _BARE_CHARS = 2, 10  # in languages without spaces a word is a sentence


def is_elsewhere(clause: Clause) -> bool:
    """Whether a clause says that something is not on this machine: "there is no compiler here"."""
    return clause.denies and not clause.supposes and _HERE.search(clause.words) is not None


_HERE = lazy_pattern(
    r"""
    \b(?:
        # English
        here | this[ ](?:machine|computer|host|sandbox|environment|container|image)
        # other languages with spaces between words
        | hier | dieser[ ]maschine | diesem[ ]rechner | ici | cette[ ]machine | aquí | esta[ ]máquina | aqui
        | nesta[ ]máquina | qui | questa[ ]macchina | здесь | тут | этой[ ]машине | tutaj | zde | tady | här
        | burada | aici | itt | täällä | εδώ | di[ ]sini | ở[ ]đây | هنا | כאן
    )\b
    # Chinese, Japanese, Korean, Hindi, Thai
    | 这里 | 这台 | 此环境 | 本机 | この環境 | ここ | 여기 | यहाँ | ที่นี่
    """,
    re.IGNORECASE | re.VERBOSE,
)


def sounds_failed(word: str) -> bool:
    """Whether a word is one for failing, not a negation: "blocked"."""
    return _ADMITS.search(word) is not None


def excludes_only(clause: Clause) -> bool:
    """Whether a clause denies only by "without" or "instead of" a deed, which find no fault: "without rematches"."""
    return _WITHOUT.search(clause.words) is not None and _DENIES.search(_WITHOUT.sub(" ", clause.words)) is None


_WITHOUT = lazy_pattern(
    r"\b(?:without|ohne|sans|sin|sem|senza|без|bez|zonder|utan|uden|uten|fără|nélkül|ilman|χωρίς|tanpa|sense|بدون|"
    r"ללא|בלי)\b|\binstead of(?= \w+ing\b)|बिना",
    re.IGNORECASE,
)


def counts_part(sentence: str) -> bool:
    """Whether a sentence counts fewer than all: "8 of the 9 are moved"."""
    return any(_is_partial(clause.words) for clause in clauses_of(sentence))


def counts_all(words: str, total: int) -> bool:
    """Whether some words count all of a number of things: "all three", "alle 3", "both"."""
    match = _ALL_OF.search(words)
    if match is None:
        return _BOTH.search(words) is not None and total == _PAIR
    count = match["count"].casefold()
    return (int(count) if count.isdecimal() else _NUMBER_WORDS.get(count, 0)) == total


_PAIR = 2
_ALL_OF = lazy_pattern(
    rf"\b(?:all|alle|tous les|toutes les|los|las|tutt[ie] e|todos os|todas as|"
    r"[oa]s(?= (?:dois|tr[eê]s|quatro|cinco|seis|sete|oito|nove|dez)\b)|"
    rf"все|всі|wszystkie|všechn\w+|alla|kaikki) "
    rf"(?:the |die |of the )?(?P<count>\d{{1,3}}|{_COUNTS})\b",
    re.IGNORECASE,
)
_BOTH = lazy_pattern(r"\b(?:both|beide\w*|les deux|amb[oa]s|entramb[ei]|об[ае]|oba|obě|båda|begge)\b", re.IGNORECASE)


def leaves_open(sentence: str) -> bool:
    """Whether a sentence says that something is still to be done: "the copy is still missing"."""
    return any(map(is_undone, clauses_of(sentence)))


def is_undone(clause: Clause) -> bool:
    """Whether a clause says that something is still to be done."""
    return clause.denies and _STILL.search(clause.words) is not None


_STILL = lazy_pattern(
    r"""
    \b(?:
        # English
        still | yet | remains? | outstanding | pending | left[ ]to | to[ ]be[ ]done
        # other languages with spaces between words
        | noch | steht[ ]aus | encore | reste | todavía | aún | pendiente | falta | ainda | ancora | ещ[её]
        | пока | досі | jeszcze | nadal | ještě | stále | nog | ännu | endnu | ennå | henüz | hâlâ | încă | még
        | vielä | ακόμα
    )\b
    # Chinese, Japanese, Korean
    | 还[没不未] | 尚未 | まだ | 아직
    """,
    re.IGNORECASE | re.VERBOSE,
)


def denies(sentence: str) -> bool:
    """Whether a clause of a sentence denies something."""
    return any(clause.denies for clause in clauses_of(sentence))
