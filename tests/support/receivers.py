"""Receivers of alerts in a test: an HTTP server that notes what comes, and an SMTP server with TLS and login."""

from __future__ import annotations

import base64
import contextlib
import json
import socketserver
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Received:
    """Requests in their order: (path, headers, body). status: of the answers; location: of a redirection."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.status = 200
        self.location = ""
        received = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {key.lower(): value for key, value in self.headers.items()}
                received.requests.append((self.path, headers, json.loads(body)))
                self.send_response(received.status)
                if received.location:
                    self.send_header("location", received.location)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @property
    def bodies(self) -> list[Any]:
        return [body for _, _, body in self.requests]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Smtp:
    """mails: (sender, recipients, text, whether over TLS, user). login: that is required; context: for STARTTLS, or
    from the first byte where `implicit`."""

    def __init__(
        self, context: ssl.SSLContext | None = None, *, implicit: bool = False, login: tuple[str, str] | None = None
    ) -> None:
        self.mails: list[tuple[str, list[str], str, bool, str]] = []
        self.refuse = False
        smtp = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                self.secure = False
                self.file = self.request.makefile("rb")
                self.user, self.sender, self.to = "", "", list[str]()
                with contextlib.suppress(OSError):  # the client refuses the certificate, or goes
                    if implicit:
                        self._wrap()
                    self.say("220 test ready")
                    while line := self.file.readline():
                        if not self.answer(line.decode().strip()):
                            return

            def finish(self) -> None:
                self.file.close()
                self.request.close()

            def _wrap(self) -> None:
                assert context is not None
                self.file.close()
                self.request = context.wrap_socket(self.request, server_side=True, do_handshake_on_connect=False)
                self.request.do_handshake()
                self.file, self.secure = self.request.makefile("rb"), True

            def say(self, text: str) -> None:
                self.request.sendall(f"{text}\r\n".encode())

            def answer(self, line: str) -> bool:
                word = line.partition(" ")[0].upper()
                if word == "EHLO":
                    offers = [
                        "test",
                        *(["STARTTLS"] if context and not self.secure else []),
                        *(["AUTH PLAIN"] if login else []),
                    ]
                    for offer in offers[:-1]:
                        self.say(f"250-{offer}")
                    self.say(f"250 {offers[-1]}")
                elif word == "STARTTLS":
                    self.say("220 go ahead")
                    self._wrap()
                elif word == "AUTH":
                    _, user, password = base64.b64decode(line.split()[2]).decode().split("\0")
                    self.user = user if (user, password) == login else ""
                    self.say("235 ok" if self.user else "535 wrong")
                elif word == "MAIL":
                    self.sender = line.partition("<")[2].partition(">")[0]
                    self.say("530 log in" if login and not self.user else "250 ok")
                elif word == "RCPT":
                    self.to.append(line.partition("<")[2].partition(">")[0])
                    self.say("550 no" if smtp.refuse else "250 ok")
                elif word == "DATA":
                    self.say("354 go on")
                    lines = []
                    while (text := self.file.readline().decode()) != ".\r\n":
                        lines.append(text)
                    smtp.mails.append((self.sender, self.to, "".join(lines), self.secure, self.user))
                    self.say("250 ok")
                else:
                    self.say("221 bye" if word == "QUIT" else "250 ok")
                return word != "QUIT"

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
