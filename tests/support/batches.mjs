// SPDX-License-Identifier: MIT
//
// batches: what tests of /v1/batches have in common.
//
//   const engine = looping(cluster, { node, delay });   an engine that answers each chat with its last message, until stop(); with
//                                                       `apis` completions and embeddings, too
//   await named(cluster);                               the model is known, and no engine serves it
//   const input = await upload(client, linesOf(10));    a file of the purpose `batch`
//   const batch = await ended(client, id);              once it has ended
//   const results = await resultsOf(client, fileId);    its lines, each held to the specification, by custom_id: each once
import assert from 'node:assert/strict';
import { eventually } from './harness.mjs';
import { deltaOf, engineOf, fits } from './openai.mjs';

export const ENDPOINT = '/v1/chat/completions';
export const MODEL = 'llama3';

export const lineOf = (i, more = {}, body = {}) => ({ custom_id: `line-${i}`, method: 'POST', url: ENDPOINT, body: { model: MODEL, messages: [{ role: 'user', content: `Question ${i}` }], ...body }, ...more });
export const linesOf = (n) => Array.from({ length: n }, (_, i) => lineOf(i));
export const textOf = (lines) => lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n') + '\n';

export const upload = async (client, lines) => client.files.create({ file: new File([textOf(lines)], 'lines.jsonl'), purpose: 'batch' });
export const start = async (client, lines, more = {}) => client.batches.create({ input_file_id: (await upload(client, lines)).id, endpoint: ENDPOINT, completion_window: '24h', ...more });

const ENDED = ['completed', 'failed', 'expired', 'cancelled'];
export async function ended(client, id, { ms = 60_000 } = {}) {
  let batch;
  await eventually(async () => {
    batch = fits('Batch', await client.batches.retrieve(id));
    return ENDED.includes(batch.status);
  }, { what: `the end of ${id}`, ms });
  return batch;
}

export async function resultsOf(client, id, schema = 'CreateChatCompletionResponse') {
  const text = await (await client.files.content(id)).text();
  const results = new Map();
  for (const line of text.split('\n').slice(0, -1)) {
    const { id: request, custom_id: name, response, error } = JSON.parse(line);
    assert.match(request, /^batch_req_/);
    assert.ok(!results.has(name), `${name} is there twice`);
    if (response) fits(response.status_code === 200 ? schema : 'ErrorResponse', response.body);
    else assert.ok(error.code && error.message, line);
    results.set(name, { response, error });
  }
  return results;
}

const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
// What an engine gets of each, and the pieces that it sends.
const FORMS = {
  chat: [({ messages }) => messages.at(-1).content, (text) => deltaOf({ content: text }, { finish_reason: 'stop' })],
  completions: [({ prompt }) => prompt, (text) => JSON.stringify({ choices: [{ index: 0, text, logprobs: null, finish_reason: 'stop' }] })],
  embeddings: [({ input }) => input, (text) => JSON.stringify({ object: 'list', data: [{ object: 'embedding', index: 0, embedding: [text.length, 0.5] }], model: 'x', usage: { prompt_tokens: 3, total_tokens: 3 } })],
};

// `asked` has the last message of each chat, in the order in which engines got them.
export function looping(cluster, { node, as = 'Inference_1', asked = [], answer = (text) => text, delay = () => 0, apis = 'chat' } = {}) {
  let isOver = false, current;
  const run = async () => {
    while (!isOver) {
      current = cluster.claimOpen({ as, wait: 2, detail: true, models: MODEL, node, query: { Apis: apis } });
      const reply = await current.response.catch(() => undefined);
      if (!reply || reply.status !== 200) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        continue;
      }
      const claim = reply.json;
      if (!claim.Queries) continue;
      const [seq] = Object.keys(claim.Queries[0]);
      const [read, put] = FORMS[claim.Details[seq].Api];
      const text = read(JSON.parse(claim.Details[seq].Request));
      asked.push(text);
      await delay(text);
      const body = { Topic: claim.Topic, Seq: Number(seq), Lease: claim.Lease, Offset: 0, Deltas: [put(answer(text))], Answer: [answer(text)], Usage: USAGE };
      // As engines do: until it is known to be stored, or that it is not wanted any more.
      const give = async () => (await cluster.request('POST', '/api/give-new-answer', { as, node, body }).catch(() => undefined))?.status ?? 503;
      while ((await give()) === 503 && !isOver) await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const end = run();
  return { asked, async stop() { isOver = true; current?.abort(); await end; } };
}

// Waits until some engine has named the model.
export const isThere = (cluster, client) => eventually(async () => (await client.models.list()).data.some(({ id }) => id === MODEL), { what: 'the model is there' });

export async function named(cluster) {
  await eventually(async () => (await cluster.request('GET', '/api/status', { as: 'Operator_1' })).json.Depth === 0, { what: 'no line of a batch that was cancelled waits' });
  (await engineOf(cluster, { models: MODEL, apis: 'chat' })).parked.abort();
}
