"""The compiled part of the data path (replicator/compiled): optional, everything works without it.

Everything else about the package is in pyproject.toml. Without a C compiler, or without Cython, the install goes on and
the Python twin runs.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from setuptools import Extension, setup

HERE = Path(__file__).parent / "replicator" / "compiled"

NAMES = (
    "arena",
    "codes",
    "deferred_fields",
    "kafka",
    "loop",
    "net_rows",
    "program",
    "row_images",
    "row_runs",
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


setup(ext_modules=extensions())
