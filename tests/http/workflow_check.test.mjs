// SPDX-License-Identifier: MIT
//
// `parley workflow check` and `shipped`: each fault of a file by its line, without a node.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { makeFolder, ROOT, runParley } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // commands that ask no cluster: the same on any number of shards

const GOOD = `WORKFLOWS:
  REFUND:
    model.read:
      yes: model.write
      no: sendMessageToChat
    model.write:
      yes: null
      no: sendMessageToChat
AGENTS:
  model.read:
    kind: model
    prompt: Decide.
    timeout: 30
    retries: 2
  model.write:
    kind: model
    prompt: Write.
    hitl:
      approvers: [Ann, Bob]
      quorum: 2
      timeout: 24h
      on_timeout: reject
      form:
        type: object
        properties:
          text:
            type: string
            maxLength: 100
`;

// What is put in the place of what, the line of the fault and a part of its reason.
const FAULTS = [
  ['an unknown agent', 'yes: model.write', 'yes: model.wirte', 4, "unknown agent 'model.wirte'"],
  ['a missing branch', '      no: sendMessageToChat\n    model.write', '    model.write', 3, "'model.read' has no branch 'no'"],
  ['an agent that no branch leads to', 'yes: model.write', 'yes: null', 6, "no branch of REFUND leads to 'model.write'"],
  ['an endless loop', '      yes: null', '      yes: model.read', 7, "endless loop in REFUND: 'model.write' leads back to 'model.read'"],
  ['an unknown member', '    retries: 2', '    retrys: 2', 14, "unknown member 'retrys'"],
  ['an unknown member of the file', 'AGENTS:', 'AGNETS: {}\nAGENTS:', 9, "unknown member 'AGNETS'"],
  ['a wrong type', '    prompt: Decide.', '    prompt: [Decide.]', 12, "'prompt' takes a text"],
  ['a number that is none', '    retries: 2', '    retries: many', 14, "'retries' takes a whole number"],
  ['a second key', '    retries: 2', '    timeout: 2', 14, "a second 'timeout'"],
  ['a second agent', '  model.write:\n    kind', '  model.read:\n    kind', 15, "a second 'model.read'", 'model.write'],
  ['a timeout out of range', '    timeout: 30', '    timeout: 2h', 13, "'timeout' is out of range"],
  ['a question that stays open too long', 'timeout: 24h', 'timeout: 400d', 21, 'out of range'],
  ['no approvers', '[Ann, Bob]', '[]', 19, 'at least one'],
  ['a quorum without enough approvers', 'quorum: 2', 'quorum: 3', 20, 'a quorum of 3 is larger than the number of approvers, 2'],
  ['on_timeout of an unknown agent', 'on_timeout: reject', 'on_timeout: model.boss', 22, "'on_timeout' names an unknown agent 'model.boss'"],
  ['a keyword of JSON Schema that is not checked', 'maxLength: 100', 'pattern: a+', 28, "the JSON Schema keyword 'pattern' is not supported"],
  ['an anchor', '    prompt: Decide.', '    prompt: &a Decide.', 12, 'anchors'],
  ['broken YAML', '    retries: 2', '    retries: {', 16, "did not find expected ',' or '}', while parsing a flow mapping that begins on line 14"],
  ['a tab', '    retries: 2', '\tretries: 2', 14, ''],
];

describe('parley workflow check', () => {
  const folder = makeFolder();
  after(folder.remove);
  const write = (text, name = 'workflows.yaml') => {
    writeFileSync(join(folder.dir, name), text);
    return join(folder.dir, name);
  };
  const run = (...words) => runParley(['workflow', ...words]);

  for (const [name, before, now, line, reason, dropped] of FAULTS)
    test(`${name} is reported with its line`, async () => {
      assert.ok(GOOD.includes(before));
      const path = write(GOOD.replace(before, () => now));
      const { code, stdout, stderr } = await run('check', path);
      assert.equal(code, 1);
      assert.equal(stdout, '');
      const lines = stderr.trimEnd().split('\n').filter((one) => !dropped || !one.includes(`'${dropped}'`));
      assert.equal(lines.length, 1, stderr);
      assert.ok(lines[0].startsWith(`parley: ${path} line ${line}: `), stderr);
      assert.ok(lines[0].includes(reason), stderr);
    });

  test('a bomb of aliases is refused, and so is deep nesting', async () => {
    const bomb = ['a: &a [x, x, x, x, x, x, x, x, x]'];
    for (let i = 0; i < 9; i++) bomb.push(`b${i}: &b${i} [${Array(9).fill(i === 0 ? '*a' : `*b${i - 1}`).join(', ')}]`);
    for (const text of [`${bomb.join('\n')}\n`, '['.repeat(400_000), '{a: '.repeat(100_000)]) {
      const { code, stderr } = await run('check', write(text));
      assert.equal(code, 1);
      assert.match(stderr, /line 1: (anchors|the nesting is too deep)/);
    }
  });

  test('all faults are reported at once, in the order of their lines', async () => {
    const path = write(GOOD.replace('retries: 2', 'retries: 99').replace('timeout: 24h', 'timeout: soon').replace('yes: null', 'yes: model.x'));
    const { stderr } = await run('check', path);
    assert.deepEqual([...stderr.matchAll(/line (\d+):/g)].map(([, line]) => Number(line)), [7, 14, 21]);
    const { code, stdout } = await run('check', path, '--json');
    assert.equal(code, 1);
    const json = JSON.parse(stdout);
    assert.deepEqual(json.faults.map(({ line }) => line), [7, 14, 21]);
    assert.deepEqual([json.file, json.valid, json.fault_n, json.trees], [path, false, 3, null]);
  });

  test('a good file is drawn', async () => {
    const { code, stdout, stderr } = await run('check', write(GOOD));
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, /: no faults\nversion [0-9a-f]{64}\n\nREFUND\n {2}model\.read \(model\), where a run starts\n {4}yes +model\.write\n {4}no +a person decides/);
    const { trees } = JSON.parse((await run('check', write(GOOD), '--json')).stdout);
    assert.equal(trees.workflows.REFUND['model.read'].yes, 'model.write');
    assert.deepEqual(trees.agents['model.write'].hitl.approvers, ['Ann', 'Bob']);
    assert.equal(trees.agents['model.write'].hitl.timeout, 86400);
  });

  test('the largest file is checked, a larger one and one that cannot be read are refused', async () => {
    const comment = `${'#'.repeat(512 * 1024 - GOOD.length - 1)}\n`;
    assert.equal((await run('check', write(comment + GOOD))).code, 0);
    const large = await run('check', write(`#${comment}${GOOD}`));
    assert.equal(large.code, 1);
    assert.match(large.stderr, /: the file is larger than 524288 bytes\n$/);
    const missing = await run('check', join(folder.dir, 'nowhere.yaml'));
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /^parley: .*nowhere\.yaml: the file cannot be read: No such file or directory\n$/);
    assert.equal((await run('check', folder.dir)).code, 1);
  });

  test('the shipped file has no faults, and is the one that a node uses', async () => {
    const { code, stdout } = await run('shipped');
    assert.equal(code, 0);
    assert.equal(stdout, readFileSync(join(ROOT, 'services/workflow/trees/shipped.yaml'), 'utf8'));
    assert.equal((await run('check', write(stdout))).code, 0);
  });

  test('the example of the handbook has no faults', async () => {
    const page = readFileSync(join(ROOT, 'docs/handbook/workflow-files.md'), 'utf8');
    const [, example] = /^```yaml\n([^]*?)^```$/m.exec(page);
    const { code, stdout, stderr } = await run('check', write(example));
    assert.equal(stderr, '');
    assert.equal(code, 0);
    assert.match(stdout, /^REFUND$/m);
  });

  test('wrong words are one line and exit 2', async () => {
    for (const words of [[], ['chekc'], ['check'], ['check', 'a', 'b'], ['shipped', 'a'], ['check', 'a', '--jsno']]) {
      const { code, stdout, stderr } = await run(...words);
      assert.deepEqual([code, stdout], [2, ''], words.join(' '));
      assert.match(stderr, /^parley: [^\n]+\n$/);
    }
  });

  test('completion offers the words of the command', async () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { stdout } = await runParley(['completion', shell]);
      assert.match(stdout, shell === 'bash' ? /'workflow workflow'\) words='check / : /workflow[^]*\(?check .*shipped/, shell);
    }
  });
});
