from collections.abc import Callable, Sequence
from ssl import SSLContext
from typing import Any, TypedDict, type_check_only

from kafka.net.sasl.oauth import AbstractTokenProvider
from kafka.producer.future import FutureRecordMetadata
from typing_extensions import Unpack

@type_check_only
class ProducerConfig(TypedDict, total=False):
    """Those of `KafkaProducer.DEFAULT_CONFIG` that are used here."""

    bootstrap_servers: str | Sequence[str]
    key_serializer: Callable[[Any], bytes | None] | None
    value_serializer: Callable[[Any], bytes | None] | None
    transactional_id: str | None
    transaction_timeout_ms: float
    acks: int | str
    enable_idempotence: bool
    delivery_timeout_ms: float
    request_timeout_ms: float
    max_block_ms: float
    retry_backoff_ms: float
    linger_ms: float
    max_request_size: int
    max_in_flight_requests_per_connection: int
    compression_type: str | None
    allow_auto_create_topics: bool
    metrics_enabled: bool
    security_protocol: str
    ssl_context: SSLContext | None
    sasl_mechanism: str | None
    sasl_plain_username: str | None
    sasl_plain_password: str | None
    sasl_oauth_token_provider: AbstractTokenProvider | None

class KafkaProducer:
    DEFAULT_CONFIG: dict[str, Any]
    def __init__(self, **configs: Unpack[ProducerConfig]) -> None: ...
    def abort_transaction(self) -> None: ...
    def begin_transaction(self) -> None: ...
    def close(self, timeout: float | None = None, null_logger: bool = False) -> None: ...
    def commit_transaction(self) -> None: ...
    def flush(self, timeout: float | None = None) -> None: ...
    def init_transactions(self) -> None: ...
    def partitions_for(self, topic: str) -> set[int]: ...
    # value and key: what the serializers take; without serializers bytes, or None.
    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        headers: list[tuple[str, bytes]] | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> FutureRecordMetadata: ...
