// SPDX-License-Identifier: MIT
//
// Ten failed logins per minute of one account from one address. Correct credentials always pass, so nobody
// can lock out an account, and invented names use bounded memory in Redis and in the node.
import assert from 'node:assert/strict';
import { assertOk, assertProblem, eventually, newNonce, sign, suite } from '../support/harness.mjs';

let lastHost = 0;
const newAddress = () => {
  lastHost += 1;
  return `127.2.${lastHost >> 7}.${(lastHost & 127) + 1}`;
};
const wrongOf = (User) => ({ query: { User, Nonce: newNonce(), Hash: '0'.repeat(64) } });

suite('failed logins', { sweep: false }, ({ test, cluster }) => {
  const login = (options) => cluster.request('GET', '/api/login', options);
  const shut = async (options, account = 'User_1') => {
    for (let i = 0; i < 10; i++) assertProblem(await login({ ...wrongOf(account), ...options }), 401, 'unauthorized');
    return assertProblem(await login({ ...wrongOf(account), ...options }), 429, 'too_many_failures');
  };

  test('failed logins lock nobody out: correct credentials pass from the same address, on all nodes', async () => {
    const localAddress = newAddress();
    const { Token } = assertOk(await login({ as: 'User_1', localAddress }));
    await shut({ localAddress });
    for (const node of [0, 1, 0, 1]) {
      assertProblem(await login({ ...wrongOf('User_1'), localAddress, node }), 429, 'too_many_failures');
      assertOk(await login({ as: 'User_1', localAddress, node }));
      assertOk(await login({ as: 'User_2', localAddress, node }));
      assertOk(await cluster.request('GET', '/api/me', { headers: { Authorization: `Bearer ${Token}` }, localAddress, node }));
    }
  });

  test('repeated failures write one log line a minute, not one per request', async () => {
    const localAddress = newAddress();
    await shut({ localAddress });
    const marks = cluster.marks();
    for (let i = 0; i < 30; i++) assertProblem(await login({ ...wrongOf('User_1'), localAddress, node: i % 2 }), 429);
    for (const node of cluster.nodes) {
      const said = node.log().slice(marks.get(node)).split('\n').filter((line) => /too_many_failures/.test(line));
      assert.ok(said.length <= 1, said.join('\n'));
      assert.match(node.log(), /request failed.*code="too_many_failures".* times=\d+/);
    }
  });

  test('the failures of one account are no failures of its neighbour at the same address', async () => {
    const localAddress = newAddress();
    await shut({ localAddress });
    assertProblem(await login({ ...wrongOf('User_2'), localAddress }), 401);
    assertProblem(await login({ ...wrongOf('User_1'), localAddress: newAddress() }), 401);
  });

  test('a refusal has Retry-After, and is the same for unknown accounts', async () => {
    const known = await shut({ localAddress: newAddress() }, 'User_1');
    const unknown = await shut({ localAddress: newAddress() }, 'Nobody_7');
    for (const member of ['type', 'title', 'status', 'detail', 'code']) assert.equal(known[member], unknown[member], member);
    const localAddress = newAddress();
    await shut({ localAddress });
    const { headers } = await login({ ...wrongOf('User_1'), localAddress });
    assert.ok(Number(headers['retry-after']) >= 1 && Number(headers['retry-after']) <= 80, headers['retry-after']);
  });

  test('forged tokens and requests without credentials are braked, the right token is not', async () => {
    const localAddress = newAddress();
    const { Token } = assertOk(await login({ as: 'User_1', localAddress }));
    const me = (headers) => cluster.request('GET', '/api/me', { headers, localAddress });
    const forged = { Authorization: `Bearer ${Token.slice(0, -2)}xx` };
    for (let i = 0; i < 10; i++) assertProblem(await me(forged), 401);
    assertProblem(await me(forged), 429, 'too_many_failures');
    assertProblem(await me({}), 429, 'too_many_failures');
    assertOk(await me({ Authorization: `Bearer ${Token}` }));
  });

  test('many wrong requests at once are no way to guess more often', async () => {
    const localAddress = newAddress();
    const responses = await Promise.all(Array.from({ length: 60 }, () => login({ ...wrongOf('User_1'), localAddress })));
    const refused = responses.filter(({ status }) => status === 429).length;
    assert.equal(responses.filter(({ status }) => status === 401).length, 60 - refused);
    assert.ok(refused >= 50, `${refused} of 60 were refused`);
    assertOk(await login({ as: 'User_1', localAddress }));
  });

  test('a failure costs one script, a refused one none, and a success no more than its nonce', async () => {
    const localAddress = newAddress();
    const before = await cluster.redis.info('commandstats');
    const count = (stats) => Number(/calls=(\d+)/.exec(stats.cmdstat_bitfield ?? 'calls=0')[1]);
    await shut({ localAddress });
    const shutAt = count(await cluster.redis.info('commandstats'));
    assert.ok(shutAt - count(before) <= 12, 'one for each failure that was counted');
    for (const node of [0, 1]) await login({ ...wrongOf('User_1'), localAddress, node }); // both nodes know
    const known = count(await cluster.redis.info('commandstats'));
    for (let i = 0; i < 20; i++) assertProblem(await login({ ...wrongOf('User_1'), localAddress }), 429);
    for (let i = 0; i < 5; i++) assertOk(await login({ as: 'User_1', localAddress }));
    assert.equal(count(await cluster.redis.info('commandstats')), known);
  });

  test('a wrong role does not count as a failed login', async () => {
    const localAddress = newAddress();
    for (let i = 0; i < 12; i++) {
      assertProblem(await cluster.request('GET', '/api/status', { as: 'User_1', localAddress }), 403);
    }
  });

  test('a used nonce does not count as a failed login: it stays 401', async () => {
    const localAddress = newAddress();
    const query = sign('User_1', cluster.accounts.User_1.secret);
    assertOk(await login({ query, localAddress }));
    for (let i = 0; i < 12; i++) assertProblem(await login({ query, localAddress }), 401, 'nonce_used');
  });

  test('X-Forwarded-For of a stranger does not move the blame', async () => {
    const localAddress = newAddress();
    for (let i = 0; i < 10; i++) {
      assertProblem(await login({ ...wrongOf('User_1'), localAddress, headers: { 'X-Forwarded-For': `198.51.100.${i}` } }), 401);
    }
    assertProblem(await login({ ...wrongOf('User_1'), localAddress, headers: { 'X-Forwarded-For': '198.51.100.99' } }), 429);
  });

  // Runs last: the invented accounts share slots with pairs of account and address of other tests, which would be shut sooner.
  test('a thousand invented accounts cost no more keys than one', async () => {
    const localAddress = newAddress();
    await shut({ localAddress });
    const size = async () => {
      const keys = await cluster.redis.cmd('KEYS', '*failures*');
      const bytes = await Promise.all(keys.map((key) => cluster.redis.cmd('STRLEN', key)));
      for (const key of keys) assert.ok((await cluster.redis.cmd('PTTL', key)) > 0, `${key} expires`);
      return { keys: keys.length, bytes: bytes.reduce((sum, n) => sum + n, 0) };
    };
    for (let i = 0; i < 1000; i += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, k) => login({ ...wrongOf(`${'x'.repeat(100)}${i + k}`), localAddress })));
    }
    const { keys, bytes } = await size();
    assert.ok(keys <= 5, `${keys} keys`);
    assert.ok(bytes <= keys * 131072, `${bytes} bytes`);
  });
});

suite('failed logins behind a trusted proxy', { args: ['--trusted-proxies', '127.0.0.1'], sweep: false }, ({ test, cluster }) => {
  const login = (address, options) =>
    cluster.request('GET', '/api/login', { headers: { 'X-Forwarded-For': address }, ...options });

  test('the forwarded address is the one that is counted', async () => {
    for (let i = 0; i < 10; i++) assertProblem(await login('203.0.113.7', wrongOf('User_1')), 401);
    assertProblem(await login('203.0.113.7', wrongOf('User_1')), 429, 'too_many_failures');
    assertProblem(await login('203.0.113.8', wrongOf('User_1')), 401);
    assertOk(await login('203.0.113.7', { as: 'User_1' }));
  });

  test('an IPv4-mapped IPv6 address counts as the IPv4 address', async () => {
    const forms = ['203.0.113.17', '::ffff:203.0.113.17', '::FFFF:cb00:7111', '[::ffff:203.0.113.17]:443', '203.0.113.17:80'];
    for (let i = 0; i < 10; i++) assertProblem(await login(forms[i % forms.length], wrongOf('User_1')), 401);
    for (const form of forms) assertProblem(await login(form, wrongOf('User_1')), 429);
  });

  test('the addresses of one /64 are one', async () => {
    for (let i = 0; i < 10; i++) assertProblem(await login(`2001:db8:5:6:${i}::${i + 1}`, wrongOf('User_1')), 401);
    assertProblem(await login('2001:db8:5:6:ffff::1', wrongOf('User_1')), 429);
    assertProblem(await login('2001:db8:5:7::1', wrongOf('User_1')), 401);
    assertOk(await login('2001:db8:5:6:ffff::1', { as: 'User_1' }));
  });

  test('what a client wrote before the proxy does not count', async () => {
    for (let i = 0; i < 10; i++) assertProblem(await login(`198.51.100.${i}, 203.0.113.9`, wrongOf('User_1')), 401);
    assertProblem(await login('198.51.100.77, 203.0.113.9', wrongOf('User_1')), 429);
  });
});

suite('failed logins while Redis is away', { nodes: 1, aof: true, sweep: false }, ({ test, cluster }) => {
  test('failures are still 401, and no more than ten a minute', async () => {
    const localAddress = newAddress();
    const login = (options) => cluster.request('GET', '/api/login', { localAddress, ...options });
    const { Token } = assertOk(await login({ as: 'User_1' }));
    await cluster.redis.kill();
    await eventually(async () => (await cluster.request('GET', '/readyz')).status === 503, { what: 'the node knows it' });
    for (let i = 0; i < 10; i++) assertProblem(await login(wrongOf('User_1')), 401);
    assertProblem(await login(wrongOf('User_1')), 429, 'too_many_failures');
    assertProblem(await login({ as: 'User_1' }), 503);
    assertOk(await cluster.request('GET', '/api/me', { headers: { Authorization: `Bearer ${Token}` }, localAddress }));
    await cluster.redis.restart();
    await eventually(async () => (await login({ as: 'User_1' })).status === 200, { what: 'Redis is back' });
  });
});
