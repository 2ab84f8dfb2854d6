// SPDX-License-Identifier: MIT
//
// Chat completions that are stored: door_keep, door_show, door_note, door_list, door_delete.
import assert from 'node:assert/strict';
import { lines, rowOf, scripts, set, stream, zset } from '../../support/lua.mjs';

const METADATA = '\n"k":"v"\n';
const TEXT = lines('["Hi"]', 'null', 'null', 1500, 'E');
const WHOLE = '"created":1,"choices":[]';
const row = (query = 'Hi', more = {}) => rowOf({ user: 'alice', model: 'llama3', query, ...more }).replace(' llama3 1', ' chat/llama3 1');
const without = (topic, ...fields) => Object.fromEntries(Object.entries(topic).filter(([field]) => !fields.includes(field)));
const part = (text) => `${Buffer.byteLength(text)}:${text}`;
// A topic of alice with these queries; of each its state, and what else it has.
const topicOf = (...queries) => Object.fromEntries([
  ['seq', String(queries.length)],
  ['u:alice', '1'],
  ...queries.flatMap(({ state = 'D', note = `a${METADATA}`, whole, text = TEXT, ...more }, i) => Object.entries({
    [`q:${i + 1}`]: row(),
    ...(state ? { [`s:${i + 1}`]: state } : {}),
    ...(note ? { [`y:${i + 1}`]: note } : {}),
    ...(whole ? { [`v:${i + 1}`]: whole } : {}),
    ...(state === 'D' ? { [`a:${i + 1}`]: text } : {}),
    ...more,
  })),
]);
const shown = (whole = TEXT, note = METADATA) => `ok\n\0${['a', note, row(), whole].map(part).join('')}`;
const at = (us, topic, seq, whole = TEXT) => [us, topic, seq, 'a', METADATA, row(), whole].map((text) => part(String(text))).join('');

scripts('door_keep', ({ cases }) => {
  const keep = (seq = 1, answer = WHOLE) => ['door_keep', 't', seq, answer];
  cases([
    { name: 'once, and then it stays', before: { 't:t': topicOf({}) }, calls: [keep(), keep(1, '"other"')], replies: ['ok', 'ok'], after: { 't:t': topicOf({ whole: WHOLE }) } },
    { name: 'it counts', before: { 't:t': { ...topicOf({}), stored: '4090 Frontend_1 alice' } }, call: keep(), reply: 'ok', after: { 't:t': { ...topicOf({ whole: WHOLE }), stored: `${4090 + WHOLE.length} Frontend_1 alice` }, stored: { 'Frontend_1 alice': '4096', Frontend_1: '65536' } } },
    { name: 'of a query that has not ended, or is no chat', before: { 't:t': topicOf({ state: 'P 7 1 E 1' }, { note: '' }, { state: 'C "no"' }) }, calls: [keep(1), keep(2), keep(3), keep(4)], replies: Array(4).fill('missing') },
  ]);
});

scripts('door_show', ({ cases }) => {
  const show = ({ seq = 1, account = 'Frontend_1', user = 'alice', asker = 'a', what = 'answer', topic = 't' } = {}) => ['door_show', 0, topic, seq, account, user, asker, what];
  const before = { 't:t': { ...topicOf({ whole: WHOLE, 'r:1': '"{}"' }, {}, { state: 'C "no"' }, { note: '' }), 'u:bob': '1' } };
  cases([
    { name: 'whole, with its text, or its request', before, calls: [show(), show({ seq: 2 }), show({ what: 'request' }), show({ seq: 2, what: 'request' })], replies: [shown(WHOLE), shown(), `ok\n\0${part('"{}"')}`, `ok\n\0${part('""')}`] },
    {
      name: 'of others, or none',
      before,
      calls: [show({ account: 'Frontend_2' }), show({ user: 'bob' }), show({ user: 'carl' }), show({ asker: 'b' }), show({ seq: 3 }), show({ seq: 4 }), show({ seq: 5 }), show({ topic: 'u' })],
      replies: Array(8).fill('missing'),
    },
    { name: 'of a user whose tie has gone', before: { 't:t': { ...without(topicOf({}), 'u:alice'), 'u:bob': '1' } }, call: show(), reply: 'missing' },
  ]);
});

scripts('door_note', ({ cases }) => {
  const note = (metadata, { asker = 'a', each = '' } = {}) => ['door_note', 0, 't', 1, 'Frontend_1', 'alice', asker, metadata, 1 << 20, each];
  const longer = `${METADATA}"other":"w"\n`;
  cases([
    { name: 'all of them are new', before: { 't:t': topicOf({}) }, call: note(longer), reply: shown(TEXT, longer), after: { 't:t': topicOf({ note: `a${longer}` }) } },
    { name: 'none', before: { 't:t': topicOf({}) }, call: note('\n'), reply: shown(TEXT, '\n'), after: { 't:t': topicOf({ note: 'a\n' }) } },
    { name: 'of another request', before: { 't:t': topicOf({}) }, call: note(longer, { asker: 'b' }), reply: 'missing' },
    {
      name: 'what is more counts, up to the limit',
      before: { 't:t': { ...topicOf({}), stored: '4096 Frontend_1 alice' }, stored: { 'Frontend_1 alice': '4096', Frontend_1: '65536' } },
      calls: [note(longer, { each: 4096 }), note(longer)],
      replies: [lines('stored', 4096, 4096, 'user'), shown(TEXT, longer)],
      after: { 't:t': { ...topicOf({ note: `a${longer}` }), stored: `${4096 + longer.length - METADATA.length} Frontend_1 alice` }, stored: { 'Frontend_1 alice': '8192', Frontend_1: '65536' } },
    },
  ]);
});

scripts('door_list', ({ cases, test, shard }) => {
  const list = ({ after = '', back = '', limit = 10, account = 'Frontend_1', user = 'alice', model = '', metadata = '' } = {}) => ['door_list', 0, user, account, after, back, limit, model, metadata];
  const before = {
    't:t': topicOf({ whole: WHOLE }, { note: '' }, {}, { state: 'C "no"' }),
    't:u': topicOf({}),
    't:v': topicOf({ note: '' }),
    'topics:alice': zset({ t: 1, u: 2, v: 3, gone: 4 }),
  };
  const all = [at(1000, 't', 1, WHOLE), at(1000, 't', 3), at(2000, 'u', 1)];
  const page = (next, ...items) => `ok\n${next}\n${items.length}\n\0${items.join('')}`;
  cases([
    { name: 'nothing', call: list(), reply: page('') },
    { name: 'in the order of the topics and queries, and back', before, calls: [list(), list({ back: '1' })], replies: [page('', ...all), page('', ...all.toReversed())] },
    {
      name: 'a page after the other',
      before,
      calls: [list({ limit: 1 }), list({ limit: 1, after: '1.1000.t' }), list({ limit: 1, after: '3.1000.t' }), list({ after: '1.2000.u' })],
      replies: [page('1.1000.t', all[0]), page('3.1000.t', all[1]), page('1.2000.u', all[2]), page('')],
    },
    {
      name: 'the same backwards',
      before,
      calls: [list({ limit: 2, back: '1' }), list({ back: '1', after: '3.1000.t' }), list({ back: '1', after: '1.1000.t' })],
      replies: [page('3.1000.t', all[2], all[1]), page('', all[0]), page('')],
    },
    {
      name: 'after places that are gone, or were never there',
      before,
      calls: [list({ after: '2.1000.t' }), list({ after: '9.1500.x' }), list({ after: '9.1000.s' }), list({ back: '1', after: '9.1500.x' }), list({ back: '1', after: '1.9999999999999999.z' }), list({ after: '1.0.z' })],
      replies: [page('', all[1], all[2]), page('', all[2]), page('', ...all), page('', all[1], all[0]), page('', ...all.toReversed()), page('', ...all)],
    },
    {
      name: 'of a model, with metadata, and of others',
      before,
      calls: [list({ model: 'chat/llama3' }), list({ model: 'chat/llama' }), list({ metadata: '"k":"v"\n' }), list({ metadata: '"k":"v"\n"l":"w"\n' }), list({ metadata: '"k":"' }), list({ account: 'Frontend_2' }), list({ user: 'bob' })],
      replies: [page('', ...all), page(''), page('', ...all), page(''), page(''), page(''), page('')],
    },
  ]);

  test('among very many topics and queries each call looks at some, and none is left out', async () => {
    for (let i = 0; i < 4000; i += 500) await shard.cmd('ZADD', shard.key('topics:alice'), ...Array.from({ length: 500 }, (_, k) => [i + k + 1, `t${i + k}`]).flat());
    await shard.seed({ 't:t7': { ...topicOf({}), seq: '50000' }, 't:t3999': topicOf({}), 't:t20': topicOf({ whole: 'x'.repeat(600_000) }, { whole: 'x'.repeat(600_000) }) });
    for (const back of ['', '1']) {
      const found = [];
      let calls = 0;
      for (let after = ''; ; calls++) {
        const reply = await shard.call(...list({ after, back, limit: 100 }));
        found.push(...[...reply.matchAll(/\d:(\d+000)\d:(t\d+)1:(\d)1:a/g)].map(([, us, topic, seq]) => `${us} ${topic} ${seq}`));
        [, after] = reply.split('\n');
        if (!after) break;
      }
      assert.ok(calls >= 1 && calls < 50, `${calls + 1} calls`);
      const expected = ['8000 t7 1', '21000 t20 1', '21000 t20 2', '4000000 t3999 1'];
      assert.deepEqual(found, back ? expected.toReversed() : expected);
    }
  });
});

scripts('door_delete', ({ cases }) => {
  const remove = ({ seq = 1, asker = 'a' } = {}) => ['door_delete', 0, 't', seq, 'Frontend_1', 'alice', asker];
  const tie = { 'topics:alice': zset({ t: 1 }), users: set('alice') };
  const blank = lines(1000, 'Frontend_1 % chat/llama3 1', '""', '"llama3"', '{}', '', '""');
  const REASON = 'C "Deleted with the data of its user."';
  cases([
    { name: 'the only query of its topic', before: { 't:t': topicOf({ whole: WHOLE, 'r:1': '"{}"' }), ...tie }, calls: [remove(), remove()], replies: ['ok', 'missing'], after: { 't:t': null, 'topics:alice': null } },
    {
      name: 'beside another one, its place stays',
      before: { 't:t': { ...topicOf({ whole: WHOLE, 'r:1': '"{}"' }, {}), title: '"Hi"' }, ...tie, 'partials:t:1': stream(['1-1', { k: 'd', x: '{}' }]) },
      call: remove(),
      reply: 'ok',
      after: { 't:t': { ...without(topicOf({}, {}), 'y:1', 'a:1'), 'q:1': blank, 's:1': REASON }, 'partials:t:1': null },
    },
    { name: 'in a topic that another user has a tie to', before: { 't:t': { ...topicOf({}), 'u:bob': '1' }, ...tie }, call: remove(), reply: 'ok', after: { 't:t': { ...without(topicOf({}), 'y:1', 'a:1'), 'u:bob': '1', 'q:1': blank, 's:1': REASON } } },
    {
      name: 'what it took is given back',
      before: { 't:t': { ...topicOf({ whole: WHOLE, 'r:1': '"{}"' }, {}), stored: '9000 Frontend_1 alice' }, stored: { 'Frontend_1 alice': '12288', Frontend_1: '65536' }, ...tie },
      call: remove(),
      reply: 'ok',
      after: { 't:t': (found) => Number(found.stored.split(' ')[0]) === 9000 - row().length - `a${METADATA}`.length - WHOLE.length - TEXT.length - 4 },
    },
    { name: 'of another request, or that has no answer', before: { 't:t': topicOf({}, { state: '' }), ...tie }, calls: [remove({ asker: 'b' }), remove({ seq: 2 })], replies: ['missing', 'missing'] },
  ]);
});
