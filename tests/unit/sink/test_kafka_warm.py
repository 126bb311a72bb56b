"""What the template of the workers has ready of the Kafka client."""

from __future__ import annotations

import subprocess
import sys

_FROZEN = """
import gc, sys
import core.template
print(gc.get_freeze_count() > 10_000, "replicator.sink.kafka.bulk" in sys.modules)
"""


def test_every_message_is_found() -> None:
    from replicator.sink.kafka.warm import MESSAGES, warm

    assert warm() == 2 * sum(map(len, MESSAGES.values()))


def test_the_template_is_frozen_with_the_data_path_in_it() -> None:
    done = subprocess.run([sys.executable, "-c", _FROZEN], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]
