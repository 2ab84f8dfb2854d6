// SPDX-License-Identifier: MIT
//
// Batches of OpenAI's interface: each line's result is stored once, however many nodes store it, and however often; how a batch ends,
// who may see it, and what is left of it.
import assert from 'node:assert/strict';
import { flow, lines, scripts } from '../support/lua.mjs';

const OWNER = 'a'.repeat(24), HALF = 50 << 20;
const idOf = (batch) => `${OWNER}-${batch}`;
const create = ({ batch = 'b1', input = 'f1', account = 'F', user = 'alice', window = 86_400, kept = 2_592_000 } = {}) => ['batch_create', 0, OWNER, account, user, batch, input, '/v1/chat/completions', '{}', window, kept];
const seen = (verb, { batch = 'b1', account = 'F', user = 'alice' } = {}) => [verb, 0, OWNER, account, user, batch];
const check = (fence, total, errors = '', batch = 'b1') => ['batch_check', OWNER, batch, fence, total, errors];
const put = (fence, results, { batch = 'b1', isExpired = '', stored = '', perUser = '' } = {}) => ['batch_put', OWNER, batch, fence, isExpired, stored, perUser, ...results.flat()];
const end = (fence, how, errors = '', batch = 'b1') => ['batch_end', OWNER, batch, fence, how, errors];
const load = (fence, batch = 'b1') => ['batch_load', OWNER, batch, fence];
const result = (line, { kind = 'output', text = `${kind} ${line}\n` } = {}) => [line, 10 * (line + 1), kind, text];
const NAMES = ['id', 'endpoint', 'input', 'status', 'created', 'in_progress', 'expires', 'finalizing', 'completed_at', 'failed_at', 'expired_at', 'cancelling_at', 'cancelled_at', 'total', 'completed', 'failed', 'output', 'error', 'errors', 'metadata'];

scripts('batches', ({ cases, test, shard }) => {
  const store = async (id = 'f1', purpose = 'batch') => {
    assert.equal(await shard.call('file_begin', 0, OWNER, 'F', 'alice', id, 3, '', ''), 'ok');
    await shard.cmd('RPUSHX', shard.key(`pushed:${id}`), 'xyz');
    assert.match(await shard.call('file_store', OWNER, 'F', 'alice', id, purpose, '"in"', 3, 1, '', '', ''), /^ok/);
  };
  const show = async (options) => {
    const [tag, ...rest] = (await shard.call(...seen('batch_show', options))).split('\n');
    assert.equal(tag, 'ok');
    assert.equal(rest.length, NAMES.length);
    return Object.fromEntries(rest.map((value, i) => [NAMES[i], value]));
  };
  const take = async (node = 'n1') => {
    const text = (await shard.turn([['batch_take', 10]], { node })).replies[0];
    return text === '' ? [] : text.split('\n').reduce((all, value, i) => (i % 4 ? all : [...all, { id: value, fence: text.split('\n')[i + 1] }]), []);
  };
  const begin = async (total = 3) => {
    await store();
    assert.match(await shard.call(...create()), /^ok\nb1\n/);
    const [{ id, fence }] = await take();
    assert.equal(id, idOf('b1'));
    assert.equal(await shard.call(...check(fence, total)), lines('ok', 'in_progress'));
    return fence;
  };
  const read = async (id) => (await shard.call('file_content', 0, OWNER, 'F', 'alice', id, 0)).split('\0')[1].replaceAll(/\d+:/g, '');
  const expireLease = async () => {
    for (const key of ['batches_due', 'batches_due:F', 'batches_due:F:alice']) for (const member of Object.keys((await shard.get(key)).value)) await shard.cmd('ZADD', shard.key(key), 1, member);
  };

  cases([
    { name: 'a batch of a file that is not there', call: create(), reply: 'missing' },
    { name: 'a batch that is not there', call: seen('batch_show'), reply: 'missing' },
    { name: 'nor can it be cancelled', call: seen('batch_cancel'), reply: 'missing' },
    { name: 'results of a batch that is not there', call: put(1, [result(0)]), reply: 'lost' },
    { name: 'nothing is due', call: ['batch_due'], reply: '0', after: { clock: (found) => Number(found.batches) > 0 } },
    { name: 'so many that have not ended', before: () => ({ [`file:${OWNER}-f1`]: { account: 'F', user: 'alice', purpose: 'batch', filename: '"a"', bytes: 1, created: 1, expires: '', counted: 0 }, batches_open: { 'F alice': 100 } }), call: create(), reply: lines('open', 100) },
  ]);

  test('each line is stored once, in any order, however often a call is sent, and the last one ends the batch', async () => {
    const fence = await begin();
    assert.equal(await shard.call(...put(fence, [result(2)])), lines('ok', 'in_progress'));
    for (let i = 0; i < 2; i++) assert.equal(await shard.call(...put(fence, [result(0), result(0), result(2, { text: 'other\n' })])), lines('ok', 'in_progress'));
    const loaded = (await shard.call(...load(fence))).split('\n');
    assert.ok(Number(loaded[4]) > 0);
    assert.deepEqual(loaded.toSpliced(4, 1), ['ok', 'in_progress', '/v1/chat/completions', 'f1', '3', '1', '10', '0', '2']);
    assert.equal(await shard.call(...put(fence, [result(1, { kind: 'error' })])), lines('ok', 'completed'));
    assert.equal(await shard.call(...put(fence, [result(1)])), 'lost');
    const b = await show();
    assert.deepEqual([b.status, b.total, b.completed, b.failed], ['completed', '3', '2', '1']);
    assert.equal(await read(b.output), 'output 2\noutput 0\n');
    assert.equal(await read(b.error), 'error 1\n');
    assert.deepEqual((await shard.names()).filter((name) => /^batch_|^batches_(due|open|n)/.test(name)), []);
    assert.deepEqual(await take(), []);
  });

  test('its results expire when its client has asked for', async () => {
    await store();
    await shard.call(...create({ kept: 3600 }));
    const [{ fence }] = await take();
    await shard.call(...check(fence, 2));
    await shard.call(...put(fence, [result(0), result(1, { kind: 'error' })]));
    const b = await show();
    for (const id of [b.output, b.error]) {
      const [, , , created, expires] = (await shard.call('file_show', 0, OWNER, 'F', 'alice', id)).split('\n');
      assert.equal(expires - created, 3_600_000);
    }
  });

  test('a node that was presumed dead stores nothing, and the next one continues where it was', async () => {
    const first = await begin();
    await shard.call(...put(first, [result(0), result(2)]));
    assert.deepEqual(await take('n2'), []);
    await expireLease();
    assert.equal(await shard.call('batch_due'), '1');
    const [{ fence }] = await take('n2');
    assert.equal(await shard.call(...put(first, [result(1, { text: 'late\n' })])), 'lost');
    for (const call of [check(first, 3), load(first), end(first, 'cancelled'), ['batch_release', OWNER, 'b1', first, 0]]) assert.equal(await shard.call(...call), 'lost');
    assert.equal(await shard.call('batch_renew', idOf('b1'), first), idOf('b1'));
    assert.equal(await shard.call('batch_renew', idOf('b1'), fence), '');
    assert.equal((await shard.call(...load(fence))).split('\n').slice(5).join(), '3,1,10,0,2');
    assert.equal(await shard.call(...put(fence, [result(1)])), lines('ok', 'completed'));
    assert.equal(await read((await show()).output), 'output 0\noutput 2\noutput 1\n');
  });

  test('a batch that is given back is taken at once', async () => {
    const fence = await begin();
    assert.equal(await shard.call('batch_release', OWNER, 'b1', fence, 0), 'ok');
    assert.equal((await take('n2')).length, 1);
  });

  test('nobody else sees it, and a list has pages', async () => {
    await store();
    for (const batch of ['b1', 'b2', 'b3']) assert.match(await shard.call(...create({ batch })), /^ok/);
    for (const options of [{ user: 'bob' }, { account: 'G' }]) for (const verb of ['batch_show', 'batch_cancel']) assert.equal(await shard.call(...seen(verb, options)), 'missing');
    const ids = async (after, limit) => {
      const [tag, isMore, ...rest] = (await shard.call('batch_list', 0, OWNER, 'F', 'alice', after, limit)).split('\n');
      return [tag, isMore, rest.filter((_, i) => i % NAMES.length === 0).join()];
    };
    assert.deepEqual(await ids('', 2), ['ok', '1', 'b3,b2']);
    assert.deepEqual(await ids('b2', 2), ['ok', '0', 'b1']);
    assert.equal(await shard.call('batch_list', 0, OWNER, 'F', 'alice', 'b9', 2), 'after');
    assert.equal(await shard.call('batch_list', 0, OWNER, 'G', 'alice', '', 2), 'ok\n0');
  });

  test('operators see those of everybody, the newest first, page by page, and how much is left of them', async () => {
    await store();
    for (const batch of ['b1', 'b2', 'b3', 'b4']) assert.match(await shard.call(...create({ batch })), /^ok/);
    const places = [['b1', 5], ['b2', 7], ['b3', 7], ['b4', 7]];
    await shard.cmd('ZADD', shard.key('batches_all'), ...places.flatMap(([batch, ms]) => [ms, idOf(batch)]));
    const [{ fence }] = (await take()).filter(({ id }) => id === idOf('b2'));
    await shard.call(...check(fence, 3, '', 'b2'));
    await shard.call(...put(fence, [result(0), result(1, { kind: 'error' })], { batch: 'b2' }));
    const list = async ({ account = '', user = '', status = '', after = '', limit = 9 } = {}) => {
      const [tag, next, ...rest] = (await shard.call('batch_list_all', 0, account, user, status, after, limit)).split('\n');
      assert.deepEqual([tag, rest.length % 12], ['ok', 0]);
      return { next, rows: Array.from({ length: rest.length / 12 }, (_, i) => rest.slice(12 * i, 12 * i + 12)) };
    };
    const named = async (options) => (await list(options)).rows.map(([, id]) => id.split('-')[1]).join();
    assert.equal(await named(), 'b4,b3,b2,b1');
    const { next, rows } = await list({ limit: 2 });
    assert.deepEqual([next, rows.length], [`7 ${idOf('b3')}`, 2]);
    assert.equal(await named({ after: next }), 'b2,b1');
    assert.equal((await list({ after: next })).next, '');
    const [[ms, id, account, user, status, endpoint, since, expires, ended, ...counts]] = (await list({ status: 'in_progress' })).rows;
    assert.deepEqual([ms, id, account, user, status, endpoint, ended, counts], ['7', idOf('b2'), 'F', 'alice', 'in_progress', '/v1/chat/completions', '', ['3', '1', '1']]);
    assert.ok(Number(since) > 0 && Number(expires) > Number(since));
    assert.deepEqual([await named({ user: 'bob' }), await named({ account: 'G' }), await named({ account: 'F', user: 'alice', status: 'failed' })], ['', '', '']);
    assert.deepEqual(await shard.get('batches_n'), { open: '4', lines: '1' });
    assert.equal(await shard.call(...put(fence, [result(2)], { batch: 'b2' })), lines('ok', 'completed'));
    assert.deepEqual(await shard.get('batches_n'), { open: '3' });
  });

  test('a cancelled batch wakes its node, which ends it with the results that it has', async () => {
    const fence = await begin();
    await shard.call(...put(fence, [result(0)]));
    const { replies, events } = await shard.turn([seen('batch_cancel')]);
    assert.match(replies[0], /\ncancelling\n/);
    assert.deepEqual(events, [`batch\n${idOf('b1')}`]);
    assert.equal(await shard.call(...put(fence, [result(1)])), lines('ok', 'cancelling'));
    assert.equal((await shard.get('batches_n')).lines, '1');
    assert.equal(await shard.call(...end(fence, 'cancelled')), 'ok');
    assert.equal(await shard.get('batches_n'), undefined);
    const b = await show();
    assert.deepEqual([b.status, b.completed, await read(b.output)], ['cancelled', '2', 'output 0\noutput 1\n']);
    assert.match(await shard.call(...seen('batch_cancel')), /^ok/);
  });

  test('one that has ended cannot be cancelled', async () => {
    const fence = await begin(1);
    await shard.call(...put(fence, [result(0)]));
    assert.equal(await shard.call(...seen('batch_cancel')), lines('ended', 'completed'));
  });

  test('lines with faults fail the batch, which keeps them', async () => {
    await store();
    await shard.call(...create());
    const [{ fence }] = await take();
    assert.equal(await shard.call(...check(fence, 3, '[{"line":2}]')), lines('ok', 'failed'));
    const b = await show();
    assert.deepEqual([b.status, b.errors, b.output], ['failed', '[{"line":2}]', '']);
  });

  test('results beyond 100 MiB are refused, and an error is stored in their place', async () => {
    const fence = await begin(4);
    const large = 'x'.repeat(HALF - 1) + '\n';
    for (const line of [0, 1]) assert.equal(await shard.call(...put(fence, [result(line, { text: large })])), lines('ok', 'in_progress'));
    assert.equal(await shard.call(...put(fence, [result(2), result(3)])), lines('ok', 'in_progress', 2, 3));
    assert.equal(await shard.call(...put(fence, [result(2, { kind: 'short' }), result(3, { kind: 'short' })])), lines('ok', 'completed'));
    const b = await show();
    assert.deepEqual([b.completed, b.failed], ['2', '2']);
    assert.equal(await read(b.error), 'short 2\nshort 3\n');
  });

  test('results are counted for the account, and those that do not fit are refused', async () => {
    const fence = await begin(3);
    const stored = { stored: 1e9, perUser: 8192 };
    assert.equal(await shard.call(...put(fence, [result(0, { text: 'x'.repeat(5000) })], stored)), lines('ok', 'in_progress'));
    assert.equal((await shard.get('stored'))['F alice'], '8192');
    assert.equal(await shard.call(...put(fence, [result(1, { text: 'x'.repeat(5000) })], stored)), lines('ok', 'in_progress', 1));
    assert.equal(await shard.call(...put(fence, [result(1, { kind: 'short' }), result(2, { kind: 'short' })], stored)), lines('ok', 'completed'));
    const b = await show();
    for (const id of [b.output, b.error]) assert.equal(await shard.call('file_delete', 0, OWNER, 'F', 'alice', id), 'ok');
    assert.equal(await shard.get('stored'), undefined);
  });

  test('of a thousand that are kept the oldest one that has ended goes', async () => {
    await store();
    await shard.call(...create());
    const [{ fence }] = await take();
    await shard.call(...check(fence, 0, '[]'));
    await shard.cmd('ZADD', shard.key('batches:F:alice'), ...Array.from({ length: 999 }, (_, i) => [9e12 + i, `x${i}`]).flat());
    assert.match(await shard.call(...create({ batch: 'b2' })), /^ok/);
    assert.equal(await shard.call(...seen('batch_show')), 'missing');
  });

  test('a batch that ended 30 days ago goes', async () => {
    const fence = await begin(1);
    await shard.call(...put(fence, [result(0)]));
    await shard.cmd('ZADD', shard.key('batches_done'), Date.now() - 31 * 86_400_000, idOf('b1'));
    assert.equal(await shard.call('batch_due'), '1');
    await take();
    assert.deepEqual((await shard.names()).filter((name) => /^batch/.test(name)), []);
  });
});

flow('batches, as large as they may be', async (m) => {
  const n = m.n(64);
  await m.cmd('HSET', m.key(`file:${OWNER}-f1`), 'account', 'F', 'user', 'alice', 'purpose', 'batch', 'filename', '"a"', 'bytes', 1, 'created', 1, 'expires', '', 'counted', 0);
  await m.expect(/^ok/, 'batch_create', ...create().slice(1, -3), JSON.stringify({ a: m.text(60_000) }), 86_400, 3600);
  await m.expect(/^1/, 'batch_due');
  const [, fence] = (await m.expect(/^a/, 'batch_take', 10)).split('\n');
  await m.expect(/^$/, 'batch_renew', idOf('b1'), fence);
  await m.expect(/^ok/, 'batch_check', ...check(fence, 50_000).slice(1));
  await m.expect(/^ok/, 'batch_put', ...put(fence, Array.from({ length: n }, (_, i) => result(i + 1, { text: 'x'.repeat(65_536) })), { stored: 1e12, perUser: 1e12 }).slice(1));
  await m.cmd('HSET', m.key(`batch:${idOf('b1')}`), ...Array.from({ length: m.n(1000) }, (_, i) => [`d:${i + 100}`, i]).flat());
  await m.expect(/^ok/, 'batch_load', ...load(fence).slice(1));
  await m.expect(/^ok/, 'batch_put', ...put(fence, [result(0, { text: m.text(36 << 20) })]).slice(1));
  await m.expect(/^ok/, 'batch_show', ...seen('batch_show').slice(1));
  for (let i = 0; i < 100; i++) await m.shard.call(...create({ batch: `c${i}` }));
  // The first one, which is large, is not on the page: it is the hundredth, and no more may be open.
  await m.expect(/^ok/, 'batch_list', 0, OWNER, 'F', 'alice', '', m.n(98));
  await m.expect(/^ok/, 'batch_list_all', 0, '', '', '', '', m.n(101));
  await m.cmd('ZADD', m.key('batches_all'), ...Array.from({ length: m.n(3000) }, (_, i) => [9e12 + i, `${OWNER}-x${i}`]).flat());
  await m.expect(/^ok/, 'batch_list_all', 0, '', 'nobody', '', '', m.n(101));
  await m.expect(/^ok/, 'batch_cancel', ...seen('batch_cancel').slice(1));
  await m.expect(/^ok/, 'batch_release', OWNER, 'b1', fence, 0);
  await m.expect(/^ok/, 'batch_end', ...end(fence, 'cancelled').slice(1));
});
