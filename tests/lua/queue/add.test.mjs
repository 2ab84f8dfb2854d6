// SPDX-License-Identifier: MIT
//
// add: what a question leaves in an empty, a waiting and a full queue, and with engines parked.
import assert from 'node:assert/strict';
import { ago, agoUs, anything, credits, lines, openOf, rowOf, scripts, set, soon, tailOf, topicOf, ttl, zset } from '../../support/lua.mjs';

const DIGEST = 'ab12';
const add = ({
  nonce = 0, topic = 't', user = 'alice', model = 'default', account = 'Frontend_1', weight = 1, max = 100, idem = '', digest = DIGEST, own = '', query = 'Q1',
  mark = '', waits = '', replaces = '',
} = {}) => ['add', nonce, topic, user, account, model, weight, max, tailOf({ user, model, query }), idem, digest, own, mark, waits, '', '', replaces];
const ok = (seq) => (reply) => new RegExp(`^ok\n${seq}\n\\d{13}$`).test(reply);
const again = (seq) => (reply) => new RegExp(`^again\n${seq}\n\\d{13}$`).test(reply);
// A row of now.
const row = ({ user = 'alice', model = 'default', query = 'Q1', weight = 1 } = {}) => (found) => {
  const [ms, ...rest] = found.split('\n');
  return ago()(ms) && rest.join('\n') === rowOf({ user, model, query, weight }).split('\n').slice(1).join('\n');
};
const open1 = {
  't:t': { seq: 1, 'u:alice': 1, 'q:1': row(), open: openOf([1]) },
  'open:default:alice': zset({ t: agoUs }),
  'turns:default': zset({ alice: 0 }),
  models: set('default'),
  waiting: { 'Frontend_1 alice': 1 },
  'topics:alice': zset({ t: ago() }),
  users: set('alice'),
  meta: { lease: 0, depth: 1, vt: '0.000000' },
};
// The same, as an earlier turn left it.
const waiting1 = {
  't:t': topicOf([undefined]),
  'open:default:alice': zset({ t: 1_000_000 }),
  'turns:default': zset({ alice: 0 }),
  models: set('default'),
  waiting: { 'Frontend_1 alice': '1' },
  'topics:alice': zset({ t: 1000 }),
  users: set('alice'),
  meta: { lease: '0', depth: '1', vt: '0.000000' },
};
const handedOver = (to = '') => ({
  't:t': { seq: 1, 'u:alice': 1, 'q:1': row(), 's:1': `P 1 1 E 1${to}` },
  'topics:alice': zset({ t: ago() }),
  users: set('alice'),
  leases: zset({ '1 t': soon(2000) }),
  meta: { lease: 1, depth: 0, vt: '0.000000' },
});
const HEAD = 'claim\nE|*\nt\n1\n1\n1\n1\n';
const handOver = (found) => found.startsWith(HEAD) && row()(found.slice(HEAD.length));

scripts('add', ({ cases, test, shard }) => {
  cases([
    { name: 'the first query of a topic waits', call: add(), reply: ok(1), after: open1 },
    {
      name: 'the second one in the place of the first',
      before: waiting1,
      call: add({ query: 'Q2', replaces: '1' }),
      reply: ok(2),
      after: {
        't:t': { ...topicOf([undefined]), seq: 2, 'q:2': row({ query: 'Q2' }), open: openOf([1], [2]), places: 1, 'p:2': 1, 'n:1': 2 },
        waiting: { 'Frontend_1 alice': 2 },
        meta: { depth: 2, lease: 0, vt: '0.000000' },
      },
    },
    ...['2', '01', '9'].map((replaces) => ({ name: `in the place of ${replaces}, which is none`, before: waiting1, call: add({ replaces }), reply: 'unplaced' })),
    { name: "in the place of another user's", before: waiting1, call: add({ user: 'bob', replaces: '1' }), reply: 'unplaced' },
    { name: 'in the place of one in a topic that is none', call: add({ replaces: '1' }), reply: 'unplaced' },
    {
      name: 'the second one is Seq 2 of it',
      before: waiting1,
      call: add({ query: 'Q2' }),
      reply: ok(2),
      after: {
        't:t': { ...topicOf([undefined]), seq: 2, 'q:2': row({ query: 'Q2' }), open: openOf([1], [2]) },
        waiting: { 'Frontend_1 alice': 2 },
        meta: { lease: 0, depth: 2, vt: '0.000000' },
      },
    },
    {
      name: 'another user of the same topic waits for a turn of its own',
      before: waiting1,
      call: add({ user: 'bob', model: 'big', query: 'Q2', weight: 2.5 }),
      reply: ok(2),
      after: {
        't:t': {
          ...topicOf([undefined]), seq: 2, 'q:2': row({ user: 'bob', model: 'big', query: 'Q2', weight: 2.5 }), 'u:bob': 1,
          open: openOf([1], [2, 0, { user: 'bob', model: 'big', weight: 2.5 }]),
        },
        'open:big:bob': zset({ t: agoUs }),
        'turns:big': zset({ bob: 0 }),
        models: set('default', 'big'),
        waiting: { 'Frontend_1 alice': 1, 'Frontend_1 bob': 1 },
        'topics:bob': zset({ t: ago() }),
        users: set('alice', 'bob'),
        meta: { lease: 0, depth: 2, vt: '0.000000' },
      },
    },
    { name: 'an own topic of somebody else is missing', before: waiting1, call: add({ user: 'bob', own: '1' }), reply: 'missing' },
    { name: 'an own topic that does not exist yet is made', call: add({ own: '1' }), reply: ok(1), after: open1 },

    {
      name: 'an engine parked on this node: handed over in the reply, never queued',
      before: { idle: zset({ 'n2 E|*': 9 }) },
      alive: ['n2'],
      calls: [['claim', 0, 'E|*', '1'], add()],
      replies: ['parked', ok(1)],
      events: [handOver],
      after: { ...handedOver(), idle: zset({ 'n2 E|*': credits(9, 9) }) },
    },
    {
      name: 'an engine parked on another node: handed over by one message to that node alone',
      before: { idle: zset({ 'n2 E|*': 1, 'n3 E|*': 1 }) },
      alive: ['n2', 'n3'],
      frame: { node: 'n1' },
      call: add(),
      reply: ok(1),
      published: [['node:n3', handOver]],
      after: { ...handedOver(' n3'), idle: zset({ 'n2 E|*': credits(1, 1) }) },
    },
    {
      name: 'race: the node whose credit is taken has died: it is struck off, the next one is asked',
      before: { idle: zset({ 'n2 E|*': 9, 'n3 E|*': 1 }) },
      alive: ['n3'],
      call: add(),
      reply: ok(1),
      published: [['node:n3', handOver]],
      after: { ...handedOver(' n3'), idle: null },
    },
    {
      name: 'race: all nodes with credits have died: the query waits',
      before: { idle: zset({ 'n2 E|*': 9, 'n3 E|m': 1 }) },
      call: add(),
      reply: ok(1),
      after: { ...open1, idle: null },
    },
    {
      name: 'an engine that does not serve the model is left alone',
      before: { idle: zset({ 'n2 E|small,tiny': 1 }) },
      alive: ['n2'],
      call: add({ model: 'big' }),
      reply: ok(1),
      after: {
        ...open1,
        't:t': { seq: 1, 'u:alice': 1, 'q:1': row({ model: 'big' }), open: openOf([1, 0, { model: 'big' }]) },
        'open:default:alice': undefined, 'turns:default': undefined,
        'open:big:alice': zset({ t: agoUs }), 'turns:big': zset({ alice: 0 }), models: set('big'),
      },
    },
    {
      name: 'a topic with Open queries is handed over whole',
      before: { ...waiting1, idle: zset({ 'n2 E|*': 1 }) },
      alive: ['n2'],
      call: add({ query: 'Q2' }),
      reply: ok(2),
      published: [['node:n2', (claim) => claim.startsWith(lines('claim', 'E|*', 't', 1, 1, 2, 1, rowOf({ query: 'Q1' }), 2, ''))]],
      after: {
        't:t': {
          ...topicOf(['P 1 1 E 2 n2', 'P 1 1 E 2 n2']), 'q:2': row({ query: 'Q2' }), 'l:1': '1 2', open: '',
        },
        'open:default:alice': null, 'turns:default': null, models: null, waiting: null, idle: null,
        leases: zset({ '1 t': soon(2000) }),
        meta: { lease: 1, depth: 0, vt: '0.000000' },
      },
    },

    { name: 'a user with max_waiting Open queries is refused', before: waiting1, call: add({ max: 1 }), reply: 'waiting\n1\n\nuser' },
    {
      name: 'two queries of one turn count for max_waiting',
      calls: [add({ max: 1 }), add({ topic: 'u', max: 1 })],
      replies: [ok(1), 'waiting\n1\n\nuser'],
      after: open1,
    },
    { name: 'a full queue stores nothing', before: waiting1, call: add({ user: 'bob', account: 'Frontend_2' }), frame: { queueMax: 1 }, reply: 'full\n1\n' },
    { name: 'of several shards, one that has its part of the queue stores nothing, and says what all have, about', before: waiting1, call: add({ user: 'bob', account: 'Frontend_2' }), frame: { queueMax: 4, shards: 4 }, reply: 'full\n4\n', events: ['open\n1'] },
    { name: 'of several shards, each has room for one at least', before: waiting1, call: add({ user: 'bob', account: 'Frontend_2' }), frame: { queueMax: 1, shards: 8 }, reply: 'full\n8\n', events: ['open\n1'] },
    { name: 'an account with half of the queue stores nothing more, in the name of whomever', before: waiting1, call: add({ user: 'bob' }), frame: { queueMax: 2 }, reply: 'waiting\n1\n\naccount' },
    {
      name: 'a refusal names when to try again, once there is a rate',
      before: () => ({ ...waiting1, [`stat:${Math.floor(Date.now() / 60_000) - 1}`]: { done: '600' } }),
      call: add({ max: 1 }),
      reply: 'waiting\n1\n1\nuser',
    },
    {
      name: 'a full queue hands over all the same: nothing waits for that',
      before: { meta: { lease: '0', depth: '1', vt: '0.000000' }, idle: zset({ 'n2 E|*': 1 }) },
      alive: ['n2'],
      call: add(),
      frame: { queueMax: 1 },
      reply: ok(1),
      published: [['node:n2', handOver]],
      after: { ...handedOver(' n2'), idle: null, meta: { lease: 1, depth: 1, vt: '0.000000' } },
    },

    {
      name: 'with an Idempotency-Key the answer is kept',
      call: add({ idem: 'k1' }),
      reply: ok(1),
      after: { ...open1, 'idem:Frontend_1:k1': ttl(86_400, (found) => found.startsWith(`${DIGEST} ok\n1\n`)) },
    },
    {
      name: 'the same key and body again: the same answer, nothing stored',
      before: { ...waiting1, 'idem:Frontend_1:k1': `${DIGEST} ok\n1\n1000` },
      call: add({ idem: 'k1' }),
      reply: 'again\n1\n1000',
    },
    {
      name: 'the same key with another body: mismatch',
      before: { ...waiting1, 'idem:Frontend_1:k1': `${DIGEST} ok\n1\n1000` },
      call: add({ idem: 'k1', digest: 'ff' }),
      reply: 'mismatch',
    },
    {
      name: 'race: the same key twice in one turn: one query',
      calls: [add({ idem: 'k1' }), add({ idem: 'k1' })],
      replies: [ok(1), again(1)],
      after: { ...open1, 'idem:Frontend_1:k1': ttl(86_400, anything) },
    },
    {
      name: 'a refusal is not kept for its key',
      before: waiting1,
      call: add({ idem: 'k1', max: 1 }),
      reply: 'waiting\n1\n\nuser',
    },
  ]);

  // --- ask and wait

  cases([
    { name: 'a node that waits is registered with the query', call: add({ waits: '1' }), reply: ok(1), after: { ...open1, 't:t': { ...open1['t:t'], 'w:1': 'n1' } } },
    {
      name: 'a node that waits for a query with a title is registered, too',
      call: add({ waits: '1', query: 'x'.repeat(2000) }),
      reply: ok(1),
      after: { ...open1, 't:t': { ...open1['t:t'], 'q:1': row({ query: 'x'.repeat(2000) }), title: `"${'x'.repeat(200)}"`, 'w:1': 'n1' } },
    },
    {
      name: 'a node that waits is registered with a query that is handed over',
      before: { idle: zset({ 'n2 E|*': 1 }) },
      alive: ['n2'],
      call: add({ waits: '1' }),
      reply: ok(1),
      published: [['node:n2', handOver]],
      after: { ...handedOver(' n2'), 't:t': { ...handedOver(' n2')['t:t'], 'w:1': 'n1' }, idle: null },
    },
    { name: 'a refused one leaves nobody registered', before: waiting1, call: add({ max: 1, waits: '1' }), reply: 'waiting\n1\n\nuser' },
    {
      name: 'a question that is there already registers nobody: its node looks',
      before: { ...waiting1, 'idem:Frontend_1:k1': `${DIGEST} ok\n1\n1000` },
      call: add({ idem: 'k1', waits: '1' }),
      reply: 'again\n1\n1000',
    },
  ]);

  // --- the nonce as an idempotency key (queue/resent.lua)

  const NONCE = 'nonce-0000000001';
  const MARK = '0123456789ab', OTHER = 'ba9876543210';
  const today = () => `nonces:${Math.floor(Date.now() / 86_400_000)}`;
  const ms = (secondsBack = 0) => Date.now() - secondsBack * 1000;
  const used = (tie, more) => () => ({ ...waiting1, 't:t': { ...waiting1['t:t'], 'u:alice': tie(), ...more }, [today()]: set(NONCE) });
  const resend = (more) => ({ call: add({ nonce: 1, mark: MARK, ...more }), frame: { nonces: [NONCE] } });
  const tied = (...marks) => (found) => {
    const pattern = marks.map(([mark, seq]) => `${mark} (\\d{13}) ${seq};`).join('');
    const match = new RegExp(`^${pattern}$`).exec(found);
    return match?.slice(1).every((s) => Math.abs(Number(s) - Date.now()) < 60_000);
  };

  cases([
    {
      name: 'a signed query leaves its mark in its user\'s tie to the topic',
      ...resend(),
      reply: ok(1),
      after: () => ({ ...open1, 't:t': { ...open1['t:t'], 'u:alice': tied([MARK, 1]) }, [today()]: set(NONCE) }),
    },
    {
      name: 'the second one is put after it',
      before: () => ({ ...waiting1, 't:t': { ...waiting1['t:t'], 'u:alice': `${OTHER} ${ms(30)} 1;` } }),
      ...resend({ query: 'Q2' }),
      reply: ok(2),
      after: () => ({
        't:t': { ...topicOf([undefined]), seq: 2, 'u:alice': tied([OTHER, 1], [MARK, 2]), 'q:2': row({ query: 'Q2' }), open: openOf([1], [2]) },
        waiting: { 'Frontend_1 alice': 2 },
        meta: { lease: 0, depth: 2, vt: '0.000000' },
        [today()]: set(NONCE),
      }),
    },
    {
      name: 'a query without a signature keeps the marks that are there',
      before: () => ({ ...waiting1, 't:t': { ...waiting1['t:t'], 'u:alice': `${OTHER} ${ms(30)} 1;` } }),
      call: add({ query: 'Q2' }),
      reply: ok(2),
      after: () => ({
        't:t': { ...topicOf([undefined]), seq: 2, 'u:alice': tied([OTHER, 1]), 'q:2': row({ query: 'Q2' }), open: openOf([1], [2]) },
        waiting: { 'Frontend_1 alice': 2 },
        meta: { lease: 0, depth: 2, vt: '0.000000' },
      }),
    },
    { name: 'a used nonce with the same mark: the first answer, nothing stored', before: used(() => `${MARK} ${ms(30)} 1;`), ...resend(), reply: 'again\n1\n1000' },
    { name: 'a used nonce with its mark among others', before: used(() => `${OTHER} ${ms(60)} 7;${MARK} ${ms(30)} 1;${OTHER} ${ms()} 9;`), ...resend(), reply: 'again\n1\n1000' },
    { name: 'a used nonce with another mark: replay', before: used(() => `${OTHER} ${ms(30)} 1;`), ...resend(), reply: 'replay' },
    { name: 'a used nonce where no mark is kept: replay', before: used(() => '1'), ...resend(), reply: 'replay' },
    { name: 'a used nonce without a mark: replay', before: used(() => `${MARK} ${ms(30)} 1;`), ...resend({ mark: '' }), reply: 'replay' },
    { name: 'a used nonce in another topic: replay', before: used(() => `${MARK} ${ms(30)} 1;`), ...resend({ topic: 'u' }), reply: 'replay' },
    { name: 'a used nonce of another user: replay', before: used(() => `${MARK} ${ms(30)} 1;`), ...resend({ user: 'bob' }), reply: 'replay' },
    { name: 'a used nonce just within ten minutes', before: used(() => `${MARK} ${ms(580)} 1;`), ...resend(), reply: 'again\n1\n1000' },
    { name: 'a used nonce after ten minutes: replay', before: used(() => `${MARK} ${ms(660)} 1;`), ...resend(), reply: 'replay' },
    { name: 'a used nonce whose row is gone while its topic is deleted in steps: replay', before: used(() => `${MARK} ${ms(30)} 3;`), ...resend(), reply: 'replay' },
    { name: 'a mark that was never stored is not found in what a restore left', before: used(() => 'x;;  ;1 2;'), ...resend(), reply: 'replay' },
    {
      name: 'race: the same request twice in one turn: one query',
      calls: [add({ nonce: 1, mark: MARK }), add({ nonce: 2, mark: MARK })],
      frame: { nonces: [NONCE, NONCE] },
      replies: [ok(1), again(1)],
      after: () => ({ ...open1, 't:t': { ...open1['t:t'], 'u:alice': tied([MARK, 1]) }, [today()]: set(NONCE) }),
    },
    {
      name: 'race: a used nonce in one turn with another body: one query, one replay',
      calls: [add({ nonce: 1, mark: MARK }), add({ nonce: 2, mark: OTHER, query: 'Q2' })],
      frame: { nonces: [NONCE, NONCE] },
      replies: [ok(1), 'replay'],
      after: () => ({ ...open1, 't:t': { ...open1['t:t'], 'u:alice': tied([MARK, 1]) }, [today()]: set(NONCE) }),
    },
    {
      name: 'a refused one leaves no mark, and its nonce is used up',
      before: waiting1,
      calls: [add({ nonce: 1, mark: MARK, max: 1 }), add({ nonce: 2, mark: MARK })],
      frame: { nonces: [NONCE, NONCE] },
      replies: ['waiting\n1\n\nuser', 'replay'],
      after: () => ({ ...waiting1, [today()]: set(NONCE) }),
    },
    {
      name: 'what an Idempotency-Key has answered is answered again to the same nonce',
      before: { ...waiting1, 'idem:Frontend_1:k1': `${DIGEST} ok\n1\n1000` },
      calls: [add({ nonce: 1, mark: MARK, idem: 'k1' }), add({ nonce: 2, mark: MARK, idem: 'k1' })],
      frame: { nonces: [NONCE, NONCE] },
      replies: ['again\n1\n1000', 'again\n1\n1000'],
      after: () => ({ 't:t': { ...waiting1['t:t'], 'u:alice': tied([MARK, 1]) }, [today()]: set(NONCE) }),
    },
    {
      name: 'an Idempotency-Key does not bring a deleted topic back',
      before: { 'idem:Frontend_1:k1': `${DIGEST} ok\n1\n1000` },
      ...resend({ idem: 'k1' }),
      reply: 'again\n1\n1000',
      after: () => ({ [today()]: set(NONCE) }),
    },
    { name: 'a used nonce with the Idempotency-Key of another request: replay', before: () => ({ ...used(() => '1')(), 'idem:Frontend_1:k1': `${DIGEST} ok\n1\n1000` }), ...resend({ idem: 'k1' }), reply: 'replay' },
  ]);

  test('a tie keeps the newest marks, and no more than 600 bytes of them', async () => {
    const marks = Array.from({ length: 100 }, (_, i) => String(i).padStart(12, '0'));
    for (const [i, mark] of marks.entries()) {
      const { replies } = await shard.turn([add({ nonce: 1, mark, max: 1e6 })], { nonces: [`nonc${mark}`] });
      assert.ok(ok(i + 1)(replies[0]), replies[0]);
      assert.ok((await shard.get('t:t'))['u:alice'].length < 600);
    }
    for (const [i, mark] of marks.entries()) {
      const { replies } = await shard.turn([add({ nonce: 1, mark })], { nonces: [`nonc${mark}`] });
      if (i >= 92) assert.ok(again(i + 1)(replies[0]), `${i}: ${replies[0]}`);
      if (i < 80) assert.equal(replies[0], 'replay');
    }
  });

  test('a topic takes 1,000 Open queries, and one claim takes them all', async () => {
    const turn = Array.from({ length: 100 }, () => add({ max: 5000 }));
    for (let i = 0; i < 10; i++) {
      const { replies } = await shard.turn(turn);
      assert.ok(replies.every((reply) => reply.startsWith('ok\n')), replies[0]);
    }
    assert.equal(await shard.call(...add({ max: 5000 })), 'waiting\n1000\n\ntopic');
    assert.ok(ok(1)(await shard.call(...add({ topic: 'u', max: 5000 }))), 'another topic has room');
    assert.match(await shard.call('claim', 0, 'E|*', '0'), /^claim\nE\|\*\nt\n1\n1\n1000\n1\n/);
    assert.equal((await shard.get('meta')).depth, '1');
    assert.ok(ok(1001)(await shard.call(...add({ max: 5000 }))), 'room again');
  });

  test('claims that come back may make more than 1,000 Open: they go in two claims', async () => {
    const turn = Array.from({ length: 100 }, () => add({ max: 5000 }));
    for (let i = 0; i < 20; i++) {
      await shard.turn(turn);
      if (i === 9) await shard.call('claim', 0, 'E|*', '0');
    }
    assert.equal(await shard.call('give_back', 't', '1'), 'ok');
    const replies = [];
    for (let i = 0; i < 3; i++) replies.push(await shard.call('claim', 0, 'E|*', '0'));
    assert.match(replies[0], /^claim\nE\|\*\nt\n2\n1\n1000\n1\n/);
    assert.match(replies[1], /^claim\nE\|\*\nt\n3\n1\n1000\n1001\n/);
    assert.equal(replies[2], 'empty');
    assert.deepEqual((await shard.get('t:t')).open, '');
    assert.equal(await shard.get('models'), undefined);
  });

  test('no more than 1,000 models are waited for', async () => {
    for (let i = 0; i < 10; i++) {
      await shard.turn(Array.from({ length: 100 }, (_, k) => add({ topic: `t${i}-${k}`, model: `m${i}-${k}`, account: `Frontend_${i}`, max: 5000 })));
    }
    assert.equal(await shard.call(...add({ topic: 'new', model: 'one-more', account: 'late' })), 'full\n1000\n');
    assert.ok(ok(1)(await shard.call(...add({ topic: 'new', model: 'm0-0', account: 'late' }))), 'a known one has room');
    assert.ok(ok(1)(await shard.call(...add({ topic: 'newest', account: 'late' }))), 'default has room');
    for (let i = 0; i < 2; i++) assert.match(await shard.call('claim', 0, 'E|m5-5', '0'), /^claim/);
    assert.ok(ok(1)(await shard.call(...add({ topic: 'newer', model: 'one-more', account: 'late' }))), 'room again');
  });

  test('an account that invents 100 models gets no more, others do, and one that is no longer waited for makes room', async () => {
    const invent = (k, more) => add({ topic: `t${k}`, user: `u${k % 10}`, model: `m${k}`, ...more });
    const { replies } = await shard.turn(Array.from({ length: 101 }, (_, k) => invent(k)));
    assert.ok(replies.slice(0, 100).every((reply) => ok(1)(reply)));
    assert.equal(replies[100], 'waiting\n100\n\nmodels');
    assert.ok(ok(1)(await shard.call(...invent(7, { topic: 'known' }))), 'a model of its own has room');
    assert.ok(ok(1)(await shard.call(...invent(100, { account: 'Frontend_2' }))), 'another account has room');
    assert.ok(ok(1)(await shard.call(...add({ topic: 'plain' }))), 'default has room');
    for (const topic of ['t7', 'known']) assert.equal(await shard.call('cancel', 0, topic, 1, '', '"no"'), 'ok');
    assert.ok(ok(1)(await shard.call(...invent(101))), 'room again');
    assert.equal(await shard.call(...invent(102)), 'waiting\n100\n\nmodels');
  });

  test('a long first row leaves a title of 200 characters, cut between characters', async () => {
    for (const [topic, query, title] of [
      ['a', 'x'.repeat(2000), 'x'.repeat(200)],
      ['b', '\u{1F600}'.repeat(500), '\u{1F600}'.repeat(200)],
      ['c', '"'.repeat(1500), '"'.repeat(200)],
      ['d', `${'y'.repeat(199)}\u20ac${'z'.repeat(900)}`, `${'y'.repeat(199)}\u20ac`],
    ]) {
      await shard.call(...add({ topic, query }));
      assert.equal(JSON.parse((await shard.get(`t:${topic}`)).title), title);
    }
    const escaped = JSON.stringify('q'.repeat(100)).slice(0, -1) + '\\ud83d\\ude00'.repeat(150) + '"';
    await shard.call('add', 0, 'e', 'alice', 'F', 'default', 1, 100, lines('"alice"', '"default"', '{}', '', escaped), '', '', '');
    assert.equal(JSON.parse((await shard.get('t:e')).title), 'q'.repeat(100) + '\u{1F600}'.repeat(100));
    await shard.call('add', 0, 'f', 'alice', 'F', 'default', 1, 100, tailOf({ modifiers: `{"a":"${'m'.repeat(3000)}"}` }), '', '', '');
    assert.equal((await shard.get('t:f')).title, '"Why?"', 'modifiers are not read again for a list');
  });
});
