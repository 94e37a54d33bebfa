"""Parses a planner's reply: an answer, a question to the requester, one specialist, or a whole plan."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from handoff.checking.figures import find_unsupported_figures
from handoff.contracts import WHO_ANSWER, WHO_ASK, WHO_NOBODY, WHO_SEVERAL, Member, Plan
from handoff.planning import needs, plan_check
from handoff.planning.adhoc import AdhocAllowance
from handoff.planning.plan_brief import PlanBrief
from handoff.planning.plan_repair import repair_plan
from handoff.planning.routing import make_single_plan
from handoff.text.reply_text import extract_json, replace_surrogates

MAX_OPTIONS = 5
MAX_ANSWER_LENGTH = 12_000
_MAX_LENGTHS = {"answer": MAX_ANSWER_LENGTH, "question": 2_000, "option": 200, "why": 300}
_WHO_BY_FIELD = {"subtasks": WHO_SEVERAL, "question": WHO_ASK, "text": WHO_ANSWER, "missing": WHO_NOBODY}
"""The value of `who` to assume for a reply without `who`, by a field that the reply has."""


@dataclass(frozen=True, slots=True)
class PlannerReply:
    """A planner's parsed reply: one of `plan`, `answer` and `question` is set, or `faults` has the reasons why not."""

    plan: Plan | None = None
    answer: str = ""
    question: str = ""
    options: tuple[str, ...] = ()
    """Likely answers to the question."""
    whom: tuple[str, ...] = ()
    """The addressees of the question, as in `Escalation`."""
    assumption: str = ""
    """The assumption of the question, as in `Escalation`."""
    reasons: tuple[str, ...] = ()
    """The planner's reason, the repairs of its plan, and the faults that were accepted in a second try."""
    faults: tuple[str, ...] = ()


def parse_reply(
    text: str,
    brief: PlanBrief,
    members: Mapping[str, Member],
    allowance: AdhocAllowance | None = None,
    *,
    is_second_try: bool = False,
) -> PlannerReply:
    """Parse a planner's reply. An unusable reply gives `faults`; nothing is raised.

    Args:
        text: The reply: JSON, which may be fenced or surrounded by prose.
        brief: The planner's brief.
        members: The members of the crew by name.
        allowance: The ad-hoc specialists that the crew allows; None: none.
        is_second_try: True for the planner's second try, see `plan_check.find_plan_faults`.
    """
    if not (json_text := extract_json(text)):
        return PlannerReply(faults=("The reply holds no JSON object; answer with one JSON object.",))
    try:
        fields = replace_surrogates(json.loads(json_text))
    except (ValueError, RecursionError):  # RecursionError: deeply nested JSON
        return PlannerReply(faults=("The reply is no valid JSON; answer with one JSON object.",))
    why = _limit_line(fields.pop("why", ""), "why")
    inner = fields.get("next")
    fields = inner if isinstance(inner, dict) else fields
    who_candidates = (
        fields.pop("who", None),
        fields.get("specialist"),
        *(who for name, who in _WHO_BY_FIELD.items() if name in fields),
    )
    who = str(next((one for one in who_candidates if one), WHO_SEVERAL)).strip()
    reasons = (why,) if why else ()
    if who == WHO_ANSWER:
        return _parse_answer(fields, brief, members, reasons)
    if who == WHO_ASK:
        return _parse_question(fields, brief, reasons)
    if who in members and "subtasks" not in fields:
        return PlannerReply(make_single_plan(brief.text, who), reasons=reasons)
    if who == WHO_NOBODY:
        fields = {"goal": brief.text, "subtasks": [], **fields}
    elif who != WHO_SEVERAL and "subtasks" not in fields:
        known_names = ", ".join(sorted(members))
        return PlannerReply(faults=(f"There is no specialist {who!r}; there are: {known_names}.",))
    return _parse_plan(fields, brief, members, allowance, reasons, is_second_try=is_second_try)


def _parse_answer(
    fields: dict[str, Any], brief: PlanBrief, members: Mapping[str, Member], reasons: tuple[str, ...]
) -> PlannerReply:
    text = str(fields.get("text") or "").strip()[:MAX_ANSWER_LENGTH]
    if not brief.may_answer:
        return PlannerReply(faults=("This is a part of a request, so nobody reads an answer; hand it on or plan it.",))
    if not any(letter.isalpha() for letter in text) or text.endswith("..."):  # small models copy the example
        return PlannerReply(faults=("The answer has no text.",))
    known_texts = (*brief.all_texts, *(f"{one.name} {one.planner_line}" for one in members.values()), str(len(members)))
    if new := [figure.text for figure in find_unsupported_figures(text, known_texts)]:
        return PlannerReply(faults=(f"The answer states {', '.join(new[:5])}: that is work; hand it on or plan it.",))
    return PlannerReply(answer=text, reasons=reasons)


def _parse_question(fields: dict[str, Any], brief: PlanBrief, reasons: tuple[str, ...]) -> PlannerReply:
    text = str(fields.get("text") or fields.get("question") or "").strip()[: _MAX_LENGTHS["question"]]
    if not brief.may_ask:
        return PlannerReply(faults=("Nobody can be asked any more; decide by what is known.",))
    if not text:
        return PlannerReply(faults=("The question has no text.",))
    option_values = fields.get("options")
    options = [_limit_line(one, "option") for one in option_values] if isinstance(option_values, list) else []
    kept_options = tuple(dict.fromkeys(one for one in options if one))[:MAX_OPTIONS]
    whom_value = fields.get("whom")
    whom = tuple(
        _limit_line(one, "option") for one in (whom_value if isinstance(whom_value, list) else [whom_value]) if one
    )[:MAX_OPTIONS]
    assumption = _limit_line(fields.get("assumption"), "option")
    return PlannerReply(question=text, options=kept_options, whom=whom, assumption=assumption, reasons=reasons)


def _parse_plan(
    fields: dict[str, Any],
    brief: PlanBrief,
    members: Mapping[str, Member],
    allowance: AdhocAllowance | None,
    reasons: tuple[str, ...],
    *,
    is_second_try: bool,
) -> PlannerReply:
    plan, faults = plan_check.parse_plan(json.dumps(fields))
    if plan is None:
        return PlannerReply(faults=faults)
    repaired_needs = needs.repair_needs(plan, brief.materials, brief.own_material_names, is_second_try=is_second_try)
    plan, repair_reasons = repair_plan(repaired_needs.plan)
    faults = plan_check.find_plan_faults(
        plan, members, allowance, is_second_try=is_second_try, known_texts=brief.all_texts
    )
    if faults or repaired_needs.faults:
        return PlannerReply(faults=plan_check.cap_faults([*repaired_needs.faults, *faults]))
    tolerated_faults = (
        plan_check.find_plan_faults(plan, members, allowance, known_texts=brief.all_texts) if is_second_try else ()
    )
    repair_reasons = (*repaired_needs.reasons, *repair_reasons)
    all_reasons = (
        *reasons,
        *(f"mended: {one}" for one in repair_reasons),
        *(f"taken as it is: {fault}" for fault in tolerated_faults),
    )
    return PlannerReply(plan, reasons=all_reasons)


def _limit_line(value: object, field: str) -> str:
    return " ".join(str(value or "").split())[: _MAX_LENGTHS[field]]
