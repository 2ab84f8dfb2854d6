// SPDX-License-Identifier: MIT
//
// evaluation_begin, _load, _read, _turn, _take, _release, _renew, _cancel, _list, _forget_user: a run has one driver at a time, each turn is
// stored once, and a run is its user's alone.
import assert from 'node:assert/strict';
import { expireDue, isQueueOfDue, whenDue } from '../../support/due.mjs';
import { ago, lines, list, scripts, soon, zset } from '../../support/lua.mjs';
import { begin, DIGITS, evaluationsOf, KEPT_MAX, KEPT_MS, LEASE_MS, OPEN_MAX, runOf, turnOf } from '../../support/lua_bots.mjs';

const ID = `${DIGITS}-1`;
const OTHER = 'f'.repeat(24);
const read = ({ evaluation = DIGITS, run = 1, account = 'F', user = 'alice', since = 0 } = {}) => ['evaluation_read', 0, evaluation, run, account, user, since];
const cancel = ({ run = 1, account = 'F', user = 'alice' } = {}) => ['evaluation_cancel', 0, DIGITS, run, account, user];
const load = (fence = 1) => ['evaluation_load', DIGITS, 1, fence];
const meta = { meta: { lease: 1, depth: 0, vt: '0.000000' } };
const some = (n, given) => Array.from({ length: n }, (_, i) => ({ evaluation: (i + 1).toString(16).padStart(24, '0'), created: 1000 + i, ...given(i) }));
const over = (given = {}) => ({ status: 'done', results: ['{"i":0}'], ...given });
const DUE = 'evaluation_due:F:alice';
const at = (ms) => ({ [DUE]: zset({ [ID]: ms }) });

scripts('evaluation_begin', ({ cases, test, shard }) => {
  const fresh = { created: ago(), updated: ago() };
  const due = () => ({ ...at(soon(LEASE_MS)), ...meta });
  cases([
    { name: 'the first run of a conversation', frame: { node: 'n2' }, call: begin({ conversation: '["hi"]' }), reply: lines('begun', 1, 1), after: () => ({ ...evaluationsOf({ ...fresh, conversation: '["hi"]', node: 'n2' }), ...due() }) },
    { name: 'the same one while it runs', before: evaluationsOf({}), call: begin(), reply: lines('known', 1) },
    { name: 'the next one after its end', before: evaluationsOf(over()), call: begin(), reply: lines('begun', 2, 1), after: () => ({ ...evaluationsOf(over(), { run: 2, ...fresh }), [DUE]: zset({ [`${DIGITS}-2`]: soon(LEASE_MS) }), ...meta }) },
    { name: 'one more than may be unfinished', before: () => evaluationsOf(...some(OPEN_MAX, () => ({}))), call: begin(), reply: lines('full', 'open') },
    { name: 'another account has a bound of its own', before: () => evaluationsOf(...some(OPEN_MAX, () => ({}))), call: begin({ account: 'G' }), reply: lines('begun', 1, 1), after: () => ({ ...evaluationsOf(...some(OPEN_MAX, () => ({})), { account: 'G', ...fresh }), [DUE]: zset(Object.fromEntries(some(OPEN_MAX, () => ({})).map(({ evaluation }) => [`${evaluation}-1`, 9e12]))), 'evaluation_due:G:alice': zset({ [ID]: soon(LEASE_MS) }), ...meta }) },
    { name: 'what is stored is counted', call: begin({ conversation: `"${'x'.repeat(5000)}"`, max: 1e6, maxOfUser: 1e6 }), reply: lines('begun', 1, 1), after: () => ({ ...evaluationsOf({ ...fresh, conversation: `"${'x'.repeat(5000)}"`, isCounted: true }), ...due(), stored: { 'F alice': 8192, F: 65536 } }) },
    { name: 'more than the account may store', before: { stored: { 'F alice': 8192, F: 65536 } }, call: begin({ conversation: `"${'x'.repeat(70_000)}"`, max: 100_000 }), reply: lines('stored', 65536, 100_000, 'account') },
  ]);

  test('of two nodes that begin one request, one gets it', async () => {
    const replies = await Promise.all([1, 2].map(async (n) => (await shard.turn([begin()], { node: `n${n}` })).replies[0]));
    assert.deepEqual(replies.sort(), [lines('begun', 1, 1), lines('known', 1)]);
  });

  test('of a thousand runs the oldest one that is over goes, and gives back what it counted', async () => {
    const runs = some(KEPT_MAX, (i) => (i === 0 ? {} : i === 1 ? over({ isCounted: true }) : over()));
    await shard.seed({ ...evaluationsOf(...runs), stored: { 'F alice': 4096, F: 65536 } });
    assert.equal(await shard.call(...begin()), lines('begun', 1, 1));
    assert.equal(await shard.cmd('ZCARD', shard.key('evaluations_of:alice')), KEPT_MAX);
    assert.equal(await shard.cmd('EXISTS', shard.key(`evaluation:${runs[0].evaluation}-1`)), 1, 'the oldest one runs');
    assert.equal(await shard.cmd('EXISTS', shard.key(`evaluation:${runs[1].evaluation}-1`)), 0);
    assert.equal(await shard.cmd('EXISTS', shard.key('stored')), 0);
  });

  test('if none of the oldest ones is over, it is refused and counts nothing', async () => {
    await shard.seed(evaluationsOf(...some(KEPT_MAX, (i) => ({ account: `F${i}` }))));
    assert.equal(await shard.call(...begin({ max: 1e6 })), lines('full', 'kept'));
    assert.equal(await shard.cmd('EXISTS', shard.key('stored')), 0);
    assert.equal(await shard.cmd('EXISTS', shard.key(`evaluation:${ID}`)), 0);
  });
});

scripts('evaluation_turn', ({ cases, test, shard }) => {
  const stored = (n, more = {}) => ({ at: n, results: Array.from({ length: n }, (_, i) => `{"i":${i}}`), ...more });
  const changed = (given) => ({ updated: ago(), summary: `{"n":${given.n ?? 0}}`, ...given.more });
  const ended = (status, n, sum) => ({ ...evaluationsOf(stored(n, { status, updated: ago(), summary: sum })), [DUE]: null, evaluations_open: null, [`evaluation_text:${ID}`]: null });
  cases([
    { name: 'the first turn', before: evaluationsOf({}), call: turnOf(), reply: lines('ok', 1), after: () => ({ ...evaluationsOf(stored(1, changed({}))), ...at(soon(LEASE_MS)) }) },
    { name: 'the next one', before: evaluationsOf(stored(1)), call: turnOf({ at: 1 }), reply: lines('ok', 2), after: () => ({ ...evaluationsOf(stored(2, changed({ n: 1 }))), ...at(soon(LEASE_MS)) }) },
    { name: 'the same one again is stored once', before: evaluationsOf(stored(1)), call: turnOf(), reply: lines('ok', 1) },
    { name: 'one too far', before: evaluationsOf(stored(1)), call: turnOf({ at: 2 }), reply: 'lost' },
    { name: 'of a former driver', before: evaluationsOf({ fence: 2 }), call: turnOf(), reply: 'lost' },
    { name: 'of a run that was cancelled', before: evaluationsOf({ status: 'cancelled' }), call: turnOf(), reply: 'lost' },
    { name: 'of a run that is gone', call: turnOf(), reply: 'lost' },
    { name: 'the last one ends the run: its conversation is not needed any more', before: evaluationsOf(stored(2)), call: turnOf({ at: 2, status: 'done', summary: '{"mean":1}' }), reply: lines('ok', 3), after: () => ended('done', 3, '{"mean":1}') },
    { name: 'the last one again', before: evaluationsOf(stored(3, { status: 'done' })), call: turnOf({ at: 2, status: 'done' }), reply: lines('ok', 3) },
    { name: 'an end without a turn', before: evaluationsOf(stored(2)), call: turnOf({ at: 2, result: '', status: 'failed', summary: '"why"' }), reply: lines('ok', 2), after: () => ended('failed', 2, '"why"') },
    { name: 'that end again', before: evaluationsOf(stored(2, { status: 'failed' })), call: turnOf({ at: 2, result: '', status: 'failed' }), reply: lines('ok', 2) },
    { name: 'no more bytes', before: () => evaluationsOf({ at: 1, bytes: 2 + (16 << 20) }), call: turnOf({ at: 1 }), reply: 'full' },
    { name: 'no more bytes: its end is stored', before: () => evaluationsOf({ at: 1, bytes: 2 + (16 << 20) }), call: turnOf({ at: 1, result: '', status: 'failed', summary: '' }), reply: lines('ok', 1), after: () => ({ ...evaluationsOf({ status: 'failed', at: 1, bytes: 16 << 20, updated: ago() }), [DUE]: null, evaluations_open: null, [`evaluation_text:${ID}`]: null }) },
  ]);

  test('a counted run counts its turns, and gives its conversation back at its end', async () => {
    await shard.call(...begin({ conversation: `"${'x'.repeat(10_000)}"`, max: 1e9 }));
    const count = async () => Number((await shard.get('stored'))?.['F alice'] ?? 0);
    assert.equal(await count(), 12_288);
    await shard.call(...turnOf({ result: `"${'r'.repeat(9_000)}"` }));
    assert.equal(await count(), 20_480);
    await shard.call(...turnOf({ at: 1, status: 'done' }));
    assert.equal(await count(), 12_288, 'its turns stay');
    assert.equal(await shard.call('evaluation_forget_user', 'alice'), lines('done', 1));
    assert.equal(await shard.cmd('EXISTS', shard.key('stored')), 0);
  });
});

scripts('evaluation_load and evaluation_read', ({ test, shard }) => {
  const pageOf = async (given) => {
    const [word, isMore, ...rest] = (await shard.call(...read(given))).split('\n');
    return { word, isMore, run: runOf(rest), turns: rest.slice(13) };
  };

  test('its driver gets everything, and nobody else', async () => {
    await shard.seed(evaluationsOf({ conversation: '[{"text":"hi"}]', results: ['{}'] }));
    const got = (await shard.call(...load())).split('\n');
    assert.deepEqual([got[0], runOf(got.slice(1)).at, got[14], got.length], ['ok', '1', '[{"text":"hi"}]', 15]);
    assert.equal(await shard.call(...load(2)), 'lost');
    await shard.call(...cancel());
    assert.equal(await shard.call(...load()), 'lost');
  });

  test('a conversation of 4 MiB comes whole', async () => {
    const conversation = `"${'x'.repeat((4 << 20) - 2)}"`;
    assert.equal(await shard.call(...begin({ conversation })), lines('begun', 1, 1));
    assert.equal((await shard.call(...load())).split('\n')[14], conversation);
  });

  test('is its user\'s alone, of that account', async () => {
    await shard.seed(evaluationsOf({}));
    for (const as of [{ user: 'bob' }, { account: 'G' }, { user: 'ns~alice' }, { run: 2 }, { evaluation: OTHER }]) assert.equal(await shard.call(...read(as)), 'missing');
    const { word, run } = await pageOf();
    assert.equal(word, 'ok');
    assert.deepEqual(run, { id: ID, status: 'running', namespace: '%', account: 'F', user: 'alice', bot: 'echo', username: '"echo"', measure: 'cosine', turns: '3', at: '0', created: '1000', updated: '1000', summary: '' });
  });

  test('two thousand turns come in pages, each once and in order', async () => {
    const results = Array.from({ length: 2000 }, (_, i) => `"${String(i).padEnd(3000, 'x')}"`);
    await shard.seed(evaluationsOf({ status: 'done', turns: 2000, at: 2000, bytes: 1 }));
    for (let i = 0; i < 2000; i += 100) await shard.cmd('RPUSH', shard.key(`evaluation_turns:${ID}`), ...results.slice(i, i + 100));
    const all = [];
    for (let page; !page || page.isMore === '1'; ) {
      page = await pageOf({ since: all.length });
      assert.ok(page.turns.join('').length <= 1 << 20);
      all.push(...page.turns);
    }
    assert.deepEqual(all, results);
    assert.deepEqual((await pageOf({ since: 2000 })).turns, []);
    assert.deepEqual((await pageOf({ since: 1999 })).turns, [results[1999]]);
    assert.deepEqual((await pageOf({ since: 9e9 })).turns, []);
  });

  test('a turn larger than a page comes alone', async () => {
    const large = `"${'x'.repeat(250_000)}"`;
    await shard.seed(evaluationsOf({ results: Array(6).fill(large), turns: 6 }));
    const { isMore, turns } = await pageOf();
    assert.deepEqual([isMore, turns.length], ['1', 4]);
    const rest = await pageOf({ since: 4 });
    assert.deepEqual([rest.isMore, rest.turns.length], ['0', 2]);
  });
});

scripts('evaluation_release', ({ cases, test, shard }) => {
  const release = (fence = 1) => ['evaluation_release', DIGITS, 1, fence];
  cases([
    { name: 'a run that has no place here is due at once', before: () => ({ ...evaluationsOf({}), ...at(9e12) }), call: release(), reply: 'ok', after: () => at(ago()) },
    { name: 'a run that another node has is lost', before: () => evaluationsOf({}), call: release(2), reply: 'lost' },
    { name: 'so is one that is over', before: () => evaluationsOf(over()), call: release(), reply: 'lost' },
    { name: 'and one that is gone', call: release(), reply: 'lost' },
  ]);

  test('a run that is given back again and again does not come back less often', async () => {
    await shard.seed(evaluationsOf({}));
    for (let i = 0; i < 10; i++) {
      await expireDue(shard, 'evaluation_due', ID);
      const [, fence] = (await shard.call('evaluation_take', 10)).split('\n');
      assert.equal(await shard.call(...release(fence)), 'ok');
    }
    assert.equal((await shard.get(`evaluation:${ID}`)).taken, '0');
  });
});

scripts('evaluation_renew, evaluation_take and bots_due', ({ cases, test, shard }) => {
  const take = async (node = 'n1', limit = 10) => (await shard.turn([['evaluation_take', limit]], { node })).replies[0].split('\n').filter(Boolean);
  const due = () => expireDue(shard, 'evaluation_due', ID);
  const doneAt = (ms) => evaluationsOf(over({ updated: ms }));
  cases([
    { name: 'a run stays with its driver', before: () => ({ ...evaluationsOf({}), ...at(5) }), call: ['evaluation_renew', ID, 1], reply: '', after: () => at(soon(LEASE_MS)) },
    { name: 'what another node has, what is over and what is gone is lost', before: evaluationsOf({ fence: 2 }, over({ evaluation: OTHER })), call: ['evaluation_renew', ID, 1, `${OTHER}-1`, 1, `${OTHER}-2`, 1], reply: lines(ID, `${OTHER}-1`, `${OTHER}-2`) },
    { name: 'nothing is due', before: () => ({ ...evaluationsOf({}), ...at(Date.now() + LEASE_MS) }), call: ['bots_due'], reply: 'none' },
    { name: 'a run is due', before: () => ({ ...evaluationsOf({}), ...at(5) }), call: ['bots_due'], reply: 'evaluations' },
    { name: 'a run that ended 30 days ago', before: () => doneAt(Date.now() - KEPT_MS - 1), call: ['bots_due'], reply: 'evaluations' },
    { name: 'a run and a delivery', before: () => ({ ...evaluationsOf({}), ...at(5), 'dlv_due:F:1': zset({ x: 1 }) }), call: ['bots_due'], reply: 'both' },
    { name: 'a run that ended yesterday stays', before: () => doneAt(Date.now() - 86_400_000), call: ['evaluation_take', 10], reply: '' },
    { name: 'an id whose run is gone is dropped', before: () => ({ [DUE]: zset({ [ID]: 1 }), evaluations_done: zset({ [`${OTHER}-1`]: 1 }) }), call: ['evaluation_take', 10], reply: '', after: { [DUE]: null, evaluations_done: null } },
  ]);

  test('a run whose node dies is taken by one other, under the next fence, and continues where it was', async () => {
    await shard.call(...begin());
    await shard.call(...turnOf());
    assert.deepEqual(await take('n2'), [], 'it has a driver');
    await due();
    const [one, two] = await Promise.all([take('n2'), take('n3')]);
    assert.deepEqual([one, two].filter((got) => got.length), [[ID, '2', 'F', 'alice']]);
    assert.equal(await shard.call(...turnOf({ at: 1 })), 'lost', 'the former driver');
    assert.equal(runOf((await shard.call(...load(2))).split('\n').slice(1)).at, '1');
    assert.equal(await shard.call(...turnOf({ at: 1, fence: 2 })), lines('ok', 2));
    assert.deepEqual(await shard.get(`evaluation_turns:${ID}`), list('{"i":0}', '{"i":1}'));
  });

  test('a run that ends every node that takes it comes back less and less often, and at once after a turn', async () => {
    await shard.seed(evaluationsOf({}));
    let fence;
    for (let i = 1; i <= 14; i++) {
      await due();
      const before = Date.now();
      [, fence] = await take();
      const leased = (await whenDue(shard, 'evaluation_due', ID)) - before;
      const expected = LEASE_MS * 2 ** Math.max(0, Math.min(i - 3, 8));
      assert.ok(leased >= expected && leased < expected + LEASE_MS, `take ${i}: ${leased} ms`);
    }
    await shard.call(...turnOf({ fence }));
    assert.equal((await shard.get(`evaluation:${ID}`)).taken, undefined);
  });

  test('what ended 30 days ago is deleted, a few at a time; its number is used by no later run', async () => {
    await shard.seed(evaluationsOf(...some(50, () => over({ updated: 1000 }))));
    const left = [];
    do {
      await take();
      left.push(await shard.cmd('ZCARD', shard.key('evaluations_done')));
    } while (left.at(-1) > 0);
    assert.deepEqual(left, [30, 10, 0]);
    const names = await shard.names();
    assert.ok(names.every((name) => name.startsWith('evaluation_last:')), names.join(' '));
    assert.ok((await shard.cmd('TTL', shard.key(names[0]))) > 0);
    assert.match(await shard.call(...begin({ evaluation: names[0].split(':')[1] })), /^begun\n2\n/);
    assert.equal(await shard.cmd('TTL', shard.key(names[0])), -1);
  });
});

scripts('evaluation_cancel, evaluation_list and evaluation_forget_user', ({ cases, test, shard }) => {
  const pageOf = async (user, { account = '', limit = '', after = '' } = {}) => {
    const [word, cursor, ...rest] = (await shard.call('evaluation_list', 0, user, account, limit, after)).split('\n');
    assert.equal(word, 'ok');
    return { cursor, ids: Array.from({ length: rest.length / 14 }, (_, i) => runOf(rest.slice(14 * i + 1)).id) };
  };
  cases([
    { name: 'its user cancels a run', before: evaluationsOf({ results: ['{"i":0}'] }), call: cancel(), reply: 'ok', after: () => ({ ...evaluationsOf({ status: 'cancelled', results: ['{"i":0}'], updated: ago() }), [DUE]: null, evaluations_open: null, [`evaluation_text:${ID}`]: null }) },
    { name: 'again', before: evaluationsOf({ status: 'cancelled' }), call: cancel(), reply: lines('over', 'cancelled') },
    { name: 'a run that is over', before: evaluationsOf(over()), call: cancel(), reply: lines('over', 'done') },
    ...[{ user: 'bob' }, { account: 'G' }, { run: 2 }].map((as) => ({ name: `a run of others: ${JSON.stringify(as)}`, before: evaluationsOf({}), call: cancel(as), reply: 'missing' })),
    { name: 'a user without runs is forgotten', before: evaluationsOf({}), call: ['evaluation_forget_user', 'bob'], reply: lines('done', 0) },
  ]);

  test('a user\'s runs, newest first, in pages', async () => {
    await shard.seed(evaluationsOf(...some(30, (i) => ({ account: i % 3 ? 'F' : 'G' })), { evaluation: OTHER, user: 'bob' }));
    const first = await pageOf('alice', { limit: 20 });
    assert.equal(first.ids.length, 20);
    const rest = await pageOf('alice', { limit: 20, after: first.cursor });
    assert.deepEqual([...first.ids, ...rest.ids], some(30, () => ({})).map(({ evaluation }) => `${evaluation}-1`).reverse());
    assert.equal(rest.cursor, '');
    assert.equal((await pageOf('alice', { account: 'G' })).ids.length, 10);
    assert.deepEqual(await pageOf('ns~alice'), { cursor: '', ids: [] });
  });

  test('forgetting a user deletes its runs of all accounts, also those that run, and no other ones', async () => {
    await shard.seed(evaluationsOf(...some(250, (i) => (i % 50 ? over() : { account: `F${i}` })), { evaluation: OTHER, user: 'bob' }));
    const replies = [];
    do replies.push(await shard.call('evaluation_forget_user', 'alice'));
    while (replies.at(-1).startsWith('more'));
    assert.deepEqual(replies, [lines('more', 100), lines('more', 100), lines('done', 50)]);
    const names = (await shard.names()).filter((name) => !/^evaluation_last:0/.test(name) && !isQueueOfDue(name));
    assert.deepEqual(names, Object.keys(evaluationsOf({ evaluation: OTHER, user: 'bob' })).sort());
    assert.equal(await shard.call('evaluation_turn', some(1, () => ({}))[0].evaluation, 1, 1, 0, '{}', 'running', ''), 'lost');
  });
});
