"""The ZIP file of a support bundle: parts of bounded size, each with a line in its README."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from replicator.errors import ProcessError, ReplicatorError
from replicator.telemetry.redaction import redacted, redacted_text

MOST_BYTES: Final = 2 << 20
"""Of one part."""
MOST_TOTAL: Final = 64 << 20


class BundleFile:
    def __init__(self) -> None:
        self._parts: list[tuple[str, str, bytes]] = []
        self._notes: list[str] = []
        self._total = 0

    @property
    def failed(self) -> list[str]:
        return list(self._notes)

    def add(self, name: str, meaning: str, make: Callable[[], Any]) -> None:
        """A part that fails is noted. `make`: gives a text, or a value of JSON."""
        try:
            value = make()
            if isinstance(value, str):
                text = redacted_text(value)
            else:
                text = json.dumps(redacted(value), indent=2, ensure_ascii=False, default=str) + "\n"
        except ReplicatorError as error:
            self.note(name, error)
            return
        except Exception as error:  # one part must not take the others away
            self._notes.append(f"{name}: {redacted_text(f'{type(error).__name__}: {error}'[:500])}")
            return
        data = text.encode(errors="replace")
        if len(data) > MOST_BYTES:
            self._notes.append(f"{name}: cut to {MOST_BYTES} of {len(data)} bytes")
            data = data[:MOST_BYTES]
        if self._total + len(data) > MOST_TOTAL:
            self._notes.append(f"{name}: left out, the bundle would exceed {MOST_TOTAL} bytes")
            return
        self._total += len(data)
        self._parts.append((name, meaning, data))

    def note(self, name: str, error: ReplicatorError) -> None:
        self._notes.append(f"{name}: {redacted_text(str(error))}")

    def remark(self, text: str) -> None:
        """Something else that is not in it."""
        self._notes.append(redacted_text(text))

    def write(self, path: Path, head: str) -> None:
        """Atomically, mode 0600. Raises ProcessError E5100."""
        temporary = None
        try:
            handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
            with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("README.txt", self._readme(head))
                for name, _, data in self._parts:
                    archive.writestr(name, data)
            Path(temporary).replace(path)
        except OSError as error:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    Path(temporary).unlink()
            raise ProcessError("E5100", f"{path} can't be written", found=error.strerror or str(error)) from error

    def _readme(self, head: str) -> str:
        lines = [head, "", "Files:", *(f"  {name}\n      {meaning}" for name, meaning, _ in self._parts)]
        if self._notes:
            lines += ["", "Not collected, or not completely:", *(f"  {note}" for note in self._notes)]
        return "\n".join(lines) + "\n"
