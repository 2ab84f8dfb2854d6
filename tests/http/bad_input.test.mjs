// SPDX-License-Identifier: MIT
//
// Hostile and broken clients: every one of them gets a clear 4xx with a problem document, the node lives
// (sanitizers watch) and nothing of it is stored. The members of each route are in bad_members, what is
// wrong with HTTP itself in bad_http.
import assert from 'node:assert/strict';
import { assertOk, assertProblem, newTopic, suite } from '../support/harness.mjs';
import { ACCOUNT_OF, routesOf } from '../support/routes.mjs';
import { leavesNoTrace } from '../support/trace.mjs';

const ROUTES = routesOf('broker');

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

  const HAS_NO_MEMBERS = ['/api/login/link'];
  for (const { path, roles } of ROUTES.filter(({ method, path }) => method === 'POST' && !HAS_NO_MEMBERS.includes(path))) {
    test(`POST ${path} takes no member of a wrong kind`, async () => {
      await leavesNoTrace(cluster, async () => {
        for (const value of values) {
          const body = Object.fromEntries(members.map((member) => [member, value]));
          const response = await cluster.request('POST', path, { as: ACCOUNT_OF[roles[0]], body });
          const { status, text } = response;
          assert.ok(status >= 400 && status < 500, `${status} for ${JSON.stringify(value).slice(0, 60)}: ${text}`);
          assertProblem(response, status);
        }
      });
      await assertAlive();
    });
  }

  for (const { path, roles } of ROUTES.filter(({ method }) => method === 'GET')) {
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
            as: ACCOUNT_OF[roles[0]],
            raw: `Wait=0&${raw}`.replace(/^Wait=0&(?=.*Wait=)/, ''),
          });
          assert.ok(status < 500, `${status} for ${raw.slice(0, 60)}: ${text}`);
        }
      });
      await assertAlive();
    });
  }

  test('headers without end are refused', async () => {
    const socket = await cluster.socket({ node: 0 });
    socket.write('GET /api/login HTTP/1.1\r\nHost: x\r\n');
    for (let i = 0; i < 200; i++) socket.write(`X-Filler-${i}: ${'y'.repeat(8000)}\r\n`);
    const { rest } = await socket.closed();
    if (rest) assert.match(rest, /^HTTP\/1\.1 4\d\d /);
    await assertAlive();
  });

  test('garbage pipelined after a valid request does not reach the next one', async () => {
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
    ['specified twice', 'Content-Length: 0\r\nContent-Length: LEN'],
    ['specified twice, in the other order', 'Content-Length: LEN\r\nContent-Length: 0'],
    ['specified and chunked as well', 'Content-Length: LEN\r\nTransfer-Encoding: chunked'],
    ['specified after a list of codings', 'Transfer-Encoding: chunked, identity\r\nContent-Length: LEN'],
    ['specified after an unknown coding', 'Transfer-Encoding: xchunked\r\nContent-Length: LEN'],
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

suite('bad bodies', {}, ({ test, cluster }) => {
  const post = (body, options = {}) => cluster.request('POST', '/api/add-query', { as: 'Frontend_1', body, ...options });

  async function refused(bodies, status = 400, options = {}) {
    await leavesNoTrace(cluster, async () => {
      for (const body of bodies) {
        const response = await post(body, options);
        const reported = `${response.status} for ${String(body).slice(0, 60)}: ${response.text.slice(0, 200)}`;
        assert.equal(response.status, status, reported);
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

  test('many members, and one member many times, are no trouble', async () => {
    const many = Array.from({ length: 20_000 }, (_, i) => `"m${i}":${i}`).join(',');
    const Topic = newTopic();
    assertOk(await post(`{${many},"Topic":"${Topic}","User":"u","Query":"Why?"}`));
    assertOk(await post(`{"Topic":"x","Topic":"${Topic}","User":"u","Query":"first","Query":"Why?"}`));
    const claim = await cluster.claim();
    assert.deepEqual(claim, { Topic, Queries: [{ 1: 'Why?' }, { 2: 'Why?' }] });
  });

  test('a number that engines could not read is refused, wherever it stands', async () => {
    const numbers = ['1e99999', '-1e99999', `-1e${'9'.repeat(300)}`, '9223372036854775808', '9'.repeat(5000), `${'9'.repeat(400)}.5`];
    for (const number of numbers) {
      for (const member of [`"x":${number}`, `"Modifiers":{"seed":${number}}`, `"Modifiers":{"a":[{"b":${number}}]}`]) {
        await refused([`{"Topic":"numbers","User":"u","Query":"Why?",${member}}`]);
      }
    }
    const Topic = newTopic();
    const Modifiers = '{"seed":-9223372036854775808,"a":1e308,"b":1e-400}';
    assertOk(await post(`{"Topic":"${Topic}","User":"u","Query":"Why?","Modifiers":${Modifiers},"x":0.${'1'.repeat(5000)}}`));
    assert.equal((await cluster.claim({ detail: true })).Topic, Topic);
  });
});
