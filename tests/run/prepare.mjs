// SPDX-License-Identifier: MIT
//
// prepare: what a job needs from elsewhere before it begins: another server, a certificate, another build.
import { execFile } from 'node:child_process';
import { join } from 'node:path';

const CANNOT = 3; // of the scripts that fetch, which then say why

// {status, stdout, stderr}. Others end and begin meanwhile: to fetch a server takes minutes.
const run = (script, words) =>
  new Promise((resolve) => {
    execFile(script, words, { maxBuffer: 64 << 20 }, (error, stdout, stderr) => resolve({ status: error ? error.code : 0, stdout, stderr: stderr || (error?.message ?? '') }));
  });

// Variables for the job: {env}, {skipped: why} or {failed: why}.
export async function prepare(job) {
  const env = {};
  const wanted = [];
  if (job.server) wanted.push(['PARLEY_TEST_REDIS', 'tests/servers.sh', job.server]);
  if (job.hiredis1) wanted.push(['PARLEY_BIN', 'tests/hiredis.sh']);
  if (job.newClients) wanted.push(['PARLEY_TEST_NODE_22', 'tests/clients.sh']);
  if (job.tools) wanted.push(['PARLEY_TEST_TOOLS', 'tests/tools.sh']);
  if (job.tls || process.env.PARLEY_TEST_TLS === '1') wanted.push(['PARLEY_TEST_TLS', 'tests/tls.sh']);
  for (const [variable, script, ...words] of wanted) {
    const { status, stdout, stderr } = await run(script, words);
    if (status === CANNOT) return { skipped: stderr.trim() };
    if (status !== 0) return { failed: `${[script, ...words].join(' ')}: ${stderr.trim()}` };
    env[variable] = stdout.trim().split('\n').at(-1);
  }
  const folder = env.PARLEY_TEST_TLS ?? process.env.PARLEY_TEST_TLS;
  if (folder) env.NODE_EXTRA_CA_CERTS = join(folder, 'ca.pem');
  return { env };
}
