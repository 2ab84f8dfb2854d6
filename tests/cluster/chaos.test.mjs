// SPDX-License-Identifier: MIT
//
// Nodes, engines, indexers and Redis are killed (SIGKILL) while questions are asked and documents uploaded, and started
// again at once, Redis from its append-only file. Afterwards a checker compares all that every client and engine saw with
// what is stored. 20 kills during 5,000 questions; with PARLEY_NIGHTLY=1 200 kills during 50,000.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { formOf } from '../support/documents.mjs';
import { ACCOUNTS, Cluster, adopt, eventually, exited, freePort, makeFolder, SANITIZER, startProcess } from '../support/harness.mjs';
import { openDesk, prose } from '../support/indexing.mjs';
import { startLlm } from '../support/llm_stub.mjs';
import { drawFrom, oneSeed } from '../support/seeds.mjs';
import { keysOfAll, onAll } from '../support/shards.mjs';
import { check } from './chaos_checker.mjs';
import { startClients } from './chaos_clients.mjs';
import { insist } from './chaos_http.mjs';

const IS_NIGHTLY = process.env.PARLEY_NIGHTLY === '1';
const [KILLS, QUESTIONS] = IS_NIGHTLY ? [200, 50_000] : [20, 5_000];
const TEST_MS = IS_NIGHTLY ? 3_600_000 : 400_000;
const ENGINE = join(dirname(fileURLToPath(import.meta.url)), 'chaos_engine.mjs');
const KINDS = ['node', 'engine', 'redis', 'indexer', 'parley engine'];
const FLAGS = ['--lease-seconds', 3, '--max-attempts', 100, '--job-lease-seconds', 3, '--rescan-seconds', 1];
const [FRONTEND, ENGINE_ACCOUNT] = ['Frontend_1', 'Inference_1'].map((name) => ({ name, ...ACCOUNTS[name] }));

// Each kind equally often, in an order of the seed's.
function planOf(kills, draw) {
  const plan = [];
  while (plan.length < kills) {
    const round = [...KINDS];
    while (round.length > 0) plan.push(...round.splice(draw(round.length), 1));
  }
  return plan.slice(0, kills);
}

// Everything that runs: what can be killed is in `victims`, by kind, each {kill(), restart()}.
class Crowd {
  constructor() {
    this.events = [];
    this.retries = 0;
    this.victims = Object.fromEntries(KINDS.map((kind) => [kind, []]));
    this.folder = makeFolder();
    this.failures = [];
  }

  async start() {
    this.cluster = await new Cluster({ nodes: 0, aof: true, args: FLAGS }).start();
    for (const redis of this.cluster.redis.members ?? [this.cluster.redis]) {
      this.victims.redis.push({ kill: () => redis.kill(), restart: () => redis.restart() });
    }
    const listens = await Promise.all([1, 2, 3].map(async () => `127.0.0.1:${await freePort()}`));
    this.urls = listens.map((listen) => `http://${listen}`);
    await Promise.all([...listens.map((listen) => this.#addNode('node', { listen, args: ['--indexers', 0] })), this.#addNode('indexer', { args: ['--target=indexer'] })]);
    this.llm = await startLlm();
    this.llm.behave({ text: (body) => this.#think(body), pieces: 40 });
    for (let i = 0; i < 3; i++) this.#addEngine(i);
    await this.#addParleyEngine();
  }

  // A process that is started again after each kill, until end().
  #add(kind, launch) {
    const victim = {
      runs: null,
      kill: async () => {
        victim.runs.child.kill('SIGKILL');
        await exited(victim.runs.child, 30_000, kind);
      },
      restart: async () => (victim.runs = await launch()),
    };
    this.victims[kind].push(victim);
    return victim.restart();
  }

  async #addNode(kind, options) {
    await this.#add(kind, async () => {
      const node = await this.cluster.startNode(options);
      node.child.once('exit', (code, signal) => signal === 'SIGKILL' && (node.killed = true));
      return node;
    });
  }

  #addEngine(number) {
    const { name, secret } = ENGINE_ACCOUNT;
    return this.#add('engine', async () => {
      const child = adopt(spawn(process.execPath, [ENGINE, this.urls.join(','), name, secret, '8', `engine ${number}`], { stdio: ['ignore', 'pipe', 'inherit'] }));
      let rest = '';
      child.stdout.setEncoding('utf8').on('data', (chunk) => {
        const lines = `${rest}${chunk}`.split('\n');
        rest = lines.pop(); // of one that was killed while it wrote
        for (const line of lines) this.events.push(JSON.parse(line));
      });
      child.once('exit', (code) => code && this.failures.push(new Error(`engine ${number} ended with ${code}`)));
      return { child };
    });
  }

  #addParleyEngine() {
    const secret = this.folder.file('secret', ACCOUNTS.Inference_2.secret);
    const words = ['engine', '--url', this.urls.join(','), '--user', 'Inference_2', '--secret-file', secret, '--slots', 8, '--wait', 10, '--start-seconds', 60, '--llm', this.llm.url, '--model', 'stub'];
    return this.#add('parley engine', async () => {
      const engine = startProcess(words);
      engine.child.once('exit', (code) => {
        if (code || SANITIZER.test(engine.stderr)) this.failures.push(new Error(`parley engine ended with ${code}:\n${engine.stderr.slice(-3000)}`));
      });
      return engine;
    });
  }

  // The words of the model, others each time: what an engine may have stored.
  #think({ messages }) {
    const [query] = /question \d+ of \w+/.exec(messages.at(-1).content);
    this.thoughts = (this.thoughts ?? 0) + 1;
    const text = `${query} was thought about as number ${this.thoughts}`;
    this.events.push({ did: 'try', query, text });
    return text;
  }

  // What is alive of that kind is killed, one of it, and started again.
  async strike(kind, draw) {
    const victims = this.victims[kind].filter(({ isDown }) => !isDown);
    const victim = victims[draw(victims.length)];
    if (!victim) return false;
    victim.isDown = true;
    await victim.kill();
    victim.back = victim.restart().then(() => (victim.isDown = false)).catch((error) => this.failures.push(error));
    return true;
  }

  recovered() {
    return Promise.all(KINDS.flatMap((kind) => this.victims[kind].map(({ back }) => back)));
  }

  async end() {
    for (const kind of ['engine', 'parley engine']) {
      for (const { runs } of this.victims[kind]) {
        runs.child.removeAllListeners('exit');
        runs.child.kill('SIGKILL');
      }
    }
    await this.llm?.stop();
    await this.cluster?.stop();
    this.folder.remove();
  }
}

// Uploads documents, each of an owner of its own, since uploads of one owner are limited: {all, stop(), done}.
function startReaders(crowd) {
  const all = [];
  let isOver = false;
  async function work() {
    for (let i = 0; !isOver; i++) {
      const owner = `reader-${i}`;
      const bytes = `${prose(300, i + 1)} This is document ${i}.`;
      const { body, headers } = formOf({ name: `${owner}.md`, bytes });
      const response = await insist(crowd.urls, 'POST', '/api/docs/upload', { account: FRONTEND, query: { OnBehalfOf: owner }, raw: body, headers });
      assert.ok([200, 201].includes(response.status), `upload: ${response.status} ${response.text}`);
      all.push({ owner, id: response.json.documentId });
      await eventually(async () => isOver || (await stateOf(crowd, all[i])) === 'INDEXED', { ms: 120_000, every: 100, what: `document ${i} is indexed` });
    }
  }
  const done = work();
  done.catch(() => {});
  return { all, done, stop: () => (isOver = true) };
}

async function stateOf(crowd, { owner, id }) {
  const { status, json, text } = await insist(crowd.urls, 'GET', `/api/docs/${id}`, { account: FRONTEND, query: { OnBehalfOf: owner } });
  assert.equal(status, 200, `document ${id} of ${owner}: ${text}`);
  assert.notEqual(json.status, 'FAILED', text);
  return json.status;
}

// Each topic as a node shows it.
async function readThreads(crowd, questions) {
  const threads = new Map();
  const left = [...new Set(questions.map(({ topic }) => topic))];
  const read = async () => {
    for (let topic = left.pop(); topic; topic = left.pop()) {
      const { status, json, text } = await insist(crowd.urls, 'GET', '/api/get-topic-thread', { account: FRONTEND, query: { Topic: topic, Detail: 'true' } });
      assert.ok([200, 404].includes(status), text);
      if (status === 200) threads.set(topic, json);
    }
  };
  await Promise.all(Array.from({ length: 8 }, read));
  return threads;
}

// Nothing is counted, leased or queued any more.
async function assertNothingLeft({ cluster: { redis } }) {
  await eventually(
    async () => {
      const depths = await onAll(redis, 'HGET', 'meta', 'depth');
      assert.ok(depths.every((depth) => !Number(depth)), `Open: ${depths}`);
      for (const name of ['leases', 'waiting', 'models', 'shares']) {
        assert.deepEqual(await Promise.all(keysOfAll(name).map((key) => redis.cmd('EXISTS', key))), keysOfAll(name).map(() => 0), name);
      }
      assert.deepEqual((await redis.cmd('KEYS', 'parley:*:open:*')).concat(await redis.cmd('KEYS', 'parley:*:lease:*')), []);
      return true;
    },
    { ms: 60_000, what: 'nothing is left in the queue' },
  ).catch((error) => {
    throw new Error(`${error.message}: ${error.cause?.message}`);
  });
}

async function survive(crowd, seed) {
  const draw = drawFrom(seed);
  const plan = planOf(KILLS, draw);
  const began = Date.now();
  const clients = startClients({ urls: crowd.urls, account: FRONTEND, of: QUESTIONS, onRetry: () => crowd.retries++ });
  const readers = startReaders(crowd);
  const done = {};
  let broken;
  for (const one of [clients.done, readers.done]) one.catch((error) => (broken ??= error));
  const look = () => {
    const error = broken ?? crowd.failures[0];
    if (error) throw error;
  };
  const reached = async (n, what) => {
    while (clients.answered < n) {
      const before = clients.answered;
      await eventually(() => broken || crowd.failures.length || clients.answered > before, { ms: 90_000, what });
      look();
    }
  };
  for (const [i, kind] of plan.entries()) {
    await reached(Math.floor(((i + 0.5) * QUESTIONS * 0.98) / KILLS), `kill ${i} of ${KILLS}: questions are answered after the one before`);
    if (await crowd.strike(kind, draw)) done[kind] = (done[kind] ?? 0) + 1;
    else assert.fail(`no ${kind} came back for kill ${i}`);
  }
  let isAnswered = false;
  clients.done.then(() => (isAnswered = true), () => {});
  await eventually(() => isAnswered || broken || crowd.failures.length, { ms: 120_000, what: 'every client has its answer' });
  look();
  const seconds = (Date.now() - began) / 1000;
  readers.stop();
  await readers.done;
  await crowd.recovered();
  look();
  return { clients, readers, done, seconds };
}

describe('chaos', () => {
  it(`${KILLS} kills of nodes, engines, indexers and Redis during ${QUESTIONS} questions: none is lost, none is doubled`, { timeout: TEST_MS }, async (t) => {
    const seed = oneSeed();
    const crowd = new Crowd();
    try {
      await crowd.start();
      const { clients, readers, done, seconds } = await survive(crowd, seed);
      await assertNothingLeft(crowd);
      const threads = await readThreads(crowd, clients.questions);
      const { wrong, figures } = check({ questions: clients.questions, events: crowd.events, threads });
      const desk = await openDesk(crowd.cluster.redis);
      try {
        for (const reader of readers.all) {
          await eventually(async () => (await stateOf(crowd, reader)) === 'INDEXED', { what: `document ${reader.id} is indexed` });
          await desk.assertWhole(reader.id);
        }
        await desk.assertIdle();
      } finally {
        desk.close();
      }
      const all = { ...figures, documents: readers.all.length, 'requests sent again': crowd.retries, seconds: Math.round(seconds), ...Object.fromEntries(Object.entries(done).map(([kind, n]) => [`kills of ${kind}`, n])) };
      t.diagnostic(Object.entries(all).map(([name, n]) => `${name}: ${n}`).join(', '));
      assert.deepEqual(wrong.slice(0, 20), []);
      assert.equal(clients.answered + figures['given up by clients'], QUESTIONS);
    } catch (error) {
      crowd.cluster?.printLogs(new Map());
      throw new Error(`seed ${seed}: ${error.message}`, { cause: error });
    } finally {
      await crowd.end();
    }
  });
});
