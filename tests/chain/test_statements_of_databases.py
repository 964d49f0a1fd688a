"""A statement that changes data is not repaired by one that only asks, whatever tool or program runs it."""

import json

import pytest

from tests.chain.building import chain_of

UPDATE, INSERT = "update invoices set status = 'paid' where id = 77", "INSERT INTO invoices (id) VALUES (77)"
SELECT, COUNT = "select id, status from invoices where id = 77", "SELECT count(*) FROM invoices WHERE id = 77"
RUNNERS = {
    "query": '{"sql": %s}',
    "mcp__db__execute": '{"statement": %s, "database": "shop"}',
    "Bash sqlite3": '{"command": %s}',
    "Bash psql": '{"command": %s}',
}
LINES = {"Bash sqlite3": 'sqlite3 shop.db "%s"', "Bash psql": 'psql shop -c "%s"'}


def call(runner: str, statement: str) -> str:
    text = json.dumps(LINES.get(runner, "%s") % statement)
    return f"{runner.partition(' ')[0]} {RUNNERS[runner] % text}"


def recovery(failed: str, later: str) -> str | None:
    """What became of the first call."""
    chain = chain_of(
        "user: Mark invoice 77 as paid.",
        f"call a: {failed}",
        "result a!: ERROR: permission denied for table invoices",
        f"call b: {later}",
        "result b: 77 | paid",
        "say: Invoice 77 is marked as paid.",
    )
    return chain.steps[0].recovery


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("change", [UPDATE, INSERT])
@pytest.mark.parametrize("question", [SELECT, COUNT, "explain update invoices set status = 'paid' where id = 77"])
def test_a_question_repairs_no_change(runner: str, change: str, question: str) -> None:
    assert recovery(call(runner, change), call(runner, question)) is None


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("statement", [UPDATE, INSERT, SELECT])
def test_a_statement_of_the_same_kind_does(runner: str, statement: str) -> None:
    assert recovery(call(runner, statement.replace("invoices", "invoice")), call(runner, statement)) == "same-intent"


def test_a_query_repairs_no_mutation() -> None:
    mutation = 'graphql {"query": "mutation { pay(invoice: 77) { id status } }"}'
    query = 'graphql {"query": "query { invoice(id: 77) { id status } }"}'
    assert recovery(mutation, query) is None
    assert recovery(mutation, mutation.replace("id status", "id")) == "same-intent"


@pytest.mark.parametrize("collection", ["db.customers", "db['customers']", "db.getCollection('customers')"])
def test_a_look_into_a_document_store_repairs_no_change_of_it(collection: str) -> None:
    line = 'Bash {{"command": "mongosh crm --eval \\"{}.{}\\""}}'
    failed = line.format(collection, "createIndex({email: 1}, {unique: true})")
    assert recovery(failed, line.format(collection, "aggregate([{$match: {n: 2}}])")) is None
    assert recovery(failed, line.format(collection, "createIndex({email: 1})")) is not None


@pytest.mark.parametrize("told", ["send_email", "notify_customer"])
def test_a_message_about_what_failed_does_not_do_it(told: str) -> None:
    later = f'{told} {{"to": "customer", "body": "Your refund of order 55-1204", "order_id": "55-1204"}}'
    assert recovery('issue_refund {"order_id": "55-1204", "amount": 20}', later) is None
