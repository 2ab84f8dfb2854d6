// SPDX-License-Identifier: MIT
//
// Tokens of an OpenID provider, on two nodes. The provider is a real one;
// tokens that it would not issue are forged under its keys, or under others.
import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { connect, constants } from 'node:http2';
import { after, it } from 'node:test';
import { assertMembers, assertOk, assertOpenaiError, assertProblem, eventually, newTopic, suite } from '../support/harness.mjs';
import { forge, startProvider } from '../support/oidc.mjs';
import { openWatch } from '../support/websocket.mjs';
import { assertDown, assertRefused, me, newAddress, settings, withToken } from './oidc_requests.mjs';

const first = await startProvider();

suite('tokens of an OpenID provider', { args: settings(first, '--oidc-retry-seconds=0') }, ({ test, cluster }) => {
  test('a user of the provider is identified by the access token and by the identity token', async () => {
    const { access_token, id_token } = await first.logIn('alice');
    for (const node of [0, 1]) {
      const body = assertOk(await me(cluster, access_token, { node }));
      assertMembers(body, ['id', 'username', 'email', 'roles']);
      assert.deepEqual(body, { id: 'alice', username: 'alice-at-home', email: null, roles: ['reader', 'writer'] });
      assert.deepEqual(assertOk(await me(cluster, id_token, { node })), {
        id: 'alice',
        username: 'alice-at-home',
        email: 'alice@example.org',
        roles: [],
      });
    }
  });

  test('an application may be its own user', async () => {
    const { access_token } = await first.clientCredentials();
    assert.equal(assertOk(await me(cluster, access_token)).id, 'parley');
  });

  test('every algorithm with a public key passes', async () => {
    const { rsa, p256, p384, p521 } = first.keys;
    for (const [alg, key] of [
      ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'].map((alg) => [alg, rsa]),
      ['ES256', p256],
      ['ES384', p384],
      ['ES512', p521],
    ]) {
      for (const node of [0, 1]) assertOk(await me(cluster, first.sign({}, { alg, key }), { node }));
    }
  });

  test('names, mail and roles are taken from where providers put them', async () => {
    const who = async (claims) => assertOk(await me(cluster, first.sign(claims)));
    assert.equal((await who({ name: 'Alice A.' })).username, 'Alice A.');
    assert.equal((await who({})).username, 'alice');
    assert.deepEqual((await who({ realm_access: { roles: ['a', 'é"'] } })).roles, ['a', 'é"']);
    assert.deepEqual((await who({ groups: ['g', 7] })).roles, ['g']);
  });

  test('a sub may be any name without white space', async () => {
    for (const sub of ['auth0|5f7c8ec7c33c6c004bbafe82', 'urn:x:1', 'é%2F"\\', 'x'.repeat(128)]) {
      assert.equal(assertOk(await me(cluster, first.sign({ sub }))).id, sub);
    }
    for (const sub of ['', 'a b', 'a\nb', 'a\u007fb', 'x'.repeat(129), 7, null, undefined]) {
      assertRefused(await me(cluster, first.sign({ sub })));
    }
  });

  test('a token that has expired says so, and ends its socket', async () => {
    const now = Math.floor(Date.now() / 1000);
    const response = await me(cluster, first.sign({ exp: now - 61 }), { localAddress: newAddress() });
    assertRefused(response);
    assert.match(response.json.detail, /expired/);
    assert.match(response.headers['www-authenticate'], /error="invalid_token"/);
    for (const exp of [now + 2, now - 56]) {
      const socket = await openWatch(`${cluster.nodes[0].url}/ws/indexing?token=${first.sign({ exp, iat: now - 100 })}`);
      assert.equal((await socket.next()).type, 'connected');
      assert.equal(await socket.closed(), 1008);
    }
    const endless = await openWatch(`${cluster.nodes[1].url}/ws/indexing?token=${first.sign({ exp: 1e300 })}`);
    assert.equal((await endless.next()).type, 'connected');
    await endless.close();
  });

  test('an unsigned token is refused', async () => {
    for (const alg of ['none', 'None', 'NONE']) {
      const token = forge({ alg: 'none', typ: 'JWT' }, first.claims(), '');
      const header = Buffer.from(JSON.stringify({ alg, typ: 'JWT', kid: first.keys.rsa.kid })).toString('base64url');
      const [, payload] = token.split('.');
      for (const node of [0, 1]) {
        assertRefused(await me(cluster, `${header}.${payload}.`, { node }));
        assertRefused(await me(cluster, `${header}.${payload}.AAAA`, { node }));
        assertRefused(await me(cluster, `${header}.${payload}`, { node }));
      }
    }
  });

  test('an HMAC under the public key is refused', async () => {
    const { kid, n } = first.keys.rsa;
    const key = createPublicKey({ key: first.keys.rsa, format: 'jwk' });
    const secrets = [
      key.export({ type: 'spki', format: 'pem' }),
      key.export({ type: 'spki', format: 'der' }),
      key.export({ type: 'pkcs1', format: 'pem' }),
      Buffer.from(n, 'base64url'),
      JSON.stringify(key.export({ format: 'jwk' })),
    ];
    for (const secret of secrets) {
      for (const alg of ['HS256', 'HS384', 'HS512']) {
        for (const header of [{ alg, typ: 'JWT', kid }, { alg, typ: 'JWT' }]) {
          assertRefused(await me(cluster, forge(header, first.claims(), secret)));
        }
      }
    }
  });

  test('a token under the key of somebody else is refused', async () => {
    const other = await startProvider();
    await other.stop();
    const { kid } = first.keys.rsa;
    for (const node of [0, 1]) {
      assertRefused(await me(cluster, first.sign({}, { key: { ...other.keys.rsa, kid } }), { node }));
      assertRefused(await me(cluster, first.sign({}, { key: other.keys.rsa, header: { kid: undefined } }), { node }));
      // The header brings its own key along: nobody asked it to.
      const jwk = createPublicKey({ key: other.keys.rsa, format: 'jwk' }).export({ format: 'jwk' });
      assertRefused(await me(cluster, first.sign({}, { key: { ...other.keys.rsa, kid }, header: { jwk } }), { node }));
    }
  });

  test('the algorithm must fit the key', async () => {
    const { rsa, p256 } = first.keys;
    assertRefused(await me(cluster, first.sign({}, { alg: 'ES256', key: p256, header: { kid: rsa.kid } })));
    assertRefused(await me(cluster, first.sign({}, { alg: 'RS256', key: rsa, header: { kid: p256.kid } })));
  });

  for (const [what, claims] of [
    ['for another audience', { aud: 'somebody-else' }],
    ['for nobody', { aud: undefined }],
    ['from another issuer', { iss: 'https://id.example' }],
    ['from nobody', { iss: undefined }],
    ['that has expired', { exp: Math.floor(Date.now() / 1000) - 120 }],
    ['that never expires', { exp: undefined }],
    ['that is not valid yet', { nbf: Math.floor(Date.now() / 1000) + 600 }],
    ['whose times are texts', { exp: String(Math.floor(Date.now() / 1000) + 600) }],
  ]) {
    test(`a token ${what} is refused`, async () => {
      for (const node of [0, 1]) assertRefused(await me(cluster, first.sign(claims), { node }));
    });
  }

  test('forged tokens write a line of log a minute, not one each', async () => {
    const marks = cluster.marks();
    const [head, , signature] = first.sign().split('.');
    for (let i = 0; i < 30; i++) {
      const claims = Buffer.from(JSON.stringify({ sub: `forged-${i}` })).toString('base64url');
      assertRefused(await me(cluster, `${head}.${claims}.${signature}`, { node: i % 2 }));
    }
    for (const node of cluster.nodes) {
      const said = node.log().slice(marks.get(node)).split('\n').filter((line) => /token refused/.test(line));
      assert.ok(said.length <= 1, said.join('\n'));
    }
    assert.match(cluster.nodes[0].log(), /token refused.* times=\d+/);
  });

  test('the audience may be one of several, or stand in azp', async () => {
    assertOk(await me(cluster, first.sign({ aud: ['somebody-else', 'parley'] })));
    assertOk(await me(cluster, first.sign({ aud: 'somebody-else', azp: 'parley' })));
  });

  test('clocks may stand a minute apart', async () => {
    const now = Math.floor(Date.now() / 1000);
    assertOk(await me(cluster, first.sign({ exp: now - 20 })));
    assertOk(await me(cluster, first.sign({ nbf: now + 40 })));
  });

  test('text that is not a token is refused', async () => {
    const good = first.sign();
    for (const token of [
      '.',
      '..',
      'x.y.z',
      good.slice(0, -1),
      `${good}.`,
      `${good}A`,
      `${good}=`,
      good.replace('.', '..'),
      good.replace('.', '.A'),
      `${good.split('.').slice(0, 2).join('.')}.A`,
    ]) {
      assertRefused(await me(cluster, token));
    }
    assertProblem(await me(cluster, first.sign({ pad: 'x'.repeat(8192) })), 431, 'headers_too_large');
  });

  test('nobody becomes a configured account by a sub of its name, and the log says so', async () => {
    for (const sub of ['User_1', 'Frontend_1', 'Operator_1', 'Inference_1']) {
      for (const node of [0, 1]) {
        const id = `taken-${sub}-${node}`;
        const headers = { Authorization: `Bearer ${first.sign({ sub, role: 'operator' })}`, 'X-Request-Id': id };
        assertRefused(await cluster.request('GET', '/api/me', { node, headers, localAddress: newAddress() }));
        await cluster.nodes[node].waitForLog(new RegExp(`id="${id}" reason="its sub equals the name of a configured account"`));
      }
    }
  });

  test('accounts prove themselves as before, by their own tokens and by signatures', async () => {
    for (const [as, role] of [
      ['User_1', 'user'],
      ['Frontend_1', 'frontend'],
    ]) {
      const expected = { id: as, username: as, email: null, roles: [role] };
      const { Token } = assertOk(await cluster.request('GET', '/api/login', { as }));
      for (const node of [0, 1]) {
        assert.deepEqual(assertOk(await me(cluster, Token, { node })), expected);
        assert.deepEqual(assertOk(await cluster.request('GET', '/api/me', { as, node })), expected);
      }
    }
  });

  test('a signature for /api/me uses its nonce up', async () => {
    const path = cluster.path('/api/me', { as: 'User_1' });
    assertOk(await cluster.request('GET', path, { node: 0 }));
    assertProblem(await cluster.request('GET', path, { node: 1, localAddress: newAddress() }), 401, 'nonce_used');
  });

  test('/api/me is for users and frontends that prove who they are', async () => {
    for (const as of ['Inference_1', 'Operator_1']) {
      assertProblem(await cluster.request('GET', '/api/me', { as }), 403, 'forbidden');
    }
    assertRefused(await cluster.request('GET', '/api/me', { localAddress: newAddress() }));
  });

  test('a token in the query string counts only where a route takes it', async () => {
    assertRefused(await cluster.request('GET', '/api/me', { query: { token: first.sign() }, localAddress: newAddress() }));
  });

  test('a user of the provider asks, and only that user sees the answer', async () => {
    const asAlice = first.sign({ sub: 'alice|1' });
    const Topic = newTopic();
    const add = (token, User, topic = Topic) =>
      withToken(cluster, token, 'POST', '/api/add-query', { body: { Topic: topic, User, Query: 'What is the meaning of life?' } });
    assertOk(await add(asAlice, 'alice|1'));
    const claim = await cluster.claim();
    assert.equal(claim.Topic, Topic);
    assertOk(await cluster.answerRaw({ Topic, Seq: 1 }));
    const check = (token) => withToken(cluster, token, 'GET', '/api/check-query', { query: { Topic, Seq: 1 } });
    assert.deepEqual(assertOk(await check(asAlice)).Answer, ['42']);
    assertProblem(await check(first.sign({ sub: 'bob' })), 404);
    assertProblem(await add(asAlice, 'bob', newTopic()), 403);
    const topics = await withToken(cluster, asAlice, 'GET', '/api/user-topics');
    assert.match(topics.text, new RegExp(Topic));
    assert.doesNotMatch((await withToken(cluster, first.sign({ sub: 'bob' }), 'GET', '/api/user-topics')).text, new RegExp(Topic));
  });

  test('a user of the provider is no engine and no operator, whatever its roles say', async () => {
    const token = first.sign({ roles: ['operator', 'engine'], role: 'operator' });
    assertProblem(await withToken(cluster, token, 'GET', '/api/get-new-queries'), 403, 'forbidden');
    assertProblem(await withToken(cluster, token, 'GET', '/api/status'), 403, 'forbidden');
  });

  test('a user of the provider has files and no batches, since nothing proves its rights when its token has expired', async () => {
    const headers = { Authorization: `Bearer ${first.sign({ sub: 'batcher' })}` };
    const form = new FormData();
    form.append('purpose', 'batch');
    form.append('file', new File(['{}'], 'a'));
    const response = await fetch(`${cluster.pick(0).url}/v1/files`, { method: 'POST', body: form, headers });
    const { id } = await response.json();
    assert.equal(response.status, 200);
    const body = { input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' };
    const refused = await cluster.request('POST', '/v1/batches', { as: undefined, headers, body });
    assert.match(assertOpenaiError(refused, 403).message, /until it expires/);
    assert.deepEqual(assertOk(await cluster.request('GET', '/v1/batches', { as: undefined, headers })).data, []);
    assertOk(await cluster.request('DELETE', `/v1/files/${id}`, { as: undefined, headers }));
  });

  test('login, whose tokens are for accounts, gives a user of the provider none', async () => {
    assertProblem(await withToken(cluster, first.sign(), 'GET', '/api/login'), 403, 'forbidden');
  });

  test('bad tokens block their address after ten', async () => {
    const localAddress = newAddress();
    const refused = () => me(cluster, first.sign({ aud: 'x' }), { localAddress });
    for (let i = 0; i < 10; i++) assertRefused(await refused());
    assertProblem(await refused(), 429, 'too_many_failures');
  });

  test('keys that the provider rotates in are found, and those that it withdrew are refused', async () => {
    const before = first.sign();
    first.rotate();
    for (const node of [0, 1]) {
      assertOk(await me(cluster, before, { node }));
      assertOk(await me(cluster, first.sign(), { node }));
      assertRefused(await me(cluster, before, { node }));
    }
    const { access_token } = await first.logIn('alice');
    assertOk(await me(cluster, access_token));
  });

  test('requests that wait for a key share one fetch and delay nobody, even if some leave', async () => {
    first.rotate();
    const before = first.keyRequests;
    const { arrived, release } = first.hold();
    const open = () =>
      cluster.open('GET', '/api/me', {
        node: 0,
        headers: { Authorization: `Bearer ${first.sign()}` },
        localAddress: newAddress(),
      });
    const waiting = Array.from({ length: 12 }, open);
    await arrived;
    await Promise.all(waiting.map(({ sent }) => sent));
    // The loop continues meanwhile.
    assertOk(await cluster.request('GET', '/api/me', { as: 'User_1', node: 0 }));
    waiting.slice(0, 4).forEach(({ abort }) => abort());
    assertOk(await cluster.request('GET', '/api/me', { as: 'User_1', node: 0 }));
    release();
    for (const response of await Promise.all(waiting.slice(4).map(({ response }) => response))) assertOk(response);
    assert.equal(first.keyRequests, before + 1);
    assertOk(await me(cluster, first.sign(), { node: 0 }));
    assert.equal(first.keyRequests, before + 1);
  });

  test('a request that is taken back while it waits for a key is forgotten', async () => {
    first.rotate();
    const { arrived, release } = first.hold();
    // Only over HTTP/2 does a client tell; a ping comes back once all before it has been read.
    const session = connect(cluster.nodes[0].url);
    const seen = () => new Promise((resolve, reject) => session.ping((error) => (error ? reject(error) : resolve())));
    const headers = { ':path': '/api/me', authorization: `Bearer ${first.sign()}` };
    const [gone, stays] = [session.request(headers), session.request(headers)];
    const answered = new Promise((resolve) => stays.once('response', resolve));
    await arrived;
    await seen();
    gone.close(constants.NGHTTP2_CANCEL);
    await seen();
    release();
    assert.equal((await answered)[':status'], 200);
    session.destroy();
    assertOk(await me(cluster, first.sign(), { node: 0 }));
  });

  test('a node that stops while requests wait for a key stops', async () => {
    const node = await cluster.startNode({ args: ['--drain-seconds=1'] });
    assertOk(await me(cluster, first.sign(), { node }));
    first.rotate();
    const { arrived, release } = first.hold();
    const { response } = cluster.open('GET', '/api/me', { node, headers: { Authorization: `Bearer ${first.sign()}` } });
    await arrived;
    await node.stop();
    await assert.rejects(response);
    release();
  });

  test('while the provider is down its keys stay valid, and tokens with unknown keys get 503', async () => {
    for (const node of [0, 1]) assertOk(await me(cluster, first.sign(), { node }));
    const known = first.sign();
    await first.stop();
    try {
      for (const node of [0, 1]) {
        assertOk(await me(cluster, known, { node }));
        assertDown(await me(cluster, first.sign({}, { header: { kid: 'new' } }), { node }));
        assertOk(await me(cluster, known, { node }));
        assertRefused(await me(cluster, first.sign({ aud: 'x' }), { node }));
      }
      const node = await cluster.startNode();
      assertDown(await me(cluster, known, { node }));
      assertOk(await cluster.request('GET', '/api/me', { as: 'User_1', node }));
      await first.start();
      await eventually(async () => (await me(cluster, known, { node })).status === 200);
      await node.stop();
    } finally {
      await first.start().catch(() => {});
    }
    assertRefused(await me(cluster, first.sign({}, { header: { kid: 'new' } }), { node: 0 }));
  });
});
