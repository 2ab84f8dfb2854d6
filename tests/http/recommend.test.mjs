// SPDX-License-Identifier: MIT
//
// Contract sections 2 and 3: POST /api/recommend, GET /api/get-recommendations.
import assert from 'node:assert/strict';
import { assertMembers, assertOk, assertProblem, assertTimestamp, newNonce, suite } from '../support/harness.mjs';

const TYPES = [
  'Suggest Improvement',
  'Promote Answer',
  'Make Correction',
  'Add Missing Info',
  'Clarify Phrasing',
  'Flag as Off Topic',
];

suite('recommend', {}, ({ test, cluster }) => {
  const recommend = (body, options = {}) => cluster.request('POST', '/api/recommend', { as: 'Frontend_1', body, ...options });
  const list = (After, options = {}) =>
    cluster.request('GET', '/api/get-recommendations', { as: 'Inference_1', query: { After }, ...options });

  async function newRecommendation(more = {}) {
    const { Topic } = await cluster.add({ User: 'alice', Query: 'Why?' });
    return {
      Topic,
      OnBehalfOf: 'alice',
      Query: 'Why?',
      Fragment: `fragment ${newNonce()}`,
      Comment: 'Better: "because".',
      Type: 'Suggest Improvement',
      ...more,
    };
  }

  // The cursor behind all that is stored.
  async function lastCursor() {
    let cursor;
    for (;;) {
      const page = assertOk(await list(cursor));
      if (page.Recommendations.length === 0) return page.Next;
      cursor = page.Next;
    }
  }

  test('all six types are taken', async () => {
    for (const Type of TYPES) {
      const body = assertOk(await recommend(await newRecommendation({ Type })));
      assertMembers(body, ['Timestamp']);
      assertTimestamp(body.Timestamp);
    }
  });

  test('another Type: 400', async () => {
    const valid = await newRecommendation();
    for (const Type of [undefined, null, '', 'promote answer', 'Promote Answer ', 'Praise', 7, []]) {
      assertProblem(await recommend({ ...valid, Type }), 400);
    }
  });

  test('a member that is missing or of a wrong type: 400', async () => {
    const valid = await newRecommendation();
    for (const member of ['Topic', 'OnBehalfOf', 'Query', 'Fragment']) {
      for (const bad of [undefined, null, 7, [], {}]) assertProblem(await recommend({ ...valid, [member]: bad }), 400);
    }
    for (const bad of [7, [], {}]) assertProblem(await recommend({ ...valid, Comment: bad }), 400);
  });

  test('engines read what users recommended, in order, from whatever node', async () => {
    const cursor = await lastCursor();
    const given = [];
    for (const Type of TYPES) {
      given.push(await newRecommendation({ Type }));
      assertOk(await recommend(given.at(-1)));
    }
    for (const node of [0, 1]) {
      const page = assertOk(await list(cursor, { node }));
      assertMembers(page, ['Recommendations', 'Next']);
      assert.equal(page.Recommendations.length, given.length);
      page.Recommendations.forEach((one, i) => {
        for (const member of ['Topic', 'Query', 'Fragment', 'Comment', 'Type'])
          assert.equal(one[member], given[i][member], member);
      });
    }
  });

  test('After goes on behind the last page and never shows one twice', async () => {
    const cursor = await lastCursor();
    const first = await newRecommendation();
    assertOk(await recommend(first));
    const page = assertOk(await list(cursor));
    assert.deepEqual(
      page.Recommendations.map(({ Fragment }) => Fragment),
      [first.Fragment],
    );
    const empty = assertOk(await list(page.Next));
    assert.deepEqual(empty.Recommendations, []);
    const second = await newRecommendation();
    assertOk(await recommend(second));
    for (const behind of [page.Next, empty.Next]) {
      assert.deepEqual(
        assertOk(await list(behind)).Recommendations.map(({ Fragment }) => Fragment),
        [second.Fragment],
      );
    }
  });

  test('a cursor that is none of ours: 400', async () => {
    for (const bad of ['x', '-', '+', '(0', '$', '*', '1-2-3', '9'.repeat(400)]) assertProblem(await list(bad), 400);
  });

  test('a user recommends for itself', async () => {
    const { Topic } = await cluster.add({ as: 'User_1' });
    const body = { Topic, OnBehalfOf: 'User_1', Query: 'q', Fragment: 'f', Comment: 'c', Type: 'Flag as Off Topic' };
    assertOk(await recommend(body, { as: 'User_1' }));
    assertProblem(await recommend({ ...body, OnBehalfOf: 'User_2' }, { as: 'User_1' }), 403, 'forbidden');
  });
});
