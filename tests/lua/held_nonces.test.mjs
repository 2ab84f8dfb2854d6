// SPDX-License-Identifier: MIT
//
// nonces_held and nonce_again: which signed requests nodes hold, and which copy of a lost one is admitted.
import { scripts, set, ttl, zset } from '../support/lua.mjs';

const [A, B] = ['0123456789ab', 'ba9876543210'];
const SYNC_MS = 5000;
const again = (mark = A) => ['nonce_again', mark, SYNC_MS];
// Nobody listens on a channel unless a test subscribes to it: these nodes are dead.
const died = (secondsAgo, ...marks) => () => ({ nodes: zset({ gone: Date.now() - secondsAgo * 1000 }), 'held:gone': ttl(600, set(...marks)) });

scripts('held_nonces', ({ cases, test, shard }) => {
  cases([
    { name: 'what is held is a mark of its node', call: ['nonces_held', A, 'held', B, 'held'], reply: 'ok', after: { 'held:n1': ttl(600, set(A, B)) } },
    {
      name: 'of an answered one nothing is left',
      before: { 'held:n1': ttl(600, set(A, B)) },
      call: ['nonces_held', A, 'answered'],
      reply: 'ok',
      after: { 'held:n1': ttl(600, set(B)) },
    },
    { name: 'one that is lost may be sent again for ten seconds', before: { 'held:n1': ttl(600, set(A)) }, call: ['nonces_held', A, 'lost'], reply: 'ok', after: { 'held:n1': null, [`lost:${A}`]: ttl(10, '1') } },
    { name: 'of one request the last that happened counts', call: ['nonces_held', A, 'held', A, 'answered', B, 'held', B, 'lost'], reply: 'ok', after: { [`lost:${B}`]: ttl(10, '1') } },
    { name: 'a copy of one that was never held is refused', call: again(), reply: 'used' },
    { name: 'one copy of a lost one is admitted, the second is not', before: { [`lost:${A}`]: ttl(10, '1') }, calls: [again(), again()], replies: ['admitted', 'used'], after: { [`lost:${A}`]: null } },
    { name: 'another request is not admitted for a lost one', before: { [`lost:${A}`]: ttl(10, '1') }, call: again(B), reply: 'used' },
    { name: 'of a node that has died one copy is admitted', before: died(3, A, B), calls: [again(), again()], replies: ['admitted', 'used'], after: { 'held:gone': ttl(600, set(B)) } },
    { name: 'its sync may have been as long before its death as syncs are apart', before: died(14, A), call: again(), reply: 'admitted', after: { 'held:gone': null } },
    { name: 'what died longer ago is used up', before: died(17, A), call: again(), reply: 'used', after: { 'held:gone': null } },
    {
      name: 'a node that lives keeps what it holds',
      before: () => ({ nodes: zset({ n2: Date.now() - 90_000 }), 'held:n2': ttl(600, set(A)) }),
      alive: ['n2'],
      call: again(),
      reply: 'held',
    },
    { name: 'after the clock went back it was alive at most now', before: died(-600, A), call: again(), reply: 'admitted', after: { 'held:gone': null } },
  ]);

  test('the marks go with their node', async () => {
    await shard.seed({ nodes: zset({ n1: Date.now() }), 'held:n1': set(A) });
    await shard.call('node_leave');
    await shard.assertKeys({});
  });
});
