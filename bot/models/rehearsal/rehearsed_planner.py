"""The rehearsal's planner: rules from the words of a request to a plan."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bot.models.rehearsal.rehearsed_brief import (
    EARLIER_ANSWER,
    GOES_ON,
    IN_FULL,
    WHOLE_REQUEST,
    File,
    material_in,
    read_files,
    sections,
    shortened,
    sum_in,
    urls,
    words_of_message,
)
from handoff.materials.at_hand import MESSAGE

HEADINGS = (
    "Request",
    "Why one specialist alone did not do it",
    "Specialists",
    "Files",
    "Files that could not be read",
    "Earlier in this thread",
    "Source material",
)
_ROSTER = "# Specialists\n"
_REPAIR = "Your last plan was not accepted"
_TITLE_WORDS = 8
_MOST_ANALYSES = 4

_DATA = (
    r"totals?|averages?|mean|median|sums?|counts?|how (many|much)|trends?|charts?|plots?|graphs?|analy[sz]e\w*|"
    r"analysis|compare|largest|smallest|highest|lowest|top|best|worst|rise|rose|risen|fall|fell|drop\w*|grow\w*|grew|"
    r"decline\w*|increase\w*|decrease\w*|change\w*|profile|distribution|correlat\w+|outliers?|"
    r"per (month|week|year|day)|"
    r"by (month|week|year|day|quarter)|numbers|figures|columns?|rows?|data|tables?|spreadsheet"
)
_WEB = (
    r"search|look up|looking up|find out|research\w*|web|websites?|online|internet|news|latest|vendors?|competitors?|"
    r"market|sources?|pages?|sites?|urls?|links?"
)
_TEXT = (
    r"write|writes|written|draft\w*|compose|rewrite|rephrase|summari[sz]e|notes?|memos?|letters?|e-?mails?|"
    r"(a|the|board|short|one-page|status|weekly|monthly) reports?|report (for|to|on)|board|documents?|docx|canvas|"
    r"brief|briefing|press release|announcement|blog|posts?"
)
_CHECK = r"review\w*|check\w*|proof-?read\w*|verify|critique|double-check|validate"

_CHECKING = re.compile(rf"\W*(please\s+)?({_CHECK})\b", re.IGNORECASE)
_ROLES = {
    "analyst": re.compile(rf"(?<![\w-])({_DATA})\b", re.IGNORECASE),
    "researcher": re.compile(rf"(?<![\w-])({_WEB})\b|https?://", re.IGNORECASE),
    "writer": re.compile(rf"(?<![\w-])({_TEXT})\b", re.IGNORECASE),
    "reviewer": re.compile(rf"(?<![\w-])({_CHECK})\b", re.IGNORECASE),
}
_SKILLS = {
    "analyst": re.compile(r"\b(tables?|data|spreadsheets?|charts?|calculat)", re.IGNORECASE),
    "researcher": re.compile(r"\b(web|search|pages)", re.IGNORECASE),
    "writer": re.compile(r"\b(writes?|drafts?|documents?|texts?)", re.IGNORECASE),
    "reviewer": re.compile(r"\b(checks?|reviews?|proofreads?|verif)", re.IGNORECASE),
}
_BEYOND = re.compile(
    r"(please\s+)?(?P<verb>book|reserve|buy|phone|pay|hire)\s+(a|an|the|me|us|our|my|for)\b", re.IGNORECASE
)
_HELP = re.compile(
    r"\W*(hi|hello|hey|hallo|help|good (morning|afternoon|evening)|what (can|do) you do|who are you|"
    r"how does this work)\b[^?]{0,30}\W*",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"\W*((ok|okay|great|perfect)\W+)?(many )?(thanks|thank you|thx|cheers)"
    r"(,? (a lot|so much|very much|again|that's all|that is all|that\u2019s all))?\W*",
    re.IGNORECASE,
)
_WORDING = re.compile(
    r"\b(shorter|shorten|longer|simpler|friendlier|translat\w+|rephrase\w*|reword\w*|rewrite\w*|haiku|poem|joke|"
    r"kürzer|übersetz\w*|más corto|traduc\w+)\b",
    re.IGNORECASE,
)
"""What takes words of one's own."""
NO_WORDS = "put it into words: this is the rehearsal, no language model (ANTHROPIC_API_KEY and OPENAI_API_KEY give one)"
DECLINED = "declined by the rehearsal"
"""The planner's reason for an answer that only says that it cannot."""
_DONE = {
    "analyst": "States the figures asked for, taken from the file, with rows and period.",
    "researcher": "Every statement has the address it comes from.",
    "writer": "A text that can be sent as it is; every number in it comes from the earlier results.",
    "reviewer": "Says whether the text is sound and names every number without a source.",
}
_CLAUSE = re.compile(
    r"\s*(?:[;.?!]\s+|,\s+(?:and\s+|then\s+|and then\s+)?|\s+and then\s+|\s+then\s+|\s+and\s+)\s*", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A planner's message, read."""

    request: str
    crew: dict[str, str]
    files: tuple[File, ...]
    lost: bool
    """Return True if a file could not be fetched."""
    earlier: str
    readable: tuple[str, ...]
    """Names of files whose text a specialist is given."""
    clauses: tuple[str, ...]

    @property
    def tables(self) -> list[File]:
        """Its files that may be tables."""
        return [file for file in self.files if file.is_table]

    def clauses_of(self, role: str) -> list[str]:
        """The clauses about a skill, with those that follow them and are about none."""
        chosen: list[str] = []
        mine = False
        for clause in self.clauses:
            about = {name for name, pattern in _ROLES.items() if pattern.search(clause)}
            mine = role in about or (mine and not about)
            if mine:
                chosen.append(clause)
        return chosen


def decide(text: str, crew: str) -> dict[str, Any]:
    """Reply to the planner's message. `crew` is the system prompt, which lists the specialists."""
    message = f"{text}\n\n{crew[crew.rfind(_ROSTER) :]}" if _ROSTER in crew else text
    asked = _read(message)
    tables = asked.tables
    if _HELP.fullmatch(asked.request) and not tables:
        help_text = Path(__file__).with_name("rehearsal_help.md").read_text(encoding="utf-8").strip()
        return {"why": "There is nothing to work on.", "next": {"who": "answer", "text": help_text}}
    if _THANKS.fullmatch(asked.request) and not tables:
        return {"why": "There is nothing to work on.", "next": {"who": "answer", "text": "You are welcome."}}
    if _is_declined(asked):
        return {"why": DECLINED, "next": {"who": "answer", "text": _declining(asked)}}
    return {"why": "", "next": {"who": "several", **make_plan(message)}}


def _is_declined(asked: _Asked) -> bool:
    """Return True if nothing of a request is what rules can do, for a crew whose work is known."""
    people = _people(asked.crew)
    able = _covered(asked)[0]
    if not people or not able.clauses:
        return False
    roles = set(_roles(able))
    if roles & {"analyst", "researcher"} or _is_to_be_read(asked):
        return False
    if roles == {"reviewer"} and re.search(r":\s*\S", asked.request):
        return False  # the text to check stands in the request
    return not asked.earlier or bool(_WORDING.search(asked.request)) or not roles


def _declining(asked: _Asked) -> str:
    text = (Path(__file__).with_name("rehearsal_decline.md")).read_text(encoding="utf-8").strip()
    strange = [file.name for file in asked.files if not file.is_table and file.name not in asked.readable]
    what = f"read {' and '.join(strange)}" if strange else "do that without the file" if asked.lost else "do that"
    return text.format(what=what)


def make_plan(text: str) -> dict[str, Any]:
    """A plan for the planner's message, in the shape of `handoff.contracts.Plan`."""
    asked, missing = _covered(_read(text))
    asked, wordings = _without_wordings(asked)
    missing += wordings
    if not asked.clauses:
        return {"goal": shortened(", ".join(missing), 30), "subtasks": [], "missing": missing}
    people = _people(asked.crew)
    wanted = _roles(asked)
    missing += _unread(asked)
    if not wanted:
        return {"goal": shortened(asked.request, 30), "subtasks": [], "missing": missing}
    roles = [role for role in wanted if role in people]
    if not roles:
        roles = [next(iter(people))] if people else []
    if roles == ["writer"] and not asked.earlier and not _is_to_be_read(asked):
        missing.append(NO_WORDS)
    if _is_to_be_read(asked) and re.search(r"\b(write|draft|compose)\b", asked.request, re.IGNORECASE):
        missing.append(NO_WORDS)
    if not roles:
        name = next(iter(asked.crew), "specialist")
        subtasks = [_subtask("task", name, asked, asked.request, (), "")]
    else:
        subtasks = _subtasks(asked, roles, people)
    return {
        "goal": shortened(asked.request, 30) or "Answer the request",
        "subtasks": subtasks,
        "strategy": "merge",
        "instruction": _instruction(roles) if len(subtasks) > 1 else "",
        "missing": missing,
    }


def _covered(asked: _Asked) -> tuple[_Asked, list[str]]:
    """Split a request into what the crew can do and the parts that nobody in it says it can do."""
    missing = [
        clause
        for clause in asked.clauses
        if (found := _BEYOND.match(clause)) and not any(found["verb"].lower() in line for line in asked.crew.values())
    ]
    if not missing:
        return asked, []
    rest = tuple(clause for clause in asked.clauses if clause not in missing)
    named = [re.sub(r"^please\s+", "", clause, flags=re.IGNORECASE).rstrip(".!?") for clause in missing]
    named = [part[:1].lower() + part[1:] for part in named]  # each begins with a verb
    return replace(asked, request=", ".join(rest), clauses=rest), [shortened(part, 12) for part in named]


def _without_wordings(asked: _Asked) -> tuple[_Asked, list[str]]:
    """Split off the clauses that take words of one's own, where others remain."""
    wordings = [clause for clause in asked.clauses if _WORDING.search(clause)]
    rest = tuple(clause for clause in asked.clauses if clause not in wordings)
    if not wordings or not rest:
        return asked, []
    named = [
        f"{shortened(clause[:1].lower() + clause[1:], 8).rstrip('.!?')} without a language model" for clause in wordings
    ]
    return replace(asked, request=", ".join(rest), clauses=rest), named


def _unread(asked: _Asked) -> list[str]:
    """Name the attachments that nobody can read, to go on after "nobody in the crew can"."""
    if asked.earlier:
        return []
    known = asked.readable if _is_to_be_read(asked) else ()
    strange = [
        f"read {file.name} beside a table without a language model"
        if file.name in asked.readable
        else f"read {file.name}, which is no table by its name"
        for file in asked.files
        if not file.is_table and file.name not in known
    ]
    return strange or (["do this without the file"] if asked.lost and not asked.files else [])


def _is_to_be_read(asked: _Asked) -> bool:
    """Return True if a request is about the text of its files, which rules can outline and quote."""
    return bool(asked.readable) and not asked.tables and not _WORDING.search(asked.request)


def _read(text: str) -> _Asked:
    parts = sections(text, (*HEADINGS, _REPAIR))
    own = parts.get("Request", "") or text.strip()
    material = dict(material_in(parts.get("Source material", "")))
    about = words_of_message(material.get(MESSAGE, ""))
    # What others said asks for nothing, unless the requester's words do not.
    request = own if not about or any(each.search(own) for each in _ROLES.values()) else f"{own}\n{about}"
    crew = dict(re.findall(r"^- ([^:\n]+): (.*)$", parts.get("Specialists", ""), re.MULTILINE))
    clauses = [clause.strip() for clause in _CLAUSE.split(request) if clause and clause.strip(" .,;!?")]
    return _Asked(
        request=request,
        crew=crew,
        files=read_files(parts.get("Files", "")),
        lost="Files that could not be read" in parts,
        earlier=parts.get("Earlier in this thread", ""),
        readable=tuple(re.findall(r"^## (.+) begins$", parts.get("Source material", ""), re.MULTILINE)),
        clauses=tuple(clauses) or (request,),
    )


def _people(crew: dict[str, str]) -> dict[str, str]:
    """Cast each role: the specialist of that name, else the first whose description sounds like it."""
    people: dict[str, str] = {}
    for role, skill in _SKILLS.items():
        fit = [name for name, about in crew.items() if skill.search(about.partition(".")[0])]
        named = [name for name in crew if name == role]
        for name in [*named, *fit]:
            if name not in people.values():
                people[role] = name
                break
    return people


def _roles(asked: _Asked) -> list[str]:
    """List the skills that a request needs, in the order of the work; none if nobody can read its file."""
    wanted = {role for role in _ROLES if asked.clauses_of(role)}
    tables = asked.tables
    named = any(file.is_named_in(asked.request) for file in tables)
    if _is_to_be_read(asked) and "researcher" not in wanted:
        return ["reviewer"] if _CHECKING.match(asked.request) else ["writer"]
    if sum_in(asked.request) and not tables:
        return ["analyst"]
    if tables and asked.earlier and wanted <= {"analyst"} and not _WORDING.search(asked.request):
        return ["analyst"]  # a follow-up to what was worked out from them
    if tables and not asked.earlier:
        # Who attaches a table wants something from it, unless the request is about the web alone.
        if named or wanted != {"researcher"}:
            wanted.add("analyst")
    elif not tables or not (named or "analyst" in wanted):
        wanted.discard("analyst")
    if "researcher" in wanted and "analyst" in wanted and not _is_about_the_web(asked):
        wanted.discard("researcher")
    if not wanted and not tables and _unread(asked):
        return []
    if not wanted and not _people(asked.crew):
        wanted = {"writer"}
    return [role for role in _ROLES if role in wanted]


def _is_about_the_web(asked: _Asked) -> bool:
    """Return True if some clause is about the web in words that are not about a table too."""
    return any(urls(clause) or not _ROLES["analyst"].search(clause) for clause in asked.clauses_of("researcher"))


def _subtasks(asked: _Asked, roles: list[str], people: dict[str, str]) -> list[dict[str, Any]]:
    subtasks: list[dict[str, Any]] = []
    for role in roles:
        before = tuple(subtask["id"] for subtask in subtasks) if role in {"writer", "reviewer"} else ()
        if role == "analyst":
            subtasks += _analyses(asked, people[role])
        else:
            clauses = asked.clauses_of(role)
            objective = asked.request if len(roles) == 1 else ", ".join(clauses) or asked.request
            name = {"researcher": "research", "writer": "text", "reviewer": "review"}[role]
            subtasks.append(_subtask(name, people[role], asked, objective, before, role))
    return subtasks


def _analyses(asked: _Asked, specialist: str) -> list[dict[str, Any]]:
    """Plan one analysis, or one for each file if several clauses each name one of their own."""
    tables = asked.tables
    by_file = {
        file.name: [clause for clause in asked.clauses if file.is_named_in(clause)]
        for file in tables
        if file.is_named_in(asked.request)
    }
    alone = [
        (name, clauses)
        for name, clauses in by_file.items()
        if clauses and not any(set(clauses) & set(others) for other, others in by_file.items() if other != name)
    ]
    compared = re.search(r"\b(compare|join|combine|versus|vs|between)\b", asked.request, re.IGNORECASE)
    if 1 < len(alone) == len(by_file) <= _MOST_ANALYSES and not compared:
        return [
            _subtask(f"analysis-{number}", specialist, asked, ", ".join(clauses), (), "analyst", (name,))
            for number, (name, clauses) in enumerate(alone, start=1)
        ]
    others = [clause for role in ("researcher", "writer", "reviewer") for clause in asked.clauses_of(role)]
    told = {*asked.clauses_of("analyst"), *(clause for clauses in by_file.values() for clause in clauses)}
    mine = [clause for clause in asked.clauses if clause in told] or [
        clause for clause in asked.clauses if clause not in others
    ]
    objective = ", ".join(mine) if others and mine else asked.request
    names = tuple(by_file) or (tuple(file.name for file in tables) if len(tables) == 1 else ())
    return [_subtask("analysis", specialist, asked, objective, (), "analyst", names)]


def _subtask(
    name: str,
    specialist: str,
    asked: _Asked,
    objective: str,
    after: tuple[str, ...],
    role: str,
    files: tuple[str, ...] = (),
) -> dict[str, Any]:
    objective = objective.strip().rstrip(".,;?! ")
    intent = objective[:1].upper() + objective[1:]
    if files:
        intent += f"\nUse {', '.join(files)}."
    if role == "analyst" and asked.earlier:
        intent += "".join(f"\n{GOES_ON} {' '.join(one.split())}" for one in _asked_before(asked.earlier))
    if objective not in (asked.request, asked.request.strip().rstrip(".,;?! ")):
        intent += f"\n\n{WHOLE_REQUEST} {asked.request}"
    if asked.earlier and role in {"writer", "reviewer", ""} and not after:
        intent += f"\n\n{EARLIER_ANSWER}\n{_last_answer(asked.earlier)}"
    if len(intent.split()) < 4:
        intent = f"{IN_FULL} {intent}"
    title = shortened(re.sub(r"\s+", " ", objective), _TITLE_WORDS) or "Answer the request"
    return {
        "id": name,
        "title": title[:1].upper() + title[1:],
        "intent": intent,
        "specialist": specialist,
        "after": list(after),
        "done_when": _DONE.get(role, "The request is answered."),
        "tier": None,
    }


def _asked_before(earlier: str) -> list[str]:
    """The requests of a thread, as the planner is shown them."""
    return re.findall(r"^#+ Asked: (.+)$", earlier, re.MULTILINE)


def _last_answer(earlier: str) -> str:
    return earlier.rpartition("## Asked: ")[2].partition("\n")[2].strip()


def _instruction(roles: list[str]) -> str:
    first = "the text that was asked for" if "writer" in roles else "what was asked"
    return f"Begin with {first}, then what supports it, then what is missing."
