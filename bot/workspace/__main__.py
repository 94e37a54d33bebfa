"""Start the workspace alone or beside an app: `python -m bot.workspace --manifest manifest.yml -- python app.py`."""

import sys

from bot.workspace.command import main

if __name__ == "__main__":
    sys.exit(main())
