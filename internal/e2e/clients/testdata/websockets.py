"""OpenAI's SDKs for Python over WebSockets: the plain one, the plain one with asyncio, and the Agents SDK.

    python websockets.py BASE_URL KEY

Prints one JSON object for each step of each client: what the SDK made of it. The last one has what the SDK's own types,
read strictly, say of all events.
"""

import asyncio
import json
import logging
import sys
from typing import get_args

from agents import Agent, Runner, function_tool, set_default_openai_client, set_default_openai_responses_transport, set_tracing_disabled
from openai import AsyncOpenAI, OpenAI
from openai.types.responses import ResponsesServerEvent
from pydantic import ValidationError

TOOL = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    "strict": False,
}
ASKS = {"model": "hermes", "input": "What is the weather in Oslo?", "tools": [TOOL], "store": False}
ENDS = ("response.completed", "response.failed", "response.incomplete", "response.steer.failed", "error")

# The SDK's type of an event, by its member type.
TYPES = {get_args(event.model_fields["type"].annotation)[0]: event for event in get_args(get_args(ResponsesServerEvent)[0])}
faults, kinds, ids = [], {}, set()


def checked(data):
    """Notes what the SDK's types say of an event."""
    event = json.loads(data)
    kind = event["type"]
    kinds[kind] = kinds.get(kind, 0) + 1
    try:
        TYPES[kind].model_validate(event, strict=True)
    except ValidationError as error:
        for fault in error.errors():
            if fault["loc"] != ("response", "error", "code"):  # there are more errors here than there
                faults.append(f"{kind}: {fault['loc']}: {fault['msg']}")
    if headers := event.get("headers"):  # of the first event of a request
        ids.add(headers["x-request-id"])
    return data


def say(client, step, **said):
    print(json.dumps({"client": client, "step": step, **said}), flush=True)


def calls_of(response):
    return [item for item in response.output if item.type == "function_call"]


def shown(event):
    """What a request ended with."""
    if event.type == "error":
        return {"error": {"status": event.status, "code": event.error.code}}
    if event.type == "response.steer.failed":
        return {"error": {"code": event.error.code}}
    if event.response.error:
        return {"error": {"code": event.response.error.code}}
    calls = [{"name": call.name, "arguments": json.loads(call.arguments)} for call in calls_of(event.response)]
    return {"content": event.response.output_text, "calls": calls, "noted": event.model_extra.get("callgate", "")}


def steps(client):
    """Yields the requests to send at once, and gets the events that ended them, by their lanes."""

    def one(step, **request):
        event = (yield [request])[None]
        say(client, step, **shown(event))
        return getattr(event, "response", None)

    first = yield from one("call", **ASKS)
    output = {"type": "function_call_output", "call_id": calls_of(first)[0].call_id, "output": "rain"}
    follows = {**ASKS, "previous_response_id": first.id}
    yield from one("output", **{**follows, "input": [output]})
    yield from one("unknown model", **{**ASKS, "model": "nobody"})
    yield from one("unknown response", **{**ASKS, "previous_response_id": "resp_none"})
    prepared = yield from one("prepared", **ASKS, generate=False)
    yield from one("on what was prepared", **{**ASKS, "previous_response_id": prepared.id, "input": []})
    yield from one("broken stream", **{**ASKS, "model": "late_error"})
    yield from one("background", **ASKS, background=True)
    yield from one("steered", steers=True, previous_response_id=first.id, input="Be brief.")
    ended = yield [{**ASKS, "stream_id": "one"}, {**ASKS, "stream_id": "two", "input": "hello"}]
    for lane, event in sorted(ended.items()):
        say(client, "lane " + lane, **shown(event))


def plain(base_url, key):
    with OpenAI(base_url=base_url, api_key=key).responses.connect() as connection:
        todo, ended = steps("plain"), None
        while requests := following(todo, ended):
            for request in requests:
                response = connection.response
                response.steer(**request) if request.pop("steers", False) else response.create(**request)
            ended = {}
            while len(ended) < len(requests):
                event = connection.parse_event(checked(connection.recv_bytes()))
                if event.type in ENDS:
                    ended[event.stream_id] = event
    try:
        OpenAI(base_url=base_url, api_key="wrong").responses.connect().enter()
    except Exception as error:
        say("plain", "wrong key", error={"status": error.response.status_code})


async def concurrent(base_url, key):
    async with AsyncOpenAI(base_url=base_url, api_key=key).responses.connect() as connection:
        todo, ended = steps("concurrent"), None
        while requests := following(todo, ended):
            for request in requests:
                response = connection.response
                await (response.steer(**request) if request.pop("steers", False) else response.create(**request))
            ended = {}
            while len(ended) < len(requests):
                event = connection.parse_event(checked(await connection.recv_bytes()))
                if event.type in ENDS:
                    ended[event.stream_id] = event
    try:
        await AsyncOpenAI(base_url=base_url, api_key="wrong").responses.connect().enter()
    except Exception as error:
        say("concurrent", "wrong key", error={"status": error.response.status_code})


def following(todo, ended):
    """The next requests of the steps, None behind the last ones."""
    try:
        return todo.send(ended)
    except StopIteration:
        return None


# What a request may ask for beside: the response says it again.
MORE = [
    {"tool_choice": "required"},
    {"tool_choice": {"type": "function", "name": "get_weather"}},
    {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "get_weather"}]}},
    {"tools": [{"type": "custom", "name": "run"}]},
    {"tools": [{"type": "custom", "name": "run", "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"}}]},
    {"text": {"format": {"type": "json_object"}}},
    {"text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}, "verbosity": "low"}},
    {"reasoning": {"effort": "low", "summary": "auto"}, "include": ["reasoning.encrypted_content"]},
    {"temperature": 0, "top_p": 1, "top_logprobs": 2, "include": ["message.output_text.logprobs"]},
    {"max_output_tokens": 20, "max_tool_calls": 3, "parallel_tool_calls": False, "truncation": "auto"},
    {"metadata": {"a": "b"}, "safety_identifier": "s", "prompt_cache_key": "k", "service_tier": "auto", "user": "u"},
    {"instructions": "Be brief.", "stream_options": {"include_obfuscation": False}},
    {"prompt_cache_options": {"prewarm": True}},
]


LANES = 16  # at once


async def everything(base_url, key):
    """Asks all models of the demo, in many lanes, so that the SDK's types see many events."""
    async with AsyncOpenAI(base_url=base_url, api_key=key) as client:
        names = [model.id async for model in client.models.list() if model.id.startswith("demo/")]
        asked = [{**ASKS, "model": name, "input": "Please think: " + ASKS["input"]} for name in names if name not in ("demo/hang", "demo/slow")]
        asked += [{**ASKS, **more} for more in MORE]
        async with client.responses.connect() as connection:
            waiting = {}
            for lane, request in enumerate(asked):
                await connection.response.create(**request, stream_id=str(lane))
                waiting[str(lane)] = request
                while len(waiting) == LANES or waiting and lane == len(asked) - 1:
                    event = connection.parse_event(checked(await connection.recv_bytes()))
                    if event.type in ENDS:
                        del waiting[event.stream_id]

@function_tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return "rain in " + city


async def agents(base_url, key):
    set_tracing_disabled(True)  # traces go to OpenAI, whatever the base URL is
    set_default_openai_client(AsyncOpenAI(base_url=base_url, api_key=key))
    set_default_openai_responses_transport("websocket")
    agent = Agent(name="clerk", instructions="You know the weather.", model="hermes", tools=[get_weather])
    result = await Runner.run(agent, ASKS["input"])
    say("agents", "whole", content=result.final_output)
    result = await Runner.run(agent, ASKS["input"], auto_previous_response_id=True)
    say("agents", "chained", content=result.final_output)
    result = Runner.run_streamed(agent, ASKS["input"])
    async for _ in result.stream_events():
        pass
    say("agents", "streamed", content=result.final_output)
    logging.disable()  # of what is expected
    try:
        await Runner.run(agent.clone(model="nobody"), ASKS["input"])
    except Exception as error:
        say("agents", "unknown model", error={"code": error.code})


plain(*sys.argv[1:])
asyncio.run(concurrent(*sys.argv[1:]))
asyncio.run(everything(*sys.argv[1:]))
asyncio.run(agents(*sys.argv[1:]))
print(json.dumps({"faults": faults, "kinds": kinds, "ids": sorted(ids)}))
