// OpenAI's SDK for Node and its Responses API. Nothing is set but the base URL.
//
//   node loop.mjs BASE_URL MODE MODEL [MODE MODEL]...
//
// Prints what the SDK returned, one JSON object for each MODEL.

import assert from 'node:assert/strict';
import OpenAI from 'openai';

const [baseURL, ...plays] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey: 'none' });

const results = { get_weather: '4 °C, "rain" & wind', get_time: '18:30', book: 'table 7 at 19:00' };
const text = { type: 'string' };
const tool = (name, properties) => ({
  type: 'function',
  name,
  parameters: { type: 'object', properties, required: Object.keys(properties), additionalProperties: false },
  strict: true,
});
const tools = [tool('get_weather', { city: text }), tool('get_time', {}), tool('book', { city: text, note: text })];

const whole = (request) => client.responses.create(request);

async function streamed(request) {
  const stream = client.responses.stream(request);
  let text = '';
  stream.on('response.output_text.delta', ({ delta }) => (text += delta));
  const response = await stream.finalResponse();
  assert.equal(text, response.output_text);
  return response;
}

const modes = { whole, streamed, conversation: whole, 'conversation streamed': streamed };

async function loop(mode, model) {
  const conversation = mode.startsWith('conversation') ? (await client.conversations.create()).id : undefined;
  let kept = { conversation };
  let input = [{ role: 'user', content: 'Book a table in Oslo, with the weather and the time in mind.' }];
  const turns = [];
  for (;;) {
    const response = await modes[mode]({ model, tools, input, ...kept });
    const calls = response.output.filter(({ type }) => type === 'function_call');
    if (calls.length === 0) {
      assert.equal((await client.responses.retrieve(response.id)).output_text, response.output_text);
      return { model, turns, text: response.output_text };
    }
    turns.push(calls.map((call) => ({ id: call.call_id, name: call.name, arguments: JSON.parse(call.arguments) })));
    input = calls.map((call) => ({ type: 'function_call_output', call_id: call.call_id, output: results[call.name] }));
    if (!conversation) kept = { previous_response_id: response.id };
  }
}

for (let i = 0; i < plays.length; i += 2) console.log(JSON.stringify(await loop(plays[i], plays[i + 1])));
