"""Anthropic's SDK for Python. Nothing is set but the base URL.

    python loop.py BASE_URL MODE MODEL [MODE MODEL]...

Prints what the SDK returned, one JSON object for each MODEL.
"""

import json
import sys

from anthropic import Anthropic

RESULTS = {"get_weather": '4 °C, "rain" & wind', "get_time": "18:30", "book": "table 7 at 19:00"}
TEXT = {"type": "string"}


def tool(name, **parameters):
    return {"name": name, "input_schema": {"type": "object", "properties": parameters, "required": list(parameters)}}


TOOLS = [tool("get_weather", city=TEXT), tool("get_time"), tool("book", city=TEXT, note=TEXT)]


def whole(client, **request):
    return client.messages.create(**request)


def streamed(client, **request):
    with client.messages.stream(**request) as stream:
        text = "".join(stream.text_stream)
        message = stream.get_final_message()
    assert text == "".join(block.text for block in message.content if block.type == "text"), (text, message)
    return message


MODES = {"whole": whole, "streamed": streamed}


def loop(client, mode, model):
    messages = [{"role": "user", "content": "Book a table in Oslo, with the weather and the time in mind."}]
    turns = []
    while True:
        message = MODES[mode](client, model=model, max_tokens=1000, tools=TOOLS, messages=messages)
        calls = [block for block in message.content if block.type == "tool_use"]
        assert message.stop_reason == ("tool_use" if calls else "end_turn"), message.stop_reason
        assert message.usage.output_tokens == 20, message.usage
        if not calls:
            break
        turns.append([{"id": call.id, "name": call.name, "arguments": call.input} for call in calls])
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": RESULTS[call.name]} for call in calls]
        messages += [{"role": "assistant", "content": message.content}, {"role": "user", "content": results}]
    return {"model": model, "turns": turns, "text": "".join(block.text for block in message.content if block.type == "text")}


def main(base_url, *plays):
    client = Anthropic(base_url=base_url, api_key="none")
    for mode, model in zip(plays[::2], plays[1::2]):
        print(json.dumps(loop(client, mode, model)))


main(*sys.argv[1:])
