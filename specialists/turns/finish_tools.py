"""The tools with which a specialist ends its work: `return_result`, `escalate` and, for a first responder, `hand_over`.

Models see them as tools, but they are never run. Their arguments are read strictly first, so that the model can correct
what is wrong, and leniently the second time, so that no finished work is lost to a formality.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from handoff.checking.workings import WORKING_EXAMPLE, remove_workings
from handoff.contracts import Escalation, EscalationReason, Evidence, Finding, Result, Severity, ToolCall
from handoff.evidence.grids import ROWS_PLACEHOLDER
from handoff.text.reply_text import replace_surrogates
from specialists.tools.tool import ToolSpec

RETURN_RESULT = "return_result"
ESCALATE = "escalate"
HAND_OVER = "hand_over"
FINISH_TOOLS = frozenset({RETURN_RESULT, ESCALATE, HAND_OVER})
UNLISTED_ARGUMENTS = ("summary", "gaps", "invented")
"""Arguments of `return_result` that are read if a model gives them, though its schema does not list them.

`whom` and `assumption` of `escalate` are read likewise: only a specialist whose prompt speaks of them needs them.
"""

DEFAULT_CONFIDENCE = 70
"""The confidence of a result for which its specialist gave none."""

DOUBTED_CONFIDENCE = 50
"""Most confidence of a doubted result: it was given as plain text, or handed in with no work behind it."""

_SEVERITY_SYNONYMS: dict[str, Severity] = {
    "note": "info",
    "none": "info",
    "minor": "low",
    "moderate": "medium",
    "warning": "medium",
    "major": "high",
    "serious": "high",
    "error": "high",
    "severe": "critical",
    "blocker": "critical",
}
"""Other names that models use for severities. Only prompts that ask for severities list the valid ones."""
_ESCALATION_REASONS: tuple[EscalationReason, ...] = get_args(EscalationReason)
_MAX_SUMMARY_CHARS = 300
_NON_SENTENCE_STARTS = ("#", "|", "```")
_STRING_SCHEMA = {"type": "string"}

# Every model call carries these two specs, so every character counts. No summary is asked for: the content begins with
# the gist, and a second copy would take more tokens.
FINISH_SPECS: tuple[ToolSpec, ...] = (
    ToolSpec(
        RETURN_RESULT,
        "content: Markdown, gist first; confidence: 0-100; findings: sources, doubts, faults, no retelling: "
        "{message, severity, confidence, where, source, quote: words of the source that bear it out, exactly}",
        {
            "type": "object",
            "properties": {
                "content": _STRING_SCHEMA,
                "confidence": {"type": "integer"},
                "findings": {"type": "array", "items": {"type": "object"}},
            },
            "required": ["content", "confidence"],
        },
    ),
    ToolSpec(
        ESCALATE,
        "options: likely answers",
        {
            "type": "object",
            "properties": {
                "reason": {"enum": list(_ESCALATION_REASONS[:3])},
                "message": _STRING_SCHEMA,
                "options": {"type": "array", "items": _STRING_SCHEMA},
                "partial_result": _STRING_SCHEMA,
            },
        },
    ),
)


ROWS_DESCRIPTION = (
    f"; {ROWS_PLACEHOLDER} on a line of its own: code puts the last query's rows there, [[rows 1]] those of the first; "
    f"a figure that you worked out has how behind it: {WORKING_EXAMPLE}"
)
"""Text added to the description of `return_result` for specialists with a query tool."""
RETURN_ROWS_SPEC = ToolSpec(RETURN_RESULT, FINISH_SPECS[0].description + ROWS_DESCRIPTION, FINISH_SPECS[0].parameters)
_HAND_OVER_SCHEMA = {"type": "object", "properties": {"why": _STRING_SCHEMA}, "required": ["why"]}


def make_hand_over_spec(specialists: str) -> ToolSpec:
    """Return the spec of `hand_over`, for first responders only.

    `specialists` lists the planner's specialists, one a line.
    """
    description = (
        "Give the request to a planner. why: what it takes that you do not have. The planner's "
        f"specialists:\n{specialists}"
    )
    return ToolSpec(HAND_OVER, description, _HAND_OVER_SCHEMA)


class _FindingArguments(Finding):
    model_config = ConfigDict(extra="ignore")

    quote: str = ""
    message: str = Field(min_length=1)
    severity: Annotated[Severity, BeforeValidator(lambda value: _read_severity(value) or value)] = "info"


class _ReturnArguments(BaseModel):
    summary: str = ""
    content: str = Field(min_length=1)
    confidence: int = Field(ge=0, le=100)
    findings: tuple[_FindingArguments, ...] = ()
    gaps: tuple[str, ...] = ()
    invented: bool = False


class _EscalateArguments(BaseModel):
    reason: EscalationReason
    message: str = Field(min_length=1)
    options: tuple[str, ...] = ()
    whom: Any = None
    assumption: Any = None
    partial_result: str = ""


def _read_hand_over(call: ToolCall) -> Escalation:
    why = _read_text(call.arguments.get("why")).strip()
    return Escalation(reason="hand_over", message=why or "It takes more than one specialist.")


def describe_argument_faults(error: ValidationError) -> str:
    """Return the faults of a call's arguments on one line, each with its place."""
    return "; ".join(
        f"{'.'.join(str(part) for part in fault['loc']) or 'arguments'}: {fault['msg']}" for fault in error.errors()
    )


def read_finish_call(call: ToolCall) -> Result | Escalation:
    """Read the result or escalation in a finish call, still without usage and files.

    Raises:
        ValidationError: Some argument is missing or wrong.
    """
    if call.name == HAND_OVER:
        return _read_hand_over(call)
    if call.name == ESCALATE:
        escalate_arguments = _EscalateArguments.model_validate(call.arguments)
        partial = (
            make_text_result(escalate_arguments.partial_result) if escalate_arguments.partial_result.strip() else None
        )
        return Escalation(
            reason=escalate_arguments.reason,
            message=escalate_arguments.message,
            options=escalate_arguments.options,
            whom=tuple(_read_texts(escalate_arguments.whom)),
            assumption=_read_text(escalate_arguments.assumption),
            partial_result=partial,
        )
    return_arguments = _ReturnArguments.model_validate(call.arguments)
    findings = tuple(
        Finding(**one.model_dump(exclude={"quote", "evidence"}), evidence=_read_evidence(one.source, one.quote))
        for one in return_arguments.findings
    )
    summary = return_arguments.summary or extract_first_sentences(return_arguments.content)
    return Result(
        summary=summary,
        content=return_arguments.content,
        findings=findings,
        confidence=return_arguments.confidence,
        gaps=return_arguments.gaps,
        invented=return_arguments.invented,
    )


def read_finish_call_leniently(call: ToolCall) -> Result | Escalation | None:
    """Read a finish call from whatever arguments it has; None if none of them can be used."""
    arguments = call.arguments
    if call.name == ESCALATE:
        reason = arguments.get("reason")
        partial = _read_text(arguments.get("partial_result"))
        return Escalation(
            reason=reason if reason in _ESCALATION_REASONS else "out_of_scope",
            message=_read_text(arguments.get("message")) or "The specialist gave no reason.",
            options=tuple(_read_texts(arguments.get("options"))),
            whom=tuple(_read_texts(arguments.get("whom"))),
            assumption=_read_text(arguments.get("assumption")),
            partial_result=make_text_result(partial) if partial else None,
        )
    summary, content = _read_text(arguments.get("summary")), _read_text(arguments.get("content"))
    if not (summary or content):
        return None
    findings = (_read_finding(item) for item in _read_list(arguments.get("findings")))
    return Result(
        summary=summary or extract_first_sentences(content),
        content=content or summary,
        findings=tuple(finding for finding in findings if finding),
        confidence=_read_confidence(arguments.get("confidence")),
        invented=arguments.get("invented") is True,
        gaps=tuple(text for text in map(_read_text, _read_list(arguments.get("gaps"))) if text),
    )


def read_result_content(call: ToolCall) -> str:
    """Return the content in a call of `return_result`, read leniently; "" if it has none or calls another tool."""
    outcome = read_finish_call_leniently(call) if call.name == RETURN_RESULT else None
    return outcome.content if isinstance(outcome, Result) else ""


def make_text_result(text: str) -> Result:
    """Turn plain text into a result: the whole text is its content, its first sentences the summary."""
    content = remove_workings(text.strip())
    return Result(summary=extract_first_sentences(content), content=content, confidence=DEFAULT_CONFIDENCE)


def mark_doubted(result: Result, *doubts: str) -> Result:
    """Return the result marked as doubted for these reasons, with at most `DOUBTED_CONFIDENCE` confidence."""
    return result.model_copy(update={"confidence": min(result.confidence, DOUBTED_CONFIDENCE), "doubts": doubts})


def extract_first_sentences(text: str) -> str:
    """Return the first whole sentences that fit a summary, without headings, tables and code.

    They are the summary of a result that has none. If not even one sentence fits, its beginning is returned.
    """
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(_NON_SENTENCE_STARTS)]
    flat_text = " ".join(" ".join(lines).split()) or " ".join(text.split())
    if len(flat_text) <= _MAX_SUMMARY_CHARS:
        return flat_text
    ends = [end.end() for end in re.finditer(r"[.!?](?=\s)", flat_text[: _MAX_SUMMARY_CHARS + 1])]
    return flat_text[: ends[-1]] if ends else flat_text[: _MAX_SUMMARY_CHARS - 1].rstrip() + "…"


def _read_text(value: Any) -> str:
    if value is None:
        return ""
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).strip()


def _read_texts(value: Any) -> list[str]:
    return [text for text in map(_read_text, _read_list(value)) if text]


def _read_list(value: Any) -> list[Any]:
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:  # small models like to send a list as its JSON in a string
            value = replace_surrogates(json.loads(value))
        except (ValueError, RecursionError):
            return [value]
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _read_finding(item: Any) -> Finding | None:
    if not isinstance(item, dict):
        text = _read_text(item)
        return Finding(message=text) if text else None
    message = _read_text(item.get("message"))
    if not message:
        return None
    severity = item.get("severity")
    source = _read_text(item.get("source"))
    return Finding(
        message=message,
        severity=_read_severity(severity) or "info",
        where=_read_text(item.get("where")),
        suggestion=_read_text(item.get("suggestion")),
        confidence=80 if item.get("confidence") is None else _read_confidence(item["confidence"]),
        source=source,
        evidence=_read_evidence(source, _read_text(item.get("quote"))),
    )


def _read_evidence(source: str, quote: str) -> tuple[Evidence, ...]:
    """Return the quotation of a finding as evidence, or nothing if it has none. Code finds its place later."""
    return (Evidence(source=source, quotation=quote),) if quote.strip() else ()


def _read_severity(value: Any) -> Severity | None:
    """Read a severity under any of its usual names; None if it has none of them."""
    name = str(value).strip().casefold()
    return next((one for one in get_args(Severity) if name == one), _SEVERITY_SYNONYMS.get(name))


def _read_confidence(value: Any) -> int:
    """Read `85`, `"85 %"` or `0.85` as a number from 0 to 100; return `DEFAULT_CONFIDENCE` for anything else."""
    match = re.match(r"\d+(\.\d+)?", _read_text(value))
    if isinstance(value, bool) or not match:
        return DEFAULT_CONFIDENCE
    number = float(match[0])
    if "." in match[0] and number <= 1:
        number *= 100
    return max(0, min(100, round(number)))
