"""The file of a backup: a ZIP archive with a manifest and a member of JSON lines for each task.

    manifest.json           Manifest
    cluster.jsonl           znodes that do not belong to a task, one SavedNode a line
    tasks/TASK.jsonl        znodes of a task (its name escaped as in ZooKeeper), parents before children

The manifest has the SHA-256 of each member, and the comment of the archive that of the manifest.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from replicator.backup.nodes import FORMAT, SavedNode, SavedPart, checked
from replicator.coordination.layout import escape
from replicator.errors import ProcessError
from replicator.model.decoding import from_json

KIND: Final = "mysql-replicator cluster backup"
MANIFEST: Final = "manifest.json"
CLUSTER: Final = "cluster.jsonl"
_COMMENT: Final = "mysql-replicator sha256:"
_MOST_MANIFEST: Final = 64 << 20
_DAMAGED: Final = (zipfile.BadZipFile, zlib.error, EOFError, UnicodeDecodeError, NotImplementedError, RuntimeError)


class Member(msgspec.Struct, frozen=True):
    """task: "" for what does not belong to one."""

    name: str
    task: str
    sha256: str
    bytes: int
    nodes: int


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """
    Attributes:
        created_ms: when the backup was begun.
        version: of mysql-replicator.
        installation: id of the tree; "" for one that has none yet.
        zxid: ZooKeeper's id of the last change that the backup has seen.
        logins: whether it has those of people and processes.
    """

    kind: str = KIND
    format: int = FORMAT
    created_ms: int
    version: str
    root: str
    installation: str
    zxid: int
    logins: bool
    members: tuple[Member, ...]

    @property
    def tasks(self) -> list[str]:
        return [member.task for member in self.members if member.task]


class Writer:
    """Writes the members of a backup into a temporary file; `finish` gives it its name."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._members: list[Member] = []
        try:
            if path.exists() and not stat.S_ISREG(path.stat().st_mode):
                raise ProcessError("E5100", f"{path} is not a regular file", fix="Name a file.")
            handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # 0600
        except OSError as error:
            raise _not_written(path, error) from error
        self._temporary = Path(name)
        self._file = os.fdopen(handle, "w+b")
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED)

    def add(self, part: SavedPart) -> None:
        name = f"tasks/{escape(part.task)}.jsonl" if part.task else CLUSTER
        digest, size = hashlib.sha256(), 0
        try:
            with self._zip.open(name, "w", force_zip64=True) as member:
                for node in part.nodes:
                    line = msgspec.json.encode(node) + b"\n"
                    digest.update(line)
                    size += len(line)
                    member.write(line)
        except OSError as error:
            raise _not_written(self._path, error) from error
        self._members.append(Member(name, part.task, digest.hexdigest(), size, len(part.nodes)))

    def finish(
        self, *, created_ms: int, version: str, root: str, installation: str, zxid: int, logins: bool
    ) -> Manifest:
        """The whole file is on the disk, or the one that was there before. It is read again before it is named."""
        manifest = Manifest(
            created_ms=created_ms,
            version=version,
            root=root,
            installation=installation,
            zxid=zxid,
            logins=logins,
            members=tuple(self._members),
        )
        data = msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"
        try:
            self._zip.writestr(MANIFEST, data)
            self._zip.comment = f"{_COMMENT}{hashlib.sha256(data).hexdigest()}".encode()
            self._zip.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            with Backup(self._temporary) as backup:
                backup.verify()
            self._temporary.replace(self._path)
            _sync_folder(self._path.parent)
        except OSError as error:
            raise _not_written(self._path, error) from error
        return manifest

    def close(self) -> None:
        """Removes the temporary file where `finish` was not reached."""
        with contextlib.suppress(OSError, ValueError):
            self._zip.close()
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(FileNotFoundError):
            self._temporary.unlink()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Backup:
    """A backup that is read. Raises ProcessError E5100 (can't be opened), E5102 (is none, damaged, or newer)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except OSError as error:
            raise ProcessError("E5100", f"{path} can't be read", found=error.strerror or str(error)) from error
        except _DAMAGED as error:
            raise self._damaged(str(error)) from error
        self.digest = ""
        """SHA-256 of the manifest: names the backup."""
        try:
            self.manifest = self._manifest()
        except BaseException:
            self._zip.close()
            raise

    def part(self, task: str) -> SavedPart:
        """The nodes of a task, or of the cluster (""). Raises ProcessError E5102 unless the checksum is right."""
        member = next((one for one in self.manifest.members if one.task == task), None)
        if member is None:
            raise ProcessError("E5003", f"the backup has no task '{task}'", fix="`--dry-run` shows its tasks.")
        return SavedPart(task, tuple(self._nodes(member)))

    def verify(self) -> None:
        """Reads everything. Raises ProcessError E5102."""
        for member in self.manifest.members:
            for _ in self._nodes(member):
                pass

    def _nodes(self, member: Member) -> Iterator[SavedNode]:
        digest, size = hashlib.sha256(), 0
        with self._reading():
            with self._zip.open(member.name) as file:
                lines = file.read(member.bytes + 1)
            digest.update(lines)
            size = len(lines)
        if size != member.bytes or digest.hexdigest() != member.sha256:
            raise self._damaged(f"the checksum of {member.name} is another one")
        for line in lines.splitlines():
            try:
                yield checked(from_json(line, SavedNode))
            except msgspec.MsgspecError as error:
                raise self._damaged(f"{member.name}: {error}") from error

    def _manifest(self) -> Manifest:
        with self._reading(), self._zip.open(MANIFEST) as file:
            data = file.read(_MOST_MANIFEST)
        with self._reading():
            fields = from_json(data, dict[str, object])
        if fields.get("kind") != KIND:
            raise self._damaged(f"kind {fields.get('kind')!r}")
        version = fields.get("format")
        if version != FORMAT:
            raise ProcessError(
                "E5102",
                f"{self.path} has another format",
                found=f"format {version}",
                wanted=f"format {FORMAT}",
                fix="Use the version of mysql-replicator that wrote it, or a newer one.",
            )
        self.digest = hashlib.sha256(data).hexdigest()
        if self._zip.comment.decode(errors="replace") != f"{_COMMENT}{self.digest}":
            raise self._damaged("the checksum of its manifest is another one")
        with self._reading():
            return from_json(data, Manifest)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except KeyError as error:
            raise self._damaged(str(error.args[0])) from error
        except (*_DAMAGED, msgspec.MsgspecError, ValueError, OSError) as error:
            raise self._damaged(str(error)) from error

    def _damaged(self, found: str) -> ProcessError:
        return ProcessError("E5102", f"{self.path} is not an intact backup", found=found, wanted=KIND)

    def close(self) -> None:
        self._zip.close()

    def __enter__(self) -> Backup:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _not_written(path: Path, error: OSError) -> ProcessError:
    return ProcessError("E5100", f"{path} can't be written", found=error.strerror or str(error))
