// SPDX-License-Identifier: MIT
//
// At debug level a node's log shows how what is at work in it moves from state to state (shared/base/sm.h).
import assert from 'node:assert/strict';
import { eventually, suite } from '../support/harness.mjs';

suite('states in the log', { nodes: 1, args: ['--log-level', 'debug', '--log-format', 'json'] }, ({ test, cluster }) => {
  const moves = (what) =>
    cluster.nodes[0]
      .log()
      .split('\n')
      .filter((line) => line.includes('"message":"moved"'))
      .map((line) => JSON.parse(line))
      .filter((line) => line.what === what);

  test('a poll that parks and is answered is claiming, parked and idle again', async () => {
    const poll = cluster.claimOpen({ wait: 20 });
    const parked = await eventually(() => moves('poll').find(({ from, to }) => from === 'CLAIMING' && to === 'PARKED'), { what: 'a poll is parked' });
    await cluster.add();
    await poll.response;
    const own = await eventually(() => {
      const found = moves('poll').filter(({ number }) => number === parked.number);
      return found.length === 3 && found;
    }, { what: 'its way in the log' });
    assert.deepEqual(own.map(({ from, to }) => `${from} ${to}`), ['IDLE CLAIMING', 'CLAIMING PARKED', 'PARKED IDLE']);
  });

  test('a body is awaited, taken, and then the next head', async () => {
    const before = moves('connection').length;
    await cluster.add();
    const own = await eventually(() => {
      const found = moves('connection').slice(before).map(({ from, to }) => `${from} ${to}`);
      return found.includes('BODY HEAD') && found;
    }, { what: 'a connection that read a body' });
    assert.deepEqual(own.slice(0, 2), ['HEAD BODY', 'BODY HEAD']);
  });
});
