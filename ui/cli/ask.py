"""`weaklink ask`: send a turn's request again, unchanged or changed, many times; count the rules that answers break."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from weaklink.inspector.apis.anthropic import messages as anthropic
from weaklink.inspector.apis.openai import chat
from weaklink.inspector.capture.resending import ResendTarget, SpendingBounds, target_of
from weaklink.inspector.json_text import list_of, object_of, write_json
from weaklink.inspector.model import Json
from weaklink.inspector.replay.resend import RequestChange, TurnRequest
from weaklink.storage.store import Store, open_store
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import print_lines, print_notice
from weaklink.ui.cli.declaring import INTERRUPTED
from weaklink.ui.cli.store_options import trace_ids
from weaklink.ui.cli.suggestions import suggested
from weaklink.ui.experiments import ask_again
from weaklink.ui.experiments.ask_views import (
    experiment_of,
    plan_lines,
    result_json,
    result_lines,
    setting_of,
    spending_words,
)
from weaklink.ui.views.styled_text import counted, visible_line

_APIS = {"openai": chat.API, "anthropic": anthropic.API}


@declaring.command("ask")
@click.argument("word", metavar="ID")
@click.option(
    "--turn",
    type=click.IntRange(min=1),
    metavar="N",
    help="The turn whose request is sent again.  [default: the break]",
)
@click.option("--upstream", metavar="URL", help="The server; without it, nothing is sent.")
@click.option("-n", "count", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Number of requests.")
@click.option(
    "--parallel", type=click.IntRange(1, 64), default=4, show_default=True, help="Maximum number of requests at a time."
)
@click.option("--model", metavar="NAME", help="Send to another model.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Change a member of the request, such as temperature=0; no value removes it. Can be repeated.",
)
@click.option(
    "--system", type=click.Path(exists=True, dir_okay=False), help="Replace the system prompt with this file."
)
@click.option("--tools", type=click.Path(exists=True, dir_okay=False), help="Replace the tools with this JSON file.")
@click.option("--edit", is_flag=True, help="Edit the request in $EDITOR.")
@click.option("--with-fix", is_flag=True, help="Add advice against the turn's fault to the prompt or the tool.")
@click.option("--max-requests", type=click.IntRange(min=1), metavar="N", help="Send at most N requests.")
@click.option("--max-tokens", type=click.IntRange(min=1), metavar="N", help="Spend at most N tokens.")
@click.option("--yes", is_flag=True, help="Do not ask before sending.")
@click.option("--api", type=click.Choice(tuple(_APIS)), help="Rebuild the request for this API.")
@click.option("--key-env", metavar="NAME", help="The environment variable with the key, instead of the provider's.")
@declaring.json_option
@declaring.database_option
@declaring.color_option
def ask(
    word: str, *, turn: int | None, upstream: str | None, api: str | None, where: str | None, **options: Any
) -> None:
    """Send a turn's request again and count which rules the answers break.

    The request of the turn (by default the one that broke the chain) is sent -n times to --upstream. A changed request
    is compared with the original in pairs. Every answer is saved as a fork of the trace. Without --upstream, prints
    what would be sent. Keys come from the environment (OPENAI_API_KEY, ...) and are never stored. `@marked` or `@shown`
    as ID repeats this for each of those traces.

    \b
    weaklink ask 12 --upstream https://api.openai.com
    weaklink ask 12 --turn 4 --upstream http://localhost:8000 --set temperature=0 -n 50
    weaklink ask latest --with-fix --upstream https://api.anthropic.com --max-requests 40 --max-tokens 100000
    """
    change = _change(options["model"], options["settings"], options["system"], options["tools"])
    with open_store(where, create=False) as store:
        plans = [
            _plan(ask_again.question_of(store, id_, turn, api=_APIS.get(api or "")), change, options)
            for id_ in trace_ids(store, [word])
        ]
        if upstream is None:
            for plan in plans:
                print_lines(
                    plan_lines(plan, "the server that --upstream names"), color=options["color"], stream=sys.stderr
                )
                sys.stdout.write(json.dumps(plan.settings[0].body, indent=2, ensure_ascii=False) + "\n")
            print_notice("nothing was sent: name a server with `--upstream URL`.")
            return
        bounds = SpendingBounds(options["max_requests"], options["max_tokens"])
        codes = [_send(store, plan, upstream, bounds, options) for plan in plans]
    if any(codes):
        raise SystemExit(max(codes))


def _plan(question: ask_again.AskQuestion, change: RequestChange, options: dict[str, Any]) -> ask_again.AskPlan:
    request = ask_again.changed_request(question, change, is_advised=options["with_fix"])
    request = _edited(request) if options["edit"] else request
    return ask_again.plan_of(question, request, options["count"], options["parallel"])


def _send(store: Store, plan: ask_again.AskPlan, upstream: str, bounds: SpendingBounds, options: dict[str, Any]) -> int:
    """Send the requests and print the result. Return 2 if no answer came, else 0. Raise SystemExit if interrupted."""
    request = plan.settings[0]
    target = target_of(upstream, request.api, request.path, os.environ, key_variable=options["key_env"])
    if options["key_env"] and not target.key:
        raise click.UsageError(f"--key-env: the variable `{options['key_env']}` is not set.")
    _confirm(plan, target, options)
    result = asyncio.run(_run(experiment_of(plan, target, store, bounds, _progress)))
    _end_progress()
    if options["as_json"]:
        sys.stdout.write(write_json(result_json(result)) + "\n")
    else:
        print_lines(result_lines(result), color=options["color"])
        if result.kept:
            print_notice(f"`{suggested(f'list session:{result.experiment}', store.location)}` lists the answers.")
    if result.is_interrupted:
        raise SystemExit(INTERRUPTED)
    return 0 if result.counted() else 2


async def _run(experiment: ask_again.AskExperiment) -> ask_again.AskResult:
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, experiment.interrupt)
    return await experiment.run()


def _confirm(plan: ask_again.AskPlan, target: ResendTarget, options: dict[str, Any]) -> None:
    """Show what will be spent. Ask for consent on a terminal; without one, require --yes or both bounds."""
    print_lines(plan_lines(plan, target.url), color=options["color"], stream=sys.stderr)
    if options["yes"]:
        return
    if sys.stdin.isatty() and sys.stderr.isatty():
        click.confirm(f"Send {counted(plan.requests, 'request')}?", abort=True, err=True)
    elif options["max_requests"] is None or options["max_tokens"] is None:
        raise click.UsageError(
            f"{spending_words(plan)}; without a terminal, confirm with --yes or set --max-requests and --max-tokens."
        )


def _change(model: str | None, settings: tuple[str, ...], system: str | None, tools: str | None) -> RequestChange:
    return RequestChange(
        model or "",
        tuple(map(setting_of, settings)),
        Path(system).read_text(encoding="utf-8") if system else None,
        tuple(_tools(tools)) if tools else None,
    )


def _tools(path: str) -> list[Json]:
    """The tools in a JSON file, which is a list or an object with the key `tools`."""
    try:
        value: Json = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise click.UsageError(f"--tools: {visible_line(path)} is not JSON: {error}.") from error
    tools = value if isinstance(value, list) else object_of(value).get("tools")
    if not isinstance(tools, list):
        raise click.UsageError(f"--tools: {visible_line(path)} contains no list of tools.")
    return list_of(tools)


def _edited(request: TurnRequest) -> TurnRequest:
    edited = click.edit(json.dumps(request.body, indent=2, ensure_ascii=False) + "\n", extension=".json")
    if edited is None:
        return request
    try:
        body = json.loads(edited)
    except ValueError as error:
        raise click.UsageError(f"--edit: the request is no longer JSON: {error}.") from error
    if not isinstance(body, dict):
        raise click.UsageError("--edit: the request is no longer a JSON object.")
    return replace(request, body=body)


def _progress(result: ask_again.AskResult) -> None:
    if sys.stderr.isatty():
        done = sum(map(len, result.answers))
        first = result.rates()[0]
        text = f"{done} of {result.plan.requests} answers"
        if first.trials:
            text += f", {first.hits} of {first.trials} with errors"
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


def _end_progress() -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
