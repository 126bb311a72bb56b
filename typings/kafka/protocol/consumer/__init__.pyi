from kafka.protocol.consumer.offsets import OffsetSpec as OffsetSpec
