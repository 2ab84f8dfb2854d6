// SPDX-License-Identifier: MIT
//
// real: real nodes under the load of load.mjs, over HTTP by token, for the comparison with virtual ones.
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertOk, BIN, newTopic, RELEASE_BIN, startCluster } from '../../support/harness.mjs';
import { byToken, metric } from '../../cluster/watch.mjs';

const WAIT_S = 100;

async function readOf(cluster, nodes) {
  const info = { ...(await cluster.redis.info('commandstats')), ...(await cluster.redis.info('stats')) };
  const [, calls, us] = /^calls=(\d+),usec=(\d+)/.exec(info.cmdstat_fcall);
  const verbs = {};
  for (let node = 0; node < nodes; node++) {
    const { text } = await cluster.request('GET', '/metrics?Cluster=false', { node });
    for (const [, verb, n] of text.matchAll(/^parley_verb_calls_total\{verb="(\w+)"[^}]*\} (\d+)/gm)) verbs[`verb ${verb}`] = (verbs[`verb ${verb}`] ?? 0) + Number(n);
  }
  return { ms: performance.now(), calls: Number(calls), scriptUs: Number(us), bytes: Number(info.total_net_input_bytes), counts: verbs };
}

// Calls `measure(read)` idle and under load, as simulate.mjs does.
export async function withRealNodes({ nodes, shards, engines, rate, answerMs }, measure) {
  const cluster = await startCluster({ nodes, args: ['--shards', shards, '--indexers', 0, '--target', 'broker'], bin: existsSync(RELEASE_BIN) ? RELEASE_BIN : BIN });
  const frontend = await byToken(cluster, 'Frontend_1');
  const inference = await byToken(cluster, 'Inference_1');
  let isOver = false;
  const running = [];

  async function engine(node) {
    while (!isOver) {
      const poll = cluster.claimOpen({ ...inference, wait: WAIT_S, detail: true, node });
      running[node] ??= new Set();
      running[node].add(poll);
      const { json } = await poll.response.catch(() => ({}));
      running[node].delete(poll);
      if (!json?.Topic) continue;
      for (const row of json.Queries) {
        const [[Seq, Query]] = Object.entries(row);
        await sleep(-Math.log(1 - Math.random()) * answerMs);
        await cluster.answerRaw({ ...inference, Topic: json.Topic, Seq: Number(Seq), Query, Lease: json.Lease, node });
      }
    }
  }

  async function load(ms) {
    const asked = [];
    const began = Date.now();
    for (let i = 0; i < (rate * ms) / 1000; i++) {
      asked.push(cluster.addRaw({ ...frontend, Topic: newTopic(), User: `user${i % 1000}`, query: { Wait: 30 }, node: i % nodes, timeout: 60_000 }).then(assertOk, () => {}));
      await sleep(Math.max(0, began + ((i + 1) * 1000) / rate - Date.now())); // late ones are made up for: the rate is that of virtual nodes
    }
    return asked;
  }

  try {
    return await measure({
      read: () => readOf(cluster, nodes),
      pass: sleep,
      startEngines: async () => {
        for (let i = 0; i < engines; i++) engine(i % nodes).catch(() => {});
        let parked = 0;
        for (const end = Date.now() + 10_000; parked < engines && Date.now() < end; await sleep(50)) {
          parked = 0;
          for (let node = 0; node < nodes; node++) parked += await metric(cluster, node, 'parley_polls_parked');
        }
      },
      load,
    });
  } finally {
    isOver = true;
    for (const polls of running) for (const poll of polls ?? []) poll.abort();
    await sleep(500);
    await cluster.stop();
  }
}
