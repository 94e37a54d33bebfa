"""`leadhand eval --from-feedback`: cases of what people gave a thumb for, to be labelled."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.app import load_crew_of_settings
from bot.command_line.feedback_sets import KNOWN_CASE, UNREADABLE_JOB, add_cases
from bot.evaluation.set_files import UNLABELLED_FAULT, SetError, read_sets
from bot.settings import Settings, SettingsError
from handoff import events as ev
from specialists.crew import Crew
from tests.system.brains import bot_with_provider, in_turn, plan, result, subtask
from tests.system.scene import Scene, Talk, eventually, scene_on

PRIVATE = "of private channels and direct messages (--private takes them too)"


async def give_thumb(talk: Talk, name: str = "-1", who: str = "ben") -> None:
    await talk.over()
    (answer,) = talk.words()
    before = len(await talk.of(ev.FeedbackGiven))
    await talk.scene.person(who).react(talk.channel, answer["ts"], name)

    async def there() -> bool:
        return len(await talk.of(ev.FeedbackGiven)) > before

    await eventually(there)


async def add_feedback_cases(scene: Scene, folder: Path, crew: Crew, *, private: bool = False) -> str:
    return await add_cases(folder, scene.store, crew, Path("crew/evaluation"), private=private)


def cases(folder: Path) -> list[dict[str, Any]]:
    return [one for path in sorted(folder.glob("*.yml")) for one in yaml.safe_load(path.read_text(encoding="utf-8"))]


async def test_thumbs_become_cases_that_people_label(server_url: str, tmp_path: Path) -> None:
    crew = load_crew_of_settings(Settings(env={}))
    plans = [plan(subtask("a", "analyst")), plan(subtask("a", "analyst"), subtask("b", "writer"))]
    folder = tmp_path / "evaluation"
    async with scene_on(server_url) as scene:
        words: dict[str, Any] = {"planner": in_turn(*plans), "specialist": lambda _: result("It is 4.")}
        async with bot_with_provider(scene, **words):
            one = await scene.ask("What is 2 + 2?", files=[("sales.csv", b"a,b\n1,2\n")])
            await give_thumb(one)
            two = await scene.ask("Compare and sum up.")
            await give_thumb(two, "+1")
            leads = await scene.ask("What do we pay Ben?", channel="#leads")
            await give_thumb(leads)
            direct = await scene.ask("And me?", channel="@leadhand")
            await give_thumb(direct, who="ana")
            said = await add_feedback_cases(scene, folder, crew)
            assert "New cases: 2" in said
            assert f"Left out: 2 {PRIVATE}" in said
            assert [(case["feedback"]["up"], case["feedback"]["down"]) for case in cases(folder)] == [(1, 0), (0, 1)]
            first = cases(folder)[1]
            assert (first["specialist"], first["input"], first["files"]) == ("analyst", "What is 2 + 2?", ["sales.csv"])
            assert "It is 4." in first["feedback"]["answered"]
            assert scene.person("ben").id not in str(cases(folder)), "nobody reads who judged"
            with pytest.raises(SetError, match=r"specialists.yml, case J\S+: it is not labelled yet") as refused:
                read_sets(tmp_path, product_sets=tmp_path / "none")
            assert len(refused.value.faults) == 2
            assert UNLABELLED_FAULT in refused.value.faults[0]
            labels = {"planning": "expect: {must: [analyst]}", "specialists": "expect: {figures: '4'}"}
            for kind, label in labels.items():
                path = folder / f"{kind}.yml"
                path.write_text(path.read_text(encoding="utf-8").replace("expect: null", label), encoding="utf-8")
            assert [len(found.cases) for found in read_sets(tmp_path, product_sets=tmp_path / "none")] == [1, 1]
            assert await scene.store.jobs.forget(leads.key, users=[])
            again = await add_feedback_cases(scene, folder, crew, private=True)
        assert "New cases: 1" in again
        assert f"Left out: 2 {KNOWN_CASE}" in again
        assert f"Left out: 1 {UNREADABLE_JOB}" in again
        assert "figures: '4'" in (folder / "specialists.yml").read_text(encoding="utf-8"), "labels stay"
        (folder / "routing.yml").write_text("{", encoding="utf-8")
        with pytest.raises(SettingsError, match=r"routing\.yml: it is no YAML, so nothing was added"):
            await add_feedback_cases(scene, folder, crew)
    await crew.close()
