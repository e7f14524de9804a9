// LangChain's ChatOpenAI for Node; see run.mjs.

import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { APIError } from 'openai';

const texts = { system: SystemMessage, user: HumanMessage };

async function whole(model, messages) {
  return await model.invoke(messages);
}

async function helper(model, messages) {
  let message;
  for await (const chunk of await model.stream(messages)) message = message?.concat(chunk) ?? chunk;
  return message;
}

const modes = { whole, helper };

// play yields what the app got, turn by turn, and answers the calls of each.
async function* play(job, maxTurns) {
  const chat = new ChatOpenAI({
    model: job.model,
    apiKey: 'none',
    configuration: { baseURL: job.base_url },
    maxRetries: 1, // of 6; it waits for longer and longer, whatever the answer says
  });
  const model = chat.bindTools(job.tools);
  const messages = job.messages.map(({ role, content }) => new texts[role](content));
  for (let turn = 0; turn < maxTurns; turn++) {
    const message = await modes[job.mode](model, messages);
    if (!AIMessage.isInstance(message)) throw new TypeError(`got ${message.constructor.name}`);
    if (message.invalid_tool_calls?.length) throw new TypeError(`invalid calls: ${JSON.stringify(message.invalid_tool_calls)}`);
    const calls = message.tool_calls ?? [];
    const usage = message.usage_metadata;
    yield {
      content: message.text,
      calls: calls.map((call) => ({ id: call.id, name: call.name, arguments: call.args })),
      finish: message.response_metadata.finish_reason,
      usage: usage && {
        prompt_tokens: usage.input_tokens,
        completion_tokens: usage.output_tokens,
        total_tokens: usage.total_tokens,
      },
    };
    if (calls.length === 0) return;
    messages.push(message);
    for (const call of calls) messages.push(new ToolMessage({ tool_call_id: call.id, content: job.results[call.name] }));
    for (const content of job.then.slice(turn, turn + 1)) messages.push(new HumanMessage(content));
  }
}

function failure(error) {
  return {
    type: error.constructor.name,
    message: error.message,
    status: error.status ?? 0,
    code: String(error.code ?? ''),
    request_id: error.requestID ?? '',
    api: error instanceof APIError,
  };
}
