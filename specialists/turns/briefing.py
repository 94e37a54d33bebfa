"""Renders a handoff as the first message of an attempt: Markdown under fixed headings, and its pictures.

All functions are pure, except that the prompts beside this file are read once and pictures are loaded. The headings are
fixed so that a deterministic model can find its way too. Headings inside the given texts are moved two levels down, so
that none can pass for one of ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from handoff.contracts import Artifact, Handoff
from handoff.text.headings import demote_headings
from specialists.formats.picture_facts import detect_picture_type, estimate_picture_tokens
from specialists.model import Picture
from specialists.tools.tool import Workbench

TASK_HEADING = "# Task"
DONE_WHEN_HEADING = "# Done when"
EARLIER_STEPS_HEADING = "# From earlier steps"
FILES_HEADING = "# Files"
MATERIAL_HEADING = "# Source material"

PART_OF_LABEL = "Part of: "
MAX_CIRCUMSTANCES, MAX_PART_OF = 200, 160
"""Most characters of the line on when, where and for whom the task is, and of the line that quotes the request."""

_PROMPT_FOLDER = Path(__file__).parent


def render_brief(handoff: Handoff, done_when: str = "") -> str:
    """Render the first message of an attempt. A section without content is left out.

    Args:
        handoff: All that the specialist gets.
        done_when: The subtask's acceptance criterion, or "".

    Returns:
        A line on the circumstances and one on the request, `# Task`, `# Done when`, `# From earlier steps` with `##
        <source>` and its text for each note, `# Source material` in the same form, and `# Files` with `- name (media
        type, N bytes) — about` for each file.
    """
    preamble = [demote_headings(_shorten_text(handoff.circumstances, MAX_CIRCUMSTANCES))]
    if request := _shorten_text(handoff.part_of, MAX_PART_OF):
        preamble.append(f"{PART_OF_LABEL}{request}")
    parts = ["\n".join(filter(None, preamble))] if any(preamble) else []
    parts.append(f"{TASK_HEADING}\n{demote_headings(handoff.intent)}")
    if done_when.strip():
        parts.append(f"{DONE_WHEN_HEADING}\n{demote_headings(done_when)}")
    if handoff.context:
        notes = (f"## {_flatten_text(note.source)}\n{demote_headings(note.text)}" for note in handoff.context)
        parts.append("\n".join((EARLIER_STEPS_HEADING, *notes)))
    if handoff.given:
        texts = (f"## {_flatten_text(note.source)}\n{demote_headings(note.text)}" for note in handoff.given)
        parts.append("\n".join((MATERIAL_HEADING, *texts)))
    if handoff.artifacts:
        parts.append("\n".join((FILES_HEADING, *render_file_lines(handoff.artifacts))))
    return "\n\n".join(parts)


def render_file_lines(artifacts: Iterable[Artifact]) -> list[str]:
    """Render one line for each file, as under `# Files`."""
    lines = []
    for artifact in artifacts:
        about = f" — {_flatten_text(artifact.about)}" if artifact.about.strip() else ""
        lines.append(f"- {_flatten_text(artifact.name)} ({artifact.media_type}, {artifact.size} bytes){about}")
    return lines


def build_system_prompt(prompt: str, answer_form: str = "", channel_words: str = "") -> str:
    """Join a specialist's prompt, the shared protocol, and, if given, the answer's form and the channel's wishes."""
    form_section = (
        f"\n\n{_read_prompt('answer_form.md').format(form=demote_headings(answer_form))}" if answer_form else ""
    )
    channel_section = (
        f"\n\n{_read_prompt('channel_words.md').format(words=demote_headings(channel_words))}" if channel_words else ""
    )
    return f"{prompt}\n\n{_read_prompt('protocol.md')}{form_section}{channel_section}"


def add_skills(prompt: str, skills: Iterable[tuple[str, str]]) -> str:
    """Append a list of skills, each a pair of (name, description), to a prompt. Without any, return it unchanged."""
    lines = "\n".join(f"- {name}: {_flatten_text(about)}" for name, about in skills)
    return f"{prompt}\n\n{_read_prompt('skills.md').format(skills=lines)}" if lines else prompt


def render_adhoc_prompt(name: str, brief: str) -> str:
    """Render an ad-hoc specialist's prompt: a fixed frame around the planner's brief, which cannot break out of it."""
    return _read_prompt("adhoc.md").format(name=name, brief=demote_headings(brief))


def render_note(name: str, **values: str) -> str:
    """Render one of the runner's own messages to the model: the file `notes/NAME.md` with each `{value}` filled in."""
    return _read_prompt(f"notes/{name}.md").format(**values)


@cache
def _read_prompt(path: str) -> str:
    return (_PROMPT_FOLDER / path).read_text(encoding="utf-8").strip()


def _flatten_text(text: str) -> str:
    return " ".join(text.split())


def _shorten_text(text: str, max_length: int) -> str:
    line = _flatten_text(text)
    return line if len(line) <= max_length else f"{line[: max_length - 1].rstrip()}…"


MAX_PICTURE_SHARE = 0.5
"""The share of a call's context that pictures may fill."""
MAX_PICTURE_BYTES = 24_000_000
"""Most bytes of all pictures of an attempt together. Every call sends them again, as a third more bytes of Base64."""


async def load_pictures(
    artifacts: Iterable[Artifact], workbench: Workbench, context_tokens: int
) -> tuple[tuple[Picture, ...], tuple[str, ...]]:
    """Load the pictures among the files of a handoff, in order, while a call has room for them.

    Args:
        artifacts: The files of the handoff.
        workbench: Gives their contents. Its WorkbenchLost passes through.
        context_tokens: The most tokens that a call may send.

    Returns:
        A pair of (pictures, gaps): one gap, in words for people, for each picture that is left out.
    """
    pictures: list[Picture] = []
    gaps: list[str] = []
    tokens, size = 0, 0
    for artifact in artifacts:
        if not artifact.media_type.startswith("image/") or artifact.publish_as != "nothing":
            continue
        picture = await _load_picture(artifact, workbench)
        if isinstance(picture, str):
            gaps.append(picture)
            continue
        picture_tokens, picture_size = estimate_picture_tokens(picture.data), len(picture.data)
        if tokens + picture_tokens > context_tokens * MAX_PICTURE_SHARE or size + picture_size > MAX_PICTURE_BYTES:
            gaps.append(f"{picture.name}: not shown to the model, as there are more pictures than it has room for")
            continue
        tokens, size = tokens + picture_tokens, size + picture_size
        pictures.append(picture)
    return tuple(pictures), tuple(gaps)


async def _load_picture(artifact: Artifact, workbench: Workbench) -> Picture | str:
    """Load a picture; if it cannot be shown, return the reason, in words for people."""
    name = " ".join(artifact.name.split())
    if artifact.size > MAX_PICTURE_BYTES:
        return f"{name}: not shown to the model, as it has {artifact.size:,} bytes; send a smaller picture"
    try:
        path = await workbench.path(artifact)
    except KeyError:
        return f"{name}: not shown to the model, as it is no longer kept; attach it again"
    data = await asyncio.to_thread(path.read_bytes)
    kind = detect_picture_type(data)
    if kind is None:
        return f"{name}: not shown to the model, as it is no PNG, JPEG, WebP or GIF; send one of these"
    return Picture(name=name, media_type=kind, data=data)
