// SPDX-License-Identifier: MIT
//
// How long a wait is that was asked for: never shorter, however long its connection and its node
// were quiet before.
import assert from 'node:assert/strict';
import { suite } from '../support/harness.mjs';
import { newAgent } from '../support/tls.mjs';

const WAIT_S = 2;
const EARLY_MS = 2; // whole milliseconds here and there

suite('waits on a connection that is kept alive', {}, ({ test, cluster }) => {
  // The node is quiet while a wait on the other one passes. Then `ask` must be held for all of its own.
  async function assertHeldInFull(ask) {
    const agent = newAgent(cluster.nodes[0].url, { keepAlive: true, maxSockets: 1 });
    const { Topic } = await cluster.add({ Query: 'Why?' });
    await cluster.claim({ as: 'Inference_2' });
    try {
      for (let i = 0; i < 3; i++) {
        await cluster.check({ Topic, wait: 1, node: 1 });
        const began = performance.now();
        await ask({ Topic, wait: WAIT_S, node: 0, agent });
        const took = performance.now() - began;
        assert.ok(took >= WAIT_S * 1000 - EARLY_MS, `a wait of ${WAIT_S} s ended after ${Math.round(took)} ms`);
      }
    } finally {
      agent.destroy();
    }
  }

  test('check-query with Wait=2 is not answered early after a pause', () => assertHeldInFull((options) => cluster.check(options)));

  test('get-new-queries with Wait=2 is not answered early after a pause', () =>
    assertHeldInFull(({ wait, node, agent }) => cluster.claim({ wait, node, agent })));
});
