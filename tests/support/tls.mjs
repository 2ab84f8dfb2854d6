// SPDX-License-Identifier: MIT
//
// tls: certificates for tests, and connections to whatever a URL's scheme asks for. With PARLEY_TEST_TLS (a folder,
// see tests/tls.sh) every node that a test starts serves HTTPS, and its clients trust that folder's authority.
import { execFileSync } from 'node:child_process';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { join } from 'node:path';
import tls from 'node:tls';

const folder = process.env.PARLEY_TEST_TLS;

// What startNode adds to its flags.
export const tlsFlags = (listen) => (folder && !listen.startsWith('unix:') ? ['--tls-cert', join(folder, 'cert.pem'), '--tls-key', join(folder, 'key.pem')] : []);

// Made once: it reads all authorities of the system.
let context;

const isSecure = (url) => new URL(url).protocol === 'https:';

// An agent of the module that requestTo takes.
export const newAgent = (url, options) => new (isSecure(url) ? https : http).Agent(options);

export const requestTo = (url, options) => (isSecure(url) ? https : http).request(options);

// A socket to the host and port of `url`; `raw` is what lies below TLS, or the same.
export function connectTo(url, { alpn, ...options } = {}) {
  const { hostname, port } = new URL(url);
  const raw = net.connect({ host: hostname, port: Number(port), ...options });
  const socket = isSecure(url) ? tls.connect({ socket: raw, host: hostname, secureContext: (context ??= tls.createSecureContext()), ALPNProtocols: alpn ?? ['http/1.1'] }) : raw;
  socket.raw = raw;
  if (socket !== raw) raw.on('error', (error) => socket.destroy(error));
  return socket;
}

const openssl = (...args) => execFileSync('openssl', args, { stdio: ['ignore', 'pipe', 'pipe'] });

// An authority in `dir`, and certificates of it for 127.0.0.1 and localhost, or other names:
//   authority.ca             the path of its own certificate
//   authority.make(name, {days, rsa, names})  -> {cert, key}: paths
export function makeAuthority(dir) {
  const at = (name) => join(dir, name);
  const newKey = (path, rsa) => openssl('genpkey', '-out', path, ...(rsa ? ['-algorithm', 'RSA'] : ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256']));
  newKey(at('ca.key'));
  openssl('req', '-x509', '-new', '-key', at('ca.key'), '-subj', '/CN=Authority of a test', '-days', '30', '-out', at('ca.pem'));
  return {
    ca: at('ca.pem'),
    make(name, { days = 30, rsa = false, names = 'IP:127.0.0.1,DNS:localhost' } = {}) {
      const cert = at(`${name}.pem`);
      const key = at(`${name}.key`);
      newKey(key, rsa);
      openssl('req', '-new', '-key', key, '-subj', `/CN=${name}`, '-addext', `subjectAltName=${names}`, '-out', at(`${name}.csr`));
      openssl('x509', '-req', '-in', at(`${name}.csr`), '-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-CAcreateserial', '-copy_extensions', 'copyall', '-days', days, '-out', cert);
      return { cert, key };
    },
  };
}
