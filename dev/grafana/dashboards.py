"""The dashboards by the names of their files."""

from __future__ import annotations

from typing import Final

from dev.grafana.fleet import FLEET
from dev.grafana.machines import MACHINES
from dev.grafana.task import TASK

DASHBOARDS: Final = {"fleet": FLEET, "task": TASK, "machines": MACHINES}
