"""`python -m dev.locks.holder SYSTEM WHERE TTL`: an owner in a process of its own, which can be stopped.

It reads a request a line and answers with a line: `acquire SECONDS`, `valid`, `token`, `release`.
"""

from __future__ import annotations

import sys

from dev.locks.systems import client


def main(system: str, where: str, ttl: str) -> int:
    owner = client(system, where, float(ttl))
    print("ready", flush=True)
    for line in sys.stdin:
        verb, *rest = line.split()
        if verb == "acquire":
            answer = "yes" if owner.acquire(float(rest[0])) else "no"
        elif verb == "valid":
            answer = "yes" if owner.valid() else "no"
        elif verb == "token":
            answer = str(owner.token if owner.token is not None else "none")
        else:
            owner.release()
            answer = "done"
        print(answer, flush=True)
    owner.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
