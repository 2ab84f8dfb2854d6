// SPDX-License-Identifier: MIT
//
// user_command: `parley user`, or another command of the same flags, against a cluster, with a folder for the files that it writes.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder, runParley, startProcess } from './harness.mjs';

// {run, start, file(name), files(), remove()}; run and start take the words of the command and
// {as, secret, nodes, url} besides what runParley and startProcess take.
export function userCommands(cluster, { as: common = 'Frontend_1', command = 'user' } = {}) {
  const folder = makeFolder();
  const argsOf = (words, { as = common, secret = cluster.accounts[as].secret, nodes = cluster.nodes, url = nodes.map((node) => node.url).join() }) => [
    ...[command, ...words, '--url', url, '--user', as],
    ...['--secret-file', folder.file(`secret-${as}`, secret)],
  ];
  return {
    run: (words, options = {}) => runParley(argsOf(words, options), options),
    start: (words, options = {}) => startProcess(argsOf(words, options), options),
    argsOf: (words, options = {}) => argsOf(words, options),
    file: (name) => join(folder.dir, name),
    files: () => readdirSync(folder.dir).filter((name) => !name.startsWith('secret-')).sort(),
    remove: folder.remove,
  };
}
