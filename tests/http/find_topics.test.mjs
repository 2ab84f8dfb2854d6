// SPDX-License-Identifier: MIT
//
// find-topics: a user finds its topics by a text in questions, answers and names.
import assert from 'node:assert/strict';
import { holdScripts } from '../cluster/watch.mjs';
import { assertOk, assertProblem, newNonce, newTopic, SLOW_RESCUE, suite } from '../support/harness.mjs';

suite('find-topics', { args: SLOW_RESCUE }, ({ test, cluster }) => {
  const newUser = () => `user-${newNonce()}`;
  const find = (OnBehalfOf, Text, { query = {}, ...options } = {}) =>
    cluster.request('GET', '/api/find-topics', { as: 'Frontend_1', query: { OnBehalfOf, Text, ...query }, ...options });
  const found = async (...args) => assertOk(await find(...args)).Topics;
  const answered = async ({ User, Query, Answer }) => {
    const added = await cluster.add({ User, Query });
    await cluster.claim();
    await cluster.answer({ ...added, Query, Answer, Think: ['hm'] });
    return added;
  };

  test('find-topics finds a text in questions, answers and names, in whatever case and escape it was sent', async () => {
    const User = newUser();
    const asked = await answered({ User, Query: 'Where is the LightHouse?', Answer: ['on the island Ærø'] });
    const escaped = await cluster.add({ User, Query: 'x' });
    const Topic = newTopic();
    const path = cluster.path('/api/add-query', { as: 'Frontend_1' });
    assertOk(await cluster.request('POST', path, { body: `{"Topic":"${Topic}","User":"${User}","Query":"caf\\u00c9 \\ud83d\\ude00 a\\nb"}` }));
    assertOk(await cluster.request('PUT', '/api/rename-topic', { as: 'Frontend_1', query: { OnBehalfOf: User, Topic: escaped.Topic, Description: 'Holidays 2025' } }));
    const topicsOf = async (text) => (await found(User, text)).map((one) => one.Topic);
    assert.deepEqual(await found(User, 'lighthouse'), [{ Topic: asked.Topic, Name: 'Where is the LightHouse?', Seq: 1, Query: 'Where is the LightHouse?' }]);
    assert.deepEqual(await topicsOf('island Ærø'), [asked.Topic]);
    assert.deepEqual(await found(User, 'holidays'), [{ Topic: escaped.Topic, Name: 'Holidays 2025', Seq: null, Query: null }]);
    for (const text of ['cafÉ', '😀', 'a\nb']) assert.deepEqual(await topicsOf(text), [Topic], text);
    for (const text of ['nb', '%', '.*', '[', 'hm', 'nowhere', '"']) assert.deepEqual(await topicsOf(text), [], text);
    assert.deepEqual(await found(newUser(), 'lighthouse'), []);
    for (const bad of [undefined, '', 'x'.repeat(257)]) assertProblem(await find(User, bad), 400);
    for (const limit of ['0', '101', 'x']) assertProblem(await find(User, 'x', { query: { limit } }), 400);
    for (const after of ['x', '9.', '0.x.1.t', '0.0.1.t', '0.1.1.', '-1.', '0.1.1'.padEnd(700, '1')]) assertProblem(await find(User, 'x', { query: { after } }), 400);
  });

  test('find-topics in pages: each topic once', async () => {
    const User = newUser();
    const names = [];
    for (let i = 0; i < 25; i++) names.push((await cluster.add({ User, Query: i % 2 ? 'odd one' : 'even one' })).Topic);
    const seen = [];
    let query = { limit: '3' };
    for (let pages = 0; query && pages < 50; pages++) {
      const response = await find(User, 'odd', { query });
      seen.push(...assertOk(response).Topics.map(({ Topic }) => Topic));
      const after = /[?&]after=([^&>]+)>/.exec(response.headers.link ?? '');
      query = after && { limit: '3', after: decodeURIComponent(after[1]) };
    }
    assert.deepEqual(seen.sort(), names.filter((_, i) => i % 2).sort());
  });

  test('find-topics reads on over many pages, also within a topic, and names each topic once', async () => {
    const User = newUser();
    const Topic = newTopic();
    const long = 'x'.repeat(250_000);
    for (let i = 0; i < 12; i++) await cluster.add({ User, Topic, Query: `${long} ${i < 4 ? 'hay' : 'needle'}` });
    const other = await cluster.add({ User, Query: `needle ${long}` });
    const first = { Topic, Name: 'x'.repeat(200), Seq: 5, Query: 'x'.repeat(200) };
    const second = { Topic: other.Topic, Name: `needle ${'x'.repeat(193)}`, Seq: 1, Query: `needle ${'x'.repeat(193)}` };
    const byName = (x, y) => (x.Topic < y.Topic ? -1 : 1);
    assert.deepEqual((await found(User, 'NEEDLE')).sort(byName), [first, second].sort(byName));
    const seen = [];
    for (let query = { limit: '1' }; query; ) {
      const response = await find(User, 'needle', { query });
      seen.push(...assertOk(response).Topics);
      const after = /[?&]after=([^&>]+)>/.exec(response.headers.link ?? '');
      query = after && { limit: '1', after: decodeURIComponent(after[1]) };
    }
    assert.deepEqual(seen.sort(byName), [first, second].sort(byName));
    assert.deepEqual(await found(User, 'xy'.repeat(100)), []);
  });

  test('clients that leave while their searches wait or run leave their places to others', async () => {
    const User = newUser();
    for (let i = 0; i < 8; i++) await cluster.add({ User, Query: 'x'.repeat(250_000) });
    const open = async () => {
      const socket = await cluster.socket({ node: 0 });
      const path = cluster.path('/api/find-topics', { as: 'Frontend_1', query: { OnBehalfOf: User, Text: 'nothing' } });
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
      return socket;
    };
    const held = await holdScripts(cluster.redis);
    const sockets = await Promise.all(Array.from({ length: 6 }, open));
    await held.blocked();
    for (const [i, socket] of sockets.entries()) socket[['abort', 'reset', 'end'][i % 3]]();
    await held.release();
    const all = Array.from({ length: 6 }, async () => found(User, 'nothing', { node: 0 }));
    assert.deepEqual(await Promise.all(all), Array(6).fill([]));
  });
});
