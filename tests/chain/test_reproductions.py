"""A fault that the user told of and asked about: an agent that shows it did what was wanted, and broke nothing."""

import pytest

from tests.chain.building import chain_of
from weaklink.inspector.chain.steps import Chain
from weaklink.inspector.json_text import write_json

REPORTS = {
    "en": (
        "Users say `conv export` fails with accented names. Confirm.",
        "Confirmed: it fails with `UnicodeDecodeError`. Line 12 opens the file as ASCII; with utf-8 it works.",
    ),
    "en2": (
        "Can you reproduce the crash of `conv export` with accented names?",
        "Yes, it crashes with `UnicodeDecodeError`: line 12 opens the file as ASCII.",
    ),
    "en3": ("Why does `conv export` crash?", "Line 12 opens the file as ASCII, and the names have accents."),
    "pt": (
        "O utilizador diz que `conv export` falha com nomes acentuados. Confirma.",
        "Confirmo: falha com `UnicodeDecodeError`. Na linha 12 o ficheiro é aberto com ascii. Queres que corrija?",
    ),
    "de": (
        "Ein Nutzer sagt, dass `conv export` mit Umlauten scheitert. Bestätige das bitte.",
        "Bestätigt: Es scheitert mit `UnicodeDecodeError`; Zeile 12 öffnet die Datei als ASCII. Soll ich es beheben?",
    ),
    "fr": (
        "Un client dit que `conv export` plante avec des accents. Tu peux confirmer ?",
        "Je confirme : il plante avec `UnicodeDecodeError`, la ligne 12 ouvre le fichier en ASCII. Je corrige ?",
    ),
    "es": (
        "Dicen que `conv export` falla con acentos. ¿Lo confirmas?",
        "Confirmado: falla con `UnicodeDecodeError`; la línea 12 abre el archivo como ASCII. ¿Lo corrijo?",
    ),
    "it": (
        "Dicono che `conv export` fallisce con gli accenti. Confermi?",
        "Confermo: fallisce con `UnicodeDecodeError`; la riga 12 apre il file come ASCII.",
    ),
    "zh": (
        "用户说 `conv export` 遇到重音字符会失败，请确认。",
        "确认：确实失败，报 `UnicodeDecodeError`，第12行以 ASCII 打开文件。需要我修复吗？",
    ),
    "ja": (
        "`conv export` がアクセント付きの名前で失敗するそうです。確認してください。",
        "確認しました。`UnicodeDecodeError` で失敗します。12行目でASCIIとして開いています。修正しますか？",
    ),
    "ru": (
        "Пользователь говорит, что `conv export` падает на именах с акцентами. Подтверди.",
        "Подтверждаю: падает с `UnicodeDecodeError`, строка 12 открывает файл как ASCII. Исправить?",
    ),
    "pl": (
        "Użytkownik twierdzi, że `conv export` nie działa z ogonkami. Potwierdź.",
        "Potwierdzam: kończy się `UnicodeDecodeError`; wiersz 12 otwiera plik jako ASCII. Naprawić?",
    ),
    "nl": (
        "Een gebruiker zegt dat `conv export` crasht met accenten. Klopt dat?",
        "Dat klopt: het crasht met `UnicodeDecodeError`; regel 12 opent het bestand als ASCII.",
    ),
    "tr": (
        "Kullanıcı `conv export` komutunun aksanlı adlarda çöktüğünü söylüyor. Doğrula.",
        "Doğrulandı: `UnicodeDecodeError` ile çöküyor; 12. satır dosyayı ASCII olarak açıyor. Düzelteyim mi?",
    ),
    "ko": (
        "`conv export`가 악센트 있는 이름에서 실패한다고 합니다. 확인해 주세요.",
        "확인했습니다. `UnicodeDecodeError`로 실패합니다. 12행이 ASCII로 엽니다. 고칠까요?",
    ),
}
"""What a user reports, and what the agent answers, in each language."""
SHOWN = 'Bash {"command": "touch a.csv && python conv.py export a.csv"}'
TRACEBACK = "Exit code: 1\nTraceback (most recent call last):\nUnicodeDecodeError: 'ascii' codec can't decode byte 0xc3"


def story(user: str, answer: str, *between: str) -> Chain:
    return chain_of(f"user: {user}", f"call a: {SHOWN}", f"result a: {TRACEBACK}", *between, f"say: {answer}")


@pytest.mark.parametrize("language", REPORTS)
def test_a_fault_that_was_told_is_shown(language: str) -> None:
    chain = story(*REPORTS[language])
    assert (chain.status, chain.broken, chain.steps[0].result_kind) == ("ok", None, "finding")


@pytest.mark.parametrize(
    ("user", "answer", "between"),
    [
        ("Run `conv export` on a.csv and check the count.", "I could not run it: UnicodeDecodeError.", ()),
        ("`conv export` fails on some files. Export a.csv.", "I could not export it: UnicodeDecodeError.", ()),
        (
            "The importer fails; check why later. Run `conv export` now.",
            "The export did not work: UnicodeDecodeError.",
            (),
        ),
        (
            "`conv export` fails on accents. Can you fix it?",
            "Fixed: `conv export` works with accents now.",
            (
                'call b: Edit {"file_path": "/c/conv.py", "old_string": "ascii", "new_string": "utf8"}',
                "result b: The file /c/conv.py has been updated.",
                f"call c: {SHOWN}",
                f"result c: {TRACEBACK}",
            ),
        ),
    ],
    ids=["no-fault", "no-question", "another", "mended"],
)
def test_a_fault_that_was_not_told_or_that_should_be_mended_is_none(
    user: str, answer: str, between: tuple[str, ...]
) -> None:
    assert story(user, answer, *between).status == "broken"


@pytest.mark.parametrize(
    ("user", "line", "result", "answer"),
    [
        (
            "pip install fails on my machine, can you install pandas for me?",
            "pip install pandas",
            "Exit code: 1\nERROR: Could not find a version that satisfies the requirement pandas",
            "pandas is installed now.",
        ),
        (
            "git push fails. Can you push my branch?",
            "git push",
            "Exit code: 1\nerror: failed to push some refs",
            "Pushed your branch.",
        ),
        (
            "Can you confirm that `conv export` crashes on empty files?",
            "conv export a.csv",
            "Exit code: 127\nbash: conv: command not found",
            "Confirmed: `conv export` crashes on empty files.",
        ),
        (
            "Check why we have open bugs: fetch them with fetch.py into bugs.csv.",
            "python fetch.py bugs.csv",
            "Exit code: 1\nConnectionError: no route",
            "I fetched 14 open bugs.",
        ),
    ],
)
def test_a_deed_that_failed_is_none(user: str, line: str, result: str, answer: str) -> None:
    chain = chain_of(
        f"user: {user}", f"call a: Bash {write_json({'command': line})}", f"result a: {result}", f"say: {answer}"
    )
    assert chain.status == "broken"


@pytest.mark.parametrize("error", ["ValueError", "KeyError", "DecimalException"])
def test_an_error_that_the_user_named_is_what_was_to_be_shown(error: str) -> None:
    def broken(request: str) -> bool:
        lines = (
            f'result a!: Traceback (most recent call last):\n  File "<string>"\n{error}: empty',
            "say: Confirmed.",
        )
        command = write_json({"command": "python -c 'import p; p.parse()'"})
        return chain_of(f"user: {request}", f"call a: Bash {command}", *lines).broken is not None

    assert not broken(f"Confirm that parse('') raises {error}")
    assert broken("Parse the file with p.parse and write the rows to out.csv")
