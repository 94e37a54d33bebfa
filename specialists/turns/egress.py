"""Rules on what a call sends out of the bot: it is allowed, waits for a person, or is refused.

Hosts and search engines see what they are asked for. So:

- **Nothing private in view.** Queries are free. URLs are free until something was read; from then on a URL must be
  known: given word for word by the requester, a search or a page, or on a host that the requester named.
- **Something private in view** (`handoff.briefs.provenance`), in the brief or since a tool returned it: only URLs and
  words that the requester gave are free. Choosing among them can carry a message, so it is counted in bits. All other
  calls wait for a person, who sees what would leave.

A known URL is requested in the spelling in which it was given, and a query is sent in the requester's spelling. Calls
that a crew allows (`allow_out`) or a person approved go out. The calls of the first turn are judged by the brief alone,
those of later turns by all that was read before the model made them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from urllib.parse import quote, unquote

from pydantic import BaseModel, ValidationError

from handoff.briefs.addresses import find_addresses
from handoff.contracts import ToolReply
from handoff.state.state_values import Provenance, make_reply_source
from specialists.tools.tool import OutgoingData, Tool
from specialists.turns.call_approval import UnreleasedData
from specialists.turns.known_urls import (
    KnownUrls,
    encode_host,
    extract_host,
    extract_site,
    find_absolute_urls,
    find_urls_and_domains,
    fold_host,
)
from specialists.turns.requester_words import REQUEST_BITS, BitBudget, find_free_words

MAX_REQUESTS_PER_SITE, MAX_REQUESTS = 10, 30
"""Most requests to one site, and to all sites, that an attempt may choose among known URLs after reading something."""
MAX_SHOWN_CHARACTERS = 1_400
"""Most characters of a request that a person is asked about: a longer one cannot be shown whole, and is refused."""

NOT_FROM_REQUESTER_REASON = "a model put this together or took it from the web"
TOO_MANY_CHOICES_REASON = "it has chosen among many addresses by now, and each choice can say something"
IN_VIEW_CLAUSE = ", and could see {names}"
MAX_NAMED_SOURCES = 3
"""Most private sources that people are told by name; of further ones, the number."""
IN_CLEAR_LABEL = "In clear:"


@dataclass(frozen=True, slots=True)
class EgressVerdict:
    """The guard's ruling on a call.

    Attributes:
        arguments: The arguments with which the call may be made.
        recipient: The host or service that it sends to; "" if it sends nothing out.
        unreleased_data: The data that people have to release first; None if there is none.
        refusal_note: The name of the file in `notes/` with the model's message if the call is refused; otherwise "".
    """

    arguments: BaseModel
    recipient: str = ""
    unreleased_data: UnreleasedData | None = None
    refusal_note: str = ""


class EgressGuard:
    """Rules on what the calls of one attempt send out.

    Args:
        provenance: The words of the requester, and what is private in view from the start.
        toolbox: The specialist's tools by name. Only tools with `finds_urls` make URLs known: a model can make the
            others return anything.
        has_derived_content: True if the brief has content that models or tools produced.
        allow_out: The tools and hosts that the crew allows.

    Attributes:
        citable_addresses: The addresses in the replies of the tools that find URLs or cite, word for word.
        sources: The sources of all private data in view when the last turn was taken.
    """

    def __init__(
        self,
        provenance: Provenance,
        toolbox: Mapping[str, Tool] = MappingProxyType({}),
        *,
        has_derived_content: bool = False,
        allow_out: Collection[str] = (),
    ) -> None:
        self.citable_addresses: set[str] = set()
        self._requester_texts = provenance.requester_texts
        self._toolbox = toolbox
        self._allowed_recipients = frozenset(fold_host(one) for one in allow_out)
        self._private_names = list(provenance.private_names)
        self._private_in_view = tuple(self._private_names)
        self._sources = dict.fromkeys(provenance.sources)
        self.sources = tuple(self._sources)
        self._has_read = self._is_restricted = has_derived_content
        self._budget = BitBudget(REQUEST_BITS * provenance.leak_share)
        self._request_counts: Counter[str] = Counter()
        self._verdicts: dict[str, EgressVerdict] = {}

    @cached_property
    def _requester_urls(self) -> list[str]:
        """The URLs in the requester's words, https first.

        Found only when something is to be sent, as threads may be long.
        """
        return sorted({url for text in self._requester_texts for url in find_urls_and_domains(text)}, reverse=True)

    @cached_property
    def _requester_known_urls(self) -> KnownUrls:
        """The URLs that the requester gave."""
        return _collect_known_urls(self._requester_urls)

    @cached_property
    def _all_known_urls(self) -> KnownUrls:
        """The URLs that the requester gave or tools found."""
        return _collect_known_urls(self._requester_urls)

    @cached_property
    def _requester_hosts(self) -> set[str]:
        return {extract_host(url) for url in self._requester_urls} - {""}

    # ------------------------------------------------------------ what was read

    def begin_turn_calls(self) -> None:
        """Judge the calls of the turn that the model just took by all that was read before it; drop old verdicts."""
        self._is_restricted = self._has_read
        self._private_in_view = tuple(self._private_names)
        self.sources = tuple(self._sources)
        self._verdicts.clear()

    def record_reply(self, tool: str, reply: ToolReply, target: str = "") -> None:
        """Record a tool's reply: what of it is private, and the URLs in it if the tool takes them from the web.

        `target` is where the call went; "" if its tool does not say.
        """
        if self.is_private_tool(tool):
            source = make_reply_source(tool, target, reply.text)
            self._private_names += [source.name] if source.name not in self._private_names else []
            self._sources[source] = None
        if reply.failed:
            return
        self._has_read = True
        one = self._toolbox.get(tool)
        if one is not None and (one.finds_urls or one.cites):
            self.citable_addresses |= find_addresses(reply.text)
        if one is not None and one.finds_urls:
            for url in sorted(find_absolute_urls(reply.text)):
                self._all_known_urls.add(url)

    def is_private_tool(self, tool: str) -> bool:
        """Return True if a tool's replies are private: the tool is one of the specialist's, and not public."""
        one = self._toolbox.get(tool)
        return one is not None and not (one.public or one.finds_urls)

    # ------------------------------------------------------------ what leaves

    def judge_call(self, tool: Tool, arguments: BaseModel) -> EgressVerdict:
        """Rule on a call of the turn that the model just took.

        The same call twice in one turn is judged once, and counts as made once if it is allowed.
        """
        key = f"{tool.name} {arguments.model_dump_json()}"
        if key not in self._verdicts:
            self._verdicts[key] = self._judge_new_call(tool, arguments)
        return self._verdicts[key]

    def _judge_new_call(self, tool: Tool, arguments: BaseModel) -> EgressVerdict:
        verdict = self._judge_url(tool, arguments) if tool.url else EgressVerdict(arguments)
        if tool.sends is None or verdict.refusal_note:
            return verdict
        sending_verdict = self._judge_sending(tool, verdict.arguments, tool.sends(verdict.arguments))
        return sending_verdict if sending_verdict.unreleased_data or not verdict.unreleased_data else verdict

    def _judge_sending(self, tool: Tool, arguments: BaseModel, outgoing: OutgoingData) -> EgressVerdict:
        if not self._private_in_view or {tool.name, outgoing.to} & self._allowed_recipients:
            return EgressVerdict(arguments, outgoing.to)
        if (reduced_arguments := self._reduce_to_requester_words(tool, arguments)) is not None:
            return EgressVerdict(reduced_arguments, outgoing.to)
        return self._require_release(arguments, outgoing, NOT_FROM_REQUESTER_REASON)

    def may_follow(self, url: str, target: str) -> bool:
        """Return True if a call for `url` may follow its redirect to `target`.

        The same host learns nothing new. Another host must be one that a call could name. With nothing private in view,
        the target of a known URL becomes known as well.
        """
        if self._is_unrestricted:
            return True
        source, host = extract_host(url), extract_host(target)
        is_known = self._all_known_urls.find_known_spelling(url) == url
        if not host:
            return False
        if (
            host == source
            or host in self._allowed_recipients
            or self._requester_known_urls.find_known_spelling(target) is not None
        ):
            follows = True
        else:
            follows = not self._private_in_view and (is_known or host in self._requester_hosts)
        if follows and is_known and not self._private_in_view:
            self._all_known_urls.add(target)
        return follows

    @property
    def _is_unrestricted(self) -> bool:
        """True if nothing was read or given that could make a model send out what it should not."""
        return not self._is_restricted and not self._private_in_view

    def _judge_url(self, tool: Tool, arguments: BaseModel) -> EgressVerdict:
        requested_url = str(getattr(arguments, tool.url)).strip()
        requester_url = self._requester_known_urls.find_known_spelling(requested_url)
        url = requester_url or self._all_known_urls.find_known_spelling(requested_url)
        host = extract_host(url or requested_url)
        arguments = arguments.model_copy(update={tool.url: url or requested_url})
        outgoing = OutgoingData(host, format_request(url or requested_url))
        if self._is_unrestricted or (host and host in self._allowed_recipients):
            return EgressVerdict(arguments, host)
        if not host:
            return EgressVerdict(arguments, refusal_note="url_refused")
        if self._private_in_view and requester_url is None:
            return self._require_release(arguments, outgoing, NOT_FROM_REQUESTER_REASON)
        if url is None and host not in self._requester_hosts:
            return EgressVerdict(arguments, host, refusal_note="url_refused")
        return (
            EgressVerdict(arguments, host)
            if self._admit_known_url(host)
            else self._require_release(arguments, outgoing, TOO_MANY_CHOICES_REASON)
        )

    def _admit_known_url(self, host: str) -> bool:
        """Count a request among known URLs. Returns False if the attempt has made too many."""
        site = extract_site(host)
        if self._request_counts[site] >= MAX_REQUESTS_PER_SITE or self._request_counts.total() >= MAX_REQUESTS:
            return False
        if self._private_in_view and not self._budget.spend(math.log2(max(1, len(self._requester_known_urls)))):
            return False
        self._request_counts[site] += 1
        return True

    def _reduce_to_requester_words(self, tool: Tool, arguments: BaseModel) -> BaseModel | None:
        """Reduce a call to the requester's words and default values; None if it needs other words, or too many bits."""
        free_words = (
            find_free_words(str(getattr(arguments, tool.sent_words)), self._requester_texts)
            if tool.sent_words
            else None
        )
        if free_words is None:
            return None
        try:
            reduced_arguments = tool.arguments.model_validate({tool.sent_words: free_words.text})
        except ValidationError:
            return None
        return reduced_arguments if self._budget.spend(free_words.bits) else None

    def _require_release(self, arguments: BaseModel, outgoing: OutgoingData, reason: str) -> EgressVerdict:
        shown_text = describe_request(outgoing)
        if shown_text is None:
            return EgressVerdict(arguments, outgoing.to, refusal_note="too_long_to_ask")
        return EgressVerdict(
            arguments,
            outgoing.to,
            unreleased_data=UnreleasedData(shown_text, f"{reason}{_describe_private_view(self._private_in_view)}"),
        )


def describe_request(outgoing: OutgoingData) -> str | None:
    """Return what people are shown of a request besides its arguments; None if it is too long to be shown whole."""
    if outgoing.in_arguments:
        return ""
    if len(outgoing.wire) > MAX_SHOWN_CHARACTERS:
        return None
    clear = outgoing.clear or unquote(outgoing.wire)
    return outgoing.wire if clear == outgoing.wire else f"{outgoing.wire}\n{IN_CLEAR_LABEL}\n{clear}"


def _collect_known_urls(urls: Iterable[str]) -> KnownUrls:
    known_urls = KnownUrls()
    for url in urls:
        known_urls.add(url)
    return known_urls


def _describe_private_view(private: Sequence[str]) -> str:
    """Return a clause that names the private sources in view, to follow the reason."""
    if not private:
        return ""
    more = [f"{len(private) - MAX_NAMED_SOURCES} more"] if len(private) > MAX_NAMED_SOURCES else []
    return IN_VIEW_CLAUSE.format(names=", ".join([*private[:MAX_NAMED_SOURCES], *more]))


def format_request(url: str) -> str:
    """Return the request for a URL as it is sent: in ASCII, without the URL's fragment."""
    return f"GET {quote(encode_host(url.partition('#')[0]), safe=_UNESCAPED_SIGNS)}"


_UNESCAPED_SIGNS = "%/:?#[]@!$&'()*+,;=~-._"
"""Characters of a URL that are sent unescaped."""
