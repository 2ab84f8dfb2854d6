// SPDX-License-Identifier: MIT
//
// Nodes notice a changed accounts file by themselves, in whatever way it was changed, and take two secrets of an account
// while it is being rotated.
import assert from 'node:assert/strict';
import { mkdirSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import { ACCOUNTS, accountsYaml, assertOk, assertProblem, eventually, startNode, suite } from '../support/harness.mjs';
import { waiting } from '../cluster/watch.mjs';
import { makeFolder } from '../support/node.mjs';

const at = (ms) => new Date(Date.now() + ms).toISOString().replace(/\.\d+Z$/, 'Z');
const basic = (user, secret) => ({ Authorization: `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}` });
const hashOf = (secret, salt = '00112233445566778899aabbccddeeff') => `sha256:${salt}:${createHash('sha256').update(salt).update(secret).digest('hex')}`;
let address = 0;

suite('the accounts file', { sweep: false, threads: 2 }, ({ test, cluster }) => {
  const login = (as, secret, node) => cluster.request('GET', '/api/login', { as, signing: { secret }, node, localAddress: `127.0.11.${(address++ % 250) + 1}` });
  const reads = (pattern, from) => eventually(() => cluster.nodes.every((node, i) => pattern.test(node.log().slice(from[i]))), { what: `the log says ${pattern}` });
  const marks = () => cluster.nodes.map((node) => node.log().length);
  const knows = (as, secret, status = 200) => eventually(async () => (await Promise.all([login(as, secret, 0), login(as, secret, 1)])).every((r) => r.status === status), { every: 200, what: `${as}: ${status}` });

  test('is read again when it is written in place, without a signal', async () => {
    const from = marks();
    cluster.writeAccounts({ ...ACCOUNTS, User_9: { secret: 'ninth', role: 'user' } });
    await reads(/accounts reloaded/, from);
    await knows('User_9', 'ninth');
    cluster.writeAccounts(ACCOUNTS);
    await knows('User_9', 'ninth', 401);
  });

  test('that is broken keeps the old accounts and costs one line with its line number, not one a second', async () => {
    const from = marks();
    cluster.writeAccounts('accounts:\n  User_1: {secret: "x", role: king}\n');
    await reads(/accounts not reloaded[^\n]*line 2/, from);
    assertOk(await login('User_1', ACCOUNTS.User_1.secret, 0));
    const again = marks();
    cluster.writeAccounts({ ...ACCOUNTS, User_9: { secret: 'ninth', role: 'user' } });
    await reads(/accounts reloaded/, again);
    for (const [i, node] of cluster.nodes.entries()) {
      const log = node.log().slice(from[i]);
      assert.equal([...log.matchAll(/accounts not reloaded/g)].length, 1, log);
      assert.ok(!log.includes('"x"'), 'no secret in a log');
    }
    cluster.writeAccounts(ACCOUNTS);
    await knows('User_9', 'ninth', 401);
  });

  test('without an account: its polls and streams end by themselves, and its token is refused', async () => {
    const { Topic } = await cluster.add({ as: 'User_1', Model: 'nobody-serves-it' });
    const { Token } = assertOk(await login('User_1', ACCOUNTS.User_1.secret, 0));
    const held = cluster.open('GET', '/api/check-query', { as: 'User_1', query: { Topic, Seq: 1, Wait: 120 }, node: 0, timeout: 60_000 });
    const stream = await cluster.stream('/api/check-query', { as: 'User_1', query: { Topic, Seq: 1 }, node: 1 });
    const other = cluster.open('GET', '/api/get-new-queries', { as: 'Inference_1', query: { Wait: 120, Models: 'none' }, node: 0, timeout: 60_000 });
    await waiting(cluster, 0, 1);
    await waiting(cluster, 1, 1);
    const { User_1, ...rest } = ACCOUNTS;
    cluster.writeAccounts(rest);
    assertProblem(await held.response, 401, 'unauthorized');
    await stream.ended();
    assertProblem(await cluster.request('GET', '/api/me', { headers: { Authorization: `Bearer ${Token}` }, node: 1 }), 401);
    cluster.writeAccounts(ACCOUNTS);
    await knows('User_1', User_1.secret);
    other.abort();
  });

  test('with two secrets of an account takes both until the former one ends, and then closes what that one opened', async () => {
    const { Topic } = await cluster.add({ as: 'User_1', Model: 'nobody-serves-it' });
    const until = (ms) => ({ ...ACCOUNTS, User_1: { secret: 'second', role: 'user', former_secret: `"${ACCOUNTS.User_1.secret}"`, former_until: at(ms) } });
    const check = (secret) => cluster.open('GET', '/api/check-query', { as: 'User_1', signing: { secret }, query: { Topic, Seq: 1, Wait: 120 }, node: 0, timeout: 100_000 });
    const early = check(ACCOUNTS.User_1.secret);
    await waiting(cluster, 0, 1);
    cluster.writeAccounts(until(3_600_000));
    await knows('User_1', 'second');
    await knows('User_1', ACCOUNTS.User_1.secret);
    const [byFormer, bySecond] = [check(ACCOUNTS.User_1.secret), check('second')];
    const { Token: former } = assertOk(await login('User_1', ACCOUNTS.User_1.secret, 0));
    const { Token: second } = assertOk(await login('User_1', 'second', 0));
    await waiting(cluster, 0, 3);
    const me = (token) => cluster.request('GET', '/api/me', { headers: { Authorization: `Bearer ${token}` }, node: 1 });
    for (const token of [former, second]) assertOk(await me(token));
    cluster.writeAccounts(until(4000)); // it ends although the file does not change any more
    assertProblem(await byFormer.response, 401, 'unauthorized');
    assertProblem(await early.response, 401, 'unauthorized');
    await knows('User_1', ACCOUNTS.User_1.secret, 401);
    assertOk(await login('User_1', 'second', 1));
    await eventually(async () => (await me(former)).status === 401, { what: 'its token has ended' });
    assertOk(await me(second));
    await waiting(cluster, 0, 1);
    bySecond.abort();
    cluster.writeAccounts(ACCOUNTS);
    await knows('User_1', ACCOUNTS.User_1.secret);
  });

  test('with a hash: that account logs in with its secret and uses tokens, and cannot sign', async () => {
    const secret = 'A7hXpQ2mN8vR4tY6uW1zB3cD5eF7gH9j';
    cluster.writeAccounts(accountsYaml(ACCOUNTS).replace(`secret: "${ACCOUNTS.User_1.secret}"`, `secret_hash: "${hashOf(secret)}"`));
    await knows('User_1', ACCOUNTS.User_1.secret, 401);
    const byBasic = (user, password, node = 0) => cluster.request('GET', '/api/login', { headers: basic(user, password), node, localAddress: '127.0.12.1' });
    const { Token, User } = assertOk(await byBasic('User_1', secret));
    assert.equal(User, 'User_1');
    assertOk(await cluster.request('GET', '/api/me', { headers: { Authorization: `Bearer ${Token}` }, node: 1 }));
    assertProblem(await login('User_1', secret, 0), 401);
    assertProblem(await login('User_1', hashOf(secret), 0), 401);
    for (const wrong of [`${secret}x`, '', hashOf(secret)]) assertProblem(await byBasic('User_1', wrong), 401);
    assertProblem(await byBasic('Nobody', secret), 401);
    assertProblem(await cluster.request('GET', '/api/login', { headers: { Authorization: 'Basic %%%' }, localAddress: '127.0.12.1' }), 401);
    assertProblem(await cluster.request('GET', '/api/me', { headers: basic('User_1', secret), localAddress: '127.0.12.1' }), 401);
    assertProblem(await byBasic('User_2', ACCOUNTS.User_2.secret), 401); // one that can sign does not send its secret
    cluster.writeAccounts(ACCOUNTS);
    await knows('User_1', ACCOUNTS.User_1.secret);
    await eventually(async () => (await cluster.request('GET', '/api/me', { headers: { Authorization: `Bearer ${Token}` }, node: 1 })).status === 401);
  });

  test('that is a symbolic link into a folder which is swapped, as a secret of Kubernetes is, and one that is renamed', async () => {
    const folder = makeFolder();
    const put = (name, accounts) => {
      mkdirSync(join(folder.dir, name));
      writeFileSync(join(folder.dir, name, 'accounts.yaml'), accountsYaml(accounts));
    };
    put('one', ACCOUNTS);
    symlinkSync('one', join(folder.dir, 'data'));
    symlinkSync('data/accounts.yaml', join(folder.dir, 'accounts.yaml'));
    const node = await startNode({ redis: cluster.redis, accounts: join(folder.dir, 'accounts.yaml') });
    try {
      put('two', { ...ACCOUNTS, User_9: { secret: 'ninth', role: 'user' } });
      symlinkSync('two', join(folder.dir, 'new'));
      renameSync(join(folder.dir, 'new'), join(folder.dir, 'data'));
      await eventually(async () => (await login('User_9', 'ninth', node)).status === 200, { every: 200 });
      const next = join(folder.dir, 'next.yaml');
      writeFileSync(next, accountsYaml(ACCOUNTS));
      renameSync(next, join(folder.dir, 'accounts.yaml'));
      await eventually(async () => (await login('User_9', 'ninth', node)).status === 401, { every: 200 });
      unlinkSync(join(folder.dir, 'accounts.yaml'));
      await node.waitForLog(/accounts not reloaded[^\n]*No such file/);
      assertOk(await login('User_1', ACCOUNTS.User_1.secret, node));
    } finally {
      await node.stop();
      folder.remove();
    }
  });
});
