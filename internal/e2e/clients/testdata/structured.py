"""Parse helpers of Python: OpenAI's for chat completions (whole and streamed) and responses, Anthropic's, and
pydantic-ai. Called with the gateway's address and pairs of a helper and a model; prints a line of JSON each."""

import json
import sys

from pydantic import BaseModel


class Weather(BaseModel):
    city: str
    degrees: int


PROMPT = "What is the weather in Oslo?"
MESSAGES = [{"role": "user", "content": PROMPT}]


def chat(url, model):
    from openai import OpenAI

    client = OpenAI(base_url=url + "/v1", api_key="none", max_retries=0)
    return client.chat.completions.parse(model=model, messages=MESSAGES, response_format=Weather).choices[0].message.parsed


def chat_stream(url, model):
    from openai import OpenAI

    client = OpenAI(base_url=url + "/v1", api_key="none", max_retries=0)
    with client.chat.completions.stream(model=model, messages=MESSAGES, response_format=Weather) as stream:
        return stream.get_final_completion().choices[0].message.parsed


def responses(url, model):
    from openai import OpenAI

    client = OpenAI(base_url=url + "/v1", api_key="none", max_retries=0)
    return client.responses.parse(model=model, input=PROMPT, text_format=Weather, store=False).output_parsed


def anthropic(url, model):
    from anthropic import Anthropic

    client = Anthropic(base_url=url, api_key="none", max_retries=0)
    return client.messages.parse(model=model, max_tokens=500, messages=MESSAGES, output_format=Weather).parsed_output


def pydantic_ai(url, model):
    from pydantic_ai import Agent, NativeOutput
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    agent = Agent(
        OpenAIChatModel(model, provider=OpenAIProvider(base_url=url + "/v1", api_key="none")),
        output_type=NativeOutput(Weather),
        retries=0,
    )
    return agent.run_sync(PROMPT).output


def instructor(url, model):
    import instructor as library
    from openai import OpenAI

    client = library.from_openai(OpenAI(base_url=url + "/v1", api_key="none", max_retries=0), mode=library.Mode.JSON_SCHEMA)
    return client.chat.completions.create(model=model, messages=MESSAGES, response_model=Weather, max_retries=1)


HELPERS = {f.__name__: f for f in (chat, chat_stream, responses, anthropic, pydantic_ai, instructor)}

url, *pairs = sys.argv[1:]
for name, model in zip(pairs[::2], pairs[1::2]):
    try:
        parsed = HELPERS[name](url, model)
        print(json.dumps({"helper": name, "model": model, "parsed": parsed and parsed.model_dump()}))
    except Exception as e:
        print(json.dumps({"helper": name, "model": model, "error": f"{type(e).__name__}: {e}"[:300]}))
