import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from ssl import SSLContext
from typing import Any, Literal, TypeAlias, TypedDict, type_check_only

from kafka.net.sasl.oauth import AbstractTokenProvider
from kafka.protocol.broker_version_data import BrokerVersionData
from kafka.structs import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition
from typing_extensions import Unpack

_Answer: TypeAlias = dict[str, Any]
"""A response of a broker by field, as `to_dict` of its message gives it."""

@type_check_only
class AdminConfig(TypedDict, total=False):
    """Those of `KafkaAdminClient.DEFAULT_CONFIG` that are used here."""

    bootstrap_servers: str | Sequence[str]
    bootstrap_timeout_ms: float
    request_timeout_ms: float
    reconnect_backoff_ms: float
    reconnect_backoff_max_ms: float
    kafka_client: Callable[..., Any]
    security_protocol: str
    ssl_context: SSLContext | None
    sasl_mechanism: str | None
    sasl_plain_username: str | None
    sasl_plain_password: str | None
    sasl_oauth_token_provider: AbstractTokenProvider | None

class ConfigResourceType(IntEnum):
    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32

class ConfigResource:
    resource_type: ConfigResourceType
    name: str
    configs: Iterable[str] | Mapping[str, str] | None
    def __init__(
        self,
        resource_type: ConfigResourceType | str,
        name: str,
        configs: Iterable[str] | Mapping[str, str] | None = None,
    ) -> None: ...

class KafkaAdminClient:
    DEFAULT_CONFIG: dict[str, Any]
    def __init__(self, **configs: Unpack[AdminConfig]) -> None: ...
    def alter_configs(
        self,
        config_resources: Sequence[ConfigResource],
        validate_only: bool = False,
        raise_on_unknown: bool = True,
        incremental: bool | None = None,
    ) -> dict[str, dict[str, Any]]: ...
    def alter_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group_coordinator_id: int | None = None,
    ) -> dict[TopicPartition, type[Exception]]: ...
    def close(self) -> None: ...
    def create_partitions(
        self,
        topic_partitions: Mapping[str, int | Mapping[str, Any]],
        timeout_ms: float | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
    ) -> Any: ...
    def create_topics(
        self,
        new_topics: Sequence[str] | Mapping[str, Mapping[str, Any]],
        timeout_ms: float | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
        wait_for_metadata: bool = False,
    ) -> _Answer: ...
    def delete_records(
        self,
        records_to_delete: Mapping[TopicPartition, int],
        timeout_ms: float | None = None,
        partition_leader_id: int | None = None,
    ) -> dict[TopicPartition, Any]: ...
    def delete_topics(
        self, topics: Sequence[str | uuid.UUID], timeout_ms: float | None = None, raise_errors: bool = True
    ) -> _Answer: ...
    def describe_cluster(self) -> _Answer: ...
    def describe_configs(
        self,
        config_resources: Sequence[ConfigResource],
        include_synonyms: bool = False,
        config_filter: Literal["modified", "dynamic", "all"] = "modified",
    ) -> dict[str, dict[str, dict[str, _Answer]]]: ...
    def describe_topics(self, topics: Sequence[str | uuid.UUID] | None = None) -> list[_Answer]: ...
    def get_broker_version_data(self, broker_id: int) -> BrokerVersionData: ...
    def list_group_offsets(
        self, group_specs: Mapping[str, Sequence[TopicPartition] | None] | list[str] | str
    ) -> dict[str, dict[TopicPartition, OffsetAndMetadata]]: ...
    def list_groups(
        self,
        broker_ids: Sequence[int] | None = None,
        states_filter: Sequence[str] | None = None,
        types_filter: Sequence[str] | None = None,
    ) -> list[_Answer]: ...
    def list_partition_offsets(
        self,
        topic_partition_specs: Mapping[TopicPartition, int],
        isolation_level: Any = ...,
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, OffsetAndTimestamp]: ...
    def list_topics(self) -> list[str]: ...
