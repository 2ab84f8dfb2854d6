// SPDX-License-Identifier: MIT
//
// A server of vectors that misbehaves in all the ways of a table: what becomes of a document, why, and after how many
// requests.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { makeFolder, runParley, suite } from '../support/harness.mjs';
import { EMBEDDINGS } from '../support/odd_embeddings.mjs';
import { startOdd } from '../support/odd_server.mjs';

const ANSWERS = new Map(EMBEDDINGS.map(([name, answer]) => [name, answer]));
const EXPECTED = new Map(EMBEDDINGS.map(([name, , expected]) => [name, expected]));

suite('a server of vectors that misbehaves', { nodes: 0, sweep: false }, ({ test, cluster }) => {
  const seen = new Map(EMBEDDINGS.map(([name]) => [name, []])); // the texts of each request
  const outcomes = new Map();
  const fileOf = (name) => `${name.replaceAll(/\W+/g, '-')}.txt`;
  const folders = [];
  let odd;

  // One run, in a collection of its own: a client keeps the number of texts that its server takes.
  const ingest = async (collection, names, dialect = 'openai') => {
    const url = dialect === 'ollama' ? odd.url.replace('/v1', '') : odd.url;
    const folder = makeFolder();
    folders.push(folder);
    for (const name of names) folder.file(fileOf(name), `This is case: ${name}. It continues for a while.\n\n`.repeat(EXPECTED.get(name).halved ? 80 : 3));
    const { stdout, stderr } = await runParley(
      ['ingest', '--redis', cluster.redis.url, '--collection', collection, '--json', '--embeddings', `${dialect}:${url}#odd`, folder.dir],
      { timeout: 120_000 },
    );
    for (const name of names) {
      const line = stdout.split('\n').find((text) => text.includes(`/${fileOf(name)}"`));
      assert.ok(line, `${name}: ${stdout}${stderr}`);
      outcomes.set(name, JSON.parse(line));
    }
  };

  before(async () => {
    odd = await startOdd({
      embed: (name, { input }, n) => {
        seen.get(name).push(input.length);
        return ANSWERS.get(name)(input, n);
      },
    });
    const whole = (dialect) => EMBEDDINGS.filter(([, , expected]) => !expected.halved && expected.dialect === dialect).map(([name]) => name);
    await ingest('openai', whole());
    await ingest('ollama', whole('ollama'), 'ollama');
    for (const [i, [name, , { halved, dialect }]] of EMBEDDINGS.entries()) if (halved) await ingest(`odd${i}`, [name], dialect);
  });
  after(async () => {
    await odd?.stop();
    for (const folder of folders) folder.remove();
  });

  for (const [name, , { requests, halved, reason }] of EMBEDDINGS)
    test(`${name}: ${reason ? 'fails with the reason' : 'indexed'}`, () => {
      const file = outcomes.get(name);
      assert.equal(file.outcome, reason ? 'failed' : 'indexed', file.reason);
      if (reason) assert.match(file.reason, reason);
      if (requests) assert.equal(odd.count(name), requests);
      if (halved) assert.ok(seen.get(name)[0] > halved && seen.get(name).at(-1) <= halved, String(seen.get(name)));
    });
});
