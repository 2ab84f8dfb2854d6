// SPDX-License-Identifier: MIT
//
// user_command: `parley user` against a cluster, with a folder for the files that it writes.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder, runParley, startProcess } from './harness.mjs';

// {run, start, file(name), files(), remove()}; run and start take the words of the command and
// {as, secret, nodes, url} besides what runParley and startProcess take.
export function userCommands(cluster, { as: common = 'Frontend_1' } = {}) {
  const folder = makeFolder();
  const argsOf = (words, { as = common, secret = cluster.accounts[as].secret, nodes = cluster.nodes, url = nodes.map((node) => node.url).join() }) => [
    ...['user', ...words, '--url', url, '--user', as],
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
