// SPDX-License-Identifier: MIT
//
// routes: the tables of routes as the C sources state them, so that tests try every route there is.
//
//   routesOf('services/documents/routes.c')   [{method, path, roles: ['frontend', 'user'], takesToken}]
//   allRoutes()                               those of every table that serve.c knows, {table, …}
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const ROLES = { ROLES_NONE: [], ROLES_ALL: ['frontend', 'user', 'engine', 'operator'] };

const read = (file) => readFileSync(join(ROOT, file), 'utf8');

// {FRONT: ['frontend', 'user'], …}: the macros of a file that stand for roles.
function rolesOf(source) {
  const found = { ...ROLES };
  for (const [, name, text] of source.matchAll(/^#define (\w+) \(([^)]*ROLE_[^)]*)\)$/gm)) {
    found[name] = [...text.matchAll(/ROLE_(\w+)/g)].map(([, role]) => role.toLowerCase());
  }
  return found;
}

function tablesOf(file) {
  const source = read(file);
  const roles = rolesOf(source);
  const [, usual] = /\.roles = (\w+)/.exec(source) ?? [];
  return [...source.matchAll(/^const struct route (\w+)\[\] = \{$([^]*?)^\};$/gm)].map(([, table, rows]) => ({
    table,
    routes: [...rows.matchAll(/(?:ROUTE\(|\{)"([A-Z]+)",\s*"([^"]+)",\s*([A-Z_]+(?=,))?((?:(?!ROUTE\()[^{"])*)/g)].map(([, method, path, who, rest]) => {
      assert.ok(roles[who ?? usual], `${file}: the roles of ${method} ${path}`);
      return { method, path, roles: roles[who ?? usual], takesToken: rest.includes('.takes_token_param = true') };
    }),
  }));
}

export function routesOf(file) {
  return tablesOf(file).flatMap(({ routes }) => routes);
}

function sourcesUnder(folder) {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? sourcesUnder(path) : path.endsWith('.c') ? [path] : [];
  });
}

export function allRoutes() {
  const tables = sourcesUnder('services').flatMap(tablesOf);
  const served = new Set([...read('services/node/serve.c').matchAll(/\b\w+_routes\b/g)].map(([name]) => name));
  assert.deepEqual(new Set(tables.map(({ table }) => table)), served, 'the tables that serve.c serves are all found');
  return tables.flatMap(({ table, routes }) => routes.map((route) => ({ table, ...route })));
}
