// SPDX-License-Identifier: MIT
//
// audit_note, audit_list, and what failure puts into the audit log.
import assert from 'node:assert/strict';
import { flow, lines, scripts } from '../support/lua.mjs';

const HOUR_MS = 3_600_000;
const event = (name) => JSON.stringify({ Event: name });
const streams = ['account', 'operator', 'deletion', 'refused'];

// Puts entries with chosen ids; what is listed.
const put = (shard, name, id, text, n = '') => shard.cmd('XADD', shard.key(`audit:${name}`), id, 'row', event(text), 'n', n);
async function listing(shard, { after = '', since = '', limit = 100 } = {}) {
  const [ok, more, ...rest] = (await shard.call('audit_list', 0, after, since, limit)).split('\n');
  assert.equal(ok, 'ok');
  const entries = [];
  for (let i = 0; i + 4 < rest.length; i += 5) entries.push({ id: rest[i], ms: Number(rest[i + 1]), kind: rest[i + 2], n: rest[i + 3], row: JSON.parse(rest[i + 4]).Event });
  return { more: more === '1', entries };
}

flow('the audit log', async (m) => {
  await m.call('audit_note', 'operator', '', m.json(4000));
  await m.call('audit_note', 'account', 'a'.repeat(500), m.json(4000));
  for (const name of ['account', 'operator', 'deletion', 'refused']) {
    for (let i = 0; i < m.n(300); i += 50) await m.shard.turn(Array.from({ length: 50 }, () => ['audit_note', name === 'refused' ? 'account' : name, '', m.json(4000)]));
  }
  await m.expect(/^ok/, 'audit_list', 0, '', '', 250);
});

scripts('audit_note', ({ test }) => {
  test('an entry is in the stream of its class, with the time of Redis', async (shard) => {
    assert.equal(await shard.call('audit_note', 'operator', '', event('a')), 'ok');
    const [seconds] = await shard.cmd('TIME');
    const [[id, fields]] = await shard.cmd('XRANGE', shard.key('audit:operator'), '-', '+');
    assert.ok(Math.abs(Number(id.split('-')[0]) - seconds * 1000) < 10_000);
    assert.deepEqual(fields, ['row', event('a'), 'n', '']);
    assert.deepEqual(await shard.names(), ['audit:operator']);
  });

  test('a change that several nodes notice is noted once', async (shard) => {
    assert.equal(await shard.call('audit_note', 'account', 'abc', event('a')), 'ok');
    assert.equal(await shard.call('audit_note', 'account', 'abc', event('a')), 'known');
    assert.equal(await shard.call('audit_note', 'account', 'abd', event('b')), 'ok');
    const left = await shard.cmd('PTTL', shard.key('audit_once:abc'));
    assert.ok(left > 100_000 && left <= 120_000, `${left} ms`);
    assert.deepEqual((await listing(shard)).entries.map(({ row }) => row), ['a', 'b']);
  });

  test('an entry comes after those of all classes: one who reads on misses none of the same millisecond, or after the clock was put back', async (shard) => {
    const ahead = Date.now() + HOUR_MS;
    await put(shard, 'refused', `${ahead}-7`, 'seen');
    const [{ id }] = (await listing(shard)).entries;
    for (const name of ['account', 'operator', 'account']) await shard.call('audit_note', name, '', event(name));
    assert.deepEqual((await listing(shard, { after: id })).entries.map(({ id: next }) => next), [`${ahead}-8.1`, `${ahead}-9.2`, `${ahead}-10.1`]);
  });

  test('entries end by number, within their class alone', async (shard) => {
    for (let i = 0; i < 21_000; i += 500) {
      await Promise.all(Array.from({ length: 500 }, () => shard.cmd('XADD', shard.key('audit:deletion'), '*', 'row', event('x'), 'n', '')));
    }
    await put(shard, 'operator', '*', 'kept');
    await shard.call('audit_note', 'deletion', '', event('last'));
    const n = await shard.cmd('XLEN', shard.key('audit:deletion'));
    assert.ok(n >= 20_000 && n < 20_200, `${n} entries`);
    assert.equal(await shard.cmd('XLEN', shard.key('audit:operator')), 1);
  });

  test('entries end by age, a node of the stream at a time, and none that is too old is listed', async (shard) => {
    await put(shard, 'account', '1-1', 'old');
    for (let i = 0; i < 200; i++) await put(shard, 'account', `2-${i}`, 'old');
    await shard.call('audit_note', 'account', '', event('new'));
    assert.ok((await shard.cmd('XLEN', shard.key('audit:account'))) < 150);
    assert.deepEqual((await listing(shard, { limit: 250 })).entries.map(({ row }) => row), ['new']);
  });
});

scripts('audit_list', ({ test }) => {
  test('entries of all classes come in the order of their time, page by page, none twice and none left out', async (shard) => {
    const now = Date.now();
    const ids = [];
    for (let i = 0; i < 40; i++) {
      const name = streams[i % 4];
      const id = `${now - 50_000 + Math.floor(i / 8)}-${i % 8 < 4 ? 0 : 1}`; // four classes share each id
      await put(shard, name, id, `e${i}`, i % 4 === 3 ? 7 : '');
      ids.push(`e${i}`);
    }
    const all = await listing(shard);
    assert.deepEqual(all.entries.map(({ row }) => row), ids);
    assert.equal(all.more, false);
    assert.deepEqual(all.entries.slice(0, 4).map(({ kind, n }) => [kind, n]), [['account', ''], ['operator', ''], ['deletion', ''], ['refused', '7']]);
    for (const limit of [1, 3, 7]) {
      const found = [];
      let page;
      let after = '';
      do {
        page = await listing(shard, { after, limit });
        assert.ok(page.entries.length <= limit);
        found.push(...page.entries.map(({ row }) => row));
        after = page.entries.at(-1).id;
      } while (page.more);
      assert.deepEqual(found, ids, `pages of ${limit}`);
      assert.deepEqual((await listing(shard, { after, limit })).entries, []);
    }
    assert.deepEqual((await listing(shard, { since: now - 50_000 + 4 })).entries.map(({ row }) => row), ids.slice(32));
  });

  test('an empty log, a cursor that is none, and more than is allowed', async (shard) => {
    assert.equal(await shard.call('audit_list', 0, '', '', 100), lines('ok', 0));
    await put(shard, 'operator', `${Date.now() - HOUR_MS}-0`, 'a');
    for (const after of ['x', '1-1', "'", '1-1.9', '-.1']) assert.ok((await listing(shard, { after })).entries.length <= 1, after);
    assert.equal((await listing(shard, { limit: 0 })).entries.length, 1);
    assert.equal((await listing(shard, { limit: 1e6 })).entries.length, 1);
  });
});

scripts('failure', ({ test }) => {
  test('the first failure and the last one before the limit are noted, with their number', async (shard) => {
    const fail = () => shard.call('failure', 7, 65543, 3, event('login_refused'));
    for (let i = 0; i < 6; i++) await fail();
    const { entries } = await listing(shard);
    assert.deepEqual(entries.map(({ kind, n, row }) => [kind, n, row]), [['refused', '1', 'login_refused'], ['refused', '3', 'login_refused']]);
  });

  test('strangers from a thousand networks fill one minute of the log, and nothing but their own class', async (shard) => {
    await shard.call('audit_note', 'operator', '', event('kept'));
    for (let i = 0; i < 1000; i++) await shard.call('failure', i, 65536 + i, 3, event('login_refused'));
    const { entries } = await listing(shard, { limit: 250 });
    const refused = entries.filter(({ kind }) => kind === 'refused');
    assert.ok(refused.length >= 60 && refused.length <= 120, `${refused.length}: 60 a minute`);
    assert.ok(refused.some(({ row }) => row === 'more_logins_refused'));
    assert.equal(entries[0].row, 'kept');
    const left = await shard.cmd('PTTL', shard.key('audit_refused'));
    assert.ok(left > 0 && left <= 60_000);
  });
});
