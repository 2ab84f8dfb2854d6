// SPDX-License-Identifier: MIT
//
// Errors: a page for requests that prefer text/html, JSON for all others.
import assert from 'node:assert/strict';
import { assertProblem, suite } from '../support/harness.mjs';
import { assertSafePage } from '../support/pages.mjs';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

suite('errors for browsers', { nodes: 1 }, ({ test, cluster }) => {
  const get = (path, accept = BROWSER, options = {}) => cluster.request(options.method ?? 'GET', path, { ...options, headers: { Accept: accept } });
  const KINDS = [
    ['/nowhere', 404, 'no_route'],
    ['/handbook/nothing', 404, 'not_found'],
    ['/api/user-topics', 401, 'unauthorized'],
    ['/api/docs', 401, 'unauthorized'],
  ];

  test('are pages that say what was wrong and lead to the first page', async () => {
    for (const [path, status, code] of KINDS) {
      const answer = await get(path);
      assert.deepEqual([answer.status, answer.headers['content-type']], [status, 'text/html; charset=utf-8'], path);
      assertSafePage(answer);
      assert.match(answer.text, new RegExp(`<h1>${status} [A-Z]`));
      assert.match(answer.text, new RegExp(`<dt>Code</dt><dd>${code}</dd>`));
      assert.ok(answer.text.includes(`<dd>${answer.headers['x-request-id']}</dd>`));
      const [, link] = /<a href="([^"]*)">To the first page/.exec(answer.text);
      assert.equal(new URL(link, new URL(`/below/a/proxy${path}`, 'http://x')).pathname, '/below/a/proxy/', path);
    }
  });

  test('programs get JSON, whatever else they accept', async () => {
    for (const accept of ['*/*', 'application/json', 'application/json, text/html', ''])
      for (const [path, status, code] of KINDS) assertProblem(await get(path, accept, { localAddress: '127.8.4.1' }), status, code);
  });

  test('a door keeps the form of its clients', async () => {
    const { status, json } = await get('/v1/nowhere');
    assert.deepEqual([status, Object.keys(json)], [404, ['error']]);
  });

  test('text of the request stays text', async () => {
    for (const path of [`/handbook/${encodeURIComponent('<img src=x onerror=alert(1)>"')}`, '//evil.example/"><script>', '/%3Cscript%3E'])
      assertSafePage(await get(path));
  });

  test('a method that a page does not take is a page, too, with Allow', async () => {
    const answer = await get('/handbook', BROWSER, { method: 'DELETE' });
    assert.equal(answer.status, 405);
    assert.equal(answer.headers.allow, 'GET, HEAD');
    assertSafePage(answer);
  });
});
