// SPDX-License-Identifier: MIT
//
// A resumed stream sends the rest, from any byte on, and its ids keep rising.
import assert from 'node:assert/strict';
import { assertOk, suite } from '../support/harness.mjs';

// What a client shows that adds token to token and takes reset for the whole.
function shownOf(events) {
  let text = '';
  for (const { event, data } of events) {
    if (event === 'token') text += data.text;
    if (event === 'reset') text = data.text;
    if (event === 'restart') text = '';
  }
  return text;
}

const numbersOf = (id) => id.split('-').map(Number);

function assertBehind(id, before, what) {
  const [claim, offset] = numbersOf(id);
  const [seenClaim, seenOffset] = numbersOf(before);
  assert.ok(claim > seenClaim || (claim === seenClaim && offset > seenOffset), `${what}: ${id} is behind ${before}`);
}

suite('streams that are taken up again', {}, ({ test, cluster }) => {
  const open = (Topic, id, node) =>
    cluster.stream('/api/check-query', {
      as: 'Frontend_1',
      query: { Topic, Seq: 1 },
      node,
      headers: id === undefined ? {} : { 'Last-Event-ID': id },
    });

  async function answered({ partials, Answer, Think }) {
    const { Topic } = await cluster.add();
    const { Lease } = await cluster.claim({ detail: true });
    let Offset = 0;
    for (const text of partials) {
      assertOk(
        await cluster.request('POST', '/api/give-partial', {
          as: 'Inference_1',
          body: { Topic, Lease, Seq: 1, Offset, Answer: text },
        }),
      );
      Offset += Buffer.byteLength(text);
    }
    const first = await open(Topic, undefined, 0);
    const seen = [];
    for (const _ of partials) seen.push(await first.next());
    await cluster.answer({ Topic, Lease, Seq: 1, Answer, Think });
    seen.push(...(await first.until('done')));
    return { Topic, seen };
  }

  for (const [what, row] of Object.entries({
    'whose pieces were the whole answer': { partials: ['One. ', 'Two.'], Answer: ['One. Two.'] },
    'whose end came with the answer': { partials: ['One. '], Answer: ['One. Two.'] },
    'that came all at once': { partials: [], Answer: ['One. Two.'], Think: ['Hm.'] },
    'whose pieces were something else': { partials: ['Three'], Answer: ['One. Two.'] },
  })) {
    test(`an answer ${what} is the same wherever its reader was cut off`, async () => {
      const { Topic, seen } = await answered(row);
      assert.equal(shownOf(seen), 'One. Two.');
      for (let i = 0; i < seen.length; i++) {
        const had = seen.slice(0, i + 1);
        const last = had.findLast(({ id }) => id !== undefined)?.id;
        const again = await open(Topic, last, 1);
        const rest = await again.until('done');
        await again.ended();
        assert.equal(shownOf([...had, ...rest]), 'One. Two.', `cut off behind ${last}`);
        let before = last;
        for (const { id, event } of rest) {
          assert.equal(id !== undefined, ['think', 'token'].includes(event), `id of ${event}`);
          if (id === undefined) continue;
          if (before !== undefined) assertBehind(id, before, event);
          before = id;
        }
      }
    });
  }

  test('a reader that was cut off at any byte gets the rest, on either node', async () => {
    const text = 'Añ🦜 — 42.';
    const { Topic } = await answered({ partials: [text.slice(0, 4), text.slice(4)], Answer: [text] });
    const bytes = Buffer.from(text);
    for (let offset = 0; offset <= bytes.length; offset++) {
      if ((bytes[offset] & 0xc0) === 0x80) continue;
      const rest = await (await open(Topic, `1-${offset}`, offset % 2)).until('done');
      assert.equal(shownOf(rest), bytes.subarray(offset).toString(), `from byte ${offset}`);
    }
  });

  // A claim that is given back with Away, or tried again by an operator, uses no attempt: its texts must not be joined with
  // those of the next one.
  for (const [how, end] of Object.entries({
    'whose engine goes away': async (row) =>
      assertOk(await cluster.request('POST', '/api/release-claim', { as: 'Inference_1', body: { ...row, Reason: 'off', Away: true } })),
    'that an operator tries again': async ({ Topic, Lease }) => {
      assertOk(await cluster.request('POST', '/api/release-claim', { as: 'Inference_1', body: { Topic, Lease, Reason: 'no', Retry: false } }));
      assertOk(await cluster.request('POST', '/api/retry-query', { as: 'Operator_1', body: { Topic, Seq: 1 } }));
    },
  })) {
    test(`a claim ${how} is another one than the next: restart`, async () => {
      const give = (row, Answer) => cluster.request('POST', '/api/give-partial', { as: 'Inference_1', body: { ...row, Seq: 1, Offset: 0, Answer } });
      const { Topic } = await cluster.add();
      const first = { Topic, Lease: (await cluster.claim({ detail: true })).Lease };
      assertOk(await give(first, 'False start'));
      const stream = await open(Topic);
      const { id } = await stream.next();
      assert.equal(id, '1-11');
      stream.abort();
      await end(first);
      const second = { Topic, Lease: (await cluster.claim({ detail: true })).Lease };
      assertOk(await give(second, 'False again'));
      await cluster.answer({ ...second, Seq: 1, Answer: ['False again.'] });
      const rest = await (await open(Topic, id, 1)).until('done');
      assert.deepEqual(rest.slice(0, -1).map(({ event, id: of, data }) => [event, of, data.text]), [
        ['restart', undefined, undefined],
        ['token', '2-11', 'False again'],
        ['token', '2-12', '.'],
      ]);
    });
  }

  test('a malformed id is ignored', async () => {
    const { Topic } = await answered({ partials: ['One.'], Answer: ['One.'] });
    for (const id of ['x', '1', '1-', '-1', '1-x', '99999999999999999999-1']) {
      const events = await (await open(Topic, id)).until('done');
      assert.equal(shownOf(events), 'One.', id);
    }
  });
});
