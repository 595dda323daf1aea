"""Event: something that happened during a run (docs/reference/events.md)."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Dict, List, Optional


@dataclasses.dataclass(frozen=True)
class Event:
    kind: str  # "started", "network", "process", "limit", "stopping", "ended"…
    act: str
    subject: str
    verdict: str  # "allow", "deny" or "none"
    rule: str
    detail: str
    amount: int
    endpoint: Optional[Dict[str, Any]]
    process: Optional[Dict[str, Any]]
    parents: List[Dict[str, Any]]
    sequence: int
    raw: Dict[str, Any] = dataclasses.field(repr=False, compare=False, hash=False)

    @classmethod
    def from_json(cls, line: bytes) -> "Event":
        raw = json.loads(line.decode("utf-8", "replace"))
        return cls(kind=raw["kind"], act=raw["act"], subject=raw["subject"], verdict=raw["verdict"],
                   rule=raw["rule"], detail=raw["detail"], amount=raw["amount"], endpoint=raw["endpoint"],
                   process=raw["process"], parents=raw["parents"], sequence=raw["seq"], raw=raw)

    @classmethod
    def lost(cls, amount: int, sequence: int) -> "Event":
        """Nobody has taken them out of the queue."""
        raw = {"kind": "lost", "act": "", "subject": "", "verdict": "none", "rule": "",
               "detail": "the queue is full", "amount": amount, "endpoint": None, "process": None,
               "parents": [], "seq": sequence}
        return cls.from_json(json.dumps(raw).encode())
