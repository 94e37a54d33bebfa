"""The pages are few and short, and what `python -m tests.pages` looks for is found."""

from pathlib import Path

import pytest

from tests.pages import PAGES, ROOT, faults_of, words_of

MOST_PAGES = 16
MOST_WORDS = 22_000
"""The pages of crews in docs/crews do not count, nor does their README, which is the page of the crew general."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_headings_and_blocks_of_code_are_whole(page: Path) -> None:
    assert [*faults_of(page)] == []


def test_the_pages_are_few_and_short() -> None:
    pages = [*(ROOT / "docs").glob("*.md")]
    assert len(pages) <= MOST_PAGES
    assert sum(map(words_of, pages)) <= MOST_WORDS


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("See [this](gone.md).", "gone.md: there is no such file"),
        ("See [this](#gone).", "#gone: there is no such heading"),
        ("```\n# Gone\n```\nSee [this](#gone).", "#gone: there is no such heading"),
        ("1. So:\n\n   ```json\n   {1}\n   ```", "a block of json cannot be read"),
        ("```yaml\na: b: c\n```", "a block of yaml cannot be read"),
    ],
)
def test_what_is_broken_is_named(tmp_path: Path, text: str, fault: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# A page\n\n[here](#a-page)\n\n{text}\n")
    (found,) = faults_of(page)
    assert found.startswith(fault)
