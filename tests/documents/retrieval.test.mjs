// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { suite } from '../support/harness.mjs';
import { recall, uploadHandbook } from '../bench/retrieval/measure.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // what a search finds: the same on any number of shards

suite('retrieval over the handbook', { nodes: 2, sweep: false }, ({ test, cluster }) => {
  test('the right passage is among the first five for at least 85 of 100 judged questions', async () => {
    await uploadHandbook(cluster, 'User_1');
    const { n, at5, missed } = await recall(cluster, 'User_1');
    assert.ok(n >= 60, `${n} questions`);
    assert.ok(at5 >= 0.85, `recall@5 is ${at5}; missed: ${JSON.stringify(missed, null, 1)}`);
  });
});
