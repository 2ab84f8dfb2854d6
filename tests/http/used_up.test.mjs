// SPDX-License-Identifier: MIT
//
// A valid signature is used up, whatever the answer (except 503). Every route of every service is refused
// in every possible way, then the same signed query is sent again to another route and another node. The routes
// are read from the tables, so new ones are covered too.
import assert from 'node:assert/strict';
import { ready } from '../cluster/watch.mjs';
import { assertOk, assertProblem, eventually, newNonce, sign, suite } from '../support/harness.mjs';
import { ACCOUNT_OF, allRoutes, bodyLimit } from '../support/routes.mjs';
import { keyOf } from '../support/shards.mjs';

// A link of an approver is open to everybody: credentials that come with it are looked at only if they can be read.
const ROUTES = allRoutes().filter(({ roles, path }) => roles.length > 0 && !path.includes('{link}'));
const MIB = 1 << 20;
const pathOf = ({ path }) => path.replace('docs/{id}', 'docs/01234567-89ab-4cde-8f01-23456789abcd').replace('{id}', '0123456789abcdef01234567').replace('{user}', '0123456789').replace('{index}', '0');
// Where 200 is answered without another look, for each role.
const LATER = {
  frontend: ['/api/me', '/api/login'],
  user: ['/api/me', '/api/login'],
  engine: ['/api/login', '/api/get-new-lookup'],
  operator: ['/api/status', '/api/login'],
};

suite('a signed query that was answered', { sweep: false }, ({ test, cluster }) => {
  let turn = 0;
  const signed = (role) => sign(ACCOUNT_OF[role], cluster.accounts[ACCOUNT_OF[role]].secret);

  // The same proof on another route, on both nodes.
  async function assertUsedUp(proof, role, what) {
    for (const [i, path] of LATER[role].entries()) {
      const again = await cluster.request('GET', path, { query: proof, node: (turn + i + 1) % 2 });
      assert.equal(again.json?.code, 'nonce_used', `${what}, then ${path}: ${again.status} ${again.text.slice(0, 200)}`);
      assert.equal(again.status, 401);
    }
  }

  async function refused(route, role, status, more, { query = {}, ...options } = {}) {
    const proof = signed(role);
    turn += 1;
    const what = `${route.method} ${route.path} as ${role}`;
    const response = await cluster.request(route.method, more ?? pathOf(route), {
      query: { ...query, ...proof },
      node: turn % 2,
      ...options,
    });
    assert.equal(response.status, status, `${what}: ${response.text.slice(0, 300)}`);
    await assertUsedUp(proof, role, `${what} got ${status}`);
    return response;
  }

  for (const route of ROUTES) {
    const [role] = route.roles;
    const { method } = route;
    const hasBody = method !== 'GET';
    test(`${method} ${route.path} uses it up with every refusal`, async () => {
      for (const other of Object.keys(ACCOUNT_OF)) {
        if (!route.roles.includes(other)) await refused(route, other, 403);
      }
      await refused(route, role, 400, `${pathOf(route)}?x=%zz`);
      await refused(route, role, 400, `${pathOf(route)}?x=%ff`);
      await refused(route, role, 414, `${pathOf(route)}?x=${'x'.repeat(40_000)}`);
      await refused(route, role, 431, undefined, { headers: { 'X-Long': 'x'.repeat(40_000) } });
      if (route.path.includes('{')) await refused(route, role, 400, pathOf(route).replace('0123', '%ff'));
      if (hasBody && !/upload|v1\/files/.test(route.path)) { // takes more
        await refused(route, role, 413, undefined, { body: Buffer.alloc(bodyLimit(route.path) + 1, 'x'), headers: { 'Content-Type': 'application/json' } });
      }
    });

    test(`${method} ${route.path} uses it up, whatever comes of it`, async () => {
      for (const one of route.roles) {
        for (const body of [undefined, '{', '[]', '{}', '{"Topic":7,"User":7,"question":7,"query":7,"Seq":"x","Wait":-1}']) {
          const proof = signed(one);
          turn += 1;
          const options = hasBody && body !== undefined ? { body: Buffer.from(body), headers: { 'Content-Type': 'application/json' } } : {};
          const query = { Wait: body === '{}' ? -1 : 0, ...proof };
          const response = await cluster.request(method, pathOf(route), { query, node: turn % 2, ...options });
          assert.ok(response.status < 503 && response.status !== 401, `${response.status} ${response.text.slice(0, 200)}`);
          await assertUsedUp(proof, one, `${method} ${route.path} with ${body} got ${response.status}`);
        }
      }
    });
  }

  test('a body that libh2o itself refuses uses the query up', async () => {
    const route = ROUTES.find(({ path }) => path === '/api/add-query');
    await refused(route, 'user', 413, undefined, { body: Buffer.alloc(30 * MIB, 'x'), headers: { 'Content-Type': 'application/json' } });
    await refused(ROUTES.find(({ path }) => path === '/api/docs/upload'), 'user', 413, undefined, { body: Buffer.alloc(30 * MIB, 'x') });
  });

  test('the second of two refusals is the one of a used nonce', async () => {
    const proof = signed('user');
    const bad = { query: proof, body: Buffer.from('{'), headers: { 'Content-Type': 'application/json' } };
    assertProblem(await cluster.request('POST', '/api/add-query', { ...bad, node: 0 }), 400, 'bad_json');
    for (const node of [0, 1, 0]) assertProblem(await cluster.request('POST', '/api/add-query', { ...bad, node }), 401, 'nonce_used');
  });

  test('of many refusals of one query at once exactly one gives the reason', async () => {
    const proof = signed('user');
    const responses = await Promise.all(Array.from({ length: 12 }, () => cluster.request('GET', '/api/status', { query: proof })));
    assert.deepEqual(responses.map(({ json }) => json.code).sort(), ['forbidden', ...Array(11).fill('nonce_used')]);
  });

  test('a refusal keeps its headers and members', async () => {
    const headers = { 'X-Request-Id': 'mine-7', Origin: 'https://a.example', traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` };
    const response = await cluster.request('GET', '/api/status', { as: 'User_1', headers });
    assert.equal(assertProblem(response, 403, 'forbidden').instance, 'mine-7');
    assert.equal(response.headers['access-control-allow-origin'], 'https://a.example');
    assert.equal(response.headers.traceparent, headers.traceparent);
    assert.equal(response.headers['cache-control'], 'no-store');
    const proof = signed('user');
    await cluster.request('GET', '/api/status', { query: proof });
    const again = await cluster.request('GET', '/api/status', { query: proof, headers });
    assertProblem(again, 401, 'nonce_used');
    assert.ok(again.headers['www-authenticate']);
  });

  test('without authentication no nonce is used up', async () => {
    const proof = signed('user');
    for (const [method, path, status] of [['GET', '/api/nothing', 404], ['PUT', '/api/login', 405], ['GET', '/livez', 200], ['OPTIONS', '/api/login', 204]]) {
      assert.equal((await cluster.request(method, path, { query: proof })).status, status);
    }
    assertOk(await cluster.request('GET', '/api/me', { query: proof }));
  });

  test('a failed signature uses nothing up, whatever else is wrong with the request', async () => {
    const Nonce = newNonce();
    const localAddress = '127.3.0.1';
    const wrong = { ...sign('User_1', 'wrong', { nonce: Nonce }) };
    assertProblem(await cluster.request('POST', '/api/add-query?x=%zz', { query: wrong, localAddress }), 401);
    assertProblem(await cluster.request('POST', '/api/add-query', { query: wrong, localAddress, body: Buffer.alloc(MIB + 1) }), 401);
    assertOk(await cluster.request('GET', '/api/me', { as: 'User_1', signing: { nonce: Nonce } }));
  });

  test('secrets cannot be guessed with requests that are refused for another reason', async () => {
    const localAddress = '127.3.0.2';
    const guess = () => cluster.request('POST', '/api/add-query?x=%zz', { query: sign('User_1', newNonce()), localAddress });
    for (let i = 0; i < 10; i++) assertProblem(await guess(), 401, 'unauthorized');
    assertProblem(await guess(), 429, 'too_many_failures');
  });

  test('a used check-query that is sent again gets nothing of an answer that comes at that moment', async () => {
    const [node] = cluster.nodes;
    const { Topic } = await cluster.add({ as: 'User_1', node: 0 });
    const claim = await cluster.claim({ node: 0 });
    assert.equal(claim.Topic, Topic);
    const query = { Topic, Seq: 1, Wait: 60, ...signed('user') };
    const owner = cluster.open('GET', '/api/check-query', { query, node: 0, timeout: 30_000 });
    await owner.sent;
    // The node is among those that wait for the query.
    await eventually(async () => (await cluster.redis.cmd('HGET', keyOf(Topic, `t:${Topic}`), 'w:1'))?.length > 0);
    // Both requests are there when it continues, and go to Redis in one turn.
    node.signal('SIGSTOP');
    const replays = Array.from({ length: 4 }, () => cluster.open('GET', '/api/check-query', { query, node: 0, timeout: 30_000 }));
    const answer = cluster.open('POST', '/api/give-new-answer', {
      as: 'Inference_1', node: 0, body: { Topic, Seq: 1, Query: 'What is the meaning of life?', Answer: ['42'] },
    });
    await Promise.all([...replays, answer].map(({ sent }) => sent));
    node.signal('SIGCONT');
    assertOk(await answer.response);
    for (const { response } of replays) assertProblem(await response, 401, 'nonce_used');
    assert.deepEqual(assertOk(await owner.response).Answer, ['42']);
  });

  test('credentials in a body are used up too, whatever else is wrong', async () => {
    const body = signed('engine');
    assertProblem(await cluster.request('GET', '/api/get-new-queries?x=%zz', { body }), 400);
    assertProblem(await cluster.request('GET', '/api/login', { query: body }), 401, 'nonce_used');
  });

  test('a client that leaves while its nonce is on its way has used it up, and harms nobody', async () => {
    const proofs = Array.from({ length: 20 }, () => signed('user'));
    await cluster.redis.cmd('CLIENT', 'PAUSE', 400, 'ALL');
    const running = proofs.map((query) => cluster.open('GET', '/api/status', { query, node: 0 }));
    await Promise.all(running.map(({ sent }) => sent));
    running.forEach((one) => {
      one.response.catch(() => {});
      one.abort();
    });
    for (const query of proofs) {
      await eventually(async () => (await cluster.request('GET', '/api/status', { query, node: 1 })).json?.code === 'nonce_used');
    }
  });
});

suite('a signed query while Redis is away', { nodes: 1, aof: true, sweep: false }, ({ test, cluster }) => {
  test('is answered with 503 and stays good', async () => {
    const refused = sign('User_1', cluster.accounts.User_1.secret);
    const shown = sign('User_1', cluster.accounts.User_1.secret);
    await cluster.redis.kill();
    await eventually(async () => (await cluster.request('GET', '/readyz')).status === 503);
    assertProblem(await cluster.request('GET', '/api/status', { query: refused }), 503, 'redis_lost');
    assertProblem(await cluster.request('GET', '/api/me', { query: shown }), 503, 'redis_lost');
    await cluster.redis.restart();
    await ready(cluster, 0);
    assertProblem(await cluster.request('GET', '/api/status', { query: refused }), 403);
    assertOk(await cluster.request('GET', '/api/me', { query: shown }));
    assertProblem(await cluster.request('GET', '/api/me', { query: refused }), 401, 'nonce_used');
  });
});
