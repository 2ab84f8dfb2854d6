// SPDX-License-Identifier: MIT
//
// HTTP that is broken, hostile, slow or merely unusual: a clear 4xx where there is somebody to tell, the node
// lives (sanitizers watch) and nothing is stored. What is rare but right works: pipelining, chunks of one
// byte, Expect: 100-continue, HTTP/2 with prior knowledge.
import assert from 'node:assert/strict';
import http2 from 'node:http2';
import { assertOk, eventually, newTopic, suite } from '../support/harness.mjs';
import { leavesNoTrace } from '../support/trace.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // bytes that reach no route: the same on any number of shards

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

  test('pipelined requests are answered in order, also after one that waits', async () => {
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

  test('garbage after a parked poll does not disturb it, and is refused after it', async () => {
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
      stream.on('end', () => {
        const json = /json/.test(head['content-type']) ? JSON.parse(text) : undefined;
        resolve({ status: head[':status'], headers: head, text, json });
      });
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
      topics.map((Topic) =>
        call(session, 'POST', '/api/add-query', { as: 'Frontend_1', body: { Topic, User: 'u', Query: 'Why?' } }),
      ),
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

  test('a body of more than 1 MiB over HTTP/2 is 413 and the connection stays; far more is cut off', async () => {
    const session = connect();
    await leavesNoTrace(cluster, async () => {
      const row = JSON.stringify({ Topic: newTopic(), User: 'u', Query: 'Why?' });
      const send = (bytes) => call(session, 'POST', '/api/add-query', { as: 'Frontend_1', body: row.padEnd(bytes, ' ') });
      const refused = await send(1024 * 1024 + 1);
      assert.equal(refused.status, 413);
      assert.equal(refused.json.code, 'too_large');
      assert.equal((await call(session, 'GET', '/livez')).status, 200);
      await assert.rejects(send(40 * 1024 * 1024), { code: /^ERR_HTTP2_/ });
    });
    session.destroy();
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

// Three seconds, so that a client whose process was starved for a moment is not cut off.
suite('slow clients', { args: ['--idle-seconds', '3'] }, ({ test, cluster }) => {
  const head = (more) =>
    `POST ${cluster.path('/api/add-query', { as: 'Frontend_1' })} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
  const login = () => cluster.request('GET', '/api/login', { as: 'User_1', node: 0 });

  test('clients that send their headers byte by byte are cut off, and do not hold up others', async () => {
    const sockets = await Promise.all(Array.from({ length: 50 }, () => cluster.socket({ node: 0 })));
    let over = 0;
    const ends = sockets.map((socket) => socket.closed(60_000).then(() => (over += 1)));
    const drip = setInterval(() => sockets.forEach((socket) => socket.write('X')), 100);
    sockets.forEach((socket) => socket.write('GET / HTTP/1.1\r\nHost: x\r\nX-Slow: '));
    try {
      assertOk(await login());
      await eventually(() => over === sockets.length, { ms: 60_000, what: 'all slow clients are cut off' });
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
      const starts = [
        '',
        'G',
        `${head('Content-Length: 500\r\n')}{"Topic":`,
        `${head('Transfer-Encoding: chunked\r\n')}5\r\n{`,
        `${head('Transfer-Encoding: chunked\r\n')}ffffffffffffffff\r\n{`,
      ];
      await Promise.all(
        starts.map(async (bytes) => {
          const socket = await cluster.socket({ node: 0 });
          if (bytes) socket.write(bytes);
          await socket.closed();
          socket.abort();
        }),
      );
    });
    cluster.checkSanitizers();
  });

  test('a body that drips is cut off as well', async () => {
    const socket = await cluster.socket({ node: 0 });
    socket.write(`${head('Content-Length: 5000\r\n')}{`);
    const drip = setInterval(() => socket.write(' '), 100);
    try {
      await socket.closed();
    } finally {
      clearInterval(drip);
      socket.abort();
    }
  });

  test('a client that waits for its answer is not slow: parked requests outlive the idle time', async () => {
    const { Topic } = await cluster.add({ Model: 'nobody-serves-it' });
    const poll = cluster.claimOpen({ wait: 5, models: 'none' });
    const check = cluster.checkOpen({ Topic, wait: 5 });
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
