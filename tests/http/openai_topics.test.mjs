// SPDX-License-Identifier: MIT
//
// Requests of /v1 that a topic keeps: by X-Parley-Topic, `metadata.topic` and `store`.
import assert from 'node:assert/strict';
import { ACCOUNTS, assertOk, assertOpenaiError, assertProblem, eventually, newTopic, suite } from '../support/harness.mjs';
import { ask, assertChunks, deltaOf, engineOf, openChat } from '../support/openai.mjs';

const BODY = { model: 'llama3', messages: [{ role: 'user', content: 'What is kept?' }] };
const of = (person) => ({ as: 'Frontend_1', headers: { 'x-parley-user': person } });

suite('requests that a topic keeps', {}, ({ test, cluster }) => {
  const chat = async (body, options, text = 'All of it.') => {
    const engine = await engineOf(cluster);
    const response = ask(cluster, 'POST', '/v1/chat/completions', { ...options, body: { ...BODY, ...body } });
    await engine.take(engine.parked);
    assertOk(await engine.answer([deltaOf({ content: text }, { finish_reason: 'stop' })], { Answer: [text], FinishReason: 'stop' }));
    return { engine, answer: assertOk(await response) };
  };
  const within = (topic, person) => ({ ...of(person), headers: { 'x-parley-user': person, 'x-parley-topic': topic } });
  const topicsOf = async (person) => (await cluster.request('GET', '/api/user-topics', { as: 'Frontend_1', query: { OnBehalfOf: person } })).json;
  const thread = async (Topic, options = {}) => cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic }, ...options });

  test('by the header and by metadata it is the next question of the topic, beside others, on every route', async () => {
    const topic = newTopic();
    await chat({}, within(topic, 'ann'), 'First.');
    await chat({ metadata: { topic } }, of('ann'), 'Second.');
    assert.equal((await cluster.add({ Topic: topic, User: 'ann', Query: 'And by the other route?' })).Seq, 3);
    const rows = assertOk(await thread(topic));
    assert.deepEqual(rows.slice(0, 2), [
      { Query: 'What is kept?', Topic: topic, Seq: 1, Answer: ['First.'], Think: null },
      { Query: 'What is kept?', Topic: topic, Seq: 2, Answer: ['Second.'], Think: null },
    ]);
    assert.equal((await topicsOf('ann'))[topic], 'What is kept?');
    assert.deepEqual(assertOk(await cluster.checkRaw({ Topic: topic, Seq: 2 })).Answer, ['Second.']);
    assert.equal(assertOk(await cluster.request('GET', '/api/find-topics', { as: 'Frontend_1', query: { OnBehalfOf: 'ann', Text: 'Second' } })).Topics?.length ?? 1, 1);
    assertOk(await cluster.request('DELETE', '/api/topic', { as: 'Frontend_1', query: { OnBehalfOf: 'ann', Topic: topic } }));
    assertProblem(await thread(topic), 404, 'not_found');
  });

  test('with store it has a topic of its own', async () => {
    const { answer } = await chat({ store: true }, of('bea'));
    const topics = await topicsOf('bea'), [topic] = Object.keys(topics);
    assert.deepEqual(topics, { [topic]: 'What is kept?' });
    assert.ok(answer.id.startsWith(topic));
    assert.deepEqual(assertOk(await thread(topic))[0].Answer, ['All of it.']);
  });

  test('without them, and with store false, nothing is kept', async () => {
    for (const body of [{}, { store: false }, { store: null }, { metadata: { other: 'x' } }]) await chat(body, of('cid'));
    assert.equal((await cluster.request('GET', '/api/user-topics', { as: 'Frontend_1', query: { OnBehalfOf: 'cid' } })).status, 404);
  });

  test('a stream, and one whose engine refuses it', async () => {
    const topic = newTopic();
    const engine = await engineOf(cluster);
    const stream = await openChat(cluster, BODY, within(topic, 'dan'));
    await engine.take(engine.parked);
    assert.equal(engine.of.Topic, topic);
    assertOk(await engine.give(deltaOf({ content: 'Piece by ' })));
    assertOk(await engine.answer([deltaOf({ content: 'piece.' }, { finish_reason: 'stop' })], { Answer: ['Piece by piece.'] }));
    assertChunks(await stream.whole());
    const second = await engineOf(cluster);
    const refused = ask(cluster, 'POST', '/v1/chat/completions', { ...within(topic, 'dan'), body: BODY });
    await second.take(second.parked);
    assertOk(await second.refuse({ status: 400, message: 'Too long.' }));
    assertOpenaiError(await refused, 400);
    const rows = assertOk(await thread(topic, { query: { Topic: topic, Detail: 'true' } }));
    assert.deepEqual(rows.map(({ Status, Answer }) => [Status, Answer]), [['Done', ['Piece by piece.']], ['Failed', null]]);
  });

  test('a client that hangs up cancels it, and it stays; one that comes again takes it over', async () => {
    const topic = newTopic();
    const engine = await engineOf(cluster);
    const stream = await openChat(cluster, BODY, within(topic, 'eve'));
    await engine.take(engine.parked);
    stream.abort();
    await eventually(async () => (await cluster.checkRaw({ Topic: topic, Seq: 1, detail: true })).json.Status === 'Cancelled', { what: 'it is cancelled' });
    const second = await engineOf(cluster);
    const again = await openChat(cluster, BODY, { ...within(topic, 'eve'), node: 0 });
    await second.take(second.parked);
    assertOk(await second.give(deltaOf({ content: 'Once' })));
    await again.until(({ chunks }) => chunks.length > 0, 'the first piece');
    again.abort();
    let third;
    await eventually(async () => {
      third?.abort();
      third = await openChat(cluster, BODY, { ...within(topic, 'eve'), node: 1 });
      await third.head();
      return third.headers['x-parley-attached'] === '1';
    }, { what: 'it is attached', every: 100 });
    assertOk(await second.answer([deltaOf({ content: ' only.' }, { finish_reason: 'stop' })], { Answer: ['Once only.'] }));
    assertChunks(await third.whole());
    assert.deepEqual(assertOk(await cluster.checkRaw({ Topic: topic, Seq: 2 })).Answer, ['Once only.']);
  });

  test('a topic of another user is missing for an account of role user, and a name that is none is refused', async () => {
    const topic = newTopic();
    await chat({}, within(topic, 'fay'));
    const before = assertOk(await thread(topic)).length;
    assertOpenaiError(await ask(cluster, 'POST', '/v1/chat/completions', { body: BODY, headers: { 'x-parley-topic': topic } }), 404);
    for (const name of ['a b', 'x'.repeat(129), '']) {
      assert.match(assertOpenaiError(await ask(cluster, 'POST', '/v1/chat/completions', { ...of('fay'), body: { ...BODY, metadata: { topic: name } } }), 400).message, /metadata\.topic/);
      if (name) assert.match(assertOpenaiError(await ask(cluster, 'POST', '/v1/chat/completions', { ...within(name, 'fay'), body: BODY }), 400).message, /X-Parley-Topic/);
    }
    assertOpenaiError(await ask(cluster, 'POST', '/v1/chat/completions', { ...of('fay'), body: { ...BODY, store: 'yes' } }), 400);
    assert.equal(assertOk(await thread(topic)).length, before);
  });
});

suite('what requests may take', { accounts: { ...ACCOUNTS, Frontend_1: { ...ACCOUNTS.Frontend_1, max_stored: 1 << 20, max_stored_per_user: 1 << 17 } } }, ({ test, cluster }) => {
  test('what is kept is counted with its request, and a full account gets insufficient_quota', async () => {
    const options = { as: 'Frontend_1', headers: { 'x-parley-user': 'gil', 'x-parley-topic': newTopic() } };
    const engine = await engineOf(cluster);
    const send = (filler) => ask(cluster, 'POST', '/v1/chat/completions', { ...options, body: { ...BODY, filler: 'x'.repeat(filler) } });
    assertOpenaiError(await send(1 << 20), 429, 'too_much_stored');
    const response = send(10);
    await engine.take(engine.parked);
    assertOk(await engine.answer([deltaOf({ content: 'ok' }, { finish_reason: 'stop' })]));
    assertOk(await response);
  });
});
