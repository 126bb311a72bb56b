from __future__ import annotations

import shutil
import subprocess
import sys
import time

import pytest

from replicator.model import lease_clock

_SUSPENDED = 1000
_PROGRAM = """
import time
from replicator.model import lease_clock
print(lease_clock.now() - time.monotonic())
"""


def test_it_goes_on() -> None:
    before = lease_clock.now()
    time.sleep(0.01)
    assert 0.005 < lease_clock.now() - before < 60


@pytest.mark.skipif(shutil.which("unshare") is None, reason="no unshare here")
def test_time_in_which_the_host_was_suspended_counts() -> None:
    """What CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC is the time that the host was suspended; a time namespace has as
    much of it as we like."""
    command = ["unshare", "--time", "--fork", "--boottime", str(_SUSPENDED), sys.executable, "-c", _PROGRAM]
    found = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    if found.returncode and "Operation not permitted" in found.stderr:
        pytest.skip("no time namespace without root")
    assert found.returncode == 0, found.stderr
    assert float(found.stdout) > _SUSPENDED - 1
