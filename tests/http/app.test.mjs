// SPDX-License-Identifier: MIT
//
// The files of the web app, as nodes send them. tests/web shows in a browser what the app does.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { assertProblem, suite } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // constant files: the same on any number of shards

const DIST = new URL('../../services/web/app/dist/', import.meta.url);
const NAMES = readdirSync(DIST);
const TYPES = { html: 'text/html; charset=utf-8', js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8', svg: 'image/svg+xml', txt: 'text/plain; charset=utf-8' };
const FIRST_LOAD_MAX_BYTES = 150 << 10;

suite('the web app', { nodes: 1, sweep: false }, ({ test, cluster }) => {
  const get = (path, headers = {}) => cluster.request('GET', `/app/${path}`, { headers });

  test('each of its files is sent whole, with its type, whether compressed or not', async () => {
    for (const name of NAMES) {
      const bytes = readFileSync(new URL(name, DIST));
      for (const encoding of ['gzip', 'identity']) {
        const { status, headers, body } = await get(name, { 'Accept-Encoding': encoding });
        assert.deepEqual([status, headers['content-type'], headers.vary], [200, TYPES[name.split('.').at(-1)], 'Accept-Encoding'], name);
        assert.equal(headers['content-encoding'], encoding === 'gzip' ? 'gzip' : undefined);
        assert.ok(bytes.equals(encoding === 'gzip' ? gunzipSync(body) : body), name);
      }
    }
  });

  test('files that are named by their content are kept by caches for good, the others are asked for each time', async () => {
    assert.ok(NAMES.some((name) => /^app-[\w-]{8}\.js$/.test(name)) && NAMES.includes('index.html'));
    for (const name of NAMES) {
      const { headers } = await cluster.request('HEAD', `/app/${name}`);
      assert.equal(headers['cache-control'], /-[\w-]{8}\.\w+$/.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache', name);
      const again = await get(name, { 'If-None-Match': headers.etag });
      assert.deepEqual([again.status, again.text, again.headers.etag], [304, '', headers.etag]);
    }
  });

  test('what the first load takes is at most 150 KiB, and nothing in the page leads elsewhere', async () => {
    const { text } = await get('');
    const wanted = ['', ...[...text.matchAll(/<(?:script|link)[^>]*(?:src|href)="([^"]*)"/g)].map(([, path]) => path)];
    assert.ok(wanted.length >= 4, text);
    let sum = 0;
    for (const path of wanted) {
      assert.match(path, /^$|^\.\/[\w.-]+$/, 'an address relative to the page');
      const { status, body } = await get(path.replace('./', ''), { 'Accept-Encoding': 'gzip' });
      assert.equal(status, 200, path);
      sum += body.length;
    }
    assert.ok(sum <= FIRST_LOAD_MAX_BYTES, `${sum} bytes`);
  });

  test('its policy allows its own origin, no inline script or style, and no text that becomes HTML', async () => {
    const { headers } = await get('');
    const policy = Object.fromEntries(headers['content-security-policy'].split('; ').map((one) => [one.split(' ')[0], one.split(' ').slice(1).join(' ')]));
    assert.deepEqual(policy, {
      'default-src': "'none'", 'script-src': "'self'", 'style-src': "'self'", 'img-src': "'self'", 'connect-src': "'self'", 'base-uri': "'none'",
      'form-action': "'none'", 'frame-ancestors': "'none'", 'require-trusted-types-for': "'script'", 'trusted-types': "'none'", 'report-uri': 'violations',
    });
    assert.deepEqual([headers['referrer-policy'], headers['x-content-type-options']], ['no-referrer', 'nosniff']);
  });

  test('its address without the slash leads to it, below any path', async () => {
    const { status, headers } = await cluster.request('GET', '/app');
    assert.deepEqual([status, headers.location], [308, 'app/']);
  });

  test('a file of another version is 404 and says what to do, and other methods are 405', async () => {
    assert.match(assertProblem(await cluster.request('GET', '/app/app-00000000.js'), 404, 'not_found').detail, /load \/app\/ again/);
    for (const path of ['/app/..', '/app/%2e%2e', '/app/index.html/', '/app//']) assert.equal((await cluster.request('GET', path)).status, 404, path);
    assert.equal((await cluster.request('POST', '/app/')).headers.allow, 'GET, HEAD');
  });
});
