// SPDX-License-Identifier: MIT
//
// postgres: a real PostgreSQL server for a test (tests/postgres.sh), with the roles of docs/operations/workflow-database.md.
//
//   const server = await startPostgres();
//   server.args                  the flags of a node that uses it
//   await server.sql('SELECT 1') as its superuser; resolves with the lines of the result
//   await server.again()         stops it as a crash would, and starts it
import { execFile, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './node.mjs';

const SCRIPT = join(ROOT, 'tests/postgres.sh');

export async function startPostgres() {
  const folder = mkdtempSync('/tmp/parley-pg-');
  const server = join(folder, 'server');
  const run = (args, input) =>
    new Promise((resolve, reject) => {
      const child = execFile(SCRIPT, args, (error, stdout, stderr) => (error ? reject(new Error(`${args[0]}: ${stderr}`)) : resolve(stdout)));
      child.stdin.on('error', () => {});
      child.stdin.end(input);
    });
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, 'change me\n', { mode: 0o600 });
  chmodSync(folder, 0o755); // the server runs as another user
  await new Promise((resolve, reject) => {
    const child = spawn(SCRIPT, ['start', server, String(process.pid)], { stdio: ['ignore', 'ignore', 'inherit'] });
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`tests/postgres.sh start: ${code}`))));
  });
  await run(['roles', server]);
  return {
    args: [`--sql-url=postgresql://parley_workflow@/parley_workflow?host=${server}`, `--sql-password-file=${passwordFile}`],
    sql: async (text) => (await run(['sql', server, 'parley_workflow'], `\\pset format unaligned\n\\pset tuples_only on\n${text}`)).trim(),
    again: () => run(['again', server]),
    async stop() {
      await run(['stop', server]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
