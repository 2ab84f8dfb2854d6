// SPDX-License-Identifier: MIT
//
// openapi.yaml, as cmake/routes.pl makes it, against the sources: it is valid OpenAPI 3.1, Redocly and Spectral find no error in it, it names every
// route and no other, knows every error code, and its examples fit. That answers fit it is checked on every answer that any test gets
// (tests/support/openapi.mjs); here that this check would notice.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Validator } from '@seriousme/openapi-schema-validator';
import Ajv from 'ajv/dist/2020.js';
import { assertOk, assertProblem, suite } from '../support/harness.mjs';
import { assertAllFitted, assertResponse, eventCheck, loadOpenapi, messageCheck } from '../support/openapi.mjs';
import { redocly, spectral } from '../support/openapi_linters.mjs';
import { ACCOUNT_OF, allRoutes, bodyLimit, openapiText } from '../support/routes.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // a text and what refuses requests before Redis is asked: the same on any number of shards

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];
const openapi = loadOpenapi();
const read = (file) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

const follow = (node) =>
  node.$ref
    ? node.$ref
        .split('/')
        .slice(1)
        .reduce((at, key) => at?.[key.replace(/~1/g, '/').replace(/~0/g, '~')], openapi)
    : node;

// [{method, path, operation}] of the file, with methods that OpenAPI has no name for, and other spellings of a path.
const operations = Object.entries(openapi.paths).flatMap(([path, item]) =>
  METHODS.filter((method) => item[method]).flatMap((method) =>
    [method.toUpperCase(), ...(item[method]['x-also-methods'] ?? [])].flatMap((one) =>
      [path, ...(item['x-also-paths'] ?? [])].map((spelt) => ({ method: one, path: spelt, operation: item[method] })),
    ),
  ),
);

// Calls visit(node, pointer) for every object of the file.
function walk(visit, node = openapi, pointer = '#') {
  if (node === null || typeof node !== 'object') return;
  visit(node, pointer);
  for (const [key, value] of Object.entries(node)) walk(visit, value, `${pointer}/${key.replace(/~/g, '~0').replace(/\//g, '~1')}`);
}

// {code: status} of shared/base/err.h.
function errorTable() {
  const rows = [...read('shared/base/err.h').matchAll(/^\s+X\(\w+,\s*(\d+),\s*"(\w+)",/gm)].map(([, status, code]) => [code, Number(status)]);
  assert.ok(rows.length > 30, 'the table is read');
  return Object.fromEntries(rows.filter(([code]) => code !== 'ok'));
}

// The codes that a response lists, [] when it is no problem.
function codesOf(response) {
  const { content, 'x-codes': codes } = follow(response);
  const schema = content?.['application/problem+json']?.schema;
  return codes ?? (schema?.allOf ?? []).flatMap(({ properties }) => properties?.code?.enum ?? []);
}

describe('openapi.yaml', () => {
  it('is valid OpenAPI 3.1', async () => {
    assert.match(openapi.openapi, /^3\.1\./);
    assert.equal(openapi.info.version, /^project\(parley VERSION (\S+)/m.exec(read('CMakeLists.txt'))[1]);
    const { valid, errors } = await new Validator().validate(structuredClone(openapi));
    assert.ok(valid, JSON.stringify(errors, null, 2));
  });

  it('would be refused with a mistake in it', async () => {
    const broken = structuredClone(openapi);
    delete broken.paths['/api/login'].get.responses['200'].description;
    assert.equal((await new Validator().validate(broken)).valid, false);
  });

  // Warnings that stay: {rule: why}. Anything else that a linter says is to be mended.
  const REDOCLY_WARNINGS = {
    'operation-2xx-response': '/ws/indexing answers 101',
    'no-unused-components': 'events and messages are named in x-events and x-messages, NoRoute and MethodNotAllowed by no route',
  };
  const SPECTRAL_WARNINGS = {
    'oas3-operation-security-defined': 'roles beside a scheme that is not OAuth: OpenAPI 3.1 has them',
    'operation-success-response': '/ws/indexing answers 101',
    'oas3-unused-component': 'NoRoute and MethodNotAllowed are what any path may answer',
    'operation-description': 'a summary says enough',
    'info-contact': 'there is no address yet',
  };
  const show = (found) => found.map(({ rule, message, at }) => `${rule}: ${message} (${at})`).join('\n');

  for (const [name, lint, warnings, right, mistake] of [
    ['Redocly', redocly, REDOCLY_WARNINGS, /description: (The lease\. With Detail\.)/, 'description: One, $1'],
    ['Spectral', spectral, SPECTRAL_WARNINGS, /(maxItems: 0), items: \{type: string\}/, '$1'],
  ]) {
    it(`is without an error for ${name}, and its warnings are those that are explained here`, async () => {
      const found = await lint(openapiText());
      assert.equal(show(found.filter(({ isError }) => isError)), '');
      assert.equal(show(found.filter(({ rule }) => !warnings[rule])), '');
      assert.deepEqual(new Set(found.map(({ rule }) => rule)), new Set(Object.keys(warnings)), 'each explained warning is still there');
    });

    it(`would be refused by ${name} with a mistake in it`, async () => {
      const text = openapiText();
      assert.match(text, right);
      assert.ok((await lint(text.replace(right, mistake))).some(({ isError }) => isError));
    });
  }

  // The styles of the systems whose clients Parley serves (docs/handbook/limits.md), and the routes that have them. Names on
  // all other routes are in snake_case, those of new routes too.
  const OLD_STYLES = {
    PascalCase: {
      is: /^([A-Z][a-z0-9]*)+$/,
      everywhere: ['OnBehalfOf', 'Detail', 'Wait'],
      routes: `/api/login /api/add-query /api/check-query /api/get-topic-thread /api/find-topics /api/topic /api/rename-topic
        /api/cancel-query /api/add-lookup /api/get-lookups /api/recommend /api/get-new-queries /api/give-new-answer /api/give-partial
        /api/extend-claim /api/release-claim /api/get-new-lookup /api/give-new-matches /api/get-recommendations /api/users/{user}
        /api/users/{user}/usage /api/status /api/audit /api/depth /api/queue /api/recommendations /api/retry-query /api/drain-engine
        /ask /api/rag/ask /metrics /ws/engine`,
    },
    camelCase: {
      is: /^[a-z]+([A-Z][a-z0-9]*)+$/,
      everywhere: [],
      routes: `/api/docs/upload /api/docs /api/docs/{id} /api/docs/{id}/delete /api/docs/{id}/reindex /api/docs/{id}/chunks/{index}
        /api/rag/retrieve /api/rag/ask /api/agent/run /api/agent/stream /ws/indexing /ws /api/workflows/questions /api/bots/evaluate`,
    },
  };

  // The members and query parameters of an operation, except those of errors.
  function namesOf(operation) {
    const found = new Set(operation.parameters?.map(follow).filter((one) => one.in === 'query').map(({ name }) => name));
    const seen = new Set();
    const collect = (part) => {
      const node = part && follow(part);
      if (node === null || typeof node !== 'object' || seen.has(node)) return;
      seen.add(node);
      for (const name of Object.keys(node.properties ?? {})) found.add(name);
      for (const [key, value] of Object.entries(node)) if (!['example', 'examples', 'headers'].includes(key)) collect(value);
    };
    const answers = Object.entries(operation.responses).filter(([status]) => /^[12]/.test(status)).map(([, response]) => response);
    [operation.requestBody, ...answers, operation['x-events'], operation['x-messages'], operation['x-alternatives']].forEach(collect);
    return found;
  }

  it('names members in one of three styles, and in an old one only on the routes that have it', () => {
    const wrong = [];
    const used = new Set();
    for (const { path, operation } of operations) {
      for (const name of namesOf(operation)) {
        if (/^[a-z0-9]+(_[a-z0-9]+)*(\[[a-z]+\])?$/.test(name)) continue; // forms name members of an object so
        const [style, { everywhere, routes } = {}] = Object.entries(OLD_STYLES).find(([, { is }]) => is.test(name)) ?? ['a fourth style'];
        used.add(`${style} ${path}`);
        if (!everywhere?.includes(name) && !routes?.split(/\s+/).includes(path.replace(/(.)\/$/, '$1'))) wrong.push(`${path}: ${name} (${style})`);
      }
    }
    assert.deepEqual(wrong, [], 'new names are in snake_case');
    for (const [style, { routes }] of Object.entries(OLD_STYLES)) {
      for (const path of routes.split(/\s+/)) assert.ok(used.has(`${style} ${path}`), `${path} has no ${style} any more: leave it out here`);
    }
  });

  it('names every route with its methods, and nothing else', () => {
    const names = (list) => list.map(({ method, path }) => `${method} ${path}`).sort();
    assert.ok(allRoutes().length > 40, 'the tables are read');
    assert.deepEqual(names(operations), names(allRoutes()), 'a route of a service is one in openapi.yaml');
  });

  it('names for every route the roles that its table lets in, and the ways to prove them', () => {
    for (const { method, path, roles, takesToken, takesApiKey, takesBasic, takesCallerKey } of allRoutes()) {
      const { operation } = operations.find((one) => one.method === method && one.path === path);
      const wanted =
        roles.length === 0
          ? takesCallerKey ? [{ callerKey: [] }] : []
          : [
              { signedUser: roles, signedNonce: roles, signedHash: roles },
              { bearer: roles },
              ...(takesToken ? [{ tokenParameter: roles }] : []),
              ...(takesApiKey ? [{ apiKey: roles }] : []),
              ...(takesBasic ? [{ basic: roles }] : []),
              ...(takesCallerKey ? [{ callerKey: [] }] : []),
            ];
      // Where `{}` is first, no credentials are needed: always, or if the node's flags say so.
      const [first, ...others] = operation.security;
      const isOpen = first !== undefined && Object.keys(first).length === 0;
      assert.deepEqual(isOpen ? others : operation.security, wanted, `${method} ${path}`);
    }
  });

  it('has no reference that leads nowhere, and no component that nobody uses', () => {
    const used = new Set();
    walk(({ $ref }, pointer) => {
      if (typeof $ref !== 'string') return;
      assert.ok(follow({ $ref }), `${pointer}: ${$ref}`);
      used.add($ref);
    });
    const generic = ['', 'Openai', 'Anthropic'].flatMap((door) => [`${door}NoRoute`, `${door}MethodNotAllowed`]);
    for (const [kind, components] of Object.entries(openapi.components)) {
      if (kind === 'securitySchemes') continue;
      for (const name of Object.keys(components)) assert.ok(used.has(`#/components/${kind}/${name}`) || generic.includes(name), `${kind}/${name}`);
    }
  });

  it('gives every operation a name of its own, and says in words what it and its parameters are', () => {
    const ids = new Set(operations.map(({ operation }) => operation.operationId));
    assert.equal(ids.size, new Set(operations.map(({ operation }) => operation)).size);
    for (const { method, path, operation } of operations) {
      assert.ok(operation.summary, `${method} ${path}`);
      for (const parameter of operation.parameters ?? []) assert.ok(follow(parameter).description, `${method} ${path}`);
    }
  });

  it('names all parameters of a path, and no other', () => {
    for (const [path, item] of Object.entries(openapi.paths)) {
      const named = (item.parameters ?? []).map(follow).filter((one) => one.in === 'path').map(({ name }) => name);
      assert.deepEqual(named, [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name), path);
    }
  });

  it('knows every error code, each under its status', () => {
    const table = errorTable();
    const seen = new Set();
    const responses = [...operations.flatMap(({ operation }) => Object.entries(operation.responses))];
    responses.push(['404', openapi.components.responses.NoRoute], ['405', openapi.components.responses.MethodNotAllowed]);
    for (const [status, response] of responses) {
      for (const code of codesOf(response)) {
        assert.equal(table[code], Number(status), `${code} under ${status}`);
        seen.add(code);
      }
      if (Number(status) >= 400 && codesOf(response).length === 0) assert.ok(follow(response).content['application/json'], `codes of ${status}`);
    }
    assert.deepEqual([...seen].sort(), Object.keys(table).sort());
  });

  it('states the rule of signing with an example that is right', () => {
    const { description } = openapi.components.securitySchemes.signedHash;
    const [, secret, User, Nonce, text, Hash] = /secret `(.+?)`, `User=(.+?)` and `Nonce=(.+?)`, the text is\s`(.+?)` and the Hash\s`(\w+)`/.exec(description);
    assert.equal(text, `${User} ${Nonce} ${secret}`);
    assert.equal(Hash, createHash('sha256').update(text).digest('hex'));
  });

  it('has Retry-After with every problem of 429 and 503, and X-Request-Id with every answer', () => {
    for (const { method, path, operation } of operations) {
      for (const [status, response] of Object.entries(operation.responses)) {
        const headers = Object.keys(follow(response).headers ?? {});
        assert.ok(headers.includes('X-Request-Id'), `${method} ${path} ${status}`);
        if (['429', '503'].includes(status) && codesOf(response).length > 0) assert.ok(headers.includes('Retry-After'), `${method} ${path} ${status}`);
      }
    }
  });

  it('has examples that fit their schemas', () => {
    const ajv = new Ajv({ strict: false, validateSchema: false });
    ajv.addSchema(openapi, 'openapi');
    let n = 0;
    const fits = (pointer, value) => {
      n++;
      assert.ok(ajv.validate({ $ref: `openapi${pointer}` }, value), `${pointer}: ${ajv.errorsText()}: ${JSON.stringify(value)}`);
    };
    walk((node, pointer) => {
      if (Array.isArray(node.examples)) for (const example of node.examples) fits(pointer, example);
      if (node.example !== undefined && node.schema) fits(`${pointer}/schema`, node.example);
    });
    assert.ok(n > 20, `${n} examples`);
  });
});

suite('every route of openapi.yaml', {}, ({ test, cluster }) => {
  // Its credential is in the path, and comes first.
  const isLink = (path) => path.includes('{link}');
  const each = async (ask) => {
    for (const { method, path, operation } of operations) {
      if (method === 'HEAD') continue; // has no body to look at
      const filled = path.replace('{page}', 'engines').replace('docs/{id}', 'docs/00000000-0000-4000-8000-000000000000').replace('{id}', '0'.repeat(24)).replace('{index}', '0').replace('{username}', 'bot');
      await ask(method, filled, operation);
    }
  };

  test('refuses what is malformed as it says: the query, the request line, the headers', () =>
    each(async (method, path) => {
      const refuses = async (options, status, code) => {
        const response = await cluster.request(method, path, options);
        if (method === 'HEAD') assert.deepEqual([response.status, response.text], [status, '']);
        else assertProblem(response, status, code);
      };
      await refuses({ raw: 'x=%zz' }, 400, 'bad_request');
      await refuses({ raw: 'x'.repeat(40_000) }, 414, 'uri_too_long');
      await refuses({ headers: { 'x-a': 'a'.repeat(40_000) } }, 431, 'headers_too_large');
      await refuses({ headers: { 'Content-Encoding': 'gzip', 'Content-Type': 'application/json' }, body: gzipSync('{}') }, 415, 'unsupported_encoding');
    }));

  test('refuses a body that is too large, or that is no JSON where it takes JSON', () =>
    each(async (method, path, operation) => {
      const types = Object.keys(operation.requestBody?.content ?? {});
      if (!types.includes('application/json') || isLink(path) || operation.security[0]?.callerKey) return;
      const as = ACCOUNT_OF[operation.security[1]?.bearer[0]];
      assertProblem(await cluster.request(method, path, { as, body: 'x'.repeat(bodyLimit(path) + 1) }), 413, 'too_large');
      assertProblem(await cluster.request(method, path, { as, query: { OnBehalfOf: 'alice' }, body: '{' }), 400, 'bad_json');
    }));

  test('asks for credentials as it says', () =>
    each(async (method, path, operation) => {
      if (operation.security.length === 0 || isLink(path)) return;
      // Failed logins are counted by address, so each comes from one of its own.
      const localAddress = `127.8.0.${2 + operations.findIndex((one) => one.operation === operation)}`;
      const response = await cluster.request(method, path, { localAddress });
      // The routes of the first clients answer as they know it.
      if (['/api/bots/register', '/api/bots/evaluate'].includes(path)) assert.deepEqual([response.status, Object.keys(JSON.parse(response.text))], [401, ['message']]);
      else assertProblem(response, 401, 'unauthorized');
    }));

  test('a question that has Failed is neither cancelled nor answered, one that is Open is not retried', async () => {
    const { Topic } = await cluster.add();
    const body = { Topic, Seq: 1 };
    assertProblem(await cluster.request('POST', '/api/retry-query', { as: 'Operator_1', body }), 409, 'conflict');
    const { Lease } = await cluster.claim({ detail: true });
    assertOk(await cluster.request('POST', '/api/release-claim', { as: 'Inference_1', body: { Topic, Lease, Retry: false } }));
    assertProblem(await cluster.request('POST', '/api/cancel-query', { as: 'Frontend_1', body }), 409, 'failed');
    assertProblem(await cluster.answerRaw({ Topic, Seq: 1 }), 409, 'failed');
  });
});

suite('answers that do not fit openapi.yaml', {}, ({ test, cluster }) => {
  const asked = { method: 'GET', path: '/api/login' };
  // Notes are taken back: they are what is expected here.
  const refuses = (answer, pattern, request = asked) => {
    assert.throws(() => assertResponse(request, answer), pattern);
    assert.throws(assertAllFitted, pattern);
  };
  const changed = (answer, change) => ({ ...answer, text: JSON.stringify({ ...JSON.parse(answer.text), ...change }) });

  test('a member that is missing, wrong or not stated is noticed', async () => {
    const good = await cluster.request('GET', '/api/login', { as: 'User_1' });
    assertOk(good);
    assertResponse(asked, good);
    refuses(changed(good, { Role: undefined }), /must have required property 'Role'/);
    refuses(changed(good, { Role: 'king' }), /must be equal to one of the allowed values/);
    refuses(changed(good, { More: 1 }), /must NOT have unevaluated properties/);
  });

  test('a status, a code, a header or a content type that is not stated is noticed', async () => {
    const good = await cluster.request('GET', '/api/login', { as: 'User_1' });
    const bad = await cluster.request('GET', '/api/login');
    assert.equal(bad.status, 401);
    assertResponse(asked, bad);
    refuses({ ...good, status: 201 }, /201: this status is not listed/);
    refuses(changed(bad, { code: 'forbidden' }), /code must be equal to one of the allowed values/);
    refuses({ ...bad, headers: { ...bad.headers, 'www-authenticate': undefined } }, /WWW-Authenticate is missing/);
    refuses({ ...good, headers: { ...good.headers, 'content-type': 'text/html' } }, /content type text\/html is not listed/);
  });

  test('a path or a method that is not stated is noticed, and 404 and 405 are its answers', async () => {
    const good = await cluster.request('GET', '/livez');
    refuses(good, /200: this status is not listed/, { method: 'GET', path: '/nowhere' });
    refuses(good, /200: this status is not listed/, { method: 'POST', path: '/livez' });
    assert.equal((await cluster.request('GET', '/nowhere')).status, 404);
    assert.equal((await cluster.request('POST', '/livez')).status, 405);
    assert.equal((await cluster.request('OPTIONS', '/livez')).status, 204);
  });

  test('a request that is answered though the file does not allow it is noticed', async () => {
    const body = { Topic: 'here', User: 'alice', Query: 'Why?' };
    const good = await cluster.request('POST', '/api/add-query', { as: 'Frontend_1', body });
    assertOk(good);
    const with_ = (path, change) => ({ method: 'POST', path, body: JSON.stringify({ ...body, ...change }) });
    assertResponse(with_('/api/add-query'), good);
    refuses(good, /its body is not allowed: \/Topic/, with_('/api/add-query', { Topic: 'two words' }));
    const list = await cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic: 'here' } });
    refuses(list, /answered without the parameter Topic/, { method: 'GET', path: '/api/get-topic-thread' });
    refuses(list, /its Topic is not allowed/, { method: 'GET', path: '/api/get-topic-thread?Topic=two%20words' });
  });

  test('an event and a message that are not stated are noticed', () => {
    const check = eventCheck({ method: 'GET', path: '/api/check-query' }, { status: 200, headers: {} });
    check({ event: 'token', data: { text: 'Forty' } });
    assertAllFitted();
    check({ event: 'token', data: { txt: 'Forty' } });
    assert.throws(assertAllFitted, /the event token/);
    check({ event: 'tick', data: {} });
    assert.throws(assertAllFitted, /the event tick is not listed/);
    const read = messageCheck('/ws/indexing');
    read({ type: 'connected' });
    assertAllFitted();
    read({ type: 'unheard of' });
    assert.throws(assertAllFitted, /the message/);
  });
});
