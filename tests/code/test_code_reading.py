"""What models read of a repository: files, lines, matches, commits, and how lines came about."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.code.conftest import Call, caller, toolkit
from tests.code.made_repository import commit, run_git


async def test_files_lines_and_matches_are_those_of_the_commit(call: Call) -> None:
    listed = await call("list_files", pattern="**/*.py")
    assert listed.text.splitlines()[1:] == ["shop/basket.py", "shop/tax.py"]
    assert (await call("list_files", pattern="shop")).text.endswith("shop/basket.py\nshop/tax.py")
    assert "README.md" in (await call("list_files", pattern="*.md")).text
    read = await call("read_code", path="/shop/basket.py", start=2, lines=1)
    assert "2\t    # A discount is a share: 0.1, never 10." in read.text
    assert "def total" not in read.text
    assert "round" in (await call("read_code", path="shop/basket.py", revision="topic")).text
    found = await call("search_code", pattern="RATE|discount=0", path="shop")
    assert [line.partition(":")[0] for line in found.text.splitlines()[1:]] == ["shop/basket.py", "shop/tax.py"]
    assert found.private


async def test_history_of_a_file_of_lines_and_of_a_change(call: Call) -> None:
    log = await call("code_log", path="shop/basket.py")
    assert [line.partition(": ")[2] for line in log.text.splitlines()[1:]] == [
        "Say what a discount is (#12)",
        "Discounts",
        "Add up prices",
    ]
    assert "Discounts" in (await call("code_log", code="discount=0")).text
    assert "Discounts" not in (await call("code_log", words="add up")).text
    blame = await call("code_blame", path="shop/basket.py", start=1, end=2)
    assert "2026-10-02" in blame.text
    assert "2026-10-03" in blame.text
    lines = await call("line_history", path="shop/basket.py", start=3, end=3)
    assert "+    return sum(prices) * (1 - discount)" in lines.text
    assert "They were asked for by sales." in lines.text


async def test_a_diff_of_a_commit_and_between_branches(call: Call) -> None:
    one = await call("code_diff", revisions="main~1")
    assert "+def total(prices, discount=0):" in one.text
    both = await call("code_diff", revisions="main...topic", path="shop/basket.py")
    assert "+    return round(sum(prices)) * (1 - discount)" in both.text
    assert (await call("code_diff", revisions="main..main")).text.endswith("nothing differs.")


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("read_code", {"path": "shop/none.py"}, "has no file"),
        ("read_code", {"path": "../../etc/passwd"}, "'..'"),
        ("read_code", {"path": "data/x.bin"}, "no text"),
        ("read_code", {"path": "shop/tax.py", "start": 9}, "has only 1 line."),
        ("code_log", {"revision": "--output=/tmp/x"}, "no branch"),
        ("code_log", {"revision": "nowhere"}, "Branches: main, topic"),
        ("code_diff", {"revisions": "main..-x"}, "no branch"),
        ("search_code", {"pattern": "("}, "cannot be searched"),
        ("code_blame", {"path": "shop/tax.py", "start": 4, "end": 9}, "has only 1 line"),
        ("line_history", {"path": "shop/tax.py", "start": 9, "end": 4}, "before start"),
        ("list_files", {"repository": "other"}, "There is no repository 'other': shop."),
        ("read_pull_request", {"link": "shop#7"}, "no request of a repository that is set up"),
    ],
)
async def test_a_call_that_cannot_be_done_is_told_why(
    call: Call, tool: str, arguments: dict[str, object], words: str
) -> None:
    outcome = await call(tool, **arguments)
    assert outcome.failed
    assert words in outcome.text


async def test_history_that_git_cannot_read_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    """An object is lost after the copy was made, as on a disk with faults."""
    repository, data = tmp_path / "r", tmp_path / "data"
    commit(repository, "One", {"a.txt": "one\n"}, day=1)
    commit(repository, "Two", {"a.txt": "two\n"}, day=2)
    call = caller(toolkit(data, f"r={repository}"))
    assert "Two" in (await call("code_log")).text
    (copy,) = (found.parent for found in data.rglob("HEAD"))
    (pack,) = copy.glob("objects/pack/*.pack")
    pack.rename(tmp_path / "one.pack")
    unpack = f"alias.unpack=!git unpack-objects -q < '{tmp_path}/one.pack'"
    run_git(copy, "--git-dir=.", "-c", unpack, "unpack")
    blob = run_git(copy, "--git-dir=.", "rev-parse", "HEAD~1:a.txt").strip()
    (copy / "objects" / blob[:2] / blob[2:]).unlink()
    log = await call("code_log", code="one")
    assert log.failed
    assert "r: the commits before " in log.text
    shown = await call("code_diff", revisions="HEAD")
    assert shown.failed
    assert "cannot be shown: " in shown.text
    assert blob in shown.text
    tree = run_git(copy, "--git-dir=.", "rev-parse", "HEAD^{tree}").strip()
    (copy / "objects" / tree[:2] / tree[2:]).unlink()
    listed = await call("list_files")
    assert listed.failed
    assert "cannot be listed: " in listed.text


async def test_a_reply_is_bounded_and_says_what_is_left_out(tmp_path: Path) -> None:
    files = {f"many/part_{number:04}.txt": "x\n" * 50 for number in range(400)}
    commit(tmp_path / "r", "Much", {"one.txt": "y" * 90_000 + "\n" + "line\n" * 5_000, **files})
    call = caller(toolkit(tmp_path / "data", f"r={tmp_path / 'r'}"))
    read = await call("read_code", path="one.txt", lines=1000)
    assert len(read.text) < 12_000
    assert "(90,002 characters)" in read.text
    assert "more lines; a narrower pattern" in (await call("search_code", pattern="^x$")).text
    assert "many (400)" in (await call("list_files")).text
    diff = await call("code_diff", revisions="HEAD")
    assert "in brief" in diff.text
    assert len(diff.text) < 12_000
