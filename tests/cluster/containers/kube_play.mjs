#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// kube_play.mjs PROJECT FOLDER COMMAND [ID]: pods of FOLDER/manifests.yaml, which kustomize built, by `podman kube play` in
// the network PROJECT. kube_convert.mjs says what podman cannot take and how it is replaced. ID is NAME-N of a workload.
//
//   pods               prints the IDs that the manifests ask for
//   play ID            starts the pod; a volume that it claims and that is there is kept
//   probe ID KIND      startup, liveness or readiness, once, as the kubelet does: to the address of the pod, or inside
//                      of its container. Exits 1 with a line that says why, if it fails
//   ready ID           waits as a Deployment does: the startup probe, then the readiness probe for all of minReadySeconds
//   check ID           the container runs as the manifest's security context and limits say
//   stop ID            as the kubelet does: preStop, SIGTERM, and SIGKILL at the end of the grace period. Prints how many
//                      seconds it took; exits 1 unless the container ended by itself, with status 0
//   remove ID          removes the pod at once, and leaves the volumes that it claims
//   secret NAME KEY FILE   the pods that run get another file of a Secret, as the kubelet writes it
//   container ID       prints podman's name of its container
//   ingress RESOLVER   prints the configuration of an nginx that does what the Ingress says
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { parseAllDocuments, stringify } from 'yaml';
import { idsOf, nginxOf, podOf, portOf } from './kube_convert.mjs';

const [project, folder, command, ...args] = process.argv.slice(2);
const run = promisify(execFile);
const objects = parseAllDocuments(readFileSync(`${folder}/manifests.yaml`, 'utf8')).map((document) => document.toJS());

async function podman(...words) {
  return (await run('podman', words, { maxBuffer: 8 << 20 })).stdout.trim();
}
const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
const isThere = async (kind, name) => (await run('podman', [kind, 'exists', name]).catch(() => null)) !== null;
const nameOf = ({ id }) => `${project}-${id}`;
const containerOf = (pod) => `${nameOf(pod)}-${pod.container.name}`;
async function addressOf(pod) {
  const infra = await podman('pod', 'inspect', '-f', '{{.InfraContainerID}}', nameOf(pod));
  return podman('inspect', '-f', '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}', infra);
}

// As the kubelet: files in a folder of their own, `..data` leads to it, and its replacement is one step for those who read.
function writeFiles({ path, data, mode, group }) {
  mkdirSync(path, { recursive: true });
  const version = `..${process.pid}_${readdirSync(path).length}`;
  mkdirSync(`${path}/${version}`);
  for (const [name, text] of data) {
    writeFileSync(`${path}/${version}/${name}`, text, { mode });
    chownSync(`${path}/${version}/${name}`, 0, group);
    if (!readdirSync(path).includes(name)) symlinkSync(`..data/${name}`, `${path}/${name}`);
  }
  const before = existsSync(`${path}/..data`);
  symlinkSync(version, `${path}/${before ? '..new' : '..data'}`);
  if (before) renameSync(`${path}/..new`, `${path}/..data`);
}

async function play(pod) {
  const file = `${folder}/${pod.id}.yaml`;
  for (const each of pod.files) if (!existsSync(`${each.path}/..data`)) writeFiles(each);
  const claims = [];
  for (const claim of pod.claims) if (!(await isThere('volume', claim.metadata.name))) claims.push(claim);
  const write = (all) => writeFileSync(file, all.map((each) => stringify(each)).join('---\n'));
  const options = pod.services.map((name) => `alias=${name}`).join(',');
  if (claims.length > 0) {
    write(claims);
    await podman('kube', 'play', file);
  }
  write(pod.objects);
  await podman('kube', 'play', '--network', options ? `${project}:${options}` : project, file);
}

async function probe(pod, kind) {
  const { httpGet, exec, timeoutSeconds = 1 } = pod.container[`${kind}Probe`];
  if (exec) {
    await run('podman', ['exec', containerOf(pod), ...exec.command], { timeout: timeoutSeconds * 1000 });
  } else {
    const url = `http://${await addressOf(pod)}:${portOf(pod.container, httpGet.port)}${httpGet.path}`;
    const { status } = await fetch(url, { signal: AbortSignal.timeout(timeoutSeconds * 1000), redirect: 'manual' });
    assert.ok(status >= 200 && status < 400, `${url}: ${status}`);
  }
}

async function ready(pod) {
  const passes = (kind) => probe(pod, kind).then(() => true, () => false);
  const { startupProbe, readinessProbe } = pod.container;
  for (let failures = 0; startupProbe && !(await passes('startup')); await pause(startupProbe.periodSeconds))
    assert.ok(++failures < startupProbe.failureThreshold, `${pod.id} does not start`);
  const until = Date.now() + 60_000;
  for (let since = null; readinessProbe && (since === null || Date.now() < since + pod.minReadySeconds * 1000); await pause(0.2)) {
    since = (await passes('readiness')) ? (since ?? Date.now()) : null;
    assert.ok(Date.now() < until, `${pod.id} is not ready`);
  }
}

async function check(pod) {
  const { securityContext: all } = pod.spec;
  const { securityContext: own, resources } = pod.container;
  const inside = (text) => podman('exec', containerOf(pod), 'sh', '-c', text);
  assert.equal(await inside('echo $(id -u) $(id -g)'), `${all.runAsUser} ${all.runAsGroup}`);
  const status = await inside('cat /proc/1/status');
  assert.match(status, new RegExp(`^Uid:\\s+${all.runAsUser}\\s`, 'm'), 'the first process');
  assert.deepEqual([own.capabilities.drop, own.allowPrivilegeEscalation, own.readOnlyRootFilesystem], [['ALL'], false, true]);
  for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) assert.match(status, new RegExp(`^${set}:\\s+0+$`, 'm'));
  assert.match(status, /^NoNewPrivs:\s+1$/m);
  await assert.rejects(inside('echo >/usr/local/x'), /Read-only file system/);
  await assert.rejects(inside('echo >/x'), /Read-only file system/);
  for (const { mountPath, readOnly } of pod.container.volumeMounts)
    if (!readOnly) await inside(`echo >${mountPath}/x && rm ${mountPath}/x`);
    else await assert.rejects(inside(`echo >${mountPath}/x`), /Read-only file system|Permission denied/);
  const bytes = Number(await podman('inspect', '-f', '{{.HostConfig.Memory}}', containerOf(pod)));
  assert.equal(bytes, { '1Gi': 2 ** 30, '2Gi': 2 ** 31 }[resources.limits.memory], 'limit of memory');
}

async function stop(pod) {
  const { terminationGracePeriodSeconds: grace } = pod.spec;
  const began = Date.now();
  const seconds = () => (Date.now() - began) / 1000;
  const hook = pod.container.lifecycle?.preStop?.exec?.command;
  if (hook) await podman('exec', containerOf(pod), ...hook);
  await podman('stop', '-t', String(Math.floor(grace - seconds())), containerOf(pod));
  const took = seconds();
  const ended = await podman('inspect', '-f', '{{.State.Status}} {{.State.ExitCode}}', containerOf(pod));
  // Kubernetes takes it out of its Services before preStop. Here its name leads to it until its address is gone, and an
  // address that is gone answers nothing: until then it refuses, and nginx leaves it out.
  await pause(2);
  await podman('pod', 'stop', '-t', '0', nameOf(pod));
  console.log(`${pod.id} ${took.toFixed(1)} of ${grace} s`);
  assert.equal(ended, 'exited 0', pod.id);
}

const remove = (pod) => podman('pod', 'rm', '-f', '-t', '0', nameOf(pod));

async function secret(name, key, file) {
  for (const id of readdirSync(folder).filter((each) => existsSync(`${folder}/${each}.yaml`))) {
    const pod = podOf(objects, id, project, folder);
    for (const volume of pod.spec.volumes.filter((each) => each.secret?.secretName.startsWith(`${name}-`))) {
      const files = pod.files.find(({ path }) => path.endsWith(`/${volume.name}`));
      writeFiles({ ...files, data: files.data.map(([each, text]) => [each, each === key ? readFileSync(file) : text]) });
    }
  }
}

try {
  const pod = () => podOf(objects, args[0], project, folder);
  const commands = {
    pods: () => console.log(idsOf(objects).join('\n')),
    play: () => play(pod()),
    probe: () => probe(pod(), args[1]),
    ready: () => ready(pod()),
    check: () => check(pod()),
    stop: () => stop(pod()),
    remove: () => remove(pod()),
    secret: () => secret(...args),
    ingress: () => console.log(nginxOf(objects, args[0])),
    container: () => console.log(containerOf(pod())),
  };
  await commands[command]();
} catch (error) {
  console.error(`${command} ${args.join(' ')}: ${error.message} ${error.stderr ?? ''}`);
  process.exitCode = 1;
}
