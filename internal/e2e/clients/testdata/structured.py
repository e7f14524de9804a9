"""Parse helpers of Python: OpenAI's for chat completions (whole and streamed) and responses, Anthropic's, and
pydantic-ai. Called with the gateway's address and pairs of a helper and a model; prints a line of JSON each.
In place of pairs there may be "corpus", a file with a line {"model", "types"} for each request, and helpers."""

import functools
import json
import sys

from pydantic import BaseModel, ConfigDict, create_model


class Weather(BaseModel):
    city: str
    degrees: int


PROMPT = "What is the weather in Oslo?"
MESSAGES = [{"role": "user", "content": PROMPT}]


@functools.cache
def openai(url):
    from openai import OpenAI

    return OpenAI(base_url=url + "/v1", api_key="none", max_retries=0)


def chat(url, model):
    return openai(url).chat.completions.parse(model=model, messages=MESSAGES, response_format=Weather).choices[0].message.parsed


def chat_stream(url, model):
    with openai(url).chat.completions.stream(model=model, messages=MESSAGES, response_format=Weather) as stream:
        return stream.get_final_completion().choices[0].message.parsed


def responses(url, model):
    return openai(url).responses.parse(model=model, input=PROMPT, text_format=Weather, store=False).output_parsed


@functools.cache
def anthropic_client(url):
    from anthropic import Anthropic

    return Anthropic(base_url=url, api_key="none", max_retries=0)


def anthropic(url, model):
    return anthropic_client(url).messages.parse(model=model, max_tokens=500, messages=MESSAGES, output_format=Weather).parsed_output


@functools.cache
def pydantic_provider(url):
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIProvider(base_url=url + "/v1", api_key="none")


def pydantic_ai(url, model):
    from pydantic_ai import Agent, NativeOutput
    from pydantic_ai.models.openai import OpenAIChatModel

    agent = Agent(
        OpenAIChatModel(model, provider=pydantic_provider(url)),
        output_type=NativeOutput(Weather),
        retries=0,
    )
    return agent.run_sync(PROMPT).output


def instructor(url, model):
    import instructor as library

    client = library.from_openai(openai(url), mode=library.Mode.JSON_SCHEMA)
    return client.chat.completions.create(model=model, messages=MESSAGES, response_model=Weather, max_retries=1)


HELPERS = {f.__name__: f for f in (chat, chat_stream, responses, anthropic, pydantic_ai, instructor)}

TYPES = {"integer": int, "number": float, "boolean": bool, "string": str}


def corpus(file, names):
    with open(file, encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            fields = {name: (TYPES[kind], ...) for name, kind in (case["types"] or {}).items()}
            yield from ((name, case["model"], create_model("Answer", __config__=ConfigDict(extra="allow"), **fields)) for name in names)


url, *pairs = sys.argv[1:]
plays = ((name, model, Weather) for name, model in zip(pairs[::2], pairs[1::2]))
if pairs[0] == "corpus":
    plays = corpus(pairs[1], pairs[2:])
for name, model, Weather in plays:
    try:
        parsed = HELPERS[name](url, model)
        print(json.dumps({"helper": name, "model": model, "parsed": parsed and parsed.model_dump()}))
    except Exception as e:
        print(json.dumps({"helper": name, "model": model, "error": f"{type(e).__name__}: {e}"[:300]}))
