"""Cleans untrusted text, piece by piece: the only place where outgoing text is rewritten.

Code spans, fences and links are not passed on as they are, but written anew, in forms that all Markdown parsers read
alike.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Literal

from bot.slack.text import link_safety
from bot.slack.text.link_safety import BROADCAST_PATTERN
from handoff.briefs.addresses import yield_address_candidates
from handoff.text.invisible_characters import remove_invisible

Markup = Literal["markdown", "mrkdwn"]

_SLACK_CONTROL = re.compile(r"<(?=[!@#]|[a-z]{2,12}:)", re.IGNORECASE)
_LINE_PREFIX = re.compile(r"(?:[ \t]|>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t])){0,60}")
_LIST_MARKER = re.compile(r"[-*+]|\d{1,9}[.)]?")
_MARK_RUN = re.compile(r"`{1,40}|~{1,40}")
_WORD = re.compile(r"(?:[^\s`<>|\[\]()*!\\]|\\[./:@\-_~%?=#+,;$'\"^{}&]){1,1000}")
_SPACE = re.compile(r"[^\S\n]{1,1000}")
_BACKSLASH_ESCAPE = re.compile(r"\\([^\w\s])")
_LINK_LABEL = re.compile(r"!?\[([^\[\]\n]{0,300})")
_LINK_TARGET = re.compile(
    r"\([ \t]{0,9}<?((?:[^\s<>()`|]|\([^\s<>()`|]{0,200}\)){0,1500})>?"
    r"""(?:[ \t]{1,9}(?:"[^"\n]{0,200}"|'[^'\n]{0,200}'))?[ \t]{0,9}\)"""
)
_MAX_TARGET_LENGTH = 2000
_HTML_BREAK = re.compile(r"<br ?/?>", re.IGNORECASE)
_FENCE = "```"
_TICKS = re.compile(r"`{3,}")
_TILDES = re.compile(r"~{3,}")
_MAX_LINE_LENGTH = 2000
_CHUNK_LENGTH = 1000


class StreamCleaner:
    """Cleans text that comes in pieces, and returns only output that no later piece can change.

    However the text is cut into pieces, the joined outputs equal the cleaned whole text. An address becomes a link only
    if it is one of `known`, word for word.
    """

    def __init__(self, *, known_addresses: Collection[str] = (), markup: Markup = "markdown") -> None:
        self._known_addresses = frozenset(known_addresses)
        self._markup = markup
        self._pending = ""
        self._out: list[str] = []
        self._last_character = ""
        self._is_line_start = True
        self._is_after_code = False
        self._fence_length = 0
        self._fence_mark = ""
        self._is_fence_midline = False

    def feed(self, piece: str) -> str:
        """Add the next piece of the text, and return the new output that no later piece can change."""
        self._pending += remove_invisible(piece)
        return self._clean_pending(final=False)

    def finish(self) -> str:
        """Return the rest of the output, with an open code fence closed."""
        cleaned_text = self._clean_pending(final=True)
        if not self._fence_length:
            return cleaned_text
        self._fence_length = 0
        return cleaned_text + ("" if self._last_character == "\n" else "\n") + _FENCE

    def clean_whole(self, text: str) -> str:
        """Clean a whole text at once."""
        return self.feed(text) + self.finish()

    def _clean_pending(self, *, final: bool) -> str:
        at, text = 0, self._pending
        while at < len(text):
            end = self._clean_fenced_line(text, at, final) if self._fence_length else self._clean_next(text, at, final)
            if end is None:
                break
            at = end
        self._pending = text[at:]
        cleaned_text = "".join(self._out)
        self._out.clear()
        return cleaned_text

    def _put(self, text: str) -> None:
        if not text:
            return
        if self._is_after_code and self._markup == "mrkdwn" and _is_word_character(text[0]):
            self._out.append(" ")  # mrkdwn reads a backtick next to a letter as no code mark
        self._is_after_code = False
        self._out.append(text)
        self._last_character = text[-1]

    def _put_code(self, content: str) -> None:
        """Put out a code span between single backticks, as some Markdown parsers know no longer marks."""
        content = content.replace("`", "'")
        if not content.strip():
            return
        self._separate_mark()
        self._out.append(f"`{self._escape_code_content(content)}`")
        self._last_character = "`"
        self._is_after_code = True

    def _separate_mark(self) -> None:
        """Put out a space if the last character would escape, lengthen or disable the backtick that comes next."""
        if self._last_character in {"`", "\\"} or (
            self._markup == "mrkdwn" and _is_word_character(self._last_character)
        ):
            self._out.append(" ")

    def _escape_code_content(self, content: str) -> str:
        if self._markup == "mrkdwn":
            return _escape(content)
        return _SLACK_CONTROL.sub("< ", content)

    # Each of these methods cleans the text from a position on. It returns the position at which it stopped, or None if
    # it cannot decide before more text comes.

    def _clean_next(self, text: str, position: int, final: bool) -> int | None:  # noqa: FBT001  asked in every step
        if self._is_line_start:
            return self._clean_line_start(text, position, final)
        character = text[position]
        if character == "\n":
            self._put("\n")
            self._is_line_start = True
            return position + 1
        if character == "`":
            return self._clean_code_span(text, position, final)
        if character in "![":
            return self._clean_link(text, position, final)
        if character in "\\]<":
            if position + 1 == len(text) and not final:
                return None
            return self._clean_by_next_character(text, position, final)
        if character in ">()*|":
            self._put("&gt;" if character == ">" else character)
            return position + 1
        return self._clean_word_or_space(text, position, final)

    def _clean_line_start(self, text: str, position: int, final: bool) -> int | None:  # noqa: FBT001
        prefix_end = _LINE_PREFIX.match(text, position).end()  # type: ignore[union-attr]  # it always matches, as it may match ""
        rest = text[prefix_end : prefix_end + 12]
        if not final and (not rest or (len(rest) < 12 and _LIST_MARKER.fullmatch(rest))):
            return None
        run = _MARK_RUN.match(text, prefix_end)
        if run is None or self._markup == "mrkdwn":
            return self._clean_prefix(text, position, prefix_end)
        if run.end() == len(text) and not final:
            return None
        if len(run.group()) < 3:
            return self._clean_prefix(text, position, prefix_end)
        line_end = text.find("\n", run.end(), run.end() + 200)
        if line_end < 0 and not final and len(text) - run.end() < 200:
            return None
        info = text[run.end() : line_end if line_end >= 0 else len(text)]
        if "`" in info or len(info) > 199:
            return self._clean_prefix(text, position, prefix_end)
        # The fence is put at the start of a line, outside any quote or list, whose end would end the fence too.
        # It is always ```, the mark that every reader knows.
        self._fence_mark, self._fence_length = run.group()[0], len(run.group())
        self._put(_FENCE + re.sub(r"[^\w+\-#. ]", "", info).strip() + "\n")
        self._is_fence_midline = False
        return line_end + 1 if line_end >= 0 else len(text)

    def _clean_prefix(self, text: str, position: int, end: int) -> int:
        prefix = text[position:end]
        self._put(prefix if self._markup == "markdown" else prefix.replace(">", "&gt;"))
        self._is_line_start = False
        return end

    def _clean_fenced_line(self, text: str, position: int, final: bool) -> int | None:  # noqa: FBT001
        line_end = text.find("\n", position, position + _MAX_LINE_LENGTH)
        if line_end < 0 and not final and len(text) - position < _MAX_LINE_LENGTH:
            return None
        if line_end < 0 and len(text) - position >= _MAX_LINE_LENGTH:
            self._put(self._escape_code_content(_escape_fence(text[position : position + _CHUNK_LENGTH])) + "\n")
            self._is_fence_midline = True
            return position + _CHUNK_LENGTH
        line = text[position : line_end if line_end >= 0 else len(text)]
        bare = line.strip(" \t>")
        if not self._is_fence_midline and len(bare) >= self._fence_length and set(bare) == {self._fence_mark}:
            line = _FENCE
            self._fence_length, self._is_line_start = 0, line_end >= 0
        else:
            line = self._escape_code_content(_escape_fence(line))
        self._is_fence_midline = False
        self._put(line + "\n" * (line_end >= 0))
        return len(text) if line_end < 0 else line_end + 1

    def _clean_code_span(self, text: str, position: int, final: bool) -> int | None:  # noqa: FBT001
        run = _MARK_RUN.match(text, position)
        ticks = len(run.group()) if run else 1
        if position + ticks == len(text) and not final and ticks < 40:
            return None
        limit = position + ticks + _MAX_LINE_LENGTH
        line_end = text.find("\n", position, limit)
        scan_end = line_end if line_end >= 0 else min(len(text), limit)
        close = _find_closing_ticks(text, position + ticks, scan_end, ticks)
        if close is not None and (close + ticks < scan_end or line_end >= 0 or final or scan_end == limit):
            content = text[position + ticks : close]
            if "|" in content and next(link_safety.find_address_spans(content.replace("|", " ")), None):
                content = content.replace("|", "\\|")  # in a table, a bare | would end the code span and free the link
            self._put_code(content)
            return close + ticks
        if line_end < 0 and not final and len(text) < limit:
            return None
        self._put("'" * ticks)
        return position + ticks

    def _clean_link(self, text: str, position: int, final: bool) -> int | None:  # noqa: FBT001
        label = _LINK_LABEL.match(text, position)
        if label is None:  # an exclamation mark alone
            if position + 1 == len(text) and not final:
                return None
            self._put("!")
            return position + 1
        end = label.end()
        if end == len(text) and not final and len(label.group(1)) < 300:
            return None
        if text[end : end + 1] == "]":
            if end + 1 == len(text) and not final:
                return None
            if text[end + 1 : end + 2] == "(":
                target = _LINK_TARGET.match(text, end + 1, end + 1 + _MAX_TARGET_LENGTH)
                if target is not None:
                    self._put_link_or_words(label.group(1), target.group(1))
                    return target.end()
                limit = end + 1 + _MAX_TARGET_LENGTH
                if not final and len(text) < limit and text.find("\n", end, limit) < 0:
                    return None
        self._put(text[position : label.start(1)])
        return label.start(1)

    def _put_link_or_words(self, label: str, address: str) -> None:
        address = _BACKSLASH_ESCAPE.sub(r"\1", address)
        inner = StreamCleaner(markup=self._markup)  # no link stands inside another
        inner._is_line_start = False
        words = inner.clean_whole(label)
        if link_safety.is_linkable(plainly := link_safety.unescape_address(address), self._known_addresses):
            address = plainly
            if not label.strip() or link_safety.names_same_address(label, address):
                self._put_link(address, _escape(label.strip()) if label.strip() != address else "")
            elif link_safety.names_other_address(label, address):
                if words.startswith("`"):
                    self._separate_mark()
                self._put(f"{words} (")
                self._put_link(address)
                self._put(")")
            else:
                self._put_link(address, words)
        elif not label.strip() or label.strip().lower() in address.lower():
            self._put_code(link_safety.flatten_address(address))
        else:
            if words.startswith("`"):
                self._separate_mark()
            self._put(words)
            self._put(" (")
            self._put_code(link_safety.flatten_address(address))
            self._put(")")

    def _clean_by_next_character(self, text: str, position: int, final: bool) -> int | None:  # noqa: FBT001
        """Clean a backslash, `]` or `<`, whose meaning depends on the next character."""
        character, following = text[position], text[position + 1 : position + 2]
        if character == "]":  # so that no link target or reference definition follows
            self._put("] " if following and following in "(:[" else "]")
            return position + 1
        if character == "<":
            return self._clean_less_than(text, position, final)
        if following == "`":
            self._put("'")
            return position + 2
        if following and following in "[()!*|\\" and self._markup == "markdown":
            self._put("\\" + following)
            return position + 2
        if following and following in "<>&":
            return position + 1
        if _WORD.match(text, position):
            return self._clean_word_or_space(text, position, final)
        self._put("\\")
        return position + 1

    def _clean_less_than(self, text: str, position: int, final: bool) -> int | None:  # noqa: FBT001
        """Clean a `<`, which may begin a known address in angle brackets or an HTML line break."""
        if self._known_addresses and (angled_address := link_safety.read_angled_address(text, position)):
            address, end, whole = angled_address
            if whole and link_safety.is_linkable(address, self._known_addresses):
                self._put_link(address)
                return end
            if not whole and not final and len(address) < link_safety.MAX_LINK_LENGTH:
                return None
        tag = _HTML_BREAK.match(text, position)
        if tag is None and not final and len(text) - position < 6 and "<br />".startswith(text[position:].lower()):
            return None
        self._put(" " if tag else "&lt;")
        return tag.end() if tag else position + 1

    def _clean_word_or_space(self, text: str, position: int, final: bool) -> int | None:  # noqa: FBT001
        match = _SPACE.match(text, position)
        if match is not None:
            self._put(match.group())
            return match.end()
        match = _WORD.match(text, position)
        if match is None:
            self._put(_escape(text[position]))
            return position + 1
        end = match.end()
        open_ended = end == len(text) or (text[end] == "\\" and end + 1 == len(text))
        if open_ended and not final:
            return None
        start = link_safety.SCHEME.search(match.group()) if self._known_addresses else None
        if start is None:
            self._clean_word(match.group())
            return end
        if start.start():
            self._clean_word(match.group()[: start.start()])
            return position + start.start()
        token = link_safety.ADDRESS_RUN.match(text, position)
        if token is None:
            self._clean_word(match.group())
            return end
        if token.end() == len(text) and not final and len(token.group()) < link_safety.MAX_LINK_LENGTH:
            return None
        return self._clean_known_address(
            token.group(), text[token.end() : token.end() + 1], position
        ) or self._clean_matched_word(match)

    def _clean_known_address(self, token: str, next_character: str, position: int) -> int | None:
        """If a token begins with a known address, put out a link. Returns the position after the address, or None."""
        if next_character.lower() != next_character.upper():  # the address goes on with a letter beyond ASCII
            return None
        for raw in yield_address_candidates(token):
            address = link_safety.unescape_address(raw)
            if link_safety.is_linkable(address, self._known_addresses):
                self._put_link(address)
                return position + len(raw)
        return None

    def _clean_matched_word(self, match: re.Match[str]) -> int:
        self._clean_word(match.group())
        return match.end()

    def _put_link(self, address: str, words: str = "") -> None:
        """Put out a link. Without words, people see the address itself."""
        if self._markup == "mrkdwn":
            self._put(link_safety.render_mrkdwn_link(_escape(address), words))
        else:
            self._put(link_safety.render_markdown_link(address, words, self._last_character))

    def _clean_word(self, word_markup: str) -> None:
        word_markup = self._break_tildes(word_markup)
        word, at = _BACKSLASH_ESCAPE.sub(r"\1", word_markup), 0
        for span in link_safety.find_address_spans(word):
            self._put_text(word[at : span.start])
            self._put_code(link_safety.flatten_address(span.address))
            at = span.end
        rest = word[at:] if at or self._markup == "mrkdwn" else word_markup
        self._put_text(rest)

    def _put_text(self, text: str) -> None:
        """Put out text without addresses. Words such as @channel, which could notify everybody, become code."""
        at = 0
        for match in BROADCAST_PATTERN.finditer(text):
            self._put(_escape(text[at : match.start()]))
            self._put_code(match.group())
            at = match.end()
        self._put(_escape(text[at:]))

    def _break_tildes(self, word: str) -> str:
        """Shorten runs of tildes to two: some Markdown parsers take three for a fence."""
        return _TILDES.sub("~~", word.lstrip("~") if self._last_character == "~" else word)


def _is_word_character(character: str) -> bool:
    return character.isalnum() or character == "_"


def _find_closing_ticks(text: str, start: int, end: int, ticks: int) -> int | None:
    """Return the position of the run of exactly `ticks` backticks that closes a code span; None if there is none."""
    for run in re.compile("`+").finditer(text, start, end):
        if len(run.group()) == ticks:
            return run.start()
    return None


def _escape_fence(line: str) -> str:
    """Replace backticks that would close the code fence around a line by apostrophes."""
    return _TICKS.sub(lambda run: "'" * len(run.group()), line)


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
