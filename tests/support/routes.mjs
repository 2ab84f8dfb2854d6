// SPDX-License-Identifier: MIT
//
// routes: the tables of routes as the C sources state them, so that tests try every route there is.
//
//   routesOf('services/documents/routes.c')   [{method, path, roles: ['frontend', 'user'], takesToken, takesApiKey, takesBasic, takesCallerKey}]
//   allRoutes()                               those of every service's table, and the node's own, {table, …}
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

// A table's name is its own within its service's folder.
const tableOf = (file, name) => `${file.split('/')[1]} ${name}`;

function tablesOf(file) {
  const source = read(file);
  const roles = rolesOf(source);
  const [, usual] = /\.roles = (\w+)/.exec(source) ?? [];
  return [...source.matchAll(/^(?:static )?const struct route (\w+)\[\] = \{$([^]*?)^\};$/gm)].map(([, name, rows]) => ({
    table: tableOf(file, name),
    routes: [...rows.matchAll(/(?:ROUTE\(|\{)"([A-Z]+)",\s*"([^"]+)",\s*([A-Z_]+(?=,))?((?:(?!ROUTE\()[^{"])*)/g)].map(([, method, path, who, rest]) => {
      assert.ok(roles[who ?? usual], `${file}: the roles of ${method} ${path}`);
      return { method, path, roles: roles[who ?? usual], takesToken: rest.includes('.takes_token_param = true'), takesKey: rest.includes('.takes_key = true'), takesApiKey: rest.includes('.takes_api_key = true'), takesBasic: rest.includes('.takes_basic = true'), takesCallerKey: /caller_key_is_open|\bpull_/.test(rest) };
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

// What is served: the table that the row of each service names, and the probes.
function servedTables(files) {
  const rows = files.flatMap((file) =>
    [...read(file).matchAll(/^const struct service \w+ = \{$([^]*?)^\};$/gm)].map(([, row]) => [file, /\.routes = (\w+)/.exec(row)?.[1]]),
  );
  assert.ok(rows.length > 0, 'there are services');
  return ['node probe_routes', ...rows.filter(([, name]) => name).map(([file, name]) => tableOf(file, name))];
}

export function allRoutes() {
  const files = sourcesUnder('services');
  const tables = files.flatMap(tablesOf);
  assert.deepEqual(new Set(tables.map(({ table }) => table)), new Set(servedTables(files)), 'every table is served, and found');
  return tables.flatMap(({ table, routes }) => routes.map((route) => ({ table, ...route })));
}
