"""OpenAI's SDK for Python; see run.py."""

import functools
import json

import openai
from openai import OpenAI
from openai.types.chat import ChatCompletionMessage


def whole(client, request):
    completion = client.chat.completions.create(**request)
    choice = completion.choices[0]
    return choice.message, choice.finish_reason, completion.usage, completion._request_id


def helper(client, request):
    with client.chat.completions.stream(stream_options={"include_usage": True}, **request) as stream:
        completion = stream.get_final_completion()
    choice = completion.choices[0]
    return choice.message, choice.finish_reason, completion.usage, None


def chunks(client, request):
    content, calls, finish, usage = "", {}, None, None
    with client.chat.completions.create(stream=True, stream_options={"include_usage": True}, **request) as stream:
        for chunk in stream:
            usage = chunk.usage or usage
            for choice in chunk.choices:
                finish = choice.finish_reason or finish
                content += choice.delta.content or ""
                for part in choice.delta.tool_calls or []:
                    if part.index not in calls:
                        calls[part.index] = {"id": part.id, "type": "function", "function": {"name": "", "arguments": ""}}
                    function = calls[part.index]["function"]
                    function["name"] += part.function.name or ""
                    function["arguments"] += part.function.arguments or ""
    message = {"role": "assistant", "content": content or None}
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return ChatCompletionMessage.model_validate(message), finish, usage, stream.response.headers.get("x-request-id")


@functools.cache
def client_of(base_url):
    return OpenAI(base_url=base_url, api_key="none")


MODES = {"whole": whole, "helper": helper, "chunks": chunks}


def play(job, max_turns):
    """Yields what the app got, turn by turn, and answers the calls of each."""
    client = client_of(job["base_url"])
    messages = job["messages"]
    for turn in range(max_turns):
        request = {"model": job["model"], "messages": messages, "tools": job["tools"]}
        message, finish, usage, request_id = MODES[job["mode"]](client, request)
        calls = message.tool_calls or []
        yield {
            "content": message.content or "",
            "calls": [
                {"id": call.id, "name": call.function.name, "arguments": json.loads(call.function.arguments)} for call in calls
            ],
            "finish": finish,
            "usage": usage and {
                "prompt_tokens": usage.prompt_tokens,
                "completion_tokens": usage.completion_tokens,
                "total_tokens": usage.total_tokens,
            },
            "request_id": request_id or "",
        }
        if not calls:
            return
        messages.append(message)
        for call in calls:
            messages.append({"role": "tool", "tool_call_id": call.id, "content": job["results"][call.function.name]})
        messages.extend({"role": "user", "content": text} for text in job["then"][turn : turn + 1])


def failure(error):
    return {
        "type": type(error).__name__,
        "message": str(error),
        "status": getattr(error, "status_code", None) or 0,
        "code": str(getattr(error, "code", None) or ""),
        "request_id": getattr(error, "request_id", None) or "",
        "api": isinstance(error, openai.APIError),
    }
