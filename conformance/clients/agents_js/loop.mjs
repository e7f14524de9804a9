// OpenAI's Agents SDK for JavaScript with its defaults. Nothing is set but the base URL.
//
//   node loop.mjs BASE_URL MODE MODEL [MODE MODEL]...
//
// Prints what the SDK returned, one JSON object for each MODEL.

import assert from 'node:assert/strict';
import { Agent, run, setDefaultOpenAIClient, setTracingDisabled, tool } from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';

const [baseURL, ...plays] = process.argv.slice(2);
setDefaultOpenAIClient(new OpenAI({ baseURL, apiKey: 'none' }));
setTracingDisabled(true); // it goes to OpenAI, whatever the base URL is

const made = (name, parameters, result) =>
  tool({ name, description: name, parameters: z.object(parameters), execute: async () => result });
const tools = [
  made('get_weather', { city: z.string() }, '4 °C, "rain" & wind'),
  made('get_time', {}, '18:30'),
  made('book', { city: z.string(), note: z.string() }, 'table 7 at 19:00'),
];
const prompt = 'Book a table in Oslo, with the weather and the time in mind.';

const whole = (agent) => run(agent, prompt);

async function streamed(agent) {
  const result = await run(agent, prompt, { stream: true });
  let text = '';
  for await (const delta of result.toTextStream()) text += delta;
  await result.completed;
  assert.ok(text.endsWith(result.finalOutput), text);
  return result;
}

const modes = { whole, streamed };

for (let i = 0; i < plays.length; i += 2) {
  const agent = new Agent({ name: 'booker', instructions: 'You book tables.', model: plays[i + 1], tools });
  const result = await modes[plays[i]](agent);
  const turns = result.rawResponses
    .map(({ output }) => output.filter(({ type }) => type === 'function_call'))
    .filter((calls) => calls.length > 0)
    .map((calls) => calls.map((call) => ({ id: call.callId, name: call.name, arguments: JSON.parse(call.arguments) })));
  console.log(JSON.stringify({ model: plays[i + 1], turns, text: result.finalOutput }));
}
