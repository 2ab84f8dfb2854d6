// SPDX-License-Identifier: MIT
//
// harness: what a test file imports. A suite is a private Redis and a few nodes; its requests go to
// the nodes in turn, so every test runs across nodes unless it names one.
//
//   import { suite } from '../support/harness.mjs';
//   suite('topics', {}, ({ test, cluster }) => {
//     test('a topic is there after its first query', async () => {
//       const { Topic } = await cluster.add({ Query: 'Why?' });
//       const response = await cluster.request('GET', '/api/user-topics', { as: 'Frontend_1', query: {…} });
//     });
//   });
//
// Options of suite and startCluster: nodes (2), aof (false), redisArgs (flags of Redis), args (flags of every node), env,
// accounts (an object like ACCOUNTS), threads (1), servers (1: of Redis, whatever the environment says), redis (a function that starts
// another kind of Redis, see topology.mjs), sweep (true: the queue is
// emptied before each test).
// No sleeps: wait with eventually(condition), or for the very response.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openRequest, openSocket, openStream, REQUEST_MS, sign, withQuery } from './http.mjs';
import { ACCOUNTS, SANITIZER, startNode, writeAccounts } from './node.mjs';
import { assertAllFitted, prepareOpenapi } from './openapi.mjs';
import { startServers } from './servers.mjs';
import { keyOf } from './shards.mjs';

export * from './http.mjs';
export * from './node.mjs';
export * from './redis.mjs';

const TEST_MS = 180_000;
const LOG_TAIL = 6_000;
const [LOOK_MIN_MS, LOOK_MAX_MS] = [25, 250]; // of eventually()
// What a lost message or delivery costs, made so long that a test which needs neither fails without the message.
export const SLOW_RESCUE = ['--rescan-seconds', '60', '--delivery-seconds', '60'];

// Resolves with the first truthy value of condition(); an exception of it counts as "not yet". The
// last one is shown when the deadline has passed; it looks once more after that. Without `every` it looks the less often the
// longer it waits, so that those who wait on a busy machine do not make it busier.
export async function eventually(condition, { ms = 30_000, every, what = 'the condition' } = {}) {
  const began = Date.now();
  const deadline = began + ms;
  let last;
  for (;;) {
    const isLate = Date.now() > deadline;
    try {
      const value = await condition();
      if (value) return value;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (isLate) throw new Error(`${what} did not come true in ${ms} ms`, { cause: last });
    await new Promise((resolve) => setTimeout(resolve, every ?? Math.min(LOOK_MAX_MS, Math.max(LOOK_MIN_MS, (Date.now() - began) / 20))));
  }
}

// A topic name that no other test has.
export function newTopic(prefix = 'topic') {
  return `${prefix}-${randomBytes(6).toString('hex')}`;
}

// OpenAI's words for what has another code elsewhere.
const OPENAI_CODES = { unauthorized: 'invalid_api_key', nonce_used: 'invalid_api_key', too_much_stored: 'insufficient_quota', quota_used: 'insufficient_quota' };

// An error as OpenAI has it: four members, always. `code` as on other routes.
export function assertOpenaiError(response, status, code) {
  assert.equal(response.status, status, `expected ${status}, got ${response.status}: ${response.text.slice(0, 500)}`);
  assert.equal(response.headers['content-type'], 'application/json');
  assertMembers(response.json, ['error']);
  const { error } = response.json;
  assertMembers(error, ['message', 'type', 'param', 'code']);
  assert.match(error.message, /^\S[^]*[.?!)]$/);
  if (code !== undefined) assert.equal(error.code, OPENAI_CODES[code] ?? (status === 429 ? 'rate_limit_exceeded' : code));
  return error;
}

const ANTHROPIC_TYPES = { 401: 'authentication_error', 403: 'permission_error', 404: 'not_found_error', 413: 'request_too_large', 429: 'rate_limit_error', 503: 'overloaded_error' };

// An error as Anthropic's clients read it.
export function assertAnthropicError(response, status) {
  assert.equal(response.status, status, `expected ${status}, got ${response.status}: ${response.text.slice(0, 500)}`);
  assert.equal(response.headers['content-type'], 'application/json');
  assertMembers(response.json, ['type', 'error', 'request_id']);
  assert.equal(response.json.type, 'error');
  assert.equal(response.json.request_id, response.headers['x-request-id']);
  const { error } = response.json;
  assertMembers(error, ['type', 'message']);
  assert.equal(error.type, ANTHROPIC_TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error'));
  assert.match(error.message, /^\S[^]*[.?!)]$/);
  return error;
}

// An error: status, the six members, the request id repeated. On the routes of OpenAI's interface, its own; of bodies that are no
// message of JSON-RPC, where that is spoken, an error of that.
export function assertProblem(response, status, code) {
  if (response.json?.jsonrpc) {
    assert.deepEqual([response.status, status, response.json.id], [400, 400, null], response.text);
    return assertMembers(response.json.error, ['code', 'message']);
  }
  if (response.json?.type === 'error') return assertAnthropicError(response, status);
  if (typeof response.json?.error === 'object') return assertOpenaiError(response, status, code);
  assert.equal(response.status, status, `expected ${status}, got ${response.status}: ${response.text.slice(0, 500)}`);
  assert.match(response.headers['content-type'], /^application\/problem\+json\b/);
  const { json } = response;
  for (const member of ['type', 'title', 'status', 'detail', 'code', 'instance']) {
    assert.ok(member in json, `member ${member} in ${response.text}`);
  }
  assert.equal(json.status, status);
  assert.equal(typeof json.type, 'string');
  assert.equal(typeof json.title, 'string');
  assert.equal(typeof json.detail, 'string');
  assert.ok(json.detail.length > 0, 'detail says something');
  assert.match(json.code, /^[a-z][a-z0-9_]*$|^[A-Z][A-Z_]*$/);
  assert.equal(json.instance, response.headers['x-request-id']);
  if (code !== undefined) assert.equal(json.code, code);
  return json;
}

// A 200 (or another status) with JSON; returns the body.
export function assertOk(response, status = 200) {
  assert.equal(response.status, status, `expected ${status}, got ${response.status}: ${response.text.slice(0, 500)}`);
  assert.match(response.headers['content-type'] ?? '', /^application\/json\b/);
  return response.json;
}

// Exactly these members, in any order.
export function assertMembers(object, members) {
  assert.deepEqual(Object.keys(object).sort(), [...members].sort());
}

// A time of now in RFC 3339 with its zone.
export function assertTimestamp(text) {
  assert.match(text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  const away = Math.abs(Date.parse(text) - Date.now());
  assert.ok(away < 120_000, `${text} is now, in UTC`);
}

// The same without a zone, as BossBot's document shows the Timestamp of add-query, add-lookup and recommend.
export function assertZonelessTimestamp(text) {
  assert.match(text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/);
  assertTimestamp(`${text}Z`);
}

// What a sanitizer says is at the head of its report, other trouble at the end of the log.
function shorten(log) {
  const report = log.search(SANITIZER);
  return report >= 0 ? log.slice(Math.max(0, report - 500), report + LOG_TAIL) : log.slice(-LOG_TAIL);
}

// Redis, accounts and nodes. start() and stop() are called by suite() or startCluster().
export class Cluster {
  #turn = 0;
  #accounts;

  constructor(options = {}) {
    this.options = { nodes: 2, aof: false, args: [], env: {}, accounts: ACCOUNTS, threads: 1, sweep: true, ...options };
    this.nodes = [];
    this.accounts = this.options.accounts;
  }

  async start() {
    const { aof, accounts, nodes, redis, redisArgs, servers } = this.options;
    prepareOpenapi();
    this.redis = redis ? await redis() : await startServers({ aof, args: redisArgs }, servers);
    this.#accounts = writeAccounts(accounts);
    this.accountsFile = this.#accounts.path;
    this.writeAccounts = this.#accounts.write;
    this.sqlUrl = `sqlite:${join(dirname(this.accountsFile), 'workflow.db')}`;
    const started = await Promise.allSettled(Array.from({ length: nodes }, () => this.startNode()));
    const failed = started.find(({ status }) => status === 'rejected');
    if (failed) {
      await this.stop().catch(() => {});
      throw failed.reason;
    }
    return this;
  }

  // One more node. Requests go to it in turn with the others.
  async startNode({ args = [], env = {}, ...rest } = {}) {
    const node = await startNode({
      redis: this.redis,
      accounts: this.accountsFile,
      threads: this.options.threads,
      limits: this.options.limits,
      bin: this.options.bin,
      args: [...this.options.args, ...args],
      env: { ...(this.options.bin ? {} : { PARLEY_SQL_URL: this.sqlUrl }), ...this.options.env, ...env },
      ...rest,
    });
    this.nodes.push(node);
    return node;
  }

  async stop() {
    const ends = await Promise.allSettled(this.nodes.map((node) => node.stop()));
    await this.redis?.stop();
    this.#accounts?.remove();
    const failed = ends.find(({ status }) => status === 'rejected');
    if (failed) throw failed.reason;
  }

  // The node for a request: the one named (by number or object), else the next one in turn.
  pick(node) {
    if (typeof node === 'object') return node;
    if (node !== undefined) return this.nodes[node];
    const live = this.nodes.filter(({ alive }) => alive);
    return live[this.#turn++ % live.length];
  }

  // The path with its query, and with User, Nonce and Hash when `as` names an account. `signing`
  // goes to sign(); `raw` is put into the query string as it is.
  path(path, { as, query = {}, signing = {}, raw = '' } = {}) {
    const proof = as ? sign(as, signing.secret ?? this.accounts[as]?.secret ?? 'nobody', signing) : {};
    const full = withQuery(path, { ...query, ...proof });
    return raw ? `${full}${full.includes('?') ? '&' : '?'}${raw}` : full;
  }

  // Starts a request: {response, sent, abort()}. Options: as, query, signing, raw, node, and those
  // of openRequest (body, headers, agent, localAddress, timeout, chunked).
  open(method, path, options = {}) {
    const node = this.pick(options.node);
    return openRequest(node.url, method, this.path(path, options), options);
  }

  request(method, path, options = {}) {
    return this.open(method, path, options).response;
  }

  // A server-sent event stream; see openStream.
  stream(path, options = {}) {
    return openStream(this.pick(options.node).url, this.path(path, options), options);
  }

  socket(options = {}) {
    return openSocket(this.pick(options.node).url, options);
  }

  // POST add-query. Members of the body are given by their wire names; the rest are options.
  // Returns {Topic, Seq, Timestamp}. `addRaw` returns the whole response.
  addRaw({
    as = 'Frontend_1',
    Topic = newTopic(),
    User,
    Query = 'What is the meaning of life?',
    Modifiers,
    Model,
    ...options
  } = {}) {
    const user = User ?? (this.accounts[as]?.role === 'user' ? as : 'alice');
    return this.request('POST', '/api/add-query', { as, body: { Topic, User: user, Query, Modifiers, Model }, ...options });
  }

  async add(options) {
    return assertOk(await this.addRaw(options));
  }

  // GET get-new-queries. wait in seconds; detail, history, models, engine as in /openapi.yaml.
  // `claimOpen` returns {response, sent, abort()} for a poll that parks.
  claimOpen({ as = 'Inference_1', wait = 0, detail, history, models, engine, query = {}, ...options } = {}) {
    return this.open('GET', '/api/get-new-queries', {
      as,
      query: {
        Wait: wait,
        Detail: detail ? 'true' : undefined,
        History: history ? 'true' : undefined,
        Models: models,
        Engine: engine,
        ...query,
      },
      timeout: wait * 1000 + REQUEST_MS,
      ...options,
    });
  }

  claimRaw(options) {
    return this.claimOpen(options).response;
  }

  async claim(options) {
    return assertOk(await this.claimRaw(options));
  }

  // POST give-new-answer. `next: true` asks for the next claim in the same answer.
  answerRaw({
    as = 'Inference_1',
    Topic,
    Seq,
    Query = 'What is the meaning of life?',
    Think,
    Answer = ['42'],
    Lease,
    Model,
    FinishReason,
    Usage,
    next,
    query = {},
    ...options
  }) {
    return this.request('POST', '/api/give-new-answer', {
      as,
      query: { Next: next ? 'true' : undefined, ...query },
      body: { Query, Topic, Seq, Think, Answer, Lease, Model, FinishReason, Usage },
      ...options,
    });
  }

  async answer(options) {
    return assertOk(await this.answerRaw(options));
  }

  // GET check-query. wait in seconds.
  checkOpen({ as = 'Frontend_1', Topic, Seq = 1, wait = 0, detail, query = {}, ...options }) {
    return this.open('GET', '/api/check-query', {
      as,
      query: { Topic, Seq, Wait: wait, Detail: detail ? 'true' : undefined, ...query },
      timeout: wait * 1000 + REQUEST_MS,
      ...options,
    });
  }

  checkRaw(options) {
    return this.checkOpen(options).response;
  }

  async check(options) {
    return assertOk(await this.checkRaw(options));
  }

  // Sets when the lease of a topic's claim ends: one that is as short as a test would end on a slow machine when it
  // should not. An odd deadline is one of a claim whose delivery is not confirmed yet.
  leaseEndsIn(Topic, ms) {
    const at = Date.now() + ms;
    const until = at - (at % 2);
    return eventually(
      async () => {
        const [lease, now] = await this.#leaseOf(Topic);
        return lease && now % 2 === 0 && this.redis.cmd('ZADD', keyOf(Topic, 'leases'), 'XX', 'CH', until, lease);
      },
      { what: `the claim of ${Topic} is delivered` },
    );
  }

  // As if its time were over. Nodes see it with their next look, --rescan-seconds later.
  endLease(Topic) {
    return this.leaseEndsIn(Topic, -1000);
  }

  // ms until then.
  async leaseLeft(Topic) {
    return (await this.#leaseOf(Topic))[1] - Date.now();
  }

  async #leaseOf(Topic) {
    const leases = keyOf(Topic, 'leases');
    const lease = (await this.redis.cmd('ZRANGE', leases, 0, -1)).find((member) => member.endsWith(` ${Topic}`));
    return lease ? [lease, Number(await this.redis.cmd('ZSCORE', leases, lease))] : [];
  }

  // Claims and answers what is left in the queue, so that a test finds it empty.
  async sweep() {
    for (;;) {
      const { Topic, Queries } = await this.claim({ as: 'Sweeper' });
      if (Topic === null) return;
      for (const entry of Queries) {
        const [[Seq, Query]] = Object.entries(entry);
        await this.answerRaw({ as: 'Sweeper', Topic, Seq: Number(Seq), Query, Answer: ['swept'] });
      }
    }
  }

  // Positions in the logs, to print only what a test caused.
  marks() {
    return new Map(this.nodes.map((node) => [node, node.log().length]));
  }

  printLogs(marks) {
    this.nodes.forEach((node, i) => {
      const text = node.log().slice(marks.get(node) ?? 0);
      console.error(`--- log of node ${i} (${node.url})\n${shorten(text) || '(silent)'}\n---`);
    });
  }

  checkSanitizers() {
    for (const node of this.nodes) node.check();
  }
}

export async function startCluster(options = {}) {
  return new Cluster(options).start();
}

// Fails instead of hanging, while the logs can still be printed.
function withDeadline(promise, ms) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the test did not end in ${ms} ms`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// A suite on one cluster. define({test, cluster}) registers the tests; they run one after another.
export function suite(name, options, define) {
  describe(name, () => {
    const cluster = new Cluster(options);
    before(() => cluster.start());
    after(() => cluster.stop());
    const test = (title, body, { ms = TEST_MS, sweep = cluster.options.sweep, ...more } = {}) =>
      it(title, { timeout: ms + 10_000, ...more }, async () => {
        const marks = cluster.marks();
        try {
          await withDeadline(
            (async () => {
              if (sweep) await cluster.sweep();
              await body(cluster);
            })(),
            ms,
          );
          cluster.checkSanitizers();
          assertAllFitted();
        } catch (error) {
          cluster.printLogs(marks);
          throw error;
        }
      });
    define({ test, cluster });
  });
}
