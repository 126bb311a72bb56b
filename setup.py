"""The compiled part of the data path (replicator/compiled): optional, everything works without it. And docs/ and
deploy/, which a wheel has inside of the package, where `replicator docs` finds them.

Everything else about the package is in pyproject.toml. Without a C compiler, or without Cython, the install goes on and
the Python twin runs.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

TREE = Path(__file__).parent
HERE = TREE / "replicator" / "compiled"
PAGES = ("docs", "deploy")

NAMES = (
    "arena",
    "codes",
    "deferred_fields",
    "framing",
    "kafka",
    "loop",
    "net_rows",
    "program",
    "row_images",
    "row_runs",
    "row_texts",
    "steps",
    "tables",
    "transactions",
    "transcoding",
)


def extensions() -> list[Extension]:
    sources = [*sorted(HERE.glob("*.pxd")), *sorted(HERE.glob("*.pyx"))]
    fingerprint = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    made = [
        Extension(
            f"replicator.compiled.{name}",
            [f"replicator/compiled/{name}.pyx"],
            extra_compile_args=["-O3", "-g0", "-fno-strict-aliasing"],
            # All are built anew when one has changed: what each knows of the others' structures is compiled into it.
            depends=[str(path) for path in sources],
            define_macros=[("REPLICATOR_SOURCES", f'"{fingerprint}"')],
            optional=True,
        )
        for name in NAMES
    ]
    directives = {
        "language_level": 3,
        "boundscheck": False,
        "wraparound": False,
        "cdivision": True,
        "initializedcheck": False,
    }
    try:
        from Cython.Build import cythonize

        return cythonize(made, build_dir="build/cython", compiler_directives=directives, quiet=True)
    except Exception as error:  # no Cython, or one that can't read this
        sys.stderr.write(f"the decoder is not compiled, Python will run it: {error}\n")
        return []


class WithPages(build_py):
    """An editable install reads them in the clone."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for folder in PAGES:
                shutil.rmtree(self._built(folder), ignore_errors=True)  # of an earlier build: pages that were removed
                shutil.copytree(TREE / folder, self._built(folder), ignore=shutil.ignore_patterns("__pycache__"))

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        pages = [path for folder in PAGES for path in sorted(self._built(folder).rglob("*")) if path.is_file()]
        return [*super().get_outputs(include_bytecode), *map(str, pages)]

    def _built(self, folder: str) -> Path:
        return Path(self.build_lib, "replicator", folder)


setup(ext_modules=extensions(), cmdclass={"build_py": WithPages})
