// SPDX-License-Identifier: MIT
//
// A hostile engine at /ws/engine: what it sends costs the node and Redis little, and its neighbours notice nothing.
import assert from 'node:assert/strict';
import { openEngine } from '../support/engine_socket.mjs';
import { ACCOUNTS, eventually, newTopic, suite } from '../support/harness.mjs';

const MIB = 1024 * 1024;
const FRAME_MAX = 9 * MIB;

const accounts = { ...ACCOUNTS, Hostile_1: { secret: 'hostile', role: 'engine' } };

suite('a hostile engine at its socket', { nodes: 1, accounts }, ({ test, cluster }) => {
  const metric = async (name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec((await cluster.request('GET', '/metrics?Cluster=false')).text)?.[1] ?? 0);
  const hostile = (more) => openEngine(cluster, { as: 'Hostile_1', slots: 0, ...more });
  const pieces = ({ Topic, Lease, ...more }) => ({ ...more, Topic, Lease, piece: (Offset, of) => ({ Type: 'partial', Topic, Seq: 1, Lease, Offset, ...of }) });
  // A claim of the hostile engine, and how it sends pieces for it.
  const held = async (engine) => {
    const { Topic } = await cluster.add();
    engine.send({ Type: 'slots', Slots: 1 });
    const claim = await engine.claim();
    engine.send({ Type: 'slots', Slots: 0 });
    return pieces({ ...claim, Topic });
  };
  // A neighbour answers a question in pieces, and its viewer sees each of them.
  async function neighbour() {
    const engine = await openEngine(cluster, { as: 'Inference_1', slots: 1 });
    const { Topic } = await cluster.add();
    const claim = await engine.claim();
    const stream = await cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1 } });
    for (let i = 0; i < 10; i++) engine.send({ Type: 'partial', Topic, Seq: 1, Lease: claim.Lease, Offset: 2 * i, Answer: `${i} ` });
    const text = '0 1 2 3 4 5 6 7 8 9 ';
    await engine.answer(claim, [text]);
    const events = await stream.until('done');
    assert.equal(events.filter(({ event }) => event === 'token').map(({ data }) => data.text).join(''), text);
    await engine.close();
  }

  test('a frame of the largest size is read, and one byte more closes the socket', async () => {
    const frame = (n) => `{"Type":"extend","Topic":"t","Lease":"9","x":"${'x'.repeat(n - 48)}"}`;
    const engine = await hostile();
    assert.equal(frame(100).length, 100);
    engine.send(frame(FRAME_MAX));
    assert.equal((await engine.next(({ Type }) => Type === 'reply')).Status, 409);
    engine.send(frame(FRAME_MAX + 1));
    assert.equal(await engine.closed(), 1009);
    await eventually(async () => (await metric('parley_body_bytes')) === 0, { what: 'nothing is held' });
    await neighbour();
  });

  test('members of wrong types, doubled, deep or not UTF-8 get what their route says, or an error', async () => {
    const engine = await hostile();
    const { Topic, Lease, piece } = await held(engine);
    assert.equal((await engine.ask(piece(0, { Answer: 'a' }))).Status, 200);
    for (const more of [{ Seq: '1' }, { Seq: -1 }, { Seq: 1.5 }, { Seq: 2 ** 53 }, { Seq: [1] }, { Offset: '1' }, { Offset: -1 }, { Offset: 2 ** 60 }, { Lease: 'x' }, { Lease: -1 }, { Topic: 7 }, { Answer: 7 }, { Think: {} }]) {
      const reply = await engine.ask({ ...piece(1, { Answer: 'b' }), ...more }, 5000).catch((error) => assert.fail(`${JSON.stringify(more)}: ${error.message}`));
      assert.equal(reply.Status, 400, JSON.stringify([more, reply]));
    }
    for (const frame of [{ Type: 'slots', Slots: '1' }, { Type: 'slots', Slots: -1 }, { Type: 'slots', Slots: 1e99 }, { Type: 'slots', Slots: [1] }, { Type: 'extend', Id: {} }, { Type: 'extend', Id: 'x'.repeat(63) }, '['.repeat(100_000), '{"Type":"slots","x":"\\ud800"}', piece(1, { Answer: '\0' }), `{${Array.from({ length: 65 }, (_, i) => `"${i}":0`)}}`]) {
      engine.send(frame);
      await engine.fault(5000).catch((error) => assert.fail(`${JSON.stringify(frame)}: ${error.message}`));
    }
    // The last of two members counts, for the socket as for the route.
    const twice = JSON.stringify(piece(1, { Answer: 'b', Id: 'twice' })).replace('"Seq":1', '"Seq":7,"Seq":1').replace('"Offset"', `"Lease":"${Lease}","Offset"`);
    engine.send(twice);
    assert.equal((await engine.next(({ Id }) => Id === 'twice')).Body.Next, 2);
    const [reply] = await engine.answer({ Topic, Lease, Queries: [{ 1: (await cluster.checkRaw({ Topic, Seq: 1 })).json.Query }] });
    assert.equal(reply.Status, 200);
    await engine.close();
    await neighbour();
  });

  test('claims of other accounts, and those that never were, cannot be written to or ended', async () => {
    const victim = await openEngine(cluster, { as: 'Inference_1', slots: 1, engine: 'victim' });
    const { Topic } = await cluster.add();
    const claim = await victim.claim();
    const stream = await cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1 } });
    const engine = await hostile({ engine: 'victim' });
    for (const Lease of [claim.Lease, '1', '18446744073709551615'])
      for (const frame of [{ Type: 'partial', Seq: 1, Offset: 0, Answer: 'lies' }, { Type: 'extend' }, { Type: 'release' }, { Type: 'answer', Seq: 1, Query: claim.Queries[0][1], Answer: ['lies'] }]) {
        const reply = await engine.ask({ ...frame, Topic, Lease });
        assert.equal(reply.Status, 409, JSON.stringify([frame, Lease, reply]));
      }
    await victim.answer(claim, ['true']);
    const events = await stream.until('done');
    assert.deepEqual(events.at(-1).data.Answer, ['true']);
    assert.equal(events.filter(({ event }) => event === 'token').map(({ data }) => data.text).join(''), 'true', 'nothing of the lies was shown');
    await engine.close();
    await victim.close();
  });

  test('a client that leaves within a frame, or sends half of one, leaves nothing behind', async () => {
    const before = await metric('parley_websockets_open');
    const half = Buffer.concat([Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0x80, 0, 0, 1, 2, 3, 4]), Buffer.alloc(4 * MIB)]);
    for (const bytes of [half.subarray(0, 1), half.subarray(0, 9), half.subarray(0, 14), half]) {
      const engine = await hostile();
      await new Promise((done) => engine.raw.write(bytes, done));
      engine.cut();
    }
    await eventually(async () => (await metric('parley_websockets_open')) === before && (await metric('parley_body_bytes')) === 0, { what: 'their memory is free' });
    await neighbour();
  });

  test('each of a thousand frames with the same Id is answered', async () => {
    const engine = await hostile();
    const { piece } = await held(engine);
    const Id = 'x'.repeat(60);
    for (let i = 0; i < 1000; i++) engine.send(piece(i, { Answer: 'a', Id }));
    for (let i = 0; i < 1000; i++) assert.equal((await engine.next(({ Type }) => Type === 'reply')).Status, 200);
    await engine.close();
    await neighbour();
  });

  test('slots that change a thousand times cost few calls of Redis', async () => {
    const calls = async () => (await metric('parley_verb_calls_total{verb="claim"}'.replace(/[{}]/g, '\\$&')));
    const engine = await hostile();
    const before = await calls();
    for (let i = 0; i < 1000; i++) {
      engine.send({ Type: 'slots', Slots: i % 2 === 0 ? 64 : 0 });
      if (i % 20 === 0) await engine.ask({ Type: 'extend', Topic: newTopic(), Lease: '9' });
    }
    const n = (await calls()) - before;
    assert.ok(n < 20 * 64, `${n} polls`);
    await engine.close();
    await neighbour();
  });

  test('frames that come while polls are refused, as Redis is full, cause no more of them', async () => {
    const calls = async () => (await metric('parley_verb_calls_total{verb="claim"}'.replace(/[{}]/g, '\\$&')));
    await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '1');
    try {
      const engine = await hostile();
      const before = await calls();
      engine.send({ Type: 'slots', Slots: 64 });
      for (let i = 0; i < 500; i++) await engine.ask({ Type: 'extend', Topic: newTopic(), Lease: '9' });
      const n = (await calls()) - before;
      assert.ok(n > 0 && n < 20 * 64, `${n} polls`);
      await engine.close();
    } finally {
      await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '0');
    }
    await eventually(async () => (await cluster.addRaw()).status === 200, { what: 'there is room' });
  });

  test('claims for all slots that come at once are all sent, however long', async () => {
    const topics = [];
    for (let i = 0; i < 8; i++) topics.push((await cluster.add({ Query: 'q'.repeat(250_000) })).Topic);
    const engine = await hostile({ slots: 8 });
    const claims = [];
    for (let i = 0; i < 8; i++) claims.push(await engine.claim());
    assert.deepEqual(claims.map(({ Topic }) => Topic).sort(), topics.sort());
    for (const claim of claims) await engine.answer(claim);
    await engine.close();
  });

  test('what is worked on and what is not stored counts as bodies, and a socket with much of it is read later', async () => {
    const engine = await hostile({ slots: 64 });
    const claims = [];
    for (let i = 0; i < 64; i++) await cluster.add();
    for (let i = 0; i < 64; i++) claims.push(pieces(await engine.claim()));
    for (const { piece } of claims) assert.equal((await engine.ask(piece(0, { Answer: 'a' }))).Status, 200);
    cluster.redis.pause();
    for (let round = 0; round < 20; round++) for (const { piece } of claims) engine.send(piece(1 + 1000 * round, { Answer: 'a'.repeat(1000) }));
    await eventually(async () => (await metric('parley_body_bytes')) > 256 * 1024, { what: 'it is counted' });
    assert.ok((await metric('parley_body_bytes')) < 512 * 1024);
    cluster.redis.resume();
    for (const claim of claims) {
      const [reply] = await engine.answer(claim, ['a'.repeat(20_001)]);
      assert.equal(reply.Status, 200, JSON.stringify(reply));
    }
    cluster.redis.pause();
    engine.send({ Type: 'extend', Topic: 't', Lease: '9', x: 'x'.repeat(8 * MIB) });
    await eventually(async () => (await metric('parley_body_bytes')) > 8 * MIB, { what: 'a frame that waits for Redis is counted' });
    cluster.redis.resume();
    assert.equal((await engine.next(({ Type }) => Type === 'reply')).Status, 409);
    await eventually(async () => (await metric('parley_body_bytes')) === 0, { what: 'nothing is held' });
    await engine.close();
    await neighbour();
  });

  test('a flood of pieces while Redis is frozen waits, and an account that goes meanwhile leaves nothing', async () => {
    const engine = await hostile();
    const { piece } = await held(engine);
    assert.equal((await engine.ask(piece(0, { Answer: 'a' }))).Status, 200);
    cluster.redis.pause();
    for (let i = 0; i < 5000; i++) engine.send(piece(1 + 20 * i, { [i % 2 ? 'Think' : 'Answer']: 'a'.repeat(20) }));
    cluster.writeAccounts(ACCOUNTS);
    cluster.nodes[0].signal('SIGHUP');
    assert.equal(await engine.closed(), 1008);
    cluster.redis.resume();
    await eventually(async () => (await metric('parley_redis_connected')) === 1);
    await neighbour();
  });
});
