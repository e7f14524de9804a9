// OpenAI's SDKs for JavaScript over WebSockets: the plain one, and the Agents SDK.
//
//   node websockets.mjs BASE_URL KEY
//
// Prints one JSON object for each step of each client: what the SDK made of it.

import { Agent, run, setDefaultOpenAIClient, setOpenAIResponsesTransport, setTracingDisabled, tool } from '@openai/agents';
import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { z } from 'zod';

const [baseURL, apiKey] = process.argv.slice(-2);
const asks = {
  type: 'response.create',
  model: 'hermes',
  input: 'What is the weather in Oslo?',
  tools: [{
    type: 'function',
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    strict: false,
  }],
  store: false,
};
const ends = ['response.completed', 'response.failed', 'response.incomplete', 'response.steer.failed', 'error'];

const say = (client, step, said) => console.log(JSON.stringify({ client, step, ...said }));

const callsOf = (response) => response.output.filter(({ type }) => type === 'function_call');

// shown is what a request ended with.
function shown({ error, status, response, callgate }) {
  if (error) return { error: { status, code: error.code } };
  if (response.error) return { error: { code: response.error.code } };
  const texts = response.output.filter(({ type }) => type === 'message').flatMap(({ content }) => content);
  const calls = callsOf(response).map((call) => ({ name: call.name, arguments: JSON.parse(call.arguments) }));
  return { content: texts.map(({ text }) => text).join(''), calls, noted: callgate };
}

async function plain() {
  const ws = new ResponsesWS(new OpenAI({ baseURL, apiKey }));
  const events = ws.stream()[Symbol.asyncIterator]();
  // ask sends requests at once, and returns the events that ended them, by their lanes.
  async function ask(...requests) {
    for (const request of requests) ws.send(request);
    const ended = {};
    while (Object.keys(ended).length < requests.length) {
      const { value: { message, error } } = await events.next();
      if (error && !error.error) throw error; // not of a request
      const event = message ?? error?.error;
      if (ends.includes(event?.type)) ended[event.stream_id ?? ''] = event;
    }
    return ended;
  }
  async function one(step, request) {
    const { '': event } = await ask({ ...asks, ...request });
    say('plain', step, shown(event));
    return event.response;
  }
  const { id, output } = await one('call', {});
  const results = [{ type: 'function_call_output', call_id: output.find(({ type }) => type === 'function_call').call_id, output: 'rain' }];
  await one('output', { previous_response_id: id, input: results });
  await one('unknown model', { model: 'nobody' });
  await one('unknown response', { previous_response_id: 'resp_none' });
  const prepared = await one('prepared', { generate: false });
  await one('on what was prepared', { previous_response_id: prepared.id, input: [] });
  await one('broken stream', { model: 'late_error' });
  await one('background', { background: true });
  const { '': steered } = await ask({ type: 'response.steer', previous_response_id: id, input: 'Be brief.' });
  say('plain', 'steered', shown(steered));
  const { one: first, two: second } = await ask({ ...asks, stream_id: 'one' }, { ...asks, stream_id: 'two', input: 'hello' });
  say('plain', 'lane one', shown(first));
  say('plain', 'lane two', shown(second));
  ws.close();
  const refused = new ResponsesWS(new OpenAI({ baseURL, apiKey: 'wrong' }));
  const error = await new Promise((resolve) => { refused.on('error', resolve); });
  say('plain', 'wrong key', { error: { status: Number(/\d{3}/.exec(`${error.message} ${error.cause?.message}`)?.[0]) } });
}

async function agents() {
  setTracingDisabled(true); // it goes to OpenAI, whatever the base URL is
  setDefaultOpenAIClient(new OpenAI({ baseURL, apiKey }));
  setOpenAIResponsesTransport('websocket');
  const get_weather = tool({
    name: 'get_weather',
    description: 'The weather of a city.',
    parameters: z.object({ city: z.string() }),
    execute: async ({ city }) => `rain in ${city}`,
  });
  const agent = new Agent({ name: 'clerk', instructions: 'You know the weather.', model: 'hermes', tools: [get_weather] });
  say('agents', 'whole', { content: (await run(agent, asks.input)).finalOutput });
  const streamed = await run(agent, asks.input, { stream: true });
  await streamed.completed;
  say('agents', 'streamed', { content: streamed.finalOutput });
  try {
    await run(agent.clone({ model: 'nobody' }), asks.input);
  } catch (error) {
    say('agents', 'unknown model', { error: { type: error.constructor.name } }); // it keeps no more of the event
  }
}

await plain();
await agents();
process.exit(); // the agents' connection stays open
