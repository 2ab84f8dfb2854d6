// SPDX-License-Identifier: MIT
//
// watch: conditions on a running cluster, so that a race is met for certain: how many polls a node
// holds, and whether its call has reached Redis. holdScripts() makes Redis keep calls of scripts
// waiting (CLIENT PAUSE WRITE), while everything else of it answers.
import { readFileSync } from 'node:fs';
import { assertOk, eventually, newTopic } from '../support/harness.mjs';
import { namesOfEachShard, onAll, SHARDS } from '../support/shards.mjs';

// One value that a node counts, 0 if it is not there. Of the queue's state nothing: that would be a call of Redis.
export async function metric(cluster, node, name) {
  const { text } = await cluster.request('GET', '/metrics?Cluster=false', { node });
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return line ? Number(line.split(' ')[1]) : 0;
}

// Stops a node's process (SIGSTOP) and resolves once it does not run any more.
export async function stop(node) {
  node.signal('SIGSTOP');
  const state = () => readFileSync(`/proc/${node.child.pid}/stat`, 'latin1').split(') ')[1][0];
  await eventually(() => state() === 'T', { what: 'the process is stopped', every: 5 });
}

export function parked(cluster, node, n) {
  return eventually(async () => (await metric(cluster, node, 'parley_polls_parked')) === n, {
    what: `${n} polls are parked on one node`,
  });
}

// What to ask with as that account without a nonce, which on several shards is a call of its own.
export async function byToken(cluster, as) {
  const { Token } = assertOk(await cluster.request('GET', '/api/login', { as }));
  return { as: null, headers: { Authorization: `Bearer ${Token}` } };
}

// A new topic of a shard that has the credit of a parked poll: a question in it is handed over.
export async function topicWithCredit(cluster) {
  const full = (await onAll(cluster.redis, 'ZCARD', 'idle')).findIndex((n) => n > 0);
  return namesOfEachShard(newTopic())[full];
}

export function waiting(cluster, node, n) {
  return eventually(async () => (await metric(cluster, node, 'parley_checks_parked')) === n, {
    what: `${n} check-query requests wait on one node`,
  });
}

// How often a node has called a verb: of what waits for nothing that is counted.
export function verbCalls(cluster, node, verb) {
  return metric(cluster, node, `parley_verb_calls_total{verb="${verb}"}`);
}

// With all of its shards: /readyz is 200 with half of them, and names the others.
export function ready(cluster, node, isReady = true) {
  return eventually(
    async () => {
      const { status, json } = await cluster.request('GET', '/readyz', { node });
      return isReady ? status === 200 && json.away === undefined : status === 503;
    },
    { ms: 60_000, what: `the node is ${isReady ? '' : 'not '}ready` },
  );
}

// The nodes' connections of one name, as CLIENT LIST shows them.
export async function connections(redis, name = 'parley-turn') {
  const list = await redis.cmd('CLIENT', 'LIST');
  return list
    .trim()
    .split('\n')
    .map((line) => Object.fromEntries(line.split(' ').map((pair) => pair.split('='))))
    .filter((client) => client.name === name);
}

// Both connections of every node to each shard are there, and Redis counts the bus as a subscriber: a connection has its
// name before that.
export async function connected(cluster) {
  const n = cluster.nodes.filter(({ alive }) => alive).length * SHARDS;
  await eventually(
    async () => {
      const buses = await connections(cluster.redis, 'parley-bus');
      return buses.filter(({ sub }) => Number(sub) > 0).length === n && (await connections(cluster.redis)).length === n;
    },
    { ms: 60_000, what: `${n} connections of either kind are up` },
  );
}

// Keeps scripts waiting until release(). The nodes give such a call up after 5 s.
export async function holdScripts(redis) {
  await redis.cmd('CLIENT', 'PAUSE', 60_000, 'WRITE');
  return {
    // Resolves once the calls of `n` nodes wait.
    blocked: (n = 1) =>
      eventually(async () => (await connections(redis)).filter(({ flags }) => flags.includes('b')).length >= n, {
        what: `calls of ${n} nodes wait in Redis`,
      }),
    release: () => redis.cmd('CLIENT', 'UNPAUSE'),
  };
}

// How often a command ran, from INFO commandstats.
export async function calls(redis, command) {
  const stats = await redis.info('commandstats');
  return Number(/calls=(\d+)/.exec(stats[`cmdstat_${command}`] ?? '')?.[1] ?? 0);
}

export function status(cluster, Topic, Seq = 1, options = {}) {
  return cluster.check({ Topic, Seq, detail: true, ...options });
}

export function becomes(cluster, state, Topic, Seq = 1, options = {}) {
  return eventually(async () => (await status(cluster, Topic, Seq, options)).Status === state, {
    ms: 60_000,
    what: `${Topic} ${Seq} is ${state}`,
  });
}
