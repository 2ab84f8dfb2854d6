// SPDX-License-Identifier: MIT
//
// What `./dev up` shows a newcomer: the handbook and the pages about operations in the public collection, and sources that
// lead to the pages that the nodes themselves serve.
import assert from 'node:assert/strict';
import { before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { assertOk, runParley, suite } from '../support/harness.mjs';
import { withEngine } from '../support/asking.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const QUESTIONS = [
  'What happens when an engine dies?',
  'How long does a lease last?',
  'How do I sign a request?',
  'Which formats of documents are read?',
  'How do I fill a collection with ingest?',
  'How does the agent work?',
  'Which limits are there, and what does 429 mean?',
  'How do I run a cluster of nodes behind a load balancer?',
  'Which tokens of an OpenID provider are accepted?',
  'What is a lookup and a recommendation?',
  'Who is served next, and what does fair mean?',
  'How are answers streamed?',
  'What does the alert ParleyQueueFull mean?',
  'How do I restore a backup?',
];

suite('sources of the handbook', {}, ({ test, cluster }) => {
  before(async () => {
    for (const [folder, path] of [['docs/handbook', '/handbook'], ['docs/operations', '/handbook/operations']]) {
      const args = ['ingest', '--redis', cluster.redis.url, '--collection', 'public', '--prune', '--base-url', `${cluster.nodes[0].url}${path}`, folder];
      const { code, stderr } = await runParley(args, { cwd: ROOT, timeout: 120_000 });
      assert.equal(code, 0, stderr);
    }
  });

  test('every source that /ask names over the handbook is a page of the node', () =>
    withEngine(cluster, () => 'So it is [1].', async () => {
      const urls = new Set();
      for (const question of QUESTIONS) {
        const { sources } = assertOk(await cluster.request('POST', '/ask', { body: { question, top_k: 20 } }));
        assert.ok(sources.length > 0, question);
        for (const { url } of sources) urls.add(url);
      }
      assert.ok(urls.size >= 10, `${urls.size} pages were named`);
      for (const url of urls) {
        const response = await fetch(url);
        assert.equal(response.status, 200, url);
        assert.match(response.headers.get('content-type'), /^text\/html\b/);
        const page = await response.text();
        assert.match(page, /<h1 /);
        const section = new URL(url).hash.slice(1);
        if (section) assert.ok(page.includes(` id="${decodeURIComponent(section)}"`), `${url} leads to a section of the page`);
      }
      assert.ok([...urls].filter((url) => url.includes('#')).length >= urls.size / 2, 'most sources lead to a section');
    }));

  test('a question about an alert is answered from the steps for that alert', () =>
    withEngine(cluster, () => 'So it is [1].', async () => {
      const { sources } = assertOk(await cluster.request('POST', '/ask', { body: { question: 'What does the alert ParleyQueueFull mean?' } }));
      assert.match(sources[0].url, /\/handbook\/operations\/alerts#/);
      assert.match(sources[0].content, /^## ParleyQueueFull$/m);
    }));

  test('a question that is a heading is answered from below that heading first', () =>
    withEngine(cluster, () => 'So it is [1].', async () => {
      const { sources } = assertOk(await cluster.request('POST', '/ask', { body: { question: 'What happens when an engine dies?' } }));
      assert.match(sources[0].content, /^## What happens when an engine dies\?/m);
      assert.match(sources[0].url, /\/leases#what-happens-when-an-engine-dies$/);
      assert.equal(new Set(sources.map(({ url, content }) => `${url} ${content}`)).size, sources.length, 'no passage is listed twice');
    }));
});
