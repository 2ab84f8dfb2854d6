// SPDX-License-Identifier: MIT
//
// reader: reads streams of /v1/chat/completions as users of official clients do, and says what they see. A process of its own:
// some clients need a later Node than the tests.
//
//   node reader.mjs BASE KEY     lines of JSON: {id, client, body} in, {id, begun: true} at the first piece and {id, seen} out
//
// `seen` has what was not empty: {text, reasoning, refusal, calls, finish, usage, logprobs, sources, error, others}. `others`: the texts
// of further choices. `sources`: what is cited, [url, title] of each. `error`: [status, code, message] as far as the client has them, the first line without the status before it.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { inspect } from 'node:util';

const [, , baseURL, apiKey] = process.argv;
const TIMEOUT_MS = 60_000;

const isEmpty = (value) => value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);
const filled = (object) => Object.fromEntries(Object.entries(object).filter(([, value]) => !isEmpty(value)));

// A client wraps the error of another.
function errorOf(error) {
  const status = error?.status ?? error?.statusCode;
  const code = error?.code ?? error?.data?.error?.code;
  const message = error?.message ?? (typeof error === 'string' ? error : inspect(error));
  return [status, code, message.split('\n')[0].replace(/^\d{3} /, '')].filter((one) => !isEmpty(one));
}

// --- openai ----------------------------------------------------------------------------------------

const counts = (usage) => usage && [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens];
const callsOf = (calls) => (calls ?? []).map(({ id, function: { name, arguments: text } }) => [id.slice(0, 5), name, text]);

const sourcesOf = (annotations) => (annotations ?? []).map(({ url_citation: { url, title } }) => [url, title]);

function addCalls(calls, pieces = []) {
  for (const { index, id, function: { name, arguments: text } = {} } of pieces) {
    calls[index] ??= { id: '', function: { name: '', arguments: '' } };
    calls[index].id ||= id ?? '';
    calls[index].function.name += name ?? '';
    calls[index].function.arguments += text ?? '';
  }
}

// Each piece, as OpenAI's documentation shows it.
async function readPieces(client, body, begin) {
  const seen = { text: '', reasoning: '', refusal: '', others: [], logprobs: [], sources: [] };
  const calls = [];
  try {
    for await (const chunk of await client.chat.completions.create({ ...body, stream: true })) {
      begin();
      seen.usage = counts(chunk.usage) ?? seen.usage;
      for (const { index, delta, finish_reason, logprobs } of chunk.choices) {
        if (index > 0) seen.others[index - 1] = (seen.others[index - 1] ?? '') + (delta.content ?? '');
        if (index > 0) continue;
        seen.text += delta.content ?? '';
        seen.reasoning += delta.reasoning_content ?? '';
        seen.refusal += delta.refusal ?? '';
        seen.logprobs.push(...(logprobs?.content ?? []).map(({ token, logprob }) => [token, logprob]));
        seen.sources.push(...sourcesOf(delta.annotations));
        addCalls(calls, delta.tool_calls);
        seen.finish = finish_reason ?? seen.finish;
      }
    }
  } catch (error) {
    seen.error = errorOf(error);
  }
  return { ...seen, calls: callsOf(calls) };
}

// The answer as the client puts it together.
async function readJoined(client, body, begin) {
  try {
    const { choices, usage } = await client.chat.completions.stream(body).on('chunk', begin).finalChatCompletion();
    const [{ message, finish_reason, logprobs }, ...others] = choices;
    return {
      text: message.content,
      reasoning: message.reasoning_content,
      refusal: message.refusal,
      calls: callsOf(message.tool_calls),
      finish: finish_reason,
      usage: counts(usage),
      logprobs: logprobs?.content?.map(({ token, logprob }) => [token, logprob]),
      others: others.map(({ message: { content } }) => content),
      sources: sourcesOf(message.annotations),
    };
  } catch (error) {
    return { error: errorOf(error) };
  }
}

const openai = (name, read) => async (body, begin) => {
  const { OpenAI } = await import(name);
  return read(new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: TIMEOUT_MS }), body, begin);
};

// --- ai --------------------------------------------------------------------------------------------

const ai = (name, providerName, makeModel) => async ({ model, messages, tools = [], stream_options, ...body }, begin) => {
  const [{ streamText, tool, jsonSchema }, provider] = await Promise.all([import(name), import(providerName)]);
  const seen = { text: '', reasoning: '', calls: [], sources: [] };
  const given = Object.fromEntries(tools.map(({ function: { name: of, parameters } }) => [of, tool({ inputSchema: jsonSchema(parameters) })]));
  const { fullStream } = streamText({
    model: makeModel(provider, model, { usage: Boolean(stream_options?.include_usage), body }),
    messages,
    ...(tools.length > 0 && { tools: given }),
    maxRetries: 0,
    onError: () => {},
  });
  try {
    for await (const part of fullStream) {
      if (part.type === 'text-delta') {
        seen.text += part.text;
        begin();
      }
      if (part.type === 'reasoning-delta') seen.reasoning += part.text;
      if (part.type === 'tool-call') seen.calls.push([part.toolCallId.slice(0, 5), part.toolName, JSON.stringify(part.input)]);
      if (part.type === 'source') seen.sources.push([part.url, part.title]);
      if (part.type === 'error') seen.error = errorOf(part.error);
      if (part.type === 'finish') [seen.finish, seen.usage] = [part.finishReason, [part.totalUsage.inputTokens, part.totalUsage.outputTokens, part.totalUsage.totalTokens].filter(Number.isFinite)];
    }
  } catch (error) {
    seen.error = errorOf(error);
  }
  return seen;
};

// Members that its settings have no name for are added to the request.
const withBody = (body) => (url, init) => fetch(url, { ...init, body: JSON.stringify({ ...JSON.parse(init.body), ...body }) });
const compatible = ({ createOpenAICompatible }, model, { usage, body }) => createOpenAICompatible({ name: 'parley', baseURL, apiKey, includeUsage: usage, fetch: withBody(body) })(model);
const official = ({ createOpenAI }, model, { body }) => createOpenAI({ baseURL, apiKey, fetch: withBody(body) }).chat(model);

// --- LangChain -------------------------------------------------------------------------------------

async function langchain({ model, messages, tools = [], stream_options, ...body }, begin) {
  const { ChatOpenAI } = await import('@langchain/openai');
  const chat = new ChatOpenAI({ model, apiKey, configuration: { baseURL }, maxRetries: 0, timeout: TIMEOUT_MS, streamUsage: Boolean(stream_options?.include_usage), modelKwargs: body });
  let whole;
  try {
    for await (const piece of await (tools.length > 0 ? chat.bindTools(tools) : chat).stream(messages)) {
      whole = whole ? whole.concat(piece) : piece;
      begin();
    }
  } catch (error) {
    return { text: whole?.content, error: errorOf(error) };
  }
  const { content, tool_calls: calls = [], additional_kwargs: more, response_metadata: about, usage_metadata: usage } = whole;
  return {
    text: content,
    reasoning: more.reasoning_content,
    refusal: more.refusal,
    calls: calls.map(({ id, name, args }) => [id.slice(0, 5), name, JSON.stringify(args)]),
    finish: about.finish_reason,
    usage: usage && [usage.input_tokens, usage.output_tokens, usage.total_tokens],
    logprobs: about.logprobs?.content?.map(({ token, logprob }) => [token, logprob]),
  };
}

// --- all -------------------------------------------------------------------------------------------

// The packages beside this file bring a later one of that name along.
const OPENAI_6 = createRequire(new URL('../package.json', import.meta.url)).resolve('openai');

const CLIENTS = {
  langchain,
  ...Object.fromEntries([['openai5', 'openai5'], ['openai6', OPENAI_6], ['openai7', 'openai7']].flatMap(([client, name]) => [
    [client, openai(name, readPieces)],
    [`${client} joined`, openai(name, readJoined)],
  ])),
  ...Object.fromEntries([[5, 2, 1], [6, 3, 2], [7, 4, 3]].flatMap(([major, provider, other]) => [
    [`ai${major}`, ai(`ai${major}`, `openai-provider${provider}`, official)],
    [`ai${major} compatible`, ai(`ai${major}`, `compatible${other}`, compatible)],
  ])),
};

globalThis.AI_SDK_LOG_WARNINGS = false;
for await (const line of createInterface({ input: process.stdin })) {
  const { id, client, body } = JSON.parse(line);
  let hasBegun = false;
  const begin = () => {
    if (!hasBegun) console.log(JSON.stringify({ id, begun: true }));
    hasBegun = true;
  };
  CLIENTS[client](body, begin)
    .catch((error) => ({ error: ['the client failed', error.message] }))
    .then((seen) => console.log(JSON.stringify({ id, seen: filled(seen) })));
}
