"""Requests for review are read and answered, on GitHub and on GitLab, and a crash leaves no doubt."""

from __future__ import annotations

from pathlib import Path

import pytest

from specialists.tools.code.code_arguments import PostReviewArguments
from specialists.tools.code.code_tools import code_toolkit
from specialists.tools.code.forge_http import ForgeOutcomeUnknown
from specialists.tools.tool import Tool
from specialists.tools.toolkit import ToolSettings
from tests.code.conftest import caller
from tests.code.local_forge import HEAD, local_forge

COMMENTS = [
    {"path": "shop/basket.py", "line": 3, "text": "Cents are lost here."},
    {"path": "shop/basket.py", "line": 90, "text": "Not in the diff."},
]


def poster(env: dict[str, str], data: Path) -> Tool:
    return next(tool for tool in code_toolkit(ToolSettings(env, data)).tools if tool.name == "post_review")


def review(link: str) -> PostReviewArguments:
    return PostReviewArguments.model_validate({"link": link, "summary": "One thing.", "comments": COMMENTS})


async def test_a_pull_request_is_read_with_its_comments_and_diff(tmp_path: Path) -> None:
    async with local_forge() as forge:
        call = caller(code_toolkit(ToolSettings(forge.env, tmp_path)))
        read = await call("read_pull_request", link=forge.link)
        assert not read.failed, read.text
        assert "shop#7 “Whole euros” by ben, open" in read.text
        assert "Totals are whole euros now." in read.text
        assert read.text.index("cleo, 2026-10-01: Why?") < read.text.index("at shop/basket.py:3: Cents?")
        assert "+    rounded = round(sum(prices))" in read.text
        assert read.sources == (forge.link,)
        comments = await call("read_pull_request", link="shop#7", part="comments")
        assert "rounded" not in comments.text
        assert "rounded" in (await call("read_pull_request", link="shop@abcdef1", path="shop/basket.py")).text
        forge.too_large = True
        assert "+    rounded" in (await call("read_pull_request", link="shop#7", path="shop/basket.py")).text
        for link, words in (
            ("shop@abcdef2", "came with no pull request"),
            ("shop#8", "no such thing in acme/shop"),
            ("https://github.com/acme/shop/pull/7", "no request of a repository"),
        ):
            assert words in (await call("read_pull_request", link=link)).text


async def test_a_review_goes_out_in_one_call_with_comments_at_lines_that_the_request_shows(tmp_path: Path) -> None:
    async with local_forge() as forge:
        tool = poster(forge.env, tmp_path)
        arguments = review(forge.link)
        assert tool.describe_call(arguments) == f"post a review on {forge.link} with 2 comments at lines"
        assert tool.look_up is not None
        assert await tool.look_up(arguments, None, "k1") is None
        done = await tool.run(arguments, None, "k1")
        (sent,) = forge.reviews
        assert [(one["path"], one["line"], one["side"]) for one in sent["comments"]] == [("shop/basket.py", 3, "RIGHT")]
        assert (sent["event"], sent["commit_id"]) == ("COMMENT", HEAD)
        assert "**shop/basket.py:90** Not in the diff." in sent["body"]
        assert done.text.startswith("Posted with 1 comment at lines: ")
        assert done.text.endswith(" In the summary instead, as the request does not show their lines: 1 comment.")
        found = await tool.look_up(arguments, None, "k1")
        assert found is not None
        assert not found.failed
        assert await tool.look_up(arguments, None, "k2") is None


@pytest.mark.parametrize(("status", "certain"), [(422, True), (502, False)])
async def test_a_refused_review_was_not_posted_and_one_without_an_answer_may_have_been(
    tmp_path: Path, status: int, *, certain: bool
) -> None:
    async with local_forge() as forge:
        forge.says = status
        tool = poster(forge.env, tmp_path)
        if certain:
            outcome = await tool.run(review(forge.link), None, "k1")
            assert outcome.failed
            assert "Line must be part of the diff" in outcome.text
            assert forge.reviews == []
        else:
            with pytest.raises(ForgeOutcomeUnknown):
                await tool.run(review(forge.link), None, "k1")
            assert tool.look_up is not None
            assert await tool.look_up(review(forge.link), None, "k1") is not None


async def test_a_merge_request_is_read_and_its_summary_comes_last(tmp_path: Path) -> None:
    async with local_forge() as forge:
        link = f"{forge.site.url('')}/acme/shop/-/merge_requests/7"
        call = caller(code_toolkit(ToolSettings(forge.gitlab_env, tmp_path)))
        read = await call("read_pull_request", link=link)
        assert "+    rounded = round(sum(prices))" in read.text
        tool = poster(forge.gitlab_env, tmp_path)
        assert tool.look_up is not None
        assert await tool.look_up(review(link), None, "k1") is None
        done = await tool.run(review(link), None, "k1")
        assert not done.failed, done.text
        at_line, summary = forge.notes
        assert at_line["position"]["new_line"] == 3
        assert "old_line" not in at_line["position"]
        assert summary["body"].startswith("One thing.")
        assert (await tool.look_up(review(link), None, "k1")) is not None
        forge.notes.pop()
        half = await tool.look_up(review(link), None, "k1")
        assert half is not None
        assert half.failed
        assert half.text == "The review has no summary yet, only 1 comment."


async def test_what_is_beyond_the_pages_that_are_read_is_a_gap(tmp_path: Path) -> None:
    async with local_forge() as forge:
        kit = code_toolkit(ToolSettings(forge.env, tmp_path))
        forge.too_large, forge.more_files = True, 499
        forge.reviews += [{"body": "Fine."}] * 500
        assert (await caller(kit)("read_pull_request", link="shop#7")).gaps == ()
        forge.more_files = 500
        forge.reviews.append({"body": "The last."})
        read = await caller(kit)("read_pull_request", link="shop#7")
        gaps = ("only the first 500 reviews were read", "only the first 500 changed files were read")
        assert read.gaps == tuple(f"shop#7: {gap}" for gap in gaps)
        assert "Only the first 500 reviews were read. Only the first 500 changed files were read." in read.text
        lost = await caller(kit)("read_pull_request", link="shop#7", path="shop/basket.py")
        assert (
            lost.text
            == "The diff of 'shop/basket.py' in shop#7 is not known: only the first 500 changed files were read."
        )
        assert kit.finds is not None
        found = await kit.finds(f"Review {forge.link}")
        assert found.faults == (f"shop-7.diff: {gaps[1]}.", f"shop-7.md: {gaps[0]}.")


@pytest.mark.parametrize("kind", ["github", "gitlab"])
async def test_a_review_beyond_the_pages_that_are_read_is_not_taken_for_none(tmp_path: Path, kind: str) -> None:
    async with local_forge() as forge:
        github = kind == "github"
        link = forge.link if github else f"{forge.site.url('')}/acme/shop/-/merge_requests/7"
        tool = poster(forge.env if github else forge.gitlab_env, tmp_path)
        (forge.reviews if github else forge.notes).extend([{"body": "Fine."}] * 500)
        assert tool.look_up is not None
        assert await tool.look_up(review(link), None, "k1") is None
        await tool.run(review(link), None, "k1")
        found = await tool.look_up(review(link), None, "k1")
        assert found is not None
        assert found.failed
        assert found.text.startswith("It is unknown whether the review was posted: only the first 500 ")


async def test_without_a_token_that_is_named(tmp_path: Path) -> None:
    async with local_forge() as forge:
        env = {name: value for name, value in forge.env.items() if name != "GITHUB_TOKEN"}
        read = await caller(code_toolkit(ToolSettings(env, tmp_path)))("read_pull_request", link="shop#7")
        assert read.failed
        assert "GITHUB_TOKEN is not set" in read.text


async def test_what_a_request_names_is_fetched_before_it_is_planned(shop: Path, tmp_path: Path) -> None:
    async with local_forge() as forge:
        both = f"{forge.env['LEADHAND_REPOSITORIES']}, own={shop}"
        kit = code_toolkit(ToolSettings({**forge.env, "LEADHAND_REPOSITORIES": both}, tmp_path))
        assert kit.finds is not None
        found = await kit.finds(f"Please review <{forge.link}|the request>, and wait...what about shop#8?")
        assert [file.name for file in found.files] == ["shop-7.diff", "shop-7.md"]
        assert found.files[0].line_url_template == f"{forge.site.url('')}/acme/shop/blob/{HEAD}/{{path}}#L{{line}}"
        assert b"cleo, 2026-10-01: Why?" in found.files[1].data
        assert [fault.partition(": ")[0] for fault in found.faults] == ["shop#8"]
        between = await kit.finds("Review main...topic in own, please.")
        assert [file.name for file in between.files] == ["own main...topic.diff"]
        assert b"round(sum(prices))" in between.files[0].data
        assert await kit.finds("Let me think... main...topic") == await kit.finds("nothing")
