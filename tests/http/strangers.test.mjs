// SPDX-License-Identifier: MIT
//
// Strangers: what somebody without credentials can make a node hold. Heads are judged before bodies, bodies
// are bounded by connection, address and node, and idle connections make room for others.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { uploadIndexed } from '../support/documents.mjs';
import { assertOk, eventually, newTopic, suite } from '../support/harness.mjs';
import { connectTo } from '../support/tls.mjs';

const KIB = 1024;
const MIB = 1024 * KIB;
const problem = (response) => JSON.parse(response.text);

async function metric(cluster, name) {
  const { text } = await cluster.request('GET', '/metrics');
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

suite('strangers', { nodes: 1 }, ({ test, cluster }) => {
  // Sends a head and begins a body that it never ends; resolves with the answer.
  async function begin(head, body = '') {
    const socket = await cluster.socket({ node: 0 });
    socket.write(`${head}\r\n\r\n`);
    if (body) socket.write(body);
    const response = await socket.response();
    socket.abort();
    return response;
  }

  function assertRefused(response, status, code) {
    assert.equal(response.status, status, response.text);
    assert.equal(problem(response).code, code);
    assert.equal(problem(response).instance, response.headers['x-request-id']);
    assert.equal(response.headers.connection, 'close');
  }

  test('a large body is refused by its head, before it is sent, with the answer that its request deserves', async () => {
    const length = `Host: x\r\nContent-Length: ${15 * MIB}`;
    assertRefused(await begin(`POST /livez HTTP/1.1\r\n${length}`), 405, 'method_not_allowed');
    assertRefused(await begin(`POST /nowhere HTTP/1.1\r\n${length}`), 404, 'no_route');
    assertRefused(await begin(`GET /livez HTTP/1.1\r\n${length}`), 413, 'too_large');
    assertRefused(await begin(`POST /api/add-query HTTP/1.1\r\n${length}`), 413, 'too_large');
    assertRefused(await begin(`POST /api/docs/upload HTTP/1.1\r\n${length}`), 401, 'unauthorized');
    assertRefused(await begin(`POST /api/docs/upload HTTP/1.1\r\nHost: x\r\nContent-Length: ${30 * MIB}`), 413, 'FILE_TOO_LARGE');
    assertRefused(await begin('POST /ask HTTP/1.1\r\nHost: x\r\nContent-Length: 60000'), 413, 'too_large');
    const { headers } = await begin(`POST /livez HTTP/1.1\r\nOrigin: https://a.example\r\n${length}`);
    assert.equal(headers.allow, 'GET, HEAD');
    assert.equal(headers['access-control-allow-origin'], 'https://a.example');
    assert.match((await begin(`POST /api/docs/upload HTTP/1.1\r\n${length}`)).headers['www-authenticate'], /Bearer/);
  });

  test('wrong credentials do not open the door for a large body, and a role that may not use the route neither', async () => {
    const path = cluster.path('/api/docs/upload', { as: 'Frontend_1' });
    const length = `Host: x\r\nContent-Length: ${15 * MIB}`;
    assertRefused(await begin(`POST ${path.replace(/Hash=.{4}/, 'Hash=0000')} HTTP/1.1\r\n${length}`), 401, 'unauthorized');
    assertRefused(
      await begin(`POST ${cluster.path('/api/docs/upload', { as: 'Inference_1' })} HTTP/1.1\r\n${length}`),
      403,
      'forbidden',
    );
  });

  test('Expect: 100-continue is refused at once where the body would be', async () => {
    const expect = (line, more) => begin(`${line} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n${more}`);
    assertRefused(await expect('POST /livez', 'Content-Length: 10'), 405, 'method_not_allowed');
    assertRefused(await expect('POST /nowhere', 'Content-Length: 10'), 404, 'no_route');
    assertRefused(await expect('POST /api/docs/upload', `Content-Length: ${MIB}`), 401, 'unauthorized');
    assertRefused(await expect('POST /api/docs/upload', `Content-Length: ${30 * MIB}`), 413, 'FILE_TOO_LARGE');
  });

  test('a body in chunks is cut off where its sender may send no more', async () => {
    const chunk = `${(64 * KIB).toString(16)}\r\n${'x'.repeat(64 * KIB)}\r\n`;
    for (const path of ['/livez', '/api/docs/upload', '/ask']) {
      const response = await begin(`POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked`, chunk);
      assertRefused(response, path === '/livez' ? 405 : 413, path === '/livez' ? 'method_not_allowed' : problem(response).code);
    }
  });

  test('a signed request that is refused for its length has used up its nonce', async () => {
    const path = cluster.path('/api/add-query', { as: 'Frontend_1' });
    assertRefused(await begin(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${2 * MIB}`), 413, 'too_large');
    const body = { Topic: newTopic(), User: 'u', Query: 'Why?' };
    await eventually(async () => {
      const again = await cluster.request('POST', path, { body });
      return again.status === 401 && again.json.code === 'nonce_used';
    });
  });

  test('what is no request is answered with a problem that has an id', async () => {
    for (const bytes of ['\x00\x01\r\n\r\n', 'GET /livez\r\n\r\n', 'GET / HTTP/9.9\r\n\r\n', 'GET\t/\tHTTP/1.1\r\n\r\n', 'x'.repeat(60_000)]) {
      const socket = await cluster.socket({ node: 0 });
      socket.write(bytes);
      const response = await socket.response();
      assert.equal(response.headers['content-type'], 'application/problem+json', bytes.slice(0, 40));
      assert.ok([400, 414].includes(response.status), response.line);
      assert.equal(problem(response).instance, response.headers['x-request-id']);
      socket.abort();
    }
  });

  test('a request without Host, or with two, is refused; HTTP/1.0 needs none', async () => {
    assertRefused(await begin('GET /livez HTTP/1.1'), 400, 'bad_request');
    assertRefused(await begin('GET /livez HTTP/1.1\r\nHost: a\r\nHost: b'), 400, 'bad_request');
    assertRefused(await begin('GET /livez HTTP/1.1\r\nhost: a\r\nX: y\r\nHOST: a'), 400, 'bad_request');
    assert.equal((await begin('GET /livez HTTP/1.0')).status, 200);
    assert.equal((await begin('GET http://x/livez HTTP/1.1\r\nHost: x')).status, 200);
  });

  test('every answer forbids guessing at its type', async () => {
    for (const path of ['/livez', '/nowhere', '/handbook', '/metrics', '/api/check-query'])
      assert.equal((await cluster.request('GET', path)).headers['x-content-type-options'], 'nosniff', path);
  });

  test('pipelined requests are judged one by one', async () => {
    const socket = await cluster.socket({ node: 0 });
    const get = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';
    socket.write(`${get}${get}POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: ${15 * MIB}\r\n\r\nabc`);
    assert.equal((await socket.response()).status, 200);
    assert.equal((await socket.response()).status, 200);
    assertRefused(await socket.response(), 405, 'method_not_allowed');
    socket.abort();
    const broken = await cluster.socket({ node: 0 });
    broken.write(`${get}NONSENSE\r\n\r\n`);
    assert.equal((await broken.response()).status, 200);
    assertRefused(await broken.response(), 400, 'bad_request');
    broken.abort();
  });

  test('over HTTP/2 a large body is refused by its head, and the connection stays open', async () => {
    const client = http2.connect(cluster.nodes[0].url);
    const ask = (headers, bytes) =>
      new Promise((resolve, reject) => {
        const stream = client.request(headers, { endStream: false });
        let status, text = '';
        stream.on('response', (answer) => (status = answer[':status']));
        stream.on('data', (data) => (text += data));
        stream.on('error', (error) => status === undefined && reject(error));
        stream.on('close', () => resolve({ status, code: text && JSON.parse(text).code }));
        stream.write(Buffer.alloc(bytes));
      });
    const large = (path) => ({ ':method': 'POST', ':path': path, 'content-length': 15 * MIB });
    try {
      assert.deepEqual(await ask(large('/livez'), 100 * KIB), { status: 405, code: 'method_not_allowed' });
      assert.deepEqual(await ask(large('/nowhere'), 100 * KIB), { status: 404, code: 'no_route' });
      assert.deepEqual(await ask(large('/api/add-query'), 100 * KIB), { status: 413, code: 'too_large' });
      assert.deepEqual(await ask(large('/api/docs/upload'), 100 * KIB), { status: 401, code: 'unauthorized' });
      const unknown = { ':method': 'POST', ':path': '/ask' };
      assert.deepEqual(await ask(unknown, 200 * KIB), { status: 413, code: 'too_large' });
    } finally {
      client.destroy();
    }
  });

  test('a head of HTTP/2 that goes on and on ends its connection', async () => {
    const frame = (length, type, flags, stream) => {
      const bytes = Buffer.alloc(9 + length);
      bytes.writeUIntBE(length, 0, 3);
      bytes.writeUInt8(type, 3);
      bytes.writeUInt8(flags, 4);
      bytes.writeUInt32BE(stream, 5);
      return bytes;
    };
    const socket = connectTo(cluster.nodes[0].url, { alpn: ['h2'] });
    const closed = new Promise((resolve) => socket.on('close', resolve));
    socket.on('error', () => {});
    socket.resume();
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    socket.write(Buffer.concat([frame(0, 4, 0, 0), frame(8000, 1, 0, 1)]));
    for (let i = 0; i < 5; i++) socket.write(frame(8000, 9, 0, 1));
    await closed;
    assertOk(await cluster.request('GET', '/livez'));
  });

  test('a node that drains while refused bodies are on their way ends those connections first', async () => {
    const node = await cluster.startNode();
    const sockets = await Promise.all(Array.from({ length: 20 }, () => cluster.socket({ node })));
    for (const socket of sockets) {
      socket.write(`GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: ${15 * MIB}\r\n\r\n${'x'.repeat(KIB)}`);
      assertRefused(await socket.response(), 413, 'too_large');
    }
    await node.stop();
    cluster.nodes.pop();
    for (const socket of sockets) socket.abort();
  });
});

// Connections that say nothing, or never end their heads.
function occupyNode(cluster, n, localAddress, bytes = '') {
  return Array.from({ length: n }, () => {
    const socket = connectTo(cluster.nodes[0].url, { localAddress });
    socket.on('error', () => {});
    if (bytes) socket.write(bytes);
    return socket;
  });
}

suite('few descriptors', { nodes: 1, limits: ['--nofile=200'] }, ({ test, cluster }) => {
  const occupy = (...how) => occupyNode(cluster, ...how);

  test('more idle connections than descriptors: the node answers, and who waits or works is not cut off', async () => {
    const parked = cluster.claimOpen({ wait: 60 });
    await eventually(async () => (await metric(cluster, 'parley_polls_parked')) === 1);
    const sockets = [...occupy(200), ...occupy(150, undefined, 'POST /livez HTTP/1.1\r\nX-Slow: ')];
    for (let i = 0; i < 20; i++) assertOk(await cluster.request('GET', '/readyz'));
    await eventually(async () => (await metric(cluster, 'parley_connections_idle_closed_total')) >= 150);
    assert.equal(await metric(cluster, 'parley_polls_parked'), 1);
    const added = await cluster.add();
    assert.equal((await parked.response).json.Topic, added.Topic);
    for (const socket of sockets) socket.destroy();
  });

  test('proven connections that rest take no place from those that come, one by one or several at once', async () => {
    const ask = (path) =>
      new Promise((resolve) => {
        const [socket] = occupy(1, undefined, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
        socket.once('data', (bytes) => resolve({ socket, status: bytes.toString().slice(9, 12) }));
        socket.once('close', () => resolve({ socket, status: 'closed without an answer' }));
      });
    const resting = [];
    for (let i = 0; i < 200; i++) resting.push(await ask(cluster.path('/api/me', { as: 'User_1' })));
    assert.deepEqual([...new Set(resting.map(({ status }) => status))], ['200']);
    const open = () => resting.filter(({ socket }) => socket.readyState === 'open').length;
    await eventually(() => open() < 150, { what: 'the node has no place left' });
    const kept = open();
    for (let i = 0; i < 30; i++) assert.equal((await ask('/livez')).status, '200');
    const together = await Promise.all(Array.from({ length: 8 }, () => ask('/livez')));
    assert.deepEqual(together.map(({ status }) => status), Array(8).fill('200'));
    assert.ok(open() > kept / 2, `strangers closed few of them: ${open()} of ${kept} are open`);
    for (const { socket } of resting) socket.destroy();
  });

  for (const [who, ms] of [['those that come', 0], ['those that come and are slow to ask', 100]])
    test(`when nearly all connections are busy, ${who} wait for a place and are answered`, async () => {
      let isSlow;
      const poll = () => {
        const began = Date.now();
        const bytes = `GET ${cluster.path('/api/get-new-queries', { as: 'Inference_1', query: { Wait: 2, Models: 'nobodys' } })} HTTP/1.1\r\nHost: x\r\n\r\n`;
        const [socket] = occupy(1, undefined, ms === 0 ? bytes : '');
        if (ms > 0) setTimeout(() => socket.write(bytes), ms);
        setTimeout(() => (isSlow ||= Date.now() - began > ms + 400), ms);
        return new Promise((resolve) => {
          socket.once('data', (answer) => {
            socket.destroy();
            resolve(answer.toString().slice(9, 12));
          });
          socket.once('close', () => resolve('closed without an answer'));
        });
      };
      const answers = async () => {
        isSlow = false;
        const polls = [];
        for (let i = 0; i < 200; i++) {
          polls.push(poll());
          if (cluster.nodes[0].url.startsWith('https:')) await sleep(4);
        }
        return [...new Set(await Promise.all(polls))];
      };
      // Handshakes keep this process busy, which must not slow the polls: over TLS they start one after another. If it was
      // starved, they were slower than intended, and try again.
      let found = await answers();
      for (let i = 0; i < 5 && isSlow && found.join() !== '200'; i++) found = await answers();
      assert.deepEqual(found, ['200']);
    });

  test('refused bodies that are still on their way take all places for a moment, not until somebody else leaves', async () => {
    const polls = Array.from({ length: 20 }, (_, i) => cluster.claimOpen({ wait: 60, query: { Engine: `engine-${i}` }, models: 'nobodys' }));
    await eventually(async () => (await metric(cluster, 'parley_polls_parked')) === 20);
    const refused = occupy(200, undefined, `GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: ${15 * MIB}\r\n\r\n${'x'.repeat(KIB)}`);
    await Promise.all(refused.slice(0, 40).map((socket) => new Promise((resolve) => socket.once('data', resolve).once('close', resolve))));
    for (let i = 0; i < 5; i++) assertOk(await cluster.request('GET', '/readyz', { agent: false }));
    for (const socket of refused) socket.destroy();
    for (const poll of polls) poll.abort();
  });

  test('a document is read by its child while idle connections take all that they can get', async () => {
    const sockets = occupy(300);
    await uploadIndexed(cluster, { name: 'a.html', bytes: '<p>Leases end.</p>', type: 'text/html' });
    for (const socket of sockets) socket.destroy();
  });

  test('the address with the most idle connections loses them first', async () => {
    const few = occupy(5, '127.0.0.2');
    await eventually(async () => (await metric(cluster, 'parley_connections_open')) >= 5);
    const many = occupy(400, '127.0.0.3');
    await eventually(() => many.filter((socket) => socket.readyState === 'closed').length > 200);
    assert.equal(few.filter((socket) => socket.readyState === 'open').length, 5);
    for (const socket of [...few, ...many]) socket.destroy();
  });
});

// What is kept for Redis, engines and the children that read documents does not grow with the descriptors.
suite('hundreds of descriptors', { nodes: 1, limits: ['--nofile=700'] }, ({ test, cluster }) => {
  test('more idle connections than descriptors: those that come are answered, and a document is read by its child', async () => {
    const sockets = occupyNode(cluster, 760);
    await Promise.all(sockets.map((socket) => socket.readyState === 'opening' && once(socket, 'connect')));
    for (let i = 0; i < 20; i++) assertOk(await cluster.request('GET', '/readyz'));
    for (const bytes of ['<p>Leases end.</p>', '<p>Nonces end.</p>', '<p>Polls end.</p>'])
      await uploadIndexed(cluster, { name: 'a.html', bytes, type: 'text/html' });
    assert.ok(sockets.some(({ readyState }) => readyState === 'open'), 'the others are still connected');
    const { Topic } = await cluster.add();
    assert.equal((await cluster.claim()).Topic, Topic);
    for (const socket of sockets) socket.destroy();
  });
});

suite('little memory for bodies', { nodes: 1, args: ['--body-memory-mib=30'] }, ({ test, cluster }) => {
  test('over its bound a node has no time for a large body, and takes the next one when the first is gone', async () => {
    const head = () =>
      `POST ${cluster.path('/api/docs/upload', { as: 'User_1' })} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: ${20 * MIB}\r\n\r\n`;
    const open = async () => {
      const socket = await cluster.socket({ node: 0 });
      socket.write(head());
      return { socket, response: await socket.response() };
    };
    const first = await open();
    assert.equal(first.response.status, 100);
    first.socket.write('x'.repeat(3 * MIB));
    const second = await open();
    assert.equal(second.response.status, 503);
    assert.equal(problem(second.response).code, 'busy');
    assert.ok(Number(second.response.headers['retry-after']) >= 1);
    assertOk(await cluster.addRaw({ Query: 'y'.repeat(10 * KIB) }));
    first.socket.abort();
    await eventually(async () => (await metric(cluster, 'parley_body_bytes')) === 0);
    const third = await open();
    assert.equal(third.response.status, 100);
    third.socket.abort();
    second.socket.abort();
  });
});

// Strangers may hold an eighth of it, 128 KiB: two bodies.
suite('very little memory for bodies', { nodes: 1, args: ['--body-memory-mib=1'] }, ({ test, cluster }) => {
  test('what strangers have waiting counts as theirs until it is answered', async () => {
    const ask = async (i) => {
      const socket = await cluster.socket({ node: 0 });
      const body = JSON.stringify({ question: `How long does lease ${i} last?`, padding: 'x'.repeat(45 * KIB) });
      socket.write(`POST /ask HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      return socket;
    };
    await cluster.redis.cmd('CLIENT', 'PAUSE', 4000, 'WRITE'); // calls of the library are writes
    const waiting = [await ask(1), await ask(2)];
    await eventually(async () => (await metric(cluster, 'parley_body_bytes')) > 90 * KIB, { what: 'two wait' });
    const third = await (await ask(3)).response();
    await cluster.redis.cmd('CLIENT', 'UNPAUSE');
    assert.equal(third.status, 503, third.text);
    assert.equal(problem(third).code, 'busy');
    for (const socket of waiting) await socket.response();
    await eventually(async () => (await metric(cluster, 'parley_body_bytes')) === 0);
    assert.notEqual(problem(await (await ask(4)).response()).code, 'busy');
  });
});
