from __future__ import annotations

import pytest

from replicator.errors import SourceError
from replicator.model.finding import Finding, worst

OK, WARN, FAIL = Finding.ok("a", "x"), Finding("b", "warn", "x"), Finding("c", "fail", "x")


@pytest.mark.parametrize(
    ("findings", "expected"), [([], "ok"), ([OK], "ok"), ([OK, WARN, OK], "warn"), ([FAIL, WARN], "fail")]
)
def test_the_worst_counts(findings: list[Finding], expected: str) -> None:
    assert worst(findings) == expected


def test_an_error_becomes_a_failed_finding() -> None:
    error = SourceError("E2202", "no rows", found="STATEMENT", wanted="ROW", fix="SET ...;")
    finding = Finding.of_error("source.binlog_format", error)
    assert (finding.severity, finding.wanted, finding.fix) == ("fail", "ROW", "SET ...;")
    assert finding.found == "E2202 no rows: STATEMENT"
