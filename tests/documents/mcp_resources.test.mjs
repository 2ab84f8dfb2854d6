// SPDX-License-Identifier: MIT
//
// Resources of POST /mcp, with the official client: a user's documents as texts, and nobody else's.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { forgetLimits, upload, uploadIndexed } from '../support/documents.mjs';
import { eventually, suite } from '../support/harness.mjs';
import { assertResult, assertRpcError, openMcp, post } from '../support/mcp.mjs';

const NOBODYS = '00000000-0000-4000-8000-000000000000';
const uriOf = ({ id }) => `parley://documents/${id}`;
const CONTINUES = /\n\n\[The document continues at (\S+)\]$/;

suite('documents as resources', { sweep: false }, ({ test, cluster }) => {
  const docs = {};
  const clients = {};
  const SENTENCES = Array.from({ length: 1500 }, (_, i) => `Sentence number ${i} says ${'ä'.repeat(i % 7)}${i * 7919} and ends.`);
  before(async () => {
    docs.short = await uploadIndexed(cluster, { name: 'short ä.md', bytes: '# Leases\n\nA lease lasts 150 seconds.' });
    docs.long = await uploadIndexed(cluster, { name: 'long.txt', bytes: SENTENCES.join(' ') });
    docs.theirs = await uploadIndexed(cluster, { as: 'User_2', name: 'theirs.txt', bytes: 'Nobody else may know.' });
    clients.one = await openMcp(cluster);
    clients.two = await openMcp(cluster, { as: 'User_2' });
  });
  after(async () => {
    for (const client of Object.values(clients)) await client.close();
  });
  const read = async (client, uri) => {
    const { contents } = await client.readResource({ uri });
    assert.deepEqual(contents.map(({ text, ...rest }) => rest), [{ uri, mimeType: 'text/plain' }]);
    return contents[0].text;
  };

  test('the list has the documents of its caller', async () => {
    const { resources, nextCursor } = await clients.one.listResources();
    assert.deepEqual(resources.map(({ uri, name, mimeType }) => [uri, name, mimeType]), [[uriOf(docs.long), 'long.txt', 'text/plain'], [uriOf(docs.short), 'short ä.md', 'text/plain']]);
    for (const { annotations } of resources) assert.ok(Date.parse(annotations.lastModified) > 0);
    assert.equal(nextCursor, undefined);
    assert.deepEqual((await clients.two.listResources()).resources.map(({ uri }) => uri), [uriOf(docs.theirs)]);
  });

  test('templates say how documents and their passages are named', async () => {
    const { resourceTemplates } = await clients.one.listResourceTemplates();
    assert.deepEqual(resourceTemplates.map(({ uriTemplate }) => uriTemplate), ['parley://documents/{id}', 'parley://documents/{id}/passages/{index}']);
  });

  test('a short document is read in one piece', async () => {
    assert.match(await read(clients.one, uriOf(docs.short)), /Leases\s+A lease lasts 150 seconds\.$/);
  });

  test('a long one continues where its text says, and nothing is lost or there twice', async () => {
    let text = '';
    let pages = 0;
    for (let uri = uriOf(docs.long); uri; pages++) {
      const page = await read(clients.one, uri);
      const next = page.match(CONTINUES)?.[1];
      const piece = page.replace(CONTINUES, '');
      // Passages of neighbouring pages share text, as those of one page do.
      let shared = Math.min(text.length, piece.length);
      while (!text.endsWith(piece.slice(0, shared))) shared--;
      text += pages > 0 && shared === 0 ? ` ${piece}` : piece.slice(shared);
      uri = next;
    }
    assert.ok(pages > 1);
    assert.deepEqual(text.split(/(?<=ends\.)\s+/), SENTENCES);
  });

  test("what is not there, and another user's document, are not found", async () => {
    const wrong = [uriOf(docs.theirs), uriOf({ id: NOBODYS }), `${uriOf(docs.short)}/passages/9`, `${uriOf(docs.short)}/passages/4294967296`, `${uriOf(docs.short)}/passages/`, `${uriOf(docs.short)}/passages/0?around=1`, `${uriOf(docs.short)}x`, uriOf(docs.short).toUpperCase(), 'parley://documents/', 'parley://documents/../../../metrics', 'file:///etc/passwd', ''];
    for (const uri of wrong) {
      const response = await post(cluster, 'resources/read', { uri });
      assertRpcError(response, 200, -32002, /no such document/);
      assert.deepEqual(response.json.error.data, { uri });
    }
    for (const params of [undefined, {}, { uri: 7 }, { uri: 'x'.repeat(1025) }]) assertRpcError(await post(cluster, 'resources/read', params), 200, -32602, /^uri must/);
    for (const cursor of ['x', 7, null, '', 'x'.repeat(513), '&OnBehalfOf=User_2']) assertRpcError(await post(cluster, 'resources/list', { cursor }), 200, -32602, /cursor|after/);
  });

  test('an account of role frontend names the person in a header', async () => {
    const { json } = await upload(cluster, { as: 'Frontend_1', query: { OnBehalfOf: 'User_2' }, name: 'more.md', bytes: '# More' });
    assert.ok(json.documentId);
    const headers = { 'X-Parley-User': 'User_2' };
    const { resources } = assertResult(await post(cluster, 'resources/list', undefined, { as: 'Frontend_1', headers }));
    assert.ok(resources.some(({ uri }) => uri === uriOf(docs.theirs)));
    assertResult(await post(cluster, 'resources/read', { uri: uriOf(docs.theirs) }, { as: 'Frontend_1', headers }));
    assertRpcError(await post(cluster, 'resources/read', { uri: uriOf(docs.short) }, { as: 'Frontend_1', headers }), 200, -32002, /no such/);
    for (const method of ['resources/list', 'resources/read'])
      assertRpcError(await post(cluster, method, { uri: uriOf(docs.theirs) }, { as: 'Frontend_1' }), 200, -32602, /X-Parley-User/);
  });

  test('the list continues at its cursor', async () => {
    const owner = 'Zoë';
    const headers = { 'X-Parley-User': Buffer.from(owner).toString('latin1') };
    const all = [];
    for (let i = 0; i < 52; i++) {
      await forgetLimits(cluster);
      const { json } = await upload(cluster, { as: 'Frontend_1', query: { OnBehalfOf: owner }, name: `${i}.txt`, bytes: `Text ${i}.` });
      all.unshift(uriOf({ id: json.documentId }));
    }
    const listed = async () => {
      const found = [];
      let cursor;
      do {
        const page = assertResult(await post(cluster, 'resources/list', cursor && { cursor }, { as: 'Frontend_1', headers }));
        found.push(...page.resources.map(({ uri }) => uri));
        cursor = page.nextCursor;
      } while (cursor);
      return found;
    };
    await eventually(async () => (await listed()).length === all.length, { what: 'all are indexed' });
    assert.deepEqual(await listed(), all);
  });
});
