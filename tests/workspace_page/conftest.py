"""A real workspace and a browser that shows its page, for all tests of a file; each test has a channel of its own."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.app_parts import MessageDraft
from bot.workspace.changes import Change
from bot.workspace.person import Person
from bot.workspace.workspace_server import Workspace
from tests.patience import eventually
from tests.workspace_page.browser import Visitors, browser, chromium, open_page

__all__ = ["browser", "chromium", "open_page"]

MANIFEST = Path(__file__).parent / "page_manifest.yml"
STATE = """async ([name, value]) => (await import("/page/state.js")).state[name] === value"""
ASK = "Compare the two, with sources."
Json = dict[str, Any]
Run = Callable[[AsyncApp], Awaitable[None]]


async def say(page: Page, text: str, box: str = "composer") -> None:
    """Type a message and send it by Enter."""
    await page.get_by_test_id(box).fill(text)
    await page.get_by_test_id(box).press("Enter")


async def act_as(page: Page, person: Person) -> None:
    """Choose whom the page acts as, and wait until it does."""
    await page.get_by_test_id("act-as").select_option(person.id)
    await page.wait_for_function(STATE, arg=["me", person.id])


async def show(page: Page, workspace: Workspace, channel: str) -> None:
    """Go to a channel as Ana, and take the last test's thread out of the page, where it would stay, hidden."""
    await page.set_viewport_size({"width": 1280, "height": 800})
    await page.mouse.move(0, 0)
    await act_as(page, workspace.person("ana"))
    here = workspace.channel_id(channel)
    await page.locator(f"[data-testid=channel][data-channel={here}]").dispatch_event("click")
    await page.wait_for_function(STATE, arg=["channel", here])
    await page.locator("#thread-body").evaluate("body => body.replaceChildren()")
    await expect(page.get_by_test_id("composer")).to_have_attribute("placeholder", f"Message {channel}")


def open_channel(workspace: Workspace) -> str:
    """Open a channel for those who are in #general. Returns its name, with the `#`."""
    state = workspace._world.state
    members = list(state.channels[workspace.channel_id("#general")].members)
    made = state.create_channel(f"test-{len(state.channels)}", "channel", members, "")
    state.changes.publish(Change({"type": "members", "channel": made.id, "members": members}))
    return f"#{made.name}"


@pytest.fixture(scope="module")
def manifest() -> Path:
    """The app's manifest, for a file to have another."""
    return MANIFEST


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def workspace(manifest: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Workspace]:
    """The workspace of all tests of a file, where an empty channel offers a request, a file of one's own, a sample."""
    folder = tmp_path_factory.mktemp("drafts")
    files = tuple(folder / name for name in ("first.txt", "second.csv", "towns.csv"))
    for file in files[:2]:
        file.write_text(f"This is {file.name}", encoding="utf-8")
    files[2].write_text("town,visits\nLisbon,3\n" + "Porto,4\n" * 150, encoding="utf-8")
    request, own = MessageDraft(ASK, files[:2]), MessageDraft(label="Ask about your own table")
    drafts = [request, own, MessageDraft(files=files[2:], label="Attach towns.csv")]
    workspace = await Workspace.start(manifest, rate_limits=False, drafts=drafts)
    yield workspace
    await workspace.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def channel(workspace: Workspace) -> str:
    """A channel of the test's own, as `open_channel` makes it."""
    await workspace._world.delivery.close()  # what nobody took in while the last test ran
    return open_channel(workspace)


@pytest.fixture
def client(workspace: Workspace) -> AsyncWebClient:
    return AsyncWebClient(workspace.bot_token, base_url=workspace.api_url, timeout=10)


@pytest.fixture
def app(client: AsyncWebClient) -> AsyncApp:
    """An app to register listeners on, before `run(app)` connects it."""
    quiet = logging.getLogger("quiet-bolt")
    quiet.setLevel(logging.CRITICAL)
    return AsyncApp(client=client, logger=quiet)


@pytest_asyncio.fixture(loop_scope="session")
async def run(workspace: Workspace) -> AsyncIterator[Run]:
    """Connect an app by Socket Mode until the test ends."""
    handlers: list[AsyncSocketModeHandler] = []

    async def run(app: AsyncApp) -> None:
        handler = AsyncSocketModeHandler(app, workspace.app_token, logger=app.logger)
        handlers.append(handler)
        await handler.connect_async()  # type: ignore[no-untyped-call]

    yield run
    for handler in handlers:
        await handler.close_async()  # type: ignore[no-untyped-call]

    await eventually(lambda: not workspace.connection_count)


class Tab:
    """The page that the tests of a file share, one after another: `page` is None until a test needs it."""

    def __init__(self, browser: Browser) -> None:
        self.visitors = Visitors(browser)
        self.page: Page | None = None

    async def close(self) -> None:
        """Close the page: the next test gets a new one."""
        await self.visitors.leave()
        self.page = None


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def tab(browser: Browser) -> AsyncIterator[Tab]:
    tab = Tab(browser)
    yield tab
    await tab.close()


@pytest_asyncio.fixture(loop_scope="session")
async def page(request: pytest.FixtureRequest, workspace: Workspace, channel: str, tab: Tab) -> AsyncIterator[Page]:
    """The page as Ana sees it, in the test's channel. A test that fails leaves no page to those after it."""
    failed = request.session.testsfailed
    if tab.page is None:
        tab.page = await tab.visitors.open_page(workspace.page_url)
    await show(tab.page, workspace, channel)
    yield tab.page
    errors = tab.visitors.take_errors()
    if errors or request.session.testsfailed > failed:
        await tab.close()
    assert not errors, "\n".join(errors)
