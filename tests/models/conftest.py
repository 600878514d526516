"""A server of our own that fails on purpose, on a real socket of the loopback, and requests for it."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from passcurve.models.backend import SampleRequest
from passcurve.types import Decoding, Prompt

TOO_LONG = (
    "This model's maximum context length is 256 tokens. However, you requested 300 tokens. Please reduce the length."
)


class Server:
    """Answers as an OpenAI-compatible server does, or with a fault.

    ``fault`` returns the name of a fault or nothing; it takes the number of the request from 0, and its body.
    ``text`` returns the text of a choice.
    """

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        """Bodies of the requests, in order."""
        self.headers: list[dict[str, str]] = []
        self.at: list[float] = []
        self.fault: Callable[[int, dict[str, Any]], str] = lambda number, body: ""
        self.text: Callable[[dict[str, Any], int], str] = lambda body, choice: f"    return {choice}\n"
        self.takes_s = 0.0
        self.retry_after = "0"
        """Empty: not sent."""
        self.open = self.most_open = 0
        self.lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with server.lock:
                    number = len(server.requests)
                    server.requests.append(body | {"path": self.path})
                    server.headers.append({name.lower(): value for name, value in self.headers.items()})
                    server.at.append(time.monotonic())
                    server.open += 1
                    server.most_open = max(server.most_open, server.open)
                try:
                    time.sleep(server.takes_s)
                    server.answer(self, body, server.fault(number, body))
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True
                finally:
                    with server.lock:
                        server.open -= 1

            def do_GET(self) -> None:
                server.send(self, 200, {"data": [{"id": "tiny-coder"}, {"id": "other"}]})

            def log_message(self, *_: object) -> None:
                pass

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_: object) -> None:
                pass

        self._http = Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._http.shutdown()
        self._http.server_close()

    def answer(self, to: BaseHTTPRequestHandler, body: dict[str, Any], fault: str) -> None:
        """Answer a request, with a fault or as asked."""
        match fault:
            case "429":
                headers = {"retry-after": self.retry_after} if self.retry_after else {}
                self.send(to, 429, {"error": {"message": "slow down"}}, headers)
            case "500":
                self.send(to, 500, {"error": {"message": "it broke"}})
            case "529":
                body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
                self.send(to, 529, body, {"retry-after": self.retry_after})
            case "400":
                self.send(to, 400, {"error": {"message": "top_p must be below 2"}})
            case "401":
                self.send(to, 401, {"error": {"message": "wrong key"}})
            case "404":
                self.send(to, 404, {"error": {"message": f"The model `{body['model']}` does not exist."}})
            case "422":
                self.send(to, 422, {"detail": "no such field"})
            case "too long":
                self.send(to, 400, {"error": {"message": TOO_LONG}})
            case "prompt too long":
                words = "prompt is too long: 208310 tokens > 200000 maximum"
                self.send(to, 400, {"type": "error", "error": {"type": "invalid_request_error", "message": words}})
            case "other limit":
                words = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
                self.send(to, 400, {"error": {"message": words}})
            case "bad json":
                self._send_text(to, 200, b'{"choices": [{"text": "    ret')
            case "no choices":
                self.send(to, 200, {"choices": []})
            case "created":
                self.send(to, 201, self._written(to, body, fault))
            case "drop":
                # With linger 0 the other side gets a reset.
                to.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                to.close_connection = True
                to.connection.close()
            case "slow":
                text = json.dumps(self._written(to, body, fault)).encode()
                to.send_response(200)
                to.send_header("content-length", str(len(text)))
                to.end_headers()
                for at in range(len(text)):
                    to.wfile.write(text[at : at + 1])
                    to.wfile.flush()
                    time.sleep(0.05)
            case _:
                self.send(to, 200, self._written(to, body, fault))

    def _written(self, to: BaseHTTPRequestHandler, body: dict[str, Any], fault: str) -> dict[str, Any]:
        return self._message(body, fault) if to.path.endswith("/messages") else self._completion(body, fault)

    def _message(self, body: dict[str, Any], fault: str) -> dict[str, Any]:
        """Return an answer as Anthropic's Messages API gives it, what was thought in a block of its own."""
        blocks = [{"type": "thinking", "thinking": "let me think"}, {"type": "text", "text": self.text(body, 0)}]
        if fault == "broken off":
            blocks = [{"type": "text", "text": ""}]
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "tiny-coder-0",
            "content": [] if fault == "nothing said" else blocks,
            "stop_reason": {"cut off": "max_tokens", "filtered": "refusal", "broken off": None}.get(fault, "end_turn"),
            "stop_sequence": None,
            "usage": {
                "input_tokens": 4,
                "cache_read_input_tokens": 16,
                "cache_creation_input_tokens": 0,
                "output_tokens": 7,
            },
        }

    def _completion(self, body: dict[str, Any], fault: str) -> dict[str, Any]:
        count = 1 if fault == "n ignored" else body.get("n", 1)
        finish = {"cut off": "length", "filtered": "content_filter", "broken off": "error"}.get(fault, "stop")
        choices: list[dict[str, Any]] = []
        for number in range(count):
            text = self.text(body, number)
            if fault != "stop left in":
                for stop in body.get("stop", ()):
                    text = text.partition(stop)[0]
            choice: dict[str, Any] = {"index": number, "finish_reason": finish}
            if "messages" in body:
                choice["message"] = {"role": "assistant", "content": text, "reasoning_content": "let me think"}
            else:
                choice["text"] = text
            if number == 1 and fault == "one aborted":
                choice["finish_reason"] = "abort"
            if number == 0 and fault == "one without a text":
                choice["text"] = None
            choices.append(choice)
        if fault == "an aborted one more":
            choices.insert(0, choices[0] | {"finish_reason": "error"})
        model = "tiny-coder-1" if fault == "another model" else "tiny-coder-0"
        answer: dict[str, Any] = {"model": model, "system_fingerprint": "fp1", "choices": choices}
        if fault != "no usage":
            answer["usage"] = {
                "prompt_tokens": 20,
                "completion_tokens": 7 * count,
                "completion_tokens_details": {"reasoning_tokens": 2 * count},
                "prompt_tokens_details": {"cached_tokens": 16},
            }
        return answer

    def send(
        self, to: BaseHTTPRequestHandler, status: int, body: dict[str, Any], headers: dict[str, str] | None = None
    ) -> None:
        """Send a response with a JSON body."""
        self._send_text(to, status, json.dumps(body).encode(), headers)

    def _send_text(
        self, to: BaseHTTPRequestHandler, status: int, text: bytes, headers: dict[str, str] | None = None
    ) -> None:
        to.send_response(status)
        for name, value in ({"content-length": str(len(text))} | (headers or {})).items():
            to.send_header(name, value)
        to.end_headers()
        to.wfile.write(text)


@pytest.fixture
def server() -> Iterator[Server]:
    """Return a server without a fault."""
    made = Server()
    yield made
    made.close()


@pytest.fixture(scope="session")
def llama() -> Path:
    """Return the folder of the Llama that is made and trained on the spot."""
    for name in ("torch", "transformers"):
        pytest.importorskip(name, reason=f"needs {name}: pip install '.[hf]' 'transformers[serving]'")
    from tiny_models import tiny_llama

    return tiny_llama()


@pytest.fixture
def sample_request() -> Callable[..., SampleRequest]:
    """Return a function that makes a request for some samples of one problem."""

    def make(*indices: int, problem: str = "p/0", text: str = "def f():\n", **decoding: Any) -> SampleRequest:
        prompt = Prompt(problem_id=problem, text=text, stub=text, reference="    return 1\n")
        return SampleRequest(prompt=prompt, decoding=Decoding(**decoding), indices=indices or (0,))

    return make
