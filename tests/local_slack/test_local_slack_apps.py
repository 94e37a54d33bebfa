"""Apps as other people write them, in Python and JavaScript: each is used by people, who see what it should show.

Their code knows nothing of the local Slack. All start at once, each beside a Slack of its own.
"""

import asyncio
import re
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import pytest
import pytest_asyncio

from bot.workspace import view_stacks
from bot.workspace.app_process import make_app_environment
from bot.workspace.person import Person
from bot.workspace.refusal import ActionFailed
from bot.workspace.workspace_server import Workspace
from tests.local_slack.conftest import APPS, ROOT
from tests.patience import patience
from tests.store.kit import free_port

T = TypeVar("T")
Json = dict[str, Any]
MODULES = ROOT / ".venv" / "node" / "node_modules"


class App:
    """One app beside its Slack, and people who use it."""

    def __init__(self, workspace: Workspace, url: str, output: Path) -> None:
        self.at, self.url, self.output = workspace, url, output
        self.ana, self.ben = workspace.person("ana"), workspace.person("ben")
        self.general = workspace.channel_id("#general")
        self._process: asyncio.subprocess.Process | None = None

    async def start(self, file: Path) -> None:
        """Start the process."""
        environment = make_app_environment(self.at) | {"HTTPS_PROXY": "http://127.0.0.1:9"}
        port = self.url.rpartition(":")[2].partition("/")[0]
        program = sys.executable if file.suffix == ".py" else "node"
        with self.output.open("wb") as output:
            self._process = await asyncio.create_subprocess_exec(
                *(program, str(file)),
                env={**environment, "PORT": port, "DATA_DIR": str(self.output.parent)},
                stdout=output,
                stderr=output,
            )

    async def wait_until_up(self) -> None:
        """Wait until it is connected, or listens."""
        assert self._process is not None
        async with asyncio.timeout(patience()):
            while not await self._is_up():
                assert self._process.returncode is None, self.output.read_text(encoding="utf-8")
                await asyncio.sleep(0.1)

    async def until(self, predicate: Callable[[], T]) -> T:
        """Wait until it is true; what the app printed explains why it never was."""
        try:
            return await self.at.until(predicate, patience(20))
        except TimeoutError as error:
            raise AssertionError(f"{error}\n{self.output.read_text(encoding='utf-8')}") from error

    async def answer(self, channel: str, ts: str, number: int = 1) -> Json:
        """Wait for a reply in a thread, and return it."""
        thread = await self.until(lambda: _enough(self.at.thread(channel, ts), number + 1))
        return thread[number]

    async def texts(self, channel: str, count: int = 1) -> list[str]:
        """Wait until a channel has that many messages, and return their texts."""
        return [each["text"] for each in await self.until(lambda: _enough(self.at.messages(channel), count))]

    async def whispers(self, person: Person, count: int = 1) -> list[str]:
        """Wait until a person sees that many messages alone in #general, and return their texts."""
        return [each["text"] for each in await self.until(lambda: _enough(person.ephemerals("#general"), count))]

    async def window(self, person: Person, has: str) -> Json:
        """Wait for a window that has a block, and return it."""
        return await self.until(
            lambda: next((view for view in person.views() if has in _block_ids(view)), {}),
        )

    async def stop(self) -> None:
        """End the process and its Slack."""
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()
            await self._process.wait()
        await self.at.stop()

    async def _is_up(self) -> bool:
        if self.at.uses_socket_mode:
            return self.at.connection_count > 0
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", int(self.url.rpartition(":")[2].partition("/")[0]))
        except ConnectionRefusedError:
            return False
        writer.close()
        return True


def _enough(messages: list[Json], count: int) -> list[Json]:
    return messages if len(messages) >= count else []


def _block_ids(view: Json) -> set[str]:
    return {block["block_id"] for block in view["blocks"]}


# -- how each is used ----------------------------------------------------------------------------------------------


async def use_poll(app: App) -> None:
    await app.ana.command("#general", "/poll", "Lunch?")
    assert "two answers" in (await app.whispers(app.ana))[0]
    await app.ana.command("#general", "/poll", "Lunch? | Pizza | Soup")
    assert await app.texts("#general") == ["Lunch?"]
    ts = app.at.messages("#general")[0]["ts"]

    def counts() -> list[str]:
        return [block["text"]["text"] for block in app.at.messages("#general")[0]["blocks"][1:]]

    for person, choice, expected in (
        (app.ana, "1", ["Pizza: 0", "Soup: 1"]),
        (app.ben, "1", ["Pizza: 0", "Soup: 2"]),
        (app.ana, "0", ["Pizza: 1", "Soup: 1"]),
    ):
        await person.click("#general", ts, "vote", choice)
        await app.until(lambda expected=expected: counts() == expected)


async def use_standup(app: App) -> None:
    await app.ana.shortcut("standup")
    view = await app.window(app.ana, "done")
    assert not await app.ana.submit(view["id"], {"done": {"answer": "Nothing"}})
    values = {"done": {"answer": "Nothing"}, "mood": {"answer": "fine"}, "where": {"answer": app.general}}
    assert not await app.ana.submit(view["id"], values), "too short for the app"
    assert app.ana.views()
    assert await app.ana.submit(view["id"], {**values, "done": {"answer": "Wrote the report"}})
    assert await app.texts("#general") == [f"<@{app.ana.id}> (Fine): Wrote the report"]
    assert not app.ana.views()


async def use_kudos(app: App) -> None:
    second = await app.at.start_further_workspace("Second")
    try:
        for workspace, where in ((app.at, "Local workspace"), (second, "Second")):
            await install(app, where)
            ts = await workspace.person("ana").say("#general", "@kudos to ben")
            thread = await _replies(workspace, ts)
            assert thread[1]["text"] == f"Kudos in {workspace.team_id}!"
            assert [each["name"] for each in thread[0]["reactions"]] == ["tada"]
    finally:
        await second.stop()


async def _replies(workspace: Workspace, ts: str) -> list[Json]:
    return await workspace.until(lambda: _enough(workspace.thread("#general", ts), 2), patience(20))


async def install(app: App, where: str) -> None:
    """Install the app as a person with a browser does."""
    base = app.url.removesuffix("/slack/events")
    async with aiohttp.ClientSession() as browser:
        async with browser.get(f"{base}/slack/install") as response:
            page, cookie = await response.text(), response.headers["Set-Cookie"].partition(";")[0]
        link = re.findall(r'href="([^"]+/oauth/v2/authorize[^"]+)"', page)[0].replace("&amp;", "&")
        async with browser.get(link) as response:
            asked = await response.text()
        path = next(href for href, text in re.findall(r'<a href="([^"]+)">([^<]+)<', asked) if where in text)
        allow = app.at.api_url.removesuffix("/api/") + path.replace("&amp;", "&")
        async with browser.get(allow, allow_redirects=False) as response:
            back = response.headers["Location"]
        async with browser.get(back, headers={"Cookie": cookie}) as response:
            assert response.status == 200, await response.text()
            assert "Thank you" in await response.text()


async def use_guide(app: App) -> None:
    await app.ana.open_home("messages")
    root = (await app.until(lambda: app.at.messages(app.ana.dm)))[0]["ts"]
    assert (await app.answer(app.ana.dm, root))["text"] == ":wave: What do you want to know?"
    prompts = await app.until(lambda: app.at.prompts(app.ana.dm, root))
    assert [each["title"] for each in prompts] == ["Geography", "Nature"]
    await app.ana.say(app.ana.dm, prompts[0]["message"], thread_ts=root)
    answer = await app.answer(app.ana.dm, root, 3)
    await app.until(lambda: app.at.thread(app.ana.dm, root)[3]["text"] == "The capital of France is *Paris*.")
    await app.until(lambda: not app.at.thread(app.ana.dm, root)[3]["streaming"])
    assert answer["user"] == app.at.bot_user_id
    assert app.at.session(app.ana.dm, root) == {"status": "", "title": prompts[0]["message"], "line": ""}
    assert app.at.calls("assistant.threads.setStatus")[0].args["status"] == "is looking it up..."


async def use_expenses(app: App) -> None:
    runs = [
        await app.ana.run_step("approve_expense", {"manager": app.ben.id, "amount": amount})
        for amount in (120.5, 80, 2000)
    ]
    await app.until(lambda: app.at.step(runs[2]).status == "failed")
    assert app.at.step(runs[2]).error == "Expenses above 1000 need a contract."
    await app.texts(app.ben.dm, 2)
    for message in app.at.messages(app.ben.dm):
        await app.ben.click(app.ben.dm, message["ts"], "approve" if "120.5" in message["text"] else "deny")
    await app.until(lambda: app.at.step(runs[0]).status == "completed" and app.at.step(runs[1]).status == "failed")
    assert app.at.step(runs[0]).outputs == {"decided_by": app.ben.id, "amount": 120.5}
    assert app.at.step(runs[1]).error == "Your manager said no."
    assert set(await app.texts(app.ben.dm)) == {"You approved 120.5 EUR.", "You denied it."}


async def use_tickets(app: App) -> None:
    await app.ana.command("#general", "/ticket")
    view = await app.window(app.ana, "area")
    await app.ana.click_in_view(view["id"], "choose_area", "software")
    view = await app.window(app.ana, "thing_software")
    await app.ana.click_in_view(view["id"], "choose_area", "hardware")
    view = await app.window(app.ana, "thing_hardware")
    values = {"thing_hardware": {"thing": "laptop"}, "summary": {"summary": "IT BURNS"}}
    assert not await app.ana.submit(view["id"], values)
    assert await app.ana.submit(view["id"], {**values, "summary": {"summary": "It is warm"}})
    assert app.ana.views()[-1]["blocks"][0]["text"]["text"] == "#1 Laptop: It is warm"


async def use_notes(app: App) -> None:
    for count, text in enumerate(("The door code is 12", "Cake at four"), 1):
        ts = await app.ben.say("#general", text)
        await app.ana.shortcut("save_note", "#general", ts)
        assert await app.whispers(app.ana, count) == ["Saved. See my home."] * count

    def home_texts() -> list[str]:
        return [block["text"]["text"] for block in (app.ana.home() or {"blocks": []})["blocks"]]

    await app.until(lambda: len(home_texts()) == 3)
    assert home_texts()[0] == "2 notes"
    link = re.fullmatch(r"<(http\S+)\|Cake at four>", home_texts()[2])
    assert link is not None
    assert link[1].endswith(f"/archives/{app.general}/p{ts.replace('.', '')}")
    home = app.ana.home() or {}
    await app.ana.click_in_view(home["id"], "remove_note", "0")
    await app.until(lambda: home_texts()[0] == "1 notes")
    assert home_texts()[1] == f"<{link[1]}|Cake at four>"
    await app.ben.open_home()
    await app.until(app.ben.home)
    assert [block["text"]["text"] for block in (app.ben.home() or {})["blocks"]] == ["0 notes"]


async def use_reminders(app: App) -> None:
    await app.ana.command("#general", "/remindall", "10 Stretch!")
    await app.ana.command("#general", "/remindall", "0 Late")
    await app.ana.command("#general", "/remindall", "30 Tea")
    assert sorted(await app.whispers(app.ana, 3)) == [
        "In 10 minutes.",
        "In 30 minutes.",
        "That did not work: time_in_past",
    ]
    await app.ana.command("#general", "/reminders")
    assert (await app.whispers(app.ana, 4))[3] == "Reminder: Stretch!\nReminder: Tea"
    assert app.at.messages("#general") == []
    app.at.clock.advance(601)
    assert await app.texts("#general") == ["Reminder: Stretch!"]
    await app.ana.command("#general", "/reminders", "clear")
    assert (await app.whispers(app.ana, 5))[4] == "1 taken back."
    app.at.clock.advance(3600)
    await app.ana.command("#general", "/reminders")
    assert (await app.whispers(app.ana, 6))[5] == "Nothing is to come."
    assert len(app.at.messages("#general")) == 1


async def use_reports(app: App) -> None:
    await app.ana.command("#general", "/report")
    await app.ana.command("#general", "/report", "sales")
    assert await app.whispers(app.ana, 2) == [":warning: Which report?", "Making sales ..."]
    assert set(await app.texts("#general", 2)) == {"sales: 5050", f"<@{app.ana.id}> asked for sales."}


async def use_dice(app: App) -> None:
    await app.ana.command("#general", "/roll", "1")
    assert await app.whispers(app.ana) == ["Rolling ..."]
    assert await app.texts("#general") == ["@ana rolled a die with 1 sides: 1"]


async def use_greeter(app: App) -> None:
    ts = await app.ben.say("#general", "Hello everybody")
    await app.until(lambda: app.at.thread("#general", ts)[0].get("reactions"))
    assert app.at.thread("#general", ts)[0]["reactions"][0]["name"] == "wave"
    await app.ana.kick("#northwind")
    await app.ana.invite("#northwind")
    assert await app.texts("#northwind") == ["Hello Ana Duarte, Ben Okafor, Sol Tanaka!"]


async def use_counter(app: App) -> None:
    files = [("sales.csv", b"town,visits,rain\nLisbon,3,1\nPorto,4,10\n"), ("note.txt", b"Hi")]
    ts = await app.ana.say("#general", "Please count", files=list(files))
    await app.answer("#general", ts, 2)
    answers = {each["text"]: each for each in app.at.thread("#general", ts)[1:]}
    assert set(answers) == {"2 rows", "note.txt is a Plain Text."}
    file = answers["2 rows"]["files"][0]
    assert (file["name"], file["title"], file["user"]) == ("sums.csv", "Sums", app.at.bot_user_id)
    assert await app.at.file(file["id"]) == b"column,sum\nvisits,7\nrain,11\n"


async def use_flags(app: App) -> None:
    ts = await app.ben.say("#general", "Good morning")
    await app.ana.react("#general", ts, "eyes")
    await app.ana.react("#general", ts, "flag-es")
    assert (await app.answer("#general", ts))["text"] == ":flag-es: buenos días"
    await app.ben.react("#general", ts, "flag-es")
    await app.ben.react("#general", ts, "flag-fr")
    assert (await app.answer("#general", ts, 2))["text"] == ":flag-fr: bonjour"


async def use_oncall(app: App) -> None:
    ts = await app.ana.say("#general", "@oncall who has to come?")
    assert (await app.answer("#general", ts))["text"] == "I know @reviewers."
    ts = await app.ana.say("#general", "@oncall reviewers")
    assert (await app.answer("#general", ts))["text"] == "On call in Reviewers: ben then cleo"
    app.at.change_group("reviewers", add=["ana"], remove=["cleo"])
    assert (await app.texts("#general", 5))[-1] == f"1 came, 1 left: <@{app.ana.id}>"
    ts = await app.ana.say("#general", "@oncall reviewers")
    assert (await app.answer("#general", ts))["text"] == "On call in Reviewers: ben then ana"


async def use_incidents(app: App) -> None:
    await app.ana.command("#general", "/incident", "Site down with ben@local.example")
    said = re.fullmatch(r"It is <#(\w+)>\.", (await app.whispers(app.ana))[0])
    assert said is not None
    assert app.at.channels()["#inc-site-down"] == said[1]
    assert (app.ben.find_channel(said[1]).topic, app.ben.find_channel(said[1]).members[1:]) == (
        "Site down",
        [app.ana.id, app.ben.id],
    )
    assert await app.texts(said[1]) == [f"<@{app.ana.id}> opened this: Site down"]
    with pytest.raises(ActionFailed, match="cleo is in no channel"):
        await app.at.person("cleo").say(said[1], "Me too")
    await app.ana.command("#general", "/incident", "Site down")
    assert (await app.whispers(app.ana, 2))[1] == "#inc-site-down is open already."


async def use_echo(app: App) -> None:
    ts = await app.ana.say("#general", "@echo hello")
    assert (await app.answer("#general", ts))["text"] == f"Hi <@{app.ana.id}>"


async def use_stars(app: App) -> None:
    for person, stars in ((app.ana, "5"), (app.ben, "2")):
        await person.shortcut("rate")
        view = await app.window(person, "stars")
        assert await person.submit(view["id"], {"stars": {"stars": stars}})
        await app.until(lambda person=person: person.home())
    await app.until(lambda: (app.ben.home() or {})["blocks"][0]["text"]["text"] == "3.5 stars of 2")
    await app.ana.open_home()
    await app.until(lambda: (app.ana.home() or {})["blocks"][0]["text"]["text"] == "3.5 stars of 2")
    await app.ana.say(app.ana.dm, "How many?")
    assert (await app.texts(app.ana.dm, 2))[1] == "2 so far"


USES: dict[str, Callable[[App], Awaitable[None]]] = {
    "poll.py": use_poll,
    "standup.py": use_standup,
    "kudos.py": use_kudos,
    "guide.py": use_guide,
    "expenses.py": use_expenses,
    "tickets.py": use_tickets,
    "notes.py": use_notes,
    "reminders.py": use_reminders,
    "reports.py": use_reports,
    "dice.py": use_dice,
    "greeter.py": use_greeter,
    "counter.py": use_counter,
    "flags.py": use_flags,
    "oncall.py": use_oncall,
    "incidents.py": use_incidents,
    "bolt.mjs": use_echo,
    "stars.js": use_stars,
}
MANIFESTS = {"bolt.mjs": "echo"}
INSTALLED_BY_OAUTH = frozenset({"kudos.py"})


def is_on_node(file: str) -> bool:
    return not file.endswith(".py")


def without_node() -> str:
    """Why apps on Node.js cannot be tried here; empty if they can."""
    if shutil.which("node") is None:
        return "no Node.js here"
    return "" if (MODULES / "@slack" / "bolt").is_dir() else f"no Bolt for JavaScript in {MODULES}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def apps(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[dict[str, App]]:
    """Every app, started."""
    apps: dict[str, App] = {}
    for file in USES:
        if is_on_node(file) and without_node():
            continue
        folder = tmp_path_factory.mktemp(Path(file).stem)
        manifest = APPS / "manifests" / f"{MANIFESTS.get(file, Path(file).stem)}.json"
        wants_http = '"socket_mode_enabled": false' in manifest.read_text(encoding="utf-8")
        url = f"http://127.0.0.1:{free_port()}/slack/events" if wants_http else ""
        workspace = await Workspace.start(
            manifest, request_url=url or None, is_installed=file not in INSTALLED_BY_OAUTH, ack_seconds=patience(3)
        )
        apps[file] = App(workspace, url, folder / "output")
        path = APPS / file
        if is_on_node(file):  # Node.js looks for modules beside the file and above it
            path = Path(shutil.copy(path, folder))
            (folder / "node_modules").symlink_to(MODULES)
        await apps[file].start(path)
    with pytest.MonkeyPatch.context() as patch:
        # A busy machine opens windows later than Slack allows.
        patch.setattr(view_stacks, "TRIGGER_SECONDS", patience(3))
        yield apps
    for app in apps.values():
        await app.stop()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("file", USES)
async def test_an_app_of_others_works_as_on_slack(apps: dict[str, App], file: str) -> None:
    if is_on_node(file) and without_node():
        pytest.skip(without_node())
    await apps[file].wait_until_up()
    await USES[file](apps[file])
    refused = [(each.name, each.error) for each in apps[file].at.traffic() if each.state == "error"]
    assert refused == EXPECTED_ERRORS.get(file, []), "an app that nobody changed calls nothing wrong"


EXPECTED_ERRORS = {
    "reminders.py": [("chat.scheduleMessage", "time_in_past")],
    "incidents.py": [("conversations.create", "name_taken")],
}


def test_no_app_is_left_out() -> None:
    elsewhere = {
        "bolt_sync.py",
        "bolt_async.py",
        "sdk_http.py",
    }
    # Test_local_slack_command.py tries them by the command.
    assert {path.name for path in APPS.iterdir() if path.is_file()} == {*USES, *elsewhere}
    assert len(USES) + len(elsewhere) >= 15
