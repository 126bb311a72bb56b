from kafka.admin import KafkaAdminClient as KafkaAdminClient
from kafka.consumer import KafkaConsumer as KafkaConsumer
from kafka.producer import KafkaProducer as KafkaProducer
from kafka.protocol.consumer import OffsetSpec as OffsetSpec
from kafka.structs import TopicPartition as TopicPartition
