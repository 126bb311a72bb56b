"""A Kafka producer: the protocol's messages, a state machine without sockets, and the connections to the brokers."""
