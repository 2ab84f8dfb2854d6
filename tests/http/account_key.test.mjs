// SPDX-License-Identifier: MIT
//
// Keys of accounts on routes that take them: as Bearer and in x-api-key, on every node, until they are revoked.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { makeFolder, runParley } from '../support/node.mjs';
import { eventually, openRequest, sign, startNode, startRedis, withQuery } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // credentials are checked before a shard is chosen

const FILE = `accounts:
  Frontend_1: {secret: "s3cret", role: frontend}
  Operator_1: {secret: "operator-secret", role: operator}
  Häns: {secret: "other.secret", role: operator}
  Hashed_1: {secret_hash: "sha256:${'0'.repeat(32)}:${'0'.repeat(64)}", role: operator}
`;

describe('a key of an account', () => {
  let folder, path, redis, nodes;
  before(async () => {
    folder = makeFolder();
    path = folder.file('accounts.yaml', FILE);
    redis = await startRedis();
    nodes = [await startNode({ redis, accounts: path }), await startNode({ redis, accounts: path })];
  });
  after(async () => {
    for (const node of nodes ?? []) await node.stop();
    await redis?.stop();
    folder.remove();
  });
  const run = (...args) => runParley(['account', ...args, '--accounts', path]);
  const keyOf = async (...args) => {
    const { code, stdout, stderr } = await run('key', ...args);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^sk-[\w-]+-[\w-]{43}\n$/);
    return stdout.trim();
  };
  const get = (node, path, headers, options) => openRequest(node.url, 'GET', path, { headers, ...options }).response;
  const depth = async (node, headers) => (await get(node, '/api/depth', headers)).status;
  const statuses = async (headers) => [await depth(nodes[0], headers), await depth(nodes[1], headers)];
  const both = (key) => [{ authorization: `Bearer ${key}` }, { 'x-api-key': key }];

  it('is the same every time, and accepted by every node as Bearer and in x-api-key', async () => {
    for (const name of ['Operator_1', 'Häns']) {
      const key = await keyOf(name);
      assert.equal(await keyOf(name), key);
      for (const headers of both(key)) assert.deepEqual(await statuses(headers), [200, 200], name);
    }
    for (const headers of both('Operator_1:operator-secret')) assert.deepEqual(await statuses(headers), [200, 200]);
  });

  it('has the role of its account, and its neighbours are refused', async () => {
    const [key, other] = [await keyOf('Operator_1'), await keyOf('Frontend_1')];
    for (const headers of both(other)) assert.equal(await depth(nodes[0], headers), 403);
    const mac = key.slice(-43);
    for (const wrong of [other.slice(0, -43) + mac, key.slice(0, -1), 'sk-', `sk-${'A'.repeat(8000)}`])
      assert.equal(await depth(nodes[1], { 'x-api-key': wrong }), 401, wrong.slice(0, 60));
  });

  it('in the head it is enough for a body of more than 16 KiB', async () => {
    const body = { question: 'x'.repeat(20000) };
    for (const headers of both(await keyOf('Frontend_1'))) {
      const { status, body: text } = await openRequest(nodes[0].url, 'POST', '/api/bots/evaluate', { headers, body }).response;
      assert.equal(status, 400, `${text}`);
      assert.match(`${text}`, /originalAnswer/, 'the body was read');
    }
  });

  it('opens no route that does not take keys', async () => {
    const key = await keyOf('Operator_1');
    for (const headers of both(key)) assert.equal((await get(nodes[0], '/api/me', headers)).status, 401);
  });

  it('in x-api-key a token works as well', async () => {
    const { Token } = JSON.parse((await get(nodes[0], withQuery('/api/login', sign('Operator_1', 'operator-secret')), {})).body);
    for (const headers of both(Token)) assert.deepEqual(await statuses(headers), [200, 200]);
  });

  it('is refused once it is revoked, and its successor accepted', async () => {
    const key = await keyOf('Operator_1');
    const next = await keyOf('Operator_1', '--revoke');
    assert.notEqual(next, key);
    assert.equal(JSON.parse((await run('key', 'Operator_1', '--json')).stdout).key_generation, 1);
    await eventually(async () => `${await statuses({ 'x-api-key': next })}` === '200,200', { what: 'the new key is known', every: 200 });
    for (const headers of both(key)) for (const status of await statuses(headers)) assert.ok([401, 429].includes(status), `${status}`);
  });

  it('ends with the secret of its account, after the grace of its rotation', async () => {
    const key = await keyOf('Häns');
    await run('rotate', 'Häns', '--grace-seconds', '3600');
    const next = await keyOf('Häns');
    await eventually(async () => `${await statuses({ 'x-api-key': next })}` === '200,200', { what: 'the new key is known', every: 200 });
    assert.deepEqual(await statuses({ 'x-api-key': key }), [200, 200], 'in its time of grace');
    await run('rotate', 'Häns', '--grace-seconds', '0');
    await eventually(async () => (await statuses({ 'x-api-key': key })).every((status) => [401, 429].includes(status)), { what: 'both have ended', every: 200 });
  });

  it('is refused with a reason for a hashed secret, an unknown account, and flags of others', async () => {
    for (const [pattern, code, ...args] of [
      [/hashed secret/, 1, 'key', 'Hashed_1'],
      [/no account/, 1, 'key', 'Operator_2'],
      [/--revoke: is a flag of parley account key/, 2, 'rotate', 'Häns', '--revoke'],
      [/--grace-seconds: is a flag of parley account rotate/, 2, 'key', 'Häns', '--grace-seconds', '1'],
    ]) {
      const end = await run(...args);
      assert.deepEqual([end.code, end.stdout], [code, ''], end.stderr);
      assert.match(end.stderr, pattern);
    }
  });
});
