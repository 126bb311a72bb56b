"""Kafka, ZooKeeper and a schema registry: jars, from the Maven repository that Maven is configured for here."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from dev.errors import ServerUnavailable
from dev.fetch.once import folder_once, run

KAFKA = "4.3.1"
OLDER_KAFKA = ("2.8.2", "3.9.1")
"""The oldest release that the Kafka client supports, and the last one without transaction protocol 2."""
ZOOKEEPER = "3.9.5"
REGISTRY = "3.0.9"

_KAFKA_ARTEFACTS = (
    ("org.apache.kafka", "kafka_2.13", KAFKA),
    ("org.apache.kafka", "kafka-tools", KAFKA),
    ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4"),
)
_OLDER_LOGGING = ("org.slf4j", "slf4j-reload4j", "1.7.36")
# The last two are optional dependencies of ZooKeeper without which its server does not start.
_ZOOKEEPER_ARTEFACTS = (
    ("org.apache.zookeeper", "zookeeper", ZOOKEEPER),
    ("io.dropwizard.metrics", "metrics-core", "4.2.33"),
    ("org.xerial.snappy", "snappy-java", "1.1.10.7"),
)

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>dev</groupId><artifactId>libs</artifactId><version>1</version>
  <dependencies>{dependencies}</dependencies>
</project>
"""
_DEPENDENCY = (
    "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version><type>jar</type></dependency>"
)


def java() -> str:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin") if home else None
    found = found or shutil.which("java")
    if not found:
        raise ServerUnavailable("Java", "no `java` on the PATH (run `make setup`)")
    return found


def kafka_libs() -> Path:
    """KAFKA_HOME's libs when it is set, otherwise the cached jars."""
    home = os.environ.get("KAFKA_HOME")
    if not home:
        return folder_once(f"kafka-{KAFKA}", lambda draft: copy_jars("Kafka", _KAFKA_ARTEFACTS, draft))
    libs = Path(home) / "libs"
    if not any(libs.glob("kafka_*.jar")):
        raise ServerUnavailable("Kafka", f"KAFKA_HOME={home} has no libs/kafka_*.jar")
    return libs


def older_kafka_libs(version: str) -> Path:
    """The jars of a broker that logs by Log4j 1; about 40 MB."""
    artefacts = (("org.apache.kafka", "kafka_2.13", version), _OLDER_LOGGING)
    return folder_once(f"kafka-{version}", lambda draft: copy_jars("Kafka", artefacts, draft))


def zookeeper_libs() -> Path:
    return folder_once(f"zookeeper-{ZOOKEEPER}", lambda draft: copy_jars("ZooKeeper", _ZOOKEEPER_ARTEFACTS, draft))


def registry_libs() -> Path:
    """Apicurio Registry: its jar and, under lib, what it needs."""

    def build(draft: Path) -> None:
        packed = f"io.apicurio:apicurio-registry-app:{REGISTRY}:tar.gz:all"
        pom = draft / "pom.xml"
        pom.write_text(_POM.format(dependencies=""))
        goal = [
            "dependency:unpack",
            f"-Dartifact={packed}",
            f"-DoutputDirectory={draft}",
            f"-DmarkersDirectory={draft}",
        ]
        run("schema registry", ["mvn", "-q", "-B", "-f", str(pom), *goal])
        if not any(draft.glob("apicurio-registry-app-*-runner.jar")):
            raise ServerUnavailable("schema registry", "Maven finished without its jar")

    return folder_once(f"apicurio-registry-{REGISTRY}", build)


def copy_artefact(owner: str, artefact: str, folder: Path) -> None:
    """`artefact`: group:artefact:version[:packaging[:classifier]], as a file into `folder`, without what it needs."""
    pom = folder / "pom.xml"
    pom.write_text(_POM.format(dependencies=""))
    goal = ["dependency:copy", f"-Dartifact={artefact}", f"-DoutputDirectory={folder}"]
    run(owner, ["mvn", "-q", "-B", "-f", str(pom), *goal])


def copy_jars(owner: str, artefacts: tuple[tuple[str, str, str], ...], libs: Path) -> None:
    """(group, artefact, version) each, with what they need, into the folder `libs`."""
    pom = libs / "pom.xml"
    pom.write_text(_POM.format(dependencies="".join(_DEPENDENCY.format(*each) for each in artefacts)))
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={libs}"]
    run(owner, ["mvn", "-q", "-B", "-f", str(pom), *goal])
    if not any(libs.glob(f"{artefacts[0][1]}-*.jar")):
        raise ServerUnavailable(owner, "Maven finished without its jar")
