"""A database and the topics that a task writes of it, and the verification of one against the other."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from dev.servers import Database, Kafka, MariaDB
from replicator.assembly.pipeline import build_pipeline, build_source
from replicator.assembly.topic_verification import Known, open_topic_verification
from replicator.checkpoint.history import MemoryHistory
from replicator.checkpoint.memory_store import MemoryStore
from replicator.cli.verify_output import NoLine
from replicator.config.load import parse_task
from replicator.config.task import KafkaSink, TaskConfig
from replicator.model.term import Term
from replicator.pipeline.pipeline import Pipeline
from replicator.verify.report import TableResult
from replicator.verify.verifier import Options
from tests.support.in_memory import Unseen
from tests.support.present import present

PASSWORD = "REPL_VERIFY_PASSWORD"


class Topics:
    """One task over its runs. `database`: of its tables."""

    def __init__(self, server: Database, kafka: Kafka, database: str, **options: Any) -> None:
        self.server, self.database = server, database
        kind = "mariadb" if isinstance(server, MariaDB) else "mysql"
        user, _ = server.replicator
        source = {"type": kind, "host": server.host, "port": server.port, "user": user, "password": f"env:{PASSWORD}"}
        sink = {"type": "kafka", "bootstrap_servers": [kafka.bootstrap], **options.pop("sink", {})}
        source |= {"tables": [f"{database}.*"], **options.pop("source", {})}
        name = f"verified-{uuid.uuid4().hex[:8]}"
        self.config: TaskConfig = parse_task({"name": name, "source": source, "sink": sink, **options})
        self._store, self._history = MemoryStore(), MemoryHistory()

    def run(self, *statements: str, logged: bool = True) -> None:
        connection = self.server.connect(database=self.database)
        with connection.cursor() as cursor:
            if not logged:
                cursor.execute("SET SESSION sql_log_bin = 0")
            for statement in statements:
                cursor.execute(statement)
        connection.close()

    def pipeline(self) -> Pipeline:
        config, term = self.config, Term.unlimited(self.config.name)
        kept: dict[str, Any] = {"store": self._store, "history": self._history, "save_interval": 0.1}
        return build_pipeline(config, term=term, observer=Unseen(), **kept)

    def deliver(self) -> None:
        """What the source has logged so far is in the topics afterwards."""
        self.pipeline().run(build_source(self.config).end_position)

    def verify(
        self,
        *patterns: str,
        wait: float = 20,
        complete: bool = False,
        state: Path | None = None,
        observer: NoLine | None = None,
    ) -> dict[str, TableResult]:
        """By the table's name without its database."""
        sink = self.config.sink
        assert isinstance(sink, KafkaSink)

        def known() -> Known:
            return Known(present(self._store.load()).position, snapshot_open=False)

        with (
            open_topic_verification(self.config, sink, patterns, complete=complete, known=known) as verification,
            verification.verifier(Options(), wait, observer or NoLine(), state) as verifier,
        ):
            results = verifier.run(verification.tables)
        return {each.table.partition(".")[2]: each for each in results}
