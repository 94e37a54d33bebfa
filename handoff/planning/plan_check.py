"""Checks a plan before anything runs. Each fault is worded exactly, so that the planner can correct it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations

from pydantic import ValidationError

from handoff.contracts import Member, Plan, Subtask
from handoff.planning import adhoc
from handoff.planning.adhoc import AdhocAllowance

_FILE_ENDINGS = (
    "csv|tsv|xlsx|xlsm|xls|ods|parquet|jsonl|ndjson|json|pdf|docx|doc|odt|rtf|pptx|ppt|txt|md|log|xml|png|jpe?g|svg"
)
_FILE_NAME = re.compile(rf"(?<![\w./@-])[\w-]+(?:\.[\w-]+)*\.(?:{_FILE_ENDINGS})(?![\w-])(?!\.\w)", re.IGNORECASE)
_NEW_FILE_WORDS = re.compile(r"(?:\b(?:as|called|named|titled|into|to|file ?name)|:)\W*$", re.IGNORECASE)
"""The words before a file's name that show that a subtask is to make the file."""


def yield_unknown_file_faults(plan: Plan, known_texts: Sequence[str]) -> Iterator[str]:
    """Yield a fault for each subtask whose brief names an unknown file.

    A file is known if it occurs in `known_texts`, the file names and texts of the planner's prompt, or if a subtask of
    the plan is to make it.
    """
    known_text = "\n".join(known_texts).casefold()
    made_names = {name.casefold() for one in plan.subtasks for name, new in _yield_named_files(one.intent) if new}
    for one in plan.subtasks:
        unknown_names = [name for name, _ in _yield_named_files(one.intent) if name.casefold() not in known_text]
        if missing_names := [name for name in dict.fromkeys(unknown_names) if name.casefold() not in made_names]:
            yield (
                f"Subtask {one.id!r} names {', '.join(missing_names)}, which is not attached and which nobody "
                "mentioned; name only files that are listed, or none."
            )


def _yield_named_files(text: str) -> Iterable[tuple[str, bool]]:
    """Yield the files that a text names, as pairs (name, True if the file is to be made)."""
    for match in _FILE_NAME.finditer(text):
        yield match[0], bool(_NEW_FILE_WORDS.search(text[: match.start()]))


MAX_SUBTASKS = 20
MAX_DEPTH = 8
MAX_FAULTS = 12
MAX_MISSING = 8
MAX_MISSING_LENGTH = 120
MAX_CHAIN_LENGTH = 3
"""The most subtasks of one specialist in a chain without branches. A longer chain should be one subtask."""
MAX_PLAN_LENGTH = 60_000
"""The most characters of a plan as JSON, since the job's log stores it."""
MAX_FAULT_LENGTH = 300
_MAX_QUOTE_LENGTH = 120
_EMPTY_ENTRIES = frozenset({"", "-", "none", "nothing", "n/a", "null"})
"""Entries that small models put into `missing` if nothing is missing."""


def parse_plan(text: str) -> tuple[Plan | None, tuple[str, ...]]:
    """Parse a model's plan from JSON, without checking it. Return (plan, no faults), or (None, faults).

    `only_for` is removed, since only pipelines may set it.
    """
    try:
        plan = Plan.model_validate_json(text)
    except ValidationError as error:
        faults = [
            f"{'.'.join(str(part) for part in fault['loc']) or 'plan'}: {fault['msg']}"
            for fault in error.errors(include_url=False, include_input=False)
        ]
        return None, cap_faults(faults)
    parts = (" ".join(part.split()).rstrip(".") for part in plan.missing)
    plan = plan.model_copy(update={"missing": tuple(part for part in parts if part.casefold() not in _EMPTY_ENTRIES)})
    subtasks = tuple(one.model_copy(update={"only_for": None}) for one in plan.subtasks)
    return adhoc.clean_made_specialists(plan.model_copy(update={"subtasks": subtasks})), ()


def find_plan_faults(
    plan: Plan,
    members: Mapping[str, Member],
    allowance: AdhocAllowance | None = None,
    *,
    is_second_try: bool = False,
    known_texts: Sequence[str] | None = None,
) -> tuple[str, ...]:
    """Return all faults of a plan, worded for the planner; empty if the plan may run.

    A plan without subtasks passes if `missing` names what nobody can do.

    Args:
        plan: The plan.
        members: The members of the crew by name.
        allowance: The ad-hoc specialists that the crew allows; None: none.
        is_second_try: True for the planner's second try. Matters of judgement are then faults only beside other ones: a
            brief that says nothing, a decision made twice, work cut into slices.
        known_texts: The texts that may name files, see `yield_unknown_file_faults`; None: any file may be named.
    """
    if not plan.subtasks and not plan.missing:
        return ("The plan has no subtasks; it needs at least one, or `missing` must say what nobody can do.",)
    if len(plan.subtasks) > MAX_SUBTASKS:
        return (f"The plan has {len(plan.subtasks):,} subtasks; at most {MAX_SUBTASKS} are allowed.",)
    if (length := len(plan.model_dump_json())) > MAX_PLAN_LENGTH:
        return (f"The plan is {length:,} characters long; at most {MAX_PLAN_LENGTH:,} are allowed.",)
    faults = adhoc.find_adhoc_faults(plan, members, allowance)
    all_members = {**members, **adhoc.make_adhoc_members(plan, allowance)} if allowance else members
    faults += [
        *_find_id_faults(plan),
        *_find_specialist_faults(plan, all_members),
        *_find_empty_field_faults(plan),
        *_find_dependency_faults(plan),
        *_find_missing_faults(plan),
    ]
    faults += [
        *_find_tier_faults(plan, all_members),
        *(yield_unknown_file_faults(plan, known_texts) if known_texts is not None else ()),
    ]
    judgement_faults = adhoc.find_wording_faults(plan)
    if not faults:
        layers, cycle = _sort_into_layers(plan)
        if cycle:
            faults.append(f"The dependencies form a cycle among {', '.join(sorted(cycle))}; remove one `after`.")
        elif len(layers) > MAX_DEPTH:
            faults.append(f"The plan is {len(layers)} steps deep; at most {MAX_DEPTH} are allowed.")
        else:
            judgement_faults += [*yield_duplicate_decision_faults(plan), *_find_chain_faults(plan, layers)]
    return cap_faults([*faults, *judgement_faults]) if faults or not is_second_try else ()


def _find_id_faults(plan: Plan) -> list[str]:
    counts = Counter(subtask.id for subtask in plan.subtasks)
    faults = [f"Two subtasks are called {name!r}; ids must differ." for name, n in counts.items() if n > 1]
    return faults + ["A subtask has an empty id." for name in counts if not name.strip()]


def _find_specialist_faults(plan: Plan, members: Mapping[str, Member]) -> list[str]:
    known_names = ", ".join(sorted(members))
    return [
        f"Subtask {subtask.id!r} names the unknown specialist {subtask.specialist!r}; there are: {known_names}. "
        "A part that none of them can do is left out and named in `missing`."
        for subtask in plan.subtasks
        if subtask.specialist not in members
    ]


def _find_tier_faults(plan: Plan, members: Mapping[str, Member]) -> list[str]:
    """Return a fault for each subtask with a tier that its specialist may not work on."""
    return [
        f"Subtask {subtask.id!r} asks for the tier {subtask.tier}; {subtask.specialist} may have: {', '.join(tiers)}."
        for subtask in plan.subtasks
        if subtask.tier is not None
        and (tiers := members[subtask.specialist].tiers if subtask.specialist in members else ())
        and subtask.tier not in tiers
    ]


def _find_empty_field_faults(plan: Plan) -> list[str]:
    required_fields = (("title", "title"), ("brief", "intent"))
    return [
        f"Subtask {subtask.id!r} has no {what}."
        for subtask in plan.subtasks
        for what, key in required_fields
        if not getattr(subtask, key).strip()
    ]


def _find_dependency_faults(plan: Plan) -> list[str]:
    ids = {subtask.id for subtask in plan.subtasks}
    faults = []
    for subtask in plan.subtasks:
        for other in subtask.after:
            if other == subtask.id:
                faults.append(f"Subtask {subtask.id!r} waits for itself.")
            elif other not in ids:
                faults.append(f"Subtask {subtask.id!r} waits for {other!r}, which is not in the plan.")
    return faults


def _find_missing_faults(plan: Plan) -> list[str]:
    faults = []
    if len(plan.missing) > MAX_MISSING:
        faults.append(f"`missing` has {len(plan.missing)} entries; at most {MAX_MISSING} are allowed.")
    return faults + [
        f"`missing` takes a few words a part, such as 'book a flight', not {part[:_MAX_QUOTE_LENGTH]!r}."
        for part in plan.missing[:MAX_MISSING]
        if len(part) > MAX_MISSING_LENGTH
    ]


def _find_chain_faults(plan: Plan, layers: Sequence[Sequence[Subtask]]) -> list[str]:
    """Return a fault for each chain of more than `MAX_CHAIN_LENGTH` subtasks of one specialist without branches."""
    dependent_counts = Counter(other for subtask in plan.subtasks for other in subtask.after)
    chains: dict[str, tuple[str, ...]] = {}
    for subtask in chain.from_iterable(layers):
        chain_ids: tuple[str, ...] = ()
        if len(subtask.after) == 1 and dependent_counts[subtask.after[0]] == 1:
            before = subtask.after[0]
            chain_ids = chains.pop(before) if plan.get_subtask(before).specialist == subtask.specialist else ()
        chains[subtask.id] = (*chain_ids, subtask.id)
    return [
        f"Subtasks {', '.join(chain_ids)} are {plan.get_subtask(chain_ids[0]).specialist}'s work one "
        "after the other; make them "
        "one."
        for chain_ids in chains.values()
        if len(chain_ids) > MAX_CHAIN_LENGTH
    ]


def _sort_into_layers(plan: Plan) -> tuple[list[list[Subtask]], list[str]]:
    """Sort the subtasks into layers, each after all its dependencies. Return (layers, ids in or after a cycle)."""
    layers: list[list[Subtask]] = []
    done_ids: set[str] = set()
    remaining_subtasks = list(plan.subtasks)
    while ready := [subtask for subtask in remaining_subtasks if done_ids.issuperset(subtask.after)]:
        layers.append(ready)
        done_ids.update(subtask.id for subtask in ready)
        remaining_subtasks = [subtask for subtask in remaining_subtasks if subtask.id not in done_ids]
    return layers, [subtask.id for subtask in remaining_subtasks]


def cap_faults(faults: list[str]) -> tuple[str, ...]:
    """Return the first `MAX_FAULTS` faults, each cut to `MAX_FAULT_LENGTH`, and a line that counts the rest."""
    more = len(faults) - MAX_FAULTS
    faults = [fault if len(fault) <= MAX_FAULT_LENGTH else fault[:MAX_FAULT_LENGTH] + "…" for fault in faults]
    return (*faults[:MAX_FAULTS], *([f"... and {more} more faults of this kind."] if more > 0 else []))


_DECIDING_VERBS = (
    r"define|design|choose|decide(?:\s+on)?|agree(?:\s+on)?|specify|establish|settle(?:\s+on)?|draw\s+up|pick"
)
_DECIDED_NOUNS = (
    r"schema|data\s+model|api|interface|contract|protocol|file\s+format|format|naming\s+scheme|naming|terminology|"
    r"glossary|taxonomy|categories|metrics?|scoring|scale|criteria|template|outline|style\s+guide|colou?r\s+palette"
)
_WORD = r"[\w.'\u2019-]+"
_DECISION = re.compile(
    rf"\b(?:{_DECIDING_VERBS})\s+(?P<before>(?:{_WORD}\s+){{0,4}}?)(?P<what>{_DECIDED_NOUNS})\b"
    rf"(?P<after>(?:\s+(?:for|of|between|in)(?:\s+{_WORD}){{1,4}})?)",
    re.IGNORECASE,
)
_FILLER_WORD = re.compile(
    r"(a|an|the|this|that|its|their|our|own|one|common|shared|for|of|between|in|and|or|both|new|tables?|files?|data)",
    re.IGNORECASE,
)


def yield_duplicate_decision_faults(plan: Plan) -> Iterator[str]:
    """Yield a fault for each pair of parallel subtasks that define the same thing, such as a schema.

    The plan's dependencies must be valid and without a cycle. Under the strategy `select` there are no such faults,
    since rivals should decide the same.
    """
    if plan.strategy == "select":
        return
    dependencies = {subtask.id: _list_all_dependencies(plan, subtask.id) for subtask in plan.subtasks}
    decisions = {subtask.id: _find_decisions(subtask.intent) for subtask in plan.subtasks}
    for one, other in combinations(decisions, 2):
        if one in dependencies[other] or other in dependencies[one]:
            continue
        before = [decisions[name] for name in dependencies[one] & dependencies[other]]
        for what in decisions[one].keys() & decisions[other].keys():
            if _have_common_subject(decisions[one][what], decisions[other][what]) and not any(
                what in earlier for earlier in before
            ):
                yield (
                    f"Subtasks {one!r} and {other!r} run side by side and each define the {what}; "
                    "let one subtask define it first, and both wait for that."
                )


def _find_decisions(intent: str) -> dict[str, frozenset[str]]:
    """Return the things that a brief asks to define, such as `schema`, each with the words that say of what."""
    return {
        " ".join(match["what"].lower().split()): frozenset(
            word.lower()
            for word in re.findall(_WORD, match["before"] + match["after"])
            if not _FILLER_WORD.fullmatch(word)
        )
        for match in _DECISION.finditer(intent)
    }


def _have_common_subject(words: frozenset[str], other_words: frozenset[str]) -> bool:
    """Return True if two sets of subject words share a word, or are both empty."""
    return bool(words & other_words) or not (words or other_words)


def _list_all_dependencies(plan: Plan, name: str) -> frozenset[str]:
    """Return the ids of all subtasks that a subtask waits for, directly or through others."""
    after: Mapping[str, tuple[str, ...]] = {subtask.id: subtask.after for subtask in plan.subtasks}
    dependency_ids: set[str] = set()
    pending_ids = list(after[name])
    while pending_ids:
        other = pending_ids.pop()
        if other not in dependency_ids:
            dependency_ids.add(other)
            pending_ids += after[other]
    return frozenset(dependency_ids)
