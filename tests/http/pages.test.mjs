// SPDX-License-Identifier: MIT
//
// `limit` and `after`: long lists come in pages.
import assert from 'node:assert/strict';
import { holdScripts, metric, verbCalls } from '../cluster/watch.mjs';
import { assertOk, assertProblem, eventually, newNonce, newTopic, suite } from '../support/harness.mjs';
import { keyOf, prefixOfShard, SHARDS, topicOn } from '../support/shards.mjs';

const MIB = 1 << 20;

suite('pages', {}, ({ test, cluster }) => {
  const get = (path, query, options = {}) => cluster.request('GET', path, { as: 'Frontend_1', query, ...options });
  const newUser = () => `user-${newNonce()}`;

  // A topic of rows that were cancelled, written as nodes write them: add and cancel is unlimited.
  async function seedThread(sizes, User = 'alice') {
    const Topic = newTopic();
    for (const [i, size] of sizes.entries()) {
      const row = [1000 + i, `Frontend_1 ${User} default 1`, JSON.stringify(User), '"default"', '{}', '', JSON.stringify(`${i}${'x'.repeat(size)}`)];
      await cluster.redis.cmd('HSET', keyOf(Topic, `t:${Topic}`), `q:${i + 1}`, row.join('\n'), `s:${i + 1}`, 'C "no"', 'seq', i + 1, `u:${User}`, 1);
    }
    await cluster.redis.cmd('ZADD', keyOf(Topic, `topics:${User}`), 1000, Topic);
    return Topic;
  }

  const nextOf = (response) => {
    const link = response.headers.link;
    if (link === undefined) return undefined;
    const [, url] = /^<([^>]+)>; rel="next"$/.exec(link);
    return url;
  };

  // All items by following Link, from `path` on; and how many answers it took.
  async function follow(path, query, items) {
    const all = [];
    let answers = 0;
    for (let url; answers === 0 || url; answers++) {
      const response = answers === 0 ? await get(path, query) : await cluster.request('GET', url, { as: 'Frontend_1', node: answers % 2 });
      all.push(...items(assertOk(response)));
      url = nextOf(response);
    }
    return { all, answers };
  }

  test('a thread of 75 MB never holds Redis for long, is valid JSON, and continues with Link', async () => {
    const Topic = await seedThread(Array(250).fill(300_000));
    await cluster.redis.cmd('CONFIG', 'RESETSTAT');
    const first = await get('/api/get-topic-thread', { Topic });
    assert.ok(first.text.length > 16 * MIB && first.text.length < 20 * MIB, `${first.text.length} bytes`);
    const { cmdstat_fcall } = await cluster.redis.info('commandstats');
    assert.ok(Number(/calls=(\d+)/.exec(cmdstat_fcall)[1]) > 16, 'it came in pages');
    const { all, answers } = await follow('/api/get-topic-thread', { Topic, Detail: 'true' }, (rows) => rows);
    assert.deepEqual(all.map(({ Seq }) => Seq), Array.from({ length: 250 }, (_, i) => i + 1));
    assert.ok(all.every(({ Status }) => Status === 'Cancelled'));
    assert.equal(answers, 5);
  });

  test('what fits into one page costs one script', async () => {
    const Topic = await seedThread(Array(20).fill(1000));
    const calls = async () => (await verbCalls(cluster, 0, 'thread')) + (await verbCalls(cluster, 1, 'thread'));
    const before = await calls();
    const response = await get('/api/get-topic-thread', { Topic });
    assert.equal(assertOk(response).length, 20);
    assert.equal(response.headers.link, undefined);
    assert.equal((await calls()) - before, 1);
  });

  test('limit and after walk a thread from either node', async () => {
    const Topic = await seedThread(Array(7).fill(10));
    const { all, answers } = await follow('/api/get-topic-thread', { Topic, limit: 3 }, (rows) => rows);
    assert.deepEqual(all.map(({ Seq }) => Seq), [1, 2, 3, 4, 5, 6, 7]);
    assert.equal(answers, 3);
    const rest = await get('/api/get-topic-thread', { Topic, after: 5 });
    assert.deepEqual(assertOk(rest).map(({ Seq }) => Seq), [6, 7]);
    assert.equal(rest.headers.link, undefined);
    assert.deepEqual(assertOk(await get('/api/get-topic-thread', { Topic, after: 7 })), []);
    for (const query of [{ limit: 0 }, { limit: 'x' }, { after: 'x' }, { after: '-1' }, { after: '9'.repeat(40) }])
      assertProblem(await get('/api/get-topic-thread', { Topic, ...query }), 400, 'bad_request');
  });

  test('a Link names neither the nonce nor the hash of its request', async () => {
    const Topic = await seedThread([1, 1]);
    const url = nextOf(await get('/api/get-topic-thread', { Topic, limit: 1 }));
    const query = new URL(url, 'http://x').searchParams;
    assert.deepEqual([...query.keys()].sort(), ['Topic', 'after', 'limit']);
    assert.equal(query.get('Topic'), Topic);
  });

  test('a topic that is deleted between two pages ends with 404', async () => {
    const Topic = await seedThread(Array(250).fill(300_000));
    const reading = cluster.open('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic } });
    await reading.sent;
    await cluster.redis.cmd('DEL', keyOf(Topic, `t:${Topic}`));
    const { status } = await reading.response;
    assert.ok(status === 404 || status === 200, `status ${status}`); // it may have been read by then
  });

  test('a client that leaves between two pages ends the fetching', async () => {
    const Topic = await seedThread(Array(250).fill(300_000));
    const reading = cluster.open('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic } });
    await reading.sent;
    reading.abort();
    assertOk(await get('/api/get-topic-thread', { Topic, limit: 1 }));
  });

  test('a topic of 60,000 rows is deleted in one request, some rows a script', async () => {
    const User = newUser();
    const { Topic } = await cluster.add({ User });
    for (let i = 0; i < 60_000; i += 2000) {
      const fields = Array.from({ length: 2000 }, (_, k) => [`q:${2 + i + k}`, `1\nF ${User} default 1\n"a"\n"default"\n{}\n\n"q"`, `s:${2 + i + k}`, 'C "no"']).flat();
      await cluster.redis.cmd('HSET', keyOf(Topic, `t:${Topic}`), 'seq', 2001 + i, ...fields);
    }
    await cluster.redis.cmd('CONFIG', 'RESETSTAT');
    assertOk(await cluster.request('DELETE', '/api/topic', { as: 'Frontend_1', query: { OnBehalfOf: User, Topic } }));
    const { cmdstat_fcall } = await cluster.redis.info('commandstats');
    assert.ok(Number(/calls=(\d+)/.exec(cmdstat_fcall)[1]) >= 8, cmdstat_fcall);
    assert.equal(await cluster.redis.cmd('EXISTS', keyOf(Topic, `t:${Topic}`)), 0);
    assertProblem(await get('/api/user-topics', { OnBehalfOf: User }), 404);
    assert.equal((await cluster.claim()).Topic, null);
  });

  test("a user's topics are cut to 200 characters, whole with Detail, and valid JSON however many", async () => {
    const User = newUser();
    const names = [];
    for (let i = 0; i < 120; i++) {
      const Topic = newTopic();
      const Query = `${i} ${'😀"é'.repeat(20_000)}`;
      assertOk(await cluster.addRaw({ User, Topic, Query, as: i < 100 ? 'Frontend_1' : 'Frontend_heavy' }));
      names.push([Topic, Query]);
    }
    const cut = assertOk(await get('/api/user-topics', { OnBehalfOf: User }));
    assert.deepEqual(Object.keys(cut), names.map(([topic]) => topic));
    for (const [topic, query] of names) assert.equal(cut[topic], [...query].slice(0, 200).join(''));
    const { all } = await follow('/api/user-topics', { OnBehalfOf: User, Detail: 'true' }, Object.entries);
    assert.deepEqual(all, names);
    const paged = await follow('/api/user-topics', { OnBehalfOf: User, limit: 50 }, Object.entries);
    assert.deepEqual([paged.all.length, paged.answers], [120, 3]);
    assert.deepEqual(Object.fromEntries(paged.all), cut);
  });

  test('a user whose topics are read past the last one gets an empty object', async () => {
    const User = newUser();
    const { Topic } = await cluster.add({ User });
    assert.deepEqual(assertOk(await get('/api/user-topics', { OnBehalfOf: User, after: `9999999999999999.${Topic}` })), {});
    assertProblem(await get('/api/user-topics', { OnBehalfOf: User, after: 'x' }), 400);
  });

  test('130 recommendations of 320 KB are read by engines to the last one', async () => {
    const { Topic } = await cluster.add();
    for (let i = 0; i < 130; i++) {
      const body = { Topic, OnBehalfOf: 'alice', Type: 'Make Correction', Query: 'x'.repeat(250_000), Fragment: 'y'.repeat(60_000), Comment: `${i}` };
      assertOk(await cluster.request('POST', '/api/recommend', { as: 'Frontend_1', body }));
    }
    const seen = [];
    for (let After, pages = 0; pages < 200; pages++) {
      const { Recommendations, Next } = assertOk(await cluster.request('GET', '/api/get-recommendations', { as: 'Inference_1', query: { After } }));
      if (!Recommendations.length) break;
      seen.push(...Recommendations.map(({ Comment }) => Comment));
      After = Next;
    }
    assert.deepEqual(seen, Array.from({ length: 130 }, (_, i) => `${i}`));
  });

  test('lookups whose matches do not fit into one answer continue with Link, within a query too', async () => {
    const Topic = await seedThread([10, 10, 10]);
    const matches = JSON.stringify(['m'.repeat(400_000)]);
    await cluster.redis.cmd('HSET', keyOf(Topic, `t:${Topic}`), 'lookups', 1); // the number of its needs, of several shards
    for (let i = 0; i < 60; i++) {
      await cluster.redis.cmd('HSET', `${prefixOfShard(0)}lookup:f${i}`, 'fragment', JSON.stringify(`f${i}`), 'count', 5, 'threshold', 1, 'refs', 1, 'matches', i % 10 ? matches : '[]');
      await cluster.redis.cmd('HSET', keyOf(Topic, `lookups:${Topic}`), `2 f${i.toString(16)}`, i);
      await cluster.redis.cmd('RENAME', `${prefixOfShard(0)}lookup:f${i}`, `${prefixOfShard(0)}lookup:f${i.toString(16)}`);
      if (SHARDS > 1) await cluster.redis.cmd('SADD', `${prefixOfShard(0)}needs:f${i.toString(16)}`, `${Topic}:1`);
    }
    const { all, answers } = await follow('/api/get-lookups', { Topic }, ({ Lookups }) => Lookups);
    assert.equal(answers, 2);
    const fragments = all.flatMap(({ Fragments }) => Fragments.flatMap(Object.keys));
    assert.deepEqual(fragments, Array.from({ length: 60 }, (_, i) => `f${i}`));
    assert.deepEqual(all.map(({ Query }) => Query[0]), ['0', '1', '1', '2']);
  });

  test('lookups after a place in no query are refused, and fail no turn', async () => {
    const Topic = await seedThread([10, 10]);
    for (const after of ['0.5', '0.0', '00.1']) assertProblem(await get('/api/get-lookups', { Topic, after }), 400, 'bad_request');
    for (const after of ['0', '1.0', '2.1', '2.18446744073709551615', '7.1']) assertOk(await get('/api/get-lookups', { Topic, after }));
  });

  test('the operators\' list moves on over queries of any size', async () => {
    const topics = [];
    // An order among topics is one of their shard.
    for (let i = 0; i < 12; i++) topics.push((await cluster.add({ Topic: topicOn(SHARDS - 1), Query: 'x'.repeat(250_000) })).Topic);
    const seen = [];
    for (let After = 0, pages = 0; After !== null && pages < 20; pages++) {
      const { Queries, Next } = assertOk(await cluster.request('GET', '/api/queue', { as: 'Operator_1', query: { State: 'Open', After } }));
      seen.push(...Queries.map(({ Topic }) => Topic));
      After = Next;
    }
    assert.deepEqual(seen, topics);
  });

  // Of a user with many topics, each with one question of so many letters, on one shard.
  async function seedTopics(User, n, letters) {
    const names = Array.from({ length: n }, () => topicOn(0));
    const row = [1000, `Frontend_1 ${User} default 1`, JSON.stringify(User), '"default"', '{}', '', JSON.stringify('x'.repeat(letters))].join('\n');
    await Promise.all(names.map((Topic) => cluster.redis.cmd('HSET', keyOf(Topic, `t:${Topic}`), 'q:1', row, 's:1', 'C "no"', 'seq', 1, `u:${User}`, 1)));
    await cluster.redis.cmd('ZADD', keyOf(names[0], `topics:${User}`), ...names.flatMap((Topic, i) => [i + 1, Topic]));
  }

  // One account sends many requests, then another one sends its own, while Redis keeps the first call waiting. How many of
  // the many are answered before it?
  async function answeredBefore(many, path, query, other, as = 'User_1') {
    let answered = 0;
    const count = (response) => {
      assertOk(response);
      answered += 1;
    };
    const node = await cluster.startNode(); // to which nobody is connected
    const open = () => metric(cluster, node, 'parley_connections_open');
    const held = await holdScripts(cluster.redis);
    const all = Array.from({ length: many }, () => get(path, query, { node }).then(count));
    await eventually(async () => (await open()) > many, { what: 'all are there' });
    const last = cluster.request('GET', path, { as, query: other, node }).then((response) => [response, answered]);
    await eventually(async () => (await open()) > many + 1, { what: 'the last one is there' });
    for (let i = 0; i < 5; i++) await open();
    await held.release();
    const [response, before] = await last;
    assertOk(response);
    await Promise.all(all);
    await node.stop();
    cluster.nodes.splice(cluster.nodes.indexOf(node), 1);
    return before;
  }

  test('many long lists of one account do not keep another one waiting for all of them', async () => {
    const User = newUser();
    await seedTopics(User, 1000, 10);
    await seedTopics('User_1', 1, 10);
    const before = await answeredBefore(100, '/api/user-topics', { OnBehalfOf: User }, {});
    assert.ok(before < 60, `${before} of 100 were answered before the other account's`);
  });

  test('many long lists of one user do not keep another user of the account waiting for all of them', async () => {
    const [User, other] = [newUser(), newUser()];
    await seedTopics(User, 1000, 10);
    await seedTopics(other, 1, 10);
    const before = await answeredBefore(100, '/api/user-topics', { OnBehalfOf: User }, { OnBehalfOf: other }, 'Frontend_1');
    assert.ok(before < 60, `${before} of 100 were answered before the other user's`);
  });

  test('many searches of one account do not keep another one waiting for all of them', async () => {
    const User = newUser();
    await seedTopics(User, 10, 200_000);
    await seedTopics('User_1', 1, 10);
    const before = await answeredBefore(40, '/api/find-topics', { OnBehalfOf: User, Text: 'needle' }, { Text: 'needle' });
    assert.ok(before < 27, `${before} of 40 were answered before the other account's`);
  });
});
