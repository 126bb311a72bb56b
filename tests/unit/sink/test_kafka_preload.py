"""What the template of the workers has ready of the Kafka sinks."""

from __future__ import annotations

import subprocess
import sys

from replicator.sink.kafka.preload import build_codecs

_FROZEN = """
import gc, sys
import core.template
print(gc.get_freeze_count() > 10_000, "replicator.kafka.producer" in sys.modules)
"""


def test_records_of_our_own_can_be_written_and_read() -> None:
    build_codecs()


def test_the_template_is_frozen_with_the_data_path_in_it() -> None:
    done = subprocess.run([sys.executable, "-c", _FROZEN], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]
