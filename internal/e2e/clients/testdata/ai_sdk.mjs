// Vercel's AI SDK, with the provider that the argument names; see run.mjs. The loop is the
// SDK's own: it calls the tools and asks again.

import assert from 'node:assert/strict';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, RetryError, generateText, isStepCount, jsonSchema, streamText, tool } from 'ai';

const providers = {
  'openai-compatible': ({ base_url, model }) =>
    createOpenAICompatible({ name: 'callgate', baseURL: base_url, apiKey: 'none', includeUsage: true })(model),
  openai: ({ base_url, model }) => createOpenAI({ baseURL: base_url, apiKey: 'none' }).chat(model),
};

async function whole(request) {
  return (await generateText(request)).response.messages;
}

async function helper(request) {
  const result = streamText({ ...request, onError() {} }); // else it prints what is thrown here
  const inputs = {}; // of the calls, as an interface shows them while they come
  for await (const part of result.stream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'tool-input-delta') inputs[part.id] = (inputs[part.id] ?? '') + part.delta;
    if (part.type === 'tool-call') assert.deepEqual(JSON.parse(inputs[part.toolCallId]), part.input);
  }
  return (await result.response).messages;
}

const modes = { whole, helper };

// turnOf is a step of the SDK's. What its parser complains of is an error.
function turnOf({ text, toolCalls, toolResults, finishReason, rawFinishReason, usage, response, warnings }) {
  const invalid = toolCalls.filter((call) => call.invalid || call.dynamic);
  if (warnings?.length || invalid.length) throw new TypeError(`the SDK complains: ${JSON.stringify({ warnings, invalid })}`);
  if (finishReason !== rawFinishReason?.replace('_', '-')) throw new TypeError(`got the finish ${finishReason} of ${rawFinishReason}`);
  if (toolResults.length !== toolCalls.length) throw new TypeError(`got ${toolResults.length} results of ${toolCalls.length} calls`);
  return {
    content: text,
    calls: toolCalls.map((call) => ({ id: call.toolCallId, name: call.toolName, arguments: call.input })),
    finish: rawFinishReason,
    usage: { prompt_tokens: usage.inputTokens, completion_tokens: usage.outputTokens, total_tokens: usage.totalTokens },
    request_id: response.headers['x-request-id'] ?? '',
  };
}

function toolsOf(job) {
  return Object.fromEntries(
    job.tools.map(({ function: { name, description, parameters, strict } }) => [
      name,
      tool({ description, strict, inputSchema: jsonSchema(parameters), execute: async () => job.results[name] }),
    ]),
  );
}

// play yields what the app got, turn by turn.
async function* play(job, maxTurns) {
  const model = providers[process.argv.at(-1)](job);
  const instructions = job.messages.filter(({ role }) => role === 'system').map(({ content }) => content).join('\n') || undefined;
  const messages = job.messages.filter(({ role }) => role !== 'system');
  const tools = toolsOf(job);
  for (let turn = 0; turn < maxTurns; ) {
    const steps = [];
    const says = job.then.slice(turn, turn + 1); // what the user says ends the SDK's loop
    const stopWhen = isStepCount(says.length > 0 ? 1 : maxTurns - turn);
    let error, answers;
    try {
      answers = await modes[job.mode]({
        model,
        instructions,
        messages,
        tools,
        stopWhen,
        maxRetries: 1, // of 2; it waits for 2 s, and then for 4
        onStepEnd: (step) => void steps.push(step),
      });
    } catch (e) {
      error = e;
    }
    for (const step of steps) yield turnOf(step);
    if (error) throw error;
    if (steps.at(-1).toolCalls.length === 0) return;
    turn += steps.length;
    messages.push(...answers, ...says.map((content) => ({ role: 'user', content })));
  }
}

function failure(thrown) {
  const error = RetryError.isInstance(thrown) ? thrown.lastError : thrown;
  const said = error.data?.error ?? error;
  const api = APICallError.isInstance(error); // else it came in a stream
  return {
    type: error.constructor.name,
    message: said.message,
    status: api ? error.statusCode : 0,
    code: String(said.code ?? ''),
    request_id: error.responseHeaders?.['x-request-id'] ?? '',
    api,
  };
}
