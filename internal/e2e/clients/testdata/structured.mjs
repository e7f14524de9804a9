// Parse helpers of Node: OpenAI's for chat completions and responses, and the AI SDK's. Called with the
// gateway's address and pairs of a helper and a model; prints a line of JSON each. In place of pairs there
// may be "corpus", a file with a line {"model", "types"} for each request, and helpers.
import {readFileSync} from "node:fs";
import {createOpenAI} from "@ai-sdk/openai";
import {createOpenAICompatible} from "@ai-sdk/openai-compatible";
import * as ai from "ai";
import OpenAI from "openai";
import {zodResponseFormat, zodTextFormat} from "openai/helpers/zod";
import {z} from "zod";

let Weather = z.object({city: z.string(), degrees: z.int()});
const prompt = "What is the weather in Oslo?";
const messages = [{role: "user", content: prompt}];
const [url, ...pairs] = process.argv.slice(2);
const openai = new OpenAI({baseURL: url + "/v1", apiKey: "none", maxRetries: 0});
const compatible = createOpenAICompatible({name: "callgate", baseURL: url + "/v1", supportsStructuredOutputs: true});
const own = createOpenAI({baseURL: url + "/v1", apiKey: "none"});

const helpers = {
  async node_chat(model) {
    const format = zodResponseFormat(Weather, "weather");
    return (await openai.chat.completions.parse({model, messages, response_format: format})).choices[0].message.parsed;
  },
  async node_chat_stream(model) {
    const format = zodResponseFormat(Weather, "weather");
    const stream = openai.chat.completions.stream({model, messages, response_format: format});
    return (await stream.finalChatCompletion()).choices[0].message.parsed;
  },
  async node_responses(model) {
    const format = zodTextFormat(Weather, "weather");
    return (await openai.responses.parse({model, input: prompt, store: false, text: {format}})).output_parsed;
  },
  async ai_generate(model) {
    return (await ai.generateObject({model: compatible(model), schema: Weather, prompt, maxRetries: 0})).object;
  },
  async ai_stream(model) {
    const got = ai.streamObject({model: compatible(model), schema: Weather, prompt, maxRetries: 0, onError() {}});
    for await (const part of got.partialObjectStream) void part;
    return await got.object;
  },
  async ai_output(model) {
    return (await ai.generateText({model: own(model), output: ai.Output.object({schema: Weather}), prompt, maxRetries: 0})).output;
  },
};

function* plays() {
  if (pairs[0] !== "corpus") {
    for (let i = 0; i < pairs.length; i += 2) yield [pairs[i], pairs[i + 1]];
    return;
  }
  for (const line of readFileSync(pairs[1], "utf8").trim().split("\n")) {
    const {model, types} = JSON.parse(line);
    const properties = Object.fromEntries(Object.entries(types ?? {}).map(([name, type]) => [name, {type}]));
    Weather = ai.jsonSchema({type: "object", properties, required: Object.keys(properties), additionalProperties: true});
    for (const helper of pairs.slice(2)) yield [helper, model];
  }
}

for (const [helper, model] of plays()) {
  try {
    console.log(JSON.stringify({helper, model, parsed: await helpers[helper](model)}));
  } catch (e) {
    console.log(JSON.stringify({helper, model, error: `${e.name}: ${e.message}`.slice(0, 300)}));
  }
}
