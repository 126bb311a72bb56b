"""What `make test` has no time for: `make long` runs tests with more cases and later moments."""

from __future__ import annotations

import os
from typing import Final

LONG: Final = os.environ.get("LONG") == "1"
