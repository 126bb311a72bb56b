class KafkaError(Exception):
    retriable: bool
    invalid_metadata: bool

class RetriableError(KafkaError): ...
class InvalidMetadataError(RetriableError): ...
class IllegalStateError(KafkaError): ...
class KafkaConnectionError(InvalidMetadataError): ...
class KafkaTimeoutError(RetriableError): ...
class UnknownBrokerIdError(KafkaError): ...
class TransactionAbortedError(KafkaError): ...

class BrokerResponseError(KafkaError):
    errno: int | None  # an int in all classes that a broker's answer is given
    message: str | None
    description: str | None

class AuthorizationError(BrokerResponseError): ...

class UnknownError(BrokerResponseError):
    errno: int

class OffsetOutOfRangeError(BrokerResponseError):
    errno: int

class CorruptRecordError(BrokerResponseError):
    errno: int

class LeaderNotAvailableError(InvalidMetadataError, BrokerResponseError):
    errno: int

class NotLeaderForPartitionError(InvalidMetadataError, BrokerResponseError):
    errno: int

class BrokerNotAvailableError(BrokerResponseError):
    errno: int

class MessageSizeTooLargeError(BrokerResponseError):
    errno: int

class CoordinatorNotAvailableError(RetriableError, BrokerResponseError):
    errno: int

class NotCoordinatorError(RetriableError, BrokerResponseError):
    errno: int

class RecordListTooLargeError(BrokerResponseError):
    errno: int

class NotEnoughReplicasError(RetriableError, BrokerResponseError):
    errno: int

class TopicAuthorizationFailedError(AuthorizationError):
    errno: int

class ClusterAuthorizationFailedError(AuthorizationError):
    errno: int

class UnsupportedVersionError(BrokerResponseError):
    errno: int

class TopicAlreadyExistsError(BrokerResponseError):
    errno: int

class InvalidReplicationFactorError(BrokerResponseError):
    errno: int

class PolicyViolationError(BrokerResponseError):
    errno: int

class OutOfOrderSequenceNumberError(BrokerResponseError):
    errno: int

class InvalidProducerEpochError(BrokerResponseError):
    errno: int

class InvalidTxnStateError(BrokerResponseError):
    errno: int

class InvalidProducerIdMappingError(BrokerResponseError):
    errno: int

class InvalidTransactionTimeoutError(BrokerResponseError):
    errno: int

class TransactionCoordinatorFencedError(BrokerResponseError):
    errno: int

class SaslAuthenticationFailedError(BrokerResponseError):
    errno: int

class UnknownProducerIdError(BrokerResponseError):
    errno: int

class ProducerFencedError(BrokerResponseError):
    errno: int

class TransactionalIdNotFoundError(BrokerResponseError):
    errno: int

class TransactionAbortableError(BrokerResponseError):
    errno: int

def for_code(error_code: int) -> type[BrokerResponseError]: ...
