"""The topics of a task that are deleted with it: those that it alone has written, and its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from replicator.assembly.topic_purge import open_topic_purge
from replicator.config.load import parse_task
from replicator.config.task import TaskConfig
from replicator.errors import ProcessError
from replicator.model.term import Term
from replicator.pipeline.ports import Sink
from tests.conformance.sinks import at, batch

MakeSink = Callable[..., Sink]


def wrote(sink: Sink, task: str, *topics: str) -> None:
    sink.open(Term(task, "u1", 1, lambda: float("inf")))
    sink.write(batch(100, *((topic, b"k", b"1") for topic in topics)))
    sink.commit(at(100))
    sink.flush(20)
    sink.close()


def config(task: str, kafka: Any, **sink: Any) -> TaskConfig:
    source = {"type": "mysql", "user": "replicator", "password": "env:REPL_PASSWORD"}
    return parse_task(
        {"name": task, "source": source, "sink": {"type": "kafka", "bootstrap_servers": [kafka.bootstrap], **sink}}
    )


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
def test_only_what_the_task_alone_has_written(make: MakeSink, kafka: Any, task: str, delivery: str) -> None:
    own, shared, of_other = (f"{task}.topic.{name}" for name in ("own", "shared", "other"))
    wrote(make(kafka.bootstrap, task, delivery=delivery), task, own, shared)
    wrote(make(kafka.bootstrap, f"{task}-2", delivery=delivery), f"{task}-2", shared, of_other)
    with open_topic_purge(config(task, kafka, delivery=delivery), "") as purge:
        found = purge.find()
        kept = [f"replicator.partitions.{task}"]
        kept += [f"replicator.position.{task}"] if delivery == "exactly_once" else []
        assert (found.own, found.shared) == ((own, *kept), (shared,))
        purge.delete(found.own)
        purge.delete(found.own)  # again: nothing is there
        assert purge.find().own == ()
    with open_topic_purge(config(f"{task}-2", kafka), "") as purge:
        names = purge.find()
    assert {shared, of_other} <= set(names.own), "nobody else has written it any more"
    with open_topic_purge(config(task, kafka), "0b5c91d2e4f6") as purge:
        assert purge.find().own == (), "another installation's are not its"


def test_a_task_without_topics() -> None:
    source = {"type": "mysql", "user": "replicator", "password": "env:REPL_PASSWORD"}
    file = parse_task({"name": "copy", "source": source, "sink": {"type": "file", "path": "rows.jsonl"}})
    with pytest.raises(ProcessError, match="E5061"), open_topic_purge(file, ""):
        raise AssertionError("never opened")
