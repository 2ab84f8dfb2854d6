// SPDX-License-Identifier: MIT
//
// `namespace`: users and topics of accounts with different namespaces never meet. Accounts
// without one share a namespace. The same names are used on both sides all along.
import assert from 'node:assert/strict';
import { upload } from '../support/documents.mjs';
import { ACCOUNTS, assertOk, assertProblem, newTopic, suite } from '../support/harness.mjs';

const accounts = {
  ...ACCOUNTS,
  Acme: { secret: 'of acme', role: 'frontend', namespace: 'acme' },
  Acme_too: { secret: 'of acme too', role: 'frontend', namespace: 'acme' },
  Globex: { secret: 'of globex', role: 'frontend', namespace: 'globex' },
  Longest: { secret: 'of the longest', role: 'frontend', namespace: 'n'.repeat(32) },
  bob: { secret: 'of bob', role: 'user', namespace: 'acme' },
};
const SIDES = ['Frontend_1', 'Acme', 'Globex'];

suite('namespaces', { accounts }, ({ test, cluster }) => {
  const ask = (method, path, as, options) => cluster.request(method, path, { as, ...options });
  const add = async (as, Topic, Query, User = 'bob') =>
    assertOk(await ask('POST', '/api/add-query', as, { body: { Topic, User, Query } }));
  const thread = (as, Topic) => ask('GET', '/api/get-topic-thread', as, { query: { Topic } });
  const topics = (as, OnBehalfOf = 'bob') => ask('GET', '/api/user-topics', as, { query: { OnBehalfOf } });

  test('a topic of one namespace does not exist in another, under the same user and name', async () => {
    const Topic = newTopic('inbox');
    assert.equal((await add('Acme', Topic, 'of acme')).Topic, Topic);
    assertProblem(await thread('Frontend_1', Topic), 404);
    assertProblem(await thread('Globex', Topic), 404);
    assertProblem(await topics('Globex', `only-acme-${Topic}`), 404);
    for (const as of ['Acme', 'Acme_too', 'bob']) {
      const [row] = assertOk(await thread(as, Topic));
      assert.equal(row.Topic, Topic, as);
      assert.equal(row.Query, 'of acme', as);
    }
    assert.equal((await add('Frontend_1', Topic, 'of all')).Seq, 1, 'another topic, its own count');
    assert.equal((await add('Globex', Topic, 'of globex')).Seq, 1);
    assert.equal((await add('Acme_too', Topic, 'again')).Seq, 2);
  });

  test('a user lists, renames and deletes the topics of its own namespace only', async () => {
    const Topic = newTopic('list');
    const User = `user-${Topic}`;
    for (const as of SIDES) await add(as, Topic, `of ${as}`, User);
    assertOk(await ask('PUT', '/api/rename-topic', 'Acme', { query: { OnBehalfOf: User, Topic, Description: 'ours' } }));
    assert.deepEqual(assertOk(await topics('Acme', User)), { [Topic]: 'ours' });
    assert.deepEqual(assertOk(await topics('Globex', User)), { [Topic]: 'of Globex' });
    assertOk(await ask('DELETE', '/api/topic', 'Acme', { query: { OnBehalfOf: User, Topic } }));
    assertProblem(await thread('Acme', Topic), 404);
    assertProblem(await ask('DELETE', '/api/topic', 'Acme', { query: { OnBehalfOf: User, Topic } }), 403);
    for (const as of ['Frontend_1', 'Globex']) assert.equal(assertOk(await thread(as, Topic))[0].Query, `of ${as}`);
  });

  test('no route of a user finds what is in another namespace', async () => {
    const Topic = newTopic('only');
    await add('Acme', Topic, 'of acme, and of nobody else');
    for (const as of ['Frontend_1', 'Globex', 'User_1']) {
      for (const name of [Topic, `acme~${Topic}`, `acme%7E${Topic}`, `Acme~${Topic}`]) {
        const tries = [
          ['GET', '/api/check-query', { query: { Topic: name, Seq: 1, Wait: 0 } }],
          ['GET', '/api/get-topic-thread', { query: { Topic: name } }],
          ['GET', '/api/get-lookups', { query: { Topic: name } }],
          ['POST', '/api/cancel-query', { body: { Topic: name, Seq: 1 } }],
          ['POST', '/api/add-lookup', { body: { Topic: name, Seq: 1, Fragment: 'x' } }],
          ['POST', '/api/recommend', { body: { Topic: name, OnBehalfOf: as === 'User_1' ? as : 'bob', Query: 'q', Fragment: 'f', Type: 'Promote Answer' } }],
        ];
        for (const [method, path, options] of tries) {
          const response = await ask(method, path, as, options);
          assert.ok([400, 404].includes(response.status), `${as} ${path} ${name}: ${response.status}`);
          assert.doesNotMatch(response.text, /nobody else/);
        }
      }
    }
  });

  test('a topic that would look like one of a namespace is refused, with the reason', async () => {
    const problem = assertProblem(await ask('POST', '/api/add-query', 'Frontend_1', { body: { Topic: 'acme~inbox', User: 'bob', Query: 'mine?' } }), 400);
    assert.match(problem.detail, /'acme~'/);
    const Topic = newTopic('a~b');
    assert.equal((await add('Frontend_1', Topic, 'no namespace of that name')).Topic, Topic);
    assert.equal((await add('Acme', Topic, 'the mark within')).Topic, Topic);
    assert.equal(assertOk(await thread('Acme', Topic))[0].Topic, Topic);
  });

  test('engines serve all namespaces, and answers find their way back', async () => {
    const Topic = newTopic('answer');
    for (const as of SIDES) await add(as, Topic, `of ${as}`);
    for (let i = 0; i < SIDES.length; i++) {
      const claim = await cluster.claim({ detail: true });
      const [row] = claim.Queries;
      const from = row['1'].slice('of '.length);
      const { Namespace } = claim.Details['1'];
      assert.equal(claim.Topic, Namespace ? `${Namespace}~${Topic}` : Topic);
      assert.equal(Namespace, accounts[from].namespace);
      const answer = { Topic: claim.Topic, Seq: 1, Query: row['1'], Answer: [`for ${from}`], Lease: claim.Lease };
      assert.equal(assertOk(await ask('POST', '/api/extend-claim', 'Inference_1', { body: { Topic: claim.Topic, Lease: claim.Lease } })).Cancelled.length, 0);
      assert.equal(assertOk(await ask('POST', '/api/give-new-answer', 'Inference_1', { body: answer })).Topic, claim.Topic);
    }
    for (const as of SIDES) {
      const got = assertOk(await ask('GET', '/api/check-query', as, { query: { Topic, Seq: 1 } }));
      assert.deepEqual([got.Topic, got.Answer], [Topic, [`for ${as}`]]);
    }
  });

  test('the longest namespace, topic and user, all of it escaped, go to the engine and back', async () => {
    const Topic = `${newTopic('x')}${'~'.repeat(128)}`.slice(0, 128);
    const User = '\u00fc'.repeat(64);
    await add('Longest', Topic, 'long', User);
    const claim = await cluster.claim({ detail: true });
    assert.equal(claim.Topic, `${'n'.repeat(32)}~${Topic}`);
    assertOk(await ask('POST', '/api/give-new-answer', 'Inference_1', { body: { Topic: claim.Topic, Seq: 1, Query: 'long', Answer: ['here'] } }));
    assert.deepEqual(assertOk(await thread('Longest', Topic))[0].Answer, ['here']);
    assert.deepEqual(assertOk(await topics('Longest', User)), { [Topic]: 'long' });
    assertProblem(await ask('POST', '/api/add-query', 'Longest', { body: { Topic: `${Topic}~`, User, Query: 'too long' } }), 400);
  });

  test('an operator sees the namespace of a topic, finds its users, and opens its queries again', async () => {
    const Topic = newTopic('op');
    await add('Acme', Topic, 'to be cancelled');
    const list = assertOk(await ask('GET', '/api/queue', 'Operator_1', { query: { OnBehalfOf: 'acme~bob' } }));
    assert.deepEqual(list.Queries.map((row) => row.Topic), [`acme~${Topic}`]);
    assert.deepEqual(assertOk(await ask('GET', '/api/queue', 'Operator_1', { query: { OnBehalfOf: 'bob' } })).Queries, []);
    assertOk(await ask('POST', '/api/cancel-query', 'Acme', { body: { Topic, Seq: 1 } }));
    assertOk(await ask('POST', '/api/retry-query', 'Operator_1', { body: { Topic: `acme~${Topic}`, Seq: 1 } }));
    assert.equal((await cluster.claim()).Topic, `acme~${Topic}`);
  });

  test('lookups and recommendations stay with their namespace', async () => {
    const Topic = newTopic('lookup');
    for (const as of SIDES) await add(as, Topic, `of ${as}`);
    assertOk(await ask('POST', '/api/add-lookup', 'Acme', { body: { Topic, Seq: 1, Fragment: 'vacation' } }));
    const lookups = async (as) => assertOk(await ask('GET', '/api/get-lookups', as, { query: { Topic, Detail: true } }));
    assert.equal((await lookups('Acme')).Lookups[0].Pending.length, 1);
    assert.equal((await lookups('Acme')).Topic, Topic);
    assert.equal((await lookups('Globex')).Lookups[0].Pending.length, 0);
    assertOk(await ask('POST', '/api/recommend', 'Acme', { body: { Topic, OnBehalfOf: 'bob', Query: 'q', Fragment: 'f', Type: 'Promote Answer' } }));
    const { Recommendations } = assertOk(await ask('GET', '/api/get-recommendations', 'Inference_1'));
    assert.deepEqual(Recommendations.map(({ Topic: of, Namespace }) => [of, Namespace]), [[Topic, 'acme']]);
    // The bob of another namespace, or of another account, undoes nothing of this one.
    await add('Acme_too', Topic, 'of the other account');
    for (const as of ['Globex', 'Acme_too']) {
      const flag = { Topic, OnBehalfOf: 'bob', Query: 'q', Fragment: 'f', Type: 'Flag as Off Topic' };
      assert.equal(assertOk(await ask('POST', '/api/recommend', as, { body: flag, query: { Detail: true } })).Undone, 0);
    }
    const listed = async (OnBehalfOf) => assertOk(await ask('GET', '/api/recommendations', 'Operator_1', { query: { OnBehalfOf } })).Recommendations.map(({ Account, User }) => [Account, User]);
    assert.deepEqual(await listed('acme~bob'), [['Acme', 'acme~bob'], ['Acme_too', 'acme~bob']]);
    assert.deepEqual(await listed('globex~bob'), [['Globex', 'globex~bob']]);
    assert.deepEqual(await listed('bob'), []);
  });

  test('documents of the same owner name are apart', async () => {
    const send = (as, bytes) => upload(cluster, { as, query: { OnBehalfOf: 'bob' }, name: 'note.txt', bytes });
    const list = async (as) => assertOk(await ask('GET', '/api/docs', as, { query: { OnBehalfOf: 'bob' } })).documents;
    const mine = await send('Acme', 'the same bytes');
    assert.equal(mine.status, 201, mine.text);
    assert.equal((await list('Acme')).length, 1);
    assert.equal((await list('bob')).length, 1, 'the account bob is the same user');
    for (const as of ['Frontend_1', 'Globex']) {
      assert.deepEqual(await list(as), []);
      assertProblem(await ask('GET', `/api/docs/${mine.json.documentId}`, as, { query: { OnBehalfOf: 'bob' } }), 404);
      assert.equal((await send(as, 'the same bytes')).status, 201, 'not a duplicate of the other');
    }
  });
});
