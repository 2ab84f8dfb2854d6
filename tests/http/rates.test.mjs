// SPDX-License-Identifier: MIT
//
// max_rate and max_nonces: requests per second and nonces per day of an account on all nodes
// together.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { metric, verbCalls } from '../cluster/watch.mjs';
import { ACCOUNTS, assertOk, assertProblem, eventually, newNonce, sign, suite } from '../support/harness.mjs';

const many = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`Many_${i}`, { secret: `secret-${i}`, role: 'user' }]));
const accounts = {
  ...ACCOUNTS,
  Slow_1: { secret: 'slow-secret-one', role: 'user', max_rate: 20 },
  Slow_2: { secret: 'slow-secret-two', role: 'user', max_rate: 20 },
  Slow_3: { secret: 'slow-secret-three', role: 'user', max_rate: 64 },
  Slow_4: { secret: 'slow-secret-four', role: 'user', max_rate: 20 },
  Few_1: { secret: 'few-secret-one', role: 'user', max_nonces: 100 },
  Few_2: { secret: 'few-secret-two', role: 'user', max_nonces: 100 },
  ...many,
};

suite('rates of accounts', { accounts, sweep: false }, ({ test, cluster }) => {
  const me = (options) => cluster.request('GET', '/api/me', options);
  const token = async (as) => ({ headers: { Authorization: `Bearer ${assertOk(await cluster.request('GET', '/api/login', { as })).Token}` } });

  // Sends to these nodes in turn until so much time has passed, some at once, up to 400 a second: several times the rates
  // above. Returns how many were admitted a second, and how many sent.
  const hammer = async (nodes, options, ms) => {
    const began = Date.now();
    let ok = 0, sent = 0;
    const worker = async (i) => {
      while (Date.now() < began + ms) {
        const response = await me({ ...options, node: nodes[i++ % nodes.length] });
        sent++;
        if (response.status === 200) ok++;
        else assertProblem(response, 429, 'rate_limited');
        await sleep(10);
      }
    };
    await Promise.all([0, 1, 2, 3].map(worker));
    const seconds = (Date.now() - began) / 1000;
    return { ok: ok / seconds, sent: sent / seconds };
  };
  // Both nodes have heard of each other's requests.
  const haveStated = async (n) => {
    for (const node of [0, 1]) await eventually(async () => (await verbCalls(cluster, node, 'rates')) >= n, { what: 'its requests are stated' });
  };

  test('past its rate an account gets 429 with Retry-After, and its nonce is not used up', async () => {
    const query = (nonce) => ({ query: sign('Slow_1', accounts.Slow_1.secret, { nonce }) });
    const ask = async () => {
      const nonce = newNonce();
      return { nonce, response: await me({ ...query(nonce), node: 0 }) };
    };
    // Several at once: sequential requests may stay below 20 a second.
    const refused = await eventually(
      async () => (await Promise.all(Array.from({ length: 16 }, ask))).find(({ response }) => response.status === 429),
      { every: 0, what: 'one is refused' },
    );
    const problem = assertProblem(refused.response, 429, 'rate_limited');
    assert.match(problem.detail, /20 requests per second/);
    assert.equal(refused.response.headers['retry-after'], '1');
    const again = await eventually(async () => {
      const response = await me({ ...query(refused.nonce), node: 0 });
      return response.status === 429 ? undefined : response;
    }, { what: 'it is admitted' });
    assertOk(again);
    assertProblem(await eventually(async () => {
      const response = await me({ ...query(refused.nonce), node: 1 });
      return response.status === 429 ? undefined : response;
    }), 401, 'nonce_used');
    assert.ok((await metric(cluster, 0, 'parley_rate_limited_total')) > 0);
  });

  test('the rate of one account is none of another\'s', async () => {
    await hammer([0], await token('Slow_4'), 300);
    assertOk(await me({ as: 'User_1', node: 0 }));
  });

  test('a node alone gets all of it, two together not much more', async () => {
    const slow = await token('Slow_3');
    const alone = await hammer([0], slow, 6000);
    // The rate, and what it may send at once; on a machine that cannot send as many, most of what was sent.
    assert.ok(alone.ok <= 64 * 1.5 && alone.ok > Math.min(64, alone.sent) / 2, `a node alone admitted ${JSON.stringify(alone)} a second of 64`);
    const calls = await verbCalls(cluster, 1, 'rates');
    // They know of each other within two seconds: what comes after that is counted.
    await Promise.all([hammer([0], slow, 4000), hammer([1], slow, 4000)]);
    await haveStated(calls + 1);
    const [first, second] = await Promise.all([hammer([0], slow, 6000), hammer([1], slow, 6000)]);
    const said = `both together admitted ${JSON.stringify([first, second])} a second of 64`;
    assert.ok(first.ok + second.ok <= 64 * 1.5, said);
    assert.ok(first.ok + second.ok > Math.min(64, first.sent + second.sent) / 2, said);
  });

  test('a wrong secret uses up nothing of it', async () => {
    for (let i = 0; i < 100; i++) await me({ query: { User: 'Slow_2', Nonce: newNonce(), Hash: '0'.repeat(64) }, node: 0 });
    assertOk(await me({ as: 'Slow_2', node: 0 }));
  });

  test('past its nonces an account gets 429 on both nodes, while its token and its login pass', async () => {
    const few = await token('Few_1');
    const refused = await eventually(async () => {
      for (let i = 0; i < 20; i++) {
        const response = await me({ as: 'Few_1', node: 0 });
        if (response.status !== 200) return response;
      }
    }, { every: 0, what: 'one is refused' });
    const problem = assertProblem(refused, 429, 'rate_limited');
    assert.match(problem.detail, /daily limit of 100 nonces .* token/);
    await eventually(async () => {
      const response = await me({ as: 'Few_1', node: 1 });
      return response.status === 429 && Number(response.headers['retry-after']) <= 86_400;
    }, { what: 'the other node has heard of it' });
    assertOk(await me({ ...few, node: 1 }));
    assertOk(await me({ ...(await token('Few_1')), node: 0 }));
  });

  test('a nonce that was used before is none that is used up', async () => {
    const query = sign('Few_2', accounts.Few_2.secret);
    assertOk(await me({ query }));
    for (let i = 0; i < 150; i++) assertProblem(await me({ query, node: i % 2 }), 401, 'nonce_used');
    assertOk(await me({ as: 'Few_2', node: 0 }));
  });

  test('a thousand accounts: each is admitted, and what they cost are no calls of their own', async () => {
    const before = await verbCalls(cluster, 0, 'rates');
    for (let i = 0; i < 1000; i += 50) {
      const responses = await Promise.all(Array.from({ length: 50 }, (_, k) => me({ as: `Many_${i + k}`, node: 0 })));
      for (const response of responses) assertOk(response);
    }
    const calls = (await verbCalls(cluster, 0, 'rates')) - before;
    assert.ok(calls <= 100, `${calls} statements for a thousand requests`);
  });
});
