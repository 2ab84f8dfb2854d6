// SPDX-License-Identifier: MIT
//
// The library is made of modules: each runs with nothing but those that it asks for, what cannot work is an error of the
// build, and nothing of one turn is met in the next.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { anything, libraryText, PREFIX, scripts, tailOf, topicOf, ttl } from '../support/lua.mjs';

// The library of a copy of lua/ after change(folder).
function build(change) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-lua-'));
  try {
    cpSync('lua', folder, { recursive: true });
    change({
      write: (name, text) => writeFileSync(join(folder, name), text),
      edit: (name, from, to) => {
        const text = readFileSync(join(folder, name), 'utf8');
        assert.ok(text.includes(from), `${name} has '${from}'`);
        writeFileSync(join(folder, name), text.replace(from, to));
      },
    });
    const { status, stdout, stderr } = spawnSync('perl', ['cmake/verbs.pl', '--expand', folder], { encoding: 'utf8', maxBuffer: 1 << 24 });
    return { isBuilt: status === 0, text: stdout, problem: stderr.replaceAll(folder, 'lua') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('building the library', () => {
  const refuses = (name, problem, change) =>
    it(name, () => {
      const built = build(change);
      assert.equal(built.isBuilt, false);
      assert.match(built.problem, problem);
    });

  it('lua/ as it is', () => {
    const built = build(() => {});
    assert.equal(built.problem, '');
    assert.ok(built.isBuilt && built.text.length > 10_000);
  });
  refuses('a module that is not there', /^lua\/queue\/add\.lua: there is no module 'queue\/no_such'$/m, ({ edit }) =>
    edit('queue/add.lua', "require('queue/records')", "require('queue/no_such')"));
  refuses('modules in a circle', /^lua\/turn\/hashes\.lua: a circle of modules: turn\/hashes -> queue\/claims -> (\S+ -> )*turn\/hashes$/m, ({ edit }) =>
    edit('turn/hashes.lua', 'local call', "local claims = require('queue/claims')\nlocal call"));
  refuses('a module that asks for itself', /^lua\/turn\/hashes\.lua: a circle of modules: turn\/hashes -> turn\/hashes$/m, ({ edit }) =>
    edit('turn/hashes.lua', 'local call', "local hashes = require('turn/hashes')\nlocal call"));
  refuses('a module that nobody asks for', /^lua\/queue\/spare\.lua: no module asks for 'queue\/spare'$/m, ({ write }) =>
    write('queue/spare.lua', '-- spare: for a test.\nlocal function a() end\n\nreturn {a = a}\n'));
  refuses('a name that a module does not return', /^lua\/queue\/add\.lua: module 'queue\/enqueue' returns no 'no_such'$/m, ({ edit }) =>
    edit('queue/add.lua', 'enqueue.put(', 'enqueue.no_such('));
  refuses('a name that nobody takes from a module', /^lua\/queue\/enqueue\.lua: nobody takes 'spare' from module 'queue\/enqueue'$/m, ({ edit }) =>
    edit('queue/enqueue.lua', 'return {put = ', 'return {spare = put, put = '));
  refuses('a module that returns nothing', /^lua\/queue\/enqueue\.lua: does not end with 'return \{name = …\}'$/m, ({ edit }) =>
    edit('queue/enqueue.lua', 'return {put = put, row_of = row_of, next_seq = next_seq}\n', ''));
  refuses('a module whose name is made while it runs', /^lua\/queue\/add\.lua: require takes a name that is known at build time/m, ({ edit }) =>
    edit('queue/add.lua', "require('queue/enqueue')", "require('queue/' .. 'enqueue')"));

  it('what strings and comments say is left alone', () => {
    const built = build(({ edit }) => edit('auth/key.lua', "call('SET'", "local _ = 'counters.load -- is no comment' -- require('no/such')\n    call('SET'"));
    assert.equal(built.problem, '');
    assert.ok(built.text.includes("local _ = 'counters.load -- is no comment'\n"));
  });
});

const names = readdirSync('lua', { recursive: true })
  .filter((path) => path.endsWith('.lua') && path !== 'library.lua')
  .map((path) => path.slice(0, -4))
  .sort();

// A library whose functions run one module each, given what asks for it.
function libraryOf(use) {
  const { isBuilt, text, problem } = build(({ write }) => write('library.lua', `
local use = {
${names.map((name) => `    ['${name}'] = function(argv) local it = require('${name}') ${use(name)} end,`).join('\n')}
}
local function _() return require('turn/frame').run, require('turn/full').run end
redis.register_function('use_module', function(keys, argv) return use[argv[1]](argv) end)
`));
  assert.ok(isBuilt, problem);
  return `#!lua name=modules\n${text}`;
}

scripts('modules', ({ test, shard }) => {
  test('a module is compiled when it is first asked for, and its errors name its file and line', async () => {
    const { text } = build(({ edit }) => {
      edit('queue/check.lua', "local byte = string.byte\n", "local byte = string.byte\nif KEYS then end\n");
    });
    await shard.cmd('FUNCTION', 'FLUSH');
    await shard.cmd('FUNCTION', 'LOAD', `#!lua name=parley_test\nlocal FUNCTION_NAME = 'turn_test'\n${text}`);
    const add = (await shard.turn([['add', '0', 't', 'alice', 'Frontend_1', 'default', '1', '100', tailOf(), '', '', '']])).replies[0];
    assert.match(add, /^ok\n1\n/);
    const { replies } = await shard.turn([['check', '0', 't', 1, '', 'brief'], ['cancel', '0', 't', '1', '', '"no"']]);
    assert.match(String(replies[0]), /^Error: ERR check: queue\/check:\d+: .*KEYS/);
    assert.match(replies[1], /^ok/, 'other verbs of the turn run');
  });

  test('each can be loaded alone', async () => {
    assert.ok(names.length > 80);
    const text = libraryOf(() => "return type(it) == 'table' and next(it) ~= nil and 1 or 0");
    for (const name of names) {
      await shard.cmd('FUNCTION', 'LOAD', 'REPLACE', text); // none is loaded yet
      assert.equal(await shard.cmd('FCALL', 'use_module', 0, name), 1, name);
    }
  });

  test('one runs on a turn that a test has made', async () => {
    await shard.cmd('FUNCTION', 'LOAD', 'REPLACE', libraryOf((name) => name === 'auth/limiter'
      ? `return it.admit({prefix = '${PREFIX}', now_us = 5000000}, argv[2]) or 'ok'`
      : 'return it ~= nil'));
    const admit = (limits) => shard.cmd('FCALL', 'use_module', 0, 'auth/limiter', limits);
    assert.deepEqual([await admit('a:b:1:60'), await admit('a:b:1:60')], ['ok', 'limited\n60000\n1\n60']);
  });
});

scripts('what one turn leaves to the next', ({ test, shard }) => {
  const add = (topic) => ['add', '0', topic, 'alice', 'Frontend_1', 'default', '1', '100', tailOf(), '', '', ''];
  // A turn without verbs changes nothing and has no events.
  async function assertNothingLeft() {
    const before = await Promise.all((await shard.names()).map(async (name) => [name, await shard.cmd('DUMP', shard.key(name))]));
    assert.deepEqual(await shard.turn([]), { replies: [], events: [] });
    const after = await Promise.all((await shard.names()).map(async (name) => [name, await shard.cmd('DUMP', shard.key(name))]));
    assert.deepEqual(after, before);
    assert.deepEqual(await shard.ears.take(), []);
  }

  test('a verb breaks in the middle', async () => {
    await shard.seed({ 'topics:alice': 'no zset' });
    const { replies } = await shard.turn([add('a'), ['claim', '0', 'E|*', '0']]);
    assert.match(String(replies[0]), /^Error: ERR add: .*WRONGTYPE/);
    assert.match(replies[1], /^claim\n/, 'what it had stored continues');
    await assertNothingLeft();
    await shard.assertKeys({
      't:a': anything, 'topics:alice': 'no zset', leases: anything,
      meta: { lease: '1', depth: '0', vt: anything },
    });
  });

  test('a turn breaks at its end, with leases, credits and events collected', async () => {
    await shard.seed({ 't:a': topicOf(['P 7 1 E 1'], { 'w:1': 'n1 n2' }), leases: 'no zset' });
    await shard.ears.add('n2');
    try {
      const verbs = [['claim', '0', 'E|*', '1'], ['cancel', '0', 'a', '1', '', '"no"']];
      await assert.rejects(shard.turn(verbs), /WRONGTYPE/);
      await shard.cmd('DEL', shard.key('leases'));
      await assertNothingLeft();
      assert.equal(await shard.cmd('EXISTS', shard.key('idle'), shard.key('leases')), 0);
    } finally {
      await shard.ears.remove('n2');
    }
  });

  test('a turn breaks while it writes its counts', async () => {
    await shard.cmd('SET', shard.key('shares'), 'no hash');
    await assert.rejects(shard.turn([add('a')]), /WRONGTYPE/);
    await shard.cmd('DEL', shard.key('shares'));
    await assertNothingLeft();
    assert.equal(await shard.cmd('EXISTS', shard.key('shares'), shard.key('meta')), 0);
  });

  test('the first turn after the library was loaded is like any other', async () => {
    await shard.cmd('FUNCTION', 'LOAD', 'REPLACE', libraryText());
    const first = await shard.turn([['nonce', '0']]);
    assert.deepEqual(first, { replies: ['ok'], events: [] });
    assert.deepEqual(await shard.turn([['nonce', '0']]), first);
  });
});
