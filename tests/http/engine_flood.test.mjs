// SPDX-License-Identifier: MIT
//
// An engine that does a legal thing far too often, or never ends what it began. Meanwhile a neighbour's answer reaches its user
// whole, the node's memory stays within bounds, and no call of Redis is long.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, before } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEngine, tokenOf } from '../support/engine_socket.mjs';
import { ACCOUNTS, eventually, newTopic, suite } from '../support/harness.mjs';

const MIB = 1024 * 1024;
const LONG_US = 500_000; // of a call of Redis on a machine that has much else to do: 50 ms are meant
const HOSTILE_ADDRESS = '127.0.0.9';
const accounts = { ...ACCOUNTS, Hostile_1: { secret: 'hostile', role: 'engine' } };
// Nothing that was freed stays in the quarantine: what the node has is what it uses.
const env = { ASAN_OPTIONS: 'exitcode=99:malloc_context_size=8:quarantine_size_mb=1:thread_local_quarantine_size_kb=64' };

// A model that nobody names for a while is not served by the neighbour.
suite('an engine that floods its socket', { nodes: 1, accounts, env, args: ['--model-fallback-seconds', '0'] }, ({ test, cluster }) => {
  const scrape = async () => (await cluster.request('GET', '/metrics?Cluster=false')).text;
  const metric = async (name) => Number(new RegExp(`^${name.replace(/[{}]/g, '\\$&')} (\\S+)$`, 'm').exec(await scrape())?.[1] ?? 0);
  const calls = (verb) => metric(`parley_verb_calls_total{verb="${verb}"}`);
  const file = (name) => `/proc/${cluster.nodes[0].child.pid}/${name}`;
  const mibOf = (field) => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync(file('status'), 'utf8'))[1]) / 1024;
  const figures = [];

  // Serves other models than the neighbour, so it gets none of its questions.
  let token;
  const hostile = ({ query, ...more } = {}) => openEngine(cluster, { token, slots: 0, address: HOSTILE_ADDRESS, query: { Models: 'hostile', ...query }, ...more });
  const question = (more) => cluster.add({ Model: 'hostile', ...more });
  const held = async (engine) => {
    const { Topic } = await question();
    engine.send({ Type: 'slots', Slots: 1 });
    const claim = await engine.claim();
    engine.send({ Type: 'slots', Slots: 0 });
    return { ...claim, piece: (Offset, more) => ({ Type: 'partial', Topic, Seq: 1, Lease: claim.Lease, Offset, ...more }) };
  };

  let neighbour;
  async function answerNeighbour() {
    const { Topic } = await cluster.add({ Model: 'quiet' });
    const claim = await neighbour.claim();
    assert.equal(claim.Topic, Topic);
    const stream = await cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1 } });
    const words = Array.from({ length: 20 }, (_, i) => `wörd${i} `);
    let Offset = 0;
    for (const Answer of words) {
      neighbour.send({ Type: 'partial', Topic, Seq: 1, Lease: claim.Lease, Offset, Answer });
      Offset += Buffer.byteLength(Answer);
    }
    const [reply] = await neighbour.answer(claim, [words.join('')]);
    assert.equal(reply.Status, 200, JSON.stringify(reply));
    const events = await stream.until('done');
    assert.equal(events.filter(({ event }) => event === 'token').map(({ data }) => data.text).join(''), words.join(''));
    assert.ok(!events.some(({ event }) => ['reset', 'restart'].includes(event)));
  }

  let answers; // of the neighbour

  // Runs the flood, and the neighbour during it, three times at least.
  async function beside(name, mostMib, flood) {
    writeFileSync(file('clear_refs'), '5'); // the peak is the present
    const before = mibOf('VmRSS');
    let isOver = false;
    const flooded = Promise.resolve(flood()).finally(() => (isOver = true));
    flooded.catch(() => {});
    answers = 0;
    while (!isOver || answers < 3) {
      await answerNeighbour();
      answers += 1;
      await Promise.race([flooded, sleep(100)]);
    }
    await flooded;
    const grown = Math.round(mibOf('VmHWM') - before);
    figures.push(`${name}: ${grown} MiB, ${answers} answers beside it`);
    assert.ok(grown < mostMib, `${name}: the node has grown by ${grown} MiB`);
  }

  before(async () => {
    token = await tokenOf(cluster, 'Hostile_1');
    neighbour = await openEngine(cluster, { as: 'Inference_1', slots: 1, query: { Models: 'quiet' } });
    await cluster.redis.cmd('CONFIG', 'SET', 'slowlog-log-slower-than', '1000');
    await cluster.redis.cmd('CONFIG', 'SET', 'slowlog-max-len', '10000');
    await cluster.redis.cmd('SLOWLOG', 'RESET');
  });
  after(async () => {
    await neighbour?.close();
    console.log(figures.join('\n'));
  });

  test('a thousand sockets with 64 free slots each have their share of the polls, and leave nothing behind', async () => {
    await beside('a thousand sockets', 400, async () => {
      const engines = [];
      while (engines.length < 1000) engines.push(...(await Promise.all(Array.from({ length: 50 }, () => hostile({ slots: 64 })))));
      await eventually(async () => (await metric('parley_engine_sockets_open')) === 1001, { what: 'all are open' });
      assert.match((await engines.at(-1).fault()).detail, /slots of this socket must wait/);
      const { Topic } = await question();
      const claim = await Promise.any(engines.map((engine) => engine.claim()));
      assert.equal(claim.Topic, Topic);
      for (const engine of engines) engine.cut();
      await eventually(async () => (await metric('parley_engine_sockets_open')) === 1, { what: 'all are gone' });
    });
    const engine = await hostile({ slots: 64 });
    for (let i = 0; i < 64; i++) await question();
    const claims = [];
    for (let i = 0; i < 64; i++) claims.push(await engine.claim());
    for (const claim of claims) await engine.answer(claim);
    await engine.close();
  });

  test('frames of which only a part comes count as bodies, and go with their sockets', async () => {
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(9 * MIB - 1));
    const head = Buffer.concat([Buffer.from([0x81, 0xff]), length, Buffer.from([1, 2, 3, 4])]);
    const shapes = [head.subarray(0, 1), head.subarray(0, 5), head, Buffer.concat([head, Buffer.alloc(2 * MIB, 'a')])];
    await beside('partial frames', 400, async () => {
      const engines = [];
      for (let i = 0; i < 200; i++) {
        const engine = await hostile();
        engine.raw.write(shapes[i % shapes.length]);
        engines.push(engine);
      }
      await eventually(async () => (await metric('parley_body_bytes')) > 32 * MIB, { what: 'they are counted' });
      assert.ok((await metric('parley_body_bytes')) < 256 * MIB);
      const earlier = answers;
      await eventually(() => answers > earlier + 2, { what: 'the neighbour answers while they stay' });
      for (const engine of engines) engine.cut();
      await eventually(async () => (await metric('parley_engine_sockets_open')) === 1 && (await metric('parley_body_bytes')) < MIB, { what: 'they are gone' });
    });
  });

  test('pieces without text renew the lease a few times a second, however many there are', async () => {
    const engine = await hostile();
    const claim = await held(engine);
    assert.equal((await engine.ask(claim.piece(0, { Answer: 'a' }))).Body.Next, 1);
    const earlier = await calls('partial');
    const began = Date.now();
    await beside('20,000 empty pieces', 100, async () => {
      for (let i = 0; i < 20_000; i++) engine.send(claim.piece(1, { Answer: '' }));
      assert.equal((await engine.ask(claim.piece(1, { Answer: 'b' }))).Body.Next, 2);
    });
    const seconds = (Date.now() - began) / 1000;
    const n = (await calls('partial')) - earlier;
    figures.push(`20,000 empty pieces: ${n} calls in ${seconds.toFixed(1)} s, the neighbour's too`);
    assert.ok(n < 5000, `${n} calls`);
    const [reply] = await engine.answer(claim, ['ab']);
    assert.equal(reply.Status, 200);
    await engine.close();
  });

  test('a flood of heartbeats, rests and answers for claims that are not there is answered frame by frame', async () => {
    const engine = await hostile({ engine: 'flood' });
    const frames = [
      { Type: 'extend', Topic: newTopic(), Lease: '9' },
      { Type: 'rest', Seconds: 5, Reason: 'tired' },
      { Type: 'answer', Topic: newTopic(), Seq: 1, Lease: '9', Query: 'Why?', Answer: ['x'] },
      { Type: 'release', Topic: newTopic(), Lease: '9' },
      { Type: 'partial', Topic: newTopic(), Seq: 1, Lease: '9', Offset: 0, Answer: 'x' },
    ];
    await beside('10,000 frames for nothing', 200, async () => {
      for (let i = 0; i < 10_000; i++) engine.send(frames[i % frames.length]);
      for (let i = 0; i < 10_000; i++) {
        const { To, Status } = await engine.next(({ Type }) => Type === 'reply', 120_000);
        assert.ok(To === 'rest' ? Status === 200 : [404, 409].includes(Status), `${To}: ${Status}`);
      }
    });
    await engine.close();
  });

  test('offsets that lie, by the thousand, change nothing of the text', async () => {
    const engine = await hostile();
    const claim = await held(engine);
    const stream = await cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Topic: claim.Topic, Seq: 1 } });
    const text = 'Bärenstark. '.repeat(50);
    const bytes = Buffer.from(text);
    const lies = [2 ** 52, 2 ** 31, 1_048_577, 1_048_576, 700, 651, 1, 2];
    await beside('5,000 lies', 200, async () => {
      engine.send(claim.piece(0, { Answer: text }));
      for (let i = 0; i < 5000; i++) engine.send(claim.piece(lies[i % lies.length], { [i % 3 ? 'Answer' : 'Think']: i % 2 ? 'lie' : bytes.subarray(2, 20).toString() }));
      const last = await engine.ask(claim.piece(0, { Answer: text }), 120_000);
      assert.equal(last.Status, 200, JSON.stringify(last));
      const [reply] = await engine.answer(claim, [text]);
      assert.equal(reply.Status, 200);
    });
    let shown = '';
    for (const { event, data } of await stream.until('done')) shown = event === 'token' ? shown + data.text : event === 'reset' ? data.text : shown;
    assert.ok(shown.startsWith(text), shown);
    await engine.close();
  });

  // Once its connection is full, the node stops reading it; so it is cut off as one that takes nothing.
  test('an engine that reads nothing is closed once too much waits, and its claims come back', async () => {
    const topics = [];
    await beside('a reader that does not read', 400, async () => {
      const engine = await hostile();
      engine.raw.pause();
      for (let i = 0; i < 32; i++) topics.push((await question({ Query: 'q'.repeat(250_000) })).Topic);
      engine.send({ Type: 'slots', Slots: 32 });
      await eventually(async () => (await metric('parley_engine_sockets_open')) === 2, { what: 'it is there' });
      for (let i = 0; i < 20_000; i++) engine.send({ Type: 'extend', Topic: newTopic(), Lease: '9' });
      await eventually(async () => (await metric('parley_engine_sockets_open')) === 1, { ms: 90_000, what: 'it is closed' });
      engine.cut();
    });
    const engine = await hostile({ slots: 32 });
    const found = [];
    for (let i = 0; i < 32; i++) {
      const claim = await engine.claim();
      found.push(claim.Topic);
      await engine.answer(claim);
    }
    assert.deepEqual(found.sort(), topics.sort());
    await engine.close();
  });

  test('no call of Redis was long', async () => {
    const all = (await cluster.redis.cmd('SLOWLOG', 'GET', '-1')).map(([, , us, words]) => ({ us: Number(us), words: words.slice(0, 4).join(' ').slice(0, 80) }));
    all.sort((one, other) => other.us - one.us);
    figures.push(`longest calls of Redis: ${all.slice(0, 3).map(({ us, words }) => `${us / 1000} ms (${words})`).join(', ')}`);
    assert.ok((all[0]?.us ?? 0) < LONG_US, JSON.stringify(all[0]));
  });
});
