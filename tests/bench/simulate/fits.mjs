// SPDX-License-Identifier: MIT
//
// fits: how a figure grows with nodes and shards: a sum of a constant, nodes, shards, nodes × shards and syncs with factors that are not
// negative, by least squares of relative errors. Of the fits whose error is within a tenth of the best, the one with the fewest terms.

// Syncs of all nodes in a second, by the rule of lua/queue/pace.lua; unpaced as before it.
export function syncsOf({ nodes, shards, unpaced = false }) {
  const few = shards === 1 ? nodes / 5 : nodes;
  return shards * (unpaced ? few : Math.min(few, Math.max(8, nodes / 15)));
}

const TERMS = {
  constant: () => 1,
  nodes: ({ nodes }) => nodes,
  shards: ({ shards }) => shards,
  syncs: syncsOf,
  'nodes × shards': ({ nodes, shards }) => nodes * shards,
};

// Gaussian elimination; null if the terms cannot be told apart.
function solve(matrix, vector) {
  const rows = matrix.map((row, i) => [...row, vector[i]]);
  for (let i = 0; i < rows.length; i++) {
    const pivot = rows.slice(i).reduce((best, row) => (Math.abs(row[i]) > Math.abs(best[i]) ? row : best));
    if (Math.abs(pivot[i]) < 1e-12) return null;
    rows.splice(rows.indexOf(pivot), 1, rows[i]);
    rows[i] = pivot.map((x) => x / pivot[i]);
    rows.forEach((row, j) => {
      if (j !== i) rows[j] = row.map((x, k) => x - row[i] * rows[i][k]);
    });
  }
  return rows.map((row) => row.at(-1));
}

function fitOf(points, names) {
  const xs = points.map((point) => names.map((name) => TERMS[name](point) / point.value));
  const matrix = names.map((_, i) => names.map((_, j) => xs.reduce((sum, x) => sum + x[i] * x[j], 0)));
  const factors = solve(matrix, names.map((_, i) => xs.reduce((sum, x) => sum + x[i], 0)));
  if (!factors || factors.some((factor) => factor < 0)) return null;
  const errors = xs.map((x) => Math.abs(1 - x.reduce((sum, one, i) => sum + one * factors[i], 0)));
  return { factors: Object.fromEntries(names.map((name, i) => [name, factors[i]])), error: Math.sqrt(errors.reduce((sum, one) => sum + one * one, 0) / errors.length), worst: Math.max(...errors) };
}

// points: [{nodes, shards, value}]. Returns {factors: {term: factor}, error, worst}: relative errors.
export function fit(points) {
  const all = Object.keys(TERMS);
  const fits = [];
  for (let bits = 1; bits < 1 << all.length; bits++) {
    const found = fitOf(points, all.filter((_, i) => bits & (1 << i)));
    if (found) fits.push(found);
  }
  const best = Math.min(...fits.map(({ error }) => error));
  return fits.filter(({ error }) => error <= best * 1.1 + 0.01).sort((a, b) => Object.keys(a.factors).length - Object.keys(b.factors).length || a.error - b.error)[0];
}
