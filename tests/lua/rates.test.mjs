// SPDX-License-Identifier: MIT
//
// What nodes state of their accounts' requests and nonces, and receive of the others'.
import assert from 'node:assert/strict';
import { ago, lines, scripts, ttl } from '../support/lua.mjs';

const day = () => Math.floor(Date.now() / 86_400_000);
const statedAs = (perS) => (found) => ago()(found.split(' ')[0]) && found.endsWith(` ${perS}`);
const said = (...rest) => (reply) => {
  const [left, ...found] = reply.split('\n');
  return Number(left) > 0 && Number(left) <= 86_400 && lines(...found) === lines(...rest);
};

scripts('rates', ({ cases, test }) => {
  cases([
    {
      name: 'a node alone hears of nobody else, and its statement expires',
      call: ['rates', 'A', 50, 0],
      reply: said('0 0'),
      after: { 'rate:A': ttl(10, { n1: statedAs(50) }) },
    },
    {
      name: 'what other nodes stated lately is summed, not its own, and what is old is gone',
      before: () => ({ 'rate:A': ttl(10, { n1: `${Date.now()} 7`, n2: `${Date.now()} 20`, n3: `${Date.now() - 9000} 3`, n4: `${Date.now() - 20_000} 1000` }) }),
      call: ['rates', 'A', 50, 0],
      reply: said('23 0'),
      after: () => ({ 'rate:A': ttl(10, { n1: statedAs(50), n2: statedAs(20), n3: (found) => found.endsWith(' 3') }) }),
    },
    {
      name: 'nonces of all nodes are counted by day and account, each account by itself',
      before: () => ({ [`nonce_counts:${day()}`]: ttl(1000, { A: '5', B: '7' }) }),
      call: ['rates', 'A', 0, 10, 'B', 0, 0, 'C', 0, 2],
      reply: said('0 15', '0 7', '0 2'),
      after: () => ({ [`nonce_counts:${day()}`]: ttl(1000, { A: '15', B: '7', C: '2' }) }),
    },
    {
      name: 'counts of a day expire after two',
      call: ['rates', 'A', 0, 1],
      reply: said('0 1'),
      after: () => ({ [`nonce_counts:${day()}`]: ttl(172_800, { A: '1' }) }),
    },
    { name: 'who states nothing leaves nothing', call: ['rates', 'A', 0, 0], reply: said('0 0') },
  ]);

  test('three hundred accounts in one call', async (shard) => {
    const args = Array.from({ length: 300 }, (_, i) => [`A${i}`, i + 1, 1]).flat();
    const { replies } = await shard.turn([['rates', ...args]], { node: 'n2' });
    assert.equal(replies[0].split('\n').length, 301);
    const again = await shard.turn([['rates', ...args]]);
    assert.deepEqual(again.replies[0].split('\n').slice(1, 4), ['1 2', '2 2', '3 2']);
  });
});
