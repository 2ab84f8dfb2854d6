// SPDX-License-Identifier: MIT
//
// What a node reports to the service manager that started it (systemd's Type=notify): a datagram socket stands for the
// manager. That systemd understands it, tests/cluster/containers/package.test.sh shows.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after } from 'node:test';
import { eventually, suite } from '../support/harness.mjs';
import { makeFolder } from '../support/node.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // the process: the same on any number of shards

// Node.js has no datagram sockets with paths. Prints what comes, a line each.
const RECEIVER = `
  use strict; use IO::Socket::UNIX; use Socket;
  $| = 1;
  my $socket = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => $ARGV[0]) or die $!;
  print "listening\\n";
  while (defined $socket->recv(my $text, 4096)) { print "$text\\n" }`;

async function receive(path) {
  const child = spawn('perl', ['-e', RECEIVER, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = [];
  const reader = createInterface(child.stdout);
  reader.on('line', (line) => lines.push(line));
  await once(reader, 'line');
  return { lines, count: (line) => lines.filter((each) => each === line).length, end: () => child.kill('SIGKILL') };
}

const folder = makeFolder();
const path = join(folder.dir, 'notify');
const manager = await receive(path);
after(() => {
  manager.end();
  folder.remove();
});

suite('a service manager', { nodes: 1, threads: 2, sweep: false, env: { NOTIFY_SOCKET: path, WATCHDOG_USEC: '400000' } }, ({ test, cluster }) => {
  test('hears that a node is ready, then that its threads turn, then that it stops', async () => {
    await eventually(() => manager.count('WATCHDOG=1') > 3);
    assert.deepEqual(manager.lines.slice(0, 3), ['listening', 'READY=1', 'WATCHDOG=1']);
    assert.equal(manager.count('READY=1'), 1);
    await cluster.nodes[0].stop();
    await eventually(() => manager.count('STOPPING=1') === 1);
    assert.equal(manager.lines.at(-1), 'STOPPING=1');
  });
});
