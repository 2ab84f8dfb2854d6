// SPDX-License-Identifier: MIT
//
// Tokens become invalid when their account's secret changes or the account is removed; its long polls,
// streams and sockets are closed on every thread when the accounts are reloaded.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { beforeEach } from 'node:test';
import { ACCOUNTS, assertOk, assertProblem, eventually, suite } from '../support/harness.mjs';
import { metric, verbCalls, waiting } from '../cluster/watch.mjs';
import { onAll } from '../support/shards.mjs';
import { openWatch } from '../support/websocket.mjs';

const POLICY = 1008;
const REVOKED = /secret or role has changed, or the account was removed/;
const assertRevoked = (response) => assert.match(assertProblem(response, 401, 'unauthorized').detail, REVOKED);
const CHANGES = [
  ['has another secret', (accounts) => ({ ...accounts, User_1: { ...accounts.User_1, secret: 'another' }, Inference_1: { ...accounts.Inference_1, secret: 'another' } })],
  ['is gone', ({ User_1, Inference_1, ...rest }) => rest],
  ['has another role', (accounts) => ({ ...accounts, User_1: { ...accounts.User_1, role: 'operator' }, Inference_1: { ...accounts.Inference_1, role: 'user' } })],
];

suite('an account that lost its right', { threads: 2, sweep: false, args: ['--model-fallback-seconds', '0'] }, ({ test, cluster }) => {
  const tokenOf = async (as) => assertOk(await cluster.request('GET', '/api/login', { as })).Token;
  const bearer = (token) => ({ Authorization: `Bearer ${token}` });
  const me = (token, node) => cluster.request('GET', '/api/me', { headers: bearer(token), node });
  const reported = (node) => [...node.log().matchAll(/accounts reloaded/g)].length;


  beforeEach(() => reload(ACCOUNTS));

  const parked = async () => (await onAll(cluster.redis, 'ZRANGE', 'idle', 0, -1, 'WITHSCORES')).flat().filter((_, i) => i % 2).reduce((sum, n) => sum + Math.floor(n), 0);

  async function reload(accounts) {
    cluster.writeAccounts(accounts);
    for (const node of cluster.nodes) {
      const before = reported(node);
      node.signal('SIGHUP');
      await eventually(() => reported(node) > before, { what: 'the accounts are read' });
    }
  }

  for (const [what, change] of CHANGES) {
    test(`that ${what}: its tokens are refused on every node, and say so`, async () => {
      const token = await tokenOf('User_1');
      const other = await tokenOf('User_2');
      assertOk(await me(token));
      await reload(change(ACCOUNTS));
      for (const node of [0, 1, 0, 1]) {
        const response = await me(token, node);
        assertRevoked(response);
        assert.match(response.headers['www-authenticate'], /^Bearer realm="parley", error="invalid_token", error_description=/);
        assertOk(await me(other, node));
      }
      await reload(ACCOUNTS);
      assertOk(await me(token));
    });

    test(`that ${what}: its sockets close, those of others stay`, async () => {
      const open = async (as, node) => openWatch(`${cluster.nodes[node].url}/ws/indexing?token=${await tokenOf(as)}`);
      // Several on each node, so that every thread has some.
      const mine = await Promise.all(Array.from({ length: 12 }, (_, i) => open('User_1', i % 2)));
      const others = await Promise.all([open('User_2', 0), open('User_2', 1)]);
      for (const socket of [...mine, ...others]) assert.equal((await socket.next()).type, 'connected');
      await reload(change(ACCOUNTS));
      for (const socket of mine) assert.equal(await socket.closed(), POLICY);
      for (const socket of others) {
        assert.equal(socket.code, undefined, 'it is open');
        await socket.close();
      }
      await reload(ACCOUNTS);
    });

    test(`that ${what}: its streams end with an error, its long polls with 401, those of others continue`, async () => {
      const { Topic } = await cluster.add({ as: 'User_1', Model: 'big' });
      const { Topic: kept } = await cluster.add({ as: 'Frontend_1', Model: 'big' });
      const token = await tokenOf('User_1');
      const both = async (count, what) => (await count(cluster, 0, what)) + (await count(cluster, 1, what));
      const before = [await both(metric, 'parley_checks_parked'), await both(verbCalls, 'claim_lookup')];
      const streams = [];
      for (const node of [0, 1]) {
        streams.push(await cluster.stream('/api/check-query', { as: 'User_1', query: { Topic, Seq: 1 }, node }));
        streams.push(await cluster.stream('/api/check-query', { headers: bearer(token), query: { Topic, Seq: 1 }, node }));
      }
      for (const stream of streams) await stream.nextComment();
      const keptStream = await cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Topic: kept, Seq: 1 }, node: 0 });
      const checks = [0, 1].flatMap((node) => [
        cluster.checkOpen({ as: 'User_1', Topic, wait: 60, node }),
        cluster.checkOpen({ as: undefined, Topic, wait: 60, node, headers: bearer(token) }),
      ]);
      const lookups = [0, 1].map((node) => cluster.open('GET', '/api/get-new-lookup', { as: 'Inference_1', query: { Wait: 60 }, node }));
      const polls = [0, 1].map((node) => cluster.claimOpen({ as: 'Inference_1', wait: 60, node, models: 'nobody-has-it' }));
      const keptPoll = cluster.checkOpen({ as: 'Frontend_1', Topic: kept, wait: 60, node: 1 });
      // Before that a request would meet the new accounts, and be refused as a wrong one.
      await eventually(async () => (await parked()) === 2, { what: 'the polls are parked' });
      await eventually(async () => (await both(metric, 'parley_checks_parked')) === before[0] + 10, { what: 'streams and checks wait' });
      await eventually(async () => (await both(verbCalls, 'claim_lookup')) >= before[1] + 2, { what: 'the lookups are asked for' });
      await reload(change(ACCOUNTS));
      for (const { response } of [...checks, ...lookups, ...polls]) assertRevoked(await response);
      for (const stream of streams) {
        const seen = await stream.until('error');
        assert.match(seen.at(-1).data.detail, REVOKED);
        await stream.ended();
      }
      await reload(ACCOUNTS);
      for (const topic of [Topic, kept]) {
        const claim = await cluster.claim({ models: 'big' });
        await cluster.answer({ Topic: claim.Topic, Seq: 1, Answer: [topic === kept ? 'kept' : 'late'] });
      }
      assert.equal(assertOk(await keptPoll.response).Answer.length, 1);
      assert.equal((await keptStream.until('done')).at(-1).data.Topic, kept);
    });
  }

  test('a parked engine that lost its right gets no claim, and others get it at once', async () => {
    await cluster.sweep();
    const polls = Array.from({ length: 6 }, (_, i) => cluster.claimOpen({ as: 'Inference_1', wait: 60, node: i % 2 }));
    await Promise.all(polls.map(({ sent }) => sent));
    await eventually(async () => (await parked()) === 6, { what: 'six polls are parked' });
    const { Inference_1, ...rest } = ACCOUNTS;
    await reload(rest);
    for (const { response } of polls) assertRevoked(await response);
    await eventually(async () => (await parked()) === 0, { what: 'their credits are gone' });
    const { Topic } = await cluster.add();
    assert.equal((await cluster.claim({ as: 'Inference_2' })).Topic, Topic);
    await cluster.answer({ as: 'Inference_2', Topic, Seq: 1 });
    await reload(ACCOUNTS);
  });

  test('a reload that changes nothing for an account ends nothing of it', async () => {
    const { Topic } = await cluster.add({ as: 'User_1' });
    const token = await tokenOf('User_1');
    const check = cluster.checkOpen({ as: 'User_1', Topic, wait: 60, node: 0 });
    const socket = await openWatch(`${cluster.nodes[0].url}/ws/indexing?token=${token}`);
    assert.equal((await socket.next()).type, 'connected');
    await waiting(cluster, 0, 1);
    await reload({ ...ACCOUNTS, User_1: { ...ACCOUNTS.User_1, weight: 3 }, User_9: { secret: 'nine', role: 'user' } });
    cluster.writeAccounts('accounts: [');
    for (const node of cluster.nodes) {
      node.signal('SIGHUP');
      await node.waitForLog(/accounts not reloaded/);
    }
    assertOk(await me(token));
    const claim = await cluster.claim();
    assert.equal(claim.Topic, Topic);
    await cluster.answer({ Topic, Seq: 1 });
    assert.deepEqual(assertOk(await check.response).Answer, ['42']);
    assert.equal(socket.code, undefined);
    await socket.close();
    await reload(ACCOUNTS);
  });
});

suite('a token whose time is over', { sweep: false }, ({ test, cluster }) => {
  // What login issues, with another time.
  async function tokenUntil(exp, as = 'User_1') {
    const { Token } = assertOk(await cluster.request('GET', '/api/login', { as }));
    const [head, claims] = Token.split('.');
    const key = Buffer.from(await cluster.redis.cmd('GET', 'parley:{0}:token_key'), 'hex');
    const body = { ...JSON.parse(Buffer.from(claims, 'base64url')), iat: exp - 3600, nbf: exp - 3600, exp };
    const text = `${head}.${Buffer.from(JSON.stringify(body)).toString('base64url')}`;
    return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
  }
  const now = () => Math.floor(Date.now() / 1000);

  test('is refused with its own error, and does not count as a failed login', async () => {
    const headers = { Authorization: `Bearer ${await tokenUntil(now() - 61)}` };
    for (let i = 0; i < 12; i++) {
      const response = await cluster.request('GET', '/api/me', { headers, localAddress: '127.4.0.1' });
      const { detail } = assertProblem(response, 401, 'unauthorized');
      assert.match(detail, /expired/);
      assert.match(response.headers['www-authenticate'], /^Bearer .*error="invalid_token", error_description="The token has expired\."/);
    }
  });

  test('ends its socket and its stream', async () => {
    const { Topic } = await cluster.add({ as: 'User_1' });
    const token = await tokenUntil(now() + 2);
    const socket = await openWatch(`${cluster.nodes[0].url}/ws/indexing?token=${token}`);
    const stream = await cluster.stream('/api/check-query', { headers: { Authorization: `Bearer ${token}` }, query: { Topic, Seq: 1 } });
    assert.equal((await socket.next()).type, 'connected');
    assert.equal(await socket.closed(), POLICY);
    assert.match((await stream.until('error')).at(-1).data.detail, /^The token has expired/);
    await stream.ended();
  });

  test('is still good for the minute by which clocks may differ, without a loop of sockets', async () => {
    const token = await tokenUntil(now() - 52);
    const socket = await openWatch(`${cluster.nodes[0].url}/ws/indexing?token=${token}`);
    assert.equal((await socket.next()).type, 'connected');
    assert.equal(await socket.closed(), POLICY);
  });

  test('that was issued before tokens knew of secrets is refused', async () => {
    const key = Buffer.from(await cluster.redis.cmd('GET', 'parley:{0}:token_key'), 'hex');
    const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const text = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ iss: 'parley', sub: 'User_1', role: 'user', iat: now(), nbf: now(), exp: now() + 3600 })}`;
    const token = `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
    assertProblem(await cluster.request('GET', '/api/me', { headers: { Authorization: `Bearer ${token}` }, localAddress: '127.4.0.2' }), 401, 'unauthorized');
  });

  test('does not show in the log as a parameter', async () => {
    const token = await tokenUntil(now() + 600);
    const socket = await openWatch(`${cluster.nodes[0].url}/ws/indexing?token=${token}`);
    await socket.next();
    await socket.close();
    assertProblem(await cluster.request('GET', '/ws/indexing', { query: { token: `${token}x` }, localAddress: '127.4.0.3' }), 401);
    for (const node of cluster.nodes) assert.ok(!node.log().includes(token.split('.')[2]), 'the token is in the log');
  });
});
