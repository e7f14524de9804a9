"""Pydantic AI with its defaults. Nothing is set but the base URL, OPENAI_BASE_URL.

    OPENAI_BASE_URL=… python loop.py BASE_URL MODE MODEL [MODE MODEL]...

Prints what the SDK returned, one JSON object for each MODEL.
"""

import asyncio
import json
import os
import sys

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, ToolCallPart

PROMPT = "Book a table in Oslo, with the weather and the time in mind."


def get_weather(city: str) -> str:
    """The weather of a city."""
    return '4 °C, "rain" & wind'


def get_time() -> str:
    """The time of day."""
    return "18:30"


def book(city: str, note: str) -> str:
    """Books a table."""
    return "table 7 at 19:00"


async def whole(agent):
    result = await agent.run(PROMPT)
    return result.output, result.all_messages()


async def streamed(agent):
    async with agent.run_stream(PROMPT) as result:
        text = "".join([delta async for delta in result.stream_text(delta=True)])
        return text, result.all_messages()


MODES = {"whole": whole, "streamed": streamed}


async def main(base_url, *plays):
    os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"] = base_url, "none"
    for mode, model in zip(plays[::2], plays[1::2]):
        agent = Agent("openai:" + model, instructions="You book tables.", tools=[get_weather, get_time, book])
        text, messages = await MODES[mode](agent)
        turns = [
            [
                {"id": part.tool_call_id, "name": part.tool_name, "arguments": part.args_as_dict()}
                for part in message.parts
                if isinstance(part, ToolCallPart)
            ]
            for message in messages
            if isinstance(message, ModelResponse)
        ]
        print(json.dumps({"model": model, "turns": [turn for turn in turns if turn], "text": text}))


asyncio.run(main(*sys.argv[1:]))
