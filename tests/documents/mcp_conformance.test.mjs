// SPDX-License-Identifier: MIT
//
// POST /mcp passes the conformance suite of the protocol, as npm has it: the version that was current with the revision
// 2025-11-25, and the one that has the stateless revision, too. Scenarios that need a server made for the suite are named.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startBalancer } from '../support/balancer.mjs';
import { uploadIndexed } from '../support/documents.mjs';
import { makeFolder, ROOT, startProcess, suite } from '../support/harness.mjs';
import { credentials, STATELESS } from '../support/mcp.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // what a client sees: the same on any number of shards

const NODE = process.env.PARLEY_TEST_NODE_22;
const skip = NODE ? false : 'PARLEY_TEST_NODE_22 names no Node (tests/clients.sh)';

const HOLD = ['ping', 'tools-list', 'resources-list', 'dns-rebinding-protection', 'server-initialize', 'server-stateless', 'server-session-lifecycle', 'server-sse-multiple-streams', 'caching', 'http-header-validation', 'sep-2164-resource-not-found', 'input-required-result-unsupported-methods', 'input-required-result-validate-input'];

// Why the others cannot.
const LACKING = {
  // Their tools and resources are the suite's: an image, a tool that fails, one that asks back.
  'fixtures of its server': /^(tools-call-|resources-read-|resources-templates-read$|json-schema-2020-12$|elicitation-|http-custom-header-server-validation$|input-required-result-)/,
  // Parley offers none, as its capabilities say.
  'prompts, completions, levels of logging or subscriptions': /^(prompts-|completion-complete$|logging-set-level$|resources-(un)?subscribe$)/,
  // There are none (ADR 97).
  sessions: /^server-sse-polling$/,
};

// Checks of scenarios that hold otherwise: they call what is lacking.
const LACKING_CHECKS = {
  'server-sse-multiple-streams': ['server-sse-multiple-streams-session'],
  caching: ['sep-2549-prompts-list-caching-hints'],
  'server-stateless': ['sep-2575-server-rejects-undeclared-capability', 'sep-2575-missing-capability-http-400', 'sep-2575-http-server-no-independent-requests-on-stream', 'sep-2575-server-no-log-without-loglevel'],
};

const isLacking = (name) => Object.values(LACKING).some((pattern) => pattern.test(name));

suite('the conformance suite', { sweep: false }, ({ test, cluster }) => {
  const folder = makeFolder();
  let balancer;
  before(async () => {
    if (skip) return;
    await uploadIndexed(cluster, { name: 'leases.md', bytes: '# Leases\n\nA lease lasts 150 seconds.' });
    balancer = await startBalancer();
    const node = await cluster.startNode({ args: [`--cors-origins=${balancer.url}`] });
    balancer.choose = () => node.url;
    balancer.headers = { authorization: credentials('User_1') }; // which the suite cannot send
  });
  after(() => folder.remove());

  const run = async (version, words) => {
    const program = join(ROOT, `tests/clients/node_modules/mcp-conformance-${version}/dist/index.js`);
    const running = startProcess([program, ...words], { bin: NODE, cwd: folder.dir });
    await running.exit(120_000);
    return running.stdout + running.stderr;
  };
  // The scenarios that ran, and the checks of each that failed: {scenario: [id]}.
  const results = async (version, revision) => {
    const name = `${version}-${revision}`;
    const log = await run(version, ['server', '--url', `${balancer.url}/mcp`, '--suite', 'all', '--spec-version', revision, '--output-dir', name]);
    const all = readdirSync(join(folder.dir, name)).map((scenario) => {
      const checks = JSON.parse(readFileSync(join(folder.dir, name, scenario, 'checks.json'), 'utf8'));
      const wrong = checks.filter(({ status }) => ['FAILURE', 'WARNING'].includes(status));
      return [scenario.replace(/^server-(.*?)-\d{4}-\d\d-\d\dT.*$/, '$1'), wrong];
    });
    assert.ok(all.length > 20, log);
    return Object.fromEntries(all);
  };

  for (const [version, revision, least] of [['2025', '2025-06-18', 4], ['2025', '2025-11-25', 5], ['2026', '2025-11-25', 6], ['2026', STATELESS, 9]])
    test(`of ${version} holds for the revision ${revision}, except where it needs what Parley has not`, async () => {
      const failed = await results(version, revision);
      const holding = Object.keys(failed).filter((name) => HOLD.includes(name));
      assert.ok(holding.length >= least, holding.join(' '));
      for (const [name, checks] of Object.entries(failed)) {
        const ids = checks.map(({ id }) => id);
        assert.ok(!ids.includes('wire-schema-valid'), `${name}: ${JSON.stringify(checks)}`);
        if (HOLD.includes(name)) assert.deepEqual(ids.filter((id) => !LACKING_CHECKS[name]?.includes(id)), [], `${name}: ${JSON.stringify(checks)}`);
        else assert.ok(isLacking(name) && ids.length > 0, `${name}: a scenario that this file does not name, or that holds now`);
      }
    }, { skip, ms: 180_000 });
});
