// SPDX-License-Identifier: MIT
//
// /ws/engine: an engine's claims, pieces and answers over one WebSocket.
//
// Shards: 4, because each shard counts its leases.
import assert from 'node:assert/strict';
import { openEngine } from '../support/engine_socket.mjs';
import { assertOk, eventually, newTopic, suite } from '../support/harness.mjs';
import { engineShard, prefixesOf } from '../support/shards.mjs';

suite('/ws/engine', {}, ({ test, cluster }) => {
  const check = async (Topic, Seq = 1) => (await cluster.checkRaw({ Topic, Seq })).json;

  test('a claim comes for each free slot, and an answer frees its slot', async () => {
    const engine = await openEngine(cluster, { slots: 2, engine: 'e1' });
    const topics = [];
    for (let i = 0; i < 3; i++) topics.push((await cluster.add({ node: i % 2 })).Topic);
    const claims = [await engine.claim(), await engine.claim()];
    assert.notEqual(claims[0].Lease, claims[1].Lease);
    await assert.rejects(engine.claim(300), /nothing in/, 'both slots are taken');
    const [reply] = await engine.answer(claims[0], ['One.']);
    assert.equal(reply.Status, 200);
    assert.equal(reply.To, 'answer');
    assert.equal(reply.Lease, claims[0].Lease);
    assert.equal(reply.Body.Status, 'Done');
    assert.deepEqual((await check(claims[0].Topic)).Answer, ['One.']);
    const third = await engine.claim();
    assert.deepEqual([...claims, third].map(({ Topic }) => Topic).sort(), topics.sort());
    await engine.answer(claims[1]);
    await engine.answer(third);
    assert.equal(await engine.close(), 1000);
  });

  test('claims that an engine holds at once have different leases, and each slot is freed', async () => {
    const engine = await openEngine(cluster, { slots: 16 });
    for (let round = 0; round < 2; round++) {
      await Promise.all(Array.from({ length: 16 }, () => cluster.add()));
      const claims = [];
      while (claims.length < 16) claims.push(await engine.claim());
      assert.equal(new Set(claims.map(({ Lease }) => Lease)).size, 16);
      for (const claim of claims) await engine.answer(claim);
    }
    assert.equal(await engine.close(), 1000);
  });

  test('pieces are shown and stored, and only what matters is answered', async () => {
    const engine = await openEngine(cluster);
    const { Topic } = await cluster.add();
    const { Lease } = await engine.claim();
    const stream = await cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1 }, node: 1 });
    const piece = (Offset, more) => ({ Type: 'partial', Topic, Seq: 1, Lease, Offset, ...more });
    engine.send(piece(0, { Think: 'Hm. ' }));
    engine.send(piece(4, { Answer: 'Añ' }));
    engine.send(piece(7, { Answer: '🦜' }));
    assert.deepEqual(await stream.next().then(({ id, event, data }) => [id, event, data.text]), ['1-4', 'think', 'Hm. ']);
    const tokens = [await stream.next()];
    if (tokens[0].id === '1-7') tokens.push(await stream.next()); // else they came at once: this node had just begun to watch
    assert.deepEqual(tokens.map(({ event, data }) => [event, data.text]), tokens.length === 2 ? [['token', 'Añ'], ['token', '🦜']] : [['token', 'Añ🦜']]);
    assert.equal(tokens.at(-1).id, '1-11');
    const stored = await engine.ask(piece(11, { Answer: '.' }));
    assert.deepEqual([stored.Status, stored.Body.Next, stored.Body.Cancelled], [200, 12, false]);
    engine.send(piece(20, { Answer: 'gap' }));
    const gap = await engine.next(({ Type }) => Type === 'reply');
    assert.deepEqual([gap.To, gap.Lease, gap.Seq, gap.Status, gap.Body.code, gap.Body.expected], ['partial', Lease, 1, 409, 'partial_gap', 12]);
    assert.equal((await engine.ask({ Type: 'extend', Topic, Lease })).Status, 200);
    await engine.answer({ Topic, Lease, Queries: [{ 1: (await check(Topic)).Query }] }, ['Añ🦜.']);
    assert.equal((await stream.until('done')).at(-1).data.Answer[0], 'Añ🦜.');
    await engine.close();
  });

  test('a viewer that comes in the middle has all at once, stored or not, on either node', async () => {
    const engine = await openEngine(cluster);
    const { Topic } = await cluster.add();
    const { Lease, Queries } = await engine.claim();
    const texts = Array.from({ length: 40 }, (_, i) => (i % 7 === 3 ? { Think: `(${i}ñ) ` } : { Answer: `${i}🦜 ` }));
    const joined = (kind) => texts.map((text) => text[kind] ?? '').join('');
    const streams = [];
    let Offset = 0;
    for (const [i, text] of texts.entries()) {
      engine.send({ Type: 'partial', Topic, Seq: 1, Lease, Offset, ...text });
      Offset += Buffer.byteLength(Object.values(text)[0]);
      if (i % 8 === 5) streams.push(await cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1 }, node: streams.length % 2 }));
    }
    await engine.answer({ Topic, Lease, Queries }, [joined('Answer')]);
    for (const stream of streams) {
      const events = await stream.until('done');
      const textOf = (name) => events.filter(({ event }) => event === name).map(({ data }) => data.text).join('');
      assert.equal(textOf('token'), joined('Answer'));
      assert.equal(textOf('think'), joined('Think'));
      assert.ok(!events.some(({ event }) => ['reset', 'restart'].includes(event)), 'nothing was missed');
      let at = 0;
      for (const { event, id, data } of events.filter(({ event }) => event !== 'done' && event !== 'queue')) assert.equal(id, `1-${(at += Buffer.byteLength(data.text))}`, event);
    }
    await engine.close();
  });

  test('each frame with an Id is answered, even if the answer, a release or a cancel overtakes it', async () => {
    for (const [end, status] of [['answer', 200], ['release', 200], ['cancel', 200]]) {
      const engine = await openEngine(cluster);
      await cluster.add();
      const { Topic, Lease, Queries } = await engine.claim();
      const send = (Offset, more) => engine.send({ Type: 'partial', Topic, Seq: 1, Lease, Offset, Answer: 'a', ...more });
      send(0);
      await engine.next(({ Type }) => Type === 'stored');
      const ids = Array.from({ length: 20 }, (_, i) => `${end}-${i}`);
      if (end === 'cancel') assertOk(await cluster.request('POST', '/api/cancel-query', { as: 'Frontend_1', body: { Topic, Seq: 1 } }));
      for (const [i, Id] of ids.entries()) send(1 + i, { Id });
      if (end === 'answer') engine.send({ Type: 'answer', Topic, Seq: 1, Lease, Query: Queries[0][1], Answer: ['a'.repeat(21)] });
      if (end === 'release') engine.send({ Type: 'release', Topic, Lease, Retry: false, Reason: 'enough' }); // nobody gets it again
      const replies = [];
      for (const Id of ids) replies.push(await engine.next(({ Type, Id: of }) => Type === 'reply' && of === Id));
      for (const { To, Status, Body } of replies) assert.deepEqual([To, Status, Body.Cancelled], ['partial', status, end === 'cancel'], `${end}: ${JSON.stringify(Body)}`);
      if (end === 'answer') assert.equal(replies.at(-1).Body.Next, 21);
      await engine.close();
    }
  });

  test('an engine is asked to send less often while Redis is slow, and not any more when it is quick again', async () => {
    const engine = await openEngine(cluster);
    const { Topic } = await cluster.add();
    const { Lease, Queries } = await engine.claim();
    const send = (Offset) => engine.send({ Type: 'partial', Topic, Seq: 1, Lease, Offset, Answer: 'a' });
    const stored = async () => (await engine.next(({ Type }) => Type === 'stored')).IntervalMs;
    send(0);
    await stored();
    const began = Date.now();
    cluster.redis.pause();
    send(1);
    await eventually(() => Date.now() - began > 1000, { what: 'its text has waited for Redis' });
    cluster.redis.resume();
    assert.ok((await stored()) > 100);
    for (let i = 2, ms = 1; ms > 0; i++) {
      send(i);
      ms = await stored();
    }
    await engine.answer({ Topic, Lease, Queries });
    await engine.close();
  });

  test('text that a full Redis does not take is refused, with its Id, and may be sent again', async () => {
    const engine = await openEngine(cluster);
    const { Topic } = await cluster.add();
    const { Lease, Queries } = await engine.claim();
    const piece = (Offset, more) => ({ Type: 'partial', Topic, Seq: 1, Lease, Offset, Answer: 'a', ...more });
    assert.equal((await engine.ask(piece(0))).Body.Next, 1);
    await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '1');
    try {
      for (const Id of ['first', 'again']) {
        const { Seq, Status, Body } = await engine.ask(piece(1, { Id }));
        assert.deepEqual([Seq, Status, Body.code], [1, 503, 'store_full'], JSON.stringify(Body));
      }
      engine.send(piece(1));
      const { Id, Lease: of, Seq, Status } = await engine.next(({ Type }) => Type === 'reply');
      assert.deepEqual([Id, of, Seq, Status], [undefined, Lease, 1, 503], 'it is known which text was refused');
    } finally {
      await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '0');
    }
    const stream = await cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1 }, node: 1 });
    assert.equal((await engine.ask(piece(1))).Body.Next, 2);
    assert.equal((await engine.ask(piece(2))).Body.Next, 3);
    await engine.answer({ Topic, Lease, Queries }, ['aaa']);
    assert.equal((await stream.until('done')).filter(({ event }) => event === 'token').map(({ data }) => data.text).join(''), 'aaa');
    await engine.close();
  });

  test('operators see each slot under one name: while it works, waits and renews its claim, and not after its socket has closed', async () => {
    const Engine = `seen-${newTopic()}`.slice(0, 40);
    const slots = async () => {
      const { Engines } = assertOk(await cluster.request('GET', '/api/status', { as: 'Operator_1' }));
      const of = Engines.filter((one) => one.Engine === Engine);
      assert.ok(of.length < 2, JSON.stringify(of));
      return of[0]?.Slots;
    };
    const become = (Waiting, Working) =>
      eventually(async () => JSON.stringify(await slots()) === JSON.stringify({ Waiting, Working, Resting: 0 }), { what: `${Waiting} wait and ${Working} work` });
    const engine = await openEngine(cluster, { slots: 2, engine: Engine });
    await become(2, 0);
    for (let i = 0; i < 3; i++) await cluster.add();
    const claims = [await engine.claim(), await engine.claim()];
    await become(0, 2);
    await engine.answer(claims[0]);
    const third = await engine.claim(); // it came with the reply to the answer
    await become(0, 2);
    const seenAt = () =>
      Promise.all([1, 2].map(async (n) => Number.parseInt(await cluster.redis.cmd('HGET', `${prefixesOf()[engineShard('Inference_1', `${Engine}-${n}`)]}engines`, `Inference_1 ${Engine}-${n}`), 10)));
    const before = await seenAt();
    for (const { Topic, Lease } of [claims[1], third]) assert.equal((await engine.ask({ Type: 'extend', Topic, Lease })).Status, 200);
    await eventually(async () => (await seenAt()).every((at, i) => at > before[i]), { what: 'both slots have shown a sign of life' });
    await engine.answer(third);
    await become(1, 1);
    await engine.answer(claims[1]);
    await become(2, 0);
    await engine.close();
    await eventually(async () => (await slots()) === undefined, { ms: 15_000, what: 'it is listed no more' });
  });

  test('text that comes while the first piece is being stored waits for it, and travels in one call', async () => {
    const partials = async () => Number(/^parley_verb_calls_total\{verb="partial"\} (\d+)$/m.exec((await cluster.request('GET', '/metrics?Cluster=false', { node: 0 })).text)?.[1] ?? 0);
    const engine = await openEngine(cluster, { node: 0 });
    const read = async () => {
      engine.send('{}');
      await engine.fault();
    };
    const { Topic } = await cluster.add();
    const { Lease, Queries } = await engine.claim();
    const stream = await cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1 }, node: 1 });
    const text = Array.from({ length: 40 }, (_, i) => `${i}ñ `);
    let Offset = 0;
    const send = (Answer, more) => {
      engine.send({ Type: 'partial', Topic, Seq: 1, Lease, Offset, Answer, ...more });
      Offset += Buffer.byteLength(Answer);
    };
    const before = await partials();
    cluster.redis.pause();
    for (const piece of text) send(piece);
    await read();
    cluster.redis.resume();
    await eventually(async () => (await engine.next(({ Type }) => Type === 'stored')).Next === Offset, { what: 'all is stored' });
    assert.equal((await partials()) - before, 2, 'the first piece, and the rest');
    // A piece that its route has to see is stored after what waits.
    cluster.redis.pause();
    send('a', { FinishReason: 'length' });
    send('b');
    send('c', { FinishReason: 'stop' });
    send('d', { Id: 'last' });
    await read();
    cluster.redis.resume();
    assert.equal((await engine.next(({ Id }) => Id === 'last')).Body.Next, Offset);
    await engine.answer({ Topic, Lease, Queries }, [`${text.join('')}abcd`]);
    const events = await stream.until('done');
    assert.equal(events.filter(({ event }) => event === 'token').map(({ data }) => data.text).join(''), `${text.join('')}abcd`);
    assert.ok(!events.some(({ event }) => ['reset', 'restart'].includes(event)));
    await engine.close();
  });

  test('if the first piece is refused, what waited for it is, too', async () => {
    const engine = await openEngine(cluster, { slots: 0 });
    const Topic = newTopic();
    const piece = (Offset, more) => engine.send({ Type: 'partial', Topic, Seq: 1, Lease: '9', Offset, Answer: 'a', ...more });
    piece(0);
    piece(1, { Id: 1 });
    piece(2);
    piece(3, { Id: 3 });
    const replies = await Promise.all([undefined, 1, 3].map((of) => engine.next(({ Type, Id }) => Type === 'reply' && Id === of)));
    for (const { To, Seq, Lease, Status, Body } of replies) assert.deepEqual([To, Seq, Lease, Status, Body.code], ['partial', 1, '9', 409, 'lease_lost']);
    await engine.close();
  });

  test('what an engine says in its frames of the answer comes with the answer, and text before it is not lost', async () => {
    const engine = await openEngine(cluster);
    const { Topic } = await cluster.add();
    const { Lease, Queries } = await engine.claim();
    const stream = await cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1 }, node: 1 });
    const send = (Offset, more) => engine.send({ Type: 'partial', Topic, Seq: 1, Lease, Offset, ...more });
    const Usage = { prompt_tokens: 3, completion_tokens: 5 };
    send(0, { Answer: 'One, ' });
    await stream.until('token');
    send(5, { Answer: 'two, ' });
    send(10, { Answer: 'three.', FinishReason: 'length' });
    send(16, { Usage, Answer: '' });
    await engine.answer({ Topic, Lease, Queries }, ['One, two, three.']);
    const done = (await stream.until('done')).at(-1).data;
    assert.deepEqual([done.FinishReason, done.Usage, done.Answer], ['length', Usage, ['One, two, three.']]);
    await engine.close();
  });

  test('an engine continues at the other node from the stored offset: nothing is lost or doubled', async () => {
    const first = await openEngine(cluster, { node: 0 });
    const { Topic } = await cluster.add();
    const { Lease, Queries } = await first.claim();
    const pieces = Array.from({ length: 30 }, (_, i) => `piece ${i}. `);
    const stream = await cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1 }, node: 1 });
    const send = (engine, from, to) => {
      for (let i = from; i < to; i++) engine.send({ Type: 'partial', Topic, Seq: 1, Lease, Offset: pieces.slice(0, i).join('').length, Answer: pieces[i] });
    };
    send(first, 0, 20);
    const { Next } = await first.next(({ Type }) => Type === 'stored');
    first.cut();
    const second = await openEngine(cluster, { node: 1, slots: 0 });
    const stored = pieces.findIndex((_, i) => pieces.slice(0, i + 1).join('').length > Next);
    send(second, stored < 0 ? 20 : stored, 30);
    await second.answer({ Topic, Lease, Queries }, [pieces.join('')]);
    const events = await stream.until('done');
    assert.equal(events.filter(({ event }) => event === 'token').map(({ data }) => data.text).join(''), pieces.join(''));
    assert.ok(!events.some(({ event }) => ['reset', 'restart'].includes(event)));
    await second.close();
  });

  test('two sockets of one claim, and offsets that lie: what is stored is one text', async () => {
    const [one, two] = [await openEngine(cluster, { node: 0 }), await openEngine(cluster, { node: 1, slots: 0 })];
    const { Topic } = await cluster.add();
    const { Lease, Queries } = await one.claim();
    const piece = (Offset, Answer) => ({ Type: 'partial', Topic, Seq: 1, Lease, Offset, Answer });
    for (const engine of [one, two]) engine.send(piece(0, 'ä'));
    for (const [engine, Offset, text] of [[one, 2, 'b'], [two, 2, 'b'], [two, 1, 'äb'], [one, 3, 'c'], [two, 99, 'x'], [one, 0, 'äbcd'], [two, 0, 'äbcd']]) engine.send(piece(Offset, text));
    const ends = [await one.ask(piece(5, '')), await two.ask(piece(5, ''))];
    for (const { Status, Body } of ends) assert.ok(Status === 200 || Body.code === 'partial_gap', JSON.stringify(Body));
    const stream = await cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1 }, node: 1 });
    await one.answer({ Topic, Lease, Queries }, ['äbcd']);
    let shown = '';
    for (const { event, data } of await stream.until('done')) shown = event === 'reset' ? data.text : event === 'token' ? shown + data.text : shown;
    assert.equal(shown, 'äbcd');
    await one.close();
    await two.close();
  });

  test('what a socket was not sent to its end comes back; what was, stays with its engine', async () => {
    const engine = await openEngine(cluster, { slots: 1 });
    const { Topic } = await cluster.add();
    const { Lease, Queries } = await engine.claim();
    engine.cut();
    const other = await openEngine(cluster, { node: 1, slots: 0 });
    const [reply] = await other.answer({ Topic, Lease, Queries }, ['Still mine.']);
    assert.equal(reply.Status, 200);
    assert.deepEqual((await check(Topic)).Answer, ['Still mine.']);
    await other.close();
  });

  test('a release frees its slot, and a cancelled query does with the next heartbeat', async () => {
    const engine = await openEngine(cluster);
    const { Topic } = await cluster.add();
    const first = await engine.claim();
    assert.equal((await engine.ask({ Type: 'release', Topic, Lease: first.Lease, Reason: 'busy' })).Status, 200);
    const second = await engine.claim();
    assert.deepEqual([second.Topic, second.Attempt], [Topic, 2]);
    assertOk(await cluster.request('POST', '/api/cancel-query', { as: 'Frontend_1', body: { Topic, Seq: 1 } }));
    const heartbeat = await engine.ask({ Type: 'partial', Topic, Seq: 1, Lease: second.Lease, Offset: 0, Answer: 'x' });
    assert.equal(heartbeat.Body.Cancelled, true);
    const later = (await cluster.add()).Topic;
    const third = await engine.claim();
    assert.equal(third.Topic, later);
    await engine.answer(third);
    await engine.close();
  });

  test('slots may change, and a rest takes nothing', async () => {
    const engine = await openEngine(cluster, { slots: 0, engine: 'resting' });
    const { Topic } = await cluster.add();
    await assert.rejects(engine.claim(300), /nothing in/);
    engine.send({ Type: 'slots', Slots: 1 });
    const claim = await engine.claim();
    assert.equal(claim.Topic, Topic);
    assert.equal((await engine.ask({ Type: 'rest', Seconds: 60, Reason: 'the model is away' })).Status, 200);
    const { Engines } = (await cluster.request('GET', '/api/status', { as: 'Operator_1' })).json;
    assert.match(JSON.stringify(Engines), /the model is away/);
    await engine.answer(claim);
    const later = (await cluster.add()).Topic;
    await assert.rejects(engine.claim(300), /nothing in/);
    engine.send({ Type: 'slots', Slots: 1 });
    const last = await engine.claim();
    assert.equal(last.Topic, later);
    await engine.answer(last);
    await engine.close();
  });

  test('the errors of the routes come as replies, and frames that make no sense are answered', async () => {
    const engine = await openEngine(cluster);
    const Topic = newTopic();
    for (const [frame, status] of [
      [{ Type: 'answer', Topic, Seq: 1, Query: 'Why?', Answer: ['x'] }, 404],
      [{ Type: 'answer', Topic, Seq: 1 }, 400],
      [{ Type: 'partial', Topic, Seq: 1, Lease: '9', Offset: 0, Answer: 'x' }, 409],
      [{ Type: 'extend', Topic, Lease: '9' }, 409],
      [{ Type: 'release', Topic, Lease: '9' }, 409],
    ]) {
      const reply = await engine.ask(frame);
      assert.deepEqual([reply.To, reply.Status, reply.Body.status], [frame.Type, status, status], JSON.stringify(reply));
    }
    for (const frame of ['x', '[]', '{}', '{"Type":7}', '{"Type":"claim"}', { Type: 'slots', Slots: 65 }, { Type: 'rest' }]) {
      engine.send(frame);
      assert.equal(typeof (await engine.fault()).detail, 'string');
    }
    await engine.close();
  });

  test('only engines get one, with sensible parameters', async () => {
    for (const [as, status] of [['Frontend_1', 403], ['User_1', 403]]) await assert.rejects(openEngine(cluster, { as }), { status });
    for (const query of [{ Slots: '65' }, { Slots: 'x' }, { Engine: 'e'.repeat(62) }, { Models: 'm'.repeat(257) }]) {
      await assert.rejects(openEngine(cluster, { query }), { status: 400 }, JSON.stringify(query));
    }
  });

  test('a full claim, and an answer of 8 MiB', async () => {
    const engine = await openEngine(cluster);
    const { Topic } = await cluster.add({ Query: 'q'.repeat(250_000) });
    const claim = await engine.claim();
    assert.equal(Object.values(claim.Queries[0])[0].length, 250_000);
    const Answer = ['x'.repeat(8_000_000)];
    const [reply] = await engine.answer(claim, Answer);
    assert.equal(reply.Status, 200);
    assert.equal((await check(Topic)).Answer[0].length, 8_000_000);
    await engine.close();
  });
});
