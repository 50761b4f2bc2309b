"""Prefect's REST API as schedules ask it: who asks is told as Prefect's own client tells it."""

import base64
import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from infra.stack.prefect import PrefectServerError
from infra.stack.prefect_api import PrefectApi


@pytest.fixture
def api(monkeypatch):
    """An API that answers to me:geheim and to a key, and to nobody else."""
    for name in ("PREFECT_API_AUTH_STRING", "PREFECT_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    welcome = {f"Basic {base64.b64encode(b'me:geheim').decode()}", "Bearer pnu_1"}

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200 if self.headers.get("Authorization") in welcome else 401)
            self.end_headers()
            self.wfile.write(json.dumps({"asked": asked}).encode())

        def log_message(self, *parts):
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield PrefectApi(f"http://127.0.0.1:{server.server_port}/api/")
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("variable", "value"), [("PREFECT_API_AUTH_STRING", "me:geheim"), ("PREFECT_API_KEY", "pnu_1")]
)
def test_a_login_or_a_key_is_that_of_prefects_own_variables(api, monkeypatch, variable, value):
    with pytest.raises(PrefectServerError, match="POST deployments/filter: 401"):
        api.call("POST", "deployments/filter", {"limit": 3})
    monkeypatch.setenv(variable, value)
    assert api.call("POST", "deployments/filter", {"limit": 3}) == {"asked": {"limit": 3}}
