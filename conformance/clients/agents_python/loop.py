"""OpenAI's Agents SDK for Python with its defaults. Nothing is set but the base URL.

    python loop.py BASE_URL MODE MODEL [MODE MODEL]...

Prints what the SDK returned, one JSON object for each MODEL.
"""

import asyncio
import json
import sys

from agents import Agent, Runner, function_tool, set_default_openai_client, set_tracing_disabled
from openai import AsyncOpenAI


@function_tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return '4 °C, "rain" & wind'


@function_tool
def get_time() -> str:
    """The time of day."""
    return "18:30"


@function_tool
def book(city: str, note: str) -> str:
    """Books a table."""
    return "table 7 at 19:00"


PROMPT = "Book a table in Oslo, with the weather and the time in mind."


async def whole(agent):
    return await Runner.run(agent, PROMPT)


async def streamed(agent):
    result = Runner.run_streamed(agent, PROMPT)
    text = ""
    async for event in result.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            text += event.data.delta
    assert text.endswith(result.final_output), (text, result.final_output)
    return result


MODES = {"whole": whole, "streamed": streamed}


async def main(base_url, *plays):
    set_default_openai_client(AsyncOpenAI(base_url=base_url, api_key="none"))
    set_tracing_disabled(True)  # traces go to OpenAI, whatever the base URL is
    for mode, model in zip(plays[::2], plays[1::2]):
        agent = Agent(name="booker", instructions="You book tables.", model=model, tools=[get_weather, get_time, book])
        result = await MODES[mode](agent)
        turns = [
            [
                {"id": item.call_id, "name": item.name, "arguments": json.loads(item.arguments)}
                for item in response.output
                if item.type == "function_call"
            ]
            for response in result.raw_responses
        ]
        print(json.dumps({"model": model, "turns": [turn for turn in turns if turn], "text": result.final_output}))


asyncio.run(main(*sys.argv[1:]))
