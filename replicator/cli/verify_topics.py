"""`replicator verify` for a task that writes topics."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from replicator.cli.verify_output import NoLine, ProgressLine
from replicator.cli.verify_report import Reporter
from replicator.config.task import KafkaSink, TaskConfig
from replicator.errors import ProcessError
from replicator.verify.report import TableResult
from replicator.verify.topics.ports import TopicTable
from replicator.verify.verifier import Options


def refuse_options(name: str | None, *, repair: bool, checksums: bool) -> None:
    """Those that topics do not have. Raises ProcessError E5032, E5045."""
    if repair:
        task = name or "NAME"
        raise ProcessError(
            "E5045",
            "records of topics can't be repaired",
            found="--repair",
            fix=f"Write the rows of a table again: `replicator task snapshot start {task} --table DATABASE.TABLE`. "
            "Rows that only the topic has stay there.",
        )
    if checksums:
        raise ProcessError(
            "E5032",
            "--checksums server does not apply to topics",
            found="sink.type: kafka",
            fix="Omit --checksums server.",
        )


def verify_topics(
    config: TaskConfig,
    sink: KafkaSink,
    tables: Sequence[str],
    options: Options,
    wait: float,
    state: Path | None,
    reporter: Reporter | None,
) -> list[TableResult]:
    """`reporter`: None for a task of a file, of which no Server knows the position."""
    from replicator.assembly.topic_verification import Known, open_topic_verification  # imports the Kafka client

    uid = reporter.uid if reporter is not None else ""
    known = (lambda: Known(*reporter.progress())) if reporter is not None else None
    with open_topic_verification(config, sink, tables, complete=options.complete, uid=uid, known=known) as verification:
        expected = sum(each.wanted.rows for each in verification.tables if isinstance(each, TopicTable))
        shown = ProgressLine(expected) if sys.stderr.isatty() else NoLine()
        with shown, verification.verifier(options, wait, shown, state) as verifier:
            return verifier.run(verification.tables)
