// SPDX-License-Identifier: MIT
//
// k8s/: all overlays are built by kustomize. Each object must be one of the published schemas, without a member that the
// schema does not know, and what the objects say of each other, of settings and of routes must be true.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { parse, parseAllDocuments } from 'yaml';
import { BIN as PARLEY } from '../support/node.mjs';
import { allRoutes } from '../support/routes.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // files: the same on any number of shards

const run = promisify(execFile);
const CORES = { v1: 'kubernetes-models/v1' };
const GROUPS = {
  'keda.sh/v1alpha1': '@kubernetes-models/keda/keda.sh/v1alpha1',
  'monitoring.coreos.com/v1': '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1',
};
const moduleOf = (version) => CORES[version] ?? GROUPS[version] ?? `kubernetes-models/${version}`;
const NODES = { broker: ['broker'], documents: ['documents', 'broker'], conversations: ['workflow', 'bots'], indexer: ['indexer'] };

const podOf = (object) => object.spec?.template?.spec;
const nameOf = (object) => `${object.kind} ${object.metadata.name}`;

let kustomize;
const built = new Map();

// An overlay of our own, for components that no overlay has.
const WITH_KEDA = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: parley
resources: [../k8s/base]
components: [../k8s/components/engine, ../k8s/components/keda]
`;

async function build(folder) {
  const { stdout } = await run(kustomize, ['build', folder], { maxBuffer: 8 << 20 });
  return parseAllDocuments(stdout).map((document) => {
    assert.deepEqual(document.errors, []);
    return document.toJS();
  });
}

const of = (objects, kind, name) => objects.find((object) => object.kind === kind && object.metadata.name === name);

// Kubernetes' own generated names end with a hash of what they hold.
const unhashed = (name) => name.replace(/-[a-z0-9]{10}$/, '');

describe('k8s', () => {
  before(async () => {
    ({ stdout: kustomize } = await run('tests/servers.sh', ['kustomize']));
    kustomize = kustomize.trim();
    for (const overlay of ['dev', 'prod']) built.set(overlay, await build(`k8s/overlays/${overlay}`));
    const folder = await mkdtemp('keda-');
    try {
      await writeFile(join(folder, 'kustomization.yaml'), WITH_KEDA);
      built.set('keda', await build(folder));
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('every object has the members that its published schema knows, of the types that it says', { timeout: 300_000 }, async () => {
    const objects = [...built.values()].flat();
    const models = new Map();
    let text = '';
    for (const [i, object] of objects.entries()) {
      const { apiVersion, kind } = object;
      const from = moduleOf(apiVersion);
      models.set(`${apiVersion} ${kind}`, `import type { I${kind} as ${kind}${models.size} } from '${from}';\n`);
      const number = [...models.keys()].indexOf(`${apiVersion} ${kind}`);
      text += `export const o${i}: ${kind}${number} = ${JSON.stringify(object)};\n`;
      // What types do not say: formats, patterns, numbers. Kustomize breaks long base64 into lines, which Kubernetes takes.
      if (kind === 'Secret') for (const [key, value] of Object.entries(object.data)) object.data[key] = value.replaceAll('\n', '');
      const { [kind]: Model } = await import(from);
      new Model(object).validate();
    }
    const imports = [...models.values()].map((line, i) => line.replace(/ as (\w+?)\d+ /, ` as $1${i} `)).join('');
    const folder = await mkdtemp('tests/kubernetes-');
    try {
      await writeFile(join(folder, 'objects.ts'), imports + text);
      const options = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022', '--module', 'nodenext', '--moduleResolution', 'nodenext'];
      await run('tests/node_modules/.bin/tsc', [...options, join(folder, 'objects.ts')], { maxBuffer: 8 << 20 }).catch(({ stdout }) => {
        assert.fail(stdout);
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('names what exists: ConfigMaps, Secrets, Services, service accounts, targets of autoscalers', () => {
    // Of others, as k8s/README.md says.
    const given = { dev: [], prod: ['parley-accounts', 'parley-redis', 'parley-engine', 'parley-tls'], keda: ['parley-accounts', 'parley-redis', 'parley-engine', 'parley-scaler'] };
    for (const [overlay, objects] of built) {
      const has = (kind, name) => assert.ok(of(objects, kind, name) || (kind === 'Secret' && given[overlay].includes(name)), `${overlay}: ${kind} ${name}`);
      for (const object of objects) {
        const pod = podOf(object);
        if (pod) {
          if (pod.serviceAccountName) has('ServiceAccount', pod.serviceAccountName);
          for (const volume of pod.volumes) {
            if (volume.secret) has('Secret', volume.secret.secretName);
            if (volume.configMap) has('ConfigMap', volume.configMap.name);
          }
          for (const { configMapRef } of pod.containers.flatMap(({ envFrom = [] }) => envFrom)) has('ConfigMap', configMapRef.name);
        }
        if (object.kind === 'Ingress') for (const path of object.spec.rules[0].http.paths) has('Service', path.backend.service.name);
        if (object.kind === 'HorizontalPodAutoscaler') has('Deployment', object.spec.scaleTargetRef.name);
        if (object.kind === 'ScaledObject') has('Deployment', object.spec.scaleTargetRef.name);
        if (object.kind === 'TriggerAuthentication') for (const { name } of object.spec.secretTargetRef) has('Secret', name);
      }
    }
  });

  it('selectors find the pods that they mean, and no others', () => {
    for (const [overlay, objects] of built) {
      const workloads = objects.filter(podOf);
      const found = (labels) =>
        workloads.filter((object) => Object.entries(labels).every(([key, value]) => object.spec.template.metadata.labels[key] === value)).map(({ metadata }) => metadata.name);
      for (const object of workloads) assert.deepEqual(found(object.spec.selector.matchLabels), [object.metadata.name], overlay);
      for (const object of objects.filter(({ kind }) => kind === 'Service')) assert.deepEqual(found(object.spec.selector), [object.metadata.name], overlay);
      for (const object of objects.filter(({ kind }) => kind === 'PodDisruptionBudget')) assert.deepEqual(found(object.spec.selector.matchLabels), [object.metadata.name], overlay);
      const nodes = Object.keys(NODES).map((name) => `parley-${name}`).sort();
      assert.deepEqual(found(of(objects, 'NetworkPolicy', 'parley').spec.podSelector.matchLabels).sort(), nodes);
      for (const { spec } of nodes.map((name) => of(objects, 'Deployment', name))) {
        for (const { labelSelector } of spec.template.spec.topologySpreadConstraints) assert.deepEqual(labelSelector.matchLabels, spec.selector.matchLabels);
      }
    }
  });

  it('pods satisfy the restricted PodSecurity standard, and their namespace demands it', () => {
    for (const overlay of ['dev', 'prod']) {
      const [namespace] = built.get(overlay).filter(({ kind }) => kind === 'Namespace');
      assert.equal(namespace.metadata.labels['pod-security.kubernetes.io/enforce'], 'restricted');
    }
    for (const object of [...built.values()].flat().filter(podOf)) {
      const pod = podOf(object);
      assert.equal(pod.securityContext.runAsNonRoot, true, nameOf(object));
      assert.ok(pod.securityContext.runAsUser > 0, nameOf(object));
      assert.equal(pod.securityContext.seccompProfile.type, 'RuntimeDefault', nameOf(object));
      assert.equal(pod.automountServiceAccountToken, false, nameOf(object));
      assert.ok(!pod.hostNetwork && !pod.hostPID && !pod.hostIPC, nameOf(object));
      for (const volume of pod.volumes) assert.ok(volume.emptyDir || volume.secret || volume.configMap || volume.persistentVolumeClaim, nameOf(object));
      for (const { securityContext } of pod.containers) {
        assert.deepEqual(securityContext, { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } }, nameOf(object));
      }
    }
  });

  it('every setting is one of the command that gets it', () => {
    const help = (command) => execFileSync(PARLEY, [command, '--help'], { encoding: 'utf8' });
    const known = { serve: help('serve'), engine: help('engine') };
    for (const objects of built.values()) {
      for (const object of objects.filter(podOf)) {
        const [{ args, envFrom = [], env = [] }] = podOf(object).containers;
        if (!known[args[0]]) continue;
        const names = envFrom.flatMap(({ configMapRef }) => Object.keys(of(objects, 'ConfigMap', configMapRef.name).data));
        for (const name of [...names, ...env.map((each) => each.name)]) assert.ok(known[args[0]].includes(`${name}.`), `${args[0]} knows ${name}`);
      }
    }
  });

  it('a pod may drain for as long as its node takes', () => {
    for (const objects of built.values()) {
      for (const name of Object.keys(NODES)) {
        const pod = podOf(of(objects, 'Deployment', `parley-${name}`));
        const [container] = pod.containers;
        const { data } = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && unhashed(metadata.name) === 'parley-node');
        const before = Number(container.lifecycle.preStop.exec.command[1]);
        assert.ok(pod.terminationGracePeriodSeconds > before + Number(data.PARLEY_DRAIN_SECONDS), name);
        assert.equal(container.readinessProbe.httpGet.path, '/readyz');
        assert.equal(container.livenessProbe.httpGet.path, '/livez');
      }
    }
  });

  it('the Ingress leads each route to nodes that run its service', () => {
    for (const objects of built.values()) {
      const { paths } = of(objects, 'Ingress', 'parley').spec.rules[0].http;
      const fits = ({ path, pathType }, url) => (pathType === 'Exact' ? url === path : path === '/' || url === path || url.startsWith(`${path}/`));
      for (const { service, path } of allRoutes()) {
        const needed = { users: ['broker'], openai: ['broker'], web: ['broker'], mcp: ['documents', 'broker'] }[service] ?? [service];
        if (service === 'node') continue; // each node has the probes
        const [best] = paths.filter((each) => fits(each, path.replace(/\{\w+\}/g, 'x'))).sort((a, b) => b.path.length - a.path.length);
        const group = best.backend.service.name.replace('parley-', '');
        for (const target of needed) assert.ok(NODES[group].includes(target), `${path} of ${target} is at ${group}`);
        const { env } = podOf(of(objects, 'Deployment', `parley-${group}`)).containers[0];
        assert.deepEqual(env, [{ name: 'PARLEY_TARGET', value: NODES[group].join(',') }]);
      }
    }
  });

  it('the rules for the Prometheus operator are those of deploy/monitoring', () => {
    const { groups } = parse(readFileSync('deploy/monitoring/alerts.yml', 'utf8'));
    assert.deepEqual(of(built.get('prod'), 'PrometheusRule', 'parley').spec, { groups }, 'run k8s/components/monitoring/rules.sh');
  });

  it('autoscalers find no number of pods in the manifests, which would be set again with each apply', () => {
    for (const overlay of ['prod', 'keda']) {
      const objects = built.get(overlay);
      const targets = objects.filter(({ kind }) => /^(HorizontalPodAutoscaler|ScaledObject)$/.test(kind)).map(({ spec }) => spec.scaleTargetRef.name);
      assert.ok(targets.includes('parley-engine'));
      for (const name of targets) assert.equal(of(objects, 'Deployment', name).spec.replicas, undefined, `${overlay}: ${name}`);
    }
  });
});
