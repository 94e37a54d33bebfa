"""Messages as plain text, block by block."""

from typing import Any

import pytest

from bot.workspace.message_text import list_plan_rows, render_message
from bot.workspace.typed_text import make_rich_text

NAMES = {"U1": "ana"}
TASK = {"task_id": "t1", "title": "Count", "status": "in_progress", "details": "analyst"}


def render_blocks(*blocks: dict[str, Any], **message: Any) -> str:
    return render_message({"text": "the fallback", "blocks": list(blocks), **message}, NAMES)


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"type": "header", "text": {"type": "plain_text", "text": "Head"}}, "Head"),
        ({"type": "section", "text": {"text": "<@U1> a &lt; b"}, "fields": [{"text": "c"}]}, "@ana a < b\nc"),
        ({"type": "markdown", "text": "**bold**"}, "**bold**"),
        ({"type": "context", "elements": [{"text": "one"}, {"text": "two"}]}, "one  two"),
        ({"type": "actions", "elements": [{"text": {"text": "Yes"}}, {"type": "datepicker"}]}, "[ Yes ]"),
        ({"type": "plan", "title": "Plan", "tasks": [TASK]}, "Plan\n▸ Count  (analyst)"),
        ({"type": "task_card", **TASK, "status": "complete"}, "✓ Count  (analyst)"),
        ({"type": "image", "alt_text": "A chart"}, "[image] A chart"),
        (
            {"type": "rich_text", "elements": [{"elements": [{"type": "user", "user_id": "U1"}, {"text": " hi"}]}]},
            "@ana hi",
        ),
        (
            make_rich_text("*See* <https://x.example> :eyes: <!here>\n&gt; one\n&gt; two\n```\ncode\n```", "b"),
            "See https://x.example :eyes: @here\n> one\n> two\ncode",
        ),
        ({"type": "section", "text": {"text": "<https://x.example|here>"}}, "here (https://x.example)"),
        ({"type": "no_such_block"}, "the fallback"),
    ],
)
def test_each_block_has_its_text(block: dict[str, Any], text: str) -> None:
    assert render_blocks(block) == text


def test_a_divider_is_a_line() -> None:
    assert set(render_blocks({"type": "divider"})) == {"─"}


def test_streamed_text_and_files_come_with_the_blocks() -> None:
    context = {"type": "context", "elements": [{"text": "end"}]}
    assert render_blocks(context, markdown_text="said", files=[{"name": "a.png"}]) == "said\nend\n[file] a.png"
    assert render_blocks() == "the fallback"


def test_the_rows_of_plans_are_found_among_other_blocks() -> None:
    blocks = [{"type": "divider"}, {"type": "plan", "tasks": [TASK, {"task_id": "t2", "title": "Write"}]}]
    assert list_plan_rows({"blocks": blocks}, {}) == [
        ("t1", "in_progress", "▸ Count  (analyst)"),
        ("t2", "pending", "· Write"),
    ]
    assert list_plan_rows({}, {}) == []
