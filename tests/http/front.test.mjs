// SPDX-License-Identifier: MIT
//
// GET /: a page for browsers, JSON for programs; and GET /openapi.yaml, plain and compressed. On two nodes.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { parked, verbCalls } from '../cluster/watch.mjs';
import { assertMembers, assertOk, assertProblem, eventually, suite } from '../support/harness.mjs';
import { assertSafePage } from '../support/pages.mjs';
import { openapiText } from '../support/routes.mjs';
import { SHARDS } from '../support/shards.mjs';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8';
const PAGE = 'text/html; charset=utf-8';
const JSON_TYPE = 'application/json';
const FILE = Buffer.from(openapiText());

suite('the first page', {}, ({ test, cluster }) => {
  const get = (accept, options = {}) => cluster.request('GET', '/', { ...options, headers: accept === undefined ? {} : { Accept: accept } });
  async function page(options) {
    const response = await get(BROWSER, options);
    assert.equal(response.status, 200);
    assert.equal(response.headers['content-type'], PAGE);
    return response;
  }
  // {'Questions waiting': '0', …} as the page shows them.
  const entries = (html) => Object.fromEntries([...html.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/g)].map(([, name, value]) => [name, value]));

  test('a browser gets a page, a program JSON, whatever order and case their Accept has', async () => {
    const cases = [
      [undefined, JSON_TYPE], ['*/*', JSON_TYPE], ['', JSON_TYPE], ['application/json', JSON_TYPE], ['image/png', JSON_TYPE],
      [BROWSER, PAGE], ['text/html', PAGE], ['TEXT/HTML', PAGE], ['text/*', PAGE], ['text/html;level=1', PAGE], ['application/json;q=0.1, text/html;q=0.2', PAGE],
      ['text/html;q=0.5, application/json', JSON_TYPE], ['text/html;q=0, */*', JSON_TYPE], ['text/html ; q=0.9 , application/json ; Q=0.899', PAGE],
      ['text/html, application/json', JSON_TYPE], ['application/json;q=0, */*;q=0.1', PAGE], ['text/html;q=2, application/json;q=0.1', JSON_TYPE],
      ['text/event-stream', JSON_TYPE],
    ];
    for (const [accept, type] of cases) {
      const { status, headers } = await get(accept);
      assert.deepEqual([status, headers['content-type'], headers.vary], [200, type, 'Accept'], accept);
      assert.equal(headers['cache-control'], 'no-store');
    }
  });

  test('it shows how many questions wait and how many engines are there, for the whole cluster', async () => {
    const shows = (depth, polls, claims) => async () => {
      for (const node of [0, 1]) {
        const { depth: d, parked_polls: p, in_flight: c } = assertOk(await get(JSON_TYPE, { node }));
        if (d !== depth || p !== polls || c !== claims) return false;
        const { text } = await page({ node });
        assert.deepEqual(entries(text), { 'Questions waiting': `${depth}`, 'Free engine slots': `${polls}`, 'Topics being answered': `${claims}` });
      }
      return true;
    };
    await eventually(shows(0, 0, 0), { what: 'nothing is there' });
    assert.match((await page()).text, /<p class="state">No engine is connected\./);
    const adds = await Promise.all([1, 2, 3].map(() => cluster.add()));
    await eventually(shows(3, 0, 0), { what: 'three questions wait' });
    await cluster.claim();
    await eventually(shows(2, 0, 1), { what: 'one of them is claimed' });
    assert.match((await page()).text, /<p class="state is-good">Questions are accepted, and engines are there/);
    await cluster.claim();
    await cluster.claim();
    for (const { Topic } of adds) await cluster.answer({ Topic, Seq: 1 });
    const poll = cluster.claimOpen({ wait: 60, node: 0 });
    await parked(cluster, 0, 1);
    await eventually(shows(0, 1, 0), { what: 'an engine waits' });
    poll.abort();
    await eventually(shows(0, 0, 0), { what: 'it has left' });
  });

  test('it names no account, topic, engine, node, model, version or address', async () => {
    const engine = cluster.claimOpen({ wait: 60, node: 0, engine: 'closet', models: 'other-model' });
    await parked(cluster, 0, 1);
    await eventually(async () => assertOk(await get(JSON_TYPE)).parked_polls === 1, { what: 'the engine is counted' });
    const { Topic } = await cluster.add({ Query: 'A private question', User: 'alice', Model: 'secret-model' });
    await eventually(async () => assertOk(await get(JSON_TYPE)).depth === 1, { what: 'the question is counted' });
    const body = assertOk(await get(JSON_TYPE));
    assertMembers(body, ['name', 'description', 'accepting', 'provider', 'depth', 'parked_polls', 'in_flight', 'links']);
    const version = /VERSION (\d+\.\d+\.\d+)/.exec(readFileSync(new URL('../../CMakeLists.txt', import.meta.url), 'utf8'))[1];
    for (const text of [JSON.stringify(body), (await page()).text])
      for (const secret of [Topic, 'private question', 'alice', 'secret-model', 'other-model', 'closet', 'Frontend_1', 'Inference_1', version, '127.0.0.1', cluster.redis.url])
        assert.ok(!text.includes(secret), secret);
    engine.abort();
  });

  test('a thousand visitors at once cost Redis one call for each node, and all are answered', async () => {
    const calls = async () => (await verbCalls(cluster, 0, 'front')) + (await verbCalls(cluster, 1, 'front'));
    const before = await calls();
    const began = Date.now();
    for (let i = 0; i < 10; i++) {
      const answers = await Promise.all(Array.from({ length: 100 }, (_, k) => get(k % 2 ? BROWSER : JSON_TYPE)));
      for (const { status } of answers) assert.equal(status, 200);
    }
    // A node asks again when two seconds are over, of each shard.
    const rounds = 1 + Math.ceil((Date.now() - began) / 2000);
    assert.ok((await calls()) - before <= 2 * rounds * SHARDS, `${(await calls()) - before} calls in ${rounds} rounds`);
  });

  test('the page may load nothing, run nothing and be framed by nobody, and its one style is let in', async () => {
    const answer = await page();
    assertSafePage(answer, { hasForm: true });
    assert.doesNotMatch(answer.text, /https?:/i);
  });

  test('its links, which the JSON names too, lead to what is there', async () => {
    const { text } = await page();
    const links = [...text.matchAll(/<a href="([^"]*)"/g)].map(([, link]) => link);
    assert.deepEqual(links, ['app/', 'handbook', 'openapi.yaml', 'health']);
    const paths = links.map((link) => `/${link}`);
    for (const path of paths) assert.equal((await cluster.request('GET', path)).status, 200, path);
    assert.deepEqual(Object.values(assertOk(await get(JSON_TYPE)).links).sort(), paths.sort());
  });

  test('HEAD says what GET would, and another method is 405 with Allow', async () => {
    const socket = await cluster.socket();
    socket.write('HEAD / HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n\r\nHEAD / HTTP/1.1\r\nHost: x\r\n\r\n');
    socket.write('HEAD /openapi.yaml HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    const { rest } = await socket.closed();
    const answers = rest.split(/(?=HTTP\/1\.1 \d)/);
    const types = answers.map((one) => /\r\ncontent-type: (.*?)\r\n/.exec(one)[1]);
    assert.deepEqual(types, [PAGE, JSON_TYPE, 'application/yaml']);
    assert.match(answers[2].toLowerCase(), new RegExp(`\r\ncontent-length: ${FILE.length}\r\n`));
    for (const bare of answers) assert.ok(bare.endsWith('\r\n\r\n'), bare);
    for (const path of ['/', '/openapi.yaml']) {
      const refused = await cluster.request('POST', path);
      assertProblem(refused, 405);
      assert.equal(refused.headers.allow, 'GET, HEAD');
    }
    for (const path of ['//', '/.', '/index.html', '/openapi.yaml/', '/openapi.json']) assertProblem(await cluster.request('GET', path), 404, 'no_route');
  });

  test('credentials make no difference, and wrong ones are not counted as failures', async () => {
    for (let i = 0; i < 15; i++) {
      const { status, json } = await cluster.request('GET', '/', { headers: { Authorization: 'Bearer wrong' }, localAddress: '127.8.1.1' });
      assert.deepEqual([status, json.name], [200, 'Parley']);
    }
    assertProblem(await cluster.request('GET', '/api/login', { localAddress: '127.8.1.1' }), 401, 'unauthorized');
  });
});

suite('/openapi.yaml', {}, ({ test, cluster }) => {
  const get = (headers = {}, options = {}) => cluster.request('GET', '/openapi.yaml', { headers, ...options });

  test('it is what the rows of all routes say, byte for byte, on every node and without credentials', async () => {
    for (const node of [0, 1]) {
      const { status, headers, body } = await get({}, { node });
      assert.deepEqual([status, headers['content-type'], headers['cache-control'], headers.vary], [200, 'application/yaml', 'no-cache', 'Accept-Encoding']);
      assert.equal(headers['content-encoding'], undefined);
      assert.ok(body.equals(FILE));
      const packed = await get({ 'Accept-Encoding': 'gzip' }, { node });
      assert.equal(packed.headers['content-encoding'], 'gzip');
      assert.ok(packed.body.length * 6 < FILE.length, `${packed.body.length} of ${FILE.length} bytes`);
      assert.ok(gunzipSync(packed.body).equals(FILE));
    }
  });

  test('it is compressed if Accept-Encoding allows gzip and prefers nothing else', async () => {
    for (const list of ['gzip', 'GZIP', 'gzip, deflate, br, zstd', 'br;q=1.0, gzip;q=0.8', '*', 'identity, gzip', 'gzip;q=0.001, identity;q=0', 'x;q=bad, gzip'])
      assert.equal((await get({ 'Accept-Encoding': list })).headers['content-encoding'], 'gzip', list);
    for (const list of ['', 'br', 'identity', 'gzip;q=0', 'gzip;q=0.000, *', '*;q=0', 'gzip;q=0.5, identity', 'gzipped', 'x-gzip', 'gzip;q=', 'gzip;q=1.001', ',;,=;q'])
      assert.equal((await get({ 'Accept-Encoding': list })).headers['content-encoding'], undefined, list);
  });

  test('a client that has it gets 304 from every node, if it asks for the same form', async () => {
    const forms = [{}, { 'Accept-Encoding': 'gzip' }];
    const etags = await Promise.all(forms.map(async (form) => (await get(form)).headers.etag));
    assert.match(etags[0], /^"[0-9a-f]{32}"$/);
    assert.notEqual(etags[0], etags[1]);
    for (const node of [0, 1])
      for (const [i, form] of forms.entries()) {
        const same = await get({ ...form, 'If-None-Match': etags[i] }, { node });
        assert.deepEqual([same.status, same.text, same.headers.etag, same.headers.vary], [304, '', etags[i], 'Accept-Encoding']);
        assert.equal((await get({ ...form, 'If-None-Match': etags[1 - i] }, { node })).status, 200);
      }
  });

  test('a page of another origin may read it', async () => {
    const { headers } = await get({ Origin: 'https://docs.example' });
    assert.equal(headers['access-control-allow-origin'], 'https://docs.example');
    assert.match(headers.vary, /Origin/);
    assert.match(headers.vary, /Accept-Encoding/);
  });
});

// One server: it comes back empty.
suite('the first page while Redis is away', { servers: 1, nodes: 1, sweep: false }, ({ test, cluster }) => {
  test('says that no question can be queued, at once, with numbers unknown; and is right again afterwards', async () => {
    const json = async () => assertOk(await cluster.request('GET', '/'));
    assert.equal((await json()).accepting, true);
    await cluster.redis.kill();
    await eventually(async () => !(await json()).accepting, { what: 'it is noticed' });
    const { depth, parked_polls, in_flight } = await json();
    assert.deepEqual([depth, parked_polls, in_flight], [null, null, null]);
    const { text } = await cluster.request('GET', '/', { headers: { Accept: BROWSER } });
    assert.match(text, /<p class="state">The store cannot be used\./);
    assert.equal(text.match(/<dd>unknown<\/dd>/g).length, 3);
    assert.equal((await cluster.request('GET', '/openapi.yaml')).status, 200);
    await cluster.redis.restart();
    await eventually(async () => (await json()).depth === 0, { what: 'it is back', ms: 60_000 });
  });
});
