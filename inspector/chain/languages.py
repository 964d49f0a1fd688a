"""How other languages than English say that something failed: tools in their results, agents in their answers.

German, French, Spanish, Portuguese, Russian, Chinese and Japanese. Only phrases that hardly say anything else; a result
is judged by them where English would be: at its beginning, and mostly where it says little else.
"""

import re

FAILED_LINES = (
    r"(?:fehler|erreur|erro|fallo|ошибка)\s*(?:[:(\[]|$)",
    r"(?:错误|錯誤|エラー)\s*(?:[:：(（\[]|$)",
)
"""How a failed result's first line begins, however long the result."""

FAILED_BEGINNINGS = (
    (
        r"(?:konnte|kann)\b(?: [\w-]{1,30}){0,5} nicht\b|nicht gefunden\b|zugriff verweigert|zeitüberschreitung|"
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
    r"未找到|找不到|无法|無法|未能|拒绝访问|权限不足|请求超时|无效的|发生错误|發生錯誤|系统错误",
    r"(?:エラーが発生|アクセスが拒否|タイムアウト|無効な)",
)
"""How a failed result begins that says little else."""

FAILED_ENDINGS = (
    (
        r"\b(?:nicht gefunden|fehlgeschlagen|existiert nicht|introuvable|non trouvée?|n['’]existe pas|a échoué|"
        r"no encontrad[oa]|no existe|não encontrad[oa]|não existe|не найдена?|не найдено|не существует)\s*[.!]?$"
    ),
    r"(?:失败|失敗|不存在|未找到|找不到|超时|逾時)\s*(?:[:：。！!,，]|$)",
    r"(?:見つかりません(?:でした)?|失敗しました|存在しません|できませんでした)\s*[。！]?$",
)
"""What stands in the first line of a failed result that says little else."""

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
ADMISSIONS = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _ADMISSION_TABLE)
"""How an agent admits that something did not work."""
