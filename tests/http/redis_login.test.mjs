// SPDX-License-Identifier: MIT
//
// How a program gets into Redis, and what it says when it does not: passwords in files, users of its ACL, logins
// that are refused, servers that are too old, and settings that may lose what was acknowledged.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import {
  accountsYaml, assertOk, assertProblem, eventually, makeFolder, newTopic, openRequest, RedisClient, runParley, sign, startNode, startRedis,
  ACCOUNTS, withQuery,
} from '../support/harness.mjs';
import { ACL, addUser } from '../support/acl.mjs';
import { DATA_VERSION } from '../support/keyspace.mjs';
import { SHARDS } from '../support/shards.mjs';

describe('logins to Redis', () => {
  let redis, folder, accounts, password, wrong, alice;
  before(async () => {
    redis = await startRedis();
    folder = makeFolder();
    accounts = folder.file('accounts.yaml', accountsYaml());
    password = folder.file('password', ' s3cret/@:word\n');
    wrong = folder.file('wrong', 'nothing-like-it');
    alice = folder.file('alice', 'alices-own');
    await redis.cmd('ACL', 'SETUSER', 'alice', 'on', '>alices-own', ...ACL);
    await redis.cmd('ACL', 'SETUSER', 'reader', 'on', '>alices-own', '~*', '&*', '+@read', '+@connection');
    await redis.cmd('ACL', 'SETUSER', 'deaf', 'on', '>alices-own', '~*', '+@all', 'resetchannels');
    // The lazy connection of redis.cmd is logged in already, and stays so.
    await redis.cmd('CONFIG', 'SET', 'requirepass', 's3cret/@:word');
  });
  after(async () => {
    await redis.stop();
    folder.remove();
  });

  const host = () => `127.0.0.1:${redis.port}`;
  const commands = () => ({
    serve: ['serve', '--listen', '127.0.0.1:0', '--accounts', accounts, '--threads', 1],
    ingest: ['ingest', '--collection', 'public', '--base-url', 'http://x', folder.file('page.md', '# A page')],
    reindex: ['reindex'],
    backup: ['backup', `${folder.dir}/made`],
    restore: ['restore', folder.file('backup', `parley backup, data version ${DATA_VERSION}\n`)],
  });
  const flagsOf = (url, file) => ['--redis', url, ...(file ? ['--redis-password-file', file] : [])];

  async function served(node) {
    const proof = sign('Frontend_1', ACCOUNTS.Frontend_1.secret);
    const path = withQuery('/api/add-query', proof);
    assertOk(await openRequest(node.url, 'POST', path, { body: { Topic: newTopic(), User: 'alice', Query: 'Why?' } }).response);
    await node.stop();
  }

  it('a password in a file lets a node in, and does not show in ps', async () => {
    const node = await startNode({ redis: { url: `redis://${host()}` }, accounts, args: ['--redis-password-file', password] });
    assert.ok(!readFileSync(`/proc/${node.child.pid}/cmdline`, 'latin1').includes('s3cret'));
    await served(node);
  });

  it('the environment names the file, a user of the ACL is in the URL, and a password in the URL still works', async () => {
    const env = { PARLEY_REDIS_PASSWORD_FILE: alice };
    await served(await startNode({ redis: { url: `redis://alice:@${host()}` }, accounts, env }));
    const node = await startNode({ redis: { url: `redis://alice:alices-own@${host()}` }, accounts });
    await served(node);
    assert.ok(!/NOPERM/.test(node.log()), node.log());
    await served(await startNode({ redis: { url: `redis://:s3cret/@:word@${host()}` }, accounts }));
  });

  for (const [what, url, file, says] of [
    ['a wrong password', () => `redis://${host()}`, () => wrong, /--redis-password-file.*WRONGPASS/],
    ['a wrong password of a user', () => `redis://alice:@${host()}`, () => wrong, /--redis-password-file.*WRONGPASS/],
    ['no password', () => `redis://${host()}`, () => undefined, /NOAUTH.*--redis-password-file/],
    ['a user without the rights', () => `redis://reader:@${host()}`, () => alice, /--redis.*NOPERM/],
    ['a user without the channels', () => `redis://deaf:@${host()}`, () => alice, /--redis.*NOPERM/],
  ]) {
    it(`${what} ends every command with 1 and one line that names the flag`, async () => {
      for (const [name, command] of Object.entries(commands())) {
        if (name === 'backup' && /^a user/.test(what)) continue; // it only reads, and listens to nothing
        const { code, stderr } = await runParley([...command, ...flagsOf(url(), file())]);
        assert.equal(code, 1, `${name}: ${stderr}`);
        assert.match(stderr, says, name);
        assert.equal(stderr.trim().split('\n').length, 1, stderr);
        assert.ok(!/s3cret|alices-own|nothing-like-it/.test(stderr), stderr);
        assert.ok(!existsSync(`${folder.dir}/made`), name);
      }
    });
  }

  it('a file that is missing or empty, and a password in two places, are refused with 2', async () => {
    const nothing = folder.file('nothing', ' \n');
    for (const command of Object.values(commands())) {
      for (const [url, file] of [
        [`redis://${host()}`, `${folder.dir}/none`],
        [`redis://${host()}`, nothing],
        [`redis://:s3cret@${host()}`, password],
        [`redis://${host()}`, folder.file('long', 'x'.repeat(600))],
      ]) {
        const { code, stderr } = await runParley([...command, ...flagsOf(url, file)]);
        assert.equal(code, 2, stderr);
        assert.equal(stderr.trim().split('\n').length, 1, stderr);
        assert.ok(!stderr.includes('s3cret'), stderr);
      }
    }
  });

  it('a list of servers ends every command with 2 and one line that names Redis Cluster', async () => {
    for (const command of [...Object.values(commands()), ['servers']]) {
      for (const url of [
        `redis://${host()},redis://${host()}`,
        `redis://:s3cret@${host()},redis://:s3cret@${host()}`,
        `redis://${host()}/0,unix:/tmp/redis.sock`,
        `unix:/tmp/a.sock,unix:/tmp/b.sock`,
        `redis+sentinel://${host()}/one,redis+sentinel://${host()}/two`,
        `redis+cluster://${host()},redis://${host()}`,
        `redis://:s3cret@${host()},${host()}/0`,
      ]) {
        const { code, stderr } = await runParley([...command, '--redis', url]);
        assert.deepEqual([code, stderr], [2, 'parley: --redis: is one Redis, not a list of servers: make them one Redis Cluster, and set redis+cluster://host:port,host:port\n'], url);
      }
    }
  });

  it('--check-config shows the URL and the file, and no password', async () => {
    const check = [...commands().serve, '--check-config'];
    const first = await runParley([...check, ...flagsOf(`redis://alice:@${host()}`, alice)]);
    assert.equal(first.code, 0, first.stderr);
    assert.match(first.stdout, new RegExp(`redis://alice:@${host()}`));
    assert.ok(first.stdout.includes(alice) && !first.stdout.includes('alices-own'));
    const second = await runParley([...check, ...flagsOf(`redis://alice:alices-own@${host()}`)]);
    assert.ok(!second.stdout.includes('alices-own'), second.stdout);
  });

  it('a password that is changed later: the node keeps trying, says so, and works again when it is back', async () => {
    const node = await startNode({ redis: { url: `redis://alice:@${host()}` }, accounts, args: ['--redis-password-file', alice] });
    try {
      const get = (path) => openRequest(node.url, 'GET', path).response;
      await redis.cmd('ACL', 'SETUSER', 'alice', 'resetpass', '>another');
      await redis.cmd('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      const readyz = await eventually(
        async () => {
          const response = await get('/readyz');
          return response.status === 503 && /WRONGPASS/.test(response.json.detail) && response;
        },
        { what: 'the node says that its login is refused' },
      );
      assertProblem(readyz, 503, 'redis_lost');
      assert.match((await get('/health')).json.dependencies.redis.details.message, /WRONGPASS/);
      const tried = async () => Number(/^calls=(\d+)/.exec((await redis.info('commandstats')).cmdstat_auth)[1]);
      const from = await tried();
      await eventually(async () => (await tried()) >= from + 4, { ms: 60_000, what: 'the node continues trying' });
      const connections = SHARDS + 1; // of turns, and of jobs: each says it once, and now and then again
      assert.ok(node.log().split('\n').filter((line) => /WRONGPASS/.test(line)).length <= 3 * connections, node.log());
      await redis.cmd('ACL', 'SETUSER', 'alice', 'resetpass', '>alices-own');
      // Ready with half of its shards: `away` names what is missing.
      const isWhole = async () => (await get('/readyz')).json.status === 'ready' && !(await get('/readyz')).json.away;
      await eventually(isWhole, { ms: 60_000, what: 'the node is ready again' });
    } catch (error) {
      await node.kill('SIGKILL');
      throw error;
    }
    await served(node);
  });
});

describe('a Redis that may lose what it acknowledged', () => {
  for (const [what, options, set, said, unsaid] of [
    ['evicts keys', { aof: true }, ['maxmemory-policy', 'allkeys-lru'], [/maxmemory-policy/], [/append-only/]],
    ['keeps no append-only file', {}, [], [/appendonly/], [/maxmemory-policy/]],
    ['leaves the file to the system', { aof: true }, ['appendfsync', 'no'], [/appendfsync/], [/maxmemory-policy/, /appendonly/]],
    ['keeps all', { aof: true }, [], [], [/maxmemory-policy/, /append/]],
  ]) {
    it(`one that ${what}: the log and /health ${said.length ? 'warn of it' : 'are silent'}`, async () => {
      const redis = await startRedis(options);
      const folder = makeFolder();
      try {
        if (set.length) await redis.cmd('CONFIG', 'SET', ...set);
        const node = await startNode({ redis, accounts: folder.file('accounts.yaml', accountsYaml()) });
        const health = () => openRequest(node.url, 'GET', '/health').response;
        for (const words of said) {
          await eventually(async () => words.test((await health()).json.dependencies.redis.details?.message), { what: '/health says it' });
          assert.match(node.log(), words);
        }
        const { details, status } = (await health()).json.dependencies.redis;
        assert.equal(status, 'connected');
        for (const words of unsaid) assert.ok(!words.test(details?.message) && !words.test(node.log()), details?.message);
        await node.stop();
      } finally {
        await redis.stop();
        folder.remove();
      }
    });
  }

  it('a Redis that forbids INFO and CONFIG gives no warning, and no failure', async () => {
    const redis = await startRedis();
    const folder = makeFolder();
    try {
      await redis.cmd('ACL', 'SETUSER', 'parley', 'on', '>word', ...ACL, '-info', '-config');
      const node = await startNode({
        redis: { url: `redis://parley:@127.0.0.1:${redis.port}` },
        accounts: folder.file('accounts.yaml', accountsYaml()),
        args: ['--redis-password-file', folder.file('word', 'word')],
      });
      const { json, status } = await openRequest(node.url, 'GET', '/health').response;
      assert.equal(status, 200);
      assert.equal(json.dependencies.redis.details, null);
      await node.stop();
    } finally {
      await redis.stop();
      folder.remove();
    }
  });

  it('a server without functions ends the start with one line', async () => {
    const redis = await startRedis({ args: ['--rename-command', 'FUNCTION', '', '--rename-command', 'FCALL', ''] });
    const folder = makeFolder();
    try {
      const accounts = folder.file('accounts.yaml', accountsYaml());
      const { code, stderr } = await runParley(['serve', '--listen', '127.0.0.1:0', '--accounts', accounts, '--redis', redis.url]);
      assert.equal(code, 1, stderr);
      assert.match(stderr, /--redis.*Redis 7/);
      assert.equal(stderr.trim().split('\n').length, 1, stderr);
    } finally {
      await redis.stop();
      folder.remove();
    }
  });
});

// What nodes, indexers and tools send under the user of docs/operations/secure.md: Redis refuses nothing of it.
describe('a user of Redis with few rights', () => {
  let redis, other, folder, accounts, password, node;
  const url = (server) => `redis://parley:@127.0.0.1:${server.port}`;
  const tool = async (name, ...args) => {
    const server = args[0]?.port ? args.shift() : redis;
    const end = await runParley([name, '--redis', url(server), '--redis-password-file', password, ...args]);
    assert.equal(end.code, 0, `${name}: ${end.stderr}`);
    assert.ok(!/NOPERM/.test(end.stderr), end.stderr);
    return end;
  };
  before(async () => {
    folder = makeFolder();
    accounts = folder.file('accounts.yaml', accountsYaml());
    password = folder.file('password', 'word-of-parley');
    [redis, other] = await Promise.all([startRedis({ aof: true }), startRedis({ aof: true })]);
    for (const server of [redis, other]) await addUser(server, 'parley', 'word-of-parley');
    node = await startNode({ redis: { url: url(redis) }, accounts, args: ['--redis-password-file', password] });
  });
  after(async () => {
    await node?.stop();
    await redis.stop();
    await other.stop();
    folder.remove();
  });

  it('serves questions, lookups, documents and searches, and lets every tool work', async () => {
    const ask = (method, path, as, { query, ...options } = {}) => openRequest(node.url, method, withQuery(path, { ...query, ...sign(as, ACCOUNTS[as].secret) }), options).response;
    const Topic = newTopic();
    assertOk(await ask('POST', '/api/add-query', 'Frontend_1', { body: { Topic, User: 'alice', Query: 'Why?' } }));
    assertOk(await ask('GET', '/api/get-new-queries', 'Inference_1', { query: { Wait: 5 } }));
    assertOk(await ask('POST', '/api/give-new-answer', 'Inference_1', { body: { Topic, Seq: 1, Query: 'Why?', Think: [], Answer: ['Because.'] } }));
    assertOk(await ask('POST', '/api/add-lookup', 'Frontend_1', { body: { Topic, Seq: 1, Fragment: 'a fragment', Count: 3, Threshold: 1 } }));
    assertOk(await ask('GET', '/api/get-new-lookup', 'Inference_1', { query: { Wait: 5 } }));
    assertOk(await ask('POST', '/api/recommend', 'Frontend_1', { body: { Topic, OnBehalfOf: 'alice', Query: 'Why?', Fragment: 'a', Comment: 'b', Type: 'Flag as Off Topic' } }));
    const page = folder.file('page.md', '# Moons\n\nThe moon of Neptune is Triton.\n');
    await tool('ingest', '--collection', 'public', '--base-url', 'http://x', page);
    await tool('reindex');
    assert.equal((await ask('GET', '/api/users/alice/export', 'Frontend_1')).status, 200);
    assertOk(await ask('GET', '/api/status', 'Operator_1'));
    for (const what of ['polls', 'classes', 'claims', 'watches', 'verbs']) await tool('show', what);
    await tool('servers');
    await tool('backup', `${folder.dir}/made`);
    await tool('restore', other, `${folder.dir}/made`);
    assertOk(await ask('DELETE', '/api/users/alice', 'Frontend_1'), 202);
    for (const server of [redis, other]) assert.deepEqual(await server.cmd('ACL', 'LOG'), []);
    assert.ok(!/NOPERM/.test(node.log()), node.log());
  });

  it('is refused what is not its own', async () => {
    const client = new RedisClient(redis.port);
    await client.cmd('AUTH', 'parley', 'word-of-parley');
    for (const words of [
      ['GET', 'others'], ['SET', 'others', '1'], ['KEYS', '*'], ['FLUSHALL'], ['CONFIG', 'SET', 'maxmemory', '0'], ['ACL', 'LIST'], ['SHUTDOWN'],
      ['EVAL', "return redis.call('GET', 'others')", '0'], ['FUNCTION', 'FLUSH'], ['CLIENT', 'LIST'], ['CLIENT', 'KILL', 'TYPE', 'normal'], ['PUBLISH', 'others', 'x'], ['REPLICAOF', 'NO', 'ONE'],
      ['SORT', 'parley:x', 'GET', 'others'], ['MONITOR'], ['MIGRATE', '127.0.0.1', '1', 'parley:x', '0', '1'], ['RESTORE', 'parley:x', '0', 'x'],
    ])
      await assert.rejects(client.cmd(...words), /NOPERM|No permissions|can't access|ACL failure/, words.join(' '));
    client.close();
  });
});
