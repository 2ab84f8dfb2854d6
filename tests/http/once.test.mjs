// SPDX-License-Identifier: MIT
//
// Idempotency-Key on every route that creates something: the same request again, also many times at once and to other nodes,
// creates nothing more and gets the same answer; another one under that key is refused, and a refused one leaves it free.
import assert from 'node:assert/strict';
import { ACCOUNTS, assertOk, assertProblem, newNonce, suite } from '../support/harness.mjs';
import { forgetLimits, formOf } from '../support/documents.mjs';
import { messages, newRoom } from '../support/rooms.mjs';
import { allRoutes } from '../support/routes.mjs';
import { keyOf } from '../support/shards.mjs';

const accounts = { ...ACCOUNTS, User_3: { secret: 'third-user-secret', role: 'user' } };
const env = { PARLEY_ALLOW_PRIVATE_ENDPOINTS: 'on' };
const TALK = [{ from: 'Bob', text: 'Why?' }, { from: 'Ada', text: 'So.' }];

suite('an Idempotency-Key', { accounts, env, sweep: false }, ({ test, cluster }) => {
  let n = 0;
  const name = () => `once-${process.pid}-${++n}`;
  const send = (path, body, key, { as = 'User_1', ...more } = {}) => cluster.request('POST', path, { as, ...(Buffer.isBuffer(body?.body) ? { ...body, headers: { ...body.headers, 'Idempotency-Key': key } } : { body, headers: { 'Idempotency-Key': key } }), ...more });
  const bot = async () => {
    const username = name();
    assertOk(await cluster.request('POST', '/api/bots', { as: 'User_1', body: { username, emulates: 'Ada', endpoint: 'http://127.0.0.1:9/' } }), 201);
    return username;
  };
  const count = async (path, list, query = {}) => assertOk(await cluster.request('GET', path, { as: 'User_1', query: { limit: 1000, ...query } }))[list].length;

  // Per route: a path, two bodies, the status, and how many of what it creates there are.
  const ROUTES = {
    '/api/rooms': async () => ({ bodies: [{ name: 'one' }, { name: 'two' }], status: 201, created: () => count('/api/rooms', 'rooms') }),
    '/api/rooms/{id}/messages': async () => {
      const room = await newRoom(cluster);
      return { path: `/api/rooms/${room}/messages`, bodies: [{ text: 'one' }, { text: 'two' }], status: 201, created: async () => (await messages(cluster, room)).length };
    },
    '/api/bots': async () => ({ bodies: [{ username: name() }, { username: name() }], status: 201, created: () => count('/api/bots', 'bots') }),
    '/api/bots/register': async () => ({ bodies: [{ username: name(), name: 'Ada' }, { username: name() }], status: 200, created: () => count('/api/bots', 'bots') }),
    '/api/evaluations': async () => {
      const username = await bot();
      return { bodies: [{ bot: username, conversation: TALK }, { bot: username, conversation: [...TALK, ...TALK] }], status: 202, created: () => count('/api/evaluations', 'evaluations', { limit: 100 }) };
    },
    '/api/add-lookup': async () => {
      const { Topic } = await cluster.add({ as: 'User_1' });
      return { bodies: ['one', 'two'].map((Fragment) => ({ Topic, Seq: 1, Fragment: `${Fragment} of ${Topic}` })), status: 200, created: async () => Number(await cluster.redis.cmd('HLEN', keyOf(Topic, `lookups:${Topic}`))) };
    },
    '/api/recommend': async () => {
      const { Topic } = await cluster.add({ as: 'User_1' });
      const all = async () => assertOk(await cluster.request('GET', '/api/recommendations', { as: 'Operator_1' })).Recommendations.filter((one) => one.Topic === Topic);
      return { bodies: ['one', 'two'].map((Comment) => ({ Topic, Query: 'q', Fragment: 'f', Comment, Type: 'Make Correction' })), status: 200, created: async () => (await all()).length };
    },
    '/api/docs/upload': async () => {
      await forgetLimits(cluster);
      const file = name();
      return { bodies: ['one', 'two'].map((bytes) => () => formOf({ name: 'notes.txt', bytes: `${bytes} of ${file}` })), status: 201, created: () => count('/api/docs', 'documents') };
    },
    '/api/docs/{id}/reindex': async () => {
      await forgetLimits(cluster);
      const of = async () => assertOk(await cluster.request('POST', '/api/docs/upload', { as: 'User_1', ...formOf({ name: 'notes.txt', bytes: name() }) }), 201).documentId;
      const [one, other] = [await of(), await of()];
      return { path: `/api/docs/${one}/reindex`, otherPath: `/api/docs/${other}/reindex`, bodies: [undefined, undefined], status: 202, created: () => 1 };
    },
  };

  test('is taken by every route that creates something', () => {
    const taking = allRoutes().filter(({ takesKey }) => takesKey).map(({ path }) => path);
    assert.deepEqual(taking.sort(), Object.keys(ROUTES).sort());
  });

  for (const [route, make] of Object.entries(ROUTES)) {
    test(`${route}: the same again creates nothing more and gets the same answer; another request is refused`, async () => {
      const { path = route, otherPath = path, bodies, status, created } = await make();
      const [one, other] = bodies.map((body) => (typeof body === 'function' ? body : () => body));
      const key = newNonce(), before = await created();
      const first = assertOk(await send(path, one(), key, { node: 0 }), status);
      const after = await created();
      const again = await Promise.all([0, 1, 0, 1].map((node) => send(path, one(), key, { node })));
      for (const response of again) assert.deepEqual(assertOk(response, status), first);
      assert.equal(await created(), after);
      assert.ok(after === before + 1 || route.includes('reindex'), `${before}, ${after}`);
      assertProblem(await send(otherPath, other(), key), 422, 'idempotency_mismatch');
      assert.equal(await created(), after);
      assertOk(await send(otherPath, other(), newNonce()), status);
    });

    test(`${route}: many at once create one`, async () => {
      const { path = route, bodies: [body], status, created } = await make();
      const one = typeof body === 'function' ? body : () => body;
      const key = newNonce(), before = await created();
      const answers = await Promise.all(Array.from({ length: 4 }, (_, i) => send(path, one(), key, { node: i % 2 })));
      for (const response of answers) assert.deepEqual(assertOk(response, status), answers[0].json);
      assert.ok(route.includes('reindex') || (await created()) === before + 1);
    });
  }

  test('belongs to its account, and to the user for whom a frontend acts', async () => {
    const key = newNonce();
    const ids = [];
    for (const options of [{ as: 'User_1' }, { as: 'User_2' }, { as: 'User_3' }]) ids.push(assertOk(await send('/api/rooms', { name: 'x' }, key, options), 201).id);
    assert.equal(new Set(ids).size, 3);
    assertOk(await send('/api/rooms', { name: 'x' }, key, { as: 'Frontend_1', query: { OnBehalfOf: 'ada' } }), 201);
    assertProblem(await send('/api/rooms', { name: 'x' }, key, { as: 'Frontend_1', query: { OnBehalfOf: 'eve' } }), 422, 'idempotency_mismatch');
  });

  test('is one key for all routes', async () => {
    const key = newNonce(), room = await newRoom(cluster);
    assertOk(await send(`/api/rooms/${room}/messages`, { text: 'x' }, key), 201);
    assertProblem(await send('/api/rooms', { name: 'x' }, key), 422, 'idempotency_mismatch');
    assertProblem(await send('/api/add-query', { Topic: name(), User: 'User_1', Query: 'Why?' }, key), 422, 'idempotency_mismatch');
  });

  test('is not used up by what was refused, and must be 1 to 128 bytes', async () => {
    const key = newNonce();
    assertProblem(await send('/api/rooms', { name: '' }, key), 400);
    assertOk(await send('/api/rooms', { name: 'x' }, key), 201);
    assertProblem(await send('/api/rooms', { name: 'x' }, 'k'.repeat(129)), 400);
    assertOk(await send('/api/rooms', { name: 'x' }, 'k'.repeat(128)), 201);
  });

  test('a long request is told from another one by its last byte', async () => {
    const key = newNonce(), username = await bot();
    const body = (end) => `${JSON.stringify({ bot: username, conversation: TALK })}${' '.repeat(3 << 20)}${end}`;
    const first = assertOk(await send('/api/evaluations', body(' '), key), 202);
    assert.deepEqual(assertOk(await send('/api/evaluations', body(' '), key), 202), first);
    assertProblem(await send('/api/evaluations', body('\n'), key), 422, 'idempotency_mismatch');
  });

  test('a command to the main bot is carried out once', async () => {
    const room = await newRoom(cluster), key = newNonce(), path = `/api/rooms/${room}/messages`;
    const body = { text: `@annex /register @${name()} pull` };
    const first = assertOk(await send(path, body, key), 201);
    assert.ok(first.private.caller_key);
    const again = assertOk(await send(path, body, key), 201);
    assert.deepEqual([again.id, again.private.caller_key], [first.id, undefined]);
    assert.equal((await messages(cluster, room)).length, 2);
  });

  test('what was created and deleted is not created again', async () => {
    const key = newNonce();
    const { id } = assertOk(await send('/api/rooms', { name: 'x' }, key), 201);
    assertOk(await cluster.request('DELETE', `/api/rooms/${id}`, { as: 'User_1' }));
    assert.deepEqual(assertOk(await send('/api/rooms', { name: 'x' }, key), 201), { id, name: 'x' });
    assertProblem(await cluster.request('GET', `/api/rooms/${id}/messages`, { as: 'User_1' }), 404);
  });

  test('signed requests have a nonce of their own each', async () => {
    const key = newNonce(), body = { name: 'signed' };
    const signed = () => cluster.request('POST', '/api/rooms', { as: 'User_1', signing: { nonce: newNonce() }, headers: { 'Idempotency-Key': key }, body });
    const first = assertOk(await signed(), 201);
    assert.deepEqual(assertOk(await signed(), 201), first);
  });
});
