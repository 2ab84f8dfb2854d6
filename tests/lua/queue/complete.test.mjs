// SPDX-License-Identifier: MIT
//
// complete, cancel: how a query ends, once. Races by name.
import assert from 'node:assert/strict';
import { ago, anything, lines, openOf, rowOf, scripts, set, topicOf, ttl, zset } from '../../support/lua.mjs';

const ANSWER = lines('["42"]', '["hm"]', '"big"');
const complete = ({ topic = 't', seq = 1, lease = '', holder = 'E', query = 'Q1', answer = ANSWER, dialect = '', poll = [] } = {}) =>
  ['complete', 0, topic, seq, lease, holder, JSON.stringify(query), answer, dialect && 1, ...poll];
const ok = (seq = 1, lease = '7') => (reply) => new RegExp(`^ok\n${seq}\n\\d{13}\n\\d+\n${lease}$`).test(reply);
const stored = (found) => {
  const parts = found.split('\n');
  return parts.slice(0, 3).join('\n') === ANSWER && ago()(parts[3]) && parts[4] === 'E' && parts.length === 5;
};
const FACTS = '"FinishReason":"stop","Usage":{"prompt_tokens":1,"completion_tokens":2}';
const TODAY = Math.floor(Date.now() / 86_400_000), DAYS_S = 30 * 86_400;
const tokens = (p, c) => ({
  'tokens:alice': ttl(DAYS_S, { [`${TODAY} p`]: String(p), [`${TODAY} c`]: String(c) }),
  'account_tokens:Frontend_1': ttl(DAYS_S, { [`${TODAY} n default`]: '1', [`${TODAY} p default`]: String(p), [`${TODAY} c default`]: String(c) }),
});
const STORED = lines(ANSWER, 1500, 'E');
const LATER = 9e12;

const pending = ({ by = 'E', more = {} } = {}) => ({
  't:t': topicOf([`P 7 1 ${by} 1`], more),
  leases: zset({ '7 t': LATER }),
});
const done = { 't:t': topicOf(['D'], { 'a:1': STORED }) };
const open = {
  't:t': topicOf([undefined]),
  'open:default:alice': zset({ t: 1_000_000 }),
  'turns:default': zset({ alice: 0 }),
  models: set('default'),
  waiting: { 'Frontend_1 alice': '1' },
  meta: { lease: '7', depth: '1', vt: '0.000000' },
};
const notOpen = {
  'open:default:alice': null,
  'turns:default': null,
  models: null,
  waiting: null,
  meta: { lease: 7, depth: 0, vt: '0.000000' },
};
const endedWith = (more = {}) => ({ 't:t': { ...topicOf(['D']), 'a:1': stored, ...more }, leases: null });
const three = (states, more = {}) => ({ 't:t': topicOf(states, { 'l:7': '1 2 3', ...more }), leases: zset({ '7 t': LATER }) });

scripts('complete', ({ cases }) => {
  cases([
    { name: 'the holder without its lease', before: pending(), call: complete(), reply: ok(), after: endedWith() },
    {
      name: 'what the engine says of the answer is stored behind its account, and makes no other answer of it',
      before: pending(),
      calls: [[...complete(), '', '', '', '', FACTS], complete(), [...complete(), '', '', '', '', '"FinishReason":"length"']],
      replies: [ok(1, '7 1 2 default Frontend_1'), (reply) => reply.startsWith('same\n1\n'), (reply) => reply.startsWith('same\n1\n')],
      after: { 't:t': { ...topicOf(['D']), 'a:1': (found) => found.endsWith(`\nE ${FACTS}`) && found.split('\n').length === 5 }, leases: null, ...tokens(1, 2) },
    },
    ...[
      ['what it said in partial answers is stored', '', '"FinishReason":"length"', '"FinishReason":"length"', '7'],
      ['what it says with the answer replaces that, one by one', '"Usage":{"prompt_tokens":1,"completion_tokens":2}', '"FinishReason":"stop","Usage":{"prompt_tokens":1,"completion_tokens":1}', FACTS, '7 1 2 default Frontend_1'],
      ['a word that looks like Usage is none', '"FinishReason":"\\"Usage\\":{"', '"Usage":{"prompt_tokens":1,"completion_tokens":2}', '"FinishReason":"\\"Usage\\":{","Usage":{"prompt_tokens":1,"completion_tokens":2}', '7 1 2 default Frontend_1'],
    ].map(([name, said, before, kept, lease]) => ({
      name,
      before: pending({ more: { 'f:1': before } }),
      call: [...complete(), '', '', '', '', said],
      reply: ok(1, lease),
      after: { 't:t': { ...topicOf(['D']), 'a:1': (found) => found.endsWith(`\nE ${kept}`) }, leases: null, ...(lease !== '7' && tokens(1, 2)) },
    })),
    {
      name: 'its tokens are added up for its user and its account, and days that do not count any more go',
      before: () => ({ ...pending(), 'tokens:alice': ttl(60, { [`${TODAY - 30} p`]: '5', [`${TODAY - 30} c`]: '5', [`${TODAY - 29} p`]: '7' }), 'account_tokens:Frontend_1': ttl(60, { [`${TODAY - 30} p big`]: '5', [`${TODAY} n default`]: '3', [`${TODAY} p default`]: '10', [`${TODAY} c default`]: '20', [`${TODAY} p big`]: '1' }) }),
      call: [...complete(), '', '', '', '', FACTS],
      reply: ok(1, '7 1 2 default Frontend_1'),
      after: { 't:t': { ...topicOf(['D']), 'a:1': anything }, leases: null, 'tokens:alice': ttl(DAYS_S, { [`${TODAY - 29} p`]: '7', [`${TODAY} p`]: '1', [`${TODAY} c`]: '2' }), 'account_tokens:Frontend_1': ttl(60, { [`${TODAY - 30} p big`]: '5', [`${TODAY} n default`]: '4', [`${TODAY} p default`]: '11', [`${TODAY} c default`]: '22', [`${TODAY} p big`]: '1' }) },
    },
    {
      name: 'of one answer a billion at most, whatever its engine says',
      before: pending(),
      call: [...complete(), '', '', '', '', '"Usage":{"prompt_tokens":18446744073709551615,"completion_tokens":0}'],
      reply: ok(1, '7 1000000000 0 default Frontend_1'),
      after: { 't:t': { ...topicOf(['D']), 'a:1': anything }, leases: null, ...tokens(1e9, 0) },
    },
    { name: 'the holder with its lease', before: pending(), call: complete({ lease: '7' }), reply: ok(), after: endedWith() },
    {
      name: 'the nodes that wait get the answer, each once',
      before: pending({ more: { 'w:1': 'n1 n2' } }),
      alive: ['n2', 'n3'],
      call: complete(),
      reply: ok(),
      events: [(event) => event.startsWith(lines('outcome', 't', 1, 'Done', rowOf({ query: 'Q1' }), ANSWER, ''))],
      published: [['node:n2', (event) => event.startsWith(lines('outcome', 't', 1, 'Done', rowOf({ query: 'Q1' }), ANSWER, ''))]],
      after: endedWith({ 'w:1': '' }),
    },
    {
      name: 'a large answer is fetched by those who wait',
      before: pending({ more: { 'w:1': 'n2' } }),
      alive: ['n2'],
      call: complete({ answer: lines(`["${'x'.repeat(70_000)}"]`, 'null', 'null') }),
      reply: ok(),
      published: [['node:n2', 'changed\nt\n1']],
      after: endedWith({ 'w:1': '', 'a:1': (found) => found.length > 70_000 }),
    },
    {
      name: 'one of three: the lease continues for the others',
      before: three(['P 7 1 E 3', 'P 7 1 E 3', 'P 7 1 E 3']),
      call: complete({ seq: 2, query: 'Q2', lease: '7' }),
      reply: ok(2, '-'),
      after: { 't:t': { ...topicOf(['P 7 1 E 3', 'D', 'P 7 1 E 3']), 'a:2': stored, 'l:7': '1 2 3' } },
    },
    {
      name: 'the last of three ends the lease and its list',
      before: three(['D', 'D', 'P 7 1 E 3'], { 'a:1': STORED, 'a:2': STORED }),
      call: complete({ seq: 3, query: 'Q3' }),
      reply: ok(3),
      after: { 't:t': { ...topicOf(['D', 'D', 'D']), 'a:1': STORED, 'a:2': STORED, 'a:3': stored }, leases: null },
    },
    {
      name: 'race: the lease ended, nobody else has the query: the late answer is taken, and nobody gets it any more',
      before: open,
      call: complete({ lease: '7' }),
      reply: ok(1, '-'),
      after: { ...notOpen, 't:t': { ...topicOf(['D']), 'a:1': stored, open: '' } },
    },
    {
      name: 'race: the lease ended, another query of that user waits in the topic: it continues waiting',
      before: { ...open, 't:t': topicOf([undefined, undefined]), waiting: { 'Frontend_1 alice': '2' }, meta: { lease: '7', depth: '2', vt: '0.000000' } },
      call: complete(),
      reply: ok(1, '-'),
      after: {
        't:t': { ...topicOf([undefined, undefined]), 's:1': 'D', 'a:1': stored, open: openOf([2]) },
        waiting: { 'Frontend_1 alice': 1 },
        meta: { lease: 7, depth: 1, vt: '0.000000' },
      },
    },
    { name: 'race: another engine has claimed it since: lost, by the lease', before: pending({ by: 'F' }), call: complete({ lease: '6' }), reply: 'lost' },
    { name: 'race: another engine has claimed it since: lost, by the holder', before: pending({ by: 'F' }), call: complete(), reply: 'lost' },
    { name: 'the lease of another engine', before: pending({ by: 'F' }), call: complete({ lease: '7' }), reply: 'lost' },
    { name: 'race: the same engine has claimed it again: its first lease is lost', before: pending(), call: complete({ lease: '6' }), reply: 'lost' },
    { name: 'race: the same answer twice, after a lost reply: the same', before: done, call: complete(), reply: 'same\n1\n1500' },
    { name: 'race: two engines answer at once: the first wins, the other gets done', before: pending(), calls: [complete({ lease: '7' }), complete({ holder: 'F', answer: lines('["43"]', 'null', 'null') })], replies: [ok(), 'done'], after: endedWith() },
    { name: 'another answer to what is Done', before: done, call: complete({ answer: lines('["4"]', '["hm"]', '"big"') }), reply: 'done' },
    { name: 'an answer to what was cancelled', before: { 't:t': topicOf(['C "user"']) }, call: complete(), reply: 'cancelled' },
    { name: 'an answer to what has failed', before: { 't:t': topicOf(['F "tired"']) }, call: complete(), reply: 'failed' },
    { name: 'an unknown topic', call: complete(), reply: 'missing' },
    { name: 'an unknown Seq', before: done, call: complete({ seq: 2, query: 'Q2' }), reply: 'missing' },
    { name: 'a Seq that is no number', before: done, call: complete({ seq: '1 x', query: 'Q2' }), reply: 'missing' },
    { name: 'the text of no row that it holds', before: pending(), call: complete({ query: '?' }), reply: 'mismatch' },
    { name: 'the end of a text is another text', before: { 't:t': topicOf(['P 7 1 E 1'], { query: () => 'a "Q1' }) }, call: complete({ query: 'Q1' }), reply: 'mismatch' },
    {
      name: 'a Seq that is off: the row that it holds with that text is meant',
      before: three(['D', 'P 7 1 E 3', 'P 7 1 E 3'], { 'a:1': STORED }),
      call: complete({ seq: 1, query: 'Q2' }),
      reply: ok(2, '-'),
      after: { 't:t': { ...topicOf(['D', 'D', 'P 7 1 E 3']), 'a:1': STORED, 'a:2': stored, 'l:7': '1 2 3' } },
    },
    { name: 'a Seq that is off, and another engine holds that text', before: pending({ by: 'F' }), call: complete({ seq: 9 }), reply: 'missing' },
    ...['', 'deployed'].flatMap((dialect) => [
      {
        name: `race: the lease ended, Seq is off${dialect && ', deployed'}: the Open row with that text is meant`,
        before: { ...open, 't:t': topicOf([undefined], { open: openOf([1, 1]) }) },
        call: complete({ seq: 9, lease: '7', dialect }),
        reply: ok(1, '-'),
        after: { ...notOpen, 't:t': { ...topicOf(['D']), 'a:1': stored, open: '' } },
      },
      {
        name: `race: the lease ended, Seq is that of another text${dialect && ', deployed'}: the Open row with its own text is meant`,
        before: { ...open, 't:t': topicOf(['D', undefined], { 'a:1': STORED, open: openOf([2, 1]) }) },
        call: complete({ seq: 1, query: 'Q2', dialect }),
        reply: ok(2, '-'),
        after: { ...notOpen, 't:t': { ...topicOf(['D', 'D']), 'a:1': STORED, 'a:2': stored, open: '' } },
      },
      {
        name: `race: the lease ended, several rows are Open with that text${dialect && ', deployed'}: the lowest that was claimed before`,
        before: {
          ...open,
          't:t': topicOf([undefined, undefined, undefined], { query: () => 'Q', open: openOf([1, 0], [2, 1], [3, 1]) }),
          waiting: { 'Frontend_1 alice': '3' },
          meta: { lease: '7', depth: '3', vt: '0.000000' },
        },
        call: complete({ seq: 9, query: 'Q', dialect }),
        reply: ok(2, '-'),
        after: {
          't:t': {
            ...topicOf([undefined, undefined, undefined], { query: () => 'Q' }),
            's:2': 'D',
            'a:2': stored,
            open: openOf([1, 0], [3, 1]),
          },
          waiting: { 'Frontend_1 alice': 2 },
          meta: { lease: 7, depth: 2, vt: '0.000000' },
        },
      },
      {
        name: `race: the lease ended, and so did the node that handed it over${dialect && ', deployed'}: the lowest Open row, no attempt was counted`,
        before: { ...open, 't:t': topicOf([undefined]) },
        call: complete({ seq: 9, dialect }),
        reply: ok(1, '-'),
        after: { ...notOpen, 't:t': { ...topicOf(['D']), 'a:1': stored, open: '' } },
      },
      {
        name: `a row that it holds is meant rather than an Open one${dialect && ', deployed'}`,
        before: {
          ...open,
          't:t': topicOf([undefined, 'P 7 2 E 1'], { query: () => 'Q', open: openOf([1, 1]) }),
          leases: zset({ '7 t': LATER }),
        },
        call: complete({ seq: 9, query: 'Q', dialect }),
        reply: ok(2),
        after: {
          't:t': { ...topicOf([undefined, 'D'], { query: () => 'Q', open: openOf([1, 1]) }), 'a:2': stored },
          leases: null,
        },
      },
      {
        name: `race: the answer that was taken late comes twice${dialect && ', deployed'}: the same, and another Open row with that text waits on`,
        before: { ...open, 't:t': topicOf(['D', undefined], { query: () => 'Q', 'a:1': STORED, open: openOf([2, 1]) }) },
        call: complete({ seq: 9, query: 'Q', dialect }),
        reply: 'same\n1\n1500',
      },
      {
        name: `the end of a text is not a text${dialect && ', deployed'}, of an Open row neither`,
        before: { ...open, 't:t': topicOf([undefined], { query: () => 'a "Q1', open: openOf([1, 1]) }) },
        call: complete({ seq: 9, dialect }),
        reply: dialect ? 'mismatch' : 'missing',
      },
    ]),
    { name: 'an answer to what has failed, with a Seq that is off', before: { 't:t': topicOf(['F "tired"']) }, call: complete({ seq: 9 }), reply: 'missing' },
    {
      name: 'deployed: of equal texts the lowest Pending one, whatever Seq says',
      before: { ...three([undefined, 'P 7 1 E 3', 'P 7 1 E 3']), 't:t': topicOf(['D', 'P 7 1 E 3', 'P 7 1 E 3'], { query: () => 'Q1', 'l:7': '1 2 3', 'a:1': STORED }) },
      call: complete({ seq: 3, dialect: 'deployed' }),
      reply: ok(2, '-'),
      after: { 't:t': { ...topicOf(['D', 'D', 'P 7 1 E 3'], { query: () => 'Q1' }), 'a:1': STORED, 'a:2': stored, 'l:7': '1 2 3' } },
    },
    { name: 'deployed: a text that it does not hold, in a known topic', before: pending(), call: complete({ seq: 9, query: '?', dialect: 'deployed' }), reply: 'mismatch' },
    { name: 'deployed: an unknown topic', call: complete({ dialect: 'deployed' }), reply: 'missing' },
  ]);
});

scripts('complete, and the next claim', ({ cases, test }) => {
  const poll = ['E|*', 1, '', 7];
  const claim = lines('claim', 'E|*', 'u', 8, 1, 1, 1, rowOf({ query: 'Q1' }));
  const other = {
    't:u': topicOf([undefined]), 'open:default:alice': zset({ u: 1_000_000 }), 'turns:default': zset({ alice: 0 }),
    models: set('default'), waiting: { 'Frontend_1 alice': '1' }, meta: { lease: '7', depth: '1', vt: '0.000000' },
  };
  const next = (reply) => reply.replace(/^(ok\n1\n\d+\n\d+\n7|same\n1\n\d+)\n/, '') === claim;
  const taken = (reply) => new RegExp(`^ok\n1\n\\d{13}\n\\d+\n7\n${reply}$`);
  cases([
    { name: 'nothing waits: the poll is a credit', before: pending(), call: complete({ poll }), reply: (r) => taken('parked').test(r), after: { ...endedWith(), idle: zset({ 'n1 E|*': 1 }) } },
    { name: 'nothing waits, and it may not wait', before: pending(), call: complete({ poll: ['E|*', '', '', 0] }), reply: (r) => taken('empty').test(r), after: endedWith() },
    { name: 'an engine that names itself has one poll', before: { ...pending(), 'poll:E:box': 'n2 3' }, alive: ['n2'], call: complete({ poll: ['E|*', 1, 'box', 7] }), reply: (r) => taken('parked').test(r), published: [['node:n2', 'supersede\nE\nbox\n3']], after: { ...endedWith(), idle: zset({ 'n1 E|*': 1 }), 'poll:E:box': ttl(300, 'n1 7') } },
    { name: 'race: another engine holds the query now: nothing is claimed, and nobody is parked', before: { ...pending({ by: 'F' }), ...other, 't:t': pending({ by: 'F' })['t:t'] }, call: complete({ poll }), reply: 'lost' },
    { name: 'what is unknown claims nothing', before: other, call: complete({ poll }), reply: 'missing' },
  ]);

  test('what waits comes with the answer, also with an answer that is sent again', async (shard) => {
    for (const [name, state] of [['ok', 'P 7 1 E 1'], ['same', 'D']]) {
      await shard.seed({ ...other, 't:t': topicOf([state], state === 'D' ? { 'a:1': STORED } : {}), ...(state === 'D' ? {} : { leases: zset({ '7 t': LATER }) }) });
      const reply = await shard.call(...complete({ poll }));
      assert.ok(reply.startsWith(`${name}\n1\n`) && next(reply), reply);
      assert.equal(await shard.cmd('HGET', shard.key('t:t'), 's:1'), 'D');
      assert.equal(await shard.cmd('HGET', shard.key('t:u'), 's:1'), 'P 8 1 E 1');
      assert.deepEqual(await shard.cmd('ZRANGE', shard.key('leases'), 0, -1), ['8 u']);
      await shard.cmd('FLUSHALL');
    }
  });
});

scripts('cancel', ({ cases }) => {
  const cancel = ({ seq = 1, user = 'alice' } = {}) => ['cancel', 0, 't', seq, user, '"user"'];
  const outcome = (seq = 1) => lines('outcome', 't', seq, 'Cancelled', rowOf({ ms: 999 + seq, query: `Q${seq}` }), '"user"', '', '', '', '');
  cases([
    {
      name: 'an Open query leaves the queue, and waiters are notified',
      before: { ...open, 't:t': topicOf([undefined], { 'w:1': 'n1' }) },
      call: cancel(),
      reply: 'ok',
      events: [outcome()],
      after: { ...notOpen, 't:t': { ...topicOf(['C "user"']), open: '', 'w:1': '' } },
    },
    {
      name: 'a Pending query ends its lease; its engine will hear of it; its text goes',
      before: { ...pending(), 'partials:t:1': 'text' },
      call: cancel(),
      reply: 'ok\nended',
      after: { 't:t': topicOf(['C "user"'], { 'w:1': '', 'c:7': '1', 'k:1': 1 }), leases: null, 'partials:t:1': null },
    },
    {
      name: 'two of three: the engine hears of both and keeps the third',
      before: three(['P 7 1 E 3', 'P 7 1 E 3', 'P 7 1 E 3']),
      calls: [cancel({ seq: 3 }), cancel({ seq: 1 })],
      replies: ['ok', 'ok'],
      after: { 't:t': topicOf(['C "user"', 'P 7 1 E 3', 'C "user"'], { 'l:7': '1 2 3', 'c:7': '3,1', 'w:1': '', 'w:3': '', 'k:1': 1, 'k:3': 1 }) },
    },
    { name: 'race: cancelled twice: the same', before: { 't:t': topicOf(['C "first"']) }, call: cancel(), reply: 'ok' },
    { name: 'race: answered first: done', before: done, call: cancel(), reply: 'done' },
    { name: 'what has failed', before: { 't:t': topicOf(['F "tired"']) }, call: cancel(), reply: 'failed' },
    { name: 'of a user without a part in the topic', before: pending(), call: cancel({ user: 'bob' }), reply: 'missing' },
    { name: 'of anybody, for those who may', before: open, call: cancel({ user: '' }), reply: 'ok', after: { ...notOpen, 't:t': { ...topicOf(['C "user"']), open: '', 'w:1': '' } } },
    { name: 'an unknown Seq', before: done, call: cancel({ seq: 2 }), reply: 'missing' },
    { name: 'an unknown topic', call: cancel(), reply: 'missing' },
  ]);
});
