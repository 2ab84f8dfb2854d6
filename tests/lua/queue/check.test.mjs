// SPDX-License-Identifier: MIT
//
// check, partial, partials: looking at a query, waiting for it, and the text of an answer under way.
import assert from 'node:assert/strict';
import { lines, random, rowOf, scripts, set, soon, stream, tailOf, topicOf, ttl, zset } from '../../support/lua.mjs';
import { seedsTo } from '../../support/seeds.mjs';

const ROW = rowOf({ query: 'Q1' });
const STORED = lines('["42"]', '["hm"]', 'null', 1500, 'E');
const LATER = 9e12;

scripts('check', ({ cases, test, shard }) => {
  const check = ({ seq = 1, user = '', wait = 'position' } = {}) => ['check', 0, 't', seq, user, wait];
  cases([
    { name: 'an unknown topic', call: check(), reply: 'missing' },
    { name: 'an unknown Seq', before: { 't:t': topicOf(['D'], { 'a:1': STORED }) }, call: check({ seq: 2 }), reply: 'missing' },
    ...['0', '2', '10', '99999999999999999999'].map((seq) => ({ name: `no wait for Seq ${seq} of a topic with one`, before: { 't:t': topicOf(['P 7 1 E 1']) }, call: check({ seq, wait: 'wait' }), reply: 'missing' })),
    { name: 'no wait in a topic that is not there', call: check({ wait: 'wait' }), reply: 'missing' },
    { name: 'no wait of a user without a part in it', before: { 't:t': topicOf(['P 7 1 E 1']) }, call: check({ user: 'bob', wait: 'wait' }), reply: 'missing' },
    { name: 'a user without a part in it', before: { 't:t': topicOf(['D'], { 'a:1': STORED }) }, call: check({ user: 'bob' }), reply: 'missing' },
    { name: 'Done: the answer, and nobody is written down', before: { 't:t': topicOf(['D'], { 'a:1': STORED }) }, call: check({ user: 'alice', wait: 'wait' }), reply: lines('Done', ROW, STORED, '', '') },
    { name: 'Failed: the reason', before: { 't:t': topicOf(['F "tired"']) }, call: check({ wait: 'wait' }), reply: lines('Failed', ROW, '"tired"', '', '', '', '', '', '') },
    { name: 'Cancelled: the reason', before: { 't:t': topicOf(['C "user"']) }, call: check({ wait: 'wait' }), reply: lines('Cancelled', ROW, '"user"', '', '', '', '', '', '') },
    { name: 'Pending, not waiting', before: { 't:t': topicOf(['P 7 1 E 1']) }, call: check(), reply: lines('Pending', ROW, '', '', '', '', '', '', '') },
    { name: 'Pending, waiting: this node is written down', before: { 't:t': topicOf(['P 7 1 E 1']) }, call: check({ wait: 'wait' }), reply: 'wait', after: { 't:t': topicOf(['P 7 1 E 1'], { 'w:1': 'n1' }) } },
    { name: 'beside others', before: { 't:t': topicOf(['P 7 1 E 1'], { 'w:1': 'n10 n2' }) }, call: check({ wait: 'wait' }), reply: 'wait', after: { 't:t': topicOf(['P 7 1 E 1'], { 'w:1': 'n10 n2 n1' }) } },
    { name: 'once', before: { 't:t': topicOf([undefined], { 'w:1': 'n2 n1' }) }, calls: [check({ wait: 'wait' }), check({ wait: 'wait' })], replies: ['wait', 'wait'] },
    {
      name: 'Open, the only one: nothing is before it',
      before: { 't:t': topicOf([undefined]), 'open:default:alice': zset({ t: 1 }), 'turns:default': zset({ alice: 0 }), models: set('default') },
      call: check(),
      reply: lines('Open', ROW, '', '', '', '', '', 0, ''),
    },
    { name: 'Open, and nobody wants its position', before: { 't:t': topicOf([undefined]), 'open:default:alice': zset({ t: 1 }), 'turns:default': zset({ alice: 0 }), models: set('default') }, call: check({ wait: 'brief' }), reply: lines('Open', ROW, '', '', '', '', '', '', '') },
    { name: 'Done, and nobody wants its position', before: { 't:t': topicOf(['D'], { 'a:1': STORED }) }, call: check({ wait: 'brief' }), reply: lines('Done', ROW, STORED, '', '') },
    {
      name: 'Open: earlier ones of the topic, of the user and of others are before it, and the rate tells how long',
      before: () => ({
        't:t': topicOf([undefined, undefined]),
        't:s': topicOf([undefined]),
        ...Object.fromEntries(['b', 'c', 'd'].map((topic) => [`t:${topic}`, topicOf([undefined], { user: 'bob' })])),
        'open:default:alice': zset({ s: 1, t: 2 }),
        'open:default:bob': zset({ b: 1, c: 2, d: 3 }),
        'turns:default': zset({ alice: 0, bob: 0 }),
        models: set('default'),
        [`stat:${Math.floor(Date.now() / 60_000) - 1}`]: { done: '12000' },
      }),
      call: check({ seq: 2 }),
      reply: (r) => {
        const [status, ...rest] = r.split('\n');
        return status === 'Open' && rest.at(-2) === '3' && rest.at(-1) === '1';
      },
    },
  ]);

  const add = (topic, { user = 'alice', model = 'default', account = 'F', weight = 1 } = {}) =>
    shard.call('add', 0, topic, user, account, model, weight, 100_000, tailOf({ user, model }), '', '', '');
  const reported = async (topic, seq) => Number((await shard.call('check', 0, topic, seq, '', 'position')).split('\n').at(-2));

  // Claims all there is for these models: "topic seq" in the order in which it was served.
  async function serveAll(takes = '*') {
    const order = [];
    for (let reply; (reply = await shard.call('claim', 0, `E|${takes}`, '0')) !== 'empty'; ) {
      const [, , topic, , , n, ...rest] = reply.split('\n');
      for (let i = 0; i < n; i++) order.push(`${topic} ${rest[i * 8]}`);
    }
    return order;
  }

  for (const seed of seedsTo(11)) {
    test(`the position is the number of queries served before, for any users, weights, models, topics and engines (seed ${seed})`, async () => {
      const below = random(seed);
      const users = Array.from({ length: 1 + below(30) }, (_, i) => ({ user: `u${i}`, weight: [1, 1, 2, 3, 0.5, 10][below(6)] }));
      const models = ['default', 'big', 'small', 'x'].slice(0, 1 + below(4));
      const topicN = 1 + below(40);
      // The engine that claims in the end, and one that is none of it: gone long ago, or for others.
      const engine = ['*', '*', 'big', 'small,x'][below(4)];
      const seen = (ago, names) => `${Date.now() - ago} ${JSON.stringify({ Models: names })}`;
      await shard.cmd('HSET', shard.key('engines'), 'E -', seen(1000, engine), 'F -', seen(700_000, '*'), 'G -', seen(1000, 'y'));
      const taken = (model) => engine === '*' || model === 'default' || engine.split(',').includes(model);
      const held = [];
      const seqs = new Map();
      const wanted = new Set();
      for (let i = 0; i < 90; i++) {
        const one = users[below(users.length)];
        const topic = `t${below(topicN)}`;
        const model = models[below(models.length)];
        await add(topic, { ...one, model });
        seqs.set(topic, (seqs.get(topic) ?? 0) + 1);
        if (taken(model)) wanted.add(`${topic} ${seqs.get(topic)}`);
        // In between some are served, so that virtual times differ, and some come back to the front.
        if (below(3) === 0) {
          const [word, , claimed, lease] = (await shard.call('claim', 0, 'E|*', '0')).split('\n');
          if (word === 'claim') held.push([claimed, lease]);
        }
        if (held.length > 0 && below(4) === 0) {
          const [claimed, lease] = held.splice(below(held.length), 1)[0];
          assert.match(await shard.call('release', 0, claimed, lease, 'E', '', '"tired"', 'retry'), /^ok/);
        }
      }
      const positions = new Map();
      for (const [topic, n] of seqs)
        for (let seq = 1; seq <= n; seq++) {
          const reply = await shard.call('check', 0, topic, seq, '', 'position');
          if (reply.startsWith('Open\n') && wanted.has(`${topic} ${seq}`)) positions.set(`${topic} ${seq}`, Number(reply.split('\n').at(-2)));
        }
      const order = await serveAll(engine);
      assert.deepEqual([...positions.keys()].sort(), [...order].sort());
      assert.deepEqual(order.map((name) => positions.get(name)), order.map((_, i) => i), order.join(', '));
    });
  }

  test('far behind, the position is an estimate: never less than what was looked at, and near to what is served', async () => {
    for (let i = 0; i < 300; i++) await add(`a${i}`, { weight: 2 });
    for (let i = 0; i < 300; i++) await add(`b${i}`, { user: 'bob' });
    for (let i = 0; i < 20; i++) await add(`c${i}`, { user: 'carol', model: 'big' });
    const positions = new Map();
    for (const topic of ['a40', 'a250', 'b50', 'b290', 'c19']) positions.set(topic, await reported(topic, 1));
    const order = await serveAll();
    for (const [topic, position] of positions) {
      const served = order.indexOf(`${topic} 1`);
      if (served < 50) assert.equal(position, served, topic);
      else assert.ok(position >= 50 && Math.abs(position - served) <= 0.05 * served, `${topic}: returned ${position}, served ${served}`);
    }
  });

  test('a position after a thousand users of a thousand models is still returned', async () => {
    for (let i = 0; i < 1000; i++) await add(`t${i}`, { user: `u${i}`, model: `m${i}`, account: `F${i % 10}` });
    await add('last', { user: 'zoe', model: 'm999' });
    const position = await reported('last', 1);
    assert.ok(position >= 5 && position <= 1000, `position ${position}`);
  });
});

scripts('nodes that wait', ({ test, shard }) => {
  test('and are gone are left out, once they are many', async () => {
    const gone = Array.from({ length: 200 }, (_, i) => `n${1000 + i}-of-long-ago`);
    await shard.seed({ 't:t': topicOf(['P 7 1 E 1'], { 'w:1': gone.join(' ') }) });
    assert.equal(await shard.call('check', 0, 't', 1, '', 'wait'), 'wait');
    assert.equal((await shard.get('t:t'))['w:1'].trim(), 'n1');
  });
});

scripts('partial', ({ cases }) => {
  const partial = ({ seq = 1, lease = '7', offset = 0, think = '', answer = '', max = 1000, holder = 'E', mode = 'whole', facts = '' } = {}) =>
    ['partial', 0, 't', seq, lease, offset, think, answer, max, holder, mode, facts];
  const pending = (more = {}) => ({ 't:t': topicOf(['P 7 1 E 1'], more), leases: zset({ '7 t': LATER }) });
  const renewed = { leases: zset({ '7 t': soon(150_000) }) };
  const pieces = (...list) => ttl(86_400, stream(...list.map(([id, k, x]) => [id, { k, x }])));
  const first = pieces(['1-2', 't', 'hm'], ['1-5', 'a', 'yes']);
  cases([
    { name: 'think and answer are a piece each', before: pending(), call: partial({ think: 'hm', answer: 'yes' }), reply: (r) => /^ok\n5\n\d+\n1\n/.test(r), after: { ...renewed, 'partials:t:1': first } },
    {
      name: 'more text: waiting nodes get it',
      before: { ...pending({ 'w:1': 'n1 n2' }), 'partials:t:1': first },
      alive: ['n2'],
      call: partial({ offset: 5, answer: ', no' }),
      reply: lines('ok', 9, '', 1, 'n1 n2'),
      events: ['piece\nt\n1\n1-9\na\n, no'],
      published: [['node:n2', 'piece\nt\n1\n1-9\na\n, no']],
      after: { ...renewed, 'partials:t:1': pieces(['1-2', 't', 'hm'], ['1-5', 'a', 'yes'], ['1-9', 'a', ', no']) },
    },
    {
      name: 'of thoughts and answer, each',
      before: pending({ 'w:1': 'n1' }),
      call: partial({ think: 'a\nb', answer: 'c' }),
      reply: (r) => /^ok\n4\n\d+\n1\n/.test(r),
      events: ['piece\nt\n1\n1-3\nt\na\nb', 'piece\nt\n1\n1-4\na\nc'],
      after: { ...renewed, 'partials:t:1': pieces(['1-3', 't', 'a\nb'], ['1-4', 'a', 'c']) },
    },
    {
      name: 'too long for a message: waiting nodes read it',
      before: pending({ 'w:1': 'n1' }),
      call: partial({ answer: 'x'.repeat(65_537), max: 70_000 }),
      reply: (r) => /^ok\n65537\n\d+\n1\n/.test(r),
      events: ['changed\nt\n1'],
      after: { ...renewed, 'partials:t:1': pieces(['1-65537', 'a', 'x'.repeat(65_537)]) },
    },
    {
      name: 'first, of a node that shows what follows before it is stored: waiting nodes get it, and that node is noted',
      before: { ...pending({ 'w:1': 'n1' }), 'partials:t:1': first },
      call: partial({ offset: 5, answer: '!', mode: 'first' }),
      reply: lines('ok', 6, '', 1, 'n1'),
      events: ['piece\nt\n1\n1-6\na\n!'],
      after: { ...renewed, ...pending({ 'w:1': 'n1', 'd:1': 'n1' }), ...renewed, 'partials:t:1': pieces(['1-2', 't', 'hm'], ['1-5', 'a', 'yes'], ['1-6', 'a', '!']) },
    },
    {
      name: 'shown already: waiting nodes get its end only',
      before: { ...pending({ 'w:1': 'n1', 'd:1': 'n1' }), 'partials:t:1': first },
      call: partial({ offset: 5, think: '?', answer: '!', mode: 'shown' }),
      reply: lines('ok', 7, '', 1, 'n1'),
      events: ['piece\nt\n1\n1-6\nt\n', 'piece\nt\n1\n1-7\na\n'],
      after: { ...renewed, 'partials:t:1': pieces(['1-2', 't', 'hm'], ['1-5', 'a', 'yes'], ['1-6', 't', '?'], ['1-7', 'a', '!']) },
    },
    { name: 'overlap is ignored', before: { ...pending(), 'partials:t:1': first }, call: partial({ offset: 0, think: 'hm', answer: 'yes!' }), reply: lines('ok', 6, '', 1, ''), after: { ...renewed, 'partials:t:1': pieces(['1-2', 't', 'hm'], ['1-5', 'a', 'yes'], ['1-6', 'a', '!']) } },
    { name: 'race: the same piece twice, after a lost reply', before: { ...pending({ 'w:1': 'n1' }), 'partials:t:1': first }, call: partial({ think: 'hm', answer: 'yes' }), reply: lines('ok', 5, '', 1, 'n1'), after: renewed },
    {
      name: 'what the engine says of the answer is kept, the last word of each',
      before: pending(),
      calls: [partial({ facts: '"FinishReason":"stop"' }), partial({ facts: '"Usage":{"prompt_tokens":1,"completion_tokens":2}' }), partial({ facts: '"FinishReason":"length"' }), partial()],
      replies: Array(4).fill(lines('ok', 0, '', 1, '')),
      after: { ...pending({ 'f:1': '"FinishReason":"length","Usage":{"prompt_tokens":1,"completion_tokens":2}' }), ...renewed },
    },
    { name: 'no text renews the lease', before: pending(), call: partial(), reply: lines('ok', 0, '', 1, ''), after: renewed },
    { name: 'a gap says what is expected', before: { ...pending(), 'partials:t:1': first }, call: partial({ offset: 6, answer: '!' }), reply: 'gap\n5' },
    { name: 'an offset within a character of what is stored is a lie', before: { ...pending(), 'partials:t:1': pieces(['1-2', 'a', 'ä']) }, call: partial({ offset: 1, answer: 'äx' }), reply: 'gap\n2' },
    { name: 'offsets count bytes', before: pending(), calls: [partial({ answer: 'ä€' }), partial({ offset: 5, answer: '.' })], replies: [(r) => /^ok\n5\n\d+\n1\n/.test(r), lines('ok', 6, '', 1, '')], after: { ...renewed, 'partials:t:1': pieces(['1-5', 'a', 'ä€'], ['1-6', 'a', '.']) } },
    { name: 'a new claim begins at 0', before: { ...pending({ 'k:1': 1 }), 'partials:t:1': first }, call: partial({ answer: 'no' }), reply: lines('ok', 2, '', 2, ''), after: { ...renewed, 'partials:t:1': pieces(['2-2', 'a', 'no']) } },
    { name: 'as much as is allowed', before: pending(), call: partial({ answer: 'x'.repeat(1000) }), reply: (r) => /^ok\n1000\n\d+\n1\n/.test(r), after: { ...renewed, 'partials:t:1': pieces(['1-1000', 'a', 'x'.repeat(1000)]) } },
    { name: 'more than is allowed', before: pending(), call: partial({ think: 'hm', answer: 'x'.repeat(999) }), reply: 'large' },
    { name: 'race: another engine has claimed it since', before: { ...pending(), 't:t': topicOf(['P 8 2 F 1']) }, call: partial({ answer: 'x' }), reply: 'lost' },
    { name: 'race: it is Open again', before: { 't:t': topicOf([undefined]) }, call: partial({ answer: 'x' }), reply: 'lost' },
    { name: 'of another engine: a lease can be guessed', before: pending(), call: partial({ holder: 'F', answer: 'x' }), reply: 'lost' },
    { name: 'without a lease', before: pending(), call: partial({ lease: '', answer: 'x' }), reply: 'lost' },
    { name: 'race: cancelled meanwhile: its engine hears of it', before: { 't:t': topicOf(['C "user"'], { 'c:7': '12,1' }) }, call: partial({ offset: 5, think: 'ab', answer: 'c' }), reply: 'cancelled\n8' },
    { name: 'another one of the claim was cancelled', before: { 't:t': topicOf(['D'], { 'c:7': '12,11' }) }, call: partial({ answer: 'c' }), reply: 'lost' },
    { name: 'an unknown query', call: partial(), reply: 'lost' },
  ]);
});

scripts('partials', ({ cases, test, shard }) => {
  const partials = (after = '0-0', brief = '') => ['partials', 't', 1, after, brief];
  const text = stream(['3-2', { k: 't', x: 'hm' }], ['3-7', { k: 'a', x: 'ä\n0:' }]);
  cases([
    { name: 'an unknown query', call: partials(), reply: 'missing' },
    {
      name: 'Pending: the number of its claim, all pieces, and this node waits',
      before: { 't:t': topicOf(['P 7 2 E 1'], { 'k:1': 2 }), 'partials:t:1': text },
      call: partials(),
      reply: `${lines(3, 'Pending', ROW, '', '', '', '', '', '', '')}\0${'3:3-21:t2:hm3:3-71:a5:ä\n0:'}`,
      after: { 't:t': topicOf(['P 7 2 E 1'], { 'k:1': 2, 'w:1': 'n1' }) },
    },
    {
      name: 'the node that shows pieces before they are stored is notified',
      before: { 't:t': topicOf(['P 7 1 E 1'], { 'd:1': 'n2' }) },
      alive: ['n2'],
      call: partials(),
      reply: `${lines(1, 'Pending', ROW, '', '', '', '', '', '', '')}\0`,
      published: [['node:n2', 'watched\nt\n1\nn1']],
      after: { 't:t': topicOf(['P 7 1 E 1'], { 'd:1': 'n2', 'w:1': 'n1' }) },
    },
    { name: 'behind an id', before: { 't:t': topicOf(['P 7 2 E 1'], { 'w:1': 'n1' }), 'partials:t:1': text }, call: partials('3-2'), reply: (r) => r.endsWith('\x003:3-71:a5:ä\n0:') },
    { name: 'Done: the outcome and the pieces behind', before: { 't:t': topicOf(['D'], { 'a:1': STORED }), 'partials:t:1': text }, call: partials('3-7'), reply: `${lines(1, 'Done', ROW, STORED, '', '')}\0` },
    { name: 'Failed: the reason', before: { 't:t': topicOf(['F "tired"'], { 'k:1': 3 }) }, call: partials(), reply: `${lines(3, 'Failed', ROW, '"tired"', '', '', '', '', '', '')}\0` },
    {
      name: 'Open: its position',
      before: { 't:t': { ...topicOf([undefined]), 'w:1': 'n2' }, 'open:default:alice': zset({ t: 1 }), 'turns:default': zset({ alice: 0 }), models: set('default') },
      call: partials(),
      reply: `${lines(0, 'Open', ROW, '', '', '', '', '', 0, '')}\0`,
      after: { 't:t': { ...topicOf([undefined]), 'w:1': 'n2 n1' } },
    },
    { name: 'Open, without its position', before: { 't:t': topicOf([undefined]) }, call: partials('0-0', '1'), reply: `${lines(0, 'Open', ROW, '', '', '', '', '', '', '')}\0`, after: { 't:t': topicOf([undefined], { 'w:1': 'n1' }) } },
  ]);

  test('256 pieces a call, the rest behind the last id', async () => {
    await shard.seed({ 't:t': topicOf(['P 7 1 E 1']) });
    for (let i = 1; i <= 300; i++) await shard.cmd('XADD', shard.key('partials:t:1'), `1-${i}`, 'k', 'a', 'x', 'x');
    const pieces = async (after) => (await shard.call('partials', 't', 1, after, '')).split('\0')[1].match(/1:a1:x/g).length;
    assert.equal(await pieces('0-0'), 256);
    assert.equal(await pieces('1-256'), 44);
  });
});
