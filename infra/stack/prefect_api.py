"""Prefect's REST API, as far as schedules need it: a request here costs no import of Prefect."""

import base64
import os
from dataclasses import dataclass
from typing import Any

from infra.stack.prefect import PrefectServerError


@dataclass(frozen=True)
class PrefectApi:
    """An API by its address, such as http://127.0.0.1:4200/api."""

    url: str

    def call(self, method: str, path: str, body: Any = None, *, missing: Any = None) -> Any:
        """The answer to a request; `missing`, where one is given, stands for 404."""
        import httpx

        local = self.url.startswith(("http://127.0.0.1", "http://localhost"))
        try:
            with httpx.Client(timeout=30, trust_env=not local) as client:
                address = f"{self.url.rstrip('/')}/{path.lstrip('/')}"
                answer = client.request(method, address, json=body, headers=_authorization())
        except httpx.HTTPError as error:
            raise PrefectServerError(f"Prefect's API at {self.url}: cannot be reached ({error})") from error
        if answer.status_code == 404 and missing is not None:
            return missing
        if answer.status_code >= 400:
            raise PrefectServerError(
                f"Prefect's API at {self.url}: {method} {path}: {answer.status_code} {answer.text}"
            )
        return answer.json() if answer.content else None


def _authorization() -> dict[str, str]:
    """The header by which Prefect's own client says who asks: a login, or a key of Prefect Cloud."""
    if login := os.environ.get("PREFECT_API_AUTH_STRING"):
        return {"Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"}
    if key := os.environ.get("PREFECT_API_KEY"):
        return {"Authorization": f"Bearer {key}"}
    return {}
