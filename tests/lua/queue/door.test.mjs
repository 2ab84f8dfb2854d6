// SPDX-License-Identifier: MIT
//
// Queries of the doors (/v1): a request beside the row, one query a claim, deltas as an answer's pieces, the engine's error
// of one that failed.
import assert from 'node:assert/strict';
import { lines, rowOf, scripts, set, soon, stream, tailOf, ttl, zset } from '../../support/lua.mjs';

const MODEL = 'chat/llama3';
const TAIL = tailOf({ user: 'alice', model: 'llama3', query: 'Hi' });
const REQUEST = JSON.stringify('{"model":"llama3",\n"messages":[]}');
const LONG = JSON.stringify('x'.repeat(70_000));
const seen = (ms = 0) => ({ models_seen: { [MODEL]: `${Date.now() - ms} E ` } });
const ask = ({ topic = 'ask.1', asker = topic, digest = topic, model = MODEL, request = REQUEST, max = 100, other = '' } = {}) => ['door_ask', 0, topic, asker, digest, 'alice', 'Frontend_1', model, 1, max, TAIL, request, '', other];
const leave = (how, { topic = 'ask.1', asker = topic, digest = topic } = {}) => ['door_leave', topic, 1, asker, digest, '', how];
const asked = (topic = 'ask.1') => lines('ok', topic, 1);
const row = rowOf({ user: 'alice', model: 'llama3', query: 'Hi' });
const topicOf = (state, more = {}) => ({ seq: '1', 'q:1': row, 'r:1': REQUEST, ...(state ? { 's:1': state } : {}), ...more });
const pending = (more) => ({ 't:t': topicOf('P 7 1 E 1', { 'w:1': 'n1', ...more }), leases: zset({ '7 t': 9e12 }) });
const pieces = (...list) => ttl(86_400, stream(...list.map(([id, x]) => [id, { k: 'd', x }])));

scripts('door_ask', ({ cases, test, shard }) => {
  cases([
    { name: 'a model that no engine has named', call: ask(), reply: 'no_model' },
    { name: 'one that was named more than an hour ago', before: () => seen(3_601_000), call: ask(), reply: 'no_model' },
    { name: 'one whose engine is gone', before: () => seen(31_000), call: ask(), reply: 'no_engine' },
    { name: 'one that an engine serves by a better Api', before: () => ({ models_seen: { 'messages/llama3': `${Date.now()} E `, [MODEL]: `${Date.now()} E ` } }), call: ask({ other: 'messages/llama3' }), reply: 'other' },
    { name: 'one that no engine serves by any Api', before: () => ({ models_seen: { 'messages/llama3': `${Date.now() - 31_000} E ` } }), call: ask({ other: 'messages/llama3' }), reply: 'no_model' },
    { name: 'an engine that takes any model is none for it', before: { idle: zset({ 'n1 E|*': 1 }) }, call: ask(), reply: 'no_model', after: { idle: (found) => found['n1 E|*'] >= 1 } },
  ]);

  test('it waits where no engine serves a better Api', async () => {
    await shard.seed(seen());
    assert.equal(await shard.call(...ask({ other: 'messages/llama3' })), asked());
  });

  test('it waits with its request beside the row, and the same call again changes nothing', async () => {
    await shard.seed(seen());
    assert.equal(await shard.call(...ask()), asked());
    const topic = await shard.get('t:ask.1');
    assert.equal(topic['r:1'], REQUEST);
    assert.match(topic['q:1'], /^\d+\nFrontend_1 alice chat\/llama3 1\n"alice"\n"llama3"\n/);
    assert.ok(!topic['q:1'].includes('messages'));
    assert.equal(topic['w:1'], 'n1');
    assert.equal(await shard.call(...ask()), asked());
    assert.equal((await shard.get('t:ask.1'))['x:1'], 'n1 ask.1 ask.1');
    assert.equal((await shard.call(...ask({ topic: 'ask.2', max: 1 }))).split('\n')[0], 'waiting');
    assert.equal(await shard.get('t:ask.2'), undefined);
  });

  test('a claim is of one query and ends with its request, or with the size of a long one', async () => {
    await shard.seed(seen());
    for (const [topic, request] of [['ask.1', REQUEST], ['ask.2', LONG]]) await shard.call(...ask({ topic, request }));
    const claimed = async () => (await shard.call('claim', 0, 'E|llama3,chat/llama3', '0')).split('\n');
    const one = await claimed();
    assert.deepEqual([one[2], one[5], one.at(-1)], ['ask.1', '1', REQUEST]);
    const two = await claimed();
    assert.deepEqual([two[2], two[5], two.at(-1)], ['ask.2', '1', String(LONG.length)]);
    assert.equal(await shard.call('request', 'ask.2', 1, two[3]), lines('ok', LONG));
    assert.equal(await shard.call('request', 'ask.2', 1, '99'), 'lost');
    assert.equal(await shard.call('request', 'ask.3', 1, two[3]), 'lost');
  });

  test('an engine that is parked is handed it, and a queue of several queries is claimed one by one', async () => {
    assert.equal(await shard.call('claim', 0, 'E|chat/llama3', '1'), 'parked');
    const { replies, events } = await shard.turn([ask()]);
    assert.deepEqual(replies, [asked()]);
    assert.equal(events[0].split('\n').at(-1), REQUEST);
    const add = (model) => shard.call('add', 0, 't', 'alice', 'Frontend_1', model, 1, 100, TAIL, '', '', '');
    for (const model of [MODEL, 'default', MODEL, 'default', 'default']) assert.match(await add(model), /^ok/);
    const taken = [];
    for (;;) {
      const claim = (await shard.call('claim', 0, 'E|chat/llama3', '0')).split('\n');
      if (claim[0] !== 'claim') break;
      taken.push(claim[5] === '1' ? [claim[6]] : claim.slice(6).filter((_, i) => i % 8 === 0));
    }
    assert.deepEqual(taken.flat().sort(), ['1', '2', '3', '4', '5']);
    assert.ok(taken.every((seqs) => seqs.length === 1 || !seqs.some((seq) => ['1', '3'].includes(seq))), JSON.stringify(taken));
  });
});

scripts('deltas', ({ cases, test, shard }) => {
  const A = '{"choices":[1]}', B = '{"choices":["ä"]}', nA = Buffer.byteLength(A), nB = Buffer.byteLength(B);
  const partial = (offset, ...deltas) => ['partial', 0, 't', 1, '7', offset, '', '', 1000, 'E', 'whole', '', deltas.join('\n')];
  const complete = (offset, deltas, { lease = '7', holder = 'E' } = {}) => ['complete', 0, 't', 1, lease, holder, '', lines('["Hi"]', 'null', 'null'), '', '', '', '', '', '', deltas.join('\n'), offset];
  const renewed = { leases: zset({ '7 t': soon(150_000) }) };
  const done = (found) => /^D$/.test(found['s:1']) && found['a:1'].startsWith('["Hi"]\nnull\nnull\n') && found['r:1'] === REQUEST;
  cases([
    {
      name: 'each is an entry, and waiting nodes get each',
      before: pending(),
      call: partial(0, A, B),
      reply: (r) => new RegExp(`^ok\n${nA + nB}\n\\d+\n1\nn1$`).test(r),
      events: [`piece\nt\n1\n1-${nA}\nd\n${A}`, `piece\nt\n1\n1-${nA + nB}\nd\n${B}`],
      after: { ...renewed, 'partials:t:1': pieces([`1-${nA}`, A], [`1-${nA + nB}`, B]) },
    },
    { name: 'overlap is ignored', before: { ...pending(), 'partials:t:1': pieces([`1-${nA}`, A]) }, call: partial(0, A, B), reply: lines('ok', nA + nB, '', 1, 'n1'), events: [`piece\nt\n1\n1-${nA + nB}\nd\n${B}`], after: { ...renewed, 'partials:t:1': pieces([`1-${nA}`, A], [`1-${nA + nB}`, B]) } },
    { name: 'a gap says what is there', before: { ...pending(), 'partials:t:1': pieces([`1-${nA}`, A]) }, call: partial(nA + 1, B), reply: lines('gap', nA) },
    { name: 'so does an offset that is not between two', before: { ...pending(), 'partials:t:1': pieces([`1-${nA}`, A]) }, call: partial(2, B), reply: lines('gap', nA) },
    { name: 'of another engine', before: pending(), call: ['partial', 0, 't', 1, '7', 0, '', '', 1000, 'F', 'whole', '', A], reply: 'lost' },
    { name: 'race: cancelled meanwhile', before: { 't:t': topicOf('C "user"', { 'c:7': '1' }) }, call: partial(0, A, B), reply: lines('cancelled', nA + nB) },
    {
      name: 'the last ones come with the answer, which needs no text of the query',
      before: { ...pending(), 'partials:t:1': pieces([`1-${nA}`, A]) },
      call: complete(nA, [B]),
      reply: (r) => /^ok\n1\n\d+\n\d+\n7$/.test(r),
      events: [`piece\nt\n1\n1-${nA + nB}\nd\n${B}`, (found) => found.startsWith('outcome\nt\n1\nDone\n')],
      after: { 't:t': done, leases: null, 'partials:t:1': pieces([`1-${nA}`, A], [`1-${nA + nB}`, B]) },
    },
    { name: 'an answer after a gap is not stored', before: { ...pending(), 'partials:t:1': pieces([`1-${nA}`, A]) }, call: complete(nA + nB, []), reply: lines('gap', nA) },
    { name: 'race: the claim is over, so its pieces are gone', before: { 't:t': topicOf(undefined, { open: '1 1 chat/llama3 alice Frontend_1 1;' }) }, call: complete(0, [A]), reply: 'lost' },
    { name: 'an answer under another lease, and of another engine', before: pending(), calls: [complete(0, [A], { lease: '8' }), complete(0, [A], { holder: 'F' })], replies: ['lost', 'lost'] },
    { name: 'an answer to a query that is gone', call: complete(0, [A]), reply: 'missing' },
  ]);

  test('the error of its engine is kept with one that failed, and its client gets it', async () => {
    await shard.seed(pending());
    const { replies, events } = await shard.turn([['release', 0, 't', '7', 'E', '', '"too long"', 'fail', '', '{"status":400}']]);
    assert.deepEqual(replies, ['ok']);
    assert.match(events[0], /^outcome\nt\n1\nFailed\n[^]*\n"too long"\n{"status":400}\n\n\n$/);
    assert.deepEqual(await shard.get('t:t'), topicOf('F "too long"', { 'w:1': '', 'a:1': '{"status":400}', 'k:1': '1' }));
    assert.match(await shard.call('partials', 't', 1, '0-0', ''), /\n"too long"\n{"status":400}\n\n\n\n\n\0$/);
  });

  test('8 MiB are kept and no more, and read page by page', async () => {
    await shard.seed(pending());
    const delta = JSON.stringify({ x: 'x'.repeat((256 << 10) - 8) });
    let offset = 0;
    for (; offset + delta.length * 3 <= 8 << 20; offset += delta.length * 3) assert.match(await shard.call(...partial(offset, delta, delta, delta)), /^ok/);
    while (offset + delta.length <= 8 << 20) {
      assert.match(await shard.call(...partial(offset, delta)), /^ok/);
      offset += delta.length;
    }
    assert.equal(await shard.call(...partial(offset, delta)), 'large');
    let after = '0-0', read = 0;
    for (;;) {
      const page = (await shard.call('partials', 't', 1, after, '')).split('\0')[1];
      const ids = [...page.matchAll(/(?:^|[}])\d+:(1-\d+)1:d/g)].map(([, id]) => id);
      if (ids.length === 0) break;
      assert.ok(ids.length <= 5, `${ids.length} pieces of 256 KiB`);
      read += ids.length;
      after = ids.at(-1);
    }
    assert.equal(read * delta.length, offset);
  });

  test('a query that is opened again has no error, and one that is deleted leaves no request', async () => {
    await shard.seed(pending());
    assert.equal(await shard.call('release', 0, 't', '7', 'E', '', '"no"', 'fail', '', '{"status":400}'), 'ok');
    assert.equal(await shard.call('retry', 0, 't', 1), 'ok');
    assert.equal((await shard.get('t:t'))['a:1'], undefined);
    await shard.cmd('HSET', shard.key('t:t'), 'x:1', 'n1 a a');
    assert.equal(await shard.call(...leave('over', { topic: 't', asker: 'a' })), 'ok');
    assert.equal(await shard.get('t:t'), undefined);
  });
});

scripts('an equal request', ({ test, shard }) => {
  const first = { topic: 'ask.1', digest: 'd' }, second = { topic: 'ask.2', digest: 'd' }, third = { topic: 'ask.3', digest: 'd' };
  const attached = lines('attached', 'ask.1', 1, 'ask.1', 'runs');
  const due = async () => Number(await shard.cmd('ZSCORE', shard.key('asks'), 'ask.1'));
  const watcher = async (topic = 'ask.1') => (await shard.get(`t:${topic}`))?.['x:1'];
  const begin = async () => {
    await shard.seed(seen());
    assert.equal(await shard.call(...ask(first)), asked());
  };
  const claim = async () => (await shard.call('claim', 0, 'E|chat/llama3', '0')).split('\n')[3];
  const answer = async (lease) => assert.match(await shard.call('complete', 0, 'ask.1', 1, lease, 'E', '', lines('["Hi"]', 'null', 'null'), '', '', '', '', '', '', '{"a":1}', 0), /^ok/);

  test('makes a query of its own while the client of the first one is there', async () => {
    await begin();
    assert.equal(await shard.call(...ask(second)), asked('ask.2'));
    assert.equal(await watcher(), 'n1 ask.1 ask.1');
    assert.deepEqual((await shard.cmd('SMEMBERS', shard.key('again:d'))).sort(), ['ask.1 1', 'ask.2 1']);
  });

  test('takes over one whose client has gone, once', async () => {
    await begin();
    assert.equal(await shard.call(...leave('left', first)), 'ok');
    assert.equal(await watcher(), '- ask.1 ask.1');
    assert.ok(soon(2000)(await due()));
    assert.equal(await shard.call(...ask(second)), attached);
    assert.equal(await watcher(), 'n1 ask.2 ask.1');
    assert.ok(soon(1_800_000)(await due()));
    assert.equal(await shard.call(...ask(second)), attached); // the same call again
    assert.equal(await shard.call(...ask(third)), asked('ask.3'));
    assert.equal(await shard.get('t:ask.2'), undefined);
  });

  test('race: the first client is reported gone after another has taken its query over, and nothing happens', async () => {
    await begin();
    assert.equal(await shard.call(...leave('left', first)), 'ok');
    assert.equal(await shard.call(...ask(second)), attached);
    for (const how of ['left', 'over', 'served']) assert.equal(await shard.call(...leave(how, first)), 'ok');
    assert.equal(await watcher(), 'n1 ask.2 ask.1');
  });

  test('race: a client leaves before its node knows which query it has', async () => {
    await begin();
    assert.equal(await shard.call(...leave('left', first)), 'ok');
    assert.equal(await shard.call(...ask(second)), attached);
    assert.equal(await shard.call(...leave('left', second)), 'ok');
    assert.equal(await watcher(), '- ask.2 ask.1');
    assert.equal(await shard.call(...leave('over', second)), 'ok');
    assert.equal(await watcher(), undefined);
    assert.deepEqual(await shard.cmd('SMEMBERS', shard.key('again:d')), []);
  });

  test('takes over one of a node that is gone, and none of one that is there', async () => {
    await begin();
    await shard.cmd('HSET', shard.key('t:ask.1'), 'x:1', 'n2 ask.1 ask.1');
    assert.equal(await shard.call(...ask(second)), attached);
  });

  test('none that has failed, was cancelled, or is gone', async () => {
    for (const state of ['F "no"', 'C "no"']) {
      await begin();
      await shard.cmd('HSET', shard.key('t:ask.1'), 's:1', state, 'x:1', '- ask.1 ask.1');
      assert.equal(await shard.call(...ask(second)), asked('ask.2'));
      assert.deepEqual(await shard.cmd('SMEMBERS', shard.key('again:d')), ['ask.2 1']);
    }
    await shard.seed({ ...seen(), 'again:d': set('ask.9 1') });
    assert.equal(await shard.call(...ask(second)), asked('ask.2'));
  });

  test('a client that has gone for 2 s cancels, an answer stays for a minute and is taken over', async () => {
    await begin();
    assert.equal(await shard.call(...leave('left', first)), 'ok');
    await answer(await claim());
    assert.equal(await shard.call(...leave('over', first)), 'ok');
    assert.ok(soon(60_000)(await due()));
    assert.equal(await shard.call(...ask(second)), attached.replace('runs', 'done'));
    assert.match(await shard.call('partials', 'ask.1', 1, '0-0', ''), /^1\nDone\n[^]*\0.*{"a":1}$/);
    assert.equal(await shard.call(...leave('served', { ...second, topic: 'ask.1', asker: 'ask.2' })), 'ok');
    assert.equal(await watcher(), undefined);
    assert.ok(soon(60_000)(await due()));
    assert.equal(await shard.call(...ask(third)), asked('ask.3'));
  });

  test('a query whose client has gone is swept if its node dies before it cancels, and one of a dead node is', async () => {
    await begin();
    await shard.cmd('ZADD', shard.key('asks'), Date.now() + 1_700_000, 'ask.1');
    await shard.cmd('HSET', shard.key('t:ask.1'), 'x:1', '- ask.1 ask.1');
    assert.equal(await shard.call('sweep_asks'), '0');
    await shard.cmd('HSET', shard.key('t:ask.1'), 'x:1', 'n2 ask.1 ask.1');
    assert.equal(await shard.call('sweep_asks'), '1');
    assert.equal(await shard.get('t:ask.1'), undefined);
  });

  test('of many equal requests 16 can be taken over', async () => {
    await shard.seed(seen());
    for (let i = 0; i < 20; i++) assert.equal(await shard.call(...ask({ topic: `ask.${i}`, digest: 'd' })), asked(`ask.${i}`));
    assert.equal(await shard.cmd('SCARD', shard.key('again:d')), 16);
  });
});

scripts('door_add', ({ test, shard }) => {
  // The reply, without the place of the topic, which is its score, and the time of the query.
  const add = async ({ topic = 't', asker = 'a', user = 'alice', digest = 'd', own = '', stored = '', each = '', request = REQUEST, metadata = '' } = {}) => {
    const reply = await shard.call('door_add', 0, topic, asker, digest, user, 'Frontend_1', MODEL, 1, 100, TAIL, request, '', metadata, '', 0, '', own, stored, each);
    if (!/^(ok|attached)/.test(reply)) return reply;
    const list = reply.split('\n'), [place, created] = list.splice(-2);
    assert.ok(Math.abs(Number(created) - Date.now()) < 60_000);
    assert.equal(Number(place), Math.round((await shard.cmd('ZSCORE', shard.key(`topics:${user}`), topic)) * 1000));
    return list.join('\n');
  };
  const leave = (how, asker = 'a', seq = 1) => shard.call('door_leave', 't', seq, asker, 'd', '1', how);
  const topic = () => shard.get('t:t');

  test('it is the next query of its topic, which the user has from then on', async () => {
    await shard.seed(seen());
    assert.equal(await add(), lines('ok', 't', 1));
    assert.equal(await add(), lines('ok', 't', 1)); // the same call again
    assert.equal(await add({ asker: 'b' }), lines('ok', 't', 2));
    const found = await topic();
    assert.equal(found.seq, '2');
    assert.equal(found['u:alice'], '1');
    assert.equal(found['x:2'], 'n1 b b');
    assert.equal(found.stored, undefined);
    assert.deepEqual(await shard.cmd('ZRANGE', shard.key('topics:alice'), 0, -1), ['t']);
  });

  test('a chat completion has the name of its request and its metadata, which count', async () => {
    await shard.seed(seen());
    await add({ stored: 1 << 20 });
    const before = Number((await topic()).stored.split(' ')[0]);
    await add({ asker: 'b', digest: 'e', stored: 1 << 20, metadata: '\n"k":"v"\n' });
    const found = await topic();
    assert.deepEqual([found['y:1'], found['y:2']], [undefined, 'b\n"k":"v"\n']);
    assert.equal(Number(found.stored.split(' ')[0]), 2 * before + found['y:2'].length);
  });

  test('of another user it is missing, and what is stored is counted and limited', async () => {
    await shard.seed(seen());
    assert.equal(await add({ stored: 1 << 20 }), lines('ok', 't', 1));
    assert.match((await topic()).stored, /^\d+ Frontend_1 alice$/);
    assert.ok(Number((await topic()).stored.split(' ')[0]) > REQUEST.length);
    assert.equal(await add({ user: 'bob', asker: 'b', digest: 'e', own: '1' }), 'missing');
    assert.match(await add({ asker: 'c', digest: 'f', stored: 1 << 20, each: 1 << 16, request: LONG }), /^stored\n\d+\n65536\nuser$/);
    assert.equal((await topic()).seq, '1');
    assert.equal(await add({ topic: 'u', asker: 'c', digest: 'g' }), lines('ok', 'u', 1));
  });

  test('a client that has gone for 2 s cancels, and the query stays', async () => {
    await shard.seed(seen());
    await add();
    assert.equal(await leave('left'), 'ok');
    assert.ok(soon(2000)(await shard.cmd('ZSCORE', shard.key('asks'), 't 1')));
    assert.equal(await leave('over'), 'ok');
    assert.match((await topic())['s:1'], /^C "/);
    assert.equal((await topic())['x:1'], undefined);
    assert.equal(await shard.cmd('ZCARD', shard.key('asks')), 0);
    assert.deepEqual(await shard.cmd('SMEMBERS', shard.key('again:d')), []);
  });

  test('an equal request takes it over, and its answer stays', async () => {
    await shard.seed(seen());
    await add();
    assert.equal(await leave('left', 'a', 0), 'ok'); // its node did not see the reply
    assert.equal(await add({ asker: 'b' }), lines('attached', 't', 1, 'a', 'runs'));
    const lease = (await shard.call('claim', 0, 'E|chat/llama3', '0')).split('\n')[3];
    assert.match(await shard.call('complete', 0, 't', 1, lease, 'E', '', lines('["Hi"]', 'null', 'null'), '', '', '', '', '', '', '', 0), /^ok/);
    assert.equal(await leave('served', 'b'), 'ok');
    assert.equal((await topic())['x:1'], undefined);
    assert.match((await topic())['a:1'], /^\["Hi"\]/);
    assert.equal(await shard.call('sweep_asks'), '0');
    assert.equal(await add({ asker: 'c' }), lines('ok', 't', 2));
  });

  test('its topic is deleted: nothing of it is due any more', async () => {
    await shard.seed(seen());
    await add();
    assert.equal(await shard.call('delete', 0, 'alice', 't', ''), 'ok');
    assert.equal(await topic(), undefined);
    assert.equal(await shard.cmd('ZCARD', shard.key('asks')), 0);
  });

  test('one of a node that is gone is cancelled in the end, one that is due is not waited for', async () => {
    await shard.seed(seen());
    await add();
    await shard.cmd('HSET', shard.key('t:t'), 'x:1', 'n2 a a');
    await shard.cmd('ZADD', shard.key('asks'), Date.now() + 1_700_000, 't 1');
    assert.equal(await shard.call('sweep_asks'), '1');
    assert.match((await topic())['s:1'], /^C "/);
  });
});
