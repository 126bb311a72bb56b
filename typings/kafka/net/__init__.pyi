from kafka.net.inet import KafkaNetSocket as KafkaNetSocket
