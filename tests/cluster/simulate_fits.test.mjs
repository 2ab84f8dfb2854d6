// SPDX-License-Identifier: MIT
//
// The fits of the simulation find what a figure was made of.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fit, syncsOf } from '../bench/simulate/fits.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // nothing runs

const pointsOf = (value) => [1, 8, 64, 1000].flatMap((nodes) => [1, 8, 64].map((shards) => ({ nodes, shards, value: value(nodes, shards) })));

describe('syncs of all nodes', () => {
  const EXPECTED = [[1, 1, 0.2], [1, 64, 64], [8, 8, 64], [40, 1, 8], [100, 8, 64], [120, 64, 512], [1000, 64, 64_000 / 15]];
  for (const [nodes, shards, calls] of EXPECTED) it(`${nodes} nodes, ${shards} shards`, () => assert.equal(syncsOf({ nodes, shards }).toFixed(6), calls.toFixed(6)));
  it('as before they were paced', () => assert.equal(syncsOf({ nodes: 1000, shards: 64, unpaced: true }), 64_000));
});

describe('fits', () => {
  const MADE = {
    'of a constant': [() => 7, { constant: 7 }],
    'of shards': [(_, shards) => 8 * shards, { shards: 8 }],
    'of nodes and shards': [(nodes, shards) => 0.5 * nodes + 3 * shards, { nodes: 0.5, shards: 3 }],
    'of their product': [(nodes, shards) => nodes * shards, { 'nodes × shards': 1 }],
    'of syncs': [(nodes, shards) => 1.5 * syncsOf({ nodes, shards }), { syncs: 1.5 }],
    'of a product and a constant': [(nodes, shards) => 100 + nodes * shards / 15, { constant: 100, 'nodes × shards': 1 / 15 }],
  };
  for (const [name, [value, factors]] of Object.entries(MADE)) {
    it(name, () => {
      const found = fit(pointsOf(value));
      assert.deepEqual(Object.keys(found.factors), Object.keys(factors));
      for (const [term, factor] of Object.entries(factors)) assert.ok(Math.abs(found.factors[term] - factor) < 1e-6 * factor, `${term}: ${found.factors[term]}`);
      assert.ok(found.worst < 1e-6);
    });
  }
});
