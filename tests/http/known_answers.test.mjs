// SPDX-License-Identifier: MIT
//
// Known answers of clients that went live, byte for byte.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { assertOk, assertProblem, newTopic, sign, suite } from '../support/harness.mjs';

const NONCE = 'PSjUAS82NcDKgwXq';
const SHA1_PLAIN = 'd3dd6832c72b5c8f4cf194bcb85e67d81e5dcd93';
const SHA1_NEWLINE = '3f71f8a88e09b52f7ff6c73aa96826558b302d32';
const FRAGMENT = 'Employees can accrue comp time for overtime hours worked ...';

// A nonce works once for an account, so each of the two hash forms gets a cluster of its own.
for (const [Hash, form] of [
  [SHA1_PLAIN, 'without'],
  [SHA1_NEWLINE, 'with'],
]) {
  suite(`the SHA-1 ${form} a newline`, {}, ({ test, cluster }) => {
    const proof = `User=Inference_1&Nonce=${NONCE}&Hash=${Hash}`;

    test('passes once, and never again on either node', async () => {
      const poll = (node) => cluster.request('GET', `/api/get-new-queries?Wait=0&${proof}`, { node });
      const first = await poll(0);
      assertOk(first);
      assert.equal(first.text.replace(/\s/g, ''), '{"Topic":null,"Queries":null}');
      assertProblem(await poll(1), 401, 'nonce_used');
      assertProblem(await poll(0), 401, 'nonce_used');
    });

    test('passes for no other account', async () => {
      assertProblem(await cluster.request('GET', `/api/login?${proof.replace('Inference_1', 'Inference_2')}`), 401);
    });
  });
}

suite('known answers', {}, ({ test, cluster }) => {
  test('the SHA-256 of the same words passes in both forms', async () => {
    for (const [nonce, newline] of [
      [NONCE, false],
      [`${NONCE}2`, true],
    ]) {
      const Hash = createHash('sha256')
        .update(`Inference_1 ${nonce} 7b18d017f89f61cf17d${newline ? '\n' : ''}`)
        .digest('hex');
      assertOk(await cluster.request('GET', `/api/login?User=Inference_1&Nonce=${nonce}&Hash=${Hash}`));
    }
  });

  test('the nothing-to-do answer is the null pair', async () => {
    const response = await cluster.claimRaw();
    assert.equal(response.status, 200);
    assert.deepEqual(response.json, { Topic: null, Queries: null });
  });

  test('a claim is the topic and its queries, each under its own number', async () => {
    const Topic = newTopic();
    await cluster.add({ Topic, Query: 'Done before' });
    await cluster.claim();
    await cluster.answer({ Topic, Seq: 1, Query: 'Done before' });
    await cluster.add({ Topic, Query: 'What is the meaning of life?' });
    await cluster.add({ Topic, Query: 'And why?' });
    const response = await cluster.claimRaw();
    assert.deepEqual(response.json, { Topic, Queries: [{ 2: 'What is the meaning of life?' }, { 3: 'And why?' }] });
  });

  test('the fingerprint is 7b33f9588431', async () => {
    const { Topic, Seq } = await cluster.add();
    const body = assertOk(
      await cluster.request('POST', '/api/add-lookup', { as: 'Frontend_1', body: { Topic, Seq, Fragment: FRAGMENT } }),
    );
    assert.equal(body.Fingerprint, '7b33f9588431');
    const lookup = assertOk(await cluster.request('GET', '/api/get-new-lookup', { as: 'Inference_1' }));
    assert.deepEqual(lookup, { Fragment: FRAGMENT, Fingerprint: '7b33f9588431', Count: 5, Threshold: 1 });
  });

  test('the method DEL deletes a topic as DELETE does', async () => {
    for (const method of ['DEL', 'DELETE']) {
      const { Topic } = await cluster.add({ User: 'bob' });
      const response = await cluster.request(method, '/api/topic', { as: 'Frontend_1', query: { OnBehalfOf: 'bob', Topic } });
      assert.deepEqual(assertOk(response), { status: 'OK' });
      assertProblem(await cluster.request('GET', '/api/user-topics', { as: 'Frontend_1', query: { OnBehalfOf: 'bob' } }), 404);
    }
  });

  test('a GET with a JSON body is read: credentials of a poll, the Topic of lookups', async () => {
    const { Topic } = await cluster.add();
    const poll = await cluster.request('GET', '/api/get-new-queries?Wait=0', {
      body: sign('Inference_1', '7b18d017f89f61cf17d'),
    });
    assert.equal(assertOk(poll).Topic, Topic);
    const lookups = assertOk(await cluster.request('GET', '/api/get-lookups', { as: 'Frontend_1', body: { Topic } }));
    assert.equal(lookups.Topic, Topic);
  });

  test('a + that a client left unencoded finds its topic on every route that takes one', async () => {
    const Topic = 'DGQIn+5troxI';
    await cluster.add({ Topic, User: 'carol' });
    const asked = { as: 'Frontend_1', raw: 'Topic=DGQIn+5troxI' };
    const check = assertOk(await cluster.request('GET', '/api/check-query', { ...asked, query: { Seq: 1, Wait: 0 } }));
    assert.equal(check.Topic, Topic);
    assert.equal(assertOk(await cluster.request('GET', '/api/get-topic-thread', asked))[0].Topic, Topic);
    assert.equal(assertOk(await cluster.request('GET', '/api/get-lookups', asked)).Topic, Topic);
    assert.equal(
      (await cluster.request('PUT', '/api/rename-topic', { ...asked, query: { OnBehalfOf: 'carol', Description: 'd' } })).status,
      200,
    );
    assertOk(await cluster.request('DELETE', '/api/topic', { ...asked, query: { OnBehalfOf: 'carol' } }));
  });

  test('a + that is encoded finds it as well', async () => {
    const { Topic } = await cluster.add({ Topic: 'a+b/c=d&e%2B' });
    const check = await cluster.check({ Topic });
    assert.equal(check.Topic, 'a+b/c=d&e%2B');
  });
});
