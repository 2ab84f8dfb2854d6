// SPDX-License-Identifier: MIT
//
// GET /api/check-query with Accept: text/event-stream.
import assert from 'node:assert/strict';
import { assertMembers, assertOk, newTopic, suite } from '../support/harness.mjs';
import { SHARDS, topicOn } from '../support/shards.mjs';

const textOf = (events, name) =>
  events
    .filter(({ event }) => event === name)
    .map(({ data }) => data.text)
    .join('');

// Thoughts and texts have ids <claim>-<bytes of all their text so far>, and nothing else has one.
function assertIds(events) {
  let [claim, offset] = [0, 0];
  for (const { id, event, data } of events) {
    const isText = ['think', 'token'].includes(event);
    assert.equal(id !== undefined, isText, `id of ${event}`);
    if (!isText) continue;
    assert.match(id, /^\d+-\d+$/, `id of ${event}`);
    const next = id.split('-').map(Number);
    assert.ok(next[0] >= claim, `${claim} <= ${id}`);
    if (next[0] > claim) [claim, offset] = [next[0], 0];
    offset += Buffer.byteLength(data.text);
    assert.equal(next[1], offset, id);
  }
}

suite('check-query as a stream', {}, ({ test, cluster }) => {
  const open = (query, options = {}) =>
    cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Seq: 1, ...query }, ...options });
  const give = async (row, Offset, more) =>
    assertOk(
      await cluster.request('POST', '/api/give-partial', { as: 'Inference_1', body: { ...row, Seq: 1, Offset, ...more } }),
    );

  async function claimed() {
    const { Topic } = await cluster.add();
    const { Lease } = await cluster.claim({ detail: true });
    return { Topic, Lease };
  }

  test('it is a stream for those who ask for one rather than for JSON, or by its name', async () => {
    const { Topic } = await cluster.add();
    await cluster.claim();
    await cluster.answer({ Topic, Seq: 1 });
    const [STREAM, JSON_] = ['text/event-stream', 'application/json'];
    for (const [accept, type] of [
      ['text/event-stream', STREAM],
      ['Text/Event-Stream', STREAM],
      ['text/*', STREAM],
      ['application/json, text/event-stream', STREAM],
      ['application/json;q=0.8, text/event-stream;q=0.9', STREAM],
      ['*/*;q=0.1, text/event-stream', STREAM],
      ['application/json, text/event-stream;q=0.5', JSON_],
      ['text/event-stream;q=0', JSON_],
      ['text/event-stream;q=0, */*', JSON_],
      ['*/*', JSON_],
      ['text/event-streams', JSON_],
    ]) {
      for (const node of [0, 1]) {
        const response = await cluster.checkRaw({ Topic, node, headers: { Accept: accept } });
        assert.ok(response.headers['content-type'].startsWith(type), `${accept}: ${response.headers['content-type']}`);
      }
    }
  });

  test('the headers keep proxies from holding events back', async () => {
    const { Topic } = await cluster.add();
    const stream = await open({ Topic });
    assert.equal(stream.status, 200);
    assert.match(stream.headers['content-type'], /^text\/event-stream\b/);
    assert.equal(stream.headers['cache-control'], 'no-cache, no-transform');
    assert.equal(stream.headers['x-accel-buffering'], 'no');
    stream.abort();
  });

  test('while the query is Open the stream sends its position in the queue', async () => {
    await cluster.add({ Topic: topicOn(0), User: 'alice' });
    const { Topic } = await cluster.add({ Topic: topicOn(0), User: 'alice' });
    const stream = await open({ Topic });
    const first = await stream.next();
    assert.equal(first.event, 'queue');
    assertMembers(first.data, ['Position', 'EtaSeconds']);
    assert.equal(first.data.Position, SHARDS);
    stream.abort();
  });

  test('a comment comes within the first seconds', async () => {
    const { Topic } = await cluster.add();
    const stream = await open({ Topic });
    assert.ok(await stream.nextComment(10_000));
    stream.abort();
  });

  test('thoughts and tokens come as they are given, then done with the plain answer, and the end', async () => {
    const row = await claimed();
    const stream = await open({ Topic: row.Topic }, { node: 0 });
    await give(row, 0, { Think: 'Hm, ' });
    const think = await stream.next();
    assert.equal(think.event, 'think');
    assert.deepEqual(think.data, { text: 'Hm, ' });
    await give(row, 4, { Think: 'well.' });
    const more = await stream.next();
    assert.equal(more.data.text, 'well.');
    await give(row, 9, { Answer: 'Be' });
    const token = await stream.next();
    assert.equal(token.event, 'token');
    assert.deepEqual(token.data, { text: 'Be' });
    await give(row, 11, { Answer: 'cause 你好🦜.' });
    await cluster.answer({ ...row, Seq: 1, Think: ['Hm, well.'], Answer: ['Because 你好🦜.'], node: 1 });
    const rest = await stream.until('done');
    assert.equal(`Be${textOf(rest, 'token')}`, 'Because 你好🦜.');
    assert.deepEqual(rest.at(-1).data, (await cluster.checkRaw({ Topic: row.Topic })).json);
    assertIds([think, more, token, ...rest]);
    await stream.ended();
  });

  test('two readers on two nodes read the same', async () => {
    const row = await claimed();
    const streams = await Promise.all([0, 1].map((node) => open({ Topic: row.Topic }, { node })));
    for (let i = 0; i < 10; i++) await give(row, i, { Answer: String(i) });
    await cluster.answer({ ...row, Seq: 1, Answer: ['0123456789'] });
    for (const stream of streams) {
      const events = await stream.until('done');
      assert.equal(textOf(events, 'token'), '0123456789');
      assertIds(events);
    }
  });

  test('an answer that no partial announced comes as text as well', async () => {
    const row = await claimed();
    const stream = await open({ Topic: row.Topic });
    await cluster.answer({ ...row, Seq: 1, Think: ['hm'], Answer: ['all at once'] });
    const events = await stream.until('done');
    assert.equal(textOf(events, 'token'), 'all at once');
    assert.equal(textOf(events, 'think'), 'hm');
    assert.deepEqual(events.at(-1).data.Answer, ['all at once']);
  });

  test('the end of an answer that partials did not carry comes as text, too', async () => {
    const row = await claimed();
    const stream = await open({ Topic: row.Topic });
    await give(row, 0, { Answer: 'The first half' });
    await cluster.answer({ ...row, Seq: 1, Answer: ['The first half and the second.'] });
    assert.equal(textOf(await stream.until('done'), 'token'), 'The first half and the second.');
  });

  test('a stream that is opened after the answer has it at once', async () => {
    const row = await claimed();
    await cluster.answer({ ...row, Seq: 1, Answer: ['there'] });
    const stream = await open({ Topic: row.Topic });
    const events = await stream.until('done');
    assert.equal(textOf(events, 'token'), 'there');
    assert.deepEqual(events.at(-1).data, (await cluster.checkRaw({ Topic: row.Topic })).json);
    await stream.ended();
  });

  test('a stream that is opened in the middle has what was said so far', async () => {
    const row = await claimed();
    await give(row, 0, { Answer: 'One. ' });
    await give(row, 5, { Answer: 'Two. ' });
    const stream = await open({ Topic: row.Topic });
    await give(row, 10, { Answer: 'Three.' });
    await cluster.answer({ ...row, Seq: 1, Answer: ['One. Two. Three.'] });
    assert.equal(textOf(await stream.until('done'), 'token'), 'One. Two. Three.');
  });

  for (const how of ['Last-Event-ID', 'after']) {
    test(`${how} continues where a reader was cut off, on the other node`, async () => {
      const row = await claimed();
      const first = await open({ Topic: row.Topic }, { node: 0 });
      await give(row, 0, { Answer: 'One. ' });
      await give(row, 5, { Answer: 'Two. ' });
      const seen = [await first.next(), await first.next()];
      assert.equal(textOf(seen, 'token'), 'One. Two. ');
      first.abort();
      await give(row, 10, { Answer: 'Three. ' });
      const { id } = seen.at(-1);
      const second = await open(
        { Topic: row.Topic, after: how === 'after' ? id : undefined },
        { node: 1, headers: how === 'after' ? {} : { 'Last-Event-ID': id } },
      );
      await give(row, 17, { Answer: 'Four.' });
      await cluster.answer({ ...row, Seq: 1, Answer: ['One. Two. Three. Four.'] });
      const rest = await second.until('done');
      assert.equal(textOf([...seen, ...rest], 'token'), 'One. Two. Three. Four.', 'nothing twice, nothing lost');
      assertIds([...seen, ...rest]);
    });
  }

  test('when an attempt is lost the reader gets `restart` and clears the text', async () => {
    const row = await claimed();
    const stream = await open({ Topic: row.Topic });
    await give(row, 0, { Answer: 'False start' });
    assert.equal((await stream.next()).data.text, 'False start');
    await cluster.request('POST', '/api/release-claim', {
      as: 'Inference_1',
      body: { Topic: row.Topic, Lease: row.Lease, Reason: 'crash' },
    });
    const again = await cluster.claim({ as: 'Inference_2', detail: true });
    assert.equal(again.Topic, row.Topic);
    assertOk(
      await cluster.request('POST', '/api/give-partial', {
        as: 'Inference_2',
        body: { Topic: row.Topic, Seq: 1, Lease: again.Lease, Offset: 0, Answer: 'Now then' },
      }),
    );
    await cluster.answer({ as: 'Inference_2', Topic: row.Topic, Seq: 1, Lease: again.Lease, Answer: ['Now then'] });
    const events = await stream.until('done');
    const restart = events.findIndex(({ event }) => event === 'restart');
    assert.ok(restart >= 0, 'restart is sent');
    assert.equal(textOf(events.slice(0, restart), 'token'), '');
    assert.equal(textOf(events.slice(restart), 'token'), 'Now then');
    assertIds(events);
  });

  test('a cancelled or failed query ends the stream and says why', async () => {
    for (const Status of ['Cancelled', 'Failed']) {
      const row = await claimed();
      const stream = await open({ Topic: row.Topic });
      if (Status === 'Cancelled') {
        assertOk(await cluster.request('POST', '/api/cancel-query', { as: 'Frontend_1', body: { Topic: row.Topic, Seq: 1 } }));
      } else {
        await cluster.request('POST', '/api/release-claim', {
          as: 'Inference_1',
          body: { Topic: row.Topic, Lease: row.Lease, Reason: 'no', Retry: false },
        });
      }
      await stream.ended();
      const last = (await stream.rest()).at(-1);
      assert.ok(['done', 'error'].includes(last.event), `it ends with ${last.event}`);
      assert.equal(last.data.Status, Status);
      assert.equal(typeof last.data.Reason, 'string');
    }
  });

  test('an unknown topic, wrong credentials, a malformed Seq: the plain error, no stream', async () => {
    const unknown = await open({ Topic: newTopic() });
    assert.equal(unknown.status, 404);
    assert.equal((await unknown.problem()).code, 'not_found');
    const unsigned = await open({ Topic: newTopic() }, { as: undefined });
    assert.equal(unsigned.status, 401);
    unsigned.abort();
    const malformed = await open({ Topic: newTopic(), Seq: 'x' });
    assert.equal(malformed.status, 400);
    malformed.abort();
  });

  test('a user reads the streams of its own topics only', async () => {
    const { Topic } = await cluster.add({ as: 'User_1' });
    const own = await open({ Topic }, { as: 'User_1' });
    assert.equal(own.status, 200);
    own.abort();
    const other = await open({ Topic }, { as: 'User_2' });
    assert.equal(other.status, 404);
    other.abort();
  });

  test('a reader that leaves takes nothing along', async () => {
    const row = await claimed();
    const leaving = await Promise.all([0, 1, 0, 1].map((node) => open({ Topic: row.Topic }, { node })));
    const staying = await open({ Topic: row.Topic });
    leaving.forEach((stream) => stream.abort());
    await give(row, 0, { Answer: 'x' });
    await cluster.answer({ ...row, Seq: 1, Answer: ['x'] });
    assert.equal(textOf(await staying.until('done'), 'token'), 'x');
  });

  test('a reader that reads nothing holds up neither the answer nor other readers', async () => {
    const row = await claimed();
    const slow = await cluster.socket({ node: 0 });
    const path = cluster.path('/api/check-query', { as: 'Frontend_1', query: { Topic: row.Topic, Seq: 1 } });
    slow.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n`);
    slow.pause();
    const quick = await open({ Topic: row.Topic }, { node: 0 });
    const piece = 'y'.repeat(200_000);
    for (let i = 0; i < 4; i++) await give(row, i * piece.length, { Answer: piece });
    await cluster.answer({ ...row, Seq: 1, Answer: [piece.repeat(4)] });
    assert.equal(textOf(await quick.until('done'), 'token').length, 800_000);
    slow.abort();
  });
});
