// SPDX-License-Identifier: MIT
//
// routes: what cmake/routes.pl makes of services/*/routes.yaml, so that tests try every route there is.
//
//   allRoutes()              [{service, method, path, roles: ['frontend', 'user'], takesToken, takesKey, takesApiKey, takesBasic, takesCallerKey}]
//   routesOf('documents')    those of one service
//   filled('/api/docs/{id}')  such a path with something in place of each name
//   bodyLimit('/v1/chat/completions')  the bytes of the largest body that it takes
//   openapiText()            the description of all of them, as nodes serve it
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { kept } from './kept.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const READ = /^cmake\/.*\.p[lm]$|^services\/\w+\/(routes|schemas)\.yaml$|^services\/web\/openapi\//;

function generated(what) {
  const found = ['cmake', 'services'].flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true }).map((name) => `${folder}/${name}`));
  const files = ['CMakeLists.txt', 'shared/base/err.h', 'services/node/table.c', ...found.filter((name) => READ.test(name)).sort()];
  const sources = files.flatMap((name) => [name, readFileSync(join(ROOT, name))]);
  return kept(`routes${what}`, sources, () => execFileSync('perl', ['cmake/routes.pl', what], { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 24 }));
}

export const openapiText = () => generated('--openapi');

// An account of each role.
export const ACCOUNT_OF = { frontend: 'Frontend_1', user: 'User_1', engine: 'Inference_1', operator: 'Operator_1' };
const PARTS = { id: '0'.repeat(24), user: 'alice', username: 'bot', index: '0', page: 'engines', link: 'none', name: 'x' };
export const filled = (path) => path.replace(/\{(\w+)\}/g, (_, name) => PARTS[name]);

export function bodyLimit(path) {
  if (path === '/api/evaluations') return 6 << 20;
  return /\/v1\//.test(path) ? 4 << 20 : 1 << 20;
}

export function allRoutes() {
  return JSON.parse(generated('--json')).map(({ service, method, path, roles, flags, checks }) => {
    const has = (flag) => flags.includes(flag);
    const takes = { takesToken: has('takes_token_param'), takesKey: has('takes_key'), takesApiKey: has('takes_api_key'), takesBasic: has('takes_basic') };
    return { service, method, path, roles, ...takes, takesCallerKey: checks.includes('callerKey') };
  });
}

export function routesOf(service) {
  return allRoutes().filter((route) => route.service === service);
}
