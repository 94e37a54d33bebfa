"""`python -m tests.rehearsal_set`: all questions of the set, through the whole bot, and how many end how."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections import Counter
from pathlib import Path

from bot.store.embedded import start_embedded, stop_embedded
from tests.rehearsal_set.asked import REQUEST_CASES
from tests.rehearsal_set.question_player import play_cases
from tests.system.scene import scene_on


async def main() -> int:
    """Play file by file. Returns the exit code: 1 if any question ended as it should not."""
    ends: Counter[str] = Counter()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="leadhand-") as folder:
        data = Path(folder)
        url = await start_embedded(data)
        try:
            for file in sorted({one.file for one in REQUEST_CASES}):
                async with scene_on(url) as scene:
                    found, faults = await play_cases(scene, [one for one in REQUEST_CASES if one.file == file])
                ends.update(outcome for _, outcome in found)
                wrong += faults
                print(f"{file or 'no file'}: {len(found)} played, {len(faults)} not as expected", flush=True)
        finally:
            await stop_embedded(data)
    print("; ".join(f"{outcome}: {count}" for outcome, count in ends.most_common()))
    print("\n\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
