"""What a server of etcd has of a table, by its gateway for JSON; and its history, which somebody has to compact."""

import base64
import json
import urllib.request
from typing import Any, Dict, NamedTuple


class Kept(NamedTuple):
    """What there is now."""

    keys: int
    sessions: int
    bytes_in_use: int


class Etcd:
    """One server."""

    def __init__(self, authority: str, table: str) -> None:
        self._url = f"http://{authority}"
        self._prefix = f"/ternlease/{table}/"
        self._revision = 0

    def _ask(self, path: str, question: Dict[str, Any]) -> Dict[str, Any]:
        request = urllib.request.Request(self._url + path, json.dumps(question).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=30) as answer:
            told: Dict[str, Any] = json.load(answer)
        return told

    def kept(self) -> Kept:
        """Keys of the table, and sessions and size of the server, which has no other."""
        prefix = self._prefix.encode()
        after = prefix[:-1] + bytes([prefix[-1] + 1])
        found = self._ask(
            "/v3/kv/range",
            {
                "key": base64.b64encode(prefix).decode(),
                "range_end": base64.b64encode(after).decode(),
                "count_only": True,
            },
        )
        sessions = self._ask("/v3/lease/leases", {}).get("leases", [])
        status = self._ask("/v3/maintenance/status", {})
        return Kept(int(found.get("count", 0)), len(sessions), int(status.get("dbSizeInUse", 0)))

    def compact(self) -> None:
        """What is older than the last call is forgotten."""
        status = self._ask("/v3/maintenance/status", {})
        older, self._revision = self._revision, int(status["header"]["revision"])
        if older and older < self._revision:
            self._ask("/v3/kv/compaction", {"revision": older})
