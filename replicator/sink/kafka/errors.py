"""Converts errors of the Kafka clients to errors of a task."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from kafka import errors as kafka_errors
from kafka.errors import KafkaError

from replicator.errors import ReplicatorError, SinkError, SinkFenced, SinkUnavailable
from replicator.kafka.failure import ConnectionFailure
from replicator.model.batch import Record
from replicator.sink.kafka.records import BATCH_OVERHEAD, too_large
from replicator.sink.kafka.topic import Topic


@contextmanager
def translating(what: str) -> Iterator[None]:
    """Errors of the client become ours inside this block."""
    try:
        yield
    except (KafkaError, ConnectionFailure, OSError) as error:
        raise translate(error, what) from error


_FENCED = (kafka_errors.ProducerFencedError, kafka_errors.InvalidProducerEpochError)
_NOT_ALLOWED = (kafka_errors.AuthorizationError, kafka_errors.SaslAuthenticationFailedError)
_TOO_LARGE = (kafka_errors.MessageSizeTooLargeError, kafka_errors.RecordListTooLargeError)
_RESUMABLE = (  # the producer's state is spoilt, not ours: a new producer goes on from the last committed position
    kafka_errors.RetriableError,
    kafka_errors.OutOfOrderSequenceNumberError,
    kafka_errors.UnknownProducerIdError,
    kafka_errors.InvalidProducerIdMappingError,
    kafka_errors.InvalidTxnStateError,
    kafka_errors.TransactionAbortedError,
    kafka_errors.TransactionAbortableError,
    kafka_errors.TransactionCoordinatorFencedError,
    kafka_errors.IllegalStateError,
    kafka_errors.BrokerNotAvailableError,
    kafka_errors.UnknownBrokerIdError,
    kafka_errors.UnknownError,
    OSError,
)


def translate(error: BaseException, what: str) -> ReplicatorError:
    """The error of ours that says what an error of the client means for a task."""
    if isinstance(error, ReplicatorError):
        return error
    if isinstance(error, ConnectionFailure):
        return _of_connection(error, what)
    if isinstance(error.__cause__, ConnectionFailure) and error.__cause__.kind == "outgoing":
        return _of_connection(error.__cause__, what)
    cause = _innermost(error)
    if isinstance(cause, ReplicatorError):
        return cause
    found = describe(cause)
    if isinstance(cause, _FENCED):
        return SinkFenced("E3104", "a later term uses the transactional id of the task", found=found)
    if isinstance(cause, _NOT_ALLOWED):
        return SinkError("E3103", f"{what}: the broker does not allow it", found=found)
    if isinstance(cause, _TOO_LARGE):
        return SinkError(
            "E3102",
            f"{what}: the broker refuses the size",
            found=found,
            fix="Raise max.message.bytes of the topic (message.max.bytes of the broker), or lower "
            "`sink.max_record_bytes` below it and set `sink.oversize: dead_letter`; then `replicator task retry NAME`.",
        )
    if isinstance(cause, _RESUMABLE) or type(cause) is KafkaError:
        return SinkUnavailable("E3002", what, found=found)
    return SinkError("E3107", what, found=found)


def _of_connection(failure: ConnectionFailure, what: str) -> ReplicatorError:
    if failure.kind == "outgoing" and isinstance(failure.__cause__, ReplicatorError):
        return failure.__cause__
    if failure.final and failure.kind == "authentication":
        return SinkError("E3103", f"{what}: the broker refuses the login", found=str(failure))
    if failure.final and failure.kind == "tls":
        return SinkError("E3110", what, found=str(failure))
    return SinkUnavailable("E3002", what, found=str(failure))


def refused_size(cause: BaseException, topic: Topic, size: int, single: Record | None) -> ReplicatorError | None:
    """The error for a batch that the broker calls too large, None for other causes.

    A batch of several records is made smaller the next time (the topic's limit may be unknown to us, for want of a
    DescribeConfigs grant, or have been lowered); a single record can't be, and goes to the dead letters the next time,
    where the task says so.
    """
    if not isinstance(cause, _TOO_LARGE):
        return None
    if single is not None and not topic.lenient:
        return too_large(single, size, topic.record_bytes)
    what = f"a batch for topic '{topic.name}' was refused because of its size; smaller batches are sent from now on"
    if single is not None:
        topic.refused(size - BATCH_OVERHEAD)
        what = (
            f"a record for topic '{topic.name}' was refused because of its size; it is written to the dead letter topic"
        )
    else:
        topic.batch_bytes = max(BATCH_OVERHEAD + 1, size // 2)
    return SinkUnavailable("E3002", what, found=f"{size} bytes")


_WIRE_ERROR = re.compile(r"\[Error (\d+)\]")


def _innermost(error: BaseException) -> BaseException:
    """The library wraps causes in KafkaError, as an argument or as text with the protocol's error number."""
    if type(error) is not KafkaError:
        return error
    for argument in error.args:
        if isinstance(argument, BaseException):
            return _innermost(argument)
    match = _WIRE_ERROR.search(str(error))
    return kafka_errors.for_code(int(match[1]))(str(error)) if match else error


_BROKERS_WORDS = re.compile(r"error_message='([^']+)'")
_EMPTY_WORDS = re.compile("(KafkaError: )?Could not execute transactional request for unknown reasons: (KafkaError: )?")


def describe(error: BaseException) -> str:
    """Kind and text of an error of the client, for `found`; the broker's own words where it has any."""
    words = _BROKERS_WORDS.search(str(error))
    text = words[1] if words else _EMPTY_WORDS.sub("", str(error))
    name = type(error).__name__
    return f"{name}: {text.removeprefix(f'{name}: ')}"[:300].rstrip(": ")
