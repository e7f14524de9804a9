"""Reads responses and their events with the types of Open Responses, strictly, and says what does not fit.

usage: open_responses.py FILE    one exchange a line: path, status, stream, body
"""

import enum
import inspect
import json
import sys

import openresponses_types.types as types
from pydantic import BaseModel, ValidationError

EVENTS = {}
for _, cls in inspect.getmembers(types, inspect.isclass):
    if issubclass(cls, BaseModel) and cls.__name__.endswith("StreamingEvent"):
        kind = cls.model_fields["type"].annotation
        for member in kind if issubclass(kind, enum.Enum) else ():
            EVENTS[member.value] = cls

count = {"responses": 0, "events": 0, "compactions": 0, "kinds": {}, "faults": []}


def fault(where, text):
    line = f"{where}: {text}"
    if line not in count["faults"]:
        count["faults"].append(line)


def schemaless(obj):
    """An object whose format repeats no schema: the types let it be null alone, OpenAI's server repeats it."""
    if obj.get("type") == "json_schema" and isinstance(obj.get("schema"), dict):
        obj["schema"] = None
    return obj


def read(cls, text, where):
    text = json.dumps(json.loads(text, object_hook=schemaless))
    try:
        cls.model_validate_json(text, strict=True)
    except ValidationError as e:
        for one in e.errors(include_url=False):
            fault(where, f"{'.'.join(map(str, one['loc']))}: {one['msg']}, got {json.dumps(one['input'])[:120]}")


for line in open(sys.argv[1], encoding="utf-8"):
    e = json.loads(line)
    if e["stream"]:
        for event in e["body"].split("\n\n"):
            lines = event.split("\n")
            data = "\n".join(l[5:].lstrip(" ") for l in lines if l.startswith("data:"))
            if not data or data == "[DONE]":
                continue
            kind = json.loads(data).get("type")
            if kind not in EVENTS:
                fault(e["path"], f"no event of the schema: {kind}")
                continue
            if f"event: {kind}" not in lines:
                fault(e["path"], f"{kind}: its event line is missing")
            count["events"] += 1
            count["kinds"][kind] = count["kinds"].get(kind, 0) + 1
            read(EVENTS[kind], data, f"{e['path']}, {kind}")
        continue
    if e["status"] != 200 or not e["body"].startswith("{"):
        continue
    kind = json.loads(e["body"]).get("object")
    if kind == "response":
        count["responses"] += 1
        read(types.ResponseResource, e["body"], e["path"])
    elif kind == "response.compaction":
        count["compactions"] += 1
        read(types.CompactResource, e["body"], e["path"])

json.dump(count, sys.stdout)
