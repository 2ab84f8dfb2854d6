// SPDX-License-Identifier: MIT
//
// GET /handbook: the pages of docs/handbook and docs/operations, on two nodes, at the addresses that `parley ingest` gives them.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { assertProblem, suite } from '../support/harness.mjs';
import { assertSafePage } from '../support/pages.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // pages that are part of the program: the same on any number of shards

const DOCS = new URL('../../docs/', import.meta.url);
const pagesIn = (folder) => readdirSync(new URL(`${folder}/`, DOCS)).filter((name) => name.endsWith('.md')).map((name) => `${folder}/${name}`);
const HANDBOOK = pagesIn('handbook');
const PAGES = [...HANDBOOK, ...pagesIn('operations')];
const ENTITIES = { amp: '&', lt: '<', gt: '>', quot: '"' };

const decode = (html) => html.replace(/&(amp|lt|gt|quot);/g, (_, name) => ENTITIES[name]);
const words = (text) => text.split(/\s+/).filter(Boolean);

// The cells of a row, in which a bar that belongs to the text has a backslash.
const cellsOf = (row) => row.slice(1, -1).split(/(?<!\\)\|/).join(' ').replaceAll('\\|', '|');

// What a page of Markdown says, without its marks. Code is taken as it stands.
function wordsOfSource(markdown) {
  const parts = markdown.split(/^```.*\n([^]*?)^```$/m);
  return parts.flatMap((part, i) => {
    if (i % 2 === 1) return words(part);
    const text = part.replace(/^<!--.*-->\n/gm, '').replace(/^\|[-|]+\|\n/gm, '').replace(/^\|.*\|$/gm, cellsOf);
    const prose = text.split(/`([^`]+)`/).map((piece, j) => (j % 2 === 1 ? piece : piece.replace(/^(#+|\s*[-*]|\s*>) /gm, '').replace(/\]\([^)]*\)/g, '').replace(/\[|\*\*?|^\s*\d+\. /gm, '')));
    return words(prose.join(''));
  });
}

function wordsOfPage(html) {
  const main = /<main>([^]*)<\/main>/.exec(html)[1].replace(/ <a class="anchor".*?<\/a>/g, '');
  return words(decode(main.replace(/<[^>]*>/g, '')));
}

const attributes = (html, name) => [...html.matchAll(new RegExp(`\\s${name}="([^"]*)"`, 'g'))].map(([, value]) => decode(value));
// Where the links of a page lead, below whatever path the node is served.
const linksOf = (html, path) => attributes(html, 'href').map((link) => (/^https?:/.test(link) ? link : new URL(link, `http://x/below${path}`).href.replace(/^http:\/\/x\/below/, '')));
const pathOf = (name) => `/${name.replace(/^operations/, 'handbook/operations').replace(/\/README\.md$|\.md$/, '')}`;

suite('the handbook', {}, ({ test, cluster }) => {
  const get = (path, options = {}) => cluster.request('GET', path, options);
  async function page(path, options) {
    const response = await get(path, options);
    assert.equal(response.status, 200, `${path}: ${response.text}`);
    return response;
  }

  test('every page of docs/handbook and docs/operations is there for everybody and says what its source says', async () => {
    assert.ok(PAGES.length > 10);
    for (const name of PAGES) {
      for (const node of [0, 1]) {
        const { text, headers } = await page(pathOf(name), { node });
        assert.equal(headers['content-type'], 'text/html; charset=utf-8');
        assert.deepEqual(wordsOfPage(text), wordsOfSource(readFileSync(new URL(name, DOCS), 'utf8')), name);
        assert.ok(text.startsWith('<!doctype html>\n<html lang="en">'));
        assert.match(text, /<title>[^<]+<\/title>/);
      }
    }
  });

  test('the index is the README of the folder, and a slash at its end leads to it', async () => {
    for (const [path, heading] of [['/handbook', '<h1 id="the-parley-handbook">The Parley handbook '], ['/handbook/operations', '<h1 id="operations">Operations ']]) {
      const { text } = await page(path);
      const moved = await get(`${path}/`);
      assert.deepEqual([moved.status, new URL(moved.headers.location, `http://x/below${path}/`).pathname], [308, `/below${path}`]);
      assert.ok(text.includes(heading), path);
    }
  });

  test('a table is a table, and no bars are left of it', async () => {
    const { text } = await page('/handbook/operations/commands');
    const [, table] = /<h2 id="parley-engine">[^]*?<table>([^]*?)<\/table>/.exec(text);
    assert.match(table, /^\s*<tr><th>Flag<\/th>\s<th>Default<\/th>\s<th>Meaning<\/th><\/tr>\s<tr><td><code>--url/);
    assert.doesNotMatch(text.replace(/<pre>[^]*?<\/pre>/g, ''), /^\|/m);
  });

  const listOf = (text) => /<nav id="all-pages"[^>]*>([^]*?)<\/nav>/.exec(text)[1];

  test('every page lists all pages, and marks itself', async () => {
    for (const name of PAGES) {
      const path = pathOf(name);
      const list = listOf((await page(path)).text);
      assert.deepEqual(linksOf(list, path).sort(), PAGES.map(pathOf).sort());
      assert.deepEqual(linksOf(/<a[^>]* aria-current="page">/.exec(list)[0], path), [path]);
      assert.equal(list.match(/aria-current/g).length, 1);
    }
  });

  test('the list has the groups of the index, in its order', async () => {
    const index = readFileSync(new URL('handbook/README.md', DOCS), 'utf8');
    const groups = index.split(/^## /m).slice(1).filter((part) => /^- \[/m.test(part)).map((part) => [part.split('\n')[0], ...[...part.matchAll(/\]\((.*?)\.md\)/g)].map(([, name]) => `/handbook/${name}`)]);
    assert.ok(groups.length > 5);
    const list = listOf((await page('/handbook/leases')).text);
    const shown = [...list.matchAll(/<p>(.*?)<\/p>\n<ul>\n([^]*?)<\/ul>/g)].map(([, heading, links]) => [heading, ...linksOf(links, '/handbook/leases')]);
    assert.deepEqual(shown.slice(0, groups.length), groups);
  });

  test('each page leads to the one before it and the one after it, to the first page and to the box to ask in', async () => {
    for (const folder of ['handbook', 'operations']) {
      let path = pathOf(`${folder}/README.md`), before;
      const seen = [];
      while (path) {
        seen.push(path);
        const { text } = await page(path);
        const turn = (rel) => linksOf(new RegExp(`<a rel="${rel}" href="[^"]*">`).exec(text)?.[0] ?? '', path)[0];
        assert.equal(turn('prev'), before);
        const [header] = /<header>[^]*<\/header>/.exec(text);
        assert.deepEqual(linksOf(header, path).slice(0, 2), ['/', '/handbook']);
        assert.equal(new URL(/<form class="search" action="([^"]*)"/.exec(header)[1], `http://x/below${path}`).pathname, '/below/');
        [before, path] = [path, turn('next')];
      }
      assert.deepEqual(seen.sort(), PAGES.filter((name) => name.startsWith(`${folder}/`)).map(pathOf).sort());
    }
  });

  test('the index page links to every question of every page, and no other page does', async () => {
    const questionsOf = (text) => /<nav id="all-questions"[^>]*>([^]*?)<\/nav>/.exec(text)?.[1];
    const expected = [];
    for (const name of PAGES.filter((one) => one !== 'handbook/README.md')) {
      const { text } = await page(pathOf(name));
      assert.equal(questionsOf(text), undefined, name);
      if (!HANDBOOK.includes(name)) continue;
      for (const [, id] of text.matchAll(/<h2 id="([^"]+)"/g)) expected.push(`${pathOf(name)}#${id}`);
    }
    assert.deepEqual(linksOf(questionsOf((await page('/handbook')).text), '/handbook').sort(), expected.sort());
  });

  test('every heading has an anchor of its own, and every link leads to a page or an anchor that is there', async () => {
    const texts = new Map();
    for (const name of PAGES) texts.set(pathOf(name), (await page(pathOf(name))).text);
    let between = 0;
    for (const [path, text] of texts) {
      const ids = attributes(text, 'id');
      assert.equal(new Set(ids).size, ids.length, `${path}: an id stands twice`);
      for (const [heading] of text.matchAll(/<h[1-6].*?<\/h[1-6]>/gs)) {
        const [, id, anchor] = /^<h\d id="([^"]+)">.* <a class="anchor" href="#([^"]+)"/s.exec(heading);
        assert.equal(anchor, id);
      }
      for (const link of linksOf(text, path)) {
        if (/^https?:/.test(link) || link === '/') continue;
        const [file, anchor] = link.split('#');
        const target = texts.get(file);
        assert.ok(target, `${path}: ${link} leads to no page`);
        if (anchor !== undefined) assert.ok(attributes(target, 'id').includes(anchor), `${path}: ${link} leads to no heading`);
        else between += 1;
      }
    }
    assert.ok(between > PAGES.length ** 2, 'links between pages were looked at');
  });

  test('a page may load nothing and be framed by nobody, and its one style and one script are let in', async () => {
    const answer = await page('/handbook/engines');
    assertSafePage(answer, { hasForm: true, hasScript: true });
    assert.ok(answer.headers['x-request-id']);
  });

  test('a client with the current page gets 304 from every node, one with another page gets the page', async () => {
    const { headers } = await page('/handbook/leases', { node: 0 });
    const { etag } = headers;
    assert.match(etag, /^"[0-9a-f]{32}"$/);
    assert.equal(headers['cache-control'], 'no-cache');
    for (const node of [0, 1]) {
      for (const known of [etag, `W/${etag}`, `"a", ${etag}`, `"a" ,W/${etag},"b"`, '*']) {
        const answer = await get('/handbook/leases', { node, headers: { 'If-None-Match': known } });
        assert.equal(answer.status, 304, known);
        assert.equal(answer.text, '');
        assert.equal(answer.headers.etag, etag);
        assert.equal(answer.headers['cache-control'], 'no-cache');
        assert.ok(answer.headers['content-security-policy']);
      }
      for (const other of ['"a"', etag.slice(1, -1), etag.slice(0, -1), '', ',,', `x${etag}`, 'W/', 'W/*']) {
        const answer = await page('/handbook/leases', { node, headers: { 'If-None-Match': other } });
        assert.ok(answer.text.length > 1000, other);
      }
    }
    const etags = await Promise.all(PAGES.map(async (name) => (await page(pathOf(name))).headers.etag));
    assert.equal(new Set(etags).size, PAGES.length, 'no two pages have the same');
  });

  test('HEAD returns the headers of GET without the page, and the connection stays open', async () => {
    const { headers, body } = await page('/handbook/agent');
    const socket = await cluster.socket();
    socket.write('HEAD /handbook/agent HTTP/1.1\r\nHost: x\r\n\r\nHEAD /handbook/none HTTP/1.1\r\nHost: x\r\n\r\n');
    socket.write(`GET /handbook HTTP/1.1\r\nHost: x\r\nIf-None-Match: *\r\n\r\nGET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    const { rest } = await socket.closed();
    const answers = rest.split(/(?=HTTP\/1\.1 \d)/);
    assert.deepEqual(answers.map((one) => one.slice(9, 12)), ['200', '404', '304', '200'], rest);
    assert.match(answers[0].toLowerCase(), new RegExp(`\r\ncontent-length: ${body.length}\r\n`));
    assert.ok(answers[0].includes(headers.etag));
    for (const bare of answers.slice(0, 3)) assert.ok(bare.endsWith('\r\n\r\n'), bare);
    socket.abort();
  });

  test('a page that is not there: 404', async () => {
    for (const path of ['none', 'engines.md', 'ENGINES', 'README', 'README.md', '..%2FREADME', '.', '%2e%2e', 'page.css', 'engines%2f']) {
      assertProblem(await get(`/handbook/${path}`), 404, 'not_found');
      assertProblem(await get(`/handbook/operations/${path}`), 404, 'not_found');
    }
    assertProblem(await get('/handbook/operations%2finstall'), 404, 'not_found');
    assertProblem(await get('/handbook/install'), 404, 'not_found');
    assertProblem(await get('/handbook/engines%00'), 400, 'bad_request');
    for (const path of ['/handbook/a/b', '/handbooks', '/handbook/engines/', '/handbook/operations/install/', '/handbook/operations/a/b']) assertProblem(await get(path), 404, 'no_route');
  });

  test('another method: 405 with Allow', async () => {
    for (const path of ['/handbook', '/handbook/', '/handbook/engines', '/handbook/operations', '/handbook/operations/', '/handbook/operations/install']) {
      for (const method of ['POST', 'PUT', 'DELETE']) {
        const refused = await cluster.request(method, path);
        assertProblem(refused, 405);
        assert.equal(refused.headers.allow, 'GET, HEAD');
      }
    }
  });
});
