"""Whether a sentence states the cause of an error, in any of several languages.

Tools write their errors in English, agents answer in the user's language, so the two share no words: "no space left on
device" is "der Platte fehlt Platz". What goes wrong is of few kinds, and each has its nouns in every language: rights,
space, the connection, protection, a lock, time, a limit, memory. A clause states the cause if it has a noun of a
kind that the error is of, and neither the request nor the call has that word.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from weaklink.inspector.scanning import lazy_pattern

# What the error says, in lower case, and what a sentence says of it.
_TABLE = (
    (
        (
            *("permission", "denied", "forbidden", "unauthori", "not authori", "not allowed", "not permitted"),
            "eacces",
            *("eperm", "scope", "credential", "log in", "logged in", "login", "authent", "need auth", "privilege"),
            *(" 401", " 403"),
        ),
        (
            r"\b(?:access|rights?|permissions?|privileges?|credentials?|logged in|log in|login|signed in|scopes?|"
            r"(?:lese|schreib|zugriffs|admin)?rechte?n?|berechtig\w*|befugnis\w*|zugriff\w*|zugang\w*|angemeldet|"
            r"anmeld\w+|einloggen|darf|droits?|accès|autoris\w+|habilit\w+|connectée?s?|permisos?|permite|derechos?|"
            r"acceso|autoriza\w+|sesión|permiss(?:ão|ões)|acesso|permesso|permessi|diritti|accesso|autorizza\w+|"
            r"прав[ао]?|доступ(?!н|ен\b)\w*|разреш\w+|авториз\w+|дозв\w+|uprawnie\w+|dostęp\w*|oprávnění|přístup\w*|prístup\w*|"
            r"rechten|toegang|ingelogd|behörighet\w*|rättighet\w*|åtkomst|inloggad|rettighed\w*|adgang|tilgang|"
            r"rettigheter|oikeu\w+|yetki\w*|izn[ei]\w*|drept(?:ul|uri|urile)?|permisiun\w+|jog(?:osultság\w*|om|ot|a)|"
            r"δικαίωμα\w*|δικαιώματ\w+|πρόσβαση\w*|izin|hak|quyền|صلاحي\w+|إذن|הרשא\w+)\b|権限|許可|認証|ログイン|"
            r"权限|授权|登录|登入|認證|권한|허가|로그인|अनुमति|สิทธิ์"
        ),
    ),
    (
        ("no space", "enospc", "disk full", "disk is full", "disk quota", "quota exceeded", "storage"),
        (
            r"\b(?:space|disk|\w*platz|speicher\w*|platten?|kontingent|espace|disque|espacio|disco|cuota|espaço|"
            r"spazio|мест[оа]|диск\w*|miejsc\w+|dysk\w*|míst[oa]|disku?|schijf(?:ruimte)?|ruimte|utrymme|disken|plads|"
            r"plass|tila|levytila|alan|spațiu|lemez\w*|hely|χώρο\w*|δίσκο\w*|ruang|dung lượng|مساحة|מקום)\b|容量|"
            r"ディスク|空间|空間|磁盘|磁碟|용량|공간|디스크|जगह|พื้นที่"
        ),
    ),
    (
        (
            *("connection", "connect to", "unreachable", "timed out", "time out", "timeout", "network", "econn"),
            *("resolve host", "getaddrinfo", "dns", " 502", " 503", " 504", "unavailable", "no route"),
        ),
        (
            r"\b(?:unreachable|reachable|offline|(?:is|are|was|were|be|went|seems) (?:\w+ )?down(?! to\b)|network|"
            r"timeouts?|verbindung\w*|erreichbar\w*|netz(?:werk)?|antworte\w*|zeitüberschreitung|connexions?|réseau|"
            r"joignable|injoignable|répond\w*|conexi(?:ón|ones)|red|responde\w*|conexão|conexões|rede|connessione|"
            r"rete|raggiungibile|risponde|соединени\w+|подключ\w+|сет[ьи]|отвеча\w+|з['’]єднан\w+|połącze\w+|sieć|"
            r"odpowiad\w+|spojení|připoj\w+|odpovíd\w+|síť|verbinding|bereikbaar|netwerk|anslut\w+|nätverk|svarar|"
            r"forbindelse|netværk|svarer|tilkobling|yhteys|yhteyttä|vasta[ae]\w*|bağlan\w+|ağ|conexiun\w+|răspunde|"
            r"kapcsolat\w*|elérhet\w+|válaszol\w*|σύνδεση\w*|koneksi|jaringan|kết nối|mạng|اتصال|الاتصال|חיבור)\b|"
            r"接続|通信|応答|つなが|繋が|连接|連接|网络|網路|响应|連線|连不上|超时|연결|응답|접속|कनेक्शन|เชื่อมต่อ"
        ),
    ),
    (("pull request", "merge request"), r"\b(?:pull[ -]?requests?|merge[ -]?requests?|PRs?|MRs?)\b"),
    (
        ("protected",),
        (
            r"\b(?:protected|geschützt\w*|protég\w+|protegid\w+|protett[oa]|защищ\w+|захищ\w+|chronion\w+|chráněn\w+|"
            r"beschermd\w*|skyddad\w*|beskytt\w+|korumal\w+|protejat\w*|védett|suojattu)\b|保護|受保护|保护|보호"
        ),
    ),
    (
        (
            *(" lock", "locked", "in use", "busy", "occupied", "already exists", "already taken", "already running"),
            *("already bound", "conflict", "eaddrinuse"),
        ),
        (
            r"\b(?:locked|taken|in use|busy|occupied|conflicts?|gesperrt|belegt|vergeben|konflikte?n?|existiert|"
            r"verrouill\w+|occupée?|déjà|conflits?|bloquead\w+|ocupad\w+|existe|conflictos?|conflitos?|já|ya|"
            r"occupat\w+|bloccat\w+|esiste|conflitt\w+|занят\w*|заблокир\w+|конфликт\w*|уже|zajęt\w+|zablokow\w+|"
            r"konflikt\w*|już|obsazen\w*|už|bezet|vergrendeld|conflicten|upptag\w+|låst|optaget|opptatt|varattu|"
            r"lukittu|dolu|kilit\w*|ocupat\w*|foglalt|zárol\w*)\b|ロック|競合|使用中|锁|占用|冲突|已存在|已经存在|"
            r"衝突|잠[겨김긴]|충돌|이미"
        ),
    ),
    (
        ("read-only", "readonly", "erofs", "immutable"),
        (
            r"\b(?:read-?only|write-protected|schreibgeschützt\w*|lecture seule|sol[ao] (?:de )?lectura|"
            r"só (?:de )?leitura|sola lettura|только для чтения|tylko do odczytu|jen pro čtení|alleen-lezen|"
            r"skrivskydd\w*|skrivebeskytt\w*|salt okunur|írásvédett|vain luku)\b|只读|唯讀|読み取り専用|읽기 전용"
        ),
    ),
    (
        ("expired", "certificate"),
        (
            r"\b(?:expired|abgelaufen\w*|zertifikat\w*|expir\w+|périm\w+|certificat\w*|caduc\w+|vencid\w+|"
            r"certificado\w*|scadut\w+|истёк|истек\w*|просроч\w+|сертификат\w*|wygas\w+|vypršel\w*|verlopen|utgån\w+|"
            r"udløb\w+|utløp\w+|lejárt|expirat\w*)\b|期限|過期|过期|证书|証明書|만료|인증서"
        ),
    ),
    (
        ("too many requests", " 429", "exceed", "limit", "throttl"),
        (
            r"\b(?:limits?|throttl\w*|rate-?limit\w*|drossel\w*|quota|kontingent\w*|grenze|limite[ns]?|límite\w*|cuota|"
            r"cota|лимит\w*|превыш\w+|limit\w*|przekrocz\w+|překroč\w+|overschre\w+|överskri\w+|overskr\w+|aş(?:ıldı|"
            r"ıyor))\b|上限|制限|限额|限制|限流|超过|超出|초과|한도|제한"
        ),
    ),
    (
        ("out of memory", "oomkilled", "oom-kill", "heap", "killed", " 137"),
        (
            r"\b(?:memory|ram|speicher\w*|mémoire|memoria|memória|памят\w+|pamięc\w*|paměti?|geheugen|minnet?|"
            r"hukommelse|minne|muisti|bellek|memorie|memóri\w+)\b|メモリ|内存|記憶體|메모리"
        ),
    ),
    (
        ("version", "incompatible", "peer dep", "eresolve", "unsupported", "requires"),
        r"\b(?:\w{0,4}[ck]ompatib\w+|versionskonflikt\w*|\w{0,3}совмест\w+|zgodn\w+|uyumsuz\w*)\b|互換|兼容|호환",
    ),
)
_SENTENCES = tuple(lazy_pattern(sentence, re.IGNORECASE) for _, sentence in _TABLE)


@lru_cache(256)
def _kinds_of(error: str) -> tuple[int, ...]:
    """The kinds of causes that an error states, by number."""
    folded = f" {error.casefold()}"
    return tuple(number for number, (signs, _) in enumerate(_TABLE) if any(sign in folded for sign in signs))


def causes_in(error: str, sentence: str, *, only_faults: bool = False) -> Iterator[str]:
    """The words of a sentence that tell a cause which an error states, in lower case.

    `only_faults` leaves out what may be well, too: "the team has access", not "the branch is protected".
    """
    for number in _kinds_of(error):
        if not only_faults or _TABLE[number][0][0] in _FAULTS:
            yield from (match[0].casefold() for match in _SENTENCES[number].finditer(sentence))


_FAULTS = ("protected", "read-only")
