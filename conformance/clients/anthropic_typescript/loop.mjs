// Anthropic's SDK for TypeScript. Nothing is set but the base URL.
//
//   node loop.mjs BASE_URL MODE MODEL [MODE MODEL]...
//
// Prints what the SDK returned, one JSON object for each MODEL.

import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';

const [baseURL, ...plays] = process.argv.slice(2);
const client = new Anthropic({ baseURL, apiKey: 'none' });

const results = { get_weather: '4 °C, "rain" & wind', get_time: '18:30', book: 'table 7 at 19:00' };
const text = { type: 'string' };
const tool = (name, properties) => ({ name, input_schema: { type: 'object', properties, required: Object.keys(properties) } });
const tools = [tool('get_weather', { city: text }), tool('get_time', {}), tool('book', { city: text, note: text })];

const whole = (request) => client.messages.create(request);

async function streamed(request) {
  const stream = client.messages.stream(request);
  let text = '';
  stream.on('text', (delta) => (text += delta));
  const message = await stream.finalMessage();
  assert.equal(text, textOf(message));
  return message;
}

const modes = { whole, streamed };
const textOf = ({ content }) => content.map((block) => block.text ?? '').join('');

async function loop(mode, model) {
  const messages = [{ role: 'user', content: 'Book a table in Oslo, with the weather and the time in mind.' }];
  const turns = [];
  for (;;) {
    const message = await modes[mode]({ model, max_tokens: 1000, tools, messages });
    const calls = message.content.filter(({ type }) => type === 'tool_use');
    assert.equal(message.stop_reason, calls.length > 0 ? 'tool_use' : 'end_turn');
    assert.equal(message.usage.output_tokens, 20);
    if (calls.length === 0) return { model, turns, text: textOf(message) };
    turns.push(calls.map(({ id, name, input }) => ({ id, name, arguments: input })));
    const content = calls.map(({ id, name }) => ({ type: 'tool_result', tool_use_id: id, content: results[name] }));
    messages.push({ role: 'assistant', content: message.content }, { role: 'user', content });
  }
}

for (let i = 0; i < plays.length; i += 2) console.log(JSON.stringify(await loop(plays[i], plays[i + 1])));
