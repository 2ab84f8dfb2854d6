// SPDX-License-Identifier: MIT
//
// Conventions of every route: bodies, errors, request ids, traces, CORS.
import assert from 'node:assert/strict';
import http from 'node:http';
import { assertOk, assertProblem, newNonce, newTopic, suite } from '../support/harness.mjs';
import { loadOpenapi } from '../support/openapi.mjs';
import { ACCOUNT_OF, allRoutes, filled } from '../support/routes.mjs';

const LIMIT = 1024 * 1024;

// The integers with bounds in the queries of GET routes, as openapi.yaml has them: [{method, path, operation, parameter}].
function numberParameters() {
  const openapi = loadOpenapi();
  const found = Object.entries(openapi.paths).flatMap(([path, { get }]) =>
    (get?.parameters ?? [])
      .map((one) => (one.$ref ? openapi.components.parameters[one.$ref.split('/').pop()] : one))
      .filter((one) => one.in === 'query' && one.schema.type === 'integer' && one.schema.maximum !== undefined)
      .map((parameter) => ({ method: 'GET', path, operation: get, parameter })),
  );
  assert.ok(found.length > 10, 'they are found');
  return found;
}

suite('bodies', {}, ({ test, cluster }) => {
  const post = (body, options = {}) => cluster.request('POST', '/api/add-query', { as: 'Frontend_1', body, ...options });
  const valid = (more = {}) => ({ Topic: newTopic(), User: 'alice', Query: 'Why?', ...more });
  const signedPath = () => cluster.path('/api/add-query', { as: 'Frontend_1' });

  // Sends head and body over a bare socket, since a node may answer before it read everything.
  async function postBare(head, body) {
    const socket = await cluster.socket();
    socket.write(`POST ${signedPath()} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${head}\r\n\r\n`);
    if (body) socket.write(body);
    const response = await socket.response();
    socket.abort();
    return { ...response, json: response.text ? JSON.parse(response.text) : undefined };
  }

  test('a body that is not JSON: 400', async () => {
    for (const body of [
      '',
      ' ',
      'x',
      '{',
      '{"Topic"',
      '{"Topic":}',
      "{'Topic':'t'}",
      '{"Topic":"t",}',
      '[1,2',
      'null x',
      '{"a":1}{"b":2}',
      '\u0000',
      'NaN',
      '{"Seq":01}',
      '"\\x"',
      '{"a":"\\ud800"}',
    ]) {
      assertProblem(await post(body), 400);
    }
  });

  test('a body that is JSON but no object: 400', async () => {
    for (const body of ['null', 'true', '7', '"x"', '[]', '[{}]']) assertProblem(await post(body), 400);
  });

  test('a body that is not UTF-8: 400', async () => {
    for (const bytes of [[0xff], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xe2, 0x82]]) {
      const body = Buffer.concat([
        Buffer.from('{"Topic":"t-utf8","User":"alice","Query":"'),
        Buffer.from(bytes),
        Buffer.from('"}'),
      ]);
      assertProblem(await post(body), 400);
    }
    assert.deepEqual(await cluster.claim(), { Topic: null, Queries: null });
  });

  test('10,000 nested arrays: 400', async () => {
    assertProblem(await post('['.repeat(10_000)), 400);
    assertProblem(await post(`{"Topic":"t","User":"u","Query":"q","Modifiers":${'['.repeat(10_000)}${']'.repeat(10_000)}}`), 400);
    assertProblem(await post(`{"a":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}}`), 400);
  });

  test('1 MiB passes, one byte more is 413', async () => {
    const body = valid();
    const room = LIMIT - Buffer.byteLength(JSON.stringify({ ...body, Padding: '' }));
    assertOk(await post(JSON.stringify({ ...body, Padding: 'x'.repeat(room) })));
    const long = JSON.stringify({ ...body, Padding: 'x'.repeat(room + 1) });
    const refused = await postBare(`Content-Length: ${long.length}`, long);
    assert.equal(refused.status, 413);
    assert.match(refused.headers['content-type'], /^application\/problem\+json\b/);
    assert.equal(refused.json.code, 'too_large');
  });

  test('a body that announces too much: 413 before it is sent', async () => {
    for (const length of [100 * LIMIT, 5_000_000_000]) {
      const response = await postBare(`Content-Length: ${length}`);
      assert.equal(response.status, 413);
    }
  });

  test('a chunked body counts in full: small passes, over the limit is 413', async () => {
    assertOk(await post(valid(), { chunked: true }));
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const response = await postBare('Transfer-Encoding: chunked', `${chunk.repeat(17)}0\r\n\r\n`);
    assert.equal(response.status, 413);
  });

  test('members and parameters that we do not know are ignored', async () => {
    const { Topic } = assertOk(
      await post(valid({ Unknown: { a: [1] }, query: 'lower case' }), { query: { Unknown: '1', topic: 'x' } }),
    );
    assert.equal((await cluster.check({ Topic, query: { Unknown: '1' } })).Topic, Topic);
  });

  test('the type of the body is JSON, whatever the client calls it', async () => {
    for (const type of ['application/json; charset=utf-8', 'text/plain', 'application/x-www-form-urlencoded']) {
      assertOk(await post(valid(), { headers: { 'Content-Type': type } }));
    }
  });

  test('an escaped pair of surrogates is one character', async () => {
    const Topic = newTopic();
    assertOk(await post(`{"Topic":"${Topic}","User":"alice","Query":"\\ud83e\\udd9c \\u00e9"}`));
    assert.equal((await cluster.check({ Topic })).Query, '🦜 é');
  });
});

suite('routes and methods', { sweep: false }, ({ test, cluster }) => {
  test('an unknown route: 404, signed or not', async () => {
    for (const path of [
      '/api/nothing',
      '/api',
      '/api/',
      '/api/add-query/',
      '/api/add-querys',
      '/api/Add-Query',
      '//api/login',
      '/api/../api/nothing',
      '/%00',
      '/api/login%20',
    ]) {
      assertProblem(await cluster.request('GET', path), 404);
      assertProblem(await cluster.request('POST', path, { as: 'Frontend_1', body: {} }), 404);
    }
  });

  test('a known route with another method: 405, and Allow names the right ones', async () => {
    const routes = allRoutes();
    for (const path of new Set(routes.map((route) => route.path))) {
      const right = routes.filter((route) => route.path === path).map(({ method }) => method);
      for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'BREW']) {
        if (right.includes(method)) continue;
        const response = await cluster.request(method, filled(path), { as: 'Frontend_1' });
        assertProblem(response, 405, 'method_not_allowed');
        const allowed = response.headers.allow.split(/,\s*/).filter((one) => one !== 'HEAD');
        assert.deepEqual(new Set(allowed), new Set(right), `Allow of ${path}`);
      }
    }
  });

  test('HEAD is answered at once as GET is, without the body, and not where something is handed out', async () => {
    const { Topic } = await cluster.add();
    const handsOut = ['/api/get-new-queries', '/api/get-new-lookup', '/api/bots/{username}/deliveries', '/auth/callback'];
    for (const { method, path, roles, takesToken } of allRoutes()) {
      if (method !== 'GET') continue;
      const options = { as: ACCOUNT_OF[roles[0]], query: { Topic, Seq: 1, OnBehalfOf: 'alice' } };
      const head = await cluster.request('HEAD', filled(path), options);
      assert.equal(head.text, '', path);
      if (takesToken || handsOut.includes(path)) {
        assert.equal(head.status, 405, path);
        assert.equal(head.headers.allow.includes('HEAD'), false, path);
        continue;
      }
      const get = await cluster.request('GET', filled(path), { ...options, query: { ...options.query, Wait: 0 } });
      assert.deepEqual([head.status, head.headers['content-type']], [get.status, get.headers['content-type']], path);
      const refused = await cluster.request('PATCH', filled(path), options);
      assert.match(refused.headers.allow, /\bGET, HEAD\b/, path);
    }
    const socket = await cluster.socket({ node: 0 });
    const path = cluster.path('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1, Wait: 120 } });
    socket.write(`HEAD ${path} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\nGET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    const { rest } = await socket.closed();
    assert.deepEqual(rest.match(/^HTTP\/1\.1 \d+/gm), ['HTTP/1.1 200', 'HTTP/1.1 200']);
    assert.ok(rest.endsWith('{"status":"alive"}'));
  });

  test('a number in the query has the bounds that openapi.yaml says', async () => {
    const { Topic } = await cluster.add();
    const wrong = [];
    for (const { method, path, operation, parameter } of numberParameters()) {
      const { roles } = allRoutes().find((route) => route.method === method && route.path === path);
      const headers = { 'anthropic-version': '2023-06-01' }; // without it the models are no pages
      const send = (value) => cluster.request(method, filled(path), { as: ACCOUNT_OF[roles[0]], headers, query: { Topic, Seq: 1, OnBehalfOf: 'alice', Wait: 0, [parameter.name]: value } });
      // Other refusals come before on some routes.
      const isTaken = async (value) => (await send(value)).status === 200;
      const isRefused = async (value) => {
        const { status, text } = await send(value);
        return status === 400 && text.includes(parameter.name) && text.includes('whole number');
      };
      const { minimum, maximum } = parameter.schema;
      const names = `${operation.operationId} ${parameter.name}`;
      if (parameter.name !== 'Wait' && (await isRefused(maximum))) wrong.push(`${names}: ${maximum} is refused`);
      if (await isTaken(maximum + 1)) wrong.push(`${names}: ${maximum + 1} is taken`);
      if (minimum > 0 && (await isTaken(minimum - 1))) wrong.push(`${names}: ${minimum - 1} is taken`);
    }
    assert.deepEqual(wrong, []);
  });

  test('DEL is another word for DELETE where that is allowed, and nowhere else', async () => {
    assertProblem(
      await cluster.request('DEL', '/api/topic', { as: 'Frontend_1', query: { OnBehalfOf: 'alice', Topic: newTopic() } }),
      403,
    );
    assertProblem(await cluster.request('DEL', '/api/login', { as: 'Frontend_1' }), 405);
  });

  test('a request line that is too long: 414 or 431, and the node keeps serving', async () => {
    const socket = await cluster.socket({ node: 0 });
    socket.write(`GET /api/login?x=${'x'.repeat(200_000)} HTTP/1.1\r\nHost: x\r\n\r\n`);
    const first = await Promise.race([socket.response(), socket.closed().then(() => null)]).catch(() => null);
    if (first) assert.ok([400, 413, 414, 431].includes(first.status), first.line);
    socket.abort();
    assertOk(await cluster.request('GET', '/api/login', { as: 'Frontend_1', node: 0 }));
  });
});

suite('errors, request ids and traces', {}, ({ test, cluster }) => {
  const get = (headers, options = {}) => cluster.request('GET', '/api/login', { as: 'User_1', headers, ...options });

  test('an error has its six members and one readable sentence', async () => {
    const problems = [
      assertProblem(await cluster.request('GET', '/nothing'), 404),
      assertProblem(await cluster.addRaw({ Query: '' }), 400),
      assertProblem(await cluster.addRaw({ Query: 7 }), 400),
      assertProblem(await cluster.request('POST', '/api/add-query', { as: 'Frontend_1', body: '{' }), 400),
      assertProblem(await cluster.addRaw({ as: 'Inference_1' }), 403),
      assertProblem(await cluster.checkRaw({ Topic: newTopic() }), 404),
    ];
    for (const problem of problems) {
      assert.match(problem.detail, /^\S.*\S$/s);
      assert.ok(problem.type === 'about:blank' || /^(https?:|urn:|\/)/.test(problem.type), `type ${problem.type}`);
    }
  });

  test('a detail names the member that was wrong', async () => {
    assert.match(assertProblem(await cluster.addRaw({ Query: 7 }), 400).detail, /Query/);
    assert.match(assertProblem(await cluster.addRaw({ Topic: 'a b' }), 400).detail, /Topic/);
    assert.match(assertProblem(await cluster.checkRaw({ Topic: 't', wait: 500 }), 400).detail, /Wait/);
  });

  test('a sane X-Request-Id comes back, in errors too', async () => {
    const id = `req-${newNonce()}`;
    assert.equal((await get({ 'X-Request-Id': id })).headers['x-request-id'], id);
    const failed = await cluster.request('GET', '/nothing', { headers: { 'X-Request-Id': id } });
    assert.equal(assertProblem(failed, 404).instance, id);
  });

  test('without one, or with one that is not sane, we make our own', async () => {
    const seen = new Set();
    for (const sent of [undefined, 'a b', '"quoted"', 'x'.repeat(500), '<script>', 'a\tb', 'é'.normalize('NFC'), '']) {
      const response = await get(sent === undefined ? {} : { 'X-Request-Id': sent });
      const id = response.headers['x-request-id'];
      assert.match(id, /^[A-Za-z0-9._-]{8,128}$/);
      assert.notEqual(id, sent);
      seen.add(id);
    }
    assert.equal(seen.size, 8, 'each request has its own');
  });

  test('every kind of response carries X-Request-Id', async () => {
    const responses = [
      await get({}),
      await cluster.claimRaw(),
      await cluster.request('GET', '/nothing'),
      await cluster.request('PUT', '/api/login'),
      await cluster.request('OPTIONS', '/api/login', {
        headers: { Origin: 'https://a.example', 'Access-Control-Request-Method': 'GET' },
      }),
      await cluster.request('GET', '/livez'),
      await cluster.request('GET', '/metrics'),
      await cluster.request('GET', '/health'),
    ];
    for (const { headers } of responses) assert.ok(headers['x-request-id']);
  });

  test('traceparent is passed on', async () => {
    const trace = '0af7651916cd43dd8448eb211c80319c';
    for (const path of ['/api/login', '/nothing', '/livez']) {
      const response = await cluster.request('GET', path, { headers: { traceparent: `00-${trace}-b7ad6b7169203331-01` } });
      assert.match(response.headers.traceparent, new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`));
    }
  });

  test('a traceparent that is none is not passed on', async () => {
    for (const traceparent of ['x', '00-zz-yy-01', 'x'.repeat(4000)]) {
      const response = await cluster.request('GET', '/livez', { headers: { traceparent } });
      assert.notEqual(response.headers.traceparent, traceparent);
    }
  });
});

suite('CORS', {}, ({ test, cluster }) => {
  const preflight = (path, method, headers = 'content-type, x-custom, authorization', Origin = 'https://app.example') =>
    cluster.request('OPTIONS', path, {
      headers: { Origin, 'Access-Control-Request-Method': method, 'Access-Control-Request-Headers': headers },
    });

  test('a preflight is answered without credentials, for every route', async () => {
    for (const [path, method] of [
      ['/api/add-query', 'POST'],
      ['/api/check-query', 'GET'],
      ['/api/topic', 'DELETE'],
      ['/api/rename-topic', 'PUT'],
      ['/health', 'GET'],
    ]) {
      const { status, headers } = await preflight(path, method);
      assert.ok(status === 200 || status === 204, `status ${status}`);
      assert.equal(headers['access-control-allow-origin'], 'https://app.example');
      assert.equal(headers['access-control-allow-credentials'], undefined);
      const methods = headers['access-control-allow-methods'].split(/,\s*/);
      for (const one of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS']) assert.ok(methods.includes(one), `${one} in ${methods}`);
      assert.equal(headers['access-control-allow-headers'], 'content-type, x-custom, authorization');
    }
  });

  test('answers and errors carry the origin, so that pages can read them', async () => {
    const headers = { Origin: 'https://app.example' };
    for (const response of [
      await cluster.request('GET', '/api/login', { as: 'User_1', headers }),
      await cluster.request('GET', '/api/login', { headers }),
      await cluster.request('GET', '/nothing', { headers }),
      await cluster.claimRaw({ headers }),
    ]) {
      assert.equal(response.headers['access-control-allow-origin'], 'https://app.example');
      assert.equal(response.headers['access-control-allow-credentials'], undefined);
      assert.match(response.headers.vary ?? '', /\borigin\b/i);
    }
  });

  test('without an Origin there is nothing to allow', async () => {
    assert.equal((await cluster.request('GET', '/livez')).headers['access-control-allow-origin'], undefined);
  });

  test('header injection through Origin or requested headers comes to nothing', async () => {
    const socket = await cluster.socket();
    socket.write(
      'OPTIONS /api/login HTTP/1.1\r\nHost: x\r\nOrigin: https://a.example\x01\x7f\r\nAccess-Control-Request-Method: GET\r\nAccess-Control-Request-Headers: a\x0bb\r\n\r\n',
    );
    const response = await socket.response();
    assert.doesNotMatch(JSON.stringify(response.headers), /[\x01\x0b\x7f]|\\u0001|\\u000b|\\u007f/);
    socket.abort();
  });
});

suite(
  'CORS with listed origins',
  { args: ['--cors-origins', 'https://a.example,https://b.example:8443'] },
  ({ test, cluster }) => {
    test('a listed origin is echoed, with credentials', async () => {
      for (const Origin of ['https://a.example', 'https://b.example:8443']) {
        for (const response of [
          await cluster.request('GET', '/api/login', { as: 'User_1', headers: { Origin } }),
          await cluster.request('OPTIONS', '/api/login', { headers: { Origin, 'Access-Control-Request-Method': 'GET' } }),
        ]) {
          assert.equal(response.headers['access-control-allow-origin'], Origin);
          assert.equal(response.headers['access-control-allow-credentials'], 'true');
        }
      }
    });

    test('another origin is not, however similar', async () => {
      for (const Origin of [
        'https://evil.example',
        'https://a.example.evil.example',
        'http://a.example',
        'https://a.example:8443',
        'https://b.example',
        'null',
        '*',
      ]) {
        const response = await cluster.request('GET', '/api/login', { as: 'User_1', headers: { Origin } });
        assert.equal(response.headers['access-control-allow-origin'], undefined);
        assert.equal(response.headers['access-control-allow-credentials'], undefined);
      }
    });
  },
);

suite('connections', {}, ({ test, cluster }) => {
  test('a connection serves many requests', async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const ports = new Set();
    agent.on('free', (socket) => ports.add(socket.localPort));
    for (let i = 0; i < 20; i++) assertOk(await cluster.request('GET', '/api/login', { as: 'User_1', agent, node: 0 }));
    agent.destroy();
    assert.equal(ports.size, 1);
  });

  test('pipelined requests are answered in order, also after a poll that parks', async () => {
    const socket = await cluster.socket({ node: 0 });
    const login = cluster.path('/api/login', { as: 'User_1' });
    const poll = cluster.path('/api/get-new-queries', { as: 'Inference_1', query: { Wait: 1 } });
    socket.write(
      `GET ${login} HTTP/1.1\r\nHost: x\r\n\r\nGET ${poll} HTTP/1.1\r\nHost: x\r\n\r\nGET /nothing HTTP/1.1\r\nHost: x\r\n\r\n`,
    );
    assert.equal(JSON.parse((await socket.response()).text).User, 'User_1');
    assert.deepEqual(JSON.parse((await socket.response()).text), { Topic: null, Queries: null });
    assert.equal((await socket.response()).status, 404);
    socket.abort();
  });

  test('HTTP/1.0 without keep-alive is answered and closed', async () => {
    const socket = await cluster.socket();
    socket.write(`GET ${cluster.path('/api/login', { as: 'User_1' })} HTTP/1.0\r\n\r\n`);
    const { rest } = await socket.closed();
    assert.match(rest, /^HTTP\/1\.[01] 200 /);
    assert.match(rest, /"User_1"/);
  });

  test('garbage on a connection does not harm the next one', async () => {
    for (const bytes of [
      '\r\n\r\n\r\n',
      '\0\0\0\0',
      'GET\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nxxxxxxxxxxxxxxxxxxxxxxxx',
      'POST /api/add-query HTTP/1.1\r\nContent-Length: -1\r\n\r\n',
      'POST /api/add-query HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nzzzz\r\n',
    ]) {
      const socket = await cluster.socket({ node: 0 });
      socket.write(Buffer.from(bytes, 'latin1'));
      socket.end();
      await socket.closed();
      socket.abort();
    }
    assertOk(await cluster.request('GET', '/api/login', { as: 'User_1', node: 0 }));
  });
});
