"""`python -m dev.supply`: what the product is built from. Writes an SBOM (CycloneDX 1.6) of the locked runtime to
build/sbom.json, and asks for known vulnerabilities of it where an advisory service can be reached.

Without one the second half is skipped, and says so: a machine without a network has to be able to run the checks.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from dev.paths import TREE
from dev.progress import say

LOCK: Final = TREE / "requirements-runtime.lock"
SBOM: Final = TREE / "build" / "sbom.json"
_PINNED: Final = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;]+)")
_HASH: Final = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_SECONDS: Final = 120


class Pinned(NamedTuple):
    name: str
    version: str
    hashes: tuple[str, ...]


def pinned(text: str) -> Iterator[Pinned]:
    """The packages of a lock file; hashes: SHA-256 of its distributions."""
    for block in re.split(r"\n(?=[A-Za-z0-9])", text):
        match = _PINNED.match(block)
        if match is not None:
            yield Pinned(match["name"], match["version"], tuple(_HASH.findall(block)))


def bill(packages: list[Pinned]) -> str:
    """The SBOM as JSON. Each distribution's hash belongs to one file, so that a package has several."""
    bom = Bom()
    product = Component(name="mysql-replicator", type=ComponentType.APPLICATION, bom_ref="mysql-replicator")
    bom.metadata.component = product
    for package in packages:
        purl = PackageURL("pypi", None, package.name, package.version)
        hashes = [HashType(alg=HashAlgorithm.SHA_256, content=each) for each in package.hashes]
        component = Component(
            name=package.name,
            version=package.version,
            type=ComponentType.LIBRARY,
            purl=purl,
            bom_ref=str(purl),
            hashes=hashes,
        )
        bom.components.add(component)
    bom.register_dependency(product, list(bom.components))
    return JsonV1Dot6(bom).output_as_string(indent=2)


class Verdict(NamedTuple):
    """known: `package version: id, ...` for each with a known vulnerability; asked: packages that were looked up."""

    known: list[str]
    asked: int


def verdict(answer: str) -> Verdict:
    """Of pip-audit's JSON; a service that knows none of the packages has not been asked about any."""
    found = json.loads(answer)["dependencies"]
    known = [
        f"{one['name']} {one['version']}: {', '.join(each['id'] for each in one['vulns'])}"
        for one in found
        if one.get("vulns")
    ]
    return Verdict(known, sum("skip_reason" not in one for one in found))


def ask(lock: Path) -> Verdict | None:
    """None: no advisory service can be reached."""
    command = [str(Path(sys.executable).with_name("pip-audit")), "--requirement", str(lock), "--disable-pip"]
    command += ["--require-hashes", "--no-deps", "--progress-spinner=off", "--timeout=5", "--format=json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        found = verdict(done.stdout)
    except (subprocess.TimeoutExpired, ValueError, KeyError):
        return None
    return found if found.asked else None


def main() -> int:
    packages = list(pinned(LOCK.read_text()))
    SBOM.parent.mkdir(parents=True, exist_ok=True)
    SBOM.write_text(bill(packages))
    say(f"{len(packages)} packages of the runtime are in {SBOM.relative_to(TREE)}")
    found = ask(LOCK)
    if found is None:
        say("KNOWN VULNERABILITIES WERE NOT LOOKED UP: no advisory service can be reached from here")
        return 0
    for line in found.known:
        say(f"known vulnerability: {line}")
    say(f"{found.asked} of {len(packages)} packages were looked up, {len(found.known)} with known vulnerabilities")
    return 1 if found.known else 0


if __name__ == "__main__":
    sys.exit(main())
