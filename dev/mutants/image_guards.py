"""Guards of row images: what a target that is a database is given, and how changes are joined, in C and in Python."""

from __future__ import annotations

from typing import Final

from dev.mutants.guard import Guard

_RAW: Final = "replicator/compiled/raw_images.pxd"
_RUNS: Final = "replicator/compiled/row_runs.pyx"
_NET: Final = "replicator/compiled/net_rows.pyx"
_NET_TESTS: Final = ("tests/unit/sink/mysql/test_net_changes.py",)
_IMAGE_TESTS: Final = ("tests/unit/compiled/test_raw_images.py",)
_FORMAT_TESTS: Final = ("tests/unit/assembly/test_row_images.py",)
_RUN_TESTS: Final = ("tests/unit/compiled/test_row_runs.py",)

IMAGES: Final[tuple[Guard, ...]] = (
    Guard(
        "row images: an image without a column is refused",
        "replicator/decode/plan/lowering.py",
        "            if not self._presence.has(step.image, index):\n",
        "            if False:\n",
        ("tests/unit/compiled/test_raw_images.py::test_images_without_columns_are_refused_alike",),
        compiled=True,
    ),
    Guard(
        "row images: an image is copied only where it has the columns of the target",
        "replicator/decode/plan/raw_images.py",
        "    return not step.texts and present == len(table.columns) and step.columns == tuple(range(present))\n",
        "    return not step.texts and present == len(table.columns)\n",
        _IMAGE_TESTS,
        compiled=True,
    ),
    Guard(
        "row images: another value has room for its length",
        _RAW,
        "    if null or json.used >> 8 * column.first:\n",
        "    if null:\n",
        _IMAGE_TESTS,
        compiled=True,
    ),
    Guard(
        "row images: bits of no column are set in an image that is put together",
        _RAW,
        "    if count & 7:\n",
        "    if False:\n",
        _IMAGE_TESTS,
        compiled=True,
    ),
    Guard(
        "row images: part of a value in another character set is not shown",
        "replicator/decode/plan/raw_images.py",
        "    if charset and charset not in _AS_UTF8:\n",
        "    if False:\n",
        _IMAGE_TESTS,
        compiled=True,
    ),
    Guard(
        "row images: rows of a session without foreign key checks are marked",
        "replicator/compiled/loop.pyx",
        "            self.row_flags = little(p + 6, 2)\n",
        "            self.row_flags = 0\n",
        _FORMAT_TESTS,
        compiled=True,
    ),
    Guard(
        "runs of images: of one version of a table",
        _RUNS,
        " or arena.topics[number] != topic\n",
        "\n",
        _RUN_TESTS,
        compiled=True,
    ),
    Guard(
        "runs of images: of one operation",
        "replicator/compiled/image_records.pxd",
        "p[head - 1] | <int>head << 8",
        "<int>head << 8",
        _RUN_TESTS,
        compiled=True,
    ),
    Guard(
        "joined changes: a value of a unique key does not change hands",
        _NET,
        "            if row.before != NULL and row.after != NULL and not self.unchanged(row) and self._differ(row):\n",
        "            if False:\n",
        _NET_TESTS,
        compiled=True,
    ),
    Guard(
        "joined changes: a change follows from the one before it",
        _NET,
        "        elif row.after == NULL or row.after_size != size or memcmp(row.after, p, size) != 0:\n",
        "        elif False:\n",
        _NET_TESTS,
        compiled=True,
    ),
    Guard(
        "joined changes: a row that is there is not inserted",
        _NET,
        "                    return SAME_ORDER\n                self.rows",
        "                    pass\n                self.rows",
        _NET_TESTS,
        compiled=True,
    ),
    Guard(
        "joined changes: rows of snapshots, and rows with checks among rows without, keep their order",
        "replicator/sink/mysql/net_changes.py",
        "    if not operations <= (_UNCHECKED if mark else _PLAIN):\n",
        "    if False:\n",
        _NET_TESTS,
        compiled=True,
    ),
    Guard(
        "joined changes: tables that foreign keys refer to keep their order",
        "replicator/sink/mysql/row_groups.py",
        "        ordered = _related(self._tables.values())\n",
        "        ordered: frozenset[str] = frozenset()\n",
        ("tests/integration/sink/mysql/test_net_changes.py::test_random_transactions",),
    ),
    Guard(
        "joined changes: tables with foreign keys keep their order",
        "replicator/sink/mysql/net_layout.py",
        "facts.triggers or parents or _ORDERED",
        "facts.triggers or _ORDERED",
        ("tests/integration/sink/mysql/test_net_changes.py::test_random_transactions",),
    ),
    Guard(
        "joined changes: of records, those of the table alone",
        _NET,
        "                if arena.entries[index].topic == number:\n",
        "                if True:\n",
        ("tests/unit/compiled/test_net_records.py",),
        compiled=True,
    ),
    Guard(
        "joined changes: a section with two versions of a table is divided",
        "replicator/sink/mysql/transaction.py",
        "            if not tables.setdefault(route.table, route).mixes(route):\n",
        "            if not tables.setdefault(route.table, route):\n",
        ("tests/unit/sink/mysql/test_row_groups.py",),
    ),
    Guard(
        "joined changes: rows in the source's order are not executed again",
        "replicator/sink/mysql/row_groups.py",
        "            found[0] += (rows for rows in self.rows if rows.route.table not in done)\n",
        "            found[0] += self.rows\n",
        ("tests/unit/sink/mysql/test_row_groups.py",),
    ),
    Guard(
        "joined changes: images that are converted are not read where the decoder has put them",
        "replicator/sink/mysql/transaction.py",
        "        if any(route.transcode is not None for route in section.routes.values()):\n",
        "        if False:\n",
        ("tests/unit/sink/mysql/test_row_groups.py",),
    ),
)
