// SPDX-License-Identifier: MIT
//
// durability: what --durability costs: full cycles of `parley bench` on a master with one replica, all on this machine.
//
//   ./dev build release && node tests/bench/durability.mjs [--values none,replica] [--conns 1,64] [--seconds 6]
//   PARLEY_TEST_REDIS=$(tests/servers.sh redis8) node tests/bench/durability.mjs --values none,disk
//
// Per line: cycles per second, p50 and p99 of a cycle in ms, and per cycle the CPU time of Redis's master in us, calls of its
// function library and rounds of WAIT. A cycle has two acknowledgements. The master has an append-only file (appendfsync
// always) with all of them where one is `disk`. Prints a table; asserts nothing.
import { parseArgs } from 'node:util';
import { RELEASE_BIN, runParley, startNode, writeAccounts } from '../support/harness.mjs';
import { startReplicas } from '../support/topology.mjs';

const { values } = parseArgs({
  options: { values: { type: 'string', default: 'none,replica' }, conns: { type: 'string', default: '1,64' }, seconds: { type: 'string', default: '6' } },
});
const list = values.values.split(',');

async function countsOf(master) {
  const stats = await master.cmd('INFO', 'commandstats');
  const calls = (name) => Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
  const cpu = [...(await master.cmd('INFO', 'cpu')).matchAll(/^used_cpu_(?:sys|user):([\d.]+)/gm)];
  return { calls: calls('fcall'), rounds: calls('wait') + calls('waitaof'), cpuUs: cpu.reduce((sum, [, seconds]) => sum + Number(seconds) * 1e6, 0) };
}

console.log('durability conns  cycles/s     p50     p99 | per cycle: Redis us  calls  rounds');
for (const conns of values.conns.split(',')) {
  for (const durability of list) {
    const redis = await startReplicas({ aof: list.includes('disk') });
    const accounts = writeAccounts();
    const node = await startNode({ redis, accounts: accounts.path, args: ['--durability', durability], bin: RELEASE_BIN });
    const [master] = redis.members;
    const before = await countsOf(master);
    const { stdout, stderr } = await runParley(['bench', '--url', node.url, '--accounts', accounts.path, '--mode', 'split', '--conns', conns, '--seconds', values.seconds], { bin: RELEASE_BIN, timeout: 120_000 });
    const after = await countsOf(master);
    const [, rate, p50, p99] = /^split +(\d+) +([\d.]+) +([\d.]+)/m.exec(stdout) ?? [];
    if (!rate) throw new Error(stdout + stderr);
    const cycles = Number(rate) * (Number(values.seconds) + 1); // and a second of warm-up
    const per = (name, digits) => ((after[name] - before[name]) / cycles).toFixed(digits);
    console.log(`${durability.padEnd(10)} ${conns.padStart(5)} ${rate.padStart(9)} ${p50.padStart(7)} ${p99.padStart(7)} | ${per('cpuUs', 0).padStart(19)} ${per('calls', 2).padStart(6)} ${per('rounds', 2).padStart(7)}`);
    await node.stop();
    await redis.stop();
    accounts.remove();
  }
}
