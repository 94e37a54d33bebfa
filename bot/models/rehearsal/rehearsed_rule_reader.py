"""The rehearsed rule reader: weekdays and times in German, and an honest "I cannot" for the rest."""

from __future__ import annotations

import re
from typing import Any

DAYS = {
    "montag": "mon", "dienstag": "tue", "mittwoch": "wed", "donnerstag": "thu", "freitag": "fri", "samstag": "sat",
    "sonntag": "sun", "tag": "*", "werktag": "mon-fri", "morgen": "*",
}  # fmt: skip
_RULE = re.compile(rf"jeden ({'|'.join(DAYS)})(?: um (\d{{1,2}})(?::(\d\d))?(?: uhr)?)?[\s,:]+", re.IGNORECASE)


def read(text: str) -> dict[str, Any]:
    """Say what the words at the end of a rule reader's brief ask for, and when."""
    words = text.rpartition("# Words\n")[2].strip()
    empty = {"asks": "", "cron": "", "at": "", "zone": "", "until": "", "cannot": ""}
    if (found := _RULE.match(words)) is None:
        return {"schedule": True, **empty, "cannot": "the rehearsal reads plain English and German only."}
    cron = f"{int(found[3] or 0)} {int(found[2] or 9)} * * {DAYS[found[1].lower()]}"
    return {"schedule": True, **empty, "asks": words[found.end() :], "cron": cron}
