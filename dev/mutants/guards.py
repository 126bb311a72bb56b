"""The guards of the leadership and delivery contracts and of the compiled decoder, and what each is without: text that
is replaced in one file, and the tests that have to turn red. A unit test keeps the texts current.
"""

from __future__ import annotations

from dev.mutants.compiled_guards import COMPILED
from dev.mutants.conflict_guards import CONFLICTS
from dev.mutants.decoder_guards import DECODER
from dev.mutants.delivery_guards import DELIVERY
from dev.mutants.guard import Guard
from dev.mutants.image_guards import IMAGES
from dev.mutants.kafka_guards import KAFKA
from dev.mutants.leadership_guards import LEADERSHIP
from dev.mutants.load_guards import LOADS
from dev.mutants.shard_guards import SHARDS
from dev.mutants.snapshot_guards import SNAPSHOT
from dev.mutants.statement_guards import STATEMENTS
from dev.mutants.target_guards import TARGETS
from dev.mutants.verify_guards import VERIFY

GUARDS: tuple[Guard, ...] = (
    *LEADERSHIP,
    *DELIVERY,
    *KAFKA,
    *COMPILED,
    *DECODER,
    *IMAGES,
    *SNAPSHOT,
    *TARGETS,
    *LOADS,
    *CONFLICTS,
    *STATEMENTS,
    *SHARDS,
    *VERIFY,
)
