// SPDX-License-Identifier: MIT
//
// Files of OpenAI's interface: uploads, pages, expiry, and what is counted; nobody sees the files of others.
import assert from 'node:assert/strict';
import { ago, flow, lines, list, scripts, set, soon, ttl, zset } from '../support/lua.mjs';

const OWNER = 'a'.repeat(24), DAY_S = 86_400;
const begin = ({ id = 'f1', bytes = 10, account = 'F', user = 'alice', stored = '', perUser = '' } = {}) => ['file_begin', 0, OWNER, account, user, id, bytes, stored, perUser];
const store = ({ id = 'f1', bytes = 10, blocks = 1, account = 'F', user = 'alice', purpose = 'batch', expires = DAY_S, stored = '', perUser = '' } = {}) =>
  ['file_store', OWNER, account, user, id, purpose, '"a.jsonl"', bytes, blocks, expires, stored, perUser];
const of = (verb, id, { account = 'F', user = 'alice' } = {}, ...more) => [verb, 0, OWNER, account, user, id, ...more];
const page = ({ after = '', isBack = '', limit = 10, purpose = '', user = 'alice' } = {}) => ['file_list', 0, OWNER, 'F', user, after, isBack, limit, purpose];
const fields = (more = {}) => ({ account: 'F', user: 'alice', purpose: 'batch', filename: '"a.jsonl"', bytes: '10', created: String(Date.now() - 1000), expires: '', counted: '0', ...more });
const fileOf = (more, id = 'f1') => ({ [`file:${OWNER}-${id}`]: fields(more), [`file_bytes:${OWNER}-${id}`]: list('0123456789'), 'files:F:alice': zset({ [`${OWNER}-${id}`]: 5 }), 'filers:alice': set('F') });

scripts('files', ({ cases, test, shard }) => {
  const put = async (options = {}, blocks = ['0123456789']) => {
    assert.equal(await shard.call(...begin(options)), 'ok');
    for (const block of blocks) await shard.cmd('RPUSHX', shard.key(`pushed:${options.id ?? 'f1'}`), block);
    return shard.call(...store({ blocks: blocks.length, ...options }));
  };
  cases([
    { name: 'an upload begins with a list for its blocks', call: begin(), reply: 'ok', after: { 'pushed:f1': ttl(300, list(OWNER)) } },
    { name: 'one that does not fit leaves nothing', call: begin({ stored: 4096, bytes: 5000 }), reply: lines('stored', 0, 4096, 'account') },
    { name: 'nor one that does not fit its user', call: begin({ stored: 1e6, perUser: 4096, bytes: 5000 }), reply: lines('stored', 0, 4096, 'user') },
    { name: 'blocks that never came', before: { 'pushed:f1': ttl(300, list(OWNER)) }, call: store(), reply: 'gone', after: { 'pushed:f1': null } },
    { name: 'blocks that were pushed for another owner', before: { 'pushed:f1': ttl(300, list('b'.repeat(24), '0123456789')) }, call: store(), reply: 'gone', after: { 'pushed:f1': null } },
    { name: 'a file that no longer fits leaves no blocks', before: { 'pushed:f1': ttl(300, list(OWNER, 'x')), stored: { 'F alice': '4096', F: '65536' } }, call: store({ stored: 1e6, perUser: 4096 }), reply: lines('stored', 4096, 4096, 'user'), after: { 'pushed:f1': null } },
    { name: 'a file of another user', before: () => fileOf(), call: of('file_show', 'f1', { user: 'bob' }), reply: 'missing' },
    { name: 'a file of another account', before: () => fileOf(), call: of('file_delete', 'f1', { account: 'G' }), reply: 'missing' },
    { name: 'the bytes of another user\'s', before: () => fileOf(), call: of('file_content', 'f1', { user: 'bob' }, 0), reply: 'missing' },
    { name: 'a file whose time is over', before: () => fileOf({ expires: String(Date.now() - 1) }), call: of('file_show', 'f1'), reply: 'missing' },
    { name: 'a file that is deleted leaves nothing', before: () => ({ ...fileOf({ counted: '4096', expires: '9000000000000' }), files_due: zset({ [`${OWNER}-f1`]: 9e12 }), stored: { 'F alice': '4096', F: '65536' } }), call: of('file_delete', 'f1'), reply: 'ok', after: { [`file:${OWNER}-f1`]: null, [`file_bytes:${OWNER}-f1`]: null, 'files:F:alice': null, 'filers:alice': null, files_due: null, stored: null } },
    { name: 'a page after a file that is not there', before: () => fileOf(), call: page({ after: 'f9' }), reply: 'after' },
    { name: 'an upload deletes files whose time is over', before: () => ({ ...fileOf({ expires: '5' }), files_due: zset({ [`${OWNER}-f1`]: 5 }) }), call: begin({ id: 'f2' }), reply: 'ok', after: { [`file:${OWNER}-f1`]: null, [`file_bytes:${OWNER}-f1`]: null, 'files:F:alice': null, 'filers:alice': null, files_due: null, 'pushed:f2': ttl(300, list(OWNER)) } },
  ]);

  test('a file that is stored is counted in whole blocks, read in pages, and gone when it is deleted', async () => {
    const blocks = ['x'.repeat(1 << 20), 'y'.repeat(1 << 20), 'z'];
    const bytes = (2 << 20) + 1;
    const reply = (await put({ bytes, stored: 1e9 }, blocks)).split('\n');
    assert.deepEqual([...reply.slice(0, 3), ...reply.slice(5)], ['ok', 'f1', String(bytes), '"a.jsonl"', 'batch']);
    assert.ok(ago()(reply[3]) && soon(DAY_S * 1000)(reply[4]), reply.join());
    assert.equal((await shard.get('stored'))['F alice'], String(bytes - 1 + 4096));
    assert.equal(await shard.call(...of('file_show', 'f1')), reply.join('\n'));
    const read = [];
    for (let from = '0'; from !== ''; ) {
      const text = await shard.call(...of('file_content', 'f1', {}, from));
      const [head, ...parts] = text.split('\0');
      from = head.split('\n')[1];
      read.push(parts.join('\0').replace(/^\d+:/, ''));
    }
    assert.ok(read.join() === blocks.join());
    assert.equal(await shard.call(...store({ blocks: 3, bytes })), 'gone', 'the same call again');
    assert.equal(await shard.call(...of('file_delete', 'f1')), 'ok');
    assert.deepEqual((await shard.names()).filter((name) => /file|stored|pushed/.test(name)), []);
    assert.equal(await shard.call(...of('file_delete', 'f1')), 'missing');
  });

  test('a list has pages in both directions, by purpose, and leaves out what has expired', async () => {
    for (const [id, purpose] of [['f1', 'batch'], ['f2', 'user_data'], ['f3', 'batch'], ['f4', 'batch']]) assert.match(await put({ id, purpose }), /^ok/);
    await shard.cmd('HSET', shard.key(`file:${OWNER}-f3`), 'expires', '5');
    const ids = async (options) => {
      const [tag, isMore, next, ...rest] = (await shard.call(...page(options))).split('\n');
      assert.equal(tag, 'ok');
      return [rest.filter((_, i) => i % 6 === 0).join(), isMore, next];
    };
    assert.deepEqual(await ids(), ['f1,f2,f4', '0', 'f4']);
    assert.deepEqual(await ids({ isBack: '1', limit: 2 }), ['f4,f2', '1', 'f2']);
    assert.deepEqual(await ids({ isBack: '1', limit: 2, after: 'f2' }), ['f1', '0', 'f1']);
    assert.deepEqual(await ids({ purpose: 'batch' }), ['f1,f4', '0', 'f4']);
    assert.deepEqual(await ids({ user: 'bob' }), ['', '0', '']);
  });

  test('a person has as many files as may be', async () => {
    const many = Array.from({ length: 10_000 }, (_, i) => [i, `x${i}`]).flat();
    await shard.cmd('ZADD', shard.key('files:F:alice'), ...many);
    assert.equal(await shard.call(...begin()), 'many');
    assert.equal(await shard.call(...begin({ user: 'bob' })), 'ok');
  });
});

flow('files, as many and as large as they may be', async (m) => {
  const [blocks, n] = [m.n(25), m.n(10_000)];
  await m.expect(/^ok/, 'file_begin', ...begin({ bytes: blocks << 20, stored: 1e12, perUser: 1e12 }).slice(1));
  for (let i = 0; i < blocks; i++) await m.cmd('RPUSHX', m.key('pushed:f1'), 'x'.repeat(1 << 20));
  await m.expect(/^ok/, 'file_store', ...store({ bytes: blocks << 20, blocks, stored: 1e12, perUser: 1e12 }).slice(1));
  await m.expect(/^ok/, 'file_show', ...of('file_show', 'f1').slice(1));
  await m.expect(/^ok/, 'file_content', ...of('file_content', 'f1', {}, blocks - 1).slice(1));
  for (let i = 0; i < 1000; i++) await m.cmd('HSET', m.key(`file:${OWNER}-x${i}`), ...Object.entries(fields()).flat());
  const many = Array.from({ length: n - 1 }, (_, i) => [i + 1, `${OWNER}-x${i}`]).flat();
  await m.cmd('ZADD', m.key('files:F:alice'), ...many);
  await m.expect(/^ok/, 'file_list', ...page({ limit: 500 }).slice(1));
  await m.expect(/^ok/, 'file_list', ...page({ purpose: 'user_data' }).slice(1));
  await m.expect(/^ok/, 'files_of', 0, 'alice', 'files', '');
  await m.expect(/^ok/, 'files_of', 0, 'alice', 'batches', '');
  await m.expect(/^ok/, 'file_delete', ...of('file_delete', 'f1').slice(1));
  await m.cmd('HSET', m.key(`file:${OWNER}-l`), ...Object.entries(fields()).flat());
  // In parts: a call of a function takes no hundred thousand arguments.
  for (let left = m.n(50_000); left > 0; left -= 10_000) await m.cmd('RPUSH', m.key(`file_bytes:${OWNER}-l`), ...Array(Math.min(left, 10_000)).fill('a line'));
  await m.expect(/^ok/, 'file_content', ...of('file_content', 'l', {}, 0).slice(1));
});
