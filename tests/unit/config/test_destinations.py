from __future__ import annotations

from replicator.config.destinations import brokers, destinations, registries, sources


def test_addresses() -> None:
    assert sources({"source": {"hosts": ["a:1", "[::1]:2"]}}) == (("a", 1), ("::1", 2))
    assert sources({"source": {}}) == (("127.0.0.1", 3306),)
    assert brokers({"sink": {"bootstrap_servers": ["b:9", "rubbish"]}}) == (("b", 9),)
    assert brokers({}) == ()
    assert registries({"sink": {"debezium": {"schema_registry": {"url": "http://a:1"}}}}) == ("http://a:1",)
    assert registries({"sink": {"debezium": {"schema_registry": {"url": ["http://a", "https://b"]}}}}) == (
        "http://a",
        "https://b",
    )
    assert registries({"sink": {"debezium": None}}) == registries({}) == ()


def test_every_server_of_a_configuration_is_a_destination_under_its_key() -> None:
    config = {
        "source": {"type": "mariadb", "hosts": ["a:1", "[::1]:2"], "host": None},
        "sink": {
            "type": "kafka",
            "bootstrap_servers": ["k1:9092"],
            "debezium": {"schema_registry": {"url": ["https://r", "http://r:8081/path"]}},
        },
    }
    assert [tuple(each) for each in destinations(config)] == [
        ("source.hosts", "a", 1),
        ("source.hosts", "::1", 2),
        ("sink.bootstrap_servers", "k1", 9092),
        ("sink.debezium.schema_registry.url", "r", 443),
        ("sink.debezium.schema_registry.url", "r", 8081),
    ]


def test_a_replay_from_topics_has_brokers_and_a_target() -> None:
    config = {
        "source": {"type": "kafka", "bootstrap_servers": ["k1:9092"]},
        "sink": {"type": "mysql", "host": None, "port": 3307},
    }
    assert [tuple(each) for each in destinations(config)] == [
        ("sink.host", "127.0.0.1", 3307),
        ("source.bootstrap_servers", "k1", 9092),
    ]


def test_files_are_no_destinations() -> None:
    assert destinations({"source": {"type": "mysql", "host": "db"}, "sink": {"type": "file", "path": "/x"}}) == [
        ("source.host", "db", 3306)
    ]
