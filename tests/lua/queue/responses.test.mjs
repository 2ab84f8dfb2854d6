// SPDX-License-Identifier: MIT
//
// Responses that are kept: response_show, response_log, response_keep, response_cancel, response_delete, and their time.
import assert from 'node:assert/strict';
import { lines, rowOf, scripts, stream } from '../../support/lua.mjs';

const TEXT = lines('["Hi"]', 'null', 'null', 1500, 'E');
const DAYS_30 = 2_592_000_000;
const row = () => rowOf({ user: 'alice', model: 'llama3', query: 'Hi' }).replace(' llama3 1', ' chat/llama3 1');
const part = (text) => `${Buffer.byteLength(text)}:${text}`;
// A topic of alice with these responses; of each its state, and what else it has.
const topicOf = (...queries) => Object.fromEntries([
  ['seq', String(queries.length)],
  ['u:alice', '1'],
  ...queries.flatMap(({ state = 'D', kind = 'f', log, ...more }, i) => Object.entries({
    [`q:${i + 1}`]: row(),
    ...(state ? { [`s:${i + 1}`]: state } : {}),
    ...(kind ? { [`i:${i + 1}`]: `a ${kind} 7${state === 'D' ? ' "Usage":{}' : ''}`, [`j:${i + 1}`]: '{}' } : {}),
    ...(log ? { [`v:${i + 1}`]: log } : {}),
    ...(state === 'D' ? { [`a:${i + 1}`]: TEXT } : {}),
    ...more,
  })),
]);
const pieces = stream(['1-3', { k: 'd', x: '{1}' }], ['1-6', { k: 'd', x: '{2}' }]);
const shown = ({ head, kind = 'f', again = '', facts = head ? '' : '"Usage":{}', text = '{}', log = '', deltas = '', answer = '\n\n\n\n' } = {}) =>
  `ok\n\0${[head ?? `Done\n${row()}\n${answer}`, kind, '7', again, facts, text, log, deltas].map(part).join('')}`;
const mine = { seq: 1, topic: 't', account: 'Frontend_1', user: 'alice', asker: 'a' };
const call = (verb, more = {}, ...rest) => {
  const { topic, seq, account, user, asker } = { ...mine, ...more };
  return [verb, 0, topic, seq, account, user, asker, ...rest];
};
const show = (more, what = 'answer') => call('response_show', more, what);
const STRANGERS = [{ account: 'Frontend_2' }, { user: 'bob' }, { user: 'carl' }, { asker: 'b' }, { seq: 9 }, { topic: 'u' }];

scripts('response_show', ({ cases }) => {
  const before = {
    't:t': { ...topicOf({ log: 'packed', 'r:1': '"{}"' }, {}, { state: '', kind: 'b' }, { state: 'P 7 1 E 1' }, { state: 'C "no"', 'h:5': '1' }, { state: 'F "no"', 'a:6': '{"message":"It broke."}' }, { kind: '' }, {}), 'u:bob': '1' },
    'partials:t:2': pieces,
  };
  cases([
    { name: 'packed or not, with its request', before, calls: [show(), show({}, 'sent'), show({ seq: 2 }), show({ seq: 2 }, 'request'), show({ seq: 8 })], replies: [shown({ log: 'packed' }), shown({ text: '"{}"' }), shown({ deltas: '{1}\n{2}' }), shown(), shown({ answer: TEXT })] },
    {
      name: 'one that runs, or was cancelled, or has failed',
      before,
      calls: [3, 4, 5, 6].map((seq) => show({ seq })),
      replies: [
        shown({ head: `Open\n${row()}`, kind: 'b' }),
        shown({ head: `Pending\n${row()}` }),
        shown({ head: `Cancelled\n${row()}\n"no"\n\n\n\n`, again: '1' }),
        shown({ head: `Failed\n${row()}\n"no"\n{"message":"It broke."}\n\n\n` }),
      ],
    },
    { name: 'of others, or none', before, calls: [...STRANGERS, { seq: 7 }].map((of) => show(of)), replies: Array(7).fill('missing') },
  ]);
});

scripts('response_log', ({ cases }) => {
  const log = (seq) => ['response_log', 't', seq];
  const before = { 't:t': topicOf({ log: 'packed' }, {}, { state: 'P 7 1 E 1' }, { state: 'C "no"' }, { kind: '' }), 'partials:t:2': pieces };
  cases([
    { name: 'of each state', before, calls: [1, 2, 4, 5, 6].map(log), replies: ['over', 'ok\n\0{1}\n{2}', 'over', 'over', 'over'] },
    { name: 'the node is notified of the end', before, call: log(3), reply: 'runs', after: { ...before, 't:t': { ...before['t:t'], 'w:3': 'n1' } } },
  ]);
});

scripts('response_keep', ({ cases }) => {
  const keep = (seq = 1, log = 'packed') => ['response_keep', 't', seq, log];
  cases([
    { name: 'in the place of the pieces, once', before: { 't:t': topicOf({}), 'partials:t:1': pieces }, calls: [keep(), keep(1, 'other')], replies: ['ok', 'ok'], after: { 't:t': topicOf({ log: 'packed' }), 'partials:t:1': null } },
    { name: 'it counts', before: { 't:t': { ...topicOf({}), stored: '4090 Frontend_1 alice' } }, call: keep(1, 'x'.repeat(10)), reply: 'ok', after: { 't:t': { ...topicOf({ log: 'x'.repeat(10) }), stored: '4100 Frontend_1 alice' }, stored: { 'Frontend_1 alice': '4096', Frontend_1: '65536' } } },
    { name: 'one that runs, was cancelled or is none', before: { 't:t': topicOf({ state: 'P 7 1 E 1' }, { state: 'C "no"' }, { kind: '' }) }, calls: [1, 2, 3, 4].map((seq) => keep(seq)), replies: Array(4).fill('missing') },
  ]);
});

scripts('response_cancel', ({ cases }) => {
  cases([
    { name: 'one that has ended stays', before: { 't:t': topicOf({ kind: 'b' }, { state: 'C "no"', kind: 'b' }) }, calls: [1, 2].map((seq) => call('response_cancel', { seq })), replies: ['ok', 'ok'], after: { 't:t': topicOf({ kind: 'b' }, { state: 'C "no"', kind: 'b' }) } },
    { name: 'not of others, nor one whose client waits', before: { 't:t': { ...topicOf({}), 'u:bob': '1' } }, calls: [{}, ...STRANGERS].map((of) => call('response_cancel', of)), replies: ['foreground', ...Array(6).fill('missing')] },
  ]);
});

scripts('responses', ({ test, shard }) => {
  const MODEL = 'chat/llama3';
  const add = async (topic, { background = '1', stored = 1 << 20 } = {}) => {
    await shard.cmd('HSET', shard.key('models_seen'), MODEL, `${Date.now()} E `);
    const reply = await shard.call('door_add', 0, topic, 'a', 'd', 'alice', 'Frontend_1', MODEL, 1, 100, '"alice"\n"llama3"\n{}\n\n"Hi"', '"{}"', '', '', '{"input":1}', 2, background, '', stored, '');
    assert.match(reply, /^ok\n/);
    return reply.split('\n')[2];
  };
  const state = async (topic) => Object.fromEntries((await shard.cmd('HGETALL', shard.key(`t:${topic}`))).reduce((pairs, text, i, all) => (i % 2 ? pairs : [...pairs, [text, all[i + 1]]]), []));
  const due = () => shard.cmd('ZRANGE', shard.key('responses'), 0, -1, 'WITHSCORES');
  const expire = async () => {
    for (const member of await shard.cmd('ZRANGE', shard.key('responses'), 0, -1)) await shard.cmd('ZADD', shard.key('responses'), 1, member);
    await shard.call('sweep_asks');
  };

  test('one in the background is no request that waits, and ends after 30 days', async () => {
    await add('resp_00');
    const [member, at] = await due();
    assert.equal(member, 'resp_00 1');
    assert.ok(Math.abs(Number(at) - Date.now() - DAYS_30) < 60_000);
    assert.equal(await shard.cmd('ZCARD', shard.key('asks')), 0);
    const topic = await state('resp_00');
    assert.equal(topic['x:1'], '- a a');
    assert.equal(topic['j:1'], '{"input":1}');
    assert.equal(await shard.call(...call('response_cancel', { topic: 'resp_00' })), 'ok');
    assert.match((await state('resp_00'))['s:1'], /^C /);
    await expire();
    assert.deepEqual(await state('resp_00'), {});
    assert.deepEqual(await due(), []);
    assert.deepEqual(await shard.cmd('HGETALL', shard.key('stored')), []);
  });

  test('a topic that its client has named stays, and counts what is left', async () => {
    await add('mine');
    const before = (await state('mine')).stored;
    await shard.call(...call('response_cancel', { topic: 'mine' }));
    await expire();
    const topic = await state('mine');
    assert.deepEqual(Object.keys(topic).filter((field) => /^[hijrv]:/.test(field)), []);
    assert.ok(topic['q:1'].endsWith('"Hi"'));
    assert.ok(Number.parseInt(topic.stored, 10) < Number.parseInt(before, 10));
    assert.match(await shard.call('delete', 0, 'alice', 'mine', ''), /^ok/);
    assert.deepEqual(await shard.cmd('HGETALL', shard.key('stored')), []);
  });

  test('a deleted one is cancelled, and its place stays for those that continue it', async () => {
    await add('resp_01');
    await add('resp_01');
    const remove = (seq) => shard.call(...call('response_delete', { topic: 'resp_01', seq }));
    assert.equal(await remove(1), 'ok');
    assert.equal(await remove(1), 'missing');
    const topic = await state('resp_01');
    assert.deepEqual([topic['s:1'].slice(0, 1), topic['i:1'], topic['j:1']], ['C', undefined, undefined]);
    assert.ok(topic['i:2']);
    assert.deepEqual((await due()).filter((_, i) => i % 2 === 0), ['resp_01 2']);
    assert.equal(await remove(2), 'ok');
    assert.deepEqual(await state('resp_01'), {});
    assert.deepEqual(await shard.cmd('HGETALL', shard.key('stored')), []);
  });

  test('its engine is lost: with pieces it fails, without it is Open again', async () => {
    for (const [topic, isGiven] of [['resp_02', true], ['resp_03', false]]) {
      await add(topic);
      const lease = (await shard.call('claim', 0, `E|${MODEL}`, '0')).split('\n')[3];
      if (isGiven) assert.match(await shard.call('partial', 0, topic, 1, lease, 0, '', '', 1 << 20, 'E', 'whole', '', '{"a":1}'), /^ok/);
      assert.match(await shard.call('release', 0, topic, lease, 'E', '', '"gone"', 'retry', '', ''), /^ok/);
    }
    assert.match((await state('resp_02'))['s:1'], /^F /);
    assert.match((await state('resp_02'))['a:1'], /engine_lost/);
    assert.equal((await state('resp_03'))['s:1'], undefined);
  });

  test('the clock goes back', async () => {
    await add('resp_04');
    await shard.cmd('ZADD', shard.key('responses'), Date.now() + 2 * DAYS_30, 'resp_04 1');
    await shard.call('sweep_asks');
    assert.ok(Number((await due())[1]) < Date.now() + DAYS_30 + 60_000);
  });
});
