"""What came from one place goes into another only if all may read it, or somebody who may read both says so."""

import itertools

import pytest

from handoff.access.audience import Crossing, crossings, may_allow, may_go
from handoff.contracts import Audience, Material

PLACES = [
    Audience(channel="C1", kind="public"),
    Audience(channel="C2", kind="public"),
    Audience(channel="C3", kind="private"),
    Audience(channel="C4", kind="private"),
    Audience(channel="G1", kind="group"),
    Audience(channel="D1", kind="direct"),
    Audience(channel="D2", kind="direct"),
    Audience(channel="C9"),
]


@pytest.mark.parametrize(("came", "goes"), list(itertools.product(PLACES, PLACES)))
def test_only_what_is_public_or_stays_where_it_is_may_go(came: Audience, goes: Audience) -> None:
    assert may_go(came, goes) == (came.channel in {"C1", "C2"} or came.channel == goes.channel)


def test_material_without_an_audience_is_that_of_its_job() -> None:
    here, out = PLACES[2], PLACES[0]
    own, shared = Material(name="a.csv"), Material(name="b.csv", audience=PLACES[1])
    direct, twice = Material(name="c.csv", audience=PLACES[5]), Material(name="d.csv", audience=PLACES[5])
    found = crossings([own, shared, direct, twice], here, out)
    assert found == (Crossing(here, out, ("a.csv",)), Crossing(PLACES[5], out, ("c.csv", "d.csv")))
    assert crossings([own, shared], here, here) == ()


def test_who_may_read_both_places_may_allow_it_and_nobody_else() -> None:
    crossing = Crossing(PLACES[2], PLACES[0], ("a.csv",))
    readers = {"C3": {"U1", "U2"}, "C1": {"U1", "U3"}}
    assert [may_allow(crossing, user, readers) for user in ("U1", "U2", "U3", "U4")] == [True, False, False, False]
    assert not may_allow(crossing, "U1", {"C1": {"U1"}}), "who may read a place that nobody knows is nobody"
