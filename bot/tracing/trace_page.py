"""Renders a trace as one self-contained HTML page: no network, and no script but ours runs.

Its template, style and scripts lie in `page/` beside this file. The texts of people, models and tools are embedded as
JSON in a block of data, which the scripts only render as text. The content security policy of the page allows our
scripts and our style by their digests, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from functools import cache
from pathlib import Path
from typing import Any

from bot.tracing.cut_texts import choose_cap, cut, cut_all
from bot.tracing.export import export
from bot.tracing.picture_layout import STATES
from bot.tracing.time_scale import scale_of
from bot.tracing.whole_trace import RequestFigures, Trace

MOST_CHARACTERS = 2_500_000
"""Characters at most of all long texts in the page together; if there are more, each text is cut."""
_PAGE = Path(__file__).parent / "page"
_SCRIPTS = ("trace.js", "trace_waterfall.js", "trace_search.js")
_TITLE = 80


def trace_page(trace: Trace) -> str:
    """Render a trace as an HTML page."""
    template, style, script = _read_page_parts()
    first = trace.requests[-1].text if trace.requests else ""
    title = cut(" ".join(first.split()), _TITLE) or "a job"
    filled = {
        "policy": _content_policy(style, script),
        "title": html.escape(f"Trace of {trace.job}: {title}"),
        "style": style,
        "trace": _embed_json(_build_page_data(trace)),
        "script": script,
    }
    parts = template.split("{{")
    return parts[0] + "".join(filled[name] + rest for name, rest in (part.split("}}", 1) for part in parts[1:]))


def _build_page_data(trace: Trace) -> dict[str, Any]:
    """Return the data of the page: the export without the events of the log, and the time scale of each request.

    The list `derived` has each sentence on how times were derived once; a span has the index of its sentence.
    """
    whole = export(trace, events=False)
    cap = choose_cap(whole["spans"], MOST_CHARACTERS)
    spans = cut_all(whole["spans"], cap)
    derived = list(dict.fromkeys(one["derived"] for one in spans if "derived" in one))
    places = {words: place for place, words in enumerate(derived)}
    shown = [{**one, "derived": places[one["derived"]]} if "derived" in one else one for one in spans]
    requests = [
        {**told, **_lay_out_request(trace, figures)}
        for told, figures in zip(whole["requests"], trace.requests, strict=True)
    ]
    return {**whole, "until": trace.until, "derived": derived, "requests": requests, "spans": shown}


def _lay_out_request(trace: Trace, figures: RequestFigures) -> dict[str, Any]:
    """Return the additional fields of a request: its state in words, and its time scale."""
    scale = scale_of(trace.spans_of(figures.id), figures.start, figures.end or trace.until)
    placed = {"times": scale.times, "places": scale.places, "breaks": scale.breaks}
    return {"state_words": STATES.get(figures.state, figures.state), "scale": placed}


def _embed_json(value: Any) -> str:
    """Return JSON in which `&`, `<` and `>` are escaped, so that no text can end its HTML element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    text = text.encode("utf-8", "replace").decode()  # replaces lone surrogates
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


@cache
def _read_page_parts() -> tuple[str, str, str]:
    read = {name: (_PAGE / name).read_text(encoding="utf-8") for name in ("trace.html", "trace.css", *_SCRIPTS)}
    return read["trace.html"], read["trace.css"], "\n".join(read[name] for name in _SCRIPTS)


def _content_policy(style: str, script: str) -> str:
    allowed = f"script-src {_source_digest(script)}; style-src {_source_digest(style)}"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def _source_digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
