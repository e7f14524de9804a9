"""OpenAI's SDK for Python and its Responses API. Nothing is set but the base URL.

    python loop.py BASE_URL MODE MODEL [MODE MODEL]...

Prints what the SDK returned, one JSON object for each MODEL.
"""

import json
import sys

from openai import OpenAI

RESULTS = {"get_weather": '4 °C, "rain" & wind', "get_time": "18:30", "book": "table 7 at 19:00"}
TEXT = {"type": "string"}


def tool(name, **parameters):
    schema = {"type": "object", "properties": parameters, "required": list(parameters), "additionalProperties": False}
    return {"type": "function", "name": name, "parameters": schema, "strict": True}


TOOLS = [tool("get_weather", city=TEXT), tool("get_time"), tool("book", city=TEXT, note=TEXT)]


def whole(client, **request):
    return client.responses.create(**request)


def streamed(client, **request):
    with client.responses.stream(**request) as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        response = stream.get_final_response()
    assert text == response.output_text, (text, response.output_text)
    return response


# conversation names a conversation that the gateway keeps, the others the response before.
MODES = {"whole": whole, "streamed": streamed, "conversation": whole, "conversation streamed": streamed}


def loop(client, mode, model):
    kept = {"conversation": client.conversations.create().id} if mode.startswith("conversation") else {}
    conversation = kept.get("conversation")
    said = [{"role": "user", "content": "Book a table in Oslo, with the weather and the time in mind."}]
    turns = []
    while True:
        response = MODES[mode](client, model=model, tools=TOOLS, input=said, **kept)
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            break
        turns.append([{"id": c.call_id, "name": c.name, "arguments": json.loads(c.arguments)} for c in calls])
        said = [{"type": "function_call_output", "call_id": c.call_id, "output": RESULTS[c.name]} for c in calls]
        if not conversation:
            kept = {"previous_response_id": response.id}
    if conversation:
        items = [item.type for item in client.conversations.items.list(conversation, order="asc")]
        wanted = ["message"] + ["function_call"] * 2 + ["function_call_output"] * 2 + ["function_call", "function_call_output", "message"]
        assert items == wanted, items
    assert client.responses.retrieve(response.id).output_text == response.output_text
    assert response.usage.total_tokens == 120, response.usage
    return {"model": model, "turns": turns, "text": response.output_text}


def main(base_url, *plays):
    client = OpenAI(base_url=base_url, api_key="none")
    for mode, model in zip(plays[::2], plays[1::2]):
        print(json.dumps(loop(client, mode, model)))


main(*sys.argv[1:])
