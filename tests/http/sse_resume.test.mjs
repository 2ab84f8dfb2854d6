// SPDX-License-Identifier: MIT
//
// A resumed stream sends the rest, and its ids keep rising.
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
  const [attempt, n] = numbersOf(id);
  const [seenAttempt, seenN] = numbersOf(before);
  assert.ok(attempt > seenAttempt || (attempt === seenAttempt && n > seenN), `${what}: ${id} is behind ${before}`);
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
      Offset += text.length;
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
        const last = seen[i].id;
        const again = await open(Topic, last, 1);
        const rest = await again.until('done');
        await again.ended();
        assert.equal(shownOf([...had, ...rest]), 'One. Two.', `cut off behind ${last}`);
        let before = last;
        for (const { id, event } of rest) {
          assertBehind(id, before, event);
          before = id;
        }
      }
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
