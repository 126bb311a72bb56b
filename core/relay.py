"""The process of a relay: reads one dump connection for several workers of its Core. See replicator/source/shared."""

from __future__ import annotations

import os
import signal

from core.protocol import RelaySpec
from replicator.assembly.shared_source import run_relay
from replicator.config import sealed
from replicator.config.load import parse_task
from replicator.errors import ReplicatorError
from replicator.net import connections
from replicator.telemetry import log


def main(spec: RelaySpec, log_style: str | None) -> None:
    """Ends the process. Whatever the reason, the workers go on with connections of their own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole process group; workers that drain read on
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    log.setup(log_style)
    stream = spec.stream
    logger = log.get_logger("relay").bind(source=stream.where)
    connections.set_cluster_list(spec.outgoing)  # for its one connection; a relay does not connect again
    try:
        sealed.bind(spec.config, spec.installation)
        config = parse_task(spec.config)
        run_relay(config, (stream.key, stream.where, stream.replica), spec.name, spec.installation, spec.host)
        logger.info("shared stream ended", reason="no task reads it any more")
    except ReplicatorError as error:
        logger.warning("shared stream ended", code=error.code, error=str(error))
    except Exception:
        logger.exception("failed", code="E5011")
    os._exit(0)
