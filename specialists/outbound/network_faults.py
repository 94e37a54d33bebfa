"""Describes connection faults that the operator can fix: an untrusted certificate, or the proxy."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator

from specialists.outbound.network import CA_FILE

PROXY_DOCS_PAGE = "docs/install.md, “Behind a proxy”"
_ERROR_STATUS = re.compile(r"\b(?P<status>40[0-9]|50[0-9])\b")
_PROXY_LOGIN_STATUS = 407
_CERTIFICATE_ERROR = re.compile(r"certificate verify failed: (?P<why>.*?)(?: \(_ssl|\]|$)", re.IGNORECASE)
_PROXY_ERRORS = frozenset({"ProxyError", "ClientProxyConnectionError", "ClientHttpProxyError"})
"""Class names of the libraries' proxy errors, so that no library has to be imported here."""


def describe_network_fault(error: BaseException) -> str:
    """Return what the operator can do about a failed connection, as a clause without a full stop.

    Returns "" if the fault is neither a certificate nor the proxy. No proxy address is quoted, as it may hold a
    password.
    """
    chain = tuple(_iterate_causes(error))
    for one in chain:
        if match := _CERTIFICATE_ERROR.search(str(one)):
            return describe_certificate_fault(match["why"])
        if isinstance(one, ssl.SSLCertVerificationError):
            return describe_certificate_fault("it cannot be verified")
    for one in chain:
        if type(one).__name__ in _PROXY_ERRORS:
            return _describe_proxy_fault(one)
    return ""


def describe_certificate_fault(reason: str) -> str:
    """Return what to do about an untrusted certificate; `reason` is OpenSSL's reason."""
    return (
        f"its certificate is not trusted: {reason.strip()}. If a proxy of yours ends TLS, or the server has a "
        "certificate "
        f"of your own, name the file of that authority in {CA_FILE} ({PROXY_DOCS_PAGE})"
    )


def _describe_proxy_fault(error: BaseException) -> str:
    status = getattr(error, "status", None)
    if not isinstance(status, int):
        match = _ERROR_STATUS.search(str(error))
        status = int(match["status"]) if match else 0
    if status == _PROXY_LOGIN_STATUS:
        return f"the proxy wants a user and a password: HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT ({PROXY_DOCS_PAGE})"
    if status:
        return (
            f"the proxy refuses the connection ({status}): allow the host there, or name it in NO_PROXY "
            f"({PROXY_DOCS_PAGE})"
        )
    return f"the proxy does not answer: look at HTTPS_PROXY ({PROXY_DOCS_PAGE})"


def _iterate_causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes. An exception group is followed by its first error."""
    seen_ids: set[int] = set()
    while error is not None and id(error) not in seen_ids:
        seen_ids.add(id(error))
        yield error
        error = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error.__cause__ or error.__context__
