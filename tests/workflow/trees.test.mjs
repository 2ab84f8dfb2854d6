// SPDX-License-Identifier: MIT
//
// The workflow file of a node: GET /api/workflows, and what SIGHUP and a fault in the file do.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, beforeEach } from 'node:test';
import { assertOk, assertProblem, eventually, makeFolder, runParley, suite, writeAccounts } from '../support/harness.mjs';

const fileOf = (verb) => `WORKFLOWS: {${verb}: {model.a: {yes: tool.send, no: sendMessageToChat}, tool.send: {yes: null, no: null}}}
AGENTS:
  model.a: {kind: model, prompt: A hidden prompt, hitl: {approvers: [User_1], timeout: 90, on_timeout: continue}}
  tool.send: {kind: http, url: 'https://hidden.example.org/'}
`;

const folder = makeFolder();
const path = join(folder.dir, 'workflows.yaml');
writeFileSync(path, fileOf('FIRST'));

suite('the workflow file', { args: ['--workflows', path], sweep: false }, ({ test, cluster }) => {
  const accounts = writeAccounts();
  after(accounts.remove);
  after(folder.remove);
  const verbs = async (node) => Object.keys(assertOk(await cluster.request('GET', '/api/workflows', { as: 'User_1', node })).workflows);

  async function reload(text) {
    writeFileSync(path, text);
    for (const node of cluster.nodes) node.signal('SIGHUP');
  }

  beforeEach(async () => {
    await reload(fileOf('FIRST'));
    for (const node of [0, 1]) await eventually(async () => (await verbs(node))[0] === 'FIRST');
  });

  test('its trees and agents are listed on every node, without prompts and addresses', async () => {
    for (const node of [0, 1]) {
      const response = await cluster.request('GET', '/api/workflows', { as: 'User_1', node });
      const { version, workflows, roots, agents } = assertOk(response);
      assert.match(version, /^[0-9a-f]{64}$/);
      assert.deepEqual(roots, { FIRST: 'model.a' });
      assert.deepEqual(Object.keys(workflows.FIRST), ['model.a', 'tool.send', 'sendMessageToChat']);
      assert.deepEqual(workflows.FIRST['model.a'], { kind: 'model', yes: 'tool.send', no: 'sendMessageToChat' });
      assert.deepEqual(agents['model.a'].hitl, { form: null, approvers: ['User_1'], quorum: 1, self: true, timeout: 90, on_timeout: 'continue' });
      assert.doesNotMatch(response.text, /hidden/);
    }
  });

  test('it is for accounts of people', async () => {
    assertProblem(await cluster.request('GET', '/api/workflows'), 401, 'unauthorized');
    assertProblem(await cluster.request('GET', '/api/workflows', { as: 'Inference_1' }), 403, 'forbidden');
    assertOk(await cluster.request('GET', '/api/workflows', { as: 'Frontend_1' }));
  });

  test('SIGHUP reads it again', async () => {
    await reload(fileOf('SECOND'));
    for (const node of [0, 1]) await eventually(async () => (await verbs(node))[0] === 'SECOND');
  });

  test('a file with trees alone uses the shipped agents, which an entry replaces', async () => {
    const alone = 'WORKFLOWS:\n  OWN:\n    model.verifyRequest: {yes: model.ruleToSQL, no: sendMessageToChat}\n    model.ruleToSQL: {yes: tool.executeSQL, no: sendMessageToChat}\n';
    const list = async () => assertOk(await cluster.request('GET', '/api/workflows', { as: 'User_1', node: 0 }));
    await reload(alone);
    await eventually(async () => 'OWN' in (await list()).workflows);
    const { workflows, agents } = await list();
    assert.deepEqual(Object.keys(workflows.OWN), ['model.verifyRequest', 'model.ruleToSQL', 'sendMessageToChat', 'tool.executeSQL']);
    assert.deepEqual([agents['model.ruleToSQL'].description, agents['model.ruleToSQL'].timeout], ['Writes SQL that reads', 60]);
    await reload(`${alone}AGENTS:\n  model.ruleToSQL: {description: Mine, timeout: 7}\n`);
    await eventually(async () => (await list()).agents['model.ruleToSQL'].description === 'Mine');
    assert.equal((await list()).agents['model.ruleToSQL'].timeout, 7);
  });

  test('a file with a fault is logged with its line, and the old trees stay', async () => {
    const logged = (node) => [...node.log().matchAll(/workflows not reloaded: keeping the old ones.*line 4: unknown kind/g)].length;
    const before = cluster.nodes.map(logged);
    await reload(fileOf('THIRD').replace('kind: http', 'kind: ftp'));
    for (const [i, node] of cluster.nodes.entries()) {
      await eventually(() => logged(node) > before[i]);
      assert.deepEqual(await verbs(i), ['FIRST']);
    }
  });

  test('a node does not start with a fault in it, and without it uses the shipped trees', async () => {
    const wrong = join(folder.dir, 'wrong.yaml');
    writeFileSync(wrong, fileOf('FIRST').replace('yes: tool.send', 'yes: tool.sned'));
    const check = (...flags) => runParley(['serve', '--check-config', '--accounts', accounts.path, ...flags]);
    const { code, stderr } = await check('--workflows', wrong);
    assert.equal(code, 2);
    assert.equal(stderr, `parley: --workflows: ${wrong} line 1: unknown agent 'tool.sned': did you mean tool.send?\n`);
    const shipped = await check();
    assert.equal(shipped.code, 0, shipped.stderr);
    assert.match(shipped.stdout, /^workflow verbs +RULE, CONTENT \(version [0-9a-f]{12}\)$/m);
  });
});
