// SPDX-License-Identifier: MIT
//
// Answers under way while each node and each engine is killed and Redis starts again from its log: the text that each viewer was
// sent, put together over reconnects at random nodes, is the stored answer, byte by byte, and ids rise strictly. On one Redis, on
// four shards of one, and on a Redis Cluster; with engines at sockets, by the routes, and by both in turn. Few and short answers,
// and each world with other engines; with PARLEY_NIGHTLY=1 200 answers and 50 reconnects of each viewer, and all of them.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertOk, eventually, newTopic, suite } from '../support/harness.mjs';
import { drawFrom, oneSeed } from '../support/seeds.mjs';
import { ownShards } from '../support/shards.mjs';
import { print } from './beyond.mjs';
import { check } from './token_checker.mjs';
import { startEngine } from './token_engines.mjs';
import { view } from './token_viewers.mjs';

ownShards(); // each world says how many

const IS_NIGHTLY = process.env.PARLEY_NIGHTLY === '1';
const [ANSWERS, PIECES, PIECE_MS, CUTS, PAUSE_MS] = IS_NIGHTLY ? [200, 120, 500, 50, 6000] : [24, 60, 60, 8, 500];
// Longer than a busy machine lets an engine, which begins again without its lease, wait for a node.
const LEASE_S = IS_NIGHTLY ? 20 : 5;
const ENGINES = 4;
const ENGINE = { slots: 60, pieces: PIECES, pieceMs: PIECE_MS };
const TEST_MS = IS_NIGHTLY ? 900_000 : 150_000;
const TRANSPORTS = ['socket', 'mixed', 'routes'];
const WORLDS = {
  'one Redis': { servers: 1 },
  'four shards': { servers: 1, args: ['--shards', '4'] },
  'a Redis Cluster': { servers: 3, args: ['--shards', '4'] },
};

async function replace(cluster, i) {
  await cluster.nodes[i].kill();
  await cluster.startNode();
  cluster.nodes[i] = cluster.nodes.pop();
}

// Each node, each engine and Redis, in turn.
async function killAll(cluster, engines) {
  const kills = engines.flatMap((engine, i) => [() => engine.kill(), ...(cluster.nodes[i] ? [() => replace(cluster, i)] : [])]);
  kills.splice(3, 0, () => cluster.redis.restart());
  kills.push(() => cluster.redis.restart());
  for (const kill of kills) {
    await sleep(PAUSE_MS);
    await kill();
  }
}

// Half of the viewers are cut off, half see one stream unless its node dies.
async function run(cluster, transport, seed) {
  const written = new Map();
  const engines = Array.from({ length: ENGINES }, (_, i) => startEngine(cluster, transport, { ...ENGINE, draw: drawFrom(seed + i), written }));
  const questions = [];
  for (let i = 0; i < ANSWERS; i++) questions.push(await cluster.add({ Topic: newTopic(), Query: `question ${i}`, User: `user${i % 20}` }));
  let isOver = false;
  const follow = async (question, cuts, i) => ({ topic: question.Topic, steps: await view(cluster, question, { cuts, draw: drawFrom(seed + i), isOver: () => isOver }) });
  try {
    const views = questions.flatMap((question, i) => [follow(question, CUTS, 2 * i), follow(question, 0, 2 * i + 1)]);
    const work = [Promise.all(views), killAll(cluster, engines)];
    const broken = engines.map(({ ended }) => ended.then(() => new Promise(() => {})));
    const [seen] = await Promise.race([Promise.all(work), ...broken]);
    return { views: seen, written, questions };
  } finally {
    isOver = true;
    await Promise.all(engines.map((engine) => engine.end()));
  }
}

for (const [w, [world, options]] of Object.entries(WORLDS).entries()) {
  suite(`answers under way on ${world}`, { nodes: 3, aof: true, ...options, args: ['--lease-seconds', String(LEASE_S), '--max-attempts', '100', ...(options.args ?? [])] }, ({ test, cluster }) => {
    for (const transport of IS_NIGHTLY ? TRANSPORTS : [TRANSPORTS[w]]) {
      test(`on ${world} nothing is lost and nothing doubled, whatever is killed; engines: ${transport}`, async () => {
        const seed = oneSeed();
        const { views, written, questions } = await run(cluster, transport, seed);
        const answers = new Map();
        for (const { Topic, Seq } of questions) {
          const stored = () => cluster.checkRaw({ Topic, Seq, detail: true });
          await eventually(async () => (await stored()).status !== 503, { what: 'the nodes have found Redis again' });
          answers.set(Topic, assertOk(await stored()));
        }
        const { wrong, figures } = check({ views, written, answers });
        print(Object.entries({ seed, ...figures }).map(([name, n]) => `${name}: ${n}`).join(', '));
        assert.deepEqual(wrong.slice(0, 20), []);
        assert.ok(figures['claims of engines'] > ANSWERS, 'claims were lost');
        for (const { steps } of views.filter((_, i) => i % 2 === 0)) assert.ok(steps.filter((step) => 'open' in step).length > CUTS);
      }, { ms: TEST_MS });
    }
  });
}
