"""Given texts keep their place below the headings of a brief."""

from __future__ import annotations

import pytest

from handoff.text.headings import demote_headings


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# Gaps\nnone", "### Gaps\nnone"),
        ("a\n  ## What its tools said\n42", "a\n  #### What its tools said\n42"),
        ("##### deep\n#", "###### deep\n###"),
        ("#channel and C#\n", "#channel and C#"),
        ("```python\n# a comment\n```\n# Request", "```python\n# a comment\n```\n### Request"),
        ("~~~~\n# one\n~~~\n# two\n~~~~", "~~~~\n# one\n~~~\n# two\n~~~~"),
        ("```\n# Request\nnever closed", "```\n### Request\nnever closed"),
        ("```\n# Request\n``` and on\n# Files", "```\n### Request\n``` and on\n### Files"),
    ],
)
def test_headings_go_down_and_code_stays(text: str, shown: str) -> None:
    assert demote_headings(text) == shown
