// SPDX-License-Identifier: MIT
//
// kube_convert.mjs: what `podman kube play` of Debian 12 (podman 4.3.1) runs of an overlay of k8s/. It knows Pods, and of these
// not all that Kubernetes knows. So nobody should think that more is shown than is:
//
//   Deployment, StatefulSet  one Pod for each replica, NAME-0, NAME-1, …: podman's own Pods of a Deployment share their
//                            emptyDirs. Who replaces a pod, and in which order, is the test, not a controller.
//   volumeClaimTemplates     a PersistentVolumeClaim for each replica, with its owner as an annotation
//   Secret, ConfigMap        as a volume: a folder of the host, with the links, owner (fsGroup) and modes that the kubelet
//                            gives it; the user of Redis could not read podman's own. As variables (configMapRef):
//                            the ConfigMap itself
//   emptyDir                 a volume named after the pod: podman names it after the volume, whatever the pod. Its owner is
//                            that of the folder in the image, not fsGroup, and its size has no limit
//   probes, preStop, grace   taken out, for this version turns named ports into port 0, breaks the words of `exec`, and knows
//                            no readiness, preStop or grace period. kube_play.mjs carries them out as the manifest says
//   ports                    taken out: podman would publish them on the host. Kubernetes does not
//   fsGroup, seccomp         podman has its own default of seccomp; fsGroup as said above
//   Service                  an alias in podman's network, for its own port must be that of the pod. Pods leave
//                            it two seconds after their end. In Kubernetes they leave it before preStop, or when not ready
//   Ingress                  nginx with the same paths, in the same order of precedence, and the same settings
//   names of pods, volumes   begin with the name of the project, as several may run on one machine
//   imagePullPolicy          Never: images were built or made before
//
// Not shown at all: NetworkPolicy, PodDisruptionBudget, topology spread, ServiceAccount, Namespace with its PodSecurity
// (kubernetes.test.mjs checks what it asks for), autoscalers, monitors.

const one = (list, what) => {
  if (list.length !== 1) throw new Error(`${what}: ${list.length}, and this script knows one`);
  return list[0];
};

// The files of a volume, as [name, data].
function filesOf(volume, objects) {
  const isSecret = volume.secret !== undefined;
  const name = isSecret ? volume.secret.secretName : volume.configMap.name;
  const kind = isSecret ? 'Secret' : 'ConfigMap';
  const object = one(objects.filter((each) => each.kind === kind && each.metadata.name === name), `${kind} ${name}`);
  const data = Object.entries(object.data).map(([key, text]) => [key, Buffer.from(text, isSecret ? 'base64' : 'utf8')]);
  return { data, mode: (volume.secret ?? volume.configMap).defaultMode ?? 0o644 };
}

// What Services lead to a pod, by their name; each at the same port as its pod.
function servicesOf(labels, container, objects) {
  const fits = ({ kind, spec }) =>
    kind === 'Service' && Object.entries(spec.selector).every(([key, value]) => labels[key] === value);
  return objects.filter(fits).map(({ metadata, spec }) => {
    const { port, targetPort } = one(spec.ports, `ports of ${metadata.name}`);
    if (portOf(container, targetPort) !== port) throw new Error(`Service ${metadata.name}: another port than its pods'`);
    return metadata.name;
  });
}

export const portOf = (container, port) =>
  typeof port === 'number' ? port : container.ports.find(({ name }) => name === port).containerPort;

const workloads = (objects) => objects.filter(({ kind }) => ['Deployment', 'StatefulSet'].includes(kind));

// The pods that the manifests ask for: NAME-0, NAME-1, …
export const idsOf = (objects) =>
  workloads(objects).flatMap(({ metadata, spec }) => Array.from({ length: spec.replicas ?? 1 }, (_, i) => `${metadata.name}-${i}`));

// podOf(OBJECTS, ID, PROJECT, FOLDER): a pod of a workload, also one more than it asks for, as in a rolling update:
//   container, spec, minReadySeconds   as Kubernetes runs it
//   objects, claims   what podman gets; a claim is made once and survives its pod
//   files             the folders to mount: path, data, mode, group
//   services          the names under which others reach it
export function podOf(objects, id, project, folder) {
  const found = workloads(objects).filter(({ metadata }) => id.startsWith(`${metadata.name}-`) && /^\d+$/.test(id.slice(metadata.name.length + 1)));
  const { template, volumeClaimTemplates = [], minReadySeconds = 0 } = one(found, id).spec;
  const { metadata, spec } = template;
  const container = one(spec.containers, `containers of ${id}`);
  const { fsGroup, runAsUser } = spec.securityContext;
  const fullName = (name) => `${project}-${id}-${name}`;

  const files = [];
  const claims = [];
  const mounts = new Map(); // by its name in the manifest
  for (const volume of spec.volumes) {
    const path = `${folder}/${id}/${volume.name}`;
    if (volume.emptyDir) {
      mounts.set(volume.name, { name: fullName(volume.name), emptyDir: {} });
    } else {
      files.push({ path, group: fsGroup, ...filesOf(volume, objects) });
      mounts.set(volume.name, { name: volume.name, hostPath: { path, type: 'Directory' } });
    }
  }
  for (const claim of volumeClaimTemplates) {
    const { name } = claim.metadata;
    mounts.set(name, { name, persistentVolumeClaim: { claimName: fullName(name) } });
    const annotations = { 'volume.podman.io/uid': `${runAsUser}`, 'volume.podman.io/gid': `${fsGroup}` };
    claims.push({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: fullName(name), annotations }, spec: claim.spec });
  }

  const played = {
    ...container,
    imagePullPolicy: 'Never',
    volumeMounts: container.volumeMounts.map((mount) => ({ ...mount, name: mounts.get(mount.name).name })),
  };
  for (const member of ['ports', 'startupProbe', 'livenessProbe', 'readinessProbe', 'lifecycle']) delete played[member];
  const isNamed = ({ kind, metadata: { name } }) =>
    kind === 'ConfigMap' && (container.envFrom ?? []).some(({ configMapRef }) => configMapRef.name === name);
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `${project}-${id}`, labels: { ...metadata.labels, project } },
    spec: { ...spec, restartPolicy: 'Always', containers: [played], volumes: [...mounts.values()] },
  };
  const services = servicesOf(metadata.labels, container, objects);
  return { id, minReadySeconds, spec, container, files, claims, services, objects: [...objects.filter(isNamed), pod] };
}

// nginx as the Ingress says: an exact path before prefixes, a longer prefix before a shorter one, whole segments.
export function nginxOf(objects, resolver) {
  const { metadata, spec } = one(objects.filter(({ kind }) => kind === 'Ingress'), 'Ingress');
  const setting = (name) => metadata.annotations[`nginx.ingress.kubernetes.io/${name}`];
  const { paths } = one(spec.rules, 'rules of the Ingress').http;
  const services = [...new Set(paths.map(({ backend }) => backend.service.name))];
  const ports = Object.fromEntries(objects.filter(({ kind }) => kind === 'Service').map(({ metadata: { name }, spec: { ports } }) => [name, ports[0].port]));
  const upstreams = services.map(
    (name) => `    upstream ${name} { zone ${name} 64k; server ${name}:${ports[name]} resolve max_fails=1 fail_timeout=5s; }`,
  );
  const locations = paths.flatMap(({ path, pathType, backend }) => {
    const to = `{ proxy_pass http://${backend.service.name}; }`;
    if (pathType === 'Exact' || path === '/') return [`        location ${pathType === 'Exact' ? '= ' : ''}${path} ${to}`];
    return [`        location = ${path} ${to}`, `        location ${path}/ ${to}`];
  });
  return `worker_processes 2;
pid /tmp/nginx.pid;
error_log /dev/stderr warn;
events { worker_connections 4096; }
http {
    client_body_temp_path /tmp/body;
    proxy_temp_path /tmp/proxy;
    fastcgi_temp_path /tmp/fastcgi;
    uwsgi_temp_path /tmp/uwsgi;
    scgi_temp_path /tmp/scgi;
    log_format line '[$time_local] "$request_method $uri" $status $request_time $upstream_addr $upstream_status';
    access_log /dev/stdout line;
    resolver ${resolver} valid=1s ipv6=off;
${upstreams.join('\n')}
    map $http_upgrade $upstream_connection { default upgrade; '' close; }
    server {
        listen 8080;
        proxy_http_version 1.1;
        proxy_set_header Host $http_host;
        proxy_set_header X-Forwarded-For $remote_addr;
        proxy_set_header Upgrade $http_upgrade;
        proxy_set_header Connection $upstream_connection;
        proxy_read_timeout ${setting('proxy-read-timeout')}s;
        proxy_send_timeout ${setting('proxy-send-timeout')}s;
        proxy_connect_timeout ${setting('proxy-connect-timeout')}s;
        proxy_buffering ${setting('proxy-buffering')};
        proxy_request_buffering ${setting('proxy-request-buffering')};
        client_max_body_size ${setting('proxy-body-size')};
        proxy_next_upstream ${setting('proxy-next-upstream')};
${locations.join('\n')}
    }
}
`;
}
