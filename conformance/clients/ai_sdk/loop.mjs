// Vercel's AI SDK with the default models of two of its providers. Nothing is set but the
// base URL, and maxOutputTokens, which Anthropic's API demands.
//
//   node loop.mjs BASE_URL MODE MODEL [MODE MODEL]...
//
// Prints what the SDK returned, one JSON object for each MODEL. A MODE with "anthropic" in
// front speaks the Messages API, the others the Responses API.

import assert from 'node:assert/strict';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, isStepCount, streamText, tool } from 'ai';
import { z } from 'zod';

const [baseURL, ...plays] = process.argv.slice(2);
const openai = createOpenAI({ baseURL, apiKey: 'none' });
const anthropic = createAnthropic({ baseURL, apiKey: 'none' });

const made = (parameters, result) => tool({ inputSchema: z.object(parameters), execute: async () => result });
const tools = {
  get_weather: made({ city: z.string() }, '4 °C, "rain" & wind'),
  get_time: made({}, '18:30'),
  book: made({ city: z.string(), note: z.string() }, 'table 7 at 19:00'),
};
const prompt = 'Book a table in Oslo, with the weather and the time in mind.';

const whole = (request) => generateText(request);

async function streamed(request) {
  const result = streamText(request);
  let text = '';
  for await (const part of result.textStream) text += part;
  assert.equal(text, await result.text);
  return { steps: await result.steps, text };
}

const modes = { whole, streamed };

for (let i = 0; i < plays.length; i += 2) {
  const [mode, provider] = plays[i].split(' ').reverse();
  const model = provider === 'anthropic' ? anthropic(plays[i + 1]) : openai(plays[i + 1]);
  const { steps, text } = await modes[mode]({ model, prompt, tools, maxOutputTokens: 4096, stopWhen: isStepCount(8) });
  for (const { warnings } of steps) assert.deepEqual(warnings ?? [], []);
  const turns = steps
    .map(({ toolCalls }) => toolCalls.map((call) => ({ id: call.toolCallId, name: call.toolName, arguments: call.input })))
    .filter((calls) => calls.length > 0);
  console.log(JSON.stringify({ model: plays[i + 1], turns, text }));
}
