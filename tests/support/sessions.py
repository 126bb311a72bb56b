"""A program that delivers numbered rows of one key at least once, and begins a new session after each error; each
session has an epoch of its own. Arguments: broker, task, first epoch, number of the last acknowledged row.

Prints `EPOCH ACKNOWLEDGED` after each row."""

from __future__ import annotations

import sys
import time

from replicator.config.task import KafkaSink
from replicator.errors import SinkUnavailable
from replicator.model.term import Term
from replicator.sink import open_sink
from tests.conformance.sinks import at, batch


def main(broker: str, task: str, epoch: int, acknowledged: int) -> None:
    config = KafkaSink(
        type="kafka", bootstrap_servers=(broker,), partitions=1, delivery="at_least_once", delivery_timeout_ms=6000
    )
    while True:
        sink = open_sink(config, task)
        try:
            sink.open(Term(task, "u1", epoch, lambda: float("inf")))
            number = acknowledged
            while True:
                number += 1
                sink.write(batch(number, (f"{task}.t", b"k", b"%d" % number + b"x" * 500)))
                sink.commit(at(number))
                position = sink.acknowledged()
                acknowledged = position.offset if position is not None else acknowledged
                print(epoch, acknowledged, flush=True)
                time.sleep(0.02)
        except SinkUnavailable:
            time.sleep(0.1)
        finally:
            sink.close()
        epoch += 1


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
