// SPDX-License-Identifier: MIT
//
// `parley serve --target`: each process serves the routes of its services, and together they are one Parley.
import assert from 'node:assert/strict';
import { settled, upload } from '../support/documents.mjs';
import { assertOk, assertProblem, suite } from '../support/harness.mjs';

const ROUTES = {
  broker: ['/api/login', '/api/user-topics?OnBehalfOf=alice', '/api/check-query?Topic=t&Seq=1'],
  documents: ['/api/me', '/api/docs', '/ws/indexing'],
  workflow: ['/api/workflows'],
};

suite('targets', { nodes: 0, sweep: false }, ({ test, cluster }) => {
  const nodes = {};
  test('a process serves the routes of its services, and probes', async () => {
    for (const target of ['broker', 'documents', 'web', 'indexer', 'workflow', 'broker,documents']) {
      nodes[target] = await cluster.startNode({ args: [`--target=${target}`] });
      const node = nodes[target];
      for (const path of ['/livez', '/readyz', '/metrics', '/health']) assert.equal((await cluster.request('GET', path, { node })).status, 200, path);
      for (const [service, paths] of Object.entries(ROUTES))
        for (const path of paths) {
          const localAddress = `127.8.0.${cluster.nodes.length + 1}`; // failed logins are counted by address
          const response = await cluster.request('GET', path, { node, localAddress });
          if (target.split(',').includes(service)) assertProblem(response, 401, 'unauthorized');
          else assertProblem(response, 404, 'no_route');
        }
      for (const path of ['/', '/handbook', '/openapi.yaml']) {
        const { status } = await cluster.request('GET', path, { node });
        assert.equal(status, /broker|documents|web/.test(target) ? 200 : 404, `${path} of ${target}`);
      }
    }
  });

  test('what one process takes another one indexes and a third one searches', async () => {
    const token = assertOk(await cluster.request('GET', '/api/login', { as: 'User_1', node: nodes.broker })).Token;
    const headers = { Authorization: `Bearer ${token}` };
    const sent = await upload(cluster, { name: 'split.txt', bytes: 'The lighthouse keeper is called Agatha.', node: nodes.documents });
    const { documentId } = assertOk(sent, 201);
    const there = { node: nodes['broker,documents'] };
    const found = await settled({ request: (method, path) => cluster.request(method, path, { headers, ...there }) }, undefined, documentId);
    assert.equal(found.status, 'INDEXED');
    const body = { query: 'What is the lighthouse keeper called?' };
    const { citations } = assertOk(await cluster.request('POST', '/api/rag/retrieve', { headers, body, ...there }));
    assert.equal(citations[0].docId, documentId);
  });

  test('/health lists the services of the process', async () => {
    const names = async (target) => Object.keys((await cluster.request('GET', '/health', { node: nodes[target] })).json.dependencies).sort();
    for (const target of ['broker', 'web', 'indexer']) assert.deepEqual(await names(target), ['engines', 'redis'], target);
    assert.deepEqual(await names('documents'), ['embeddings', 'engines', 'redis', 'vectors']);
  });
});
