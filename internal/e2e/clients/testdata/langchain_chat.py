"""LangChain's ChatOpenAI for Python; see run.py."""

import openai
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI

TEXTS = {"system": SystemMessage, "user": HumanMessage}


def whole(model, messages):
    return model.invoke(messages)


def helper(model, messages):
    message = None
    for chunk in model.stream(messages):
        message = chunk if message is None else message + chunk
    return message


MODES = {"whole": whole, "helper": helper}


def play(job, max_turns):
    """Yields what the app got, turn by turn, and answers the calls of each."""
    chat = ChatOpenAI(
        model=job["model"], base_url=job["base_url"], api_key="none", stream_usage=True, include_response_headers=True
    )
    model = chat.bind_tools(job["tools"])
    messages = [TEXTS[message["role"]](message["content"]) for message in job["messages"]]
    for turn in range(max_turns):
        message = MODES[job["mode"]](model, messages)
        if message.invalid_tool_calls:
            raise ValueError(f"invalid calls: {message.invalid_tool_calls}")
        usage = message.usage_metadata
        yield {
            "content": message.text,
            "calls": [{"id": call["id"], "name": call["name"], "arguments": call["args"]} for call in message.tool_calls],
            "finish": message.response_metadata["finish_reason"],
            "usage": usage and {
                "prompt_tokens": usage["input_tokens"],
                "completion_tokens": usage["output_tokens"],
                "total_tokens": usage["total_tokens"],
            },
            "request_id": message.response_metadata["headers"]["x-request-id"],
        }
        if not message.tool_calls:
            return
        messages.append(message)
        for call in message.tool_calls:
            messages.append(ToolMessage(tool_call_id=call["id"], content=job["results"][call["name"]]))
        messages.extend(HumanMessage(text) for text in job["then"][turn : turn + 1])


def failure(error):
    return {
        "type": type(error).__name__,
        "message": str(error),
        "status": getattr(error, "status_code", None) or 0,
        "code": str(getattr(error, "code", None) or ""),
        "request_id": getattr(error, "request_id", None) or "",
        "api": isinstance(error, openai.APIError),
    }
