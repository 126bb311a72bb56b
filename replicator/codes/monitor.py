"""Error codes of the Monitor."""

from __future__ import annotations

from typing import Final

from replicator.codes.entry import Entry, table

CODES: Final[dict[str, Entry]] = table(
    "host",
    {
        "E5130": (
            "history of the Monitor unusable",
            "The file with the figures of the Monitor's charts can't be opened, or another Monitor uses it.",
            "Name another file with `replicator monitor --history FILE`, or keep none with --no-history.",
        ),
        "E5131": (
            "history of the Monitor not stored",
            "Figures of the charts can't be written to their file. The Monitor keeps them in memory and tries again.",
            "Free space in the file system of the file that the log names, or let the Monitor write to it.",
        ),
        "E5132": (
            "unknown span",
            "The Monitor has charts of certain spans of time.",
            "Use one of the spans that are named.",
        ),
        "E5133": (
            "form not complete",
            "A form that was sent to the Monitor does not have what the action needs.",
            "Load the page again, and fill in the form.",
        ),
        "E5134": (
            "Server of another tree",
            "The Server that the Monitor asks for people who act does not list the Monitor among its processes: it has "
            "another ZooKeeper or root, or the Monitor can't register.",
            "Correct --server of the Monitor. In a tree that an earlier release has secured, run `replicator cluster "
            "secure` once.",
        ),
        "E5145": (
            "unknown window of time",
            "The address of a timeline has times that are not understood, or that are not in order.",
            "Give `from` and `to` as 2026-11-26T19:00:00Z or in ms since the epoch, or `span`.",
        ),
        "E5146": (
            "address of a page not understood",
            "The address of a page of the Monitor has a parameter that is not a number.",
            "Follow the links of the page, or give a number.",
        ),
    },
)
