"""An outline that was cut names fewer sections than the text has: those between are found in the text itself."""

from handoff.contracts import Section
from handoff.materials import outline

TEXT = "# One\na\n## Two\nb\n```\n# no heading\n```\nThree\n=====\nc\n# Four\nd\n"


def sections(text: str, *named: Section) -> list[tuple[str, int]]:
    return [(one.name, one.start) for one in outline.whole_outline(text, named)]


def test_headings_between_are_found_with_their_places() -> None:
    first = Section(name="One", start=0, unnamed=2)
    last = Section(name="Four", start=TEXT.index("# Four"))
    assert sections(TEXT, first, last) == [
        ("One", 0), ("Two", TEXT.index("## Two")), ("Three", TEXT.index("Three")), ("Four", TEXT.index("# Four")),
    ]  # fmt: skip


def test_names_by_line_get_their_own_line() -> None:
    first = Section(name="line 1: One", start=0, unnamed=2)
    assert [name for name, _ in sections(TEXT, first)][:3] == ["line 1: One", "line 3: Two", "line 8: Three"]


def test_a_text_that_shows_none_of_them_keeps_the_one_that_is_named() -> None:
    assert sections("no heading here", Section(name="One", start=0, unnamed=5)) == [("One", 0)]
