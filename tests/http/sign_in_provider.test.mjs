// SPDX-License-Identifier: MIT
//
// Signing in with an OpenID provider: /auth/login on one node, /auth/callback and POST /api/login on others. The provider is a real
// one, except where it lies.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { assertMembers, assertOk, assertProblem, makeFolder, suite } from '../support/harness.mjs';
import { CLIENT, startProvider } from '../support/oidc.mjs';

const PUBLIC = 'https://parley.example/below';
const BACK = `${PUBLIC}/auth/callback`;
const APP = '../app/#';

const provider = await startProvider({ redirects: [BACK] });
const folder = makeFolder();
const secret = folder.file('client.secret', `${CLIENT.secret}\n`);
const args = [
  `--oidc-issuer=${provider.issuer}`, `--oidc-audience=${provider.audience}`, '--oidc-allow-private=on', '--oidc-retry-seconds=0', `--oidc-client-id=${CLIENT.id}`,
  `--oidc-client-secret-file=${secret}`, `--public-url=${PUBLIC}/`, '--oidc-name=Example & Co',
];
const base64url = (bytes) => Buffer.from(bytes).toString('base64url');

// Failures count per address, so each test has one of its own.
let lastHost = 0;
function newAddress() {
  lastHost += 1;
  return `127.6.0.${lastHost}`;
}

suite('signing in with an OpenID provider', { args }, ({ test, cluster }) => {
  function makeProof() {
    const proof = base64url(randomBytes(32));
    return { proof, challenge: base64url(createHash('sha256').update(proof).digest()) };
  }
  // Begins at a node: where the browser is sent.
  async function begin(challenge, options = {}) {
    const { status, headers } = await cluster.request('GET', '/auth/login', { query: { challenge }, node: 0, ...options });
    assert.equal(status, 303);
    assert.equal(headers['cache-control'], 'no-store');
    return new URL(headers.location);
  }
  // As a browser, until the provider sends it back: the query for /auth/callback.
  async function atProvider(url, sub = 'alice') {
    url.searchParams.set('login_hint', sub);
    return Object.fromEntries(new URL(await provider.follow(url.href, BACK)).searchParams);
  }
  const comeBack = (query, options = {}) => cluster.request('GET', '/auth/callback', { query, node: 1, ...options });
  // The word or the code that the app gets.
  function landed({ status, headers, text }, what) {
    assert.equal(status, 303, text);
    assert.equal(headers['referrer-policy'], 'no-referrer');
    const [, name, value] = /^\.\.\/app\/#(signed-in|not-signed-in)=([\w.-]+)$/.exec(headers.location) ?? assert.fail(headers.location);
    assert.equal(name, what);
    return value;
  }
  const login = (body, options = {}) => cluster.request('POST', '/api/login', { body, node: 0, ...options });
  async function signIn(sub) {
    const { proof, challenge } = makeProof();
    const query = await atProvider(await begin(challenge), sub);
    const code = landed(await comeBack(query), 'signed-in');
    return { proof, code, query, token: assertOk(await login({ code, proof })).Token };
  }
  const as = (token) => ({ headers: { Authorization: `Bearer ${token}` } });

  test('a person signs in over two nodes, and the token is theirs on both, with the name that the provider has', async () => {
    const { proof, challenge } = makeProof();
    const url = await begin(challenge);
    assert.equal(`${url.origin}${url.pathname}`, `${provider.issuer}/auth`);
    const { state, nonce, code_challenge: pkce, ...rest } = Object.fromEntries(url.searchParams);
    assert.deepEqual(rest, { response_type: 'code', scope: 'openid profile email', code_challenge_method: 'S256', client_id: CLIENT.id, redirect_uri: BACK });
    assert.match(nonce, /^[\w-]{43}$/);
    assert.match(pkce, /^[\w-]{43}$/);
    assert.equal(new Set([nonce, pkce, challenge]).size, 3);
    const query = await atProvider(url);
    assert.equal(query.state, state);
    const code = landed(await comeBack(query), 'signed-in');
    const body = assertOk(await login({ code, proof }));
    assertMembers(body, ['User', 'Name', 'Role', 'Token', 'ExpiresIn']);
    assert.deepEqual([body.User, body.Name, body.Role, body.ExpiresIn], ['alice', 'alice-at-home', 'user', 3600]);
    for (const node of [0, 1]) {
      const me = assertOk(await cluster.request('GET', '/api/me', { node, ...as(body.Token) }));
      assert.deepEqual(me, { id: 'alice', username: 'alice-at-home', email: 'alice@example.org', roles: [] });
    }
    const Topic = 'a-topic-of-alice';
    assertOk(await cluster.request('POST', '/api/add-query', { ...as(body.Token), body: { Topic, User: 'alice', Query: 'Why?' } }));
    assertProblem(await cluster.request('POST', '/api/add-query', { ...as(body.Token), body: { Topic, User: 'bob', Query: 'Why?' } }), 403, 'forbidden');
    const renewed = assertOk(await cluster.request('GET', '/api/login', { node: 1, ...as(body.Token) }));
    assert.deepEqual([renewed.User, renewed.Name, renewed.ExpiresIn], ['alice', 'alice-at-home', 3600]);
    assertOk(await cluster.request('GET', '/api/me', as(renewed.Token)));
  });

  test('the first page names the provider', async () => {
    assert.equal(assertOk(await cluster.request('GET', '/', { headers: { Accept: 'application/json' } })).provider, 'Example & Co');
  });

  test('a callback that is repeated signs nobody in, and the provider is not asked again', async () => {
    const { query } = await signIn('bob');
    const asked = provider.tokenRequests;
    for (const node of [0, 1]) {
      const { detail } = assertProblem(await comeBack(query, { node, localAddress: newAddress() }), 401, 'nonce_used');
      assert.match(detail, /used before/);
    }
    assert.equal(provider.tokenRequests, asked);
  });

  test('a code for the app works once, with the proof of the page that began, and not for a thief without it', async () => {
    const { proof, challenge } = makeProof();
    const code = landed(await comeBack(await atProvider(await begin(challenge), 'carol')), 'signed-in');
    const thief = newAddress();
    assertProblem(await login({ code }, { localAddress: thief }), 400, 'bad_request');
    assertProblem(await login({ code, proof: makeProof().proof }, { localAddress: thief }), 401, 'unauthorized');
    assertProblem(await login({ code, proof: challenge }, { localAddress: thief }), 401, 'unauthorized');
    assertProblem(await login({ code: `${code.slice(0, -2)}AA`, proof }, { localAddress: thief }), 401, 'unauthorized');
    assertOk(await login({ code, proof }));
    assertProblem(await login({ code, proof }, { node: 1 }), 401, 'nonce_used');
  });

  test('a code is no token, a token no code, and a state neither', async () => {
    const { code, token, query, proof } = await signIn('dave');
    const address = newAddress();
    for (const wrong of [code, query.state]) assertProblem(await cluster.request('GET', '/api/me', { ...as(wrong), localAddress: address }), 401, 'unauthorized');
    for (const wrong of [token, query.state]) assertProblem(await login({ code: wrong, proof }, { localAddress: address }), 401, 'unauthorized');
    for (const state of [code, token]) assertProblem(await comeBack({ state, code: 'x' }), 400, 'bad_request');
  });

  test('a state that no node has signed is refused before the provider is asked', async () => {
    const asked = provider.tokenRequests;
    const url = await begin(makeProof().challenge);
    const [header, payload, mac] = url.searchParams.get('state').split('.');
    const other = base64url(JSON.stringify({ ...JSON.parse(Buffer.from(payload, 'base64url')), challenge: makeProof().challenge }));
    for (const state of ['', 'x', `${header}.${other}.${mac}`, `${header}.${payload}.`, `${header}.${payload}.${mac}=`, `${header}..${mac}`]) {
      assertProblem(await comeBack({ state, code: 'x' }), 400, 'bad_request');
    }
    assertProblem(await comeBack({ code: 'x' }), 400, 'bad_request');
    assert.equal(provider.tokenRequests, asked);
  });

  test('a challenge that is no digest is refused', async () => {
    for (const challenge of ['', 'x', 'A'.repeat(42), 'A'.repeat(44), `${'A'.repeat(42)}=`, 'https://evil.example/'.padEnd(43, 'x')]) {
      assertProblem(await cluster.request('GET', '/auth/login', { query: { challenge } }), 400, 'bad_request');
    }
    assertProblem(await cluster.request('GET', '/auth/login'), 400, 'bad_request');
  });

  test('no parameter changes where browsers are sent', async () => {
    const { challenge } = makeProof();
    const evil = 'https://evil.example/';
    const more = { redirect_uri: evil, next: evil, return_to: evil, client_id: 'x', state: 'x' };
    const { headers } = await cluster.request('GET', '/auth/login', { query: { challenge, ...more }, headers: { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example' } });
    const url = new URL(headers.location);
    assert.equal(url.origin, provider.issuer);
    assert.equal(url.searchParams.get('redirect_uri'), BACK);
    assert.doesNotMatch(headers.location, /evil/);
    const query = await atProvider(url, 'erin');
    const back = await comeBack({ ...query, ...more, state: query.state });
    assert.ok(back.headers.location.startsWith(APP), back.headers.location);
  });

  test('what the provider says instead of a code leads to the app as a word of ours', async () => {
    for (const [error, word] of [['access_denied', 'denied'], ['server_error', 'failed'], ['<script>alert(1)</script>', 'failed'], ['x'.repeat(2000), 'failed']]) {
      const { state } = Object.fromEntries((await begin(makeProof().challenge)).searchParams);
      assert.equal(landed(await comeBack({ state, error, error_description: 'Call 0900 666' }), 'not-signed-in'), word);
    }
    const { state } = Object.fromEntries((await begin(makeProof().challenge)).searchParams);
    for (const query of [{ state }, { state, code: '' }, { state, code: 'x'.repeat(4097) }, { state, code: 'x', iss: 'https://other.example' }]) {
      assert.equal(landed(await comeBack(query), 'not-signed-in'), 'failed');
    }
  });

  test('codes that the provider does not know are counted as failed logins, and soon nobody asks it for them', async () => {
    const address = newAddress();
    const asked = provider.tokenRequests;
    const statuses = [];
    for (let i = 0; i < 14; i++) {
      const { state } = Object.fromEntries((await begin(makeProof().challenge)).searchParams);
      const response = await comeBack({ state, code: `wrong-${i}` }, { localAddress: address });
      statuses.push(response.status);
    }
    assert.deepEqual(statuses, [...Array(10).fill(401), ...Array(4).fill(429)]);
    assert.equal(provider.tokenRequests - asked, 11);
    await signIn('frank'); // others still do
  });

  // Comes back while the provider answers this in place of a token.
  async function whileItAnswers(answer) {
    const { challenge } = makeProof();
    const url = await begin(challenge);
    const query = await atProvider(url, 'grace');
    provider.answerToken(typeof answer === 'function' ? answer(url.searchParams.get('nonce')) : answer);
    try {
      return await comeBack(query);
    } finally {
      provider.answerToken(undefined);
    }
  }

  test('a provider that lies signs nobody in', async () => {
    const token = (claims, options) => (nonce) => ({ body: JSON.stringify({ id_token: provider.sign({ aud: CLIENT.id, nonce, ...claims }, options) }) });
    landed(await whileItAnswers(token({})), 'signed-in');
    const lies = {
      'another nonce': token({ nonce: 'A'.repeat(43) }), 'no nonce': token({ nonce: undefined }), 'a nonce of another type': token({ nonce: 7 }),
      'another audience': token({ aud: 'other' }), 'no audience': token({ aud: undefined }), 'only azp': token({ aud: 'other', azp: CLIENT.id }),
      'another azp': token({ aud: [CLIENT.id, 'other'], azp: 'other' }), 'another issuer': token({ iss: 'https://other.example' }),
      'expired': token({ exp: 1 }), 'not valid yet': token({ nbf: 9e9 }), 'no sub': token({ sub: undefined }), 'an odd sub': token({ sub: 'a b' }),
      'no algorithm': () => ({ body: JSON.stringify({ id_token: `${base64url('{"alg":"none"}')}.${base64url('{}')}.` }) }),
      'nobody\'s key': token({}, { key: { ...provider.keys.rsa, kid: 'unknown' } }),
      'no token': { body: '{}' }, 'a number': { body: '{"id_token":7}' }, 'a page': { headers: { 'content-type': 'text/html' }, body: '<html>' }, 'a list': { body: '[]' },
      'nothing': { body: '' }, 'too much': { body: `{"id_token":"${'x'.repeat(9000)}"}` }, 'far too much': { body: ' '.repeat(1 << 20) },
      'an error': { status: 500, body: 'oops' }, 'that our secret is wrong': { status: 401, body: '{"error":"invalid_client"}' },
      'a redirect': { status: 302, headers: { location: `${provider.issuer}/token` } },
    };
    for (const [what, answer] of Object.entries(lies)) assert.equal(landed(await whileItAnswers(answer), 'not-signed-in'), 'failed', what);
  });

  test('a person of the provider with the name of an account does not become that account', async () => {
    const { challenge } = makeProof();
    const back = await comeBack(await atProvider(await begin(challenge), 'User_1'));
    assert.equal(landed(back, 'not-signed-in'), 'taken');
  });

  test('a token ends when an account gets its name', async () => {
    const { token } = await signIn('heidi');
    assertOk(await cluster.request('GET', '/api/me', as(token)));
    cluster.writeAccounts({ ...cluster.accounts, heidi: { secret: 'her own secret', role: 'user' } });
    for (const node of cluster.nodes) node.signal('SIGHUP');
    for (const node of [0, 1]) {
      for (;;) {
        const response = await cluster.request('GET', '/api/me', { node, ...as(token) });
        if (response.status === 401) break;
        assertOk(response);
      }
    }
    cluster.writeAccounts(cluster.accounts);
    for (const node of cluster.nodes) node.signal('SIGHUP');
  });

  test('keys that have changed in the meantime are fetched', async () => {
    provider.rotate();
    await signIn('ivan');
  });

  test('a provider that is away or slow leads back to the app, and a client that leaves does not hurt', async () => {
    const query = await atProvider(await begin(makeProof().challenge), 'judy');
    const held = provider.holdToken();
    const slow = comeBack(query);
    await held.arrived;
    assert.equal(landed(await slow, 'not-signed-in'), 'failed');
    held.release();
    const other = await atProvider(await begin(makeProof().challenge), 'judy');
    await provider.stop();
    assert.equal(landed(await comeBack(other), 'not-signed-in'), 'failed');
    await provider.start();
    await signIn('judy');
  });

  test('names of any kind come through, and long ones are left out', async () => {
    const name = 'é"\\<b>\u202e';
    for (const [claims, username] of [[{ preferred_username: name }, name], [{ preferred_username: 'x'.repeat(129) }, 'mallory'], [{}, 'mallory']]) {
      const { proof, challenge } = makeProof();
      const url = await begin(challenge);
      const query = await atProvider(url, 'mallory');
      const roles = Array(500).fill('a-role');
      provider.answerToken({ body: JSON.stringify({ id_token: provider.sign({ aud: CLIENT.id, sub: 'mallory', nonce: url.searchParams.get('nonce'), roles, ...claims }) }) });
      const code = landed(await comeBack(query), 'signed-in');
      provider.answerToken(undefined);
      const { Token, Name } = assertOk(await login({ code, proof }));
      assert.equal(Name, username);
      assert.deepEqual(assertOk(await cluster.request('GET', '/api/me', as(Token))).roles, []);
    }
  });
});

suite('a node without a client at the provider', { nodes: 1, args: args.slice(0, 3) }, ({ test, cluster }) => {
  test('says that nobody can sign in with it, and takes no token of those who did', async () => {
    for (const path of ['/auth/login?challenge=x', '/auth/callback?state=x&code=y']) assertProblem(await cluster.request('GET', path), 404, 'not_found');
    assert.equal(assertOk(await cluster.request('GET', '/', { headers: { Accept: 'application/json' } })).provider, null);
    const token = `${base64url('{"alg":"HS256","typ":"parley-person"}')}.${base64url('{}')}.${'A'.repeat(43)}`;
    assertProblem(await cluster.request('GET', '/api/me', { headers: { Authorization: `Bearer ${token}` } }), 401, 'unauthorized');
  });
});
