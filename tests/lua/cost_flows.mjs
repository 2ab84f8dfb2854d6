// SPDX-License-Identifier: MIT
//
// The flows that cost.test.mjs plays: calls of verbs on data as large as clients may make it, with a factor (m.n, m.json…) by
// which there may be less of it. A flow prepares what its verbs find; `m` is a Meter.
import assert from 'node:assert/strict';
import { expireAllDue, expireDue, whenDue } from '../support/due.mjs';
import { lines, tailOf } from '../support/lua.mjs';
import { ALICE, docId, docOf, jobId, jobOf, knowsVectorSets, packOf, shaOf } from '../support/lua_documents.mjs';

export const QUERY = 256 << 10; // services/broker: QUERY_MAX_BYTES, and so on
const ALPHABET = '"x"';
const ANSWER = 1 << 20;
const FRAGMENT = 64 << 10;
const UPLOAD_BLOCKS = 25; // of BLOCK bytes each: shared/redis/blocks.h
const BLOCK = 1 << 20;

export const flows = {
  async 'one query with all that it may hold, through its life'(m) {
    const answer = lines(`[${m.json(ANSWER)}]`, 'null', 'null');
    await m.expect(/^ok\n1/, 'add', 0, 't', 'alice', 'F', 'default', 1, 100, m.tail(), 'idem', 'abc', '');
    await m.expect(/^Open/, 'check', 0, 't', 1, '', 'position');
    const claim = await m.expect(/^claim/, 'claim', 0, 'E|*', '0');
    const lease = claim.split('\n')[3];
    await m.expect(/^ok/, 'delivered', `${lease} t`, 'E t 1 n1 1');
    await m.expect(/^ok/, 'extend', 0, 't', lease, 'E');
    await m.expect(/^ok/, 'partial', 0, 't', 1, lease, 0, m.text(500_000), m.text(500_000), 1 << 20, 'E', 'first', '"FinishReason":"stop"');
    await m.expect(/^1\nPending/, 'partials', 't', 1, '0-0', '');
    await m.expect(/^ok/, 'release', 0, 't', '', 'E', m.json(QUERY), '"tired"', 'retry');
    await m.call('claim', 0, 'E|*', '0');
    await m.expect(/^ok/, 'give_back', 't', '2', '1');
    await m.call('claim', 0, 'E|*', '0');
    await m.expect(/^ok/, 'complete', 0, 't', 1, '', 'E', m.json(QUERY), answer, '1');
    await m.expect(/^same/, 'complete', 0, 't', 1, '', 'E', m.json(QUERY), answer, '1');
    await m.expect(/^Done/, 'check', 0, 't', 1, '', 'wait');
    await m.expect(/^ok/, 'delete', 0, 'alice', 't', '');
    await m.call('add', 0, 't', 'alice', 'F', 'default', 1, 100, m.tail(), '', '', '');
    await m.expect(/^ok/, 'cancel', 0, 't', 1, '', m.json(1024));
    await m.expect(/^ok/, 'retry', 0, 't', 1);
  },

  async 'one request of a door with all that it may hold, through its life'(m) {
    const request = m.json(9 << 20);
    const deltas = Array.from({ length: m.n(12) }, () => `{"a":"${'x'.repeat(80_000)}"}`).join('\n');
    const bytes = deltas.replaceAll('\n', '').length;
    await m.cmd('HSET', m.key('models_seen'), 'chat/m', `${Date.now()} E `);
    for (const topic of ['a1', 'a2']) {
      await m.expect(/^ok/, 'door_ask', 0, topic, topic, topic, 'alice', 'F', 'chat/m', 1, 100, tailOf(), request);
      const claim = await m.expect(/^claim/, 'claim', 0, 'E|chat/m', '0');
      const lease = claim.split('\n')[3];
      await m.expect(/^ok/, 'request', topic, 1, lease);
      await m.expect(/^ok/, 'partial', 0, topic, 1, lease, 0, '', '', 1 << 20, 'E', 'whole', '', deltas);
      await m.expect(/^1\nPending/, 'partials', topic, 1, '0-0', '');
      if (topic === 'a1') await m.expect(/^ok/, 'complete', 0, topic, 1, lease, 'E', '', lines(`[${m.json(ANSWER)}]`, 'null', 'null'), '', '', '', '', '', '', deltas, bytes);
      else await m.expect(/^ok/, 'release', 0, topic, lease, 'E', '', '"no"', 'fail', '', `{"message":${m.json(8000)}}`);
      for (const how of ['left', 'over']) await m.expect(/^ok/, 'door_leave', topic, 1, topic, topic, '', how);
    }
    await m.expect(/^ok/, 'door_add', 0, 'k', 'k', 'e', 'alice', 'F', 'chat/m', 1, 100, tailOf(), request, '', m.metadata(), '', 0, '', '', 2 ** 40);
    for (const how of ['left', 'over']) await m.expect(/^ok/, 'door_leave', 'k', 1, 'k', 'e', '1', how);
    await m.call('sweep_asks');
  },

  async 'chat completions that are stored, as large as they may be'(m) {
    const answer = `"choices":[${m.json(8 << 20)}]`;
    await m.rows('t', 3, { state: () => 'D', answer: lines(`[${m.json(ANSWER)}]`, 'null', 'null', 1500, 'F') });
    await m.cmd('HSET', m.key('t:t'), 'stored', '1 F alice');
    for (const seq of [1, 2, 3]) await m.cmd('HSET', m.key('t:t'), `y:${seq}`, `a${m.metadata()}`, `r:${seq}`, m.json(9 << 20));
    await m.expect(/^ok/, 'door_keep', 't', 2, answer);
    for (const what of ['answer', 'request']) await m.expect(/^ok/, 'door_show', 0, 't', 2, 'F', 'alice', 'a', what);
    await m.expect(/^ok/, 'door_note', 0, 't', 2, 'F', 'alice', 'a', m.metadata(), 2 ** 40);
    for (const back of ['', '1']) await m.expect(/^ok/, 'door_list', 0, 'alice', 'F', '', back, 100, '', m.metadata());
    await m.expect(/^ok/, 'door_delete', 0, 't', 2, 'F', 'alice', 'a');
  },

  async 'responses that are kept, as large as they may be'(m) {
    const piece = `{"a":"${'x'.repeat(80_000)}"}`;
    await m.rows('t', 3, { state: () => 'D', answer: lines(`[${m.json(ANSWER)}]`, 'null', 'null', 1500, 'F') });
    await m.cmd('HSET', m.key('t:t'), 'stored', '1 F alice', 'u:alice', '1');
    for (const seq of [1, 2, 3]) {
      await m.cmd('HSET', m.key('t:t'), `i:${seq}`, 'a b 7', `j:${seq}`, m.json(4 << 20), `r:${seq}`, m.json(9 << 20));
      for (let i = 1; i <= m.n(100); i++) await m.cmd('XADD', m.key(`partials:t:${seq}`), `1-${i}`, 'k', 'd', 'x', piece);
    }
    for (const what of ['answer', 'request', 'sent']) await m.expect(/^ok/, 'response_show', 0, 't', 1, 'F', 'alice', 'a', what);
    await m.expect(/^ok/, 'response_log', 't', 2);
    await m.expect(/^ok/, 'response_keep', 't', 2, m.json(8 << 20));
    await m.expect(/^ok/, 'response_cancel', 0, 't', 2, 'F', 'alice', 'a');
    for (const seq of [1, 2]) await m.expect(/^ok/, 'response_delete', 0, 't', seq, 'F', 'alice', 'a');
    for (let i = 0; i < m.n(100); i++) {
      await m.rows(`resp_${i}`, 1, { state: () => 'D', answer: lines('["y"]', 'null', 'null', 1500, 'F') });
      await m.cmd('HSET', m.key(`t:resp_${i}`), 'u:alice', '1', 'i:1', 'a b 7', 'j:1', '""');
      await m.cmd('ZADD', m.key('responses'), 1, `resp_${i} 1`);
    }
    await m.call('sweep_asks');
  },

  async 'chat completions among very many other queries'(m) {
    await m.rows('t', m.n(20_000), { tail: tailOf() });
    for (let i = 0; i < m.n(2000); i++) await m.rows(`t${i}`, 1, { tail: tailOf() });
    for (const back of ['', '1']) await m.expect(/^ok/, 'door_list', 0, 'alice', 'F', '', back, 100, '', '');
  },

  async 'a topic of large rows'(m) {
    const answer = lines(`[${m.json(ANSWER)}]`, 'null', 'null', 1500, 'E');
    await m.rows('t', 6, { state: () => 'D', answer });
    await m.expect(/^ok/, 'thread', 0, 't', '', '0', '', '');
    await m.expect(/^ok/, 'thread', 0, 't', '', '', '7', '');
    await m.expect(/^ok/, 'list_lookups', 0, 't', '', '0', '');
    await m.expect(/^mismatch/, 'complete', 0, 't', 1, '', 'E', ALPHABET, lines('["y"]', 'null', 'null'), '');
    for (let i = 0; i < 6; i++) await m.rows(`t${i}`, 1);
    await m.expect(/^ok/, 'user_topics', 0, 'alice', '', '', '');
    await m.expect(/^ok/, 'user_topics', 0, 'alice', '', '', '1');
    await m.expect(/^ok/, 'rename', 0, 'alice', 't', m.json(1024));
    await m.call('purge', 3600, '0');
    await m.call('user_texts', 0, 'alice', '');
    await m.cmd('HSET', m.key('t:t'), 'u:bob', '1');
    await m.call('delete_user', 0, 'alice', 'o:alice');
  },

  async 'a topic of many rows'(m) {
    await m.rows('t', m.n(8000), { tail: tailOf() });
    await m.call('thread', 0, 't', '', '0', '', '');
    await m.call('list_lookups', 0, 't', '', '0', '');
    await m.call('complete', 0, 't', 1, '', 'E', ALPHABET, lines('["y"]', 'null', 'null'), '1');
    await m.expect(/^ok/, 'delete', 0, 'alice', 't', '');
    for (let i = 0; i < m.n(1000); i++) await m.rows(`t${i}`, 1, { tail: tailOf() });
    await m.call('user_topics', 0, 'alice', '', '', '');
    await m.call('purge', 3600, '0');
  },

  // As many as one call takes.
  async 'a user with many topics and recommendations'(m) {
    for (let i = 0; i < m.n(450); i++) await m.rows(`t${i}`, 1, { tail: tailOf() });
    for (let i = 0; i < m.n(450); i++) await m.shard.call('recommend', 0, 't1', 'alice', `{"n":${i}}`, 'F', 'alice');
    await m.call('usage', 0, 'alice', 'F', 'o:alice', 0);
    await m.call('user_texts', 0, 'alice', '');
    await m.call('user_recommendations', 0, 'alice', '');
    await m.call('delete_user', 0, 'alice', 'o:alice');
  },

  async 'a thousand Open queries of a topic, for models and users with long names'(m) {
    const name = (letter, i) => `${letter.repeat(100)}${i}`;
    const many = m.n(1000);
    for (let i = 0; i < many; i += 100)
      await m.shard.turn(Array.from({ length: Math.min(100, many - i) }, (_, k) =>
        ['add', 0, 't', name('u', (i + k) % 50), `F${i + k}`, name('m', i + k), 1, 100_000, tailOf(), '', '', '']));
    await m.call('add', 0, 't', 'bob', 'F', 'default', 1, 100_000, tailOf(), '', '', '');
    await m.call('check', 0, 't', 5, '', 'position');
    await m.call('list', 0, 'Open', '', 0, 100);
    await m.call('list', 0, 'Open', 'nobody', 0, 100);
    await m.call('status', 0);
    await m.call('cancel', 0, 't', 1, '', '"no"');
    await m.call('claim', 0, `E|${Array.from({ length: 4 }, (_, i) => name('m', i + 5)).join()}`, '0');
    await m.call('claim', 0, 'E|*', '0');
    await m.call('list', 0, 'Pending', '', 0, 100);
    const leases = await m.cmd('ZRANGE', m.key('leases'), 0, -1);
    const [lease] = leases.at(-1).split(' ');
    await m.call('extend', 0, 't', lease, 'E');
    await m.call('cancel', 0, 't', 20, '', '"no"');
    await m.call('release', 0, 't', lease, 'E', '', '"tired"', 'retry');
    await m.call('claim', 0, 'E|*', '0');
    await m.cmd('ZADD', m.key('leases'), 'XX', ...(await m.cmd('ZRANGE', m.key('leases'), 0, -1)).flatMap((lease) => [2, lease]));
    await m.call('reap');
    await m.call('sync', '{}', '', 0, 0, 1, 'E|*', 100, 0, 0, '', ...Array.from({ length: many }, (_, i) => [`E ${name('e', i)}`, '{"Models":"*","State":"waiting","ForMs":60000}']).flat());
    await m.call('status', 0);
    await m.call('delete', 0, name('u', 1), 't', '');
  },

  async 'a queue that is full, and a node that waits for room'(m) {
    for (let i = 0; i < m.n(10_000); i += 100)
      await m.shard.turn(Array.from({ length: 100 }, (_, k) => ['add', 0, `t${i + k}`, `u${i + k}`, `F${k}`, `m${k}`, 1, 1e6, tailOf(), '', '', '']));
    const waits = Array.from({ length: m.n(100) }, (_, i) => [`F${i}`, `u${i}`, `m${i}`, 1e6, 1e6]);
    await m.call('vacancies', ...waits.flat());
    await m.call('vacancies', ...waits.map(([, ...rest]) => [`F${'x'.repeat(500)}`, ...rest]).flat());
  },

  async 'claims of one query each, all of one topic, whose engine is gone'(m) {
    for (let i = 0; i < m.n(2000); i += 100) {
      await m.shard.call('sync', '{}', '', 0, 0, 1, 'E|*', 100, 0, 0, '');
      await m.shard.turn(Array.from({ length: 100 }, () => ['add', 0, 't', 'alice', 'F', 'default', 1, 1e6, tailOf(), '', '', '']));
    }
    const leases = (await m.cmd('ZRANGE', m.key('leases'), 0, -1)).sort((x, y) => parseInt(x) - parseInt(y)).slice(0, m.n(100));
    await m.expect(/^ok/, 'extend', 0, 't', leases[0].split(' ')[0], 'E');
    await m.cmd('ZADD', m.key('leases'), 'XX', ...leases.flatMap((lease) => [2, lease]));
    await m.call('reap');
  },

  async 'a thousand models that are waited for, by three queries each'(m) {
    const models = Array.from({ length: m.n(1000) }, (_, i) => `m${i}`);
    for (let k = 0; k < 3; k++)
      await m.shard.turn(models.map((model, i) => ['add', 0, `t${k}-${model}`, `u${i}`, `F${i % 10}`, model, 1, 1e6, tailOf(), '', '', '']));
    await m.expect(/^claim/, 'claim', 0, 'E|*', '0');
    await m.call('sync', '{}', '', 0, 0, 1, 'E|*', m.n(1000), 0, 0, '');
    await m.call('status', 0);
    await m.call('depth', 0);
    await m.call('fence');
  },

  async 'parked polls of a thousand accounts with long names'(m) {
    await m.cmd('ZADD', m.key('idle'), ...Array.from({ length: m.n(1000) }, (_, i) => [1 + (i % 3), `n1 ${'E'.repeat(120)}${i}|*`]).flat());
    await m.expect(/^ok/, 'front');
    await m.expect(/^ok/, 'node_leave');
  },

  async 'a thousand models that fall at once, and engines that name as many'(m) {
    const models = Array.from({ length: m.n(1000) }, (_, i) => `${'m'.repeat(100)}${i}`);
    await m.cmd('HSET', m.key('models_seen'), ...models.flatMap((model) => [model, `${Date.now()} E `]));
    await m.shard.turn(models.map((model, i) => ['add', 0, `t-${i}`, `u${i}`, `F${i % 10}`, model, 1, 1e6, tailOf(), '', '', '']), { fallbackMs: 30_000 });
    assert.equal(await m.cmd('ZCARD', m.key('falls')), models.length);
    await m.cmd('HSET', m.key('models_seen'), ...models.flatMap((model) => [model, '1 E ']));
    await m.cmd('ZADD', m.key('falls'), 'XX', ...models.flatMap((model) => [1, model]));
    await m.cmd('ZADD', m.key('idle'), ...Array.from({ length: m.n(128) }, (_, i) => [1, `n1 E|x${i}`]).flat());
    await m.call('reap');
    const classes = Array.from({ length: m.n(150) }, (_, i) => [`E|${Array.from({ length: 30 }, (_, k) => `${'e'.repeat(100)}${i}-${k}`).join()}`, 0, 0, 0, '7']);
    await m.call('sync', '{}', '', 0, 0, classes.length, ...classes.flat());
    await m.call('sync', '{}', '', 0, 0, classes.length, ...classes.flat());
  },

  async 'a thousand models of the doors, of engines that are at work'(m) {
    const models = Array.from({ length: m.n(1000) }, (_, i) => `chat/${'m'.repeat(100)}${i}`);
    await m.cmd('HSET', m.key('models_seen'), ...models.flatMap((model, i) => [model, `${Date.now() - 1000} E ${i}`]));
    await m.cmd('MSET', ...models.flatMap((_, i) => [m.key(`lease:${i}`), 'E x 1 n1 1']));
    assert.equal((await m.call('models', 0)).split('\n').length, 1 + 3 * models.length);
  },

  async 'an account with as many requests at a time as may be, of nodes that are gone, and as much usage'(m) {
    const at = Date.now() + 1_700_000;
    const day = Math.floor(Date.now() / 86_400_000);
    await m.cmd('ZADD', m.key('running:F'), ...Array.from({ length: m.n(1000) }, (_, i) => [at, `gone${i} ${i}`]).flat());
    await m.cmd('ZADD', m.key('limit:requests:F'), ...Array.from({ length: m.n(5000) }, (_, i) => [Date.now() * 1000, `r${i}`]).flat());
    await m.cmd('HSET', m.key('account_tokens:F'), ...Array.from({ length: m.n(4096) }, (_, i) => [`${day} n ${'m'.repeat(100)}${i}`, 1]).flat());
    await m.expect(/^ok/, 'budget_take', 0, 'F', 'id', 100_000, 1, m.n(1000));
    await m.expect(/^ok/, 'budget_release', 'F', 'id', '');
    await m.expect(/^ok/, 'budget_charge', 'F', 'n1', 'id', 5);
    await m.expect(/^ok/, 'account_usage', 0, 30, 'F');
  },

  async 'many large claims at once, and queries of operators'(m) {
    // A claim takes six of the half rows and three of the whole ones: of many, what one more takes is no matter.
    for (let i = 0; i < 24; i++) await m.shard.call('add', 0, 't', 'alice', 'F', 'default', 1, 100, m.tail(), '', '', '');
    await m.call('list', 0, 'Open', '', 0, 100);
    await m.call('claim', 0, 'E|*', '0');
    await m.call('list', 0, 'Pending', 'nobody', 0, 100);
    await m.call('sync', '{}', '', 0, 0, 1, 'E|*', 100, 0, 0, '');
    await m.cmd('ZADD', m.key('leases'), 'XX', ...(await m.cmd('ZRANGE', m.key('leases'), 0, -1)).flatMap((lease) => [2, lease]));
    await m.call('reap');
    await m.call('unpark', 'E|*');
    // Of nodes that are all gone, while a query is Open.
    m.shards = 4;
    await m.cmd('DEL', m.key('idle'));
    await m.cmd('SET', m.key('quiet:default'), '1');
    await m.call('add', 0, 'hinted', 'alice', 'F', 'default', 1, 1e6, m.tail(), '', '', '');
    await m.cmd('ZADD', m.key('hints'), ...Array.from({ length: m.n(1000) }, (_, i) => [i, `gone${i} E|*`]).flat());
    await m.call('work', 'default', '', 1);
    assert.equal(await m.cmd('ZCARD', m.key('hints')), 0);
    await m.call('hint', 'E|*');
    m.shards = 1;
    await m.call('supersede', 0, 'E', 'e', 1);
    await m.call('away', 0, 'E', 'e', 1000, `,"Models":${m.json(256)}}`);
    await m.call('engines', 't', 5000);
    await m.call('drain', 0, 'E', '1');
    await m.call('show', 'a', m.text(128 << 10));
    await m.rows('f', 8, { state: () => `F ${m.json(1024)}` });
    for (let seq = 1; seq <= 8; seq++) await m.cmd('ZADD', m.key('failed'), seq, `f ${seq}`);
    await m.call('list', 0, 'Failed', '', 0, 100);
    await m.call('retry', 0, 'f', 1);
  },

  async 'questions of its own'(m) {
    await m.cmd('HSET', m.key('engines'), 'E -', `${Date.now()} {}`);
    await m.expect(/^ok/, 'ask', 'd1', 'a1', 'alice', 'F', 'default', 1, m.tail());
    await m.expect(/^joined/, 'ask', 'd1', 'a2', 'alice', 'F', 'default', 1, m.tail());
    await m.call('ask_leave', 'a1', 0);
    await m.call('ask_leave', 'a1', 0);
    for (let i = 0; i < m.n(500); i++) await m.shard.call('ask', '', `b${i}`, 'alice', 'F', 'default', 1, tailOf());
    await m.cmd('ZADD', m.key('asks'), ...Array.from({ length: m.n(500) }, (_, i) => [1, `b${i}`]).flat());
    await m.call('sweep_asks');
  },

  async 'lookups of several shards'(m) {
    await m.rows('t', m.n(1000));
    const prints = Array.from({ length: m.n(1000) }, (_, i) => `f${i.toString(16)}`);
    for (const print of prints.slice(1)) await m.shard.call('note_lookup', 't', 1, '', print);
    const [, number, stamp, user] = (await m.expect(/^ok/, 'note_lookup', 't', 2, '', prints[0])).split('\n');
    const need = `t:${number}`;
    const open = (print) => ['open_lookup', need, print, `a${print}`, m.json(FRAGMENT), 5, 1, 'F', user, 1000];
    await m.expect(/^ok/, ...open(prints[0]));
    for (const print of prints.slice(1, 9)) await m.shard.call(...open(print));
    await m.expect(/^ok/, 'noted_lookups', 't', '', '0', '');
    await m.expect(/^ok/, 'read_lookups', need, ...prints.slice(0, m.n(200)));
    await m.expect(/^ok/, 'unnote_lookup', 't', 2, prints[0], stamp);
    const items = prints.slice(0, m.n(100)).map((print) => `${print} ${need}`);
    await m.cmd('ZADD', m.key('outbox'), ...prints.flatMap((print) => [0, `${print} ${need}`]));
    await m.expect(/^ok/, 'release_lookups', ...items);
    await m.expect(/^f/, 'outbox', '1', ...items);
  },

  async 'lookups and recommendations'(m) {
    await m.rows('t', 1, { tail: tailOf() });
    const add = (i) => ['add_lookup', 0, 't', 1, '', `f${i.toString(16)}`, `a${i.toString(16)}`, m.json(FRAGMENT), 5, 1, 'F', 1000];
    await m.expect(/^ok/, ...add(0));
    const [, , , lease] = (await m.expect(/^claim/, 'claim_lookup', 0, 'E|?', '0')).split('\n');
    await m.call('delivered_lookups', `${lease} f0`);
    await m.call('give_back_lookup', 'f0', lease, '1');
    await m.expect(/^ok/, 'match', 0, 'f0', `[${m.json(ANSWER)}]`);
    for (let i = 1; i < 40; i++) await m.shard.call(...add(i));
    await m.call('list_lookups', 0, 't', '', '0', '');
    const one = `{"Query":${m.json(QUERY)},"Fragment":${m.json(FRAGMENT)}}`;
    await m.expect(/^ok/, 'topic_tie', 0, 't', '');
    await m.expect(/^ok/, 'recommend', 0, 't', '', one, 'F', 'alice');
    for (let i = 0; i < 12; i++) await m.shard.call('recommend', 0, 't', '', one, 'F', 'alice');
    await m.expect(/^ok/, 'recommendations', 0, '0-0');
    await m.expect(/^ok/, 'list_recommendations', 0, '0-0', '');
    await m.expect(/^ok\n[^\n]*$/, 'list_recommendations', 0, '0-0', 'nobody');
    await m.expect(/^ok/, 'recommend', 0, 't', '', one, 'F', 'alice', '', '', '', 'd'.repeat(32), 1);
    const flagged = (await m.expect(/^ok\n.*\n.*\n1$/, 'recommend', 0, 't', '', one, 'F', 'alice', '', '', '', 'd'.repeat(32))).split('\n')[2];
    await m.expect(/^ok/, 'unrecommend', 0, flagged);
    await m.expect(/^ok/, 'recommendations', 0, '1-0', 1);
    await m.expect(/^ok/, 'delete', 0, 'alice', 't', '');
  },

  async 'a document, through its life'(m) {
    const cap = 1e9;
    const beginUpload = (n, size) => ['upload_begin', 0, ALICE, 'upload:alice:1000:60', docId(n), `"f${n}"`, size, shaOf(n), cap, '', ''];
    const push = (n, block) => m.cmd('RPUSHX', m.key(`pushed:${docId(n)}`), block);
    const upload = (n, size, blocks) => ['upload', ALICE, docId(n), jobId(n), `"f${n}"`, 'text/plain', 'text', size, blocks, shaOf(n), cap, '', ''];
    const [blocks, block] = [m.n(UPLOAD_BLOCKS), m.text(BLOCK)];
    await m.expect(/^ok/, ...beginUpload(1, blocks * block.length));
    for (let i = 0; i < blocks; i++) await push(1, block);
    await m.expect(/^ok/, ...upload(1, blocks * block.length, blocks));
    await m.call('watch_indexing', 0, ALICE);
    await m.call('watch_indexing_again', ALICE);
    await m.call('job_steal', 'i1', 1000);
    const entry = async (n) => (await m.cmd('XREADGROUP', 'GROUP', 'indexers', 'i1', 'COUNT', 1, 'STREAMS', m.key('jobs'), '>'))[0][1][0][0];
    const begin = async (n) => (await m.expect(/^ok/, 'job_begin', await entry(n), jobId(n), 'i1', 1000)).split('\n')[1];
    const lease = await begin(1);
    const job = [jobId(1), lease];
    await m.call('job_upload', ...job);
    await m.expect(/^ok/, 'job_progress', ...job, 'PARSE', 50, m.json(500));
    await m.expect(/^ok/, 'job_parsed', ...job, 100, cap, m.text(400_000), 1, ...Array.from({ length: m.n(900) }, () => 'b'.repeat(8192)));
    await m.call('job_text', ...job, 0);
    const pack = packOf(...Array.from({ length: m.n(50_000) }, (_, i) => [i * 100, i * 100 + 90]));
    await m.expect(/^ok/, 'job_store', ...job, 'hash', 4, 'exact', m.n(50_000), cap, 1, pack);
    await m.call('vectors');
    await m.expect(/^ok/, 'search', 0, ALICE, 'search:alice:1000:60', '', 10, '', 'abc');
    await m.expect(/./, 'packs', ALICE, docId(1), lease);
    await m.expect(/^ok/, 'chunk', 0, ALICE, docId(1), 20);
    await m.call('passages', ALICE, ...Array.from({ length: 100 }, (_, i) => [docId(1), lease, i]).flat());
    await m.expect(/^ok/, 'doc', 0, ALICE, docId(1));
    await m.expect(/^ok/, 'doc_reindex', 0, ALICE, docId(1), jobId(2));
    const second = [jobId(2), await begin(2)];
    await m.expect(/^ok/, 'job_pass', ...second, '"x"');
    await m.call('job_waiting');
    const third = [jobId(2), (await m.expect(/^ok/, 'job_begin', '', jobId(2), 'i1', 1000)).split('\n')[1]];
    await m.expect(/^ok/, 'job_release', ...third);
    const fourth = [jobId(2), await begin(2)];
    await m.expect(/^ok/, 'job_fail', ...fourth, m.json(500));
    for (let i = 10; i < 10 + m.n(400); i++) {
      await m.shard.call(...beginUpload(i, 5));
      await push(i, 'bytes');
      await m.shard.call(...upload(i, 5, 1));
    }
    await m.call('docs', 0, ALICE, '', '');
    await m.call('doc_content', 0, ALICE, docId(1), '', 0);
    await m.call('doc_content', 0, ALICE, docId(10), '', 0);
    await m.call('watch_indexing', 0, ALICE);
    await m.expect(/^ok/, 'doc_delete', 0, ALICE, docId(1));
    await m.call('sweep', 100);
    await m.call('unwatch_indexing', ALICE);
    await m.call('admit', 0, ALICE, Array.from({ length: 8 }, (_, i) => `w${i}:alice:10:60`).join());
  },

  async 'a restore'(m) {
    const PIECE = 1 << 20; // services/backup/read.lua: STEP_BYTES, STEP_FIELDS
    const FIELDS = 1000;
    await m.expect(/^ok/, 'restore_begin', 1000, 'r1');
    await m.expect(/^ok/, 'restore_lookup', 'f0', 1000, 'fragment', m.json(FRAGMENT), 'count', 5, 'threshold', 1, 'alias', 'a0', 'by', 'F', 'matches', `[${m.json(ANSWER)}]`);
    // One row as large as there is, with its answer; pieces of a thousand Open queries, the second one of a topic that has them.
    const answer = lines(`[${m.json(ANSWER)}]`, 'null', 'null', 1500, 'E');
    await m.expect(/^ok/, 'restore_topic', 't', '1', 'seq', 1, 'u:alice', 1, '@tie alice', 1000, '@name alice', m.json(1024), '@lookup 1 f0', 1000,
      'q:1', lines(1000, 'F alice default 1', m.tail()), 's:1', 'D', 'a:1', answer);
    const name = (letter, i) => `${letter.repeat(100)}${i}`;
    const row = (i) => [`q:${i}`, lines(1000, `F${i} ${name('u', i % 50)} ${name('m', i)} 1`, tailOf()), `@open ${i}`, 1];
    const open = (from, n) => Array.from({ length: n }, (_, i) => row(from + i)).flat();
    await m.expect(/^ok/, 'restore_topic', 'open', '1', 'seq', m.n(FIELDS), ...open(1, m.n(FIELDS / 2)));
    await m.expect(/^ok/, 'restore_topic', 'open', '0', ...open(1 + m.n(FIELDS / 2), m.n(FIELDS / 2)));
    const reason = `F "${'x'.repeat(1022)}"`; // of one size: there are twice as many of them already
    await m.expect(/^ok/, 'restore_topic', 'failed', '1', 'seq', m.n(FIELDS),
      ...Array.from({ length: m.n(FIELDS) }, (_, i) => [`q:${i + 1}`, lines(1000, 'F alice default 1', tailOf()), `s:${i + 1}`, reason, `@failed ${i + 1}`, i]).flat());
    await m.expect(/^ok/, 'restore_drop', 'open');
    await m.expect(/^ok/, 'restore_drop', 'failed');
    await m.expect(/^ok/, 'restore_drop', 't');
    await m.expect(/^ok/, 'restore_refs', 'f0', 0);
    await m.expect(/^ok/, 'restore_needs', 't:0', ...Array.from({ length: m.n(500) }, (_, i) => `f${i.toString(16)}`));
    const members = (n, values) => Array.from({ length: m.n(n) }, (_, i) => values(i)).flat();
    const steps = Array.from({ length: 20 }, (_, i) => i + 1);
    const approvers = Array.from({ length: m.n(100) }, (_, i) => `a.${i}`).join(' ');
    for (const i of steps) await m.expect(/^ok/, 'restore_key', `wfq:s.5.${i}`, 'hash', '', 'status', 'approved', 'approvers', approvers, 'asked', 1, 'closed', 2);
    await m.expect(/^ok/, 'restore_run', 's', 5, 0, 0, 0, steps.length, 'status', 'waiting', 'account', 'F', 'user', 'alice', 'session_id', 's1', 'ids', Array.from({ length: m.n(100) }, (_, i) => `r${i}`).join(' '), 'version', 'v1',
      'question', steps.length, 'questions', steps.join(' '), 'updated', 1, 'bytes', 5000, 'is_counted', 1, 'body', m.json(200_000), '@status', 'open', '@approvers', approvers, '@asked', 1, '@deadline', 9e12, '@body', m.json(200_000));
    await m.expect(/^ok/, 'restore_key', 'nonces:1', 'set', '', ...members(FIELDS, (i) => String(i).padStart(16, '.')));
    await m.expect(/^ok/, 'restore_key', 'limit:x', 'zset', '', ...members(FIELDS, (i) => [`m${i}`, i]));
    await m.expect(/^ok/, 'restore_key', 'stat:1', 'hash', '', ...members(FIELDS, (i) => [`f${i}`, 'x'.repeat(1000)]));
    await m.expect(/^ok/, 'restore_key', 'recommendations', 'stream', '', ...members(FIELDS, (i) => [`${i + 1}-0`, 6, 'r', 'x'.repeat(PIECE / FIELDS), 'a', name('a', i), 'u', name('u', i)]));
    await m.expect(/^ok/, 'restore_key', `upload:${docId(1)}`, 'list', '', 0, m.text(BLOCK));
    const pack = packOf(...Array.from({ length: m.n(50_000) }, (_, i) => [i * 100, i * 100 + 90]));
    await m.expect(/^ok/, 'restore_key', `pack:${docId(1)}:5`, 'string', '', pack);
    const hasSets = await knowsVectorSets(m);
    const digest = 'abc';
    const vector = Buffer.from(new Float32Array(1024).fill(0.5).buffer).toString('latin1');
    if (hasSets) await m.expect(/^ok/, 'restore_vectors', `${ALICE}:${digest}`, `${docId(1)}:5`, 0, ...Array(m.n(PIECE / 4096)).fill(vector));
    const doc = docOf({ n: 1, state: 'INDEXED', upload: 'x', chunks: m.n(50_000), filename: m.json(1024), doc: { job: jobId(1), text: '', text_bytes: 0 } });
    const job = Object.entries(jobOf({ n: 1, jobState: 'QUEUED' })).flatMap(([field, value]) => [`@job ${field}`, value]);
    await m.expect(/^ok/, 'restore_document', docId(1), hasSets ? 1 : 0, ...Object.entries(doc).flat(), ...job, '@recent', 1e15, '@space model', 'hash', '@space dimension', 4, '@space vectors', 'exact');
  },

  async 'a workflow run with all that it may hold'(m) {
    const S = 'a'.repeat(32);
    const [body, frame, record] = [m.json(190_000), m.json(250_000), m.json(16_000)];
    const approvers = Array.from({ length: m.n(100) }, (_, i) => `a.${'x'.repeat(100)}${i}`);
    const begin = (request) => ['workflow_begin', S, 'F', 'alice', 's', request, 'RULE', 'v1', m.text(500_000), 'a', body, 1e12, 1e12];
    await m.expect(/^version/, 'workflow_begin', S, 'F', 'alice', 's', 'r', 'RULE', 'v1', '', 'a', body, 1e12, 1e12);
    const [, run, fence] = (await m.expect(/^begun/, ...begin('r'))).split('\n');
    await m.expect(/^known/, ...begin('r'));
    const step = (n, status, by = fence, of = run) => ['workflow_step', S, of, by, n, status, '', 'a', 0, body, frame, record, status === 'waiting' ? m.json(60_000) : '', status === 'waiting' ? 100 : '', '1', 1e9, ...(status === 'waiting' ? approvers : [])];
    for (let n = 1; n <= m.n(30); n++) await m.shard.call(...step(n, 'running'));
    const at = m.n(30) + 1;
    await m.expect(/^ok/, ...step(at, 'running'));
    await m.expect(/^ok/, ...step(at, 'running'));
    await m.expect(/^ok/, ...step(at + 1, 'waiting'));
    await m.expect(/^ok/, 'workflow_watch', S, 'r', 0);
    await m.expect(/^ok/, 'workflow_watch_again', S);
    await m.expect(/^ok/, 'workflow_question', 0, S, run, at + 1);
    await m.expect(/^ok/, 'workflow_file', S, 'v1');
    for (let i = 0; i < m.n(90); i++) await m.shard.call('workflow_echo', S, `${'e'.repeat(300)}${i}`);
    await m.expect(/^ok/, 'workflow_echo', S, 'e');
    await m.expect(/^ok/, 'workflow_find', S, 'e');
    const answer = (i, isApproved, corrections) => ['workflow_answer', 0, S, run, at + 1, approvers[i].slice(2), 'bob', m.json(4000), 'http', isApproved, corrections, corrections, m.json(8000), ...approvers.slice(Math.max(0, i - 19), i + 1)];
    for (let i = 0; i < 5; i++) await m.shard.call(...answer(i, '1', m.json(20_000)));
    await m.expect(/^counted/, ...answer(10, '1', m.json(64_000)));
    await m.expect(/^again/, ...answer(10, '1', m.json(64_000)));
    await m.expect(/^decided/, ...answer(approvers.length - 1, '', ''));
    await m.expect(/^ok/, 'workflow_load', S, run);
    await m.expect(/^ok/, 'workflow_history', 0, 'alice', '', '', '', '', '', '');
    await m.expect(/^ok/, 'workflow_questions', 0, 'all', '', '', ...approvers.slice(0, 20));
    assert.ok((await whenDue(m, 'wf_due', `${S}.${run}`)) > Date.now());
    await expireDue(m, 'wf_due', `${S}.${run}`);
    await m.expect(/^1$/, 'workflow_due', 1000);
    const [, next] = (await m.expect(/^a/, 'workflow_take', 100, '')).split('\n');
    await m.expect(/^$/, 'workflow_renew', `${S}.${run}`, next);
    await m.expect(/^ok/, 'workflow_release', S, run, next, 1e6);
    await m.expect(/^ok/, ...step(at + 2, 'done', next));
    await m.expect(/^ok/, 'workflow_unwatch', S);
    await m.expect(/^done/, 'workflow_delete', 0, 'alice');
  },

  async 'many workflow runs of a user, with a hundred approvers each'(m) {
    const sessions = Array.from({ length: m.n(100) }, (_, i) => i.toString(16).padStart(32, '0'));
    const approvers = Array.from({ length: 20 }, (_, i) => `r.${i}`);
    const runs = [];
    for (const session of sessions) {
      const [, run, fence] = (await m.shard.call('workflow_begin', session, 'F', 'alice', 's', 'r', 'RULE', 'v1', 'x', 'a', '{}', '', '')).split('\n');
      await m.shard.call('workflow_step', session, run, fence, 1, 'waiting', '', 'a', 0, m.json(100), '{}', '{}', '{}', 1, '1', '', ...approvers);
      runs.push([session, run]);
    }
    await m.expect(/^ok/, 'workflow_questions', 0, 'open', '', '', ...approvers);
    await m.expect(/^ok/, 'workflow_history', 0, 'alice', '', '', '', '', '', '');
    await m.expect(/^ok/, 'workflow_history', 0, 'alice', 'nobody', '', '', '', '', '');
    await m.expect(/^decided/, 'workflow_answer', 0, ...runs[0], 1, 'G', 'bob', '{}', 'http', '1', '', '', '', 'r.1');
    await expireDue(m, 'wf_due', ...runs.map(([session, run]) => `${session}.${run}`));
    await m.call('workflow_take', 100, '');
    await m.call('workflow_renew', ...runs.flatMap(([session, run]) => [`${session}.${run}`, 7]));
    await m.cmd('ZADD', m.key('wf_done'), ...runs.flatMap(([session, run]) => [1, `${session}.${run}`]));
    await m.call('workflow_take', 0, 1000);
    await m.call('workflow_delete', 0, 'alice');
  },

  // What is looked at, and not what is returned, is what these cost.
  async 'lists of which nothing fits, and runs of which none is over'(m) {
    const S = 'a'.repeat(32), text = m.json(16_000), n = m.n(1000);
    for (let i = 0; i < n; i++) {
      const id = `${S}.${1000 + i}`, run = `${String(i).padStart(24, '0')}-1`;
      await m.cmd('HSET', m.key(`wfr:${id}`), 'status', 'running', 'account', 'F', 'user', 'alice', 'fence', 1, 'ids', text, 'body', text, 'log', 0, 'created', 1000, 'updated', 1000);
      await m.cmd('ZADD', m.key('wf_of:alice'), 1000 + i, id);
      await m.cmd('HSET', m.key(`evaluation:${run}`), 'status', 'running', 'account', 'F', 'user', 'alice', 'fence', 1, 'summary', text, 'bytes', 0);
      await m.cmd('ZADD', m.key('evaluations_of:alice'), 1000 + i, run);
    }
    const nothing = /^ok\n[^\n]*$/;
    await m.expect(nothing, 'workflow_history', 0, 'alice', 'G', '', '', '', '', '');
    await m.expect(nothing, 'workflow_history', 0, 'alice', '', '', '', 'done', '', '');
    await m.expect(nothing, 'workflow_history', 0, 'alice', '', '', 'none', '', '', '');
    await m.expect(nothing, 'workflow_history', 0, 'alice', '', 'b'.repeat(32), '', '', '', '');
    await m.expect(nothing, 'evaluation_list', 0, 'alice', 'G', '', '');
    await m.call('evaluation_begin', 0, 'e'.repeat(24), '-', 'G', 'alice', 'bot', '"bot"', 'cosine', 1, '[]', '', '');
  },

  async 'a room with bots, and all that it may hold'(m) {
    const R = 'a'.repeat(24);
    const json = JSON.stringify('x'.repeat(1000)); // of a name: there are more or fewer, of this length
    const many = (n, of) => Array.from({ length: m.n(n) }, (_, i) => of(i));
    const long = (i) => `${'b'.repeat(400)}${i}`;
    const bots = ['bot', ...many(9, long)], people = many(50, (i) => `${'p'.repeat(400)}${i}`);
    const register = (bot, endpoint) => ['bot_register', 0, bot, `look-${bot}`, '', '%', 'ab', m.json(1000), m.json(2000), endpoint ? m.text(2000) : '', 'annex', 'F', 'alice', 'frontend'];
    await m.expect(/^ok/, ...register('bot', true));
    await m.expect(/^ok/, ...register('puller', false));
    for (const bot of bots.slice(1)) await m.shard.call(...register(bot, true));
    await m.expect(/^ok/, 'bot_list', 0, '%', '', '');
    await m.expect(/^ok/, 'bot_find', 'bot', '1');
    await m.expect(/^ok/, 'bot_outcome', 'bot', 'ab', '1');
    await m.expect(/^ok/, 'bot_rotate', 0, 'bot', 'F', 'alice', '');
    await m.expect(/^ok/, 'name_claim', 'alice', 'look-alice', '%', 'F');
    for (const one of people) await m.shard.call('name_claim', one, `look-${one}`, '%', 'F');
    await m.expect(/^ok/, 'release_names', ...people.slice(0, m.n(100)).map((one) => `@1 ${one}`));
    await m.expect(/^ok/, 'names_find', ...[...bots, ...people].flatMap((one) => [one, `look-${one}`]));
    await m.expect(/^ok/, 'room_create', 0, R, '%', json, 'F', 'alice', 1e6);
    for (let i = 0; i < m.n(1000); i++) await m.shard.call('room_create', 0, String(i).padStart(24, '0'), '%', json, 'F', 'alice', 1e6);
    await m.expect(/^ok/, 'room_list', 0, '%', 1000, '');
    await m.expect(/^ok/, 'room_watch', R, '%', '');
    await m.expect(/^ok/, 'room_watch_again', R);
    const post = (text, names, replyTo = '', account = 'F') => ['message_add', R, '%', 'user', 'alice', 'look-alice', '"alice"', text, replyTo, account, 'alice', '1', '1', '', 'x', 100, 1e12, 1e12, '', ...names.flatMap((one) => [one, `look-${one}`, json, '1', 'x'])];
    const posted = (await m.expect(/^ok/, ...post(m.json(400_000), [...bots, ...people]))).split('\n');
    const [delivery, , fence] = posted.slice(4);
    for (let i = 0; i < m.n(90); i++) await m.shard.call(...post(JSON.stringify('x'.repeat(10_000)), ['bot'], '', i % 2 ? 'F' : 'G')); // past 100, and 50 of one account, it is busy
    for (let i = 0; i < m.n(40); i++) await m.shard.call(...post(JSON.stringify('x'.repeat(300_000)), ['puller']));
    const last = (await m.expect(/^ok/, ...post(m.json(400_000), ['bot', 'puller'], posted[1]))).split('\n');
    await m.expect(/^ok/, 'message_list', 0, R, '%', '', 1000);
    await m.expect(/^ok/, 'room_watch', R, '%', '');
    await m.expect(/^ok/, 'rooms_of_user', 'alice', 0, '');
    // A room that is full.
    await m.cmd('HSET', m.key(`room:${R}`), 'bytes', 64 << 20);
    await m.expect(/^ok/, ...post(m.json(400_000), []));
    await m.expect(/^ok/, 'delivery_attempt', R, delivery, fence, 1);
    await m.expect(/^missing/, 'delivery_read', R, delivery); // it was the oldest
    await m.expect(/^ok/, 'delivery_read', R, last[4]);
    await m.expect(/^$/, 'delivery_renew', ...Array(m.n(200)).fill([last[4], last[6]]).flat());
    await m.expect(/^ok/, 'delivery_accept', R, last[4], last[6]);
    await m.expect(/^ok/, 'delivery_reply', R, last[4], '', 'bot', m.json(1000), m.json(400_000), '1', 10, ...people.slice(0, m.n(40)).flatMap((one) => [one, `look-${one}`, json, 'x']));
    await expireAllDue(m, 'dlv_due');
    await m.expect(/^(both|deliveries)/, 'bots_due');
    const taken = (await m.expect(/^dlv_/, 'delivery_take', 100)).split('\n');
    await m.expect(/^ok/, 'delivery_fail', R, taken[0], taken[1], m.json(8000));
    await m.expect(/^ok/, 'delivery_silent', R, taken[8], taken[9], taken[10]);
    await m.expect(/^ok/, 'delivery_pull', 'puller', '1');
    await m.expect(/^ok/, 'delivery_unpoll', 'puller');
    await m.shard.call('delivery_take', 100); // the rest: there are more than one call takes, but not with half of them
    await m.cmd('ZADD', m.key('dlv_done'), ...many(200, (i) => [1, `dlv_${R}_1-0_${i}`]).flat());
    await m.call('delivery_take', 100);
    await m.expect(/^ok/, 'room_unwatch', R);
    await m.expect(/^ok/, 'bot_delete', 0, 'puller', 'F', 'alice', '');
    await m.expect(/^done|^more/, 'bot_forget_user', 'alice');
    await m.expect(/^more|^done/, 'room_forget_user', 0, 'alice', '');
  },

  async 'a room that is deleted, with a delivery of each message'(m) {
    const R = 'a'.repeat(24);
    await m.shard.call('bot_register', 0, 'bot', 'look-bot', '', '%', 'ab', '"bot"', '', 'http://bot.example/', 'annex', 'F', 'alice', 'frontend');
    await m.shard.call('room_create', 0, R, '%', '"Room"', 'F', 'alice', 1e6);
    const post = ['message_add', R, '%', 'user', 'alice', 'look-alice', '"alice"', '"Hello"', '', 'F', 'alice', '1', '1', '', 'x', 100, 1e12, 1e12, '', 'bot', 'look-bot', '"bot"', '1', 'x'];
    for (let i = 0; i < m.n(400); i++) await m.shard.call(...post);
    await m.expect(/^more|^done/, 'room_delete', 0, R, '%', 'F', 'alice', '', '');
  },

  async 'an evaluation with all that it may hold'(m) {
    const E = 'a'.repeat(24);
    const begin = (evaluation, conversation) => ['evaluation_begin', 0, evaluation, '%', 'F', 'alice', 'bot', m.json(1000), 'cosine', 100, conversation, 1e12, 1e12];
    const [, run, fence] = (await m.expect(/^begun/, ...begin(E, m.json(4 << 20)))).split('\n');
    await m.expect(/^known/, ...begin(E, m.json(4 << 20)));
    await m.expect(/^ok/, 'evaluation_load', E, run, fence);
    for (let i = 0; i < m.n(30); i++) await m.shard.call('evaluation_turn', E, run, fence, i, m.json(250_000), 'running', m.json(16_000));
    await m.expect(/^ok/, 'evaluation_turn', E, run, fence, m.n(30), m.json(250_000), 'running', m.json(16_000));
    await m.expect(/^ok/, 'evaluation_read', 0, E, run, 'F', 'alice', 0);
    await m.expect(/^$/, 'evaluation_renew', ...Array(m.n(100)).fill([`${E}-${run}`, fence]).flat());
    for (let i = 0; i < m.n(500); i++) {
      const id = String(i).padStart(24, '0');
      const [, other, by] = (await m.shard.call(...begin(id, '[]'))).split('\n');
      await m.shard.call('evaluation_turn', id, other, by, 0, '', 'done', m.json(16_000));
    }
    await m.expect(/^ok/, 'evaluation_list', 0, 'alice', 'F', '', '');
    await m.expect(/^ok\n\d*[^\n]*$/, 'evaluation_list', 0, 'alice', 'G', '', '');
    await expireDue(m, 'evaluation_due', `${E}-${run}`);
    const [, next] = (await m.expect(new RegExp(`^${E}`), 'evaluation_take', 100)).split('\n');
    await m.expect(/^ok/, 'evaluation_release', E, run, next);
    await m.expect(/^ok/, 'evaluation_cancel', 0, E, run, 'F', 'alice');
    await m.cmd('ZADD', m.key('evaluations_done'), ...(await m.cmd('ZRANGE', m.key('evaluations_done'), 0, m.n(100))).flatMap((id) => [1, id]));
    await m.call('evaluation_take', 100);
    await m.call('evaluation_forget_user', 'alice');
  },

  async 'names and ids'(m) {
    await m.call('failure', 65_535, 131_071, 1, m.json(4000));
    const accounts = Array.from({ length: m.n(300) }, (_, i) => [`${'a'.repeat(500)}${i}`, 100, 1]).flat();
    for (let node = 0; node < 16; node++) await m.shard.turn([['rates', ...accounts]], { node: `n${node}` });
    await m.call('rates', ...accounts);
    await m.call('nonce', 0);
    await m.expect(/^ok/, 'nonce_of_add', 0, 'ab cd');
    await m.expect(/^ok/, 'bind_key', m.text(1000), 'ab');
    await m.expect(/^ok/, 'unbind_key', m.text(1000), 'ab');
    await m.expect(/^ok/, 'nonce_of_refused', 'ab', 'cd');
    const marks = Array.from({ length: m.n(300) }, (_, i) => String(i).padStart(12, '0'));
    for (const what of ['held', 'lost', 'held']) await m.expect(/^ok/, 'nonces_held', ...marks.flatMap((mark) => [mark, what]));
    await m.cmd('ZADD', m.key('nodes'), ...Array.from({ length: m.n(1000) }, (_, i) => [1e12, `m${i}`]).flat());
    await m.expect(/^used/, 'nonce_again', 'f'.repeat(12), 5000);
    await m.call('key', 'abc');
  },
};
