// SPDX-License-Identifier: MIT
//
// Redis over TLS, by a tunnel with the settings of docs/operations/secure.md: hiredis of Debian 12 has no TLS. With one that has,
// see tests/cluster/redis_over_tls.test.mjs.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import {
  ACCOUNTS, assertOk, eventually, freePort, makeFolder, newTopic, openRequest, runParley, sign, startNode, startRedis, withQuery, writeAccounts,
} from '../support/harness.mjs';
import { makeAuthority } from '../support/tls.mjs';

const OPERATIONS = readFileSync(new URL('../../docs/operations/secure.md', import.meta.url), 'utf8');

it('a node reaches a Redis that takes TLS through the tunnel of the handbook, which checks its certificate', async () => {
  const folder = makeFolder();
  const authority = makeAuthority(folder.dir);
  const other = makeFolder();
  const stranger = makeAuthority(other.dir);
  const { cert, key } = authority.make('redis');
  const [secure, tunnel] = [await freePort(), await freePort()];
  const redis = await startRedis({ aof: true, args: ['--tls-port', secure, '--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', authority.ca, '--tls-auth-clients', 'no'] });
  const accounts = writeAccounts();
  const config = (ca) =>
    /```ini\n(; stunnel[^`]*)```/.exec(OPERATIONS)[1]
      .replace('accept = 127.0.0.1:6379', `accept = 127.0.0.1:${tunnel}`)
      .replace('redis.example.org:6380', `127.0.0.1:${secure}`)
      .replace('checkHost = redis.example.org', 'checkHost = localhost')
      .replace('/etc/parley/redis-ca.pem', ca);
  const start = (ca, name) => spawn(execFileSync('tests/stunnel.sh').toString().trim(), [folder.file(name, config(ca))], { stdio: ['ignore', 'ignore', 'ignore'] });
  let running = start(authority.ca, 'tunnel.conf');
  const options = { redis: { url: `redis://127.0.0.1:${tunnel}` }, accounts: accounts.path };
  const isReady = async (node) => {
    const { status, json } = await openRequest(node.url, 'GET', '/readyz').response;
    return status === 200 && json.away === undefined;
  };
  const add = (node) => openRequest(node.url, 'POST', withQuery('/api/add-query', sign('Frontend_1', ACCOUNTS.Frontend_1.secret)), { body: { Topic: newTopic(), User: 'alice', Query: 'Why?' } }).response;
  let node;
  try {
    node = await startNode(options);
    await eventually(() => isReady(node), { what: 'the node is ready' });
    assertOk(await add(node));
    assert.match(await redis.cmd('CLIENT', 'LIST'), new RegExp(`laddr=127.0.0.1:${secure} `));
    running.kill('SIGKILL');
    await once(running, 'exit');
    await eventually(async () => !(await isReady(node)), { what: 'the node notices that the tunnel is gone' });
    running = start(stranger.ca, 'wrong.conf');
    const end = await runParley(['servers', '--redis', options.redis.url]);
    assert.notEqual(end.code, 0, 'a certificate of another authority');
    running.kill('SIGKILL');
    await once(running, 'exit');
    running = start(authority.ca, 'again.conf');
    await eventually(() => isReady(node), { ms: 60_000, what: 'the node is ready again' });
    assertOk(await add(node));
  } finally {
    await node?.stop();
    running.kill('SIGKILL');
    await redis.stop();
    for (const one of [folder, other, accounts]) one.remove();
  }
});

it('a build whose hiredis has no TLS refuses rediss:// with one line that says what to do', async (t) => {
  for (const [scheme, rest] of [['rediss', ''], ['rediss+sentinel', '/main'], ['rediss+cluster', '']]) {
    const { code, stderr } = await runParley(['servers', '--redis', `${scheme}://:word@127.0.0.1:1${rest}`]);
    if (code !== 2) return t.skip('this build has Redis over TLS');
    assert.ok(stderr.includes(`${scheme}://`), stderr);
    assert.match(stderr, /hiredis.*TLS.*tunnel/);
    assert.equal(stderr.trim().split('\n').length, 1);
    assert.ok(!stderr.includes('word@'), stderr);
  }
});
