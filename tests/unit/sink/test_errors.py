from __future__ import annotations

import pytest
from kafka import errors as kafka_errors

from replicator.errors import LeadershipLost, ReplicatorError, SinkFenced, SinkUnavailable
from replicator.sink.kafka.errors import refused_size, translate
from replicator.sink.kafka.topic import Topic


@pytest.mark.parametrize(
    ("error", "code", "transient"),
    [
        (kafka_errors.UnknownBrokerIdError(), "E3002", True),  # one that came after we had asked who there is
        (kafka_errors.ProducerFencedError(), "E3104", False),
        (kafka_errors.InvalidProducerEpochError(), "E3104", False),
        (kafka_errors.KafkaError(kafka_errors.ProducerFencedError()), "E3104", False),
        (kafka_errors.KafkaError("refused before", kafka_errors.ProducerFencedError()), "E3104", False),
        (kafka_errors.TopicAuthorizationFailedError("t"), "E3103", False),
        (kafka_errors.ClusterAuthorizationFailedError(), "E3103", False),
        (kafka_errors.SaslAuthenticationFailedError(), "E3103", False),
        (kafka_errors.MessageSizeTooLargeError(), "E3102", False),
        (kafka_errors.KafkaTimeoutError("late"), "E3002", True),
        (kafka_errors.KafkaConnectionError("gone"), "E3002", True),
        (kafka_errors.NotEnoughReplicasError(), "E3002", True),
        (kafka_errors.OutOfOrderSequenceNumberError(), "E3002", True),
        (kafka_errors.UnknownProducerIdError(), "E3002", True),
        (kafka_errors.InvalidTxnStateError(), "E3002", True),
        (kafka_errors.IllegalStateError("Producer is closed forcefully."), "E3002", True),
        (kafka_errors.KafkaError("Could not execute transactional request for unknown reasons: x"), "E3002", True),
        (ConnectionResetError("reset"), "E3002", True),
        (kafka_errors.InvalidReplicationFactorError(), "E3107", False),
        (kafka_errors.PolicyViolationError(), "E3107", False),
        (
            kafka_errors.KafkaError(f"Unexpected error: {kafka_errors.InvalidTransactionTimeoutError()}"),
            "E3107",
            False,
        ),
    ],
)
def test_translation(error: Exception, code: str, transient: bool) -> None:
    translated = translate(error, "it failed")
    assert (translated.code, translated.transient) == (code, transient)
    assert isinstance(translated, SinkFenced) == (code == "E3104")


def test_our_own_errors_pass_through() -> None:
    own: ReplicatorError = LeadershipLost("E4008", "over")
    assert translate(own, "x") is own
    assert translate(kafka_errors.KafkaError("refused before", own), "x") is own


def test_a_batch_too_large_becomes_smaller_and_a_record_stops_the_task() -> None:
    topic = Topic("t", 1, 1 << 20)
    before = topic.batch_bytes
    cause = kafka_errors.MessageSizeTooLargeError()
    assert isinstance(refused_size(cause, topic, before, None), SinkUnavailable)
    assert topic.batch_bytes == before // 2
    single = refused_size(cause, topic, 5000, ("t", b"k", b"v", b"f:4", 0, ()))
    assert single is not None
    assert single.code == "E3102"
    assert "f:4" in str(single)
    assert refused_size(kafka_errors.KafkaTimeoutError(), topic, 1, None) is None
