"""The answers in words of tools that change something: which of them refuse, and which tell of a state as wanted."""

from typing import Any

import pytest

from tests.chain.building import chain_of
from weaklink.inspector.json_text import write_json

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("send_email", {"to": "a@b.de", "body": "x"}, "Message could not be delivered: mailbox full"),
    (
        "send_email",
        {"to": "a@b.de", "body": "x"},
        "550 5.1.1 The email account that you tried to reach does not exist.",
    ),
    ("create_event", {"title": "x"}, "You do not have permission to create events in this calendar."),
    ("create_event", {"title": "x"}, "Conflict: the room is already booked from 10:00 to 11:00."),
    ("book_flight", {"id": "LH1"}, "No seats left in this class."),
    ("book_flight", {"id": "LH1"}, "Payment declined by issuer (insufficient funds)."),
    ("refund_order", {"id": "1"}, "Order 1 is not eligible for a refund."),
    ("cancel_order", {"id": "1"}, "Order cannot be cancelled: already shipped."),
    ("update_ticket", {"id": "1"}, "Ticket 1 is locked by another user."),
    (
        "jira_create_issue",
        {"summary": "x"},
        "Field 'priority' cannot be set. It is not on the appropriate screen, or unknown.",
    ),
    ("slack_post_message", {"channel": "x"}, "channel_not_found"),
    ("slack_post_message", {"channel": "x"}, "not_in_channel"),
    ("create_pull_request", {"title": "x"}, "A pull request already exists for acme:x."),
    ("merge_pull_request", {"n": 3}, "Pull Request is not mergeable"),
    ("mcp__github__create_issue", {"title": "x"}, "MCP error -32603: Not Found: Resource not found: Not Found"),
    ("mcp__postgres__query", {"sql": "select 1"}, 'relation "x" does not exist'),
    ("mcp__fetch__fetch", {"url": "https://x"}, "Failed to fetch https://x - status code 403"),
    (
        "browser_click",
        {"ref": "e3"},
        "Error: Ref e3 not found in the current page snapshot. Try capturing new snapshot.",
    ),
    ("browser_navigate", {"url": "https://x"}, "net::ERR_NAME_NOT_RESOLVED at https://x"),
    ("notion_update_page", {"id": "1"}, "body failed validation: body.properties.x should be defined"),
    ("gsheets_append", {"range": "A1"}, "Unable to parse range: Shee1!A1"),
    ("set_thermostat", {"t": 20}, "Device is offline"),
    ("unlock_door", {"id": 1}, "Access denied"),
    ("create_user", {"name": "x"}, "A user with this email address already exists."),
    ("delete_file", {"path": "/a"}, "EACCES: permission denied, unlink '/a'"),
    ("write_file", {"path": "/a", "content": "x"}, "Access denied - path outside allowed directories: /a not in /work"),
    (
        "str_replace_editor",
        {"command": "str_replace", "path": "/a", "old_str": "x", "new_str": "y"},
        "No replacement was performed, old_str `x` did not appear verbatim in /a.",
    ),
    ("Edit", {"file_path": "/a", "old_string": "x", "new_string": "y"}, "String to replace not found in file."),
    (
        "Edit",
        {"file_path": "/a", "old_string": "x", "new_string": "y"},
        "File has not been read yet. Read it first before writing to it.",
    ),
    ("apply_patch", {"input": "x"}, "Failed to find expected lines in /a:"),
    ("search_replace", {"file_path": "/a"}, "The string to replace was not found in the file."),
    ("sql_execute", {"sql": "insert into t values(1)"}, "UNIQUE constraint failed: t.id"),
    ("sql_execute", {"sql": "update t set x=1"}, "ORA-00942: table or view does not exist"),
    ("deploy_service", {"name": "x"}, "Deployment failed: image not found"),
    ("upload_file", {"path": "a"}, "File too large (max 25 MB)"),
    ("translate", {"text": "x"}, "Quota exceeded for quota metric 'Requests'"),
    ("text_to_speech", {"text": "x"}, "401 Unauthorized"),
    ("reserve_table", {"n": 2}, "Leider ist um 20 Uhr kein Tisch frei."),
    ("reserve_table", {"n": 2}, "Désolé, aucune table n'est disponible à 20 h."),
    ("reserve_table", {"n": 2}, "満席のため予約できませんでした。"),
    ("create_order", {"x": 1}, "库存不足，下单失败"),
    ("assign_role", {"x": 1}, "Operation not permitted for role viewer"),
    ("restart_vm", {"id": "x"}, "The operation cannot be completed because the resource is in state 'Updating'."),
    ("k8s_apply", {"yaml": "x"}, 'deployments.apps "x" is forbidden: User "a" cannot patch resource'),
    ("terraform_apply", {"dir": "x"}, "Error acquiring the state lock"),
    ("submit_form", {"x": 1}, "Validation failed: email is required"),
    ("subscribe", {"x": 1}, "Your plan does not include this feature. Upgrade to Pro."),
    ("add_label", {"x": 1}, "Label 'x' not found"),
    ("move_card", {"x": 1}, "invalid id"),
    ("execute_code", {"code": "1/0"}, "ZeroDivisionError: division by zero"),
    ("python", {"code": "import x"}, "ModuleNotFoundError: No module named 'x'"),
]
DONE: list[tuple[str, dict[str, Any], str]] = [
    ("set_alarm", {"t": "7:00"}, "Alarm set for 7:00. No other alarms."),
    ("update_address", {"a": "x y"}, "Address updated. The old address is no longer valid."),
    ("cancel_subscription", {"id": 1}, "Subscription cancelled; you will not be charged again."),
    ("unlock_account", {"u": 1}, "The account is no longer locked."),
    ("disable_alerts", {}, "Alerts will not be sent anymore."),
    ("remove_member", {"u": 1}, "ann is no longer a member."),
    ("restart_service", {"s": "x"}, "x restarted, no errors."),
    ("apply_migration", {"m": "x"}, "Nothing to do, the schema is up to date."),
    ("update_dns", {"r": "x"}, "Record saved. Propagation may take up to 24 hours."),
    ("delete_branch", {"b": "x"}, "Deleted branch x (was 1a2b)."),
    ("merge_branch", {"b": "x"}, "Already up to date."),
    ("pay_invoice", {"id": 1}, "Paid 20 EUR. Nothing is left to pay."),
    ("refund_order", {"id": 1}, "Refund of 20 EUR issued, it cannot be undone."),
    ("book_table", {"n": 2}, "Table for 2 at 20:00, no deposit needed."),
    ("send_sms", {"to": "x"}, "Message queued for delivery"),
    ("submit_report", {"x": 1}, "Report received, thank you. Do not reply to this message."),
    ("create_vm", {"n": "x"}, "VM x is running (no public IP)."),
    ("stop_vm", {"n": "x"}, "VM x is not running."),
    ("close_door", {}, "The door is closed."),
    ("lock_door", {}, "Door locked."),
    ("lock_file", {"p": "x"}, "x is locked now."),
    ("turn_off_light", {"l": 1}, "Light 1 is off."),
    ("set_heating", {"t": 20}, "Heating set to 20 degrees; window is open, so it may not reach it."),
    ("edit_message", {"id": 1}, "Message edited"),
    ("forward_mail", {"id": 1}, "Forwarded to ann, bob was not included."),
    ("assign_ticket", {"id": 1}, "Ticket 1 is now assigned to ann"),
    ("unassign_ticket", {"id": 1}, "Ticket 1 has no assignee now."),
    ("archive_project", {"p": "x"}, "x is read-only now and cannot be edited."),
    ("approve_request", {"id": 1}, "Request 1 approved"),
    ("reset_password", {"u": "x"}, "A mail with a link was sent; the old password does not work anymore."),
    ("register_webhook", {"u": "x"}, "Webhook 3 active"),
    ("start_timer", {"m": 5}, "5 minutes from now"),
    ("rename_file", {"a": "x"}, "x -> y"),
    ("upload_file", {"p": "x"}, "https://files.example/x"),
    ("insert_row", {"t": "x"}, "1"),
    ("update_rows", {"t": "x"}, "0 rows"),
    ("delete_rows", {"t": "x"}, "0 rows affected"),
    ("publish_post", {"id": 1}, "Live at https://b.example/1"),
    ("post_comment", {"text": "It does not work"}, "Comment by me: It does not work"),
    ("create_note", {"text": "no milk left"}, "Note 4: no milk left"),
    ("send_message", {"text": "cannot come"}, "cannot come"),
    ("update_status", {"s": "out of stock"}, "out of stock"),
    ("set_status", {"s": "declined"}, "declined"),
    ("move_card", {"c": 1}, "Moved to Not started"),
    ("add_item", {"i": "Sugar-free gum"}, "Sugar-free gum x1"),
    ("buchung_stornieren", {"id": 1}, "Buchung storniert, keine Gebühren."),
    ("set_volume", {"v": 3}, "ok"),
    ("notify_team", {"t": "x"}, "3 people notified, 1 not (opted out)"),
    ("reserve_room", {"r": "a"}, "Room A, 10:00-11:00. Catering is not included."),
    ("write_memory", {"k": "x"}, "Stored."),
    ("schedule_job", {"c": "x"}, "Next run: tomorrow 03:00"),
    ("schedule_check", {"c": "x"}, "no conflicts"),
    ("create_checkout", {"x": 1}, "pending"),
    ("enable_feature", {"f": "x"}, "Feature x was already enabled."),
    ("add_user_to_group", {"u": 1}, "ann is already in the group."),
    ("subscribe", {"e": "x"}, "You are already subscribed."),
    ("resume_job", {"j": 1}, "Job 1 is no longer paused"),
    ("block_card", {"c": 1}, "Your card can no longer be used."),
    ("freeze_account", {"c": 1}, "No payments are possible from this account now."),
    ("set_dnd", {}, "You will not be disturbed until 8:00"),
    ("send_email", {"to": "a"}, "Email sent (id 3)."),
    ("create_event", {"title": "Error review"}, "Event 'Error review' created."),
    ("cancel_order", {"id": 1}, "Order 1 cancelled."),
    ("reject_request", {"id": 1}, "Request 1 rejected."),
    ("block_user", {"id": 1}, "User 1 blocked."),
    ("get_order", {"id": 1}, "Order 1: status failed, reason: payment declined"),
    ("check_availability", {"d": "x"}, "No tables available at 20:00; 21:00 is free."),
    ("delete_file", {"path": "/a"}, "Deleted /a."),
    ("write_file", {"path": "errors.md", "content": "x"}, "Successfully wrote to errors.md"),
    ("remove_label", {"l": "failed"}, "Removed label failed"),
    ("close_issue", {"n": 1}, "Issue closed as not planned"),
    ("set_status", {"s": "offline"}, "Status set to offline"),
    ("expire_token", {"t": 1}, "Token expired."),
    ("disable_feature", {"f": "x"}, "Feature x disabled"),
    ("revoke_key", {"k": 1}, "Key revoked"),
    ("add_note", {"text": "customer says payment failed"}, "Note added: customer says payment failed"),
    ("archive_chat", {"id": 1}, "Chat archived"),
    ("reserve_table", {"n": 2}, "Tisch für 2 um 20 Uhr reserviert."),
    ("create_ticket", {"title": "App crashes"}, "Created ticket #12: App crashes"),
    ("lookup_user", {"id": 9}, "No user with id 9"),
    ("transfer_to_human", {}, "Transfer successful"),
    ("unsubscribe", {"e": "x"}, "x has been unsubscribed."),
    ("log_incident", {"t": "x"}, "Incident logged: database unavailable"),
]


def outcome(tool: str, arguments: dict[str, Any], answer: str) -> str:
    call = f"call a: {tool} {write_json(arguments)}"
    return chain_of("user: Please do it.", call, f"result a: {answer}", "say: That was it.").steps[0].outcome.value


@pytest.mark.parametrize(("tool", "arguments", "answer"), REFUSED)
def test_a_short_answer_that_refuses_is_a_failure(tool: str, arguments: dict[str, Any], answer: str) -> None:
    assert outcome(tool, arguments, answer) == "error-result"


@pytest.mark.parametrize(("tool", "arguments", "answer"), DONE)
def test_a_short_answer_about_the_state_that_was_reached_is_a_success(
    tool: str, arguments: dict[str, Any], answer: str
) -> None:
    assert outcome(tool, arguments, answer) == "ok"


# Below the line in which an editor says that it is done stands what it wrote, whatever words that has.
_WRITTEN = (
    "raise DuplicateError(f'{name} already exists')",
    "does not match",
    "out of range",
    "not unique",
    "has not been read",
)
_DONE_LINES = (
    "The file a.py has been updated. Here's the result of running `cat -n` on a snippet of it:",
    "Applied 2 edits to a.py:",
    "The content was successfully saved to a.py.",
    "Edited a.py:",
    "```diff",
)
_EDITORS = ("Edit", "write_to_file", "str_replace_editor", "replace_in_file")


@pytest.mark.parametrize("editor", _EDITORS)
@pytest.mark.parametrize("line", _DONE_LINES)
def test_what_an_editor_shows_is_no_refusal(editor: str, line: str) -> None:
    arguments = {"path": "a.py", "file_path": "a.py", "old_str": "x", "new_str": "y"}
    for written in _WRITTEN:
        assert outcome(editor, arguments, f"{line}\n\n  13  {written}\n") == "ok"


@pytest.mark.parametrize("editor", _EDITORS)
def test_counts_of_a_replacement_refuse_only_where_it_was_not_done(editor: str) -> None:
    arguments = {"path": "a.py", "file_path": "a.py", "old_str": "x", "new_str": "y"}
    done = (
        "Replaced: matched 3 times",
        "Wrote a.py (file already exists, overwritten)",
        "Updated a.py, x found 2 times",
    )
    refused = ("x matches 3 times", "Not replaced: matched 3 times", "File a.py already exists", "x is not unique")
    assert {outcome(editor, arguments, text) for text in done} == {"ok"}
    assert {outcome(editor, arguments, text) for text in refused} == {"error-result"}


@pytest.mark.parametrize("tool", ["save_page", "upload_files", "send_reminders", "train_model", "import_rows"])
def test_a_part_fails_if_something_of_it_is_said_to_have_failed(tool: str) -> None:
    done = (
        "Saved page 1 of 8. No errors.",
        "Epoch 1 of 10, validation error 0.21",
        "Comment added (2 of 3 reviewers have not approved yet).",
        "r.pdf uploaded (2 of 10 GB used). Files expire after 30 days if not accessed.",
        "Closed 14 of 20 tickets. 6 are not older than 90 days.",
        "Lesson 3 of 12: what an HTTP error is",
        "Applied migration 7 of 9, 'handle failed payments'.",
    )
    failed = (
        "Uploaded 2 of 3 files. c: quota exceeded",
        "Uploaded 3 of 5 files: a.txt failed, b.txt failed",
        "Sent 2 of 3 (bob@x.org: mailbox not found)",
        "Sent 2, 1 failed: bob",
        "2 importiert, 1 fehlgeschlagen.",
        "2 importées, 1 échouée",
    )
    assert {outcome(tool, {"n": 1}, text) for text in done} == {"ok"}
    assert {outcome(tool, {"n": 1}, text) for text in failed} == {"error-result"}


# A state that is a refusal of one tool is what another one brings.
@pytest.mark.parametrize(
    ("tool", "state"),
    [
        ("disable_account", "is disabled"),
        ("archive_channel", "was archived"),
        ("freeze_card", "is frozen"),
        ("reject_request", "was declined"),
        ("rollback_deployment", "was rolled back"),
        ("revoke_key", "is invalid"),
        ("suspend_user", "is suspended"),
    ],
)
def test_a_state_refuses_a_tool_that_does_not_bring_it(tool: str, state: str) -> None:
    assert outcome(tool, {"id": "X-7"}, f"The thing X-7 {state}.") == "ok"
    assert outcome(tool, {"id": "X-7"}, f"The thing X-7 cannot be changed, it {state}.") == "error-result"
    assert outcome("assign_ticket", {"id": "X-7"}, f"The account {state}.") == "error-result"


DONE_WITH_REMARK = (
    "Termin gelöscht, nicht wiederherstellbar",
    "Gespeichert, kein Neustart erforderlich",
    "Herinnering gemaakt, geen herhaling",
    "Rappel créé, sans répétition",
    "Enregistré, aucun redémarrage nécessaire",
    "Hatırlatıcı oluşturuldu, tekrar yok",
    "Acara dihapus, tidak ada biaya",
    "Wysłano, bez załączników",
    "Viesti lähetetty, ei liitteitä",
    "Rezervace zrušena, bez poplatku",
    "Сохранено, перезапуск не нужен",
    "Zapisano ustawienia i nie trzeba restartu",
    "已更新，没有冲突",
    "Invoice 12 issued, payment required by 1 May.",
    "Ordner alt wurde gelöscht und ist nicht mehr verfügbar.",
    "Karte 44 ist gesperrt.",
    "Dossier complet, transmis au service.",
)
NOTHING_TO_DO = (
    "No duplicates found.",
    "No issues older than 90 days found.",
    "No changes found.",
    "Aucun changement.",
    "Sin cambios.",
    "Keine Änderungen.",
    "変更はありません。",
    "没有变化",
    "Нет изменений",
    "Geen wijzigingen",
    "Không có thay đổi",
)
DENIALS = (
    "Termin konnte nicht gelöscht werden",
    "Leider ist der Termin nicht verfügbar",
    "Désolé, la réservation n'a pas pu être créée",
    "Lo siento, no se pudo guardar",
    "Herinnering kon niet worden gemaakt",
    "К сожалению, сохранить не удалось",
    "Nie udało się wysłać",
    "无法更新，存在冲突",
    "无法更改",
    "No se pudo modificar la reserva",
    "Änderung nicht möglich",
    "Sorry, the account does not exist.",
    "No user with this address found.",
    "Label not found.",
)
_CHANGES = ("update_setting", "buche_termin", "creer_rappel", "olustur_hatirlatici", "hapus_acara", "zrus_rezervaci")


@pytest.mark.parametrize("tool", [*_CHANGES, "sync_folder", "merge_contacts"])
def test_a_remark_behind_what_was_done_and_nothing_to_do_are_no_refusals(tool: str) -> None:
    answers = (*DONE_WITH_REMARK, *NOTHING_TO_DO)
    assert [answer for answer in answers if outcome(tool, {"id": 7}, answer) != "ok"] == []
    assert [answer for answer in DENIALS if outcome(tool, {"id": 7}, answer) == "ok"] == []


@pytest.mark.parametrize("tool", ["agenda", "agenda_listar", "reserva_estado"])
def test_a_noun_in_the_name_of_a_tool_changes_nothing(tool: str) -> None:
    for answer in ("Nessun appuntamento.", "Nada marcado.", "Ninguna reserva"):
        assert outcome(tool, {"day": "oggi"}, answer) == "ok"


@pytest.mark.parametrize("noun", ["jobs", "runs", "logins", "payments"])
def test_what_had_failed_before_is_what_a_tool_works_on(noun: str) -> None:
    for tool, done in (("retry_jobs", "re-queued"), ("delete_jobs", "deleted"), ("archive_jobs", "archived")):
        assert outcome(tool, {"n": 1}, f"3 failed {noun} {done}.") == "ok"
        assert outcome(tool, {"n": 1}, f"5 {noun} {done}, 3 failed.") == "error-result"


@pytest.mark.parametrize(
    ("tool", "arguments", "answer", "expected"),
    [
        ("delete_runs", {"state": "failed"}, {"deleted": 4, "failed": 4}, "ok"),
        ("delete_runs", {"ids": [1, 2]}, {"deleted": 1, "failed": 1}, "error-result"),
        ("move_rows", {"filter": "invalid"}, {"moved": 12, "invalid": 12}, "ok"),
        ("move_rows", {"to": "b"}, {"moved": 12, "invalid": 2}, "error-result"),
        ("create_survey", {"title": "t"}, {"id": 1, "problems": ["slow", "expensive"]}, "ok"),
        ("submit_order", {"cart": "c"}, {"id": None, "problems": [{"issue": "OUT_OF_STOCK"}]}, "error-result"),
        ("create_incident", {"failures": ["pay"]}, {"id": 1, "failures": ["pay"]}, "ok"),
        ("assign_ticket", {"id": 1}, {"id": 1, "assigned": True, "failures": 2}, "ok"),
        ("delete_duplicates", {"table": "t"}, {"deleted": 0, "not_found": ["t1"]}, "ok"),
        ("add_members", {"ids": ["a"]}, {"added": 0, "not_found": ["a"]}, "error-result"),
        ("send_email", {"to": ["a", "b"]}, {"accepted": ["a"], "rejected": ["b"]}, "error-result"),
    ],
)
def test_a_member_named_like_a_failure_counts_unless_the_call_named_it(
    tool: str, arguments: dict[str, Any], answer: dict[str, Any], expected: str
) -> None:
    assert outcome(tool, arguments, write_json(answer)) == expected


def test_another_step_is_why_a_call_never_began_only_if_that_failed() -> None:
    for thing in ("step", "action", "message", "edit"):
        assert outcome("update_tour", {"id": 1}, f"Step intro skipped, previous {thing} kept") == "ok"
        assert outcome("update_tour", {"id": 1}, f"Skipped: the previous {thing} has failed") == "not-run"


@pytest.mark.parametrize("field", ["title", "name", "subject", "summary", "description"])
def test_what_a_changed_record_is_called_is_content_and_why_a_change_was_refused_is_not(field: str) -> None:
    for told in ("Search times out", "Payment is declined twice", "Upload of files failed", "Export cannot be opened"):
        changed = {"id": "ENG-310", "labels": ["bug", "shipped"]}
        assert (
            outcome("update_issue", {"id": "ENG-310", "labels": ["shipped"]}, write_json(changed | {field: told}))
            == "ok"
        )
        nested = {"issue": changed | {field: told}}
        assert outcome("update_issue", {"id": "ENG-310", "labels": ["shipped"]}, write_json(nested)) == "ok"
    refused = {"id": "ENG-310", "note": "The label could not be applied"}
    assert outcome("update_issue", {"id": "ENG-310"}, write_json(refused)) == "error-result"


@pytest.mark.parametrize("value", ["failed", "none", "error", "timeout"])
def test_one_word_in_a_record_is_a_value_of_it(value: str) -> None:
    for tool in ("get_build", "wait_for_build", "grade_exam", "create_poll"):
        assert outcome(tool, {"id": 9}, write_json({"id": 9, "grade": "b", "result": value})) == "ok"
    assert outcome("upload_report", {"id": 9}, write_json({"result": "failed"})) == "error-result"


def test_what_is_taken_by_the_user_is_no_refusal_of_it() -> None:
    for told in ("Asiento 12A ocupado por usted.", "Platz 12A ist für Sie belegt.", "Siège 12A occupé par vous."):
        assert outcome("reserve_seat", {"seat": "12A"}, told) == "ok"
    for told in ("Asiento 12A ocupado.", "Platz 12A ist belegt.", "Siège 12A occupé."):
        assert outcome("reserve_seat", {"seat": "12A"}, told) == "error-result"


def test_no_pending_migration_is_nothing_to_do() -> None:
    for told in ("Keine Migrationen offen.", "Aucune migration en attente.", "Sin migraciones pendientes."):
        assert outcome("migrate_database", {"env": "x"}, told) == "ok"


def test_a_status_that_the_call_passed_is_no_failure_of_it() -> None:
    answer = write_json({"status": 404, "pages": ["/a", "/b"]})
    assert outcome("search_pages", {"status": 404}, answer) == "ok"
    assert outcome("search_pages", {"query": "a"}, answer) == "error-result"


@pytest.mark.parametrize("verb", ["test", "ping", "probe"])
def test_what_a_trial_denies_is_its_answer(verb: str) -> None:
    answer = write_json({"connected": False, "reason": "password authentication failed"})
    assert outcome(f"{verb}_connection", {"db": "x"}, answer) == "ok"
    assert (
        outcome("send_mail", {"to": "x"}, write_json({"delivered": False, "reason": "mailbox full"})) == "error-result"
    )
