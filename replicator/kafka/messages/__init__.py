"""The messages of Kafka's protocol that a producer exchanges with brokers, one module per message.

Each module gives its `KEY`, the `VERSIONS` (lowest, highest) that it can write and read, all of them flexible, a
function `request` that returns what follows the request header, and a function that reads the reply.
"""
