// SPDX-License-Identifier: MIT
//
// token_viewers: clients that follow answers and are cut off again and again, each time continuing at any node:
//
//   const steps = await view(cluster, { Topic, Seq }, { cuts, draw, isOver });
//
// Resolves with the history that token_checker.mjs reads, once the end was seen and no cut is left. Most cuts come while the
// answer is written; what is left of them then follows its end: with the last id, or from the start.
import { setTimeout as sleep } from 'node:timers/promises';

const EVENTS_MAX = 4; // between two cuts
const RETRY_MS = 100;
const SILENT_MS = 90_000;

const open = (cluster, { Topic, Seq }, node, id) =>
  cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq }, node, headers: id === undefined ? {} : { 'Last-Event-ID': id } });

// Reads up to `most` events. Returns whether the end was among them.
async function read(stream, steps, most) {
  for (let n = 0; n < most; n++) {
    const event = await stream.next(SILENT_MS);
    if (event === null) return false; // its node is dead
    steps.push({ event: event.event, id: event.id, data: event.data });
    if (event.event === 'done') return true;
  }
  return false;
}

export async function view(cluster, question, { cuts, draw, isOver = () => false }) {
  const steps = [];
  let left = cuts;
  let last;
  while (!isOver()) {
    let stream;
    try {
      stream = await open(cluster, question, draw(cluster.nodes.length), last);
    } catch {
      await sleep(RETRY_MS); // its node is dead
      continue;
    }
    if (stream.status === 200) {
      steps.push({ open: last });
      const isDone = await read(stream, steps, left > 0 ? 1 + draw(EVENTS_MAX) : Infinity);
      if (isDone && left === 0) return steps;
      if (left > 0) left--;
      last = isDone && draw(4) === 0 ? undefined : (steps.findLast((step) => step.id !== undefined || 'open' in step)?.id ?? last);
    } else {
      await sleep(RETRY_MS); // it has no Redis
    }
    stream.abort();
  }
  return steps;
}
