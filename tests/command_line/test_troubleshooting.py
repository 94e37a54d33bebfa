"""docs/troubleshooting.md quotes what the code says, and leaves out no line of `check` and no notice to one person."""

import ast
import re
from pathlib import Path

import pytest

from bot.command_line import check
from bot.slack.connection import ADVICE_BY_CODE
from bot.slack.receive import gate
from bot.slack.show import notices
from tests.command_line.command import ROOT
from tests.sentences import FOLDERS, sentences

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
GOOD_NEWS = {"FEEDBACK_RECORDED", "STOPPING", "STOP_NOTED", "NOTED_WHILE_QUARANTINED", "BUDGET_REQUEST_SENT"}
"""Notices of something that went as people wanted, or that say themselves what to do."""
NOTICES = {
    name: text for name, text in vars(notices).items() if name.isupper() and isinstance(text, str) and " " in text
}


def quotations() -> list[str]:
    return re.findall(r"“([^“”]+)”", PAGE)


def plain(text: str) -> str:
    return re.sub(r"[*_`]", "", text)


def test_each_quotation_is_what_the_code_says() -> None:
    quoted = {quotation: [part.strip(" .,;:()") for part in plain(quotation).split("…")] for quotation in quotations()}
    begun = re.compile("|".join(re.escape(part[:12]) for parts in quoted.values() for part in parts if part))
    paths = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    near = [path for path in paths if begun.search(plain(path.read_text(encoding="utf-8")))]
    texts = plain("\n".join(text for path in near for _, text in sentences(path)))
    unknown = [quotation for quotation, parts in quoted.items() if not all(part in texts for part in parts)]
    assert [quotation for quotation in unknown if not any(code in quotation for code in ADVICE_BY_CODE)] == []


def test_each_line_of_check_stands_in_the_page() -> None:
    tree = ast.parse(Path(check.__file__).read_text(encoding="utf-8"))
    texts = {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "CheckResult"
        and isinstance(node.args[0], ast.Constant)
    }
    assert len(texts) > 10
    assert [text for text in texts if f"`{text}" not in PAGE] == []
    assert [code for code in ADVICE_BY_CODE if code not in PAGE] == []


@pytest.mark.parametrize("name", sorted(set(NOTICES) - GOOD_NEWS))
def test_each_notice_to_one_person_stands_in_the_page(name: str) -> None:
    assert any(NOTICES[name].startswith(quotation) for quotation in quotations()), NOTICES[name]


def test_each_refusal_stands_in_the_page() -> None:
    lines = [*gate._REFUSAL_LINES.values(), gate.DEFERRED_LINE]
    assert [line for line in lines if not any(line.startswith(one) for one in quotations())] == []
