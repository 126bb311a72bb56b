"""`replicator`, with commits of a few rows as it has them of many: divided among connections, inserted by LOAD DATA."""

from __future__ import annotations

import sys

from replicator.cli.main import main
from replicator.sink.mysql import transaction
from replicator.sink.mysql.sql import load_data

_FEWEST_BYTES = 200
_FEWEST_ROWS = 2

if __name__ == "__main__":
    vars(transaction)["FEWEST_BYTES"] = _FEWEST_BYTES
    vars(load_data)["FEWEST"] = _FEWEST_ROWS
    sys.exit(main())
