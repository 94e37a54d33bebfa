"""Writes docs/reference.md from the code: `python -m tests.reference`. A test fails while the page is out of date.

Examples of the keys of crew.yml and of a specialist stand here; a test asks the code which keys there are.
"""

from __future__ import annotations

import argparse
import importlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import get_args

from bot.__main__ import _make_parser
from bot.features.catalogue import SPOKEN_COMMANDS, SUBCOMMANDS
from bot.settings import VARIABLES
from bot.tracing import span
from handoff import events
from handoff.access.audit_entry import AuditAction

PAGE = Path(__file__).parents[1] / "docs" / "reference.md"
RENEW = "python -m tests.reference"

SETTINGS: Mapping[str, str] = {
    "Slack": "SLACK_BOT_TOKEN SLACK_APP_TOKEN SLACK_SIGNING_SECRET LEADHAND_PORT LEADHAND_URL SLACK_CLIENT_ID "
    "SLACK_CLIENT_SECRET LEADHAND_TOKEN_KEYS LEADHAND_TEAMS SLACK_API_URL LEADHAND_SLACK_UNLIMITED",
    "Settings, store and instances": "LEADHAND_SETTINGS REDIS_URL LEADHAND_DATA LEADHAND_SLOTS LEADHAND_LEASE "
    "LEADHAND_KEEP LEADHAND_SANDBOX LEADHAND_OPERATION LEADHAND_LOG",
    "Models": "ANTHROPIC_API_KEY ANTHROPIC_BASE_URL OPENAI_API_KEY OPENAI_BASE_URL OLLAMA_HOST LEADHAND_MODEL "
    "LEADHAND_MODEL_FAST LEADHAND_MODEL_BALANCED LEADHAND_MODEL_DEEP LEADHAND_ROLES LEADHAND_CONTEXT LEADHAND_EFFORT "
    "LEADHAND_SEES LEADHAND_TOOL_CALLS LEADHAND_SILENCE LEADHAND_CALL_DEADLINE LEADHAND_REHEARSAL_PACE",
    "Work and questions": "LEADHAND_CREW LEADHAND_DEADLINE LEADHAND_SUBTASK_DEADLINE LEADHAND_CONFIDENCE "
    "LEADHAND_REMIND_AFTER LEADHAND_EXPIRE_AFTER LEADHAND_WORKING_HOURS",
    "Who may use it": "LEADHAND_ADMINS LEADHAND_CHANNELS LEADHAND_USERS LEADHAND_GUESTS LEADHAND_STRANGERS "
    "LEADHAND_APPROVERS LEADHAND_FOLLOW_UPS LEADHAND_HIGHEST_TIER LEADHAND_QUIET_HOURS LEADHAND_ZONE",
    "Limits and budgets": "LEADHAND_RATES LEADHAND_AT_ONCE LEADHAND_BREAKERS LEADHAND_BUDGET_JOB "
    "LEADHAND_BUDGET_PERSON LEADHAND_BUDGET_CHANNEL LEADHAND_BUDGET_DAY LEADHAND_ASK_ABOVE",
    "Tools": "LEADHAND_KNOWLEDGE LEADHAND_DATABASES LEADHAND_DATABASES_ANY_USER LEADHAND_REPOSITORIES LEADHAND_SSH_KEY "
    "LEADHAND_SSH_KNOWN_HOSTS GITHUB_TOKEN GITHUB_API_URL GITLAB_TOKEN GITLAB_URL LEADHAND_TICKETS LEADHAND_SMTP "
    "LEADHAND_MAIL_FROM BRAVE_API_KEY TAVILY_API_KEY LEADHAND_RECORDED_PAGES",
    "Network": "HTTPS_PROXY HTTP_PROXY ALL_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR LEADHAND_PROXY_RESOLVES",
    "OpenTelemetry": "OTEL_EXPORTER_OTLP_ENDPOINT OTEL_EXPORTER_OTLP_TRACES_ENDPOINT OTEL_EXPORTER_OTLP_HEADERS "
    "OTEL_SERVICE_NAME OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
}
"""The headings, each with its settings in order."""

CREW_FILE = """\
# What the crew can do. Members of other crews need it, or `can`.
description: Translates contracts.
# The same as a list.
can: [translate contracts]
# What it cannot do.
cannot: [give legal advice]
# What `help` suggests, three at most.
requests: [Translate nda.docx]
# Builds on a crew that comes with Leadhand, or on a folder (`./whole`).
extends: general
# Its members that are left out.
without: [reviewer]
# Settings without which it is no member of the usual crew. Also a list.
needs: LEADHAND_KNOWLEDGE
# Requests that need no planner. `files`: any, none, some or endings.
rules:
  - name: translate
    to: translator
    when: ['^translate']
    unless: ['check']
    files: none
    done_when: All of it is translated.
# Of each list the planner sees the first. The least busy one gets the part.
equals: [[translator, translator_b]]
# Gets a request for which no plan could be made. Otherwise the first member does.
default: translator
# The first responder, or `none`.
first: translator
# Who steps in for this crew inside another one.
fallback: translator_b
# A fixed plan, or `none`.
pipeline:
  strategy: merge    # or select, reduce
  instruction: Be brief.
  follow_ups: planner    # or pipeline
  steps:
    - specialist: translator
      title: Translate
      brief: Translate it.
      needs: all
      done_when: All of it is there.
      tier: fast
    - specialist: translator_b
      name: second
      title: Second look
      brief: Check what is unsure.
      after: all
      critical: true
      only_for: {severity: high, below: 80}
# Specialists that the planner may have made for one job.
make:
  tools: [calculate]
  tiers: [fast, balanced]
  at_most: 2
  fallback: translator
# One text for both roles, or one each.
instructions: {planner: One part a file., synthesizer: Table first.}
# Requests for the planner, each with `who`, `answer`, `ask` and `options`, `nobody` or `plan`.
examples: [{request: Translate this., why: a translation, who: translator}]
# The form of the answer.
answer: One table, then one paragraph.
# Findings below this are marked as less sure. Comes before LEADHAND_CONFIDENCE.
confidence: 70
# `mark` such findings (default), or only count them: `apart`.
unsure: apart
# `false`: the answer is streamed and not read again.
verifier: false
# Comes before LEADHAND_SUBTASK_DEADLINE.
subtask_seconds: 600
# Comes before LEADHAND_DEADLINE, in seconds.
job_seconds: 3600
# Tokens of material by tier. LEADHAND_CONTEXT comes first.
context: {balanced: 96000}
# Tiers of the supervisor's roles. Comes before LEADHAND_ROLES.
roles: {planner: deep, verifier: fast}
# By tool that writes: `ask` (default), `always` or `never`.
approve: {post_review: always}
# Who may decide. Default: `requester`.
approvers: [admins, U012AB3CD, S034CD5EF]
# How many of them have to approve.
quorum: 2
# `false`: nobody approves what is done for their own request.
self: false
# People are asked before a part begins whose estimate is above. Dollars or tokens.
ask_above: $2.50
# Whom questions are for: requester, anyone, people or groups.
asks: [requester, S034CD5EF]
# Who is reminded after that.
asks_next: [S034CD5EF]
# Working time until the reminder, or `never`.
remind_after: 4h
# Time until a question is closed unanswered, or `never`.
expire_after: 2 days
# Assumed then: `first` of the offered answers, or words.
assume: first
# Who is named where a request failed: person, group, channel or words.
contact: S034CD5EF
# Tools and hosts to which private things may go without asking.
allow_out: [web_search, docs.python.org]
# Values for the channels of this crew.
channel:
  highest_tier: balanced
  budget: $20
  quiet_hours: 19-8, weekends
  zone: Europe/Berlin
  follow_ups: off
"""
"""Each key of crew.yml with an example, below what it means."""

SPECIALIST_FILE = """\
# As the file is called. Required.
name: translator
# All that the planner knows of it. Or `can`.
description: Translates texts. Cannot look anything up.
# The same as a list.
can: [translate texts]
# What it cannot do.
cannot: [look anything up]
# Requests that it alone does, with the kind of work.
examples: {'Put this into German.': a translation}
# Names of tools, or `[]`. Required.
tools: [calculate]
# MCP servers, all of whose tools it has.
mcpServers: [git]
# Skills that it may read.
skills: [house-style]
# A tier, or a provider's model by its name. Required.
model: fast
# How hard its model thinks: low, medium, high.
effort: low
# From 0 to 2.
temperature: 0.2
# Who steps in when this one fails.
fallback: writer
# Model turns before its last call.
max_turns: 4
# As in crew.yml, and before it.
asks: anyone
# These four as well.
approve: {send_mail: always}
approvers: [admins]
quorum: 2
self: false
"""
"""The same for the front matter of a specialist."""

EXPLANATIONS: Mapping[str, str] = {"slack": "See [its own page](local-slack.md#the-command)."}
"""Commands that another page explains, each with a sentence that leads there."""

LIMITS: Mapping[str, Sequence[tuple[str, str]]] = {
    "Plans and attempts": (
        ("parts of a plan", "handoff.planning.plan_check.MAX_SUBTASKS"),
        ("parts of a request, crews inside included", "handoff.engine.crew_runs.MAX_SUBTASKS_IN_ALL"),
        ("parts that build on each other", "handoff.planning.plan_check.MAX_DEPTH"),
        ("refused plans after which `default` gets the request", "handoff.engine.plan.MAX_REJECTED_PLANS"),
        ("revisions of a plan", "handoff.engine.replan.MAX_REVISIONS"),
        ("corrections of a request", "handoff.engine.corrections.MAX_CORRECTIONS"),
        ("failures of a part", "handoff.engine.ladder.MAX_FAILURES"),
        ("questions of a part", "handoff.engine.ladder.MAX_QUESTIONS"),
        ("seconds before the first and the second retry", "handoff.engine.ladder.RETRY_DELAY_SECONDS"),
        ("rejected results of a part", "handoff.engine.returned_results.MAX_FAULTY_RESULTS"),
        ("reminders of a question", "handoff.engine.questions.MAX_REMINDERS"),
        ("tool calls of a model turn that are made", "specialists.turns.tool_calls.MAX_TURN_CALLS"),
        ("seconds of a tool call that reads", "specialists.turns.one_call.MAX_READ_SECONDS"),
        ("lost owners in a row after which a job is tried alone", "handoff.engine.ladder.MAX_LOST_OWNERS"),
    ),
    "Model calls": (
        ("sends of a role's call", "bot.models.call_retrier.RetryPolicy.max_attempts"),
        ("seconds before the second send", "bot.models.call_retrier.RetryPolicy.first_pause_seconds"),
        (
            "longest pause that a provider may ask for, in seconds",
            "bot.models.call_retrier.RetryPolicy.max_wait_seconds",
        ),
        ("seconds that a call waits for `LEADHAND_RATES`", "bot.limits.call_limits.MAX_WAIT_SECONDS"),
        ("tool calls of a reply; one with more is refused", "bot.models.wire.MAX_TOOL_CALLS"),
    ),
    "Keys of a crew": (
        ("rules of a crew", "specialists.loading.crew_rules.MAX_RULES"),
        ("patterns of a rule's key", "specialists.loading.crew_rules.MAX_PATTERNS"),
        ("characters of `instructions`", "specialists.loading.crew_prompts.LONGEST_INSTRUCTION"),
        ("characters of `answer`", "specialists.loading.crew_prompts.LONGEST_ANSWER_FORM"),
        ("examples of a crew", "specialists.loading.crew_prompts.MAX_EXAMPLES"),
        ("characters of house rules", "specialists.loading.crew_context.MAX_HOUSE_RULES_LENGTH"),
        ("characters of a specialist's description", "specialists.specialist.LONGEST_DESCRIPTION"),
        ("highest `max_turns`", "specialists.specialist.MAX_TURNS"),
        ("`max_turns` unless set", "specialists.specialist.DEFAULT_TURNS"),
        ("highest `quorum`", "specialists.loading.approval_keys.MAX_APPROVERS"),
        ("levels of crews in a crew", "specialists.loading.crew_context.MAX_FOLDER_DEPTH"),
    ),
    "Threads, schedules and memory": (
        ("memories of a channel or person", "bot.store.values.MEMORIES_LIMIT"),
        ("characters of a memory", "handoff.conversation.memory.MAX_MEMORY_LENGTH"),
        ("least seconds between two runs of a schedule", "bot.features.schedules.schedule_checks.MIN_INTERVAL_SECONDS"),
        ("the same for admins", "bot.features.schedules.schedule_checks.MIN_ADMIN_INTERVAL_SECONDS"),
        ("schedules of a person", "bot.features.schedules.schedule_checks.MAX_SCHEDULES_PER_PERSON"),
        ("schedules of a bot", "bot.store.redis.layout.SCHEDULE_LIMIT"),
        ("channels that a run reads", "bot.features.schedules.drafts.MAX_READ_CHANNELS"),
        ("missed runs that are made up for", "bot.features.schedules.loop.MAX_CATCH_UP_RUNS"),
        ("messages of a thread that are read", "bot.slack.receive.thread_text.MAX_MESSAGES"),
        ("files of a thread that are read", "bot.slack.receive.thread_text.MAX_FILES"),
        ("bytes of a file", "bot.slack.receive.attachments.MAX_FILE_BYTES"),
        ("seconds of its download", "bot.slack.receive.attachments.DOWNLOAD_SECONDS"),
    ),
    "Replies of tools": (
        ("characters of a tool's reply", "specialists.turns.one_call.MAX_OUTPUT_CHARS"),
        ("MCP servers of a crew", "specialists.mcp.server_config.MAX_SERVERS"),
        ("tools of an MCP server", "specialists.mcp.server_connection.MAX_TOOLS"),
        ("characters of a ticket", "specialists.tools.tickets.ticket_tools.MAX_BODY_CHARS"),
    ),
}
"""The headings, each with what is bounded and the name in the code that holds the bound."""

INTRO = f"""# Reference

The code writes this page: `{RENEW}`. A test fails while they differ.
"""
SETTINGS_INTRO = """## Settings

```
SLACK_BOT_TOKEN_FILE=/run/secrets/slack    # the value of SLACK_BOT_TOKEN is in that file
LEADHAND_MODEL=anthropic
```

They come from the environment or from [a settings file](install.md#settings). The environment comes first.
"""
COMMANDS_INTRO = """## Commands in the terminal

`leadhand COMMAND -h` explains the options of a command; `-v` logs more.
"""
SLACK_INTRO = """## Commands in Slack

`JOB` is a job's id or a link to a message of its thread.
"""
CREW_INTRO = """## Keys of crew.yml

Each key is optional. [Crews](crews.md) shows them at work.
"""
SPECIALIST_INTRO = """## Keys of a specialist

They stand in the front matter of its Markdown file; its prompt stands below.
"""
LIMITS_INTRO = """## Limits

[Settings](#limits-and-budgets) come on top.
"""
TRACE_INTRO = """## Trace events

`leadhand trace JOB --json` writes spans and events. Its form is [trace-schema.json](trace-schema.json).
"""


def render() -> str:
    """Return the page as the code has it now."""
    parts = (_settings(), _commands(), _slack_commands(), _crew_keys(), _limits(), _trace())
    return "\n".join([INTRO, *("\n".join(part) for part in parts)]).rstrip() + "\n"


def value_of(path: str) -> str:
    """Return a bound of the code, as people write it. `path` names a module and a value, or a field of a class."""
    module, _, name = path.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError:
        module, _, owner = module.rpartition(".")
        found = getattr(getattr(importlib.import_module(module), owner)(), name)
    return ", ".join(f"{one:,g}" for one in found) if isinstance(found, tuple) else f"{found:,g}"


def _settings() -> Iterator[str]:
    yield SETTINGS_INTRO
    for heading, names in SETTINGS.items():
        yield from (f"### {heading}", "", *_list((f"`{name}`", VARIABLES[name]) for name in names.split()))


def _commands() -> Iterator[str]:
    yield COMMANDS_INTRO
    for name, parser in subparsers_of(_make_parser()).items():
        if name in EXPLANATIONS:
            yield from (f"### leadhand {name}", "", _sentence(parser.description or ""), EXPLANATIONS[name], "")
        else:
            yield from _command(f"leadhand {name}", parser)


def _command(title: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    yield from (f"### {title}", "", _sentence(parser.description or ""))
    if isinstance(parser.epilog, str):
        yield _sentence(parser.epilog)
    inside = subparsers_of(parser)
    for name, child in inside.items():
        yield from ("", f"`{title} {name}`: {child.description}")
    yield ""


def subparsers_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the commands of a parser by their names."""
    return {
        name: child
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for name, child in action.choices.items()
    }


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _slack_commands() -> Iterator[str]:
    yield SLACK_INTRO
    rows = [("`/leadhand REQUEST`", "a request, posted for you in the channel and answered in its thread")]
    rows += [
        (f"`/leadhand {f'{one.name} {words}'.strip()}`", text) for one in SUBCOMMANDS for words, text in one.usages
    ]
    yield from _list(rows)
    said = ", ".join(f"`@leadhand {words}`" for one in SPOKEN_COMMANDS for words in one.help_words)
    yield from (f"In a thread, after a mention: {said}.", "")


def _crew_keys() -> Iterator[str]:
    for intro, example in ((CREW_INTRO, CREW_FILE), (SPECIALIST_INTRO, SPECIALIST_FILE)):
        yield from (intro, f"```yaml\n{example}```", "")


def _limits() -> Iterator[str]:
    yield LIMITS_INTRO
    for heading, limits in LIMITS.items():
        yield from (f"### {heading}", "", *_list((what, value_of(path)) for what, path in limits))


def _trace() -> Iterator[str]:
    yield TRACE_INTRO
    source = Path(span.__file__).read_text(encoding="utf-8")
    kinds = {
        name: " ".join(text.split())
        for name, text in re.findall(r"^- `(\w+)`: (.*?)(?=^- `|\"\"\")", source, re.MULTILINE | re.DOTALL)
    }
    yield from ("### Spans", "", *_list((f"`{kind}`", kinds[kind].split(". ")[0]) for kind in get_args(span.SpanKind)))
    names = ", ".join(f"`{event.__name__}`" for event in get_args(get_args(events.Event)[0]))
    yield from ("### Events", "", f"Each says in the past tense what happened: {names}.", "")
    deeds = ", ".join(f"`{deed}`" for deed in get_args(AuditAction))
    yield from ("### Deeds of the audit", "", f"`leadhand audit --deed DEED` takes: {deeds}.", "")


def _list(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield from (f"- {one}: {other}" for one, other in rows)
    yield ""


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
