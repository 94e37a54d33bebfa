"""The tables of what the workspace supports, as Markdown: `python -m bot.workspace --methods`."""

from bot.workspace.delivery import SCOPES
from bot.workspace.manifest_notes import SENT_EVENTS
from bot.workspace.web_api.api_call import Method
from bot.workspace.web_api.method_table import METHODS

METHOD_HEAD = "| method | does | must have | scope | a minute |\n| --- | --- | --- | --- | --- |"
EVENT_HEAD = "| event | sent | scope |\n| --- | --- | --- |"


def render_support_tables() -> str:
    """Return both tables: the methods of the Web API, and the events."""
    methods = "\n".join(_render_method(name, METHODS[name]) for name in sorted(METHODS))
    events = "\n".join(_render_event(name) for name in sorted(SENT_EVENTS))
    return f"{METHOD_HEAD}\n{methods}\n\n{EVENT_HEAD}\n{events}\n"


def _render_method(name: str, method: Method) -> str:
    does = (method.handler.__doc__ or "").strip().partition("\n")[0].partition(". ")[0].removesuffix(".")
    limit = f"{method.limit.per_minute}" + (f" for each {method.limit.by}" if method.limit.by else "")
    return f"| `{name}` | {does} | {_render_code(method.required)} | {_render_code(method.scopes, ' or ')} | {limit} |"


def _render_event(name: str) -> str:
    return f"| `{name}` | {SENT_EVENTS[name]} | {_render_code(SCOPES.get(name, ()))} |"


def _render_code(names: tuple[str, ...], between: str = ", ") -> str:
    return between.join(f"`{name}`" for name in names)
