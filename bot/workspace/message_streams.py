"""The parts of a message while it is streamed: chunks of text, tasks of a plan, blocks."""

from dataclasses import dataclass, field
from typing import Any

TASK_STATES = ("pending", "in_progress", "complete", "error")


@dataclass
class MessageStream:
    """The parts streamed into a message so far. `mode` is `timeline` or `plan`, `started` seconds since the epoch."""

    mode: str
    started: float
    live: bool = True
    plan_title: str = ""
    segments: list[dict[str, Any]] = field(default_factory=list)
    tasks: dict[str, dict[str, Any]] = field(default_factory=dict)
    final_blocks: list[dict[str, Any]] = field(default_factory=list)

    def add_text(self, text: str) -> None:
        """Append Markdown, to the last segment if that is Markdown too."""
        if self.segments and self.segments[-1]["type"] == "markdown_text":
            self.segments[-1]["text"] += text
        elif text:
            self.segments.append({"type": "markdown_text", "text": text})

    def add_chunk(self, chunk: dict[str, Any]) -> None:
        """Append one chunk, which must have been checked."""
        kind = chunk["type"]
        if kind == "markdown_text":
            self.add_text(chunk["text"])
        elif kind == "plan_update":
            self.plan_title = chunk["title"]
        elif kind == "blocks":
            self.segments.append(chunk)
        else:
            self._apply_task_chunk(chunk)

    def _apply_task_chunk(self, chunk: dict[str, Any]) -> None:
        task = self.tasks.get(chunk["id"])
        if task is None:
            task = self.tasks[chunk["id"]] = {}
            is_first_of_plan = self.mode == "plan" and len(self.tasks) == 1
            if is_first_of_plan or self.mode != "plan":
                self.segments.append({"type": "task_update", "id": chunk["id"]})
        for key in ("title", "status", "sources"):
            if chunk.get(key):
                task[key] = chunk[key]
        for key in ("details", "output"):  # Slack appends what comes in later chunks
            if chunk.get(key):
                task[key] = task.get(key, "") + chunk[key]

    @property
    def text(self) -> str:
        """The Markdown streamed so far."""
        return "\n".join(each["text"] for each in self.segments if each["type"] == "markdown_text")

    def make_blocks(self) -> list[dict[str, Any]]:
        """Return the blocks of the message, as Slack stores them."""
        blocks: list[dict[str, Any]] = []
        for segment in self.segments:
            if segment["type"] == "markdown_text":
                blocks.append({"type": "markdown", "text": segment["text"]})
            elif segment["type"] == "blocks":
                blocks += segment["blocks"]
            elif self.mode == "plan":
                cards = [_make_task_card(task_id, task) for task_id, task in self.tasks.items()]
                blocks.append({"type": "plan", "title": self.plan_title or "Plan", "tasks": cards})
            else:
                blocks.append(_make_task_card(segment["id"], self.tasks[segment["id"]]))
        return blocks + self.final_blocks

    def as_shown(self) -> dict[str, Any]:
        """Return the fields that the page and the tests get."""
        return {
            "streaming": self.live,
            "markdown_text": self.text,
            "task_display_mode": self.mode,
            "plan_title": self.plan_title,
            "tasks": [{"id": task_id, **task} for task_id, task in self.tasks.items()],
            "chunks": self.segments,
        }

    def as_dict(self) -> dict[str, Any]:
        """Return the fields that are stored in the record."""
        return dict(vars(self))


def _make_task_card(task_id: str, task: dict[str, Any]) -> dict[str, Any]:
    card = {
        "type": "task_card",
        "task_id": task_id,
        "title": task.get("title", ""),
        "status": task.get("status", "pending"),
    }
    for key in ("details", "output"):
        if task.get(key):
            card[key] = make_rich_text(task[key])
    if task.get("sources"):
        card["sources"] = task["sources"]
    return card


def make_rich_text(text: str) -> dict[str, Any]:
    """Return plain text as a rich_text block."""
    section = {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
    return {"type": "rich_text", "elements": [section]}
