"""Debian packages unpacked into a private prefix: nothing is installed, no service starts, root is not needed.

apt runs with its own configuration, lists and an empty package status, so it resolves the complete closure down to
libc; the programs then run on any Linux of the same architecture through the prefix's own dynamic loader. The mirror
is the one that the system's own apt sources name (or REPLICATOR_DEBIAN_MIRROR).
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dev.errors import ServerUnavailable
from dev.fetch.once import run
from dev.progress import say

_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
# Wanted by the packages' scripts and never by the programs that are started here.
_NEEDLESS = re.compile(
    r"^(perl.*|libperl.*|libdb5.*|libgdbm.*|libc-gconv.*|debconf|dpkg|tar|passwd|.*-base|libdbi-perl)$"
)
_CONF = """Dir::State "{here}/state";
Dir::State::status "{here}/status";
Dir::Cache "{here}/cache";
Dir::Etc::sourcelist "{here}/sources.list";
Dir::Etc::sourceparts "/dev/null";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "3";
"""


@dataclass(frozen=True)
class Prefix:
    """An unpacked closure; `command` runs one of its programs with its own loader and libraries."""

    root: Path

    def command(self, program: str) -> list[str]:
        libraries = [str(folder) for folder in self.root.glob("usr/lib/*-linux-gnu*")]
        libraries += [str(folder) for folder in self.root.glob("lib/*-linux-gnu*")]
        return [str(self._loader()), "--library-path", ":".join(libraries), str(self.root / program)]

    def _loader(self) -> Path:
        for pattern in ("usr/lib/*-linux-gnu*/ld-linux-*.so.*", "lib/*-linux-gnu*/ld-linux-*.so.*"):
            for found in self.root.glob(pattern):
                return found
        raise ServerUnavailable(self.root.name, "its prefix has no dynamic loader")


def unpack(owner: str, suite: str, packages: list[str], prefix: Path) -> None:
    """Download `packages` of `suite` with all they depend on, and unpack them into `prefix`."""
    mirror = _mirror(owner)
    with tempfile.TemporaryDirectory(prefix="mysql-replicator-apt-") as name:
        here = Path(name)
        env = _private_apt(here, mirror, suite)
        say(f"{owner}: reading the package lists of Debian {suite}")
        run(owner, ["apt-get", "update"], env=env)
        wanted = _closure(owner, packages, env)
        say(f"{owner}: downloading {len(wanted)} packages")
        run(owner, ["apt-get", "download", *wanted], cwd=here, env=env)
        for package in sorted(here.glob("*.deb")):
            run(owner, ["dpkg", "-x", str(package), str(prefix)])


def _private_apt(here: Path, mirror: str, suite: str) -> dict[str, str]:
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (here / folder).mkdir(parents=True)
    (here / "status").touch()
    signed = f"[signed-by={_KEYRING}] " if _KEYRING.exists() else ""
    (here / "sources.list").write_text(f"deb {signed}{mirror} {suite} main\n")
    (here / "apt.conf").write_text(_CONF.format(here=here))
    return {**os.environ, "APT_CONFIG": str(here / "apt.conf"), "LC_ALL": "C"}


def _closure(owner: str, packages: list[str], env: dict[str, str]) -> list[str]:
    planned = run(owner, ["apt-get", "-s", "install", "-y", "--no-install-recommends", *packages], env=env)
    names = re.findall(r"^Inst (\S+)", planned, flags=re.MULTILINE)
    return sorted({name.split(":")[0] for name in names if not _NEEDLESS.match(name)})


def _mirror(owner: str) -> str:
    chosen = os.environ.get("REPLICATOR_DEBIAN_MIRROR")
    if chosen:
        return chosen
    for address in _system_sources():
        if re.search(r"/debian/?$", address):
            return address
    raise ServerUnavailable(owner, "the system's apt sources name no Debian mirror (set REPLICATOR_DEBIAN_MIRROR)")


def _system_sources() -> Iterator[str]:
    """Addresses in both formats of apt's sources: deb822 stanzas and one-line entries."""
    etc = Path("/etc/apt")
    for deb822 in sorted(etc.glob("sources.list.d/*.sources")):
        for line in deb822.read_text().splitlines():
            if line.lower().startswith("uris:"):
                yield from line.split(":", 1)[1].split()
    for one_line in [etc / "sources.list", *sorted(etc.glob("sources.list.d/*.list"))]:
        text = one_line.read_text() if one_line.exists() else ""
        yield from re.findall(r"^deb\s+(?:\[[^\]]*\]\s+)?(\S+)", text, flags=re.MULTILINE)
