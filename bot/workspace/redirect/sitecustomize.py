"""Makes slack_sdk call SLACK_API_URL instead of slack.com, in an app whose code does not read that variable.

`leadhand slack -- python app.py` puts this folder on PYTHONPATH, and Python imports the module at its start. It imports
no slack_sdk itself: each client is changed when the app imports it. It runs on the app's Python, so it needs nothing
but the standard library.
"""

from __future__ import annotations

import functools
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from typing import Any

SLACK_URL = "https://slack.com/"
CLIENT_CLASSES = {
    "slack_sdk.web.base_client": "BaseClient",
    "slack_sdk.web.async_base_client": "AsyncBaseClient",
    "slack_sdk.web.legacy_base_client": "LegacyBaseClient",
    "slack.web.base_client": "BaseClient",
}
"""The client class to change, by module. The last module is that of slackclient 2, the predecessor of slack_sdk."""
PROXY_MODULE = "slack_sdk.proxy_env_variable_loader"
OAUTH_MODULE = "slack_sdk.oauth.authorize_url_generator"
"""The SDK's module that makes the address at which a browser is asked to allow the app."""


class RedirectFinder:
    """An import finder that changes the SDK's modules once they are loaded."""

    def __init__(self, url: str) -> None:
        self._url = url

    def find_spec(self, name: str, path: Any = None, _target: object = None) -> ModuleSpec | None:
        """Return the spec of a module of the SDK that is changed after loading; None for any other module."""
        spec = (
            PathFinder.find_spec(name, path) if name in CLIENT_CLASSES or name in (PROXY_MODULE, OAUTH_MODULE) else None
        )
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_change(module: Any) -> None:
                load(module)
                self._change_module(module)

            spec.loader.exec_module = load_and_change  # type: ignore[method-assign]
        return spec

    def _change_module(self, module: Any) -> None:
        if module.__name__ == PROXY_MODULE:
            module.load_http_proxy_from_env = _return_no_proxy
        elif module.__name__ == OAUTH_MODULE:
            _redirect_class(module.AuthorizeUrlGenerator, "authorization_url", self._url.removesuffix("api/"))
        else:
            client = getattr(module, CLIENT_CLASSES[module.__name__])
            _redirect_class(client, "base_url", self._url)
            client.BASE_URL = self._url


def _redirect_class(sdk_class: Any, attribute: str, url: str) -> None:
    """Replace Slack's address by `url` in the attribute `attribute` of every new object of a class."""
    original_init, slack = sdk_class.__init__, f"{SLACK_URL}api/" if attribute == "base_url" else SLACK_URL

    @functools.wraps(original_init)
    def init(self: Any, *args: Any, **options: Any) -> None:
        original_init(self, *args, **options)
        address = getattr(self, attribute)
        if address.startswith(SLACK_URL):
            setattr(self, attribute, url + address.removeprefix(slack))

    sdk_class.__init__ = init


def _return_no_proxy(*_: object, **__: object) -> None:
    """Return None in place of the SDK's `load_http_proxy_from_env`, which ignores NO_PROXY for this machine."""


def _run_next_sitecustomize() -> None:
    """Remove this folder from `sys.path`, and run the `sitecustomize` that Python would have found without it."""
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - no pathlib, which costs each start
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]  # noqa: PTH100 - the same
    spec = PathFinder.find_spec("sitecustomize")
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))


if os.environ.get("SLACK_API_URL"):
    sys.meta_path.insert(0, RedirectFinder(os.environ["SLACK_API_URL"]))
_run_next_sitecustomize()
