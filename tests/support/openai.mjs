// SPDX-License-Identifier: MIT
//
// openai: clients and engines of OpenAI's interface. Each answer and event is held to its specification (openai_schemas.mjs).
//
//   fits('ListModelsResponse', response.json)   returns the value; throws when it is not of that schema
//   const stream = await openChat(cluster, body)   an answer that streams (Stream)
//   await engineOf(cluster, {models, apis})     an engine at the routes, as a test writes it, whose poll waits
//   ask(cluster, 'GET', '/v1/models', {as, body, …})   a request with `Authorization: Bearer` and a token of that account
import assert from 'node:assert/strict';
import http from 'node:http';
import { assertOk, eventually } from './harness.mjs';
import { fits } from './openai_schemas.mjs';
import { eventCheck, noteResponse } from './openapi.mjs';
import { keysOfAll, SHARDS } from './shards.mjs';

export { fits };

// Tokens by cluster and account.
const tokens = new WeakMap();

export async function tokenOf(cluster, as) {
  if (!tokens.has(cluster)) tokens.set(cluster, {});
  const known = tokens.get(cluster);
  known[as] ??= assertOk(await cluster.request('GET', '/api/login', { as })).Token;
  return known[as];
}

export async function ask(cluster, method, path, { as = 'User_1', headers, ...options } = {}) {
  return cluster.request(method, path, { ...options, headers: { Authorization: `Bearer ${await tokenOf(cluster, as)}`, ...headers } });
}

// An answer to a request that streams, as bytes come: `text` grows, `ended` says how it ended ('end' or 'aborted').
export class Stream {
  text = '';
  ended;
  #woken = [];
  #checked = 0;
  #name = 'message';

  constructor(cluster, token, body, { node, path = '/v1/chat/completions', headers, method = 'POST' } = {}) {
    const { url } = cluster.pick(node);
    const sent = method === 'GET' ? '' : JSON.stringify({ stream: true, ...body });
    this.asked = { method, path, headers, body: sent };
    this.request = http.request(`${url}${path}`, {
      method,
      agent: false,
      headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(sent), Authorization: `Bearer ${token}`, ...headers },
    });
    this.request.on('error', () => this.#end('aborted'));
    this.request.on('response', (response) => {
      this.status = response.statusCode;
      this.headers = response.headers;
      const check = this.status === 200 ? eventCheck(this.asked, this) : undefined;
      response.setEncoding('utf8');
      response.on('data', (text) => {
        this.text += text;
        if (check) this.#checkLines(check);
        this.#wake();
      });
      response.on('end', () => {
        if (!check) noteResponse(this.asked, this);
        this.#end('end');
      });
      response.on('error', () => this.#end('aborted'));
      this.#wake();
    });
    this.request.end(sent);
  }

  #wake() {
    for (const wake of this.#woken.splice(0)) wake();
  }

  // Each whole line that has come since the last one.
  #checkLines(check) {
    const end = this.text.lastIndexOf('\n') + 1;
    for (const line of this.text.slice(this.#checked, end).split('\n')) {
      if (line.startsWith('event: ')) this.#name = line.slice(7);
      if (line.startsWith('data: ') && line !== 'data: [DONE]') check({ event: this.#name, data: JSON.parse(line.slice(6)) });
      if (line === '') this.#name = 'message';
    }
    this.#checked = end;
  }

  #end(how) {
    this.ended ??= how;
    this.#wake();
  }

  // Until the condition holds; an end of the answer before that is a failure.
  async until(condition, what = 'the condition') {
    while (!condition(this)) {
      assert.ok(!this.ended, `${what}: the answer ended (${this.ended}) with ${this.status} ${this.text.slice(-600)}`);
      await new Promise((resolve) => this.#woken.push(resolve));
    }
    return this;
  }

  head() {
    return this.until(({ status }) => status, 'the head');
  }

  async whole() {
    while (!this.ended) await new Promise((resolve) => this.#woken.push(resolve));
    return this;
  }

  // The data of all events so far. Lines are data, comments or empty, and nothing else; on two routes events have names, too.
  get events() {
    const isNamed = /^\/v1\/(responses|messages)/.test(this.asked.path);
    for (const line of this.text.split('\n').slice(0, -1)) assert.match(line, isNamed ? /^(event: [a-z_.]+|data: .+|: ping|)$/ : /^(data: .+|: ping|)$/);
    return this.text.split('\n').filter((line) => line.startsWith('data: ')).map((line) => line.slice(6));
  }

  get chunks() {
    return this.events.filter((data) => data !== '[DONE]').map((data) => JSON.parse(data));
  }

  abort() {
    this.request.destroy();
  }
}

export async function openChat(cluster, body, { as = 'User_1', ...options } = {}) {
  return new Stream(cluster, await tokenOf(cluster, as), body, options);
}

// Holds a whole stream to what all have in common: the schema of each chunk, one id, the role first, one finish_reason for
// each choice, [DONE] last. Returns its chunks.
export function assertChunks(stream, schema = 'CreateChatCompletionStreamResponse') {
  const { events, chunks } = stream;
  assert.equal(stream.status, 200, stream.text);
  assert.match(stream.headers['content-type'], /^text\/event-stream/);
  assert.equal(stream.ended, 'end');
  assert.equal(events.at(-1), '[DONE]');
  assert.equal(events.filter((data) => data === '[DONE]').length, 1);
  for (const chunk of chunks) fits(schema, chunk);
  for (const member of ['id', 'created', 'model']) assert.equal(new Set(chunks.map((chunk) => chunk[member])).size, 1, member);
  const choices = chunks.flatMap((chunk) => chunk.choices);
  for (const index of new Set(choices.map((choice) => choice.index))) {
    const own = choices.filter((choice) => choice.index === index);
    if (schema === 'CreateChatCompletionStreamResponse') {
      assert.equal(own[0].delta.role, 'assistant');
      assert.equal(own.filter(({ delta }) => 'role' in delta).length, 1);
    }
    assert.equal(own.filter(({ finish_reason }) => finish_reason !== null).length, 1, JSON.stringify(own));
    assert.notEqual(own.at(-1).finish_reason, null);
  }
  return chunks;
}

export const deltaOf = (delta, { index = 0, finish_reason = null, ...more } = {}) => JSON.stringify({ choices: [{ index, delta, ...more, finish_reason }] });

// An engine at the routes. One claim at a time.
export class Engine {
  offset = 0;

  constructor(cluster, { models = 'llama3', apis = 'chat,completions,embeddings', continues, node, as = 'Inference_1' } = {}) {
    Object.assign(this, { cluster, models, apis, continues, node, as });
  }

  poll(wait = 30) {
    return this.cluster.claimOpen({ as: this.as, wait, detail: true, models: this.models, node: this.node, query: { Apis: this.apis, ...(this.continues ? { Continues: 'true' } : {}) } });
  }

  // Starts a poll that waits, and returns once it is known to: from then on its models are there.
  async park() {
    this.parked = this.poll();
    const model = `${this.continues ? 'continues' : this.apis.split(',')[0]}/${this.models}`;
    const classes = async () => {
      const keys = await this.cluster.redis.cmd('KEYS', '*:idle');
      return (await Promise.all(keys.map((key) => this.cluster.redis.cmd('ZRANGE', key, 0, -1)))).flat();
    };
    await eventually(async () => (await classes()).some((name) => name.includes(model)), { what: `a poll for ${model} waits` });
    // The other shards know of a new model by the next sync.
    const isSeen = (key) => this.cluster.redis.cmd('HEXISTS', key, model);
    if (SHARDS > 1 && !this.models.includes(',')) await eventually(async () => (await Promise.all(keysOfAll('models_seen').map(isSeen))).every(Boolean), { what: `all shards know ${model}` });
    return this;
  }

  // Takes a claim of one query, and reads it.
  async take(claim) {
    this.claim = assertOk(await (claim ?? this.poll()).response);
    assert.equal(this.claim.Queries?.length, 1, JSON.stringify(this.claim));
    const [seq] = Object.keys(this.claim.Queries[0]);
    this.details = this.claim.Details[seq];
    this.body = JSON.parse(this.details.Request);
    this.of = { Topic: this.claim.Topic, Seq: Number(seq), Lease: this.claim.Lease };
    this.offset = this.details.Offset ?? 0;
    return this;
  }

  post(route, body, options) {
    return this.cluster.request('POST', `/api/${route}`, { as: this.as, node: this.node, body, ...options });
  }

  async give(...Deltas) {
    const reply = await this.post('give-partial', { ...this.of, Offset: this.offset, Deltas });
    if (reply.status === 200) this.offset = reply.json.Next;
    return reply;
  }

  async answer(Deltas = [], { Answer = ['text'], ...more } = {}) {
    return this.post('give-new-answer', { ...this.of, Offset: this.offset, Deltas, Answer, ...more });
  }

  refuse(Error, Reason = 'refused') {
    return this.post('release-claim', { Topic: this.of.Topic, Lease: this.of.Lease, Reason, Retry: false, Error });
  }
}

export const engineOf = (cluster, options) => new Engine(cluster, options).park();
