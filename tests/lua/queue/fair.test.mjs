// SPDX-License-Identifier: MIT
//
// The fair order: who is served next, and what nobody can gain by asking in another way.
import assert from 'node:assert/strict';
import { scripts, tailOf } from '../../support/lua.mjs';

scripts('fair order', ({ test, shard }) => {
  const add = (topic, { user = 'alice', model = 'default', weight = 1 } = {}) =>
    shard.call('add', 0, topic, user, 'Frontend_1', model, weight, 100_000, tailOf({ user, model }), '', '', '');
  const claim = async (models = '*') => {
    const reply = await shard.call('claim', 0, `E|${models}`, '0');
    return reply === 'empty' ? null : reply.split('\n')[2];
  };
  const claims = async (n) => {
    const topics = [];
    for (let i = 0; i < n; i++) topics.push(await claim());
    return topics;
  };

  test('a user with a thousand topics delays the single one of another by one turn', async () => {
    for (let i = 0; i < 1000; i++) await add(`a${i}`);
    await claim();
    await add('b', { user: 'bob' });
    assert.ok((await claims(2)).includes('b'));
  });

  test('a user who asks again as soon as it was served does not starve the others', async () => {
    for (let i = 0; i < 10; i++) await add(`b${i}`, { user: 'bob' });
    await add('a0');
    const served = [];
    for (let i = 1; i <= 10; i++) {
      const topic = await claim();
      served.push(topic);
      if (topic.startsWith('a')) await add(`a${i}`);
    }
    const ofBob = served.filter((topic) => topic.startsWith('b')).length;
    assert.ok(ofBob >= 4 && ofBob <= 6, served.join(' '));
  });

  test('a user of weight 3 has three turns for one of weight 1', async () => {
    for (let i = 0; i < 20; i++) {
      await add(`a${i}`, { weight: 3 });
      await add(`b${i}`, { user: 'bob' });
    }
    const served = await claims(16);
    const ofAlice = served.filter((topic) => topic.startsWith('a')).length;
    assert.ok(ofAlice >= 11 && ofAlice <= 13, served.join(' '));
  });

  test('being away saves nothing up', async () => {
    for (let i = 0; i < 20; i++) await add(`a${i}`);
    await claims(10);
    for (let i = 0; i < 10; i++) await add(`b${i}`, { user: 'bob' });
    const served = await claims(8);
    assert.ok(served.filter((topic) => topic.startsWith('b')).length <= 5, served.join(' '));
  });

  test('topics of one user are served by age', async () => {
    for (const topic of ['x', 'm', 'a']) await add(topic);
    assert.deepEqual(await claims(4), ['x', 'm', 'a', null]);
  });

  test('what comes back is served next, before older topics of others', async () => {
    for (let i = 0; i < 3; i++) await add(`b${i}`, { user: 'bob' });
    await add('a');
    while ((await claim()) !== 'a');
    const lease = (await shard.get('t:a'))['s:1'].split(' ')[1];
    await add('c', { user: 'carol' });
    assert.equal(await shard.call('give_back', 'a', lease), 'ok');
    assert.equal(await claim(), 'a');
  });

  test('a topic that comes back while newer questions of it wait is as old as its oldest', async () => {
    await add('t');
    await claim();
    const lease = (await shard.get('t:t'))['s:1'].split(' ')[1];
    await add('u');
    await add('t');
    await shard.call('give_back', 't', lease);
    assert.deepEqual(await claims(3), ['t', 'u', null]);
  });

  test('an engine of one model leaves the others in their places', async () => {
    await add('x', { model: 'big' });
    await add('y', { model: 'small' });
    await add('z');
    assert.deepEqual([await claim('small'), await claim('small')].sort(), ['y', 'z'], 'default goes to all');
    assert.equal(await claim('small'), null);
    assert.equal(await claim('other,big'), 'x');
  });

  test('an empty queue keeps nothing of the order but the virtual time', async () => {
    for (const user of ['alice', 'bob', 'carol']) await add(`t-${user}`, { user });
    await claims(4);
    const names = await shard.names();
    assert.deepEqual(names.filter((name) => /^(open|turns|models|served|waiting)/.test(name)), []);
    assert.equal((await shard.get('meta')).depth, '0');
  });

  // As the lines of batches are queued (lua/queue/behind.lua).
  const addLine = (topic, { user = 'alice', weight = 1, max = 256, model = 'default' } = {}) =>
    shard.call('add', 0, topic, `${user}+`, 'Frontend_1', model, weight, max, tailOf({ user, model }), '', '', '');

  test('a line of a batch waits until nobody else does, of whichever user and however late', async () => {
    for (let i = 0; i < 5; i++) await addLine(`l${i}`);
    assert.equal(await claim(), 'l0');
    for (let i = 0; i < 3; i++) await add(`b${i}`, { user: 'bob' });
    await add('a');
    assert.deepEqual((await claims(4)).sort(), ['a', 'b0', 'b1', 'b2']);
    assert.equal(await claim(), 'l1');
    await add('c', { user: 'carol' });
    assert.deepEqual(await claims(5), ['c', 'l2', 'l3', 'l4', null]);
  });

  test('a line that comes back is the next one of the lines, after all questions', async () => {
    await addLine('l0');
    await addLine('m0', { user: 'bob' });
    assert.equal(await claim(), 'l0');
    const lease = (await shard.get('t:l0'))['s:1'].split(' ')[1];
    await add('a');
    assert.equal(await shard.call('give_back', 'l0', lease), 'ok');
    assert.deepEqual(await claims(4), ['a', 'l0', 'm0', null]);
  });

  test('lines of two users take turns, by their weights, and cost neither of them a turn of its questions', async () => {
    for (let i = 0; i < 40; i++) {
      await addLine(`l${i}`, { weight: 3 });
      await addLine(`m${i}`, { user: 'bob' });
    }
    const served = await claims(16);
    const ofAlice = served.filter((topic) => topic.startsWith('l')).length;
    assert.ok(ofAlice >= 11 && ofAlice <= 13, served.join(' '));
    await add('c', { user: 'carol' });
    await add('a');
    assert.deepEqual((await claims(2)).sort(), ['a', 'c']);
  });

  test('lines wait outside of the limit of waiting questions, within one of their own', async () => {
    for (let i = 0; i < 3; i++) assert.match(await addLine(`l${i}`, { max: 3 }), /^ok/);
    assert.match(await addLine('l3', { max: 3 }), /^waiting/);
    assert.match(await shard.call('add', 0, 'a', 'alice', 'Frontend_1', 'default', 1, 1, tailOf({ user: 'alice', model: 'default' }), '', '', ''), /^ok/);
  });

  test('a question for another model of the same engine comes before a line', async () => {
    await addLine('l', { model: 'big' });
    await add('a', { model: 'small' });
    assert.deepEqual([await claim('big,small'), await claim('big,small')], ['a', 'l']);
  });
});
