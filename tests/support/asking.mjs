// SPDX-License-Identifier: MIT
//
// asking: documents to ask over, and engines that say what a test wants.
//
//   const library = await openLibrary(cluster.redis);
//   await library.store('o:User_1', { 'leases.md': 'A lease lasts 150 seconds.' });
//   await withEngine(cluster, ({ kind }) => (kind === 'answer' ? 'It lasts 150 seconds [1].' : '{}'), async (engine) => {
//     … engine.prompts: what it was asked, in order: {kind, system, user, modifiers, topic}
//   });
import assert from 'node:assert/strict';
import { eventually } from './harness.mjs';
import { openDesk } from './indexing.mjs';
import { onAll, sumOfAll } from './shards.mjs';

// What a prompt of Parley's own wants back, by the members that its system message names.
function kindOf(system) {
  if (system.includes('"rewritten_query"')) return 'rewrite';
  if (system.includes('"ranking"')) return 'ranking';
  if (system.includes('"steps"')) return 'plan';
  if (system.includes('"tool"')) return 'step';
  return 'answer';
}

// The passages of a prompt, as {number: "title\ntext"}.
export function passagesOf(user) {
  const found = {};
  for (const block of user.split(/^(?=\[\d+\] )/m)) {
    const match = /^\[(\d+)\] ([^]*?)(?:\n---\n|$)/.exec(block);
    if (match) found[match[1]] = match[2].trim();
  }
  return found;
}

class Engine {
  constructor(cluster, reply, as) {
    Object.assign(this, { cluster, reply, as, prompts: [], isOver: false, failure: undefined });
    this.ended = this.run().catch((error) => (this.failure = error));
  }

  // The response of one node after the other. A test may kill the one that is asked: then the next one is, as engines do.
  async ask(send) {
    for (;;) {
      const node = this.cluster.pick();
      try {
        return await send(node);
      } catch (error) {
        if (!node.killed || this.isOver) throw error;
      }
    }
  }

  async run() {
    while (!this.isOver) {
      const response = await this.ask((node) => {
        this.poll = this.cluster.claimOpen({ as: this.as, wait: 30, detail: true, node });
        return this.poll.response;
      }).catch((error) => {
        if (!this.isOver) throw error;
      });
      if (this.isOver || response.json?.Topic == null) continue;
      await this.serve(response.json);
    }
  }

  async serve({ Topic, Queries, Lease, Details }) {
    for (const entry of Queries) {
      const [[Seq, Query]] = Object.entries(entry);
      const modifiers = Details[Seq].Modifiers;
      const [system, user] = (modifiers.Messages ?? []).map(({ content }) => content);
      const prompt = { kind: kindOf(system), system, user, query: Query, modifiers, topic: Topic, lease: Lease, details: Details[Seq] };
      this.prompts.push(prompt);
      const reply = await this.reply(prompt, this.prompts.length);
      if (reply !== undefined) {
        const { text: Answer, finish: FinishReason } = reply?.text === undefined ? { text: reply } : reply;
        const answer = { as: this.as, Topic, Seq: Number(Seq), Query, Answer: [Answer].flat(), Lease, Model: 'scripted', FinishReason };
        await this.ask((node) => this.cluster.answerRaw({ ...answer, node }));
      }
    }
  }

  async stop() {
    this.isOver = true;
    this.poll?.abort();
    await this.ended;
  }

  kinds() {
    return this.prompts.map(({ kind }) => kind);
  }

  asked(n) {
    return eventually(() => this.prompts.length >= n, { what: `the engine was asked ${n} times` });
  }
}

// Runs body(engine) with an engine that answers each prompt with reply(prompt, n): a text, or {text, finish} with the
// model's FinishReason; undefined: not at all.
export async function withEngine(cluster, reply, body, { as = 'Inference_1' } = {}) {
  const engine = new Engine(cluster, reply, as);
  try {
    // So that it is known to be there.
    await eventually(async () => (await sumOfAll(cluster.redis, 'ZCARD', 'idle')) > 0, { what: 'an engine waits' });
    const value = await body(engine);
    if (engine.failure) throw engine.failure;
    return value;
  } finally {
    await engine.stop();
  }
}

class Library {
  constructor(redis, desk) {
    Object.assign(this, { redis, desk });
  }

  // Puts documents ({name: text}) into a space, and waits until they are found; ids by name.
  async store(space, texts, { url = (name) => `https://host/book/${name}` } = {}) {
    const jobs = [];
    const ids = {};
    for (const [name, bytes] of Object.entries(texts)) {
      const { doc, job } = await this.desk.upload({ space, name, bytes, path: space.startsWith('c:') ? name : '', url: space.startsWith('c:') ? JSON.stringify(url(name)) : '' });
      ids[name] = doc;
      jobs.push(job);
    }
    for (const job of jobs) assert.equal((await this.desk.ended(job)).status, 'DONE');
    return ids;
  }

  // Topics of Parley's own questions.
  async questions() {
    return (await onAll(this.redis, 'ZRANGE', 'asks', 0, -1)).flat();
  }

  async forgetLimits() {
    const keys = await this.redis.cmd('KEYS', '*:limit:*');
    if (keys.length > 0) await this.redis.cmd('DEL', ...keys);
  }

  close() {
    this.desk.close();
  }
}

export async function openLibrary(redis) {
  return new Library(redis, await openDesk(redis));
}

// A promise and its key.
export function gate() {
  let open;
  const hold = new Promise((resolve) => (open = resolve));
  return { hold, open };
}

// POST with a body and Accept: text/event-stream; resolves with {status, events, text} once it has ended.
export async function postStream(cluster, path, options) {
  const response = await cluster.request('POST', path, { ...options, headers: { Accept: 'text/event-stream', ...options.headers } });
  const events = response.text
    .split('\n\n')
    .filter((block) => block && !block.startsWith(':'))
    .map((block) => Object.fromEntries(block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)])))
    .map(({ data, ...rest }) => ({ ...rest, data: data === undefined ? undefined : JSON.parse(data) }));
  return { status: response.status, headers: response.headers, text: response.text, events };
}
