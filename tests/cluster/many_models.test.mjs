// SPDX-License-Identifier: MIT
//
// A node with polls for more lists of models, and from more engines, than one sync can state.
import assert from 'node:assert/strict';
import { eventually, suite } from '../support/harness.mjs';
import { onAll, sumOfAll } from '../support/shards.mjs';

const POLLS = 450; // a sync states 150 classes and 100 engines
const ENGINES = 200; // with names of their own; the others are one more

suite('many lists of models', { nodes: 1, args: ['--rescan-seconds', '1'], sweep: false }, ({ test, cluster }) => {
  test('credits that Redis lost are stated again, however many classes of polls there are', async () => {
    const polls = Array.from({ length: POLLS }, (_, i) =>
      cluster.claimOpen({ wait: 120, models: `model-${i}`, engine: i < ENGINES ? `engine-${i}` : undefined }),
    );
    const count = (command, key) => sumOfAll(cluster.redis, command, key);
    try {
      await eventually(async () => (await count('ZCARD', 'idle')) === POLLS, { what: 'all polls are parked', ms: 60_000 });
      await onAll(cluster.redis, 'DEL', 'idle');
      await eventually(async () => (await count('ZCARD', 'idle')) === POLLS, { what: 'all credits are stated again', ms: 60_000 });
      await eventually(async () => (await count('HLEN', 'engines')) === ENGINES + 1, { what: 'all engines are known', ms: 60_000 });
      const { Topic } = await cluster.add({ Model: `model-${POLLS - 1}` });
      const taken = await Promise.race(polls.map(({ response }) => response));
      assert.equal(taken.json.Topic, Topic);
    } finally {
      for (const poll of polls) poll.abort();
    }
  });
});
