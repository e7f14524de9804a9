// Reads a librechat.yaml as LibreChat does, with its own schema, and then asks its custom endpoint
// for its models and for a call, at the address and with the key that the file has.
//
//   node librechat.mjs librechat.yaml

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import yaml from 'js-yaml';
import * as data from 'librechat-data-provider';

const read = data.configSchema.strict().safeParse(yaml.load(readFileSync(process.argv[2], 'utf8')));
assert.ok(read.success, JSON.stringify(read.error));
const [{ baseURL, apiKey, models, name }] = read.data.endpoints.custom;
assert.ok(!data.configSchema.safeParse({ version: '1', endpoints: { custom: [{ name, apiKey, models: { fetch: true } }] } }).success);

const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
const listed = await (await fetch(`${baseURL}/models`, { headers })).json();
assert.ok(listed.data.length > 0, JSON.stringify(listed));

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const body = JSON.stringify({
  model: models.default[0],
  messages: [{ role: 'user', content: 'What is the weather in Oslo?' }],
  tools: [{ type: 'function', function: { name: 'get_weather', parameters } }],
});
const answer = await (await fetch(`${baseURL}/chat/completions`, { method: 'POST', headers, body })).json();
const call = answer.choices[0].message.tool_calls[0].function;
console.log(name, call.name, call.arguments);
