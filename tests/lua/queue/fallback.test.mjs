// SPDX-License-Identifier: MIT
//
// A model that no engine is there for: its queries are served as `default` when its time has come.
import assert from 'node:assert/strict';
import { ago, anything, lines, openOf, PREFIX, rowOf, scripts, set, soon, tailOf, topicOf, zset } from '../../support/lua.mjs';

const FRAME = { fallbackMs: 30_000 };
const NODE = { node_info: { n1: '{}' } };
const INFO = NODE.node_info.n1;
const DAY_MS = 86_400_000;
const seen = (ms, account = 'E', lease = '') => `${Date.now() - ms} ${account} ${lease}`;
const agoOf = (account, lease = '') => (found) => ago()(found.split(' ')[0]) && found.endsWith(` ${account} ${lease}`);

// A query of alice for that model, Open as the first one of topic t.
const waiting = (model, falls) => ({
  't:t': { seq: '1', 'u:alice': '1', 'q:1': rowOf({ model }), open: openOf([1, 0, { model }]) },
  [`open:${model}:alice`]: zset({ t: 1_000_000 }),
  [`turns:${model}`]: zset({ alice: 0 }),
  models: set(model),
  waiting: { 'Frontend_1 alice': '1' },
  meta: { lease: '0', depth: '1', vt: '0.000000' },
  ...(falls === undefined ? {} : { falls: zset({ [model]: falls }) }),
});
const add = (model) => ['add', 0, 't', 'alice', 'Frontend_1', model, 1, 100, tailOf({ model }), '', '', '', ''];

scripts('a model without an engine', ({ test, cases }) => {
  const turn = (shard, verbs, more = {}) => shard.turn(verbs, { ...FRAME, ...more });
  const fallsAt = async (shard, model) => {
    const at = await shard.cmd('ZSCORE', `${PREFIX}falls`, model);
    return at === null ? undefined : Number(at);
  };

  for (const [what, before, expected] of [
    ['was never seen: its query is for any engine at once', {}, 0],
    ['was not seen for a day: the same', () => ({ models_seen: { big: seen(DAY_MS + 1000) } }), 0],
    ['was seen within a day: its query waits for it', () => ({ models_seen: { big: seen(DAY_MS - 60_000) } }), soon(30_000)],
    ['has an engine at work: its query waits for it', () => ({ models_seen: { big: seen(DAY_MS * 2, 'E', '7') }, 'lease:7': 'E x 1 n1 1' }), soon(30_000)],
    ['had one whose claim has ended long ago: at once', () => ({ models_seen: { big: seen(DAY_MS * 2, 'E', '7') } }), 0],
    ['while one that takes all is there: it waits for that one', () => ({ models_seen: { '*': seen(10_000) } }), soon(20_000)],
    ['while one that takes all is at work: the same', () => ({ models_seen: { '*': seen(60_000, 'E', '7') }, 'lease:7': 'E x 1 n1 1' }), soon(30_000)],
    ['after one that took all: at once', () => ({ models_seen: { '*': seen(60_000) } }), 0],
  ]) {
    test(`that ${what}`, async (shard) => {
      await shard.seed({ ...NODE, ...(typeof before === 'function' ? before() : before) });
      assert.match((await turn(shard, [add('big')])).replies[0], /^ok\n1\n/);
      const at = await fallsAt(shard, 'big');
      assert.ok(typeof expected === 'function' ? expected(at) : at === expected, `it falls at ${at}`);
      const { replies } = await turn(shard, [['claim', 0, 'E|small', '']]);
      assert.equal(replies[0].split('\n')[0], expected === 0 ? 'claim' : 'empty');
    });
  }

  test('that was never seen: an engine that is parked already gets its query at once', async (shard) => {
    await shard.seed({ ...NODE, idle: zset({ 'n1 E|small': 1 }) });
    const { replies, events } = await turn(shard, [add('big')]);
    assert.match(replies[0], /^ok\n1\n/);
    assert.match(events[0], /^claim\nE\|small\nt\n/);
  });

  test('of several shards: a node that was called to its query as for default, and has no poll left, calls another one', async (shard) => {
    await shard.seed({ ...NODE, ...waiting('big', 0), hints: zset({ 'n1 E|small': Date.now() }) });
    const { events } = await turn(shard, [['work', 'default', ',n2,', 1]], { shards: 4 });
    assert.ok(events.includes(lines('work', 'default', 1, ',n2,')), events.join('|'));
  });

  test('with the fallback off its query waits for it, and no key is left of that', async (shard) => {
    await shard.turn([['sync', INFO, '', 0, 0, 1, 'E|small', 1, 0, 0, '']]);
    await shard.turn([['unpark', 'E|small'], add('big')]);
    assert.equal((await shard.turn([['claim', 0, 'E|small', '']])).replies[0], 'empty');
    assert.deepEqual((await shard.names()).filter((name) => /^(falls|models_seen)$/.test(name)), []);
  });

  test('default is for all: nothing is noted of it', async (shard) => {
    await turn(shard, [add('default')]);
    assert.equal(await fallsAt(shard, 'default'), undefined);
  });

  cases([
    {
      name: 'when its time has come, reap hands its query to an engine that is parked on another node, as default',
      before: { ...NODE, ...waiting('big', 1), models_seen: { small: `1 E ` }, idle: zset({ 'n2 E|small': 1 }) },
      alive: ['n2'],
      call: ['reap'],
      frame: FRAME,
      reply: (r) => /^(1\d{3}|2000|2001)$/.test(r),
      published: [['node:n2', lines('claim', 'E|small', 't', 1, 1, 1, 1, rowOf({ model: 'big' }))]],
      after: {
        't:t': { seq: '1', 'u:alice': '1', 'q:1': rowOf({ model: 'big' }), open: '', 's:1': 'P 1 1 E 1 n2', 'm:1': '1' },
        leases: zset({ '1 t': soon(2000) }), 'open:big:alice': null, 'turns:big': null, models: null, waiting: null, falls: null, idle: null,
        meta: { lease: '1', depth: '0', vt: '0.000000' },
      },
    },
    {
      name: 'before that, reap says when',
      before: { ...NODE, ...waiting('big', Date.now() + 3_600_000), models_seen: { small: '1 E ' } },
      call: ['reap'],
      frame: FRAME,
      reply: (r) => r > 3_000_000 && r <= 3_600_000,
    },
    {
      name: 'sync says it too',
      before: () => ({ ...NODE, ...waiting('big', Date.now() + 50_000) }),
      call: ['sync', INFO, '', 0, 0, 0],
      frame: FRAME,
      reply: (r) => Number(r.split('\n')[0]) > 30_000,
      after: { nodes: zset({ n1: ago() }) },
    },
    {
      name: 'an engine that names it is back in the last second: its query waits on',
      before: () => ({ ...NODE, ...waiting('big', Date.now() + 1000), models_seen: { big: seen(29_000) } }),
      call: ['sync', INFO, '', 0, 0, 1, 'F|big', 0, 0, 0, ''],
      frame: FRAME,
      reply: anything,
      after: () => ({ nodes: zset({ n1: ago() }), falls: zset({ big: soon(30_000) }), models_seen: { big: agoOf('F') } }),
    },
    {
      name: 'an engine that names it is back after it fell: it is its engine\'s again',
      before: () => ({ ...NODE, ...waiting('big', 0), models_seen: { big: seen(31_000) } }),
      call: ['sync', INFO, '', 0, 0, 1, 'F|big', 0, 0, 0, '7'],
      frame: FRAME,
      reply: anything,
      after: () => ({ nodes: zset({ n1: ago() }), falls: zset({ big: soon(30_000) }), models_seen: { big: agoOf('F', '7') } }),
    },
    {
      name: 'while one is at work reap puts it off',
      before: { ...NODE, ...waiting('big', 1), models_seen: { big: '1 E 7' }, 'lease:7': 'E x 1 n1 1' },
      call: ['reap'],
      frame: FRAME,
      reply: (r) => r > 20_000,
      after: { falls: zset({ big: soon(30_000) }) },
    },
    {
      name: 'with no engine seen at all it waits for some to come: after a restore',
      before: { ...NODE, ...waiting('big', 1) },
      call: ['reap'],
      frame: FRAME,
      reply: (r) => r > 20_000,
      after: { falls: zset({ big: soon(30_000) }) },
    },
    {
      name: 'what began to wait where nothing falls, or ended there, is put right by sync',
      before: { ...NODE, ...waiting('big'), falls: zset({ gone: 0, older: 5 }) },
      call: ['sync', INFO, '', 0, 0, 0],
      frame: FRAME,
      reply: anything,
      after: { nodes: zset({ n1: ago() }), falls: zset({ big: soon(30_000) }) },
    },
  ]);

  test('a claim that comes back is its own model\'s again, and falls again in its time', async (shard) => {
    await shard.seed({ ...NODE, ...waiting('big', 0), models_seen: { small: `${Date.now()} E ` } });
    const [, , , lease] = (await turn(shard, [['claim', 0, 'E|small', '']])).replies[0].split('\n');
    await shard.cmd('HSET', `${PREFIX}models_seen`, 'big', seen(60_000));
    assert.equal((await turn(shard, [['release', 0, 't', lease, 'E', '', '"r"', 'retry']])).replies[0], 'ok');
    assert.equal((await turn(shard, [['claim', 0, 'E|small', '']])).replies[0], 'empty');
    await shard.cmd('ZADD', `${PREFIX}falls`, 1, 'big');
    await turn(shard, [['reap']]);
    assert.match((await turn(shard, [['claim', 0, 'E|small', '']])).replies[0], /^claim\n/);
  });

  for (const [what, model, stored] of [
    ['an engine that does not say its model', 'null', '"default"'],
    ['one that says it', '"tiny"', '"tiny"'],
  ]) {
    test(`the answer of ${what} is stored as of ${stored}, and the same one again is the same`, async (shard) => {
      await shard.seed({ ...NODE, ...waiting('big', 0) });
      const [, , , lease] = (await turn(shard, [['claim', 0, 'E|small', '']])).replies[0].split('\n');
      const complete = ['complete', 0, 't', 1, lease, 'E', '"Why?"', lines('["a"]', 'null', model), ''];
      const [ok] = (await turn(shard, [complete])).replies;
      assert.match(ok, /^ok\n1\n\d+\n\d+\n1$/);
      const same = ok.split('\n').slice(0, 3).join('\n').replace('ok', 'same');
      assert.match((await shard.get('t:t'))['a:1'], new RegExp(`^\\["a"\\]\nnull\n${stored}\n`));
      assert.equal((await turn(shard, [complete])).replies[0], same);
      const byText = [...complete.slice(0, 3), 0, '', ...complete.slice(5, 8), '1'];
      assert.equal((await turn(shard, [byText])).replies[0], same);
    });
  }

  test('the answer of an engine for that model, which does not say so, is stored as it is', async (shard) => {
    await shard.seed({ ...NODE, ...waiting('big', 0) });
    let lease = (await turn(shard, [['claim', 0, 'E|small', '']])).replies[0].split('\n')[3];
    await turn(shard, [['release', 0, 't', lease, 'E', '', '"r"', 'retry']]);
    lease = (await turn(shard, [['claim', 0, 'F|big', '']])).replies[0].split('\n')[3];
    await turn(shard, [['complete', 0, 't', 1, lease, 'F', '"Why?"', lines('["a"]', 'null', 'null'), '']]);
    assert.match((await shard.get('t:t'))['a:1'], /^\["a"\]\nnull\nnull\n/);
  });

  test('of several shards a node with an engine of other models is called to it, for default', async (shard) => {
    await shard.seed({ ...NODE, hints: zset({ 'n2 E|small': Date.now() }) });
    await shard.ears.add('n2');
    await turn(shard, [add('big')], { shards: 4 });
    assert.deepEqual(await shard.ears.take(), [['node:n2', lines('work', 'default', 0, '')]]);
    await shard.ears.remove('n2');
  });

  test('names that an engine makes up push out its own, not those of others', async (shard) => {
    await turn(shard, [['sync', INFO, '', 0, 0, 1, 'F|mine,ours', 0, 0, 0, '']]);
    for (let i = 0; i < 8; i++) {
      const classes = Array.from({ length: 2 }, (_, k) => [`E|${Array.from({ length: 100 }, (_, m) => `m${i}-${k}-${m}`).join(',')}`, 0, 0, 0, '']);
      await turn(shard, [['sync', INFO, '', 0, 0, 2, ...classes.flat()]]);
    }
    const known = Object.keys(await shard.get('models_seen'));
    assert.equal(known.length, 1000);
    assert.ok(known.includes('mine') && known.includes('ours'));
  });

  test('a topic that is deleted takes its models along', async (shard) => {
    await turn(shard, [add('big')]);
    await turn(shard, [['delete', 0, 'alice', 't']]);
    assert.equal(await fallsAt(shard, 'big'), undefined);
  });
});
