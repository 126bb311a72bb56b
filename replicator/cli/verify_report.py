"""Reports the result of a verification to the Server, which keeps it as the task's last one."""

from __future__ import annotations

import socket
from collections.abc import Sequence

import click
import msgspec

from replicator.cli.task.client import Client
from replicator.coordination.clock import now_ms
from replicator.errors import ProcessError, ReplicatorError
from replicator.model.position import Position
from replicator.model.verification import VerificationReport, limited
from replicator.verify.report import TableResult


class Reporter:
    """
    Args:
        client: of the Server that has the task.
        task: as the Server described it before the verification began.
        whole: all tables of the task are verified.
    """

    def __init__(self, client: Client, name: str, uid: str, version: int, *, whole: bool) -> None:
        self._client, self._name, self._version, self._whole = client, name, version, whole
        self.uid = uid

    def guard(self, table: str) -> None:
        """Of a repair. Raises ProcessError E5041, it is not the task that is verified any more; E5042, the table is in
        quarantine."""
        task = self._client.task(self._name)
        found = task["uid"], task["version"]
        if found != (self.uid, self._version):
            raise ProcessError(
                "E5041",
                f"'{self._name}' was changed during the repair",
                found=f"uid {found[0]}, configuration version {found[1]}",
                wanted=f"uid {self.uid}, configuration version {self._version}",
                fix="Run `replicator verify --repair` again with the present configuration.",
            )
        if any(mark["table"] == table and not mark["until"] for mark in task["quarantined"]):
            raise ProcessError("E5042", f"{table} is in quarantine", fix="Release it, then repair it.")

    def progress(self) -> tuple[Position | None, bool]:
        """The task's position, of the RUNNING instance or else of lastCommit; and whether rows of a snapshot are still
        to be delivered. Raises ReplicatorError."""
        task = self._client.task(self._name)
        if task["uid"] != self.uid:
            raise ProcessError("E5040", f"'{self._name}' was deleted and created again during the verification")
        snapshot = task["snapshot"]
        is_open = bool(task["snapshot_requests"]) or (snapshot is not None and not snapshot["ended_ms"])
        file, _, offset = (task["position"] or "").partition("+")[0].rpartition(":")
        position = Position(file, int(offset), task["gtid"] or "") if file and offset.isdigit() else None
        return position, is_open

    def report(self, results: Sequence[TableResult], began_ms: int) -> None:
        """A result that the Server does not take is shown all the same: a warning says why."""
        ended_ms = now_ms()
        tables, omitted = limited(each.kept(ended_ms) for each in results)
        report = VerificationReport(
            uid=self.uid,
            version=self._version,
            whole=self._whole,
            began_ms=began_ms,
            ended_ms=ended_ms,
            host=socket.gethostname(),
            tables=tables,
            omitted=omitted,
        )
        try:
            self._client.report_verification(self._name, msgspec.to_builtins(report))
        except ReplicatorError as error:
            click.echo(f"warning: the Server did not keep the result: {error}", err=True)
