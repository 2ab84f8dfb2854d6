// SPDX-License-Identifier: MIT
//
// Authentication and roles. Failures count per account and address, so tests that fail on
// purpose come from separate loopback addresses; login_failures.test.mjs is about that count.
import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { assertMembers, assertOk, assertProblem, newNonce, newTopic, sign, suite } from '../support/harness.mjs';
import { ACCOUNT_OF, allRoutes, filled } from '../support/routes.mjs';

// An address of 127.1.0.0/16 that nobody failed from before.
let lastHost = 1;
function newAddress() {
  lastHost += 1;
  return `127.1.${lastHost >> 7}.${(lastHost & 127) + 1}`;
}

function assertRefused(response, code) {
  const problem = assertProblem(response, 401, code);
  assert.ok(response.headers['www-authenticate'], 'a 401 names how to authenticate');
  return problem;
}

const LOGIN_MEMBERS = ['User', 'Role', 'Token', 'ExpiresIn'];

suite('signed queries', {}, ({ test, cluster }) => {
  const login = (options) => cluster.request('GET', '/api/login', { localAddress: newAddress(), ...options });

  test('login returns the role of the account', async () => {
    for (const [as, role] of [
      ['Frontend_1', 'frontend'],
      ['User_1', 'user'],
      ['Inference_1', 'engine'],
      ['Operator_1', 'operator'],
    ]) {
      const body = assertOk(await login({ as }));
      assertMembers(body, LOGIN_MEMBERS);
      assert.equal(body.User, as);
      assert.equal(body.Role, role);
      assert.equal(body.ExpiresIn, 3600);
      assert.equal(typeof body.Token, 'string');
    }
  });

  for (const algo of ['sha256', 'sha1']) {
    for (const newline of [false, true]) {
      test(`${algo} ${newline ? 'with' : 'without'} a newline passes, in lower and in upper case`, async () => {
        assertOk(await login({ as: 'User_1', signing: { algo, newline } }));
        const proof = sign('User_1', cluster.accounts.User_1.secret, { algo, newline });
        assertOk(await login({ query: { ...proof, Hash: proof.Hash.toUpperCase() } }));
      });
    }
  }

  test('two newlines are one too many', async () => {
    const Nonce = newNonce();
    const Hash = createHash('sha256').update(`User_1 ${Nonce} ${cluster.accounts.User_1.secret}\n\n`).digest('hex');
    assertRefused(await login({ query: { User: 'User_1', Nonce, Hash } }));
  });

  test('a request without credentials is refused', async () => {
    assertRefused(await login({}));
    assertRefused(
      await cluster.request('GET', '/api/user-topics', { query: { OnBehalfOf: 'alice' }, localAddress: newAddress() }),
    );
  });

  test('a request that lacks one of User, Nonce and Hash is refused', async () => {
    for (const missing of ['User', 'Nonce', 'Hash']) {
      const proof = sign('User_1', cluster.accounts.User_1.secret);
      delete proof[missing];
      assertRefused(await login({ query: proof }));
    }
  });

  test('an unknown user and a wrong secret get the same answer', async () => {
    const unknown = assertRefused(await login({ query: sign('Nobody_9', 'x') }));
    const wrong = assertRefused(await login({ as: 'User_1', signing: { secret: 'x' } }));
    for (const member of ['type', 'title', 'status', 'detail', 'code']) assert.equal(unknown[member], wrong[member], member);
  });

  test('a hash that is cut, lengthened, empty or no hex is refused', async () => {
    const { User, Nonce, Hash } = sign('User_1', cluster.accounts.User_1.secret);
    for (const bad of [Hash.slice(1), `${Hash}0`, '', 'z'.repeat(64), Hash.slice(0, 40), '0'.repeat(5000)]) {
      assertRefused(await login({ query: { User, Nonce, Hash: bad } }));
    }
    assertOk(await login({ query: { User, Nonce, Hash } }));
  });

  test('a nonce used on one node is refused on the other, and on the same one', async () => {
    const proof = sign('User_1', cluster.accounts.User_1.secret);
    assertOk(await login({ query: proof, node: 0 }));
    assertRefused(await login({ query: proof, node: 1 }), 'nonce_used');
    assertRefused(await login({ query: proof, node: 0 }), 'nonce_used');
  });

  test('a nonce is used up by every route, whatever it answers', async () => {
    const proof = sign('Frontend_1', cluster.accounts.Frontend_1.secret);
    assertProblem(
      await cluster.request('GET', '/api/get-topic-thread', { query: { ...proof, Topic: newTopic() }, node: 0 }),
      404,
    );
    assertRefused(
      await cluster.request('GET', '/api/get-topic-thread', {
        query: { ...proof, Topic: newTopic() },
        node: 1,
        localAddress: newAddress(),
      }),
      'nonce_used',
    );
  });

  test('of many requests with one nonce at once exactly one passes', async () => {
    const proof = sign('User_2', cluster.accounts.User_2.secret);
    const responses = await Promise.all(Array.from({ length: 8 }, () => login({ query: proof })));
    assert.deepEqual(responses.map(({ status }) => status).sort(), [200, 401, 401, 401, 401, 401, 401, 401]);
  });

  test('a failed signature does not use its nonce up', async () => {
    const nonce = newNonce();
    assertRefused(await login({ as: 'User_1', signing: { nonce, secret: 'wrong' } }));
    assertOk(await login({ as: 'User_1', signing: { nonce } }));
  });

  test('two accounts may use the same nonce', async () => {
    const nonce = newNonce();
    assertOk(await login({ as: 'User_1', signing: { nonce } }));
    assertOk(await login({ as: 'User_2', signing: { nonce } }));
  });

  test('a nonce has 1 to 128 bytes', async () => {
    const letter = String.fromCharCode(97 + Math.floor(Math.random() * 26));
    assertOk(await login({ as: 'User_1', signing: { nonce: letter } }));
    assertOk(await login({ as: 'User_1', signing: { nonce: newNonce().padEnd(128, 'x') } }));
    assertOk(await login({ as: 'User_1', signing: { nonce: `${newNonce()}${'é'.repeat(52)}` } }));
    assertRefused(await login({ as: 'User_1', signing: { nonce: '' } }));
    assertRefused(await login({ as: 'User_1', signing: { nonce: newNonce().padEnd(129, 'x') } }));
    assertRefused(await login({ as: 'User_1', signing: { nonce: `${newNonce()}${'é'.repeat(53)}` } }));
  });

  test('a nonce is remembered by the cluster, not by the node that saw it', async () => {
    const seen = await cluster.startNode();
    const proof = sign('User_1', cluster.accounts.User_1.secret);
    assertOk(await login({ query: proof, node: seen }));
    await seen.stop();
    const later = await cluster.startNode();
    assertRefused(await login({ query: proof, node: later }), 'nonce_used');
    await later.stop();
  });

  test('credentials in a JSON body count for get-new-queries only', async () => {
    const body = (as) => ({ ...sign(as, cluster.accounts[as].secret) });
    const empty = assertOk(
      await cluster.request('GET', '/api/get-new-queries', { query: { Wait: 0 }, body: body('Inference_1') }),
    );
    assert.deepEqual(empty, { Topic: null, Queries: null });
    assertRefused(
      await cluster.request('POST', '/api/add-query', {
        localAddress: newAddress(),
        body: { ...body('User_1'), Topic: newTopic(), User: 'User_1', Query: 'Why?' },
      }),
    );
  });

  test('neither a secret nor a hash nor a token reaches the log', async () => {
    const proof = sign('User_1', cluster.accounts.User_1.secret);
    const { Token } = assertOk(await login({ query: proof }));
    await cluster.request('GET', '/api/login', { headers: { Authorization: `Bearer ${Token}` } });
    await login({ query: sign('User_1', 'a-mistyped-secret') });
    for (const node of cluster.nodes) {
      for (const hidden of [cluster.accounts.User_1.secret, proof.Hash, Token, Token.split('.').pop()]) {
        assert.ok(!node.log().includes(hidden), 'the log shows what nobody may read');
      }
    }
  });
});

suite('bearer tokens', {}, ({ test, cluster }) => {
  const bearer = (token, options = {}) => ({ headers: { Authorization: `Bearer ${token}` }, ...options });
  const tokenOf = async (as) => assertOk(await cluster.request('GET', '/api/login', { as })).Token;

  test('a token of one node passes on both, more than once', async () => {
    const token = await tokenOf('Frontend_1');
    for (const node of [0, 1, 0]) {
      const body = assertOk(await cluster.request('GET', '/api/me', bearer(token, { node })));
      assert.equal(body.id, 'Frontend_1');
      assert.deepEqual(body.roles, ['frontend']);
    }
  });

  // A token that login issued, with other claims.
  async function changed(token, claims) {
    const [head, body] = token.split('.');
    const key = Buffer.from(await cluster.redis.cmd('GET', 'parley:{0}:token_key'), 'hex');
    const text = `${head}.${Buffer.from(JSON.stringify({ ...JSON.parse(Buffer.from(body, 'base64url')), ...claims })).toString('base64url')}`;
    return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
  }
  const claimsOf = (token) => JSON.parse(Buffer.from(token.split('.')[1], 'base64url'));
  const now = () => Math.floor(Date.now() / 1000);

  test('a token gets another one until twelve hours after its account signed, so a stolen one ends', async () => {
    const token = await tokenOf('User_1');
    const signed = claimsOf(token).auth_time;
    let renewed = token;
    for (const node of [0, 1, 0]) {
      const answer = assertOk(await cluster.request('GET', '/api/login', bearer(renewed, { node })));
      assertMembers(answer, LOGIN_MEMBERS);
      assert.deepEqual([answer.User, answer.Role, answer.ExpiresIn], ['User_1', 'user', 3600]);
      renewed = answer.Token;
      assert.equal(claimsOf(renewed).auth_time, signed);
      assertOk(await cluster.request('GET', '/api/me', bearer(renewed)));
    }
    const nearEnd = await changed(token, { auth_time: now() - 12 * 3600 + 100 });
    const last = assertOk(await cluster.request('GET', '/api/login', bearer(nearEnd)));
    assert.ok(last.ExpiresIn > 0 && last.ExpiresIn <= 100, `${last.ExpiresIn}`);
    for (const auth_time of [now() - 12 * 3600, 0, undefined, 'yesterday', -5]) {
      const ended = await changed(token, { auth_time });
      assertOk(await cluster.request('GET', '/api/me', bearer(ended)));
      assert.match(assertRefused(await cluster.request('GET', '/api/login', bearer(ended)), 'unauthorized').detail, /cannot be renewed any more/);
    }
  });

  test('a link signs its account in, once on the whole cluster, and no token passes for one', async () => {
    const link = async () => assertOk(await cluster.request('POST', '/api/login/link', { as: 'User_1' }));
    const use = (code, options = {}) => cluster.request('POST', '/api/login', { body: { code }, localAddress: newAddress(), ...options });
    const made = await link();
    assertMembers(made, ['link', 'expires_in']);
    assert.equal(made.expires_in, 600);
    const [page, code] = made.link.split('#code=');
    assert.equal(page, '/app/');
    const answer = assertOk(await use(code, { node: 1 }));
    assertMembers(answer, LOGIN_MEMBERS);
    assert.deepEqual([answer.User, answer.Role, answer.ExpiresIn], ['User_1', 'user', 3600]);
    assert.equal(assertOk(await cluster.request('GET', '/api/me', bearer(answer.Token))).id, 'User_1');
    for (const node of [0, 1]) assertRefused(await use(code, { node }), 'nonce_used');

    const other = (await link()).link.split('#code=')[1];
    assertRefused(await use(answer.Token), 'unauthorized');
    assertRefused(await use(`${other}x`), 'unauthorized');
    assertRefused(await use(other.slice(0, -1)), 'unauthorized');
    assertRefused(await cluster.request('GET', '/api/me', bearer(other, { localAddress: newAddress() })), 'unauthorized');
    assertRefused(await use(await changed(other, { iat: now() - 700, nbf: now() - 700, exp: now() - 100 })), 'unauthorized');
    assertProblem(await use(''), 400);
    assertProblem(await cluster.request('POST', '/api/login', { body: {}, localAddress: newAddress() }), 400);
    assertOk(await use(other));
    assertRefused(await cluster.request('POST', '/api/login/link', bearer(answer.Token)), 'unauthorized');
  });

  test('who guesses links is refused, as who guesses secrets is', async () => {
    const localAddress = newAddress();
    const guess = () => cluster.request('POST', '/api/login', { body: { code: 'guessed' }, localAddress });
    for (let i = 0; i < 10; i++) assertRefused(await guess(), 'unauthorized');
    assertProblem(await guess(), 429, 'too_many_failures');
  });

  test('a token carries its role and no more', async () => {
    const token = await tokenOf('User_1');
    const own = { Topic: newTopic(), User: 'User_1', Query: 'Why?' };
    assertOk(await cluster.request('POST', '/api/add-query', bearer(token, { body: own })));
    assertProblem(
      await cluster.request('POST', '/api/add-query', bearer(token, { body: { ...own, User: 'User_2' } })),
      403,
      'forbidden',
    );
    assertProblem(await cluster.request('GET', '/api/get-new-queries', bearer(token, { query: { Wait: 0 } })), 403, 'forbidden');
  });

  test('a token that is too long is told from a wrong one, and is no failed login', async () => {
    for (let i = 0; i < 12; i++) {
      const token = i % 2 ? 'x'.repeat(8193) : `${'x'.repeat(4000)}.${'y'.repeat(8000)}.z`;
      const { detail } = assertProblem(await cluster.request('GET', '/api/login', bearer(token)), 431, 'headers_too_large');
      assert.match(detail, /token is longer than 8 KiB/);
    }
    assertProblem(await cluster.request('GET', '/api/login', bearer('x'.repeat(8192))), 401, 'unauthorized');
  });

  test('the word Bearer may be in any case', async () => {
    const token = await tokenOf('User_1');
    for (const word of ['bearer', 'BEARER', 'Bearer ', 'Bearer  ']) {
      assertOk(await cluster.request('GET', '/api/me', { headers: { Authorization: `${word} ${token}` } }));
    }
  });

  test('odd forms of Authorization are refused', async () => {
    const token = await tokenOf('User_1');
    for (const odd of ['', 'Bearer', 'Bearer ', `Bearer\t${token}`, token, `Bearer ${token} x`, `Bearer ${token},`, `Bearer, ${token}`, `Token ${token}`, `"Bearer ${token}"`]) {
      assertRefused(await cluster.request('GET', '/api/me', { headers: { Authorization: odd }, localAddress: newAddress() }));
    }
  });

  test('a token that was tampered with, cut or unsigned is refused', async () => {
    const token = await tokenOf('User_1');
    const [head, claims, signature] = token.split('.');
    const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const other = encode({ ...JSON.parse(Buffer.from(claims, 'base64url')), sub: 'Operator_1', role: 'operator' });
    const bad = [
      `${head}.${other}.${signature}`,
      `${head}.${claims}.`,
      `${head}.${claims}`,
      `${head}.${claims}.${signature.slice(2)}`,
      `${encode({ alg: 'none', typ: 'JWT' })}.${claims}.`,
      `${encode({ alg: 'none' })}.${claims}.${signature}`,
      '',
      'x',
      '..',
      'a.b.c',
      'x'.repeat(6000),
    ];
    for (const one of bad) {
      const response = await cluster.request('GET', '/api/login', bearer(one, { localAddress: newAddress() }));
      assertRefused(response);
    }
  });

  test('another scheme is refused', async () => {
    const basic = Buffer.from(`User_1:${cluster.accounts.User_1.secret}`).toString('base64');
    assertRefused(
      await cluster.request('GET', '/api/login', { headers: { Authorization: `Basic ${basic}` }, localAddress: newAddress() }),
    );
  });
});

suite('roles', { sweep: false }, ({ test, cluster }) => {
  // A link of an approver is open to everybody.
  for (const { method, path, roles } of allRoutes().filter((route) => route.roles.length > 0 && !route.path.includes('{link}'))) {
    test(`${method} ${path} is for the roles ${roles.join(', ')}`, async () => {
      for (const [role, as] of Object.entries(ACCOUNT_OF)) {
        if (!roles.includes(role)) assertProblem(await cluster.request(method, filled(path), { as }), 403, 'forbidden');
      }
      const refused = await cluster.request(method, filled(path), { localAddress: newAddress() });
      if (refused.json?.message && path.startsWith('/api/bots/')) assert.equal(refused.status, 401); // as its first clients read it
      else assertRefused(refused);
    });
  }

  test('a user acts only for itself', async () => {
    const other = { OnBehalfOf: 'User_2' };
    const requests = [
      ['POST', '/api/add-query', {}, { Topic: newTopic(), User: 'User_2', Query: 'Why?' }],
      ['GET', '/api/user-topics', other],
      ['GET', '/api/find-topics', { ...other, Text: 'x' }],
      ['DELETE', '/api/users/User_2', {}],
      ['GET', '/api/users/User_2/usage', {}],
      ['GET', '/api/users/User_2/export', {}],
      ['DELETE', '/api/topic', { ...other, Topic: 't' }],
      ['PUT', '/api/rename-topic', { ...other, Topic: 't', Description: 'd' }],
      ['POST', '/api/recommend', {}, { Topic: 't', ...other, Query: 'q', Fragment: 'f', Comment: 'c', Type: 'Promote Answer' }],
    ];
    for (const [method, path, query, body] of requests) {
      assertProblem(await cluster.request(method, path, { as: 'User_1', query, body }), 403, 'forbidden');
    }
  });

  test('to a user the topics of others do not exist', async () => {
    const { Topic } = await cluster.add({ as: 'User_2' });
    const requests = [
      ['POST', '/api/add-query', {}, { Topic, User: 'User_1', Query: 'Why?' }],
      ['GET', '/api/check-query', { Topic, Seq: 1, Wait: 0 }],
      ['GET', '/api/get-topic-thread', { Topic }],
      ['POST', '/api/cancel-query', {}, { Topic, Seq: 1 }],
      ['POST', '/api/add-lookup', {}, { Topic, Seq: 1, Fragment: 'f' }],
      ['GET', '/api/get-lookups', { Topic }],
      [
        'POST',
        '/api/recommend',
        {},
        { Topic, OnBehalfOf: 'User_1', Query: 'q', Fragment: 'f', Comment: 'c', Type: 'Promote Answer' },
      ],
    ];
    for (const [method, path, query, body] of requests) {
      const response = await cluster.request(method, path, { as: 'User_1', query, body });
      assertProblem(response, 404);
    }
    const thread = assertOk(await cluster.request('GET', '/api/get-topic-thread', { as: 'User_2', query: { Topic } }));
    assert.equal(thread.length, 1, 'nothing was added by the stranger');
    assertProblem(await cluster.request('GET', '/api/user-topics', { as: 'User_1', query: { OnBehalfOf: 'User_1' } }), 404);
  });
});

suite('without SHA-1', { args: ['--auth-sha1', 'off'] }, ({ test, cluster }) => {
  test('SHA-1 is refused and SHA-256 passes', async () => {
    for (const newline of [false, true]) {
      assertRefused(await cluster.request('GET', '/api/login', { as: 'User_1', signing: { algo: 'sha1', newline } }));
      assertOk(await cluster.request('GET', '/api/login', { as: 'User_1', signing: { newline } }));
    }
  });
});
