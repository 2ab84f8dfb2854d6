// SPDX-License-Identifier: MIT
//
// The code of docs/handbook/your-tools.md, as a reader copies it: JavaScript runs with the packages that it names, Python where it has
// its package, and is read where it has not.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chunk } from '../support/door_model.mjs';
import { makeFolder, ROOT, suite } from '../support/harness.mjs';
import { tokenOf } from '../support/openai.mjs';
import { startServed } from '../support/openai_served.mjs';

const PAGE = readFileSync(join(ROOT, 'docs/handbook/your-tools.md'), 'utf8');
const blocksOf = (language) => [...PAGE.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm'))].map(([, code]) => code);
const JS = blocksOf('js'), PYTHON = blocksOf('python');
const hasPython = spawnSync('python3', ['--version']).status === 0;
const hasPackage = hasPython && spawnSync('python3', ['-c', 'import openai']).status === 0;
const run = promisify(execFile);

// Says what it was asked last, so that each piece of code is known by what it prints.
const answer = ({ body }, response) => {
  const { content } = body.messages.at(-1);
  const asked = typeof content === 'string' ? content : content.map(({ text }) => text).join('');
  return response.events([chunk({ role: 'assistant', content: 'You asked: ' }), chunk({ content: asked }), chunk({}, 'stop'), { choices: [], usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 } }]);
};

suite('the code of the page about tools', { nodes: 2 }, ({ test, cluster }) => {
  async function served(body) {
    const { stop } = await startServed(cluster, answer, ['--slots', 4], { name: 'llama3' });
    try {
      const { url } = cluster.pick(1);
      const env = { PATH: process.env.PATH, OPENAI_API_KEY: await tokenOf(cluster, 'User_1') };
      await body({ env, filled: (code) => code.replaceAll('https://parley.example', url) });
    } finally {
      await stop();
    }
  }

  // What the blocks before it have given a reader.
  const [client] = JS;
  const CASES = [
    { named: 'chat.completions.create', code: client, prints: /^You asked: Who holds a lease\?\n$/ },
    { named: 'new Anthropic', code: '', after: 'console.log(message.content[0].text);', prints: /^You asked: Who holds a lease\?\n$/ },
    { named: "model: 'parley/documents'", code: client, prints: /^You asked: Who holds a lease\?\n$/ },
    { named: 'client.responses.create({ model', without: 'background', code: client, after: 'console.log(second.output_text);', prints: /\nYou asked: And at sunset\?\n$/ },
    { named: 'background: true', code: client, prints: /\nYou asked: Write a saga\.$/ },
    { named: 'chat.completions.list', code: client, after: 'console.log(again.choices[0].message.content, asked.data[0].content);', prints: /\nchatcmpl-\S+\nYou asked: How far is the moon\? How far is the moon\?\n$/ },
  ];

  test('each block of JavaScript is here', () => assert.equal(CASES.length, JS.length));

  for (const { named, without, code, after = '', prints } of CASES)
    test(`${named} does what the page says`, () =>
      served(async ({ env, filled }) => {
        const block = JS.find((text) => text.includes(named) && !(without && text.includes(without)));
        const whole = block === client ? block : `${code}${block}`;
        const { stdout, stderr } = await run(process.execPath, ['--input-type=module', '-e', filled(`${whole}${after}`)], { cwd: join(ROOT, 'tests'), env, timeout: 60_000 });
        assert.equal(stderr, '');
        assert.match(stdout, prints);
      }), { ms: 90_000 });

  test('Python can read its blocks', () => {
    for (const code of PYTHON) {
      const { status, stderr } = spawnSync('python3', ['-c', 'import sys; compile(sys.stdin.read(), "page", "exec")'], { input: code, encoding: 'utf8' });
      assert.equal(status, 0, stderr);
    }
  }, { skip: hasPython ? false : 'there is no python3' });

  for (const [i, code] of PYTHON.entries())
    test(`the Python of block ${i + 1} does what the page says`, () =>
      served(async ({ env, filled }) => {
        const folder = makeFolder();
        const { stdout } = await run('python3', ['-c', filled(code)], { cwd: folder.dir, env, timeout: 60_000 });
        assert.match(stdout, i === 0 ? /^You asked: Who holds a lease\?\n$/ : /^completed .*\n.*You asked: What is (an index|a view)\?/s);
        folder.remove();
      }), { ms: 90_000, skip: hasPackage ? false : "Python has no package openai" });
});
