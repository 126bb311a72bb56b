# syntax=docker/dockerfile:1
# One image for the three processes; the command chooses: `replicator core|server|monitor ...`.
FROM python:3.11-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
# For the compiled decoder; the second stage has no compiler.
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
RUN python -m venv /opt/replicator
WORKDIR /src
# The locked requirements alone first: this layer is reused until the lock changes.
COPY requirements-runtime.lock ./
RUN /opt/replicator/bin/pip install --require-hashes --no-deps -r requirements-runtime.lock
COPY pyproject.toml setup.py MANIFEST.in README.md LICENSE ./
COPY replicator replicator
COPY core core
COPY server server
COPY monitor monitor
# What `replicator docs` prints.
COPY docs docs
COPY deploy deploy
RUN /opt/replicator/bin/pip install "setuptools>=77" "cython>=3.1" \
    && /opt/replicator/bin/pip install --no-deps --no-build-isolation . \
    && /opt/replicator/bin/pip uninstall --yes setuptools cython

FROM python:3.11-slim-bookworm
RUN useradd --system --uid 10001 --user-group --home-dir /nonexistent --shell /usr/sbin/nologin replicator \
    && install -d -m 0700 -o replicator -g replicator /var/lib/replicator
COPY --from=build /opt/replicator /opt/replicator
COPY deploy/healthcheck.py /usr/local/bin/replicator-healthcheck
# The Server keeps its token below XDG_STATE_HOME.
ENV PATH=/opt/replicator/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 XDG_STATE_HOME=/var/lib/replicator
USER 10001:10001
WORKDIR /tmp
STOPSIGNAL SIGTERM
# Server and Monitor set REPLICATOR_HEALTH_URL; a Core is healthy while its process lives (its state is in ZooKeeper).
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "/usr/local/bin/replicator-healthcheck"]
ENTRYPOINT []
CMD ["replicator", "--help"]
