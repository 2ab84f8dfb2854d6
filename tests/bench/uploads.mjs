// SPDX-License-Identifier: MIT
//
// uploads: what an upload of 25 MiB takes of Redis, on its way there and on its way to the indexer's child: how long in all,
// how long the longest call, which everybody else waits for; and what the process grows by.
//
//   ./dev build release && PARLEY_BIN=build/release/parley node tests/bench/uploads.mjs [PROGRAM…]
//
// Each PROGRAM in turn (PARLEY_BIN without one), on a Redis of its own: five uploads of a page that is all comment, and the
// least counts. Times are those of Redis's SLOWLOG, which has every command here. Prints a table; asserts nothing.
import { readFileSync } from 'node:fs';
import { forgetLimits, settled, upload } from '../support/documents.mjs';
import { Cluster } from '../support/harness.mjs';
import { BIN } from '../support/node.mjs';

const MIB = 1 << 20;
const UPLOADS = 5;
const programs = process.argv.slice(2);
const page = (i) => Buffer.concat([Buffer.from(`<p>${i}<!-- `), Buffer.alloc(24.9 * MIB, 'words '), Buffer.from('-->')]);

async function cpuMs(redis) {
  const { used_cpu_user_main_thread: user, used_cpu_sys_main_thread: sys } = await redis.info('cpu');
  return (Number(user) + Number(sys)) * 1000;
}

const mostMib = (pid) => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;

// Of commands outside of functions: those inside count with their function.
async function timesOf(redis) {
  const times = { in: [], out: [] };
  for (const [, , us, args] of await redis.cmd('SLOWLOG', 'GET', '-1')) {
    const name = args[0].toUpperCase();
    const calls = (...verbs) => name === 'FCALL' && args.some((arg) => verbs.includes(arg.split(' ')[0]));
    if (name === 'RPUSHX' || calls('upload', 'upload_begin')) times.in.push(Number(us) / 1000);
    else if (name === 'LINDEX' || calls('job_upload')) times.out.push(Number(us) / 1000);
  }
  return times;
}

async function measureOne(cluster, i) {
  const { redis } = cluster;
  await forgetLimits(cluster);
  await redis.cmd('SLOWLOG', 'RESET');
  const bytes = page(i);
  const cpu = await cpuMs(redis);
  const begin = performance.now();
  const { status, text, json } = await upload(cluster, { name: `${i}.html`, bytes });
  if (status !== 201) throw new Error(text);
  const took = performance.now() - begin;
  await settled(cluster, 'User_1', json.documentId);
  const times = await timesOf(redis);
  const sum = (list) => list.reduce((a, b) => a + b, 0);
  return { took, cpu: (await cpuMs(redis)) - cpu, in: sum(times.in), inMost: Math.max(...times.in), out: sum(times.out), outMost: Math.max(...times.out) };
}

async function measure(bin) {
  const cluster = new Cluster({ nodes: 0 });
  await cluster.start();
  try {
    const node = await cluster.startNode({ bin });
    await cluster.redis.cmd('CONFIG', 'SET', 'slowlog-max-len', '100000');
    await cluster.redis.cmd('CONFIG', 'SET', 'slowlog-log-slower-than', '0');
    const { documentId } = (await upload(cluster, { name: 'warm.html', bytes: '<p>warm' })).json;
    await settled(cluster, 'User_1', documentId);
    const before = mostMib(node.child.pid);
    const rows = [];
    for (let i = 0; i < UPLOADS; i++) rows.push(await measureOne(cluster, i));
    const least = (key) => Math.min(...rows.map((row) => row[key])).toFixed(1);
    return {
      'to Redis, ms': least('in'), 'longest call': least('inMost'), 'to the indexer, ms': least('out'), 'its longest': least('outMost'),
      'CPU of Redis, ms': least('cpu'), 'upload, ms': least('took'), 'process, MiB': (mostMib(node.child.pid) - before).toFixed(0),
    };
  } finally {
    await cluster.stop();
  }
}

const table = {};
for (const [i, bin] of (programs.length ? programs : [BIN]).entries()) table[`${i} ${bin}`] = await measure(bin);
console.table(table);
