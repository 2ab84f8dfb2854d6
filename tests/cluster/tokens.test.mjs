// SPDX-License-Identifier: MIT
//
// Answers under way while nodes and engines are killed and Redis starts again from its log: each viewer's joined text is the
// stored answer, byte by byte, with reconnects at random nodes, and ids rise strictly. With PARLEY_NIGHTLY=1 200 answers.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEngine } from '../support/engine_socket.mjs';
import { assertOk, newTopic, suite } from '../support/harness.mjs';

const NIGHTLY = Boolean(process.env.PARLEY_NIGHTLY);
const [ANSWERS, PIECES, CUTS] = NIGHTLY ? [200, 60, 50] : [40, 40, 8];
const PIECE_MS = 40;
const ENGINES = 4;
const MS = 150_000;

// A reproducible generator.
const generator = (seed) => () => (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31;
const random = generator(20261127);
const below = (n) => Math.floor(random() * n);
// What an engine says to a question: thoughts and texts of all lengths of characters. It is the same each time.
const piecesOf = (seed) => Array.from({ length: PIECES }, (_, i) => ({ [i % 9 === 4 ? 'Think' : 'Answer']: ['a', 'ñ', '—', '🦜'][(seed + i) % 4].repeat(1 + ((seed * 7 + i) % 23)) + ` ${i}. ` }));
const textOf = (pieces, kind) => pieces.map((piece) => piece[kind] ?? '').join('');

// An engine that connects again, to any node, and continues what it holds from what is stored.
class Worker {
  #held = new Map(); // Lease -> {Topic, Seq, Query, pieces, stored}
  #over = false;

  constructor(cluster, nodes) {
    Object.assign(this, { cluster, nodes });
    this.ended = this.#run();
  }

  async #run() {
    while (!this.#over) {
      try {
        this.engine = await openEngine(this.cluster, { node: this.nodes[below(this.nodes.length)], slots: 60 - this.#held.size });
        for (const held of this.#held.values()) this.#work(this.engine, held);
        for (;;) this.#take(this.engine, await this.engine.next(() => true, 3_600_000));
      } catch {
        await sleep(50);
      }
    }
  }

  #take(engine, { Type, Body, Lease, Next, Status, To }) {
    if (Type === 'claim') {
      const [[seq, Query]] = Body.Queries.flatMap(Object.entries);
      const held = { Topic: Body.Topic, Seq: Number(seq), Query, Lease: Body.Lease, pieces: piecesOf(Number(Query)), stored: 0 };
      this.#held.set(held.Lease, held);
      this.#work(engine, held);
    } else if (Type === 'stored' && this.#held.has(Lease)) {
      this.#held.get(Lease).stored = Next;
    } else if (Type === 'reply' && (To === 'answer' || Status === 409) && Status < 500) {
      this.#held.delete(Lease);
    }
  }

  async #work(engine, { Topic, Seq, Lease, Query, pieces, stored }) {
    let Offset = 0;
    for (const piece of pieces) {
      const end = Offset + Buffer.byteLength(Object.values(piece)[0]);
      if (end > stored) {
        if (engine !== this.engine || !this.#held.has(Lease)) return;
        engine.send({ Type: 'partial', Topic, Seq, Lease, Offset, ...piece });
        await sleep(PIECE_MS);
      }
      Offset = end;
    }
    while (engine === this.engine && this.#held.has(Lease)) {
      engine.send({ Type: 'answer', Topic, Seq, Lease, Query, Think: [textOf(pieces, 'Think')], Answer: [textOf(pieces, 'Answer')] });
      await sleep(5000);
    }
  }

  // It dies, and all it holds with it.
  kill() {
    this.#held.clear();
    this.engine?.cut();
  }

  end() {
    this.#over = true;
    this.kill();
    return this.ended;
  }
}

// Follows an answer, is cut off again and again, and continues at any node. Returns what it has shown.
async function view(cluster, nodes, { Topic, Seq }, cuts) {
  let [text, think, last, left] = ['', '', undefined, cuts];
  const note = ({ event, id, data }) => {
    if (event === 'restart') [text, think] = ['', ''];
    if (event === 'reset') text = data.text;
    if (event === 'token') text += data.text;
    if (event === 'think') think += data.text;
    if (id === undefined) return;
    const [before, now] = [last ?? '0-0', id].map((one) => one.split('-').map(Number));
    assert.ok(now[0] > before[0] || (now[0] === before[0] && now[1] > before[1]), `${Topic}: ${id} follows ${last}`);
    last = id;
  };
  const until = Date.now() + MS;
  while (Date.now() < until) {
    try {
      const stream = await cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq }, node: nodes[below(nodes.length)], headers: last === undefined ? {} : { 'Last-Event-ID': last } });
      const cut = left-- > 0 ? 1 + below(6) : Infinity;
      for (let n = 0; n < cut; n++) {
        const event = await stream.next();
        if (event.event === 'done') return { text, think, answer: event.data.Answer };
        assert.notEqual(event.event, 'error', JSON.stringify(event.data));
        note(event);
      }
      stream.abort();
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      await sleep(100); // its node is dead
    }
  }
  assert.fail(`${Topic}: no answer`);
}

suite('answers under way', { nodes: 3, aof: true, args: ['--lease-seconds', '5', '--max-attempts', '100'] }, ({ test, cluster }) => {
  test('nothing is lost and nothing doubled, whatever is killed', async () => {
    const nodes = [0, 1, 2];
    const replace = async (i) => {
      await cluster.nodes[i].kill();
      await cluster.startNode();
      cluster.nodes[i] = cluster.nodes.pop();
    };
    const workers = Array.from({ length: ENGINES }, () => new Worker(cluster, nodes));
    const asked = [];
    for (let i = 0; i < ANSWERS; i++) asked.push({ seed: i, ...(await cluster.add({ Topic: newTopic(), Query: String(i), User: `user${i % 20}` })) });
    const views = asked.flatMap((one) => [view(cluster, nodes, one, CUTS), view(cluster, nodes, one, 0)]);
    const all = Promise.all(views);
    all.catch(() => {});
    for (const kill of [
      () => workers[0].kill(),
      () => replace(0),
      () => workers[1].kill(),
      () => replace(1),
      () => cluster.redis.kill().then(() => cluster.redis.restart()),
      () => replace(2),
    ]) {
      await sleep(NIGHTLY ? 2000 : 400);
      await kill();
    }
    const seen = await all;
    for (const [i, { text, answer }] of seen.entries()) {
      const { seed, Topic } = asked[i >> 1];
      assert.equal(text, textOf(piecesOf(seed), 'Answer'), Topic);
      assert.deepEqual(answer, [text]);
    }
    for (const { Topic, Seq, seed } of asked) assert.deepEqual(assertOk(await cluster.checkRaw({ Topic, Seq })).Answer, [textOf(piecesOf(seed), 'Answer')]);
    for (const worker of workers) await worker.end();
  });
});
