// SPDX-License-Identifier: MIT
//
// Nodes that serve HTTPS and HTTP/2 themselves: by which clients, with which versions and ciphers; how a certificate
// is exchanged, and what a connection may cost before anybody has proved anything. What requests get is the subject of
// other files, some of which run over HTTPS as well (in ./dev test nightly).
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import http2 from 'node:http2';
import https from 'node:https';
import net from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import tls from 'node:tls';
import { promisify } from 'node:util';
import WebSocket from 'ws';
import {
  ACCOUNTS, assertOk, eventually, freePort, makeFolder, newTopic, openRequest, runParley, sign, startCluster, startNode, startProcess, waitForOutput, withQuery, writeAccounts,
} from '../support/harness.mjs';
import { frame, FRAME, get } from '../support/frames.mjs';
import { ownShards } from '../support/shards.mjs';
import { makeAuthority } from '../support/tls.mjs';

ownShards(); // connections, which end before shards begin
delete process.env.PARLEY_TEST_TLS;

const run = promisify(execFile);
const KIB = 1024;
const PACE_MS = 10; // between the requests of one client, so that a load does not occupy the machine

describe('HTTPS', () => {
  let cluster, node, folder, authority, first, ca, secure;
  // The files that the node reads.
  const at = (name) => join(folder.dir, name);
  const install = ({ cert, key }) => {
    for (const [from, to] of [[key, 'node.key'], [cert, 'node.pem']]) {
      copyFileSync(from, at(`${to}.new`));
      renameSync(at(`${to}.new`), at(to));
    }
  };
  before(async () => {
    folder = makeFolder();
    authority = makeAuthority(folder.dir);
    ca = readFileSync(authority.ca);
    first = authority.make('first');
    install(first);
    cluster = await startCluster({ nodes: 0 });
    node = await cluster.startNode({ args: ['--tls-listen', '127.0.0.1:0', '--tls-cert', at('node.pem'), '--tls-key', at('node.key'), '--header-max-bytes', '16384'] });
    secure = /listening on (https:\S+)/.exec(node.stdout())[1];
  });
  after(async () => {
    await cluster.stop();
    folder.remove();
  });

  const port = () => Number(new URL(secure).port);
  const plainPort = () => Number(new URL(node.url).port);
  const path = (to, as = 'Frontend_1', query = {}) => withQuery(to, { ...query, ...sign(as, ACCOUNTS[as].secret) });

  function ask(method, path, { body, agent, to = port() } = {}) {
    return new Promise((resolve, reject) => {
      const request = https.request({ host: '127.0.0.1', port: to, ca, method, path, agent, headers: { 'Content-Type': 'application/json' } }, async (response) => {
        let text = '';
        for await (const chunk of response) text += chunk;
        resolve({ status: response.statusCode, headers: response.headers, text, json: text ? JSON.parse(text) : undefined, socket: request.socket });
      });
      request.on('error', reject);
      request.end(body && JSON.stringify(body));
    });
  }

  // A connection after its handshake.
  async function connect(options = {}) {
    const socket = tls.connect({ port: port(), host: '127.0.0.1', ca, ALPNProtocols: ['http/1.1'], ...options });
    socket.on('error', () => {});
    await once(socket, 'secureConnect');
    return socket;
  }

  const openssl = (...args) => new Promise((resolve) => execFile('openssl', ['s_client', '-connect', `127.0.0.1:${port()}`, '-CAfile', authority.ca, ...args], (error, stdout, stderr) => resolve({ ok: !error, text: stdout + stderr })).stdin.end());

  const metric = async (name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec((await cluster.request('GET', '/metrics')).text)?.[1]);

  it('curl asks over HTTP/1.1 and HTTP/2, and checks the certificate', async () => {
    for (const [flag, version] of [['--http1.1', '1.1'], ['--http2', '2']]) {
      const { stdout } = await run('curl', ['-sS', flag, '--cacert', authority.ca, '-w', '%{http_code} %{http_version} %{ssl_verify_result}', `${secure}/livez`, '-o', '/dev/null']);
      assert.equal(stdout, `200 ${version} 0`);
    }
    await assert.rejects(run('curl', ['-sS', `${secure}/livez`]), /certificate/);
  });

  it('a question is asked, claimed, streamed and answered over HTTPS', async () => {
    const Topic = newTopic();
    const added = await ask('POST', path('/api/add-query'), { body: { Topic, User: 'alice', Query: 'Why?' } });
    assert.equal(added.json.Seq, 1);
    const waiting = ask('GET', path('/api/check-query', 'Frontend_1', { Topic, Seq: 1, Wait: 60 }));
    const { stdout: claimed } = await run('curl', ['-sS', '--http2', '--cacert', authority.ca, secure + path('/api/get-new-queries', 'Inference_1', { Wait: 10 })]);
    assert.equal(JSON.parse(claimed).Topic, Topic);
    await ask('POST', path('/api/give-new-answer', 'Inference_1'), { body: { Topic, Seq: 1, Query: 'Why?', Think: [], Answer: ['Because.'] } });
    assert.deepEqual((await waiting).json.Answer, ['Because.']);
    const stream = await run('curl', ['-sS', '--http2', '--cacert', authority.ca, '-H', 'Accept: text/event-stream', secure + path('/api/check-query', 'Frontend_1', { Topic, Seq: 1 })]);
    assert.match(stream.stdout, /Because/);
  });

  it('a long poll whose client leaves, by close_notify or without, is no longer parked', async () => {
    for (const leave of [(socket) => socket.end(), (socket) => socket.destroy()]) {
      const socket = await connect();
      socket.write(`GET ${path('/api/get-new-queries', 'Inference_2', { Wait: 100, Models: 'nobody' })} HTTP/1.1\r\nHost: x\r\n\r\n`);
      await eventually(async () => (await metric('parley_polls_parked')) === 1, { what: 'the parked poll' });
      leave(socket);
      await eventually(async () => (await metric('parley_polls_parked')) === 0, { what: 'its end' });
      socket.destroy();
    }
  });

  it('requests that come at once, with bodies, in one record or byte by byte, are answered in order', async () => {
    const body = JSON.stringify({ Topic: newTopic(), User: 'alice', Query: 'x'.repeat(9000) });
    const post = () => `POST ${path('/api/add-query')} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const last = `GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
    for (const step of [Infinity, 16384, 1000, 97]) {
      const socket = await connect();
      const text = post() + post() + post() + last;
      let answer = '';
      socket.on('data', (data) => (answer += data));
      for (let from = 0; from < text.length; from += step) socket.write(text.slice(from, from + step));
      await once(socket, 'end');
      assert.equal(answer.match(/HTTP\/1\.1 200/g)?.length, 4, `${step}: ${answer}`);
    }
  });

  it('Expect: 100-continue is answered before the body is sent', async () => {
    const socket = await connect();
    let answer = '';
    socket.on('data', (data) => (answer += data));
    const body = JSON.stringify({ Topic: newTopic(), User: 'alice', Query: 'Why?' });
    socket.write(`POST ${path('/api/add-query')} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`);
    await eventually(() => /^HTTP\/1\.1 100 Continue\r\n\r\n$/.test(answer), { what: 'the 100' });
    socket.write(body);
    await eventually(() => /HTTP\/1\.1 200/.test(answer), { what: 'the answer' });
    socket.destroy();
  });

  it('a WebSocket works over HTTPS, and large messages with it', async () => {
    const { json } = await ask('GET', path('/api/login', 'User_1'));
    const socket = new WebSocket(`${secure.replace('https', 'wss')}/ws?token=${json.Token}`, { ca });
    const closed = once(socket, 'close');
    await once(socket, 'open');
    const answered = once(socket, 'message');
    socket.send(JSON.stringify({ type: 'nothing-we-know', text: 'x'.repeat(100 * KIB) }));
    assert.match(String((await answered)[0]), /error/);
    socket.ping();
    await once(socket, 'pong');
    socket.close(1000);
    assert.equal((await closed)[0], 1000);
  });

  it('many streams of HTTP/2 with bodies share one connection', async () => {
    const session = http2.connect(secure, { ca });
    const Topic = newTopic();
    const answers = await Promise.all(
      Array.from({ length: 60 }, async () => {
        const stream = session.request({ ':method': 'POST', ':path': path('/api/add-query'), 'content-type': 'application/json' });
        stream.end(JSON.stringify({ Topic, User: 'alice', Query: 'y'.repeat(5000) }));
        let text = '';
        for await (const chunk of stream) text += chunk;
        return JSON.parse(text).Seq;
      }),
    );
    assert.deepEqual(answers.sort((a, b) => a - b), answers.map((_, i) => i + 1));
    session.close();
  });

  it('versions before 1.2, weak ciphers and renegotiation are refused; 1.2 and 1.3 are not', async () => {
    for (const version of ['-ssl3', '-tls1', '-tls1_1']) assert.ok(!(await openssl(version, '-cipher', 'ALL:@SECLEVEL=0')).ok, version);
    for (const [version, name] of [['-tls1_2', 'TLSv1.2'], ['-tls1_3', 'TLSv1.3']]) {
      const { ok, text } = await openssl(version, '-alpn', 'h2,http/1.1');
      assert.ok(ok && text.includes(`${name}, Cipher is `) && text.includes('ALPN protocol: h2') && text.includes('Verify return code: 0'), text);
      assert.ok(text.includes('Compression: NONE') || name === 'TLSv1.3', text);
    }
    for (const weak of ['AES128-SHA', 'AES128-GCM-SHA256', 'ECDHE-ECDSA-AES128-SHA', 'DHE-RSA-AES128-GCM-SHA256', 'NULL', 'aNULL', '3DES', 'CBC', 'RC4'])
      assert.ok(!(await openssl('-tls1_2', '-cipher', `${weak}:@SECLEVEL=0`)).ok, weak);
    for (const good of ['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-ECDSA-CHACHA20-POLY1305']) assert.ok((await openssl('-tls1_2', '-cipher', good)).ok, good);
    assert.ok(!(await openssl('-alpn', 'spdy/1')).ok, 'no protocol in common');
    const text = await new Promise((resolve) => {
      const child = execFile('openssl', ['s_client', '-connect', `127.0.0.1:${port()}`, '-tls1_2', '-CAfile', authority.ca], (_, stdout, stderr) => resolve(stdout + stderr));
      child.stdout.on('data', () => child.stdin.writable && child.stdin.write('R\n'));
    });
    assert.match(text, /no renegotiation/i);
    assertOk(await ask('GET', '/livez'));
  });

  it('the port of HTTPS answers a client that speaks HTTP, and the other port one that speaks TLS', async () => {
    const socket = net.connect(port(), '127.0.0.1');
    socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    let answer = '';
    for await (const chunk of socket) answer += chunk;
    assert.match(answer, /^HTTP\/1\.1 400 .*HTTPS only/s);
    const [, length, body] = /Content-Length: (\d+)\r\n\r\n([^]*)$/.exec(answer);
    assert.equal(body.length, Number(length));
    const wrong = tls.connect({ port: plainPort(), host: '127.0.0.1', ca });
    await assert.rejects(once(wrong, 'secureConnect'));
    assertOk(await cluster.request('GET', '/livez'));
  });

  describe('a certificate', () => {
    const subject = async () => (await ask('GET', '/livez', { agent: new https.Agent({ maxCachedSessions: 0 }) })).socket.getPeerCertificate().subject.CN;
    const logged = (pattern) => node.log().split('\n').filter((line) => pattern.test(line)).length;

    it('is exchanged under load without a failed request, as its files change or at SIGHUP', async () => {
      let isOver = false, asked = 0;
      const agent = new https.Agent({ keepAlive: true });
      const load = Array.from({ length: 8 }, async (_, i) => {
        while (!isOver) {
          assert.equal((await ask('GET', '/livez', { agent: i % 2 ? agent : false })).status, 200);
          asked++;
          await sleep(PACE_MS);
        }
      });
      try {
        for (let i = 0; i < 3; i++) {
          install(authority.make(`by-itself-${i}`));
          await eventually(async () => (await subject()) === `by-itself-${i}`, { what: 'the new certificate' });
          install(authority.make(`by-signal-${i}`, { rsa: i === 1 }));
          node.signal('SIGHUP');
          await eventually(async () => (await subject()) === `by-signal-${i}`, { what: 'the new certificate' });
        }
      } finally {
        isOver = true;
        await Promise.all(load);
      }
      assert.ok(asked > 50, `${asked} requests`);
    });

    // As a load balancer that reaches nodes over HTTPS and keeps connections to them open.
    it('is exchanged under load of nginx without a failed request', async () => {
      const { stdout: program } = await run('tests/nginx.sh');
      const listen = await freePort();
      const config = folder.file('nginx.conf', `
        daemon off; pid ${at('nginx.pid')}; error_log ${at('nginx.log')} warn; worker_processes 1;
        events { worker_connections 256; }
        http {
          access_log off; client_body_temp_path ${at('body')}; proxy_temp_path ${at('proxy')}; fastcgi_temp_path ${at('f')}; uwsgi_temp_path ${at('u')}; scgi_temp_path ${at('s')};
          upstream parley { server 127.0.0.1:${port()}; keepalive 8; }
          server {
            listen 127.0.0.1:${listen};
            location / {
              proxy_pass https://parley; proxy_http_version 1.1; proxy_set_header Connection ''; proxy_next_upstream off;
              proxy_ssl_verify on; proxy_ssl_trusted_certificate ${authority.ca}; proxy_ssl_name localhost; proxy_ssl_protocols TLSv1.2 TLSv1.3; proxy_ssl_session_reuse on;
            }
          }
        }`);
      const nginx = spawn(program.trim(), ['-e', at('nginx.log'), '-c', config], { stdio: 'ignore' });
      const ended = once(nginx, 'exit');
      const base = `http://127.0.0.1:${listen}`;
      try {
        await eventually(async () => (await openRequest(base, 'GET', '/livez').response).status === 200, { what: 'nginx' });
        let isOver = false, asked = 0;
        const load = Array.from({ length: 8 }, async () => {
          while (!isOver) {
            assertOk(await openRequest(base, 'POST', path('/api/add-query'), { body: { Topic: newTopic(), User: newTopic('user'), Query: 'Why?' } }).response);
            asked++;
            await sleep(PACE_MS);
          }
        });
        for (let i = 0; i < 3; i++) {
          install(authority.make(`behind-nginx-${i}`));
          await eventually(async () => (await subject()) === `behind-nginx-${i}`, { what: 'the new certificate' });
        }
        isOver = true;
        await Promise.all(load);
        assert.ok(asked > 20, `${asked} requests`);
        assert.equal(readFileSync(at('nginx.log'), 'utf8'), '');
      } finally {
        nginx.kill('SIGTERM');
        await ended;
      }
    });

    it('that is broken, or of another key, is refused with one line, and the old one stays', async () => {
      install(first);
      await eventually(async () => (await subject()) === 'first');
      for (const [what, change] of [
        ['no certificate', () => writeFileSync(at('node.pem'), 'no certificate')],
        ['a key of another', () => install({ ...authority.make('other'), key: first.key })],
        ['an empty key', () => (install(first), writeFileSync(at('node.key'), ''))],
      ]) {
        await eventually(async () => (await subject()) === 'first');
        const before = logged(/keeping the old one/);
        change();
        await eventually(() => logged(/keeping the old one/) > before, { what });
        const looked = node.log().length;
        for (let i = 0; i < 20; i++) assert.equal(await subject(), 'first');
        assert.equal(logged(/keeping the old one/), before + 1, node.log().slice(looked));
        install(first);
        const reloads = logged(/certificate reloaded/);
        await eventually(() => logged(/certificate reloaded/) > reloads - 1);
      }
      assert.match(node.log(), /node\.pem|node\.key/);
    });

    it('in a folder that is exchanged by its link, as Kubernetes does, is noticed', async () => {
      const second = authority.make('second');
      const third = authority.make('third');
      const linked = makeFolder();
      const to = (name) => join(linked.dir, name);
      for (const [name, pair] of [['a', second], ['b', third]]) {
        await run('mkdir', [to(name)]);
        copyFileSync(pair.cert, join(to(name), 'tls.crt'));
        copyFileSync(pair.key, join(to(name), 'tls.key'));
      }
      symlinkSync('a', to('..data'));
      for (const name of ['tls.crt', 'tls.key']) symlinkSync(`..data/${name}`, to(name));
      const other = await cluster.startNode({ args: ['--tls-cert', to('tls.crt'), '--tls-key', to('tls.key')] });
      assert.match(other.url, /^https:/);
      const named = async () => {
        const socket = await connect({ port: Number(new URL(other.url).port) });
        const { CN } = socket.getPeerCertificate().subject;
        socket.destroy();
        return CN;
      };
      assert.equal(await named(), 'second');
      symlinkSync('b', to('..new'));
      renameSync(to('..new'), to('..data'));
      await eventually(async () => (await named()) === 'third');
      await other.stop();
      linked.remove();
    });

    it('that cannot be used ends the start with one line that names file or flag', async () => {
      const accounts = writeAccounts();
      const other = authority.make('stranger');
      for (const [args, says, code] of [
        [['--tls-cert', first.cert], /--tls-key/, 2],
        [['--tls-key', first.key], /--tls-cert/, 2],
        [['--tls-listen', '127.0.0.1:0'], /--tls-cert and --tls-key/, 2],
        [['--tls-cert', first.cert, '--tls-key', other.key], /stranger\.key/, 2],
        [['--tls-cert', at('none.pem'), '--tls-key', first.key], /none\.pem: No such file/, 2],
        [['--tls-cert', first.cert, '--tls-key', first.key, '--listen', 'unix:/tmp/x'], /--listen/, 2],
      ]) {
        const end = await runParley(['serve', '--redis', cluster.redis.url, '--accounts', accounts.path, '--listen', '127.0.0.1:0', ...args]);
        assert.equal(end.code, code, end.stderr);
        assert.match(end.stderr, says);
        assert.equal(end.stderr.trim().split('\n').length, 1, end.stderr);
      }
      accounts.remove();
    });
  });

  describe('one hostile connection', () => {
    const opened = () => metric('parley_connections_open');
    const raw = () => {
      const socket = net.connect(port(), '127.0.0.1');
      socket.on('error', () => {});
      socket.resume();
      socket.ended = new Promise((resolve) => socket.once('close', resolve));
      return socket;
    };
    const hello = (claimed, n) => {
      const record = Buffer.alloc(9 + n);
      record.set([22, 3, 1, (n + 4) >> 8, (n + 4) & 255, 1, claimed >> 16, (claimed >> 8) & 255, claimed & 255]);
      return record;
    };

    it('that announces a ClientHello of 128 KiB, or one that is not there, is closed', async () => {
      for (const bytes of [hello(131_000, 16_000), hello(131_000, 200), Buffer.from([22, 3, 1, 0xff, 0xff]), Buffer.from([0, 0, 0, 0, 0, 0])]) {
        const socket = raw();
        socket.write(bytes);
        await socket.ended;
      }
      const half = raw();
      half.end(hello(600, 600).subarray(0, 100));
      await half.ended;
      assertOk(await ask('GET', '/livez'));
    });

    it('that never ends its ClientHello keeps no processor busy, and ends with the time for it', async () => {
      const sockets = Array.from({ length: 20 }, () => raw());
      for (const [i, socket] of sockets.entries()) socket.write(hello(600, 600).subarray(0, 1 + i * 20));
      await eventually(async () => (await opened()) >= 20);
      const ticks = () => Number(readFileSync(`/proc/${node.child.pid}/stat`, 'utf8').split(') ')[1].split(' ')[11]);
      const from = ticks();
      await Promise.all(sockets.map((socket) => socket.ended));
      assert.ok(ticks() - from < 400, `${ticks() - from} ticks of 10 ms in ten seconds`);
    });

    it('of a crowd that never asks takes no place from those who do', async () => {
      const small = await cluster.startNode({ args: ['--tls-cert', first.cert, '--tls-key', first.key], limits: ['--nofile=200'] });
      const to = Number(new URL(small.url).port);
      const crowd = Array.from({ length: 300 }, (_, i) => {
        const socket = net.connect(to, '127.0.0.1');
        socket.on('error', () => {});
        if (i % 3) socket.write(hello(600, 600).subarray(0, i % 3 === 1 ? 300 : 700));
        return socket;
      });
      for (let i = 0; i < 10; i++) assertOk(await ask('GET', '/livez', { to }));
      for (const socket of crowd) socket.destroy();
      await small.stop();
    });

    it('that resets a thousand streams as soon as they begin leaves nothing', async () => {
      const socket = await connect({ ALPNProtocols: ['h2'] });
      let answer = Buffer.alloc(0);
      socket.on('data', (data) => (answer = Buffer.concat([answer, data])));
      socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(FRAME.settings, 0, 0)]));
      for (let i = 0; i < 1000 && !socket.destroyed; i++) {
        const id = 2 * i + 1;
        socket.write(Buffer.concat([get(id, path('/api/get-new-queries', 'Inference_2', { Wait: 100, Models: 'nobody' })), frame(FRAME.reset, 0, id, Buffer.from([0, 0, 0, 8]))]));
      }
      socket.write(frame(FRAME.ping, 0, 0, Buffer.from('all read')));
      await eventually(() => socket.destroyed || answer.includes('all read'), { what: 'the node has read them' });
      await eventually(async () => (await metric('parley_polls_parked')) === 0);
      assertOk(await ask('GET', '/livez'));
      socket.destroy();
    });

    it('whose head continues in CONTINUATION frames for ever is closed', async () => {
      const socket = await connect({ ALPNProtocols: ['h2'] });
      socket.resume();
      const ended = new Promise((resolve) => socket.once('close', resolve));
      socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(FRAME.settings, 0, 0), frame(FRAME.headers, 0, 1, Buffer.alloc(100))]));
      const more = frame(FRAME.continuation, 0, 1, Buffer.alloc(1000));
      const timer = setInterval(() => !socket.destroyed && socket.write(more), 1);
      await ended;
      clearInterval(timer);
      assertOk(await ask('GET', '/livez'));
    });
  });

  it('the engine and the tools reach a node over HTTPS with --ca-file, and say why they do not without', async () => {
    const secret = folder.file('engine.secret', ACCOUNTS.Inference_1.secret);
    const args = ['engine', '--url', secure, '--user', 'Inference_1', '--secret-file', secret];
    const engine = startProcess([...args, '--ca-file', authority.ca]);
    await waitForOutput(engine, ({ stdout }) => /pulling from/.test(stdout), 60_000, 'the engine');
    const Topic = newTopic();
    const answer = await ask('POST', path('/api/add-query', 'Frontend_1', { Wait: 60 }), { body: { Topic, User: 'alice', Query: 'What is the meaning of life?' } });
    assert.ok(Array.isArray(answer.json.Answer), answer.text);
    engine.child.kill('SIGTERM');
    assert.equal((await engine.exit()).code, 0);
    const distrusting = startProcess([...args, '--start-seconds', '1']);
    await waitForOutput(distrusting, ({ stderr }) => /certificate/i.test(stderr), 60_000, 'what is wrong');
    distrusting.child.kill('SIGTERM');
    await distrusting.exit();
    const wrong = await runParley([...args, '--ca-file', secret]);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /--ca-file/);
  });
});
