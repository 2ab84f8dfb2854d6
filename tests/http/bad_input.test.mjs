// SPDX-License-Identifier: MIT
//
// Hostile and broken clients: every one of them gets a clear 4xx, the node lives (sanitizers watch)
// and nothing of it is stored.
import assert from 'node:assert/strict';
import { assertOk, eventually, newTopic, suite } from '../support/harness.mjs';

const POSTS = {
  Frontend_1: ['/api/add-query', '/api/cancel-query', '/api/add-lookup', '/api/recommend'],
  Inference_1: ['/api/give-new-answer', '/api/give-partial', '/api/extend-claim', '/api/release-claim', '/api/give-new-matches'],
  Operator_1: ['/api/retry-query', '/api/drain-engine'],
};
const GETS = {
  Frontend_1: ['/api/check-query', '/api/get-topic-thread', '/api/user-topics', '/api/get-lookups'],
  Inference_1: ['/api/get-new-queries', '/api/get-new-lookup', '/api/get-recommendations'],
  Operator_1: ['/api/queue'],
};

// Keys that come and go on their own: nonces, and what nodes and engines say about themselves.
async function queueKeys(cluster) {
  const keys = await cluster.redis.cmd('KEYS', '*');
  return keys.filter((key) => /hostile/i.test(key));
}

suite('bad input', {}, ({ test, cluster }) => {
  async function assertAlive() {
    for (const node of [0, 1]) assertOk(await cluster.request('GET', '/api/login', { as: 'Operator_1', node }));
    cluster.checkSanitizers();
  }

  const long = 'hostile'.repeat(20_000);
  const values = [
    null,
    true,
    -1,
    1.5,
    1e308,
    -1e308,
    '',
    ' ',
    'hostile\u0000',
    'hostile\r\nX: y',
    '../hostile',
    long,
    [],
    {},
    [[]],
    { a: {} },
    ['hostile', 7],
  ];
  const members = [
    'Topic',
    'User',
    'Query',
    'Seq',
    'OnBehalfOf',
    'Fragment',
    'Count',
    'Threshold',
    'Lease',
    'Offset',
    'Think',
    'Answer',
    'Fingerprint',
    'Matches',
    'Reason',
    'Retry',
    'Comment',
    'Type',
    'Model',
    'Modifiers',
  ];

  for (const [as, paths] of Object.entries(POSTS)) {
    for (const path of paths) {
      test(`POST ${path} takes no member of a wrong kind`, async () => {
        for (const value of values) {
          const body = Object.fromEntries(members.map((member) => [member, value]));
          const { status, text } = await cluster.request('POST', path, { as, body });
          assert.ok(status >= 400 && status < 500, `${status} for ${JSON.stringify(value).slice(0, 60)}: ${text}`);
        }
        assert.deepEqual(await queueKeys(cluster), []);
        await assertAlive();
      });
    }
  }

  for (const [as, paths] of Object.entries(GETS)) {
    for (const path of paths) {
      test(`GET ${path} survives parameters of any kind`, async () => {
        const raws = [
          'Topic=%00&Seq=%00&Wait=%00',
          'Topic=%ff%fe&OnBehalfOf=%ff&After=%ff',
          'Topic=%&Seq=%zz&Wait=%1',
          '&&&==&=&Topic',
          'Topic[]=x&Topic=y&Topic=z',
          `Topic=${long.slice(0, 3000)}`,
          'Seq=1e9999&Wait=1e9999',
          'Wait=NaN&Seq=Infinity',
          'Models=,,,,&Engine=%0a',
          'State=%0d%0a&User=%00',
          '?'.repeat(50),
          '%'.repeat(51),
          `${'a=b&'.repeat(1000)}`,
        ];
        for (const raw of raws) {
          const { status, text } = await cluster.request('GET', path, {
            as,
            raw: `Wait=0&${raw}`.replace(/^Wait=0&(?=.*Wait=)/, ''),
          });
          assert.ok(status < 500, `${status} for ${raw.slice(0, 60)}: ${text}`);
        }
        await assertAlive();
      });
    }
  }

  test('headers without end are refused', async () => {
    const socket = await cluster.socket({ node: 0 });
    socket.write('GET /api/login HTTP/1.1\r\nHost: x\r\n');
    for (let i = 0; i < 200; i++) socket.write(`X-Filler-${i}: ${'y'.repeat(8000)}\r\n`);
    const { rest } = await socket.closed();
    if (rest) assert.match(rest, /^HTTP\/1\.1 4\d\d /);
    await assertAlive();
  });

  test(
    'a client that sends its headers byte by byte is cut off, and does not hold up others',
    async () => {
      const sockets = await Promise.all(Array.from({ length: 20 }, () => cluster.socket({ node: 0 })));
      let over = 0;
      const ends = sockets.map((socket) => socket.closed(60_000).then(() => (over += 1)));
      const drip = setInterval(() => sockets.forEach((socket) => socket.write('X')), 500);
      sockets.forEach((socket) => socket.write('GET / HTTP/1.1\r\nHost: x\r\nX-Slow: '));
      try {
        await assertAlive();
        await eventually(() => over === sockets.length, { ms: 50_000, every: 250, what: 'all slow clients are cut off' });
      } finally {
        clearInterval(drip);
        sockets.forEach((socket) => socket.abort());
        await Promise.all(ends);
      }
      await assertAlive();
    },
    { ms: 90_000 },
  );

  test(
    'a body that never comes is given up on',
    async () => {
      const socket = await cluster.socket({ node: 0 });
      socket.write(
        `POST ${cluster.path('/api/add-query', { as: 'Frontend_1' })} HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{"Topic":`,
      );
      await socket.closed(50_000);
      socket.abort();
      await assertAlive();
    },
    { ms: 90_000 },
  );

  test('garbage pipelined behind a good request does not reach the next one', async () => {
    const socket = await cluster.socket({ node: 0 });
    const topic = newTopic('hostile');
    const body = JSON.stringify({ Topic: topic, User: 'alice', Query: 'Why?' });
    socket.write(
      `GET ${cluster.path('/api/login', { as: 'User_1' })} HTTP/1.1\r\nHost: x\r\n\r\n\x00\x01garbage ${body}\r\n\r\n`,
    );
    assert.equal((await socket.response()).status, 200);
    const { rest } = await socket.closed();
    if (rest) assert.match(rest, /^HTTP\/1\.1 400 /);
    socket.abort();
    assert.equal((await cluster.checkRaw({ Topic: topic })).status, 404);
    await assertAlive();
  });

  for (const [how, head] of [
    ['told twice', 'Content-Length: 0\r\nContent-Length: LEN'],
    ['told twice, the other way round', 'Content-Length: LEN\r\nContent-Length: 0'],
    ['told and chunked as well', 'Content-Length: LEN\r\nTransfer-Encoding: chunked'],
    ['told behind a list of codings', 'Transfer-Encoding: chunked, identity\r\nContent-Length: LEN'],
    ['told behind an unknown coding', 'Transfer-Encoding: xchunked\r\nContent-Length: LEN'],
  ]) {
    test(`a body whose length is ${how} never becomes a request of its own`, async () => {
      const topic = newTopic('hostile');
      const body = JSON.stringify({ Topic: topic, User: 'alice', Query: 'Why?' });
      const path = cluster.path('/api/add-query', { as: 'Frontend_1' });
      const inner = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      const socket = await cluster.socket({ node: 0 });
      socket.write(`POST /api/login HTTP/1.1\r\nHost: x\r\n${head.replace('LEN', inner.length)}\r\n\r\n${inner}`);
      socket.end();
      await socket.closed();
      socket.abort();
      assert.equal((await cluster.checkRaw({ Topic: topic })).status, 404, 'the inner request was not served');
      await assertAlive();
    });
  }

  test('clients that leave at every moment leave nothing behind', async () => {
    for (let i = 0; i < 60; i++) {
      const kind = i % 4;
      const request =
        kind === 0
          ? cluster.claimOpen({ wait: 30 })
          : kind === 1
            ? cluster.checkOpen({ Topic: newTopic(), wait: 30 })
            : kind === 2
              ? cluster.open('GET', '/api/login', { as: 'User_1' })
              : cluster.open('GET', '/api/get-new-lookup', { as: 'Inference_1', query: { Wait: 30 } });
      if (i % 3) await request.sent;
      if (i % 2) await new Promise((resolve) => setImmediate(resolve));
      request.abort();
    }
    const { Topic } = await cluster.add();
    const claim = await cluster.claim({ as: 'Inference_2', wait: 10 });
    assert.equal(claim.Topic, Topic, 'no dead client holds the query');
    await assertAlive();
  });
});
