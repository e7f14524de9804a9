// OpenAI's SDK for Node; see run.mjs.

import OpenAI from 'openai';

async function whole(client, request) {
  const completion = await client.chat.completions.create(request);
  const { message, finish_reason } = completion.choices[0];
  return { message, finish: finish_reason, usage: completion.usage, requestID: completion._request_id };
}

async function helper(client, request) {
  const stream = client.chat.completions.stream({ ...request, stream_options: { include_usage: true } });
  const completion = await stream.finalChatCompletion();
  const { message, finish_reason } = completion.choices[0];
  return { message, finish: finish_reason, usage: completion.usage };
}

async function chunks(client, request) {
  const { data: stream, request_id: requestID } = await client.chat.completions
    .create({ ...request, stream: true, stream_options: { include_usage: true } })
    .withResponse();
  const message = { role: 'assistant', content: null };
  let finish, usage;
  for await (const chunk of stream) {
    usage = chunk.usage ?? usage;
    for (const choice of chunk.choices) {
      finish = choice.finish_reason ?? finish;
      if (choice.delta.content) message.content = (message.content ?? '') + choice.delta.content;
      for (const part of choice.delta.tool_calls ?? []) {
        message.tool_calls ??= [];
        const call = (message.tool_calls[part.index] ??= { id: part.id, type: 'function', function: { name: '', arguments: '' } });
        call.function.name += part.function.name ?? '';
        call.function.arguments += part.function.arguments ?? '';
      }
    }
  }
  return { message, finish, usage, requestID };
}

const modes = { whole, helper, chunks };

// play yields what the app got, turn by turn, and answers the calls of each.
async function* play(job, maxTurns) {
  const client = new OpenAI({ baseURL: job.base_url, apiKey: 'none' });
  const { messages, model, tools } = job;
  for (let turn = 0; turn < maxTurns; turn++) {
    const { message, finish, usage, requestID } = await modes[job.mode](client, { model, messages, tools });
    const calls = message.tool_calls ?? [];
    yield {
      content: message.content ?? '',
      calls: calls.map((call) => ({ id: call.id, name: call.function.name, arguments: JSON.parse(call.function.arguments) })),
      finish,
      usage: usage && {
        prompt_tokens: usage.prompt_tokens,
        completion_tokens: usage.completion_tokens,
        total_tokens: usage.total_tokens,
      },
      request_id: requestID ?? '',
    };
    if (calls.length === 0) return;
    messages.push(message);
    for (const call of calls) {
      messages.push({ role: 'tool', tool_call_id: call.id, content: job.results[call.function.name] });
    }
    for (const content of job.then.slice(turn, turn + 1)) messages.push({ role: 'user', content });
  }
}

function failure(error) {
  return {
    type: error.constructor.name,
    message: error.message,
    status: error.status ?? 0,
    code: String(error.code ?? ''),
    request_id: error.requestID ?? '',
    api: error instanceof OpenAI.APIError,
  };
}
