"""What the product is built from, and what is known of it."""

from __future__ import annotations

import json

from dev.supply import LOCK, Pinned, bill, pinned, verdict

TEXT = """\
anyio==4.16.0 \\
    --hash=sha256:{a} \\
    --hash=sha256:{b}
    # via fastapi
uvloop==0.22.1 ; sys_platform == "linux" \\
    --hash=sha256:{a}
""".format(a="a" * 64, b="b" * 64)


def test_a_lock_file_is_read() -> None:
    assert list(pinned(TEXT)) == [
        Pinned("anyio", "4.16.0", ("a" * 64, "b" * 64)),
        Pinned("uvloop", "0.22.1", ("a" * 64,)),
    ]
    names = {package.name for package in pinned(LOCK.read_text())}
    assert {"kazoo", "pymysql", "kafka-python", "click", "cryptography"} <= names
    assert "pytest" not in names


def test_the_bill_names_each_package() -> None:
    made = json.loads(bill(list(pinned(TEXT))))
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    found = {one["purl"]: len(one["hashes"]) for one in made["components"]}
    assert found == {"pkg:pypi/anyio@4.16.0": 2, "pkg:pypi/uvloop@0.22.1": 1}


def test_a_service_that_knows_nothing_was_not_asked() -> None:
    skipped = {"dependencies": [{"name": "anyio", "skip_reason": "not found"}]}
    assert verdict(json.dumps(skipped)).asked == 0
    known = {"name": "anyio", "version": "4.16.0", "vulns": [{"id": "PYSEC-1"}, {"id": "CVE-2"}]}
    calm = {"name": "h11", "version": "0.16.0", "vulns": []}
    assert verdict(json.dumps({"dependencies": [known, calm]})) == (["anyio 4.16.0: PYSEC-1, CVE-2"], 2)
