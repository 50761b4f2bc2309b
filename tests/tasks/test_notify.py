"""Who is told of a night that failed: a real webhook on loopback, a real command."""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from pydantic import SecretStr

from tasks.notify import notify
from tasks.settings import Settings


@pytest.fixture
def hook():
    """(address, what arrived there)."""
    arrived = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            arrived.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200 if self.path == "/ok" else 500)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", arrived
    server.shutdown()


def test_a_webhook_gets_the_event_as_json(hook):
    address, arrived = hook
    settings = Settings(notify_webhook=SecretStr(f"{address}/ok"))
    assert notify(settings, "refused", {"name": "nightly-notes", "reason": "drift of tags: 60 %"}) == []
    assert arrived == [{"event": "refused", "name": "nightly-notes", "reason": "drift of tags: 60 %"}]


def test_a_command_gets_the_event_on_its_standard_input(tmp_path):
    code = f"import sys; open({str(tmp_path / 'told')!r}, 'w').write(sys.stdin.read())"
    settings = Settings(notify_command=f'{sys.executable} -c "{code}"')
    assert notify(settings, "failed", {"error": "no space"}) == []
    assert json.loads((tmp_path / "told").read_text()) == {"event": "failed", "error": "no space"}


def test_nobody_there_is_no_error_and_keeps_secrets(hook):
    address, _ = hook
    settings = Settings(notify_webhook=SecretStr(f"{address}/secret-token"), notify_command="no-such-program --now")
    webhook, command = notify(settings, "failed", {})
    assert webhook == "the webhook: HTTPStatusError"
    assert command.startswith("the command 'no-such-program --now': ")
    exits = Settings(notify_command=f'{sys.executable} -c "raise SystemExit(3)"')
    assert "ended with 3" in notify(exits, "failed", {})[0]
    assert notify(Settings(), "failed", {}) == []
