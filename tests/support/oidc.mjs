// SPDX-License-Identifier: MIT
//
// oidc: a real OpenID provider (npm oidc-provider) on a free port, and forged tokens. The provider
// speaks for itself; around it is a server that counts requests, can be down, can keep requests
// waiting or answer in its stead, and brings in the provider again with other keys (rotation).
import { constants, createHmac, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import http from 'node:http';
import Provider from 'oidc-provider';
import MemoryAdapter from 'oidc-provider/lib/adapters/memory_adapter.js';

// Its id is the audience of the identity tokens that it gets, so it is ours.
export const CLIENT = { id: 'parley', secret: 'web-app-secret', publicId: 'parley-in-public', redirect: 'https://app.example/back' };
// What the application asks for; the provider names it in tokens by its audience.
const RESOURCE = 'urn:example:parley';
const KEYS_PATH = '/jwks';
const DISCOVERY_PATH = '/.well-known/openid-configuration';
const TOKEN_PATH = '/token';

const LOGIN_PAGE = '<!doctype html><title>Provider</title><form method="post"><label>Name <input name="who"></label><button>Continue</button><button name="cancel" value="1">Cancel</button></form>';

let generation = 0;

// One key per kind, private JWKs. Each set has kids of its own.
function makeKeys() {
  generation += 1;
  const make = (name, type, options, more) => ({
    ...generateKeyPairSync(type, options).privateKey.export({ format: 'jwk' }),
    kid: `${name}-${generation}`,
    use: 'sig',
    ...more,
  });
  return {
    rsa: make('rsa', 'rsa', { modulusLength: 2048 }),
    p256: make('p256', 'ec', { namedCurve: 'P-256' }, { alg: 'ES256' }),
    p384: make('p384', 'ec', { namedCurve: 'P-384' }),
    p521: make('p521', 'ec', { namedCurve: 'P-521' }),
  };
}

const encode = (value) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

// A token of any header and claims. `key`: a private JWK, or a secret (Buffer) for HMAC.
export function forge(header, claims, key) {
  const text = `${encode(header)}.${encode(claims)}`;
  const digest = `sha${header.alg.slice(2)}`;
  if (header.alg === 'none') return `${text}.`;
  if (header.alg.startsWith('HS')) return `${text}.${createHmac(digest, key).update(text).digest('base64url')}`;
  const options = { key, format: 'jwk', dsaEncoding: 'ieee-p1363' };
  if (header.alg.startsWith('PS')) {
    options.padding = constants.RSA_PKCS1_PSS_PADDING;
    options.saltLength = constants.RSA_PSS_SALTLEN_DIGEST;
  }
  return `${text}.${sign(digest, Buffer.from(text), options).toString('base64url')}`;
}

// Its own, so that the provider does not warn of keeping everything in memory.
class Adapter extends MemoryAdapter {}

function configure(keys, audience, redirects) {
  return {
    adapter: Adapter,
    ttl: Object.fromEntries(
      ['AccessToken', 'ClientCredentials', 'Grant', 'IdToken', 'Interaction', 'Session'].map((what) => [what, 600]),
    ),
    jwks: { keys: Object.values(keys) },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [CLIENT.redirect, ...redirects],
        grant_types: ['authorization_code', 'client_credentials'],
        response_types: ['code'],
      },
      { client_id: CLIENT.publicId, token_endpoint_auth_method: 'none', redirect_uris: [CLIENT.redirect, ...redirects], grant_types: ['authorization_code'], response_types: ['code'] },
    ],
    pkce: { required: () => false },
    conformIdTokenClaims: false,
    claims: { profile: ['name', 'preferred_username'], email: ['email'] },
    findAccount: (ctx, sub) => ({
      accountId: sub,
      claims: () => ({ sub, name: `The ${sub}`, preferred_username: `${sub}-at-home`, email: `${sub}@example.org` }),
    }),
    extraTokenClaims: (ctx, token) =>
      token.accountId ? { preferred_username: `${token.accountId}-at-home`, roles: ['reader', 'writer'] } : {},
    loadExistingGrant: async (ctx) => {
      const grant = new ctx.oidc.provider.Grant({ clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId });
      grant.addOIDCScope('openid profile email');
      grant.addResourceScope(RESOURCE, 'ask');
      await grant.save();
      return grant;
    },
    interactions: { url: (ctx, { uid }) => `/interaction/${uid}` },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => RESOURCE,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({ audience, scope: 'ask', accessTokenFormat: 'jwt' }),
      },
    },
  };
}

export class TestProvider {
  #server;
  #port = 0;
  #provider;
  #requests = [];
  #held = new Map();
  #answers = new Map();
  keys = makeKeys();

  // `redirects`: further addresses that browsers may be sent back to.
  constructor({ audience = 'parley', redirects = [] } = {}) {
    this.audience = audience;
    this.redirects = redirects;
  }

  // Listens (again, on the port that it had).
  async start() {
    this.#server = http.createServer((request, response) => this.#answer(request, response));
    await new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#port, '127.0.0.1', resolve);
    });
    // It ends with the process of its test file, and keeps no one from ending.
    this.#server.unref();
    this.#port = this.#server.address().port;
    this.issuer = `http://127.0.0.1:${this.#port}`;
    if (!this.#provider) this.rotate(this.keys);
    return this;
  }

  // Nobody answers at its port any more.
  async stop() {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  // From now on it signs by these keys and shows them.
  rotate(keys = makeKeys()) {
    this.keys = keys;
    this.#provider = new Provider(this.issuer, configure(keys, this.audience, this.redirects));
    return keys;
  }

  // How many requests for its keys came so far.
  get keyRequests() {
    return this.#requests.filter((path) => path === KEYS_PATH).length;
  }

  // How many codes were to be exchanged for tokens so far.
  get tokenRequests() {
    return this.#requests.filter((path) => path === TOKEN_PATH).length;
  }

  // Requests for keys wait until release() is called; `arrived` resolves with the first.
  hold(path = KEYS_PATH) {
    let release;
    let arrive;
    const arrived = new Promise((resolve) => (arrive = resolve));
    const over = new Promise((resolve) => (release = resolve));
    this.#held.set(path, { over, arrive });
    return {
      arrived,
      release: () => {
        this.#held.delete(path);
        release();
      },
    };
  }

  holdToken() {
    return this.hold(TOKEN_PATH);
  }

  // Answers {status, headers, body} in the provider's stead; undefined: no more.
  answerKeys(answer) {
    this.#answers.set(KEYS_PATH, answer);
  }

  answerDiscovery(answer) {
    this.#answers.set(DISCOVERY_PATH, answer);
  }

  answerToken(answer) {
    this.#answers.set(TOKEN_PATH, answer);
  }

  async #answer(request, response) {
    const path = request.url.split('?')[0];
    this.#requests.push(path);
    const held = this.#held.get(path);
    if (held) {
      held.arrive();
      await held.over;
    }
    const answer = this.#answers.get(path);
    if (answer) return response.writeHead(answer.status ?? 200, answer.headers).end(answer.body ?? '');
    if (path.startsWith('/interaction/')) return this.#logIn(request, response);
    return this.#provider.callback()(request, response);
  }

  // The login page of the provider: the user named in the login_hint or in the form is believed.
  async #logIn(request, response) {
    const { params } = await this.#provider.interactionDetails(request, response);
    let body = '';
    for await (const chunk of request) body += chunk;
    const form = new URLSearchParams(body);
    const accountId = params.login_hint ?? form.get('who');
    if (form.has('cancel')) return this.#provider.interactionFinished(request, response, { error: 'access_denied', error_description: 'Cancelled' });
    if (!accountId) return response.writeHead(200, { 'content-type': 'text/html' }).end(LOGIN_PAGE);
    return this.#provider.interactionFinished(request, response, { login: { accountId } });
  }

  // Follows an address of the provider as a browser does, until it leads back to `redirect`: where to.
  async follow(address, redirect) {
    let url = address;
    const jar = new Map();
    const cookies = () => [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    while (!url.startsWith(redirect)) {
      // Not fetch: its older versions join several cookies into one header.
      const response = await new Promise((resolve, reject) => {
        http.get(url, { headers: { cookie: cookies() } }, resolve).on('error', reject);
      });
      response.resume();
      for (const line of response.headers['set-cookie'] ?? []) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
        jar.set(name, value);
      }
      const next = response.headers.location;
      if (!next) throw new Error(`the provider answered ${response.statusCode} to ${url}`);
      url = new URL(next, this.issuer).href;
    }
    return url;
  }

  // Logs in as a browser does and fetches the tokens as the application behind it does:
  // {access_token, id_token, ...}
  async logIn(sub) {
    const query = new URLSearchParams({
      client_id: CLIENT.id,
      response_type: 'code',
      redirect_uri: CLIENT.redirect,
      scope: 'openid profile email ask',
      nonce: randomBytes(8).toString('hex'),
      login_hint: sub,
    });
    const url = await this.follow(`${this.issuer}/auth?${query}`, CLIENT.redirect);
    const code = new URL(url).searchParams.get('code');
    if (!code) throw new Error(`no code in ${url}`);
    return this.#token({ grant_type: 'authorization_code', code, redirect_uri: CLIENT.redirect });
  }

  // The tokens of the application itself.
  clientCredentials() {
    return this.#token({ grant_type: 'client_credentials', scope: 'ask' });
  }

  async #token(body) {
    const authorization = `Basic ${Buffer.from(`${CLIENT.id}:${CLIENT.secret}`).toString('base64')}`;
    const response = await fetch(`${this.issuer}/token`, {
      method: 'POST',
      headers: { authorization },
      body: new URLSearchParams(body),
    });
    if (response.status !== 200) throw new Error(`/token answered ${response.status}: ${await response.text()}`);
    return response.json();
  }

  claims(more = {}) {
    const now = Math.floor(Date.now() / 1000);
    return { iss: this.issuer, aud: this.audience, sub: 'alice', iat: now, nbf: now, exp: now + 600, ...more };
  }

  // A token as the provider would issue it; a member that is undefined is left out.
  sign(claims = {}, { alg = 'RS256', key = this.keys.rsa, header = {} } = {}) {
    return forge({ alg, typ: 'JWT', kid: key.kid, ...header }, this.claims(claims), key);
  }
}

export async function startProvider(options) {
  return new TestProvider(options).start();
}
