"""Contradictions are found by claim: other words for the same are none, and other words for the opposite are one."""

from __future__ import annotations

import pytest

from handoff.answering.disputes import untold
from handoff.checking.claims import claims
from handoff.checking.conflicts import candidates
from handoff.checking.dates import dates
from handoff.checking.quantities import quantities
from handoff.contracts import Conflict, Finding, Result, Side

CONTRADICT = [
    ("Churn was 4.2 %.", "Churn came to 6.1 percent."),
    ("Revenue in 2025 was $3.2 million.", "In 2025, revenue reached 3,900,000 dollars."),
    ("The deadline is 12 March 2026.", "The deadline is 2026-03-14."),
    ("The API supports streaming.", "The API does not support streaming."),
    ("There is a memory leak in the parser.", "The parser has no memory leak."),
    ("Acme's revenue rose in 2025.", "The revenue of Acme fell in 2025."),
    ("The contract was signed on 3 May 2024.", "The contract was signed on 5 May 2024."),
    ("The owner of the account is Alice Smith.", "The account's owner is Bob Jones."),
    ("The response time is 200 ms.", "Response time: 2 seconds."),
    ("312 customers churned in March 2026.", "In March 2026, 398 customers churned."),
    ("Support answers within 4 hours on working days.", "Support answers after 2 days on working days."),
    ("The licence costs $49 a month.", "The licence costs 59 USD a month."),
    ("Revenue rose from 7 to 9.", "Revenue rose from 7 to 12."),
    ("- **Churn rate:** 4.2 %", "The churn rate of 2.4 % is low. The churn rate was 2.4 %."),
    ("At least 500 seats are included in the plan.", "The plan includes 200 seats."),
    ("The company was founded in 1998.", "The company was founded in 2001."),
    ("Storage is limited to 5 GB.", "Storage is limited to 500 MB."),
    ("The endpoint is secure.", "The endpoint is insecure."),
    ("Two-factor login is available on the basic plan.", "Two-factor login is unavailable on the basic plan."),
    ("Average order value was $52 in May 2026.", "In May 2026 the average order value was $47."),
    ("Conversion fell by 5 percentage points.", "Conversion fell by 9 percentage points."),
    ("The test suite takes 3 minutes.", "The test suite takes 540 seconds."),
    ("Headcount is 120.", "The company's staff: 95. Staff was 95."),
    ("Revenue grew 12 %, driven by the new plan.", "Revenue grew by 21 %."),
]
SHAPES = [
    ("Revenue rose 12 %.", "Revenue fell 12 %."),
    ("Support answers within 24 hours.", "Support answers within 4 hours."),
    ("Sales were up 12 % in May.", "Sales were down 12 % in May."),
    ("The plan includes 5 seats.", "The plan does not include 5 seats."),
    ("The vendor does not offer phone support.", "The vendor offers phone support."),
    ("The API lacks streaming.", "The API supports streaming."),
    ("The error rate is 0.02.", "The error rate is 5 %."),
    ("Half of the users churned.", "20 % of the users churned."),
    ("The trial lasts 14 days.", "The trial lasts one month."),
    ("The notice period is three months.", "The notice period is 30 days."),
    ("Norway is the largest market.", "Sweden is the largest market."),
    ("Acme has 1,200 employees.", "Acme employs 900 people."),
    ("HQ: Berlin", "HQ: Munich"),
    ("Churn rate 4.2% (May)", "Churn rate 6.1% (May)"),
    ("| metric | value |\n|---|---|\n| churn | 4.2 % |", "Churn was 6.1 %."),
    ("## Summary\nChurn was 4 %.", "## Churn analysis\n\nChurn was 6 %."),
    ("### May 2026\nChurn of customers was 4 %.", "Customers churn in May 2026: 6 %."),
    ("**Churn was 4 %.**", "Churn was 6 %."),
    ("The suite has 3 flaky tests.", "The suite has no flaky tests."),
    ("Revenue rose 12 % in May.", "In May revenue fell."),
    ("The churn rate of Acme was 4 %.", "In May 2026 the churn rate of Acme was 6 %."),
    ("Costs rose and churn was 4 %.", "Churn was 6 %."),
    ("But revenue was $3M, mainly because of the price.", "Revenue was $5M."),
    ("Churn was [4 %](https://example.com/5).", "Churn was 6 %."),
    ("Churn rose from 3 to 4 %.", "Churn rose from 1 % to 4 %."),
    ("Churn was less than 3 %.", "Churn was 6 %."),
    ("The margin was -4 %.", "The margin was 4 %."),
    ("The budget is $3 to $4 million.", "The budget is $2 million."),
    ("The cable is 3 to 4 km long.", "The cable is 1 km long."),
    ("Half of the users churned.", "46 % of the users churned."),
    ("In Norway the churn rate is 4 % officially.", "In Norway the churn rate is 6 %."),
]

AGREE_OR_APART = [
    ("Churn was 4.2 %.", "Churn came to 4.2 percent."),
    ("Revenue in 2025 was $3.2 million.", "In 2025, revenue was 3,214,000 dollars."),
    ("Revenue in 2025 was $3.2 million.", "Revenue in 2024 was $2.9 million."),
    ("Churn in the South was 6.1 %.", "Churn in the North was 4.2 %."),
    ("Churn was 4.2 %.", "Churn among enterprise customers was 6.1 %."),
    ("Average order value was $52.", "Median order value was $47."),
    ("Gross margin was 40 %.", "Net margin was 12 %."),
    ("Revenue rose from 7 to 9.", "Revenue rose to 9."),
    ("Revenue rose from 7 to 9.", "Revenue rose by 2."),
    ("The API supports streaming.", "The API does not support batch uploads."),
    ("The API supports streaming.", "Streaming is supported by the API."),
    ("The deadline is 12 March 2026.", "The deadline is March 12, 2026."),
    ("The deadline is in March 2026.", "The deadline is 12 March 2026."),
    ("The owner is Alice Smith.", "The owner is Ms Smith."),
    ("Acme raised $5 million.", "Globex raised $7 million."),
    ("Mobile conversion was 2.1 %.", "Desktop conversion was 3.4 %."),
    ("The response time is 200 ms.", "The response time is 0.2 seconds."),
    ("312 customers churned in March.", "398 customers churned in April."),
    ("About 40 people came.", "42 people came."),
    ("At least 500 seats are included in the plan.", "The plan includes 750 seats."),
    ("There may be a memory leak in the parser.", "The parser has no memory leak."),
    ("If the cache is cold, a request takes 3 seconds.", "A request takes 200 ms."),
    ("Should the limit be 5 GB?", "The limit is 10 GB."),
    ("We recommend 3 replicas.", "The cluster has 2 replicas."),
    ("312 of 4,000 customers churned.", "312 customers churned."),
    ("Revenue rose 12 % and costs rose 4 %.", "Costs rose 4 %."),
    ("Part w1: the figure is 3,663 units.", "Part w2: the figure is 3,700 units."),
    ("Plan A costs $49.", "Plan B costs $59."),
    ("Version 2.1 takes 3 seconds to start.", "Version 3.0 takes 1 second to start."),
    ("The first test took 3 minutes.", "The last test took 4 minutes."),
    ("Revenue did not fall in 2025.", "Revenue rose in 2025."),
    ("Sales in Q1 2026 were $1.1M.", "Sales in Q2 2026 were $1.4M."),
    ("Churn was 4.2 % before the price change.", "Churn was 6.1 % after the price change."),
    ("The report has 12 pages.", "The report has 3 charts."),
    ("Prices start at $10.", "Prices start at $10 per seat."),
    ("Not only is the parser fast, it is small.", "The parser is fast."),
    ("Budgeted cost was $10,000.", "Actual cost was $12,000."),
    ("The team has 5 engineers.", "The team has 2 designers."),
    ("New customers grew 5 %.", "Existing customers grew 2 %."),
    ("Monthly churn is 2 %.", "Annual churn is 21 %."),
    ("Support answers within 24 hours.", "Support answered within 3 hours on average."),
    ("The page was read on 3 May 2026.", "The page was read on 4 May 2026."),
    ("## Acme\nSSO is included.", "## Globex\nSSO is not included."),
    ("## May\nChurn was 4 %.", "## June\nChurn was 6 %."),
    ("**Norway**\n- Churn: 4 %", "**Sweden**\n- Churn: 6 %"),
    ("Norway:\n- Churn: 4 %", "Sweden:\n- Churn: 6 %"),
    ("## Monthly\nChurn was 2 %.", "Churn was 21 %."),
    ("| Region | Churn |\n|---|---|\n| North | 4 % |", "| Region | Churn |\n|---|---|\n| South | 6 % |"),
    ("The error share is 0.05.", "The error share is 5 %."),
    ("A quarter of customers churned.", "25 % of customers churned."),
    ("The first half of 2025 brought 20 %.", "The second half of 2025 brought 40 %."),
    ("The notice period is 1 month.", "The notice period is 30 days."),
    ("Acme lacks SSO.", "Acme does not support SSO."),
    ("Churn improved in May.", "Churn fell in May."),
    ("Revenue did not fall.", "Revenue rose 12 %."),
    ("One of the reasons is price.", "Two of the reasons are price and support."),
    ("Acme is the largest vendor.", "Globex is the cheapest vendor."),
    ("Sales of blue shirts in Oslo stores were 40 units.", "Sales of red shirts in Oslo stores were 50 units."),
    ("The revenue of Acme was $3M.", "The net revenue of Acme was $2M."),
    ("The revenue of Acme was $3M.", "The revenue of Acme in Norway was $1M."),
    ("In 2026 churn was 4 %.", "In May 2026 churn was 6 %."),
    ("The plans cost $10, $20 and $30.", "The plans cost $20."),
    ("Revenue fell, then rose.", "Revenue fell."),
    ("Churn was not 4 %.", "Churn was 6 %."),
    ("The contract was not signed on 3 May 2024.", "The contract was signed on 5 May 2024."),
    ("The owner is not Alice Smith.", "The owner is Bob Jones."),
    ("The parser has no leak.", "The parser has a memory leak."),
    ("The parser is not only fast.", "The parser is fast."),
    ("The response time could be 200 ms.", "The response time is 2 seconds."),
    ("Churn was 4 %, because 12 people left.", "Churn was 4 %, because 30 people left."),
    ("Churn was 4 %, up from 3 %.", "Churn was 4 %, up from 2 %."),
    ("Approx. 40 people came.", "42 people came."),
    ("The notice period is at most 30 days.", "The notice period is 14 days."),
    ("Churn was lower than 6 %.", "Churn was 4 %."),
    ("Churn was 4,2 %.", "Churn was 4.2 %."),
    ("The cable is 5m long.", "The cable is 500 cm long."),
    ("The cable is 3 to 4 km long.", "The cable is 3.5 km long."),
    ("The budget is $3 to $4 million.", "The budget is $3.5 million."),
    ("Revenue was $3 million.", "Revenue was 3,214,000 dollars."),
    ("About half of the users churned.", "46 % of the users churned."),
    ("Churn rose from 3 to 4 %.", "Churn rose from 3 % to 4 %."),
    ("Nothing of note.\n```\nchurn is 4 %\n```", "Churn was 6 %."),
]


def result(content: str, **more: object) -> Result:
    return Result(summary="s", content=content, **more)


def pairs(one: str, other: str, *titles: str) -> int:
    named = dict(zip("ab", titles, strict=False))
    return len(candidates({"a": result(one), "b": result(other)}, titles=named))


@pytest.mark.parametrize(("one", "other"), [*CONTRADICT, *SHAPES])
def test_statements_that_cannot_both_be_right_are_found_either_way_round(one: str, other: str) -> None:
    assert pairs(one, other) == pairs(other, one) == 1


@pytest.mark.parametrize(("one", "other"), AGREE_OR_APART)
def test_statements_that_agree_or_are_about_something_else_are_not(one: str, other: str) -> None:
    assert pairs(one, other) == pairs(other, one) == 0


def test_few_false_alarms_among_statements_that_have_nothing_to_do_with_each_other() -> None:
    ones = [pair[0] for pair in CONTRADICT]
    others = [pair[1] for pair in CONTRADICT]
    alarms = [(a, b) for n, a in enumerate(ones) for m, b in enumerate(others) if n != m and pairs(a, b)]
    assert len(alarms) <= len(ones) * (len(ones) - 1) * 0.01, alarms


def test_a_statement_is_put_with_its_source_and_with_what_the_tools_said_of_it() -> None:
    finding = Finding(message="Churn was 4.2 %.", source="churn.csv", confidence=90)
    tools = ("May: 42 of 1,000 left, 4.2 %", "Rows read: 1,000", "Latency 200 ms")
    sure = result("See the finding.", findings=(finding,), evidence=tools)
    (conflict,) = candidates({"a": sure, "b": result("Churn was 6.1 %.", confidence=70)})
    ours, theirs = conflict.sides
    assert (ours.source, ours.confidence, ours.evidence) == ("churn.csv", 90, tools[:1])
    assert (theirs.source, theirs.confidence, theirs.evidence) == ("", 70, ())
    assert conflict.claim == "churn"
    assert conflict.verdict == "open"


def test_two_periods_are_two_contradictions() -> None:
    ours = "Churn was 4 % in May 2026. Churn was 3 % in June 2026."
    theirs = "In May 2026 churn was 6 %. In June 2026 churn was 5 %."
    assert pairs(ours, theirs) == 2
    ours, theirs = (f"## Basic\nChurn was 4 %.\n\n## Pro\nChurn was {n} %." for n in (4, 9))
    (conflict,) = candidates({"a": result(ours), "b": result(theirs)})
    assert [side.statement for side in conflict.sides] == ["Pro: Churn was 4 %", "Pro: Churn was 9 %"]
    more = theirs.replace("was 4 %", "was 8 %")
    assert pairs(ours, more) == 2


def told(*sources: str, verdict: str = "contradict") -> Conflict:
    said = zip("ab", ("Churn was 4.2 %.", "Churn was 6.1 %."), sources, strict=True)
    sides = [Side(subtask=name, statement=text, source=source) for name, text, source in said]
    return Conflict.model_validate({"claim": "churn", "sides": sides, "verdict": verdict, "confidence": 90})


@pytest.mark.parametrize(
    ("answer", "conflict", "is_told"),
    [
        ("By churn.csv it was 4.2 %, by x.org 6.1 %; the file is right (90 % sure).", told("churn.csv", "x.org"), True),
        ("By churn.csv it was 4.2 %, by x.org 6.1 %; the file is right.", told("churn.csv", "x.org"), False),
        ("By churn.csv it was 4.2 % (90 % sure).", told("churn.csv", "x.org"), False),
        ("It was 4.2 % by one and 6.1 % by the other (90 % sure).", told("churn.csv", "x.org"), False),
        ("Churn was 4.2 %; the load was 6.1 % of 90 units.", told("", ""), False),
        ("Churn was 4.2 %, but another result has 6.1 % (90 % sure).", told("", ""), True),
        ("Churn was 4.2 %, but another result has 6.1 %.", told("", "", verdict="open"), True),
    ],
)
def test_an_answer_tells_a_contradiction_with_both_sides_their_sources_and_how_sure_it_is(
    answer: str, conflict: Conflict, *, is_told: bool
) -> None:
    assert (not untold(answer, (conflict,))) is is_told


def test_findings_that_are_not_sure_enough_start_no_dispute() -> None:
    unsure = result("Nothing else.", findings=(Finding(message="Churn was 4.2 %.", confidence=40),))
    assert not candidates({"a": unsure, "b": result("Churn was 6.1 %.")}, threshold=80)


def test_what_two_subtasks_say_of_different_things_by_their_titles_is_no_contradiction() -> None:
    slow, quick = "Support answers within 24 hours.", "Support answers within 4 hours."
    assert pairs(slow, quick) == 1
    assert pairs(slow, quick, "Read Acme's promises", "Read Globex's promises") == 0
    assert pairs(slow, quick, "Read the promises", "Look at the promises again") == 1
    assert pairs("Acme's churn was 4 %.", "Acme churn was 6 %.", "Ask Acme", "Look at Globex") == 1


def test_one_result_never_contradicts_itself_and_every_pair_of_two_is_told() -> None:
    assert not candidates({"a": result("Churn was 4.2 %. Churn was 6.1 %.")})
    many = "\n".join(f"The load of server-{n} was {n} %." for n in range(10, 60))
    others = "\n".join(f"The load of server-{n} was {n + 30} %." for n in range(10, 60))
    assert len(candidates({"a": result(many), "b": result(others)})) == 50


def test_what_is_retold_is_one_contradiction() -> None:
    once = "Churn was 4.2 %."
    assert len(candidates({"a": result(once), "b": result("Churn was 6.1 %. In short: churn was 6.1 %.")})) == 1


@pytest.mark.parametrize("text", ["", "?", "$$$ 1,2,3.4.5 %%", "3" * 500, "é " * 3_000, "a. " * 5_000, "1-2-3 to to 4"])
def test_no_text_breaks_the_finder(text: str) -> None:
    assert candidates({"a": result(text), "b": result(text + " Churn was 4 %.")}) == ()
    assert claims(text) is not None


def test_numbers_and_dates_are_normalised() -> None:
    def read(text: str) -> list[tuple[float, float, str, str]]:
        return [(round(one.low, 3), round(one.high, 3), one.kind, one.role) for one in quantities(text)]

    assert read("$3.2M") == [(3_150_000, 3_250_000, "usd", "")]
    assert read("from 4.2 % to 6.1%") == [(4.15, 4.25, "%", "from"), (6.05, 6.15, "%", "")]
    assert read("10-12 %") == [(9.75, 12, "%", "")]
    assert read("312 of 4,001 people") == [(312, 312, "", ""), (4001, 4001, "", "of")]
    assert read("Q3 2026, step 4, v2.3, GPT-4, the 2nd") == []
    assert dates("12 March 2026; March 12, 2026; 2026-03-12") == ((2026, "03", 12),) * 3
