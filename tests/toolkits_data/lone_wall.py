"""Runs the process that tries to get out behind some of the walls only, or says which of them stand here."""

from __future__ import annotations

import json
import sys

from specialists.sandbox import sandbox_probe_child
from specialists.sandbox.kernel_layers import apply_layers


def main() -> None:
    walls, reads = json.loads(sys.argv[1])
    stand = apply_layers(walls, reads=reads)
    print(json.dumps(sorted(stand)), file=sys.stderr)  # noqa: T201 - told beside the reply
    sandbox_probe_child.main()


if __name__ == "__main__":
    main()
