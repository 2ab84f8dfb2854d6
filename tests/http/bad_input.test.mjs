// SPDX-License-Identifier: MIT
//
// Hostile and broken clients: every one of them gets a clear 4xx, a problem document where HTTP was
// understood, the node lives (sanitizers watch) and nothing of it is stored.
import assert from 'node:assert/strict';
import http2 from 'node:http2';
import { assertOk, assertProblem, eventually, newTopic, suite } from '../support/harness.mjs';

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

// Keys that change with any request, or on their own: nonces, counts, and what nodes and engines say
// about themselves.
const ON_THEIR_OWN = /:(nonces:.*|nodes|node_info|engines|polls|stat:.*|idle|failures:.*|lookup_nodes)$/;

// The value of a key in a form that compares. Of running claims (leases) only which they are: their
// deadlines move when a delivery is confirmed.
async function valueOf(redis, key) {
  const pairs = (list) => list.flatMap((name, i) => (i % 2 ? [] : [`${name} = ${list[i + 1]}`])).sort();
  switch (await redis.cmd('TYPE', key)) {
    case 'hash':
      return pairs(await redis.cmd('HGETALL', key));
    case 'zset':
      return key.endsWith(':leases') ? (await redis.cmd('ZRANGE', key, 0, -1)).sort() : pairs(await redis.cmd('ZRANGE', key, 0, -1, 'WITHSCORES'));
    case 'set':
      return (await redis.cmd('SMEMBERS', key)).sort();
    case 'string':
      return redis.cmd('GET', key);
    default:
      return redis.cmd('DUMP', key);
  }
}

// Everything else that is stored, by key.
async function stored(cluster) {
  const keys = (await cluster.redis.cmd('KEYS', '*')).filter((key) => !ON_THEIR_OWN.test(key)).sort();
  return Promise.all(keys.map(async (key) => [key, await valueOf(cluster.redis, key)]));
}

// Runs body() and fails if it left a trace.
async function leavesNoTrace(cluster, body) {
  const before = await stored(cluster);
  await body();
  const now = await stored(cluster);
  assert.deepEqual(
    now.map(([key]) => key),
    before.map(([key]) => key),
    'no key came or went',
  );
  for (const [i, [key, value]] of before.entries()) assert.deepEqual(now[i][1], value, `${key} is what it was`);
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
        await leavesNoTrace(cluster, async () => {
          for (const value of values) {
            const body = Object.fromEntries(members.map((member) => [member, value]));
            const response = await cluster.request('POST', path, { as, body });
            const { status, text } = response;
            assert.ok(status >= 400 && status < 500, `${status} for ${JSON.stringify(value).slice(0, 60)}: ${text}`);
            assertProblem(response, status);
          }
        });
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
        await leavesNoTrace(cluster, async () => {
          for (const raw of raws) {
            const { status, text } = await cluster.request('GET', path, {
              as,
              raw: `Wait=0&${raw}`.replace(/^Wait=0&(?=.*Wait=)/, ''),
            });
            assert.ok(status < 500, `${status} for ${raw.slice(0, 60)}: ${text}`);
          }
        });
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

suite('bad members', {}, ({ test, cluster }) => {
  const OVER = 'x'.repeat(256 * 1024 + 1);
  const topics = [undefined, null, 7, true, [], {}, '', ' ', 'a b', 'a\tb', 'x'.repeat(129), 'ä'.repeat(65)];
  const seqs = [undefined, null, '1', true, [], {}, -1, 1.5, 2 ** 31, 1e300];
  const texts = [undefined, null, 7, true, [], {}, '', OVER];
  const optional = [7, true, [], {}, OVER];
  const leases = [undefined, null, true, [], {}, -1, 0, 1.5, '', 'x', '1 2', '9'.repeat(30)];

  // Each route with a body that it takes, and for each member what it must not take there.
  const routes = {
    '/api/add-query': {
      as: 'Frontend_1',
      good: { User: 'alice', Query: 'Why?', Modifiers: {}, Model: 'default' },
      bad: {
        Topic: topics,
        User: [undefined, null, 7, true, [], {}, '', 'x'.repeat(129)],
        Query: texts,
        Modifiers: ['x', 7, true, []],
        Model: [7, true, [], {}, 'x'.repeat(129)],
      },
    },
    '/api/cancel-query': { as: 'Frontend_1', good: { Seq: 1 }, bad: { Topic: topics, Seq: [...seqs, 0] } },
    '/api/add-lookup': {
      as: 'Frontend_1',
      good: { Seq: 1, Fragment: 'A sentence.', Count: 5, Threshold: 1 },
      bad: {
        Topic: topics,
        Seq: [...seqs, 0],
        Fragment: texts,
        Count: ['5', true, [], {}, 0, 101, 1.5, -1],
        Threshold: ['1', true, [], {}, -0.1, 2.1, 1e300],
      },
    },
    '/api/recommend': {
      as: 'Frontend_1',
      good: { OnBehalfOf: 'alice', Query: 'Why?', Fragment: 'f', Comment: 'c', Type: 'Promote Answer' },
      bad: {
        Topic: topics,
        OnBehalfOf: [undefined, null, 7, true, [], {}, '', 'x'.repeat(129)],
        Query: optional,
        Fragment: optional,
        Comment: optional,
        Type: [undefined, null, 7, [], {}, '', 'promote answer', 'Promote Answer\u0000', OVER],
      },
    },
    '/api/give-new-answer': {
      as: 'Inference_1',
      good: { Seq: 1, Query: 'Why?', Think: ['hm'], Answer: ['42'], Model: 'm' },
      bad: {
        Topic: topics,
        Seq: seqs,
        Query: texts,
        Think: [7, true, {}, [7], [null], [['x']]],
        Answer: [undefined, null, 7, true, {}, [], [7], ['x', null], [['x']]],
        Lease: [7, true, [], {}, 'x'.repeat(21)],
        Model: [7, true, [], {}, 'x'.repeat(129)],
      },
    },
    '/api/give-partial': {
      as: 'Inference_1',
      good: { Seq: 1, Offset: 0, Think: 't', Answer: 'a' },
      bad: {
        Topic: topics,
        Seq: [...seqs, 0],
        Lease: leases,
        Offset: [undefined, null, '0', true, [], {}, -1, 1.5, 2 ** 31],
        Think: [7, true, [], {}],
        Answer: [7, true, ['a'], {}],
      },
    },
    '/api/extend-claim': { as: 'Inference_1', good: {}, bad: { Topic: topics, Lease: leases } },
    '/api/release-claim': {
      as: 'Inference_1',
      good: { Reason: 'busy', Retry: true },
      bad: { Topic: topics, Lease: leases, Reason: optional, Retry: ['true', 0, 1, [], {}] },
    },
    '/api/give-new-matches': {
      as: 'Inference_1',
      good: { Fingerprint: '7b33f9588431', Matches: ['m'] },
      bad: {
        Fingerprint: [undefined, null, 7, true, [], {}, '', 'x'.repeat(41), '../x', 'nonesuch'],
        Matches: [undefined, null, 7, true, 'm', {}, [7], [null], [['m']], Array(101).fill('m')],
      },
    },
    '/api/retry-query': { as: 'Operator_1', good: { Seq: 1 }, bad: { Topic: topics, Seq: [...seqs, 0] } },
    '/api/drain-engine': {
      as: 'Operator_1',
      good: { User: 'Inference_2' },
      bad: { User: [undefined, null, 7, true, [], {}, '', 'nobody', 'Frontend_1', OVER], Drain: ['true', 0, 1, [], {}] },
    },
  };

  for (const [path, { as, good, bad }] of Object.entries(routes)) {
    test(`POST ${path} refuses each member of a wrong type or length, and stores nothing`, async () => {
      const Topic = newTopic();
      await cluster.add({ Topic, Query: 'Why?' });
      const { Lease } = await cluster.claim({ detail: true });
      await leavesNoTrace(cluster, async () => {
        for (const [member, values] of Object.entries(bad)) {
          for (const value of values) {
            const body = { Topic, Lease, ...good, [member]: value };
            const response = await cluster.request('POST', path, { as, body });
            const told = `${member} ${JSON.stringify(value)?.slice(0, 40)}: ${response.status} ${response.text.slice(0, 200)}`;
            assert.ok(response.status >= 400 && response.status < 500, told);
            assertProblem(response, response.status);
          }
        }
      });
      await cluster.answer({ Topic, Seq: 1, Query: 'Why?', Lease });
    });
  }

  test('GET and PUT parameters of a wrong kind or length are refused', async () => {
    const { Topic } = await cluster.add();
    await cluster.claim();
    await leavesNoTrace(cluster, async () => {
      for (const [method, path, as, query, name, values] of [
        ['GET', '/api/check-query', 'Frontend_1', { Topic, Seq: 1, Wait: 0 }, 'Seq', ['', '0', '-1', '1.5', 'x', '1 ', '0x1', '99999999999999999999']],
        ['GET', '/api/check-query', 'Frontend_1', { Topic, Seq: 1 }, 'Wait', ['', '-1', '121', '1.5', 'x', '1e1', '0x1']],
        ['GET', '/api/check-query', 'Frontend_1', { Topic, Seq: 1, Wait: 0 }, 'Topic', ['', 'x'.repeat(129), 'a\u0000b', 'a\nb']],
        ['GET', '/api/get-topic-thread', 'Frontend_1', {}, 'Topic', [undefined, '', 'x'.repeat(129), 'a\u0000b']],
        ['GET', '/api/user-topics', 'Frontend_1', {}, 'OnBehalfOf', [undefined, '', 'x'.repeat(129), 'a\u0000b']],
        ['GET', '/api/get-lookups', 'Frontend_1', {}, 'Topic', [undefined, '', 'x'.repeat(129)]],
        ['PUT', '/api/rename-topic', 'Frontend_1', { Topic, OnBehalfOf: 'alice', Description: 'd' }, 'Topic', [undefined, '', 'x'.repeat(129)]],
        ['PUT', '/api/rename-topic', 'Frontend_1', { Topic, OnBehalfOf: 'alice', Description: 'd' }, 'OnBehalfOf', [undefined, '', 'x'.repeat(129)]],
        ['DELETE', '/api/topic', 'Frontend_1', { Topic, OnBehalfOf: 'alice' }, 'OnBehalfOf', [undefined, '', 'bob', 'x'.repeat(129)]],
        ['GET', '/api/get-new-queries', 'Inference_1', {}, 'Wait', ['', '-1', '121', 'x']],
        ['GET', '/api/get-new-queries', 'Inference_1', { Wait: 0 }, 'Models', ['m'.repeat(600)]],
        ['GET', '/api/get-new-queries', 'Inference_1', { Wait: 0 }, 'Engine', ['e'.repeat(65)]],
        ['GET', '/api/get-new-lookup', 'Inference_1', {}, 'Wait', ['-1', '121', 'x']],
        ['GET', '/api/get-recommendations', 'Inference_1', {}, 'After', ['x', '1', '1-', '-1-1', '1-1-1', '9'.repeat(50)]],
        ['GET', '/api/queue', 'Operator_1', { State: 'Open' }, 'State', ['open', 'Nonsense', 'a\u0000b']],
        ['GET', '/api/queue', 'Operator_1', { State: 'Open' }, 'After', ['-1', 'x', '99999999999999999999']],
      ]) {
        for (const value of values) {
          const response = await cluster.request(method, path, { as, query: { ...query, [name]: value } });
          const told = `${path} ${name}=${JSON.stringify(value)?.slice(0, 40)}: ${response.status} ${response.text.slice(0, 200)}`;
          assert.ok(response.status >= 400 && response.status < 500, told);
          assertProblem(response, response.status);
        }
      }
    });
  });

  test('what is exactly as long as it may be is taken', async () => {
    const Topic = newTopic('t').padEnd(128, 'x');
    assert.equal((await cluster.add({ Topic, User: 'u'.repeat(128), Query: 'q'.repeat(256 * 1024), Model: 'm'.repeat(128) })).Seq, 1);
    assertOk(await cluster.checkRaw({ Topic, Seq: 1 }));
    const claim = await cluster.claim({ detail: true });
    assert.equal(claim.Topic, Topic);
    const Answer = ['a'.repeat(300 * 1024)];
    await cluster.answer({ Topic, Seq: 1, Query: 'q'.repeat(256 * 1024), Answer, Lease: claim.Lease });
    assert.deepEqual((await cluster.check({ Topic, Seq: 1 })).Answer, Answer);
    const padded = JSON.stringify({ Topic: newTopic(), User: 'u', Query: 'Why?' }).padEnd(1024 * 1024, ' ');
    assertOk(await cluster.request('POST', '/api/add-query', { as: 'Frontend_1', body: padded }));
  });
});

suite('bad bodies', {}, ({ test, cluster }) => {
  const post = (body, options = {}) => cluster.request('POST', '/api/add-query', { as: 'Frontend_1', body, ...options });

  async function refused(bodies, status = 400, options = {}) {
    await leavesNoTrace(cluster, async () => {
      for (const body of bodies) {
        const response = await post(body, options);
        assert.equal(response.status, status, `${response.status} for ${String(body).slice(0, 60)}: ${response.text.slice(0, 200)}`);
        assertProblem(response, status);
      }
    });
  }

  const good = '"Topic":"t","User":"u","Query":"Why?"';

  test('a body that is no JSON object: 400', () =>
    refused([
      '',
      ' ',
      '{',
      '}',
      '{}x',
      '[]',
      'null',
      '"x"',
      '7',
      'NaN',
      `{${good}`,
      `{${good},}`,
      `{${good} "x":1}`,
      `{${good},"x"}`,
      `{${good},x:1}`,
      `{'Topic':'t'}`,
      `{${good}}{${good}}`,
      `{${good},"x":01}`,
      `{${good},"x":1e}`,
      `{${good},"x":tru}`,
      `{${good},"x":"\\q"}`,
      `{${good},"x":"\\u12"}`,
      `{${good},"x":"a\nb"}`,
      `/* */{${good}}`,
      `\ufeff{${good}}`,
      'Topic=t&User=u&Query=Why',
    ]));

  test('invalid UTF-8, lone surrogates and NUL in a body: 400', () => {
    const around = (...bytes) =>
      Buffer.concat([Buffer.from('{"Topic":"t","User":"u","Query":"'), Buffer.from(bytes), Buffer.from('"}')]);
    return refused([
      around(0xff),
      around(0xc0, 0x80),
      around(0xe2, 0x82),
      around(0xed, 0xa0, 0x80),
      around(0xf4, 0x90, 0x80, 0x80),
      around(0xf8, 0x88, 0x80, 0x80, 0x80),
      around(0x00),
      Buffer.from(`{${good}}\u0000`),
      Buffer.from(`\u0000{${good}}`),
      `{"Topic":"t","User":"u","Query":"\\ud800"}`,
      `{"Topic":"t","User":"u","Query":"\\udc00x"}`,
      `{"Topic":"t","User":"u","Query":"a\\u0000b"}`,
      Buffer.from(`{${good}}`, 'utf16le'),
    ]);
  });

  test('10,000 nested arrays or objects, open or closed, anywhere: 400', () => {
    const n = 10_000;
    const lists = '['.repeat(n);
    const objects = '{"a":'.repeat(n);
    return refused([
      lists,
      lists + ']'.repeat(n),
      `{${good},"Modifiers":${lists}${']'.repeat(n)}}`,
      `{${good},"x":${lists}`,
      `{${good},"Modifiers":${objects}1${'}'.repeat(n)}}`,
      `{"Topic":${lists}${']'.repeat(n)}}`,
      objects,
    ]);
  });

  test('a body of more than 1 MiB: 413, by its length and chunk by chunk', async () => {
    const over = Buffer.alloc(1024 * 1024 + 1, ' ');
    over.write(`{${good}}`);
    await refused([over], 413);
    await refused([over], 413, { chunked: true, headers: { 'Transfer-Encoding': 'chunked' } });
  });

  test('many members, one member many times, and long numbers are no trouble', async () => {
    const many = Array.from({ length: 20_000 }, (_, i) => `"m${i}":${i}`).join(',');
    const Topic = newTopic();
    assertOk(await post(`{${many},"Topic":"${Topic}","User":"u","Query":"Why?"}`));
    assertOk(await post(`{"Topic":"x","Topic":"${Topic}","User":"u","Query":"first","Query":"Why?"}`));
    assertOk(await post(`{"Topic":"${Topic}","User":"u","Query":"Why?","x":${'9'.repeat(5000)},"y":-1e${'9'.repeat(300)}}`));
    const claim = await cluster.claim();
    assert.deepEqual(claim, { Topic, Queries: [{ 1: 'Why?' }, { 2: 'Why?' }, { 3: 'Why?' }] });
  });
});

suite('bad HTTP', {}, ({ test, cluster }) => {
  const target = (path = '/api/add-query', as = 'Frontend_1', options = {}) => cluster.path(path, { as, ...options });
  const head = (more = '', path) => `POST ${path ?? target()} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;

  // Sends bytes on a connection of their own; resolves with the status, or null when it was only closed.
  async function send(bytes) {
    const socket = await cluster.socket({ node: 0 });
    socket.write(bytes);
    try {
      return await socket.response();
    } catch (error) {
      if (/peer closed/.test(error.message)) return null;
      throw error;
    } finally {
      socket.abort();
    }
  }

  async function refusedRaw(cases) {
    await leavesNoTrace(cluster, async () => {
      for (const [name, bytes, statuses] of cases) {
        const response = await send(bytes);
        assert.ok(response, `${name}: an answer before the close`);
        assert.ok(statuses.includes(response.status), `${name}: ${response.line} ${response.text.slice(0, 200)}`);
        if (/problem\+json/.test(response.headers['content-type'])) {
          assert.equal(JSON.parse(response.text).status, response.status, `${name}: the body says the status`);
        }
      }
    });
    cluster.checkSanitizers();
  }

  test('bytes that are no HTTP: 400, and the connection ends', () =>
    refusedRaw([
      ['noise', '\x00\x01\x02\xff\xfe\r\n\r\n', [400]],
      ['no version', 'GET /livez\r\n\r\n', [400]],
      ['a version of its own', 'GET /livez HTTP/9.9\r\n\r\n', [400, 505]],
      ['tabs', 'GET\t/livez\tHTTP/1.1\r\nHost: x\r\n\r\n', [400]],
      ['a header without a colon', 'GET /livez HTTP/1.1\r\nHost: x\r\nNoColon\r\n\r\n', [400]],
      ['NUL in a header', 'GET /livez HTTP/1.1\r\nHost: x\r\nX-A: a\x00b\r\n\r\n', [400]],
      ['NUL in the request line', 'GET /li\x00vez HTTP/1.1\r\nHost: x\r\n\r\n', [400]],
      ['TLS', Buffer.from('16030100a5010000a10303', 'hex').toString('latin1') + '\r\n\r\n'.repeat(3), [400]],
    ]));

  test('lengths and encodings of a body that make no sense: 4xx', () =>
    refusedRaw([
      ['a word', head('Content-Length: abc\r\n'), [400]],
      ['negative', head('Content-Length: -5\r\n'), [400]],
      ['past 64 bits', head('Content-Length: 99999999999999999999\r\n'), [400, 413]],
      ['many megabytes', head('Content-Length: 50000000\r\n'), [413]],
      ['an encoding nobody knows', head('Transfer-Encoding: gzip\r\n'), [400, 501]],
      ['a chunk that is no number', `${head('Transfer-Encoding: chunked\r\n')}zz\r\nabc\r\n`, [400]],
      ['a negative chunk', `${head('Transfer-Encoding: chunked\r\n')}-5\r\nabc\r\n`, [400]],
      ['a chunk past 64 bits', `${head('Transfer-Encoding: chunked\r\n')}fffffffffffffffff\r\nabc\r\n`, [400, 413]],
      ['a chunk longer than it says', `${head('Transfer-Encoding: chunked\r\n')}2\r\nabcdef\r\n0\r\n\r\n`, [400]],
      ['an expectation nobody meets', head('Expect: 200-magic\r\nContent-Length: 2\r\n'), [417]],
    ]));

  test('overlong request lines and headers: 414 or 431, past all measure 400', () =>
    refusedRaw([
      ['a URL of 60 kB', `GET /livez?${'a'.repeat(60_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, [414]],
      ['a URL of 600 kB', `GET /livez?${'a'.repeat(600_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, [400, 414]],
      ['a header of 60 kB', `GET /livez HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(60_000)}\r\n\r\n`, [431]],
      ['a header of 600 kB', `GET /livez HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(600_000)}\r\n\r\n`, [400, 431]],
      ['1,000 headers', `GET /livez HTTP/1.1\r\nHost: x\r\n${'X-A: y\r\n'.repeat(1000)}\r\n`, [400, 431]],
      ['a method of 10 kB', `${'G'.repeat(10_000)} /livez HTTP/1.1\r\nHost: x\r\n\r\n`, [400, 404, 405, 501]],
    ]));

  test('invalid UTF-8 and control bytes in path, query and headers: no more than a 4xx', async () => {
    await leavesNoTrace(cluster, async () => {
      for (const [path, statuses] of [
        ['/\xff\xfe', [404]],
        ['/api/check-query?Topic=\xff&Seq=1', [400, 401]],
        [`${target('/api/check-query')}&Topic=%ff%fe&Seq=1`, [400]],
        [`${target('/api/check-query')}&Topic=%00&Seq=1`, [400]],
        [`${target('/api/check-query')}&Topic=%zz&Seq=1`, [400]],
        [`${target('/api/check-query')}&Topic=%`, [400]],
        ['/api/../../etc/passwd', [404]],
        ['/api/%2e%2e/livez', [404]],
      ]) {
        const response = await send(Buffer.from(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`, 'latin1'));
        assert.ok(statuses.includes(response.status), `${path}: ${response.line}`);
        assert.equal(JSON.parse(response.text).status, response.status);
      }
    });
    for (const name of ['X-Request-Id', 'traceparent', 'Origin', 'Authorization', 'Accept', 'X-Forwarded-For']) {
      const response = await send(Buffer.from(`GET /livez HTTP/1.1\r\nHost: x\r\n${name}: \xff\xfe"<x>\r\n\r\n`, 'latin1'));
      assert.equal(response.status, 200, name);
      assert.ok(!/[^\x20-\x7e]/.test(response.headers['x-request-id']), 'our own id takes its place');
    }
    cluster.checkSanitizers();
  });

  test('a chunked body is one body, however it is cut', async () => {
    const Topic = newTopic();
    const body = JSON.stringify({ Topic, User: 'u', Query: 'Why?' });
    const each = [...body].map((char) => `1\r\n${char}\r\n`).join('');
    const extended = `${body.length.toString(16)};name=value;other="x"\r\n${body}\r\n`;
    for (const [Seq, chunks] of [each, extended, `0${body.length.toString(16)}\r\n${body}\r\n`].entries()) {
      const response = await send(`${head('Transfer-Encoding: chunked\r\n')}${chunks}0\r\n\r\n`);
      assert.equal(response.status, 200, response.text);
      assert.equal(JSON.parse(response.text).Seq, Seq + 1);
    }
  });

  test('a chunked body that breaks off stores nothing', async () => {
    await leavesNoTrace(cluster, async () => {
      const body = JSON.stringify({ Topic: newTopic(), User: 'u', Query: 'Why?' });
      for (const part of [`${body.length.toString(16)}\r\n${body}\r\n`, `${(body.length + 5).toString(16)}\r\n${body}`, '5']) {
        const socket = await cluster.socket({ node: 0 });
        socket.write(`${head('Transfer-Encoding: chunked\r\n')}${part}`);
        socket.end();
        await socket.closed();
        socket.abort();
      }
    });
    cluster.checkSanitizers();
  });

  test('Expect: 100-continue is answered before the body comes', async () => {
    const body = JSON.stringify({ Topic: newTopic(), User: 'u', Query: 'Why?' });
    const socket = await cluster.socket({ node: 0 });
    socket.write(head(`Expect: 100-continue\r\nContent-Length: ${body.length}\r\n`));
    assert.equal((await socket.response()).status, 100);
    socket.write(body);
    assert.equal((await socket.response()).status, 200);
    socket.abort();
  });

  test('pipelined requests are answered in their order, also behind one that waits', async () => {
    const { Topic } = await cluster.add({ node: 0 });
    const get = (path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
    const socket = await cluster.socket({ node: 0 });
    const check = target('/api/check-query', 'Frontend_1', { query: { Topic, Seq: 1, Wait: 30 } });
    const body = JSON.stringify({ Topic: newTopic(), User: 'u', Query: 'Why?' });
    socket.write(
      get('/livez') + get(check) + head(`Content-Length: ${body.length}\r\n`) + body + get('/nowhere') + get('/readyz'),
    );
    assert.equal((await socket.response()).status, 200);
    assert.equal((await cluster.claim()).Topic, Topic);
    await cluster.answer({ Topic, Seq: 1 });
    assert.deepEqual(JSON.parse((await socket.response()).text).Answer, ['42']);
    assert.equal(JSON.parse((await socket.response()).text).Seq, 1);
    assert.equal((await socket.response()).status, 404);
    assert.equal((await socket.response()).status, 200);
    socket.abort();
  });

  test('garbage behind a poll that is parked does not disturb it, and is refused after it', async () => {
    const socket = await cluster.socket({ node: 0 });
    const poll = target('/api/get-new-queries', 'Inference_1', { query: { Wait: 30 } });
    socket.write(`GET ${poll} HTTP/1.1\r\nHost: x\r\n\r\n\x00\x01garbage\r\n\r\n`);
    const { Topic } = await cluster.add({ node: 1 });
    assert.equal(JSON.parse((await socket.response()).text).Topic, Topic);
    const { rest } = await socket.closed();
    if (rest) assert.match(rest, /^HTTP\/1\.1 400 /);
    socket.abort();
    await cluster.answer({ Topic, Seq: 1 });
  });
});

suite('HTTP/2', {}, ({ test, cluster }) => {
  function connect() {
    const session = http2.connect(cluster.nodes[0].url);
    session.on('error', () => {});
    return session;
  }

  // One request; resolves with {status, headers, text, json}.
  function call(session, method, path, { as, query, body, headers = {} } = {}) {
    return new Promise((resolve, reject) => {
      const stream = session.request({ ':method': method, ':path': cluster.path(path, { as, query }), ...headers });
      let text = '';
      let head;
      stream.on('response', (got) => (head = got));
      stream.on('data', (chunk) => (text += chunk));
      stream.on('error', reject);
      stream.on('end', () =>
        resolve({ status: head[':status'], headers: head, text, json: /json/.test(head['content-type']) ? JSON.parse(text) : undefined }),
      );
      stream.end(body === undefined || typeof body === 'string' ? body : JSON.stringify(body));
    });
  }

  test('add, claim, answer and check work with prior knowledge, many at a time on one connection', async () => {
    const session = connect();
    const topics = Array.from({ length: 20 }, () => newTopic());
    const polls = topics.map(() =>
      call(session, 'GET', '/api/get-new-queries', { as: 'Inference_1', query: { Wait: 30, Detail: 'true' } }),
    );
    const added = await Promise.all(
      topics.map((Topic) => call(session, 'POST', '/api/add-query', { as: 'Frontend_1', body: { Topic, User: 'u', Query: 'Why?' } })),
    );
    assert.ok(added.every(({ status, json }) => status === 200 && json.Seq === 1));
    const checks = topics.map((Topic) =>
      call(session, 'GET', '/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1, Wait: 30 } }),
    );
    const claims = (await Promise.all(polls)).map(({ json }) => json);
    assert.deepEqual(claims.map(({ Topic }) => Topic).sort(), [...topics].sort());
    const answered = await Promise.all(
      claims.map(({ Topic, Lease }) =>
        call(session, 'POST', '/api/give-new-answer', {
          as: 'Inference_1',
          body: { Topic, Seq: 1, Query: 'Why?', Answer: [Topic], Lease },
        }),
      ),
    );
    assert.ok(answered.every(({ status, json }) => status === 200 && json.Status === 'Done'));
    for (const [i, { json }] of (await Promise.all(checks)).entries()) assert.deepEqual(json.Answer, [topics[i]]);
    session.close();
  });

  test('bad input over HTTP/2 has the same problem documents', async () => {
    const session = connect();
    await leavesNoTrace(cluster, async () => {
      for (const [method, path, options, status] of [
        ['POST', '/api/add-query', { as: 'Frontend_1', body: '{' }, 400],
        ['POST', '/api/add-query', { as: 'Frontend_1', body: '['.repeat(10_000) }, 400],
        ['GET', '/api/check-query', { as: 'Frontend_1', query: { Topic: 'x'.repeat(129), Seq: 1 } }, 400],
        ['GET', '/api/check-query', {}, 401],
        ['GET', '/nowhere', {}, 404],
        ['PATCH', '/api/add-query', { as: 'Frontend_1' }, 405],
        ['GET', '/livez', { headers: { 'x-a': 'a'.repeat(40_000) } }, 431],
      ]) {
        const response = await call(session, method, path, options);
        assert.equal(response.status, status, `${method} ${path}: ${response.text.slice(0, 200)}`);
        assert.match(response.headers['content-type'], /^application\/problem\+json/);
        assert.equal(response.json.status, status);
      }
    });
    session.close();
  });

  test('a body of more than 1 MiB over HTTP/2 is refused, and the connection stays', async () => {
    const session = connect();
    await leavesNoTrace(cluster, async () => {
      const body = JSON.stringify({ Topic: newTopic(), User: 'u', Query: 'Why?' }).padEnd(1024 * 1024 + 1, ' ');
      const outcome = await call(session, 'POST', '/api/add-query', { as: 'Frontend_1', body }).then(
        ({ status }) => status,
        ({ code }) => code,
      );
      assert.ok([413, 'ERR_HTTP2_STREAM_ERROR'].includes(outcome), outcome);
    });
    assert.equal((await call(session, 'GET', '/livez')).status, 200);
    session.close();
  });

  test('frames that are no HTTP/2 end the connection and nothing else', async () => {
    const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
    for (const frames of [
      'garbage that is no frame at all, and long enough to be read as one',
      '\x00\x00\x00\x04\x00\x00\x00\x00\x01',
      '\xff\xff\xff\x01\x04\x00\x00\x00\x01',
      `\x00\x00\x05\x01\x05\x00\x00\x00\x01\xff\xff\xff\xff\xff`,
      '\x00\x00\x04\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00',
      '\x00\x00\x08\x06\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00',
    ]) {
      const socket = await cluster.socket({ node: 0 });
      socket.write(Buffer.from(`${preface}\x00\x00\x00\x04\x00\x00\x00\x00\x00${frames}`, 'latin1'));
      socket.end();
      await socket.closed();
      socket.abort();
    }
    assertOk(await cluster.request('GET', '/api/login', { as: 'User_1', node: 0 }));
    cluster.checkSanitizers();
  });
});

suite('slow clients', { args: ['--idle-seconds', '1'] }, ({ test, cluster }) => {
  const login = () => cluster.request('GET', '/api/login', { as: 'User_1', node: 0 });

  test('clients that send their headers byte by byte are cut off, and do not hold up others', async () => {
    const sockets = await Promise.all(Array.from({ length: 50 }, () => cluster.socket({ node: 0 })));
    let over = 0;
    const ends = sockets.map((socket) => socket.closed(20_000).then(() => (over += 1)));
    const drip = setInterval(() => sockets.forEach((socket) => socket.write('X')), 100);
    sockets.forEach((socket) => socket.write('GET / HTTP/1.1\r\nHost: x\r\nX-Slow: '));
    try {
      assertOk(await login());
      await eventually(() => over === sockets.length, { ms: 10_000, what: 'all slow clients are cut off' });
    } finally {
      clearInterval(drip);
      sockets.forEach((socket) => socket.abort());
      await Promise.all(ends);
    }
    assertOk(await login());
    cluster.checkSanitizers();
  });

  test('a client that only connects, or sends half a body, is cut off and stores nothing', async () => {
    await leavesNoTrace(cluster, async () => {
      for (const bytes of [
        '',
        'G',
        `POST ${cluster.path('/api/add-query', { as: 'Frontend_1' })} HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{"Topic":`,
        `POST ${cluster.path('/api/add-query', { as: 'Frontend_1' })} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{`,
        `POST ${cluster.path('/api/add-query', { as: 'Frontend_1' })} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{`,
      ]) {
        const socket = await cluster.socket({ node: 0 });
        if (bytes) socket.write(bytes);
        await socket.closed(10_000);
        socket.abort();
      }
    });
    cluster.checkSanitizers();
  });

  test('a body that drips is cut off as well', async () => {
    const socket = await cluster.socket({ node: 0 });
    socket.write(
      `POST ${cluster.path('/api/add-query', { as: 'Frontend_1' })} HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n{`,
    );
    const drip = setInterval(() => socket.write(' '), 100);
    try {
      await socket.closed(10_000);
    } finally {
      clearInterval(drip);
      socket.abort();
    }
  });

  test('a client that waits for its answer is not slow: parked requests outlive the idle time', async () => {
    const { Topic } = await cluster.add({ Model: 'nobody-serves-it' });
    const poll = cluster.claimOpen({ wait: 3, models: 'none' });
    const check = cluster.checkOpen({ Topic, wait: 3 });
    assert.deepEqual(assertOk(await poll.response), { Topic: null, Queries: null });
    assert.equal(assertOk(await check.response).Answer, null);
  });

  test('a client that does not read its answers costs a bounded buffer, not the node', async () => {
    const Topic = newTopic();
    const Query = 'q'.repeat(200 * 1024);
    await cluster.add({ Topic, Query });
    const sockets = await Promise.all(Array.from({ length: 10 }, () => cluster.socket({ node: 0 })));
    for (const socket of sockets) {
      socket.pause();
      for (let i = 0; i < 20; i++) {
        socket.write(
          `GET ${cluster.path('/api/get-topic-thread', { as: 'Frontend_1', query: { Topic } })} HTTP/1.1\r\nHost: x\r\n\r\n`,
        );
      }
    }
    for (let i = 0; i < 20; i++) assertOk(await login());
    sockets.forEach((socket) => socket.reset());
    assertOk(await login());
    cluster.checkSanitizers();
  });
});
