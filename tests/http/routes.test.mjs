// SPDX-License-Identifier: MIT
//
// The generator of routes (cmake/routes.pl): what it makes of a row, and what it refuses, with the place and what to do.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { allRoutes } from '../support/routes.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // texts: the same on any number of shards

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const ROW = `GET /api/toys/{toy}:
  handler: toys_show
  operationId: showToy
  tag: pages
  roles: [frontend, user]
  summary: A toy
  parameters:
    - {name: toy, description: Which one., schema: {type: string}}
    - {name: colour, description: 'Its colour, if any.', schema: {type: string}}
  200: {description: The toy., json: $Toy}
  404: NotFound
`;
const SCHEMA = `
schemas:
  Toy: {type: object, required: [name], properties: {name: {type: string}}}
`;
const CODE = 'void toys_show(struct request *r)\n{\n}\n';
const trees = [];
after(() => trees.forEach((tree) => rmSync(tree, { recursive: true })));

// A tree with one service, and what all services share.
function treeOf(files) {
  const tree = mkdtempSync(join(tmpdir(), 'parley-routes-'));
  trees.push(tree);
  const services = readdirSync(join(ROOT, 'services')).map((name) => `services/${name}/schemas.yaml`);
  for (const path of ['CMakeLists.txt', 'shared/base/err.h', 'services/web/openapi', ...services])
    if (existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(tree, path), { recursive: true });
  const all = { 'services/node/table.c': '#define SERVICES(ROW) \\\n    ROW(toys)\n', 'services/toys/toys.c': CODE, ...files };
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    writeFileSync(join(tree, path), text);
  }
  return tree;
}

const generate = (tree, what) => spawnSync('perl', [join(ROOT, 'cmake/routes.pl'), what], { cwd: tree, encoding: 'utf8' });

function made(text, what = '--openapi', files = {}) {
  const tree = treeOf({ 'services/toys/routes.yaml': text, ...files });
  const { status, stderr, stdout } = generate(tree, what === '--openapi' || what === '--json' ? what : join(tree, what));
  assert.deepEqual([status, stderr], [0, '']);
  return what === '--openapi' ? parse(stdout) : what === '--json' ? JSON.parse(stdout) : (name) => readFileSync(join(tree, what, name), 'utf8');
}

describe('a row', () => {
  it('becomes an operation with the credentials of its roles, and with what every answer has', () => {
    const { paths, info } = made(ROW + SCHEMA);
    const { get, parameters } = paths['/api/toys/{toy}'];
    assert.match(info.version, /^\d+\.\d+\.\d+$/);
    assert.deepEqual(get.security, [{ signedUser: ['frontend', 'user'], signedNonce: ['frontend', 'user'], signedHash: ['frontend', 'user'] }, { bearer: ['frontend', 'user'] }]);
    assert.deepEqual(parameters.slice(2), [{ name: 'toy', in: 'path', required: true, description: 'Which one.', schema: { type: 'string' } }]);
    assert.deepEqual(get.parameters, [{ name: 'colour', in: 'query', description: 'Its colour, if any.', schema: { type: 'string' } }]);
    assert.deepEqual(Object.keys(get.responses), ['200', '400', '401', '403', '404', '413', '414', '415', '429', '431', '500', '503']);
    assert.deepEqual(get.responses[200].headers, { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } });
    assert.deepEqual(get.responses[200].content, { 'application/json': { schema: { $ref: '#/components/schemas/Toy' } } });
    assert.deepEqual(get.responses[404], { $ref: '#/components/responses/NotFound' });
  });

  it('without roles has no credentials, and no problems of accounts', () => {
    const { get } = made(ROW.replace('[frontend, user]', 'none') + SCHEMA).paths['/api/toys/{toy}'];
    assert.deepEqual(get.security, []);
    assert.deepEqual(Object.keys(get.responses), ['200', '400', '404', '413', '414', '415', '431', '500']);
  });

  it('becomes a row of C for each spelling, and a prototype', () => {
    const row = ROW.replace('  summary', '  flags: [is_held]\n  body_max_bytes: TOY_BYTES\n  also_paths: [/toys/{toy}]\n  summary');
    const file = made(`include: [services/toys/toys.h]\n${row}${SCHEMA}`, 'generated');
    assert.match(file('routes_toys.h'), /^handler toys_show;$/m);
    const c = file('routes_toys.c');
    assert.match(c, /^#include "services\/toys\/toys\.h"$/m);
    for (const path of ['/api/toys/{toy}', '/toys/{toy}'])
      assert.ok(c.includes(`#line 2 "services/toys/routes.yaml"\n    {"GET", "${path}", 1u << ROLE_FRONTEND | 1u << ROLE_USER, toys_show, .is_held = true,\n#line 8 "services/toys/routes.yaml"\n    .body_max_bytes = TOY_BYTES},\n`), c);
  });

  it('with an Idempotency-Key has its parameter and its problem', () => {
    const { get } = made(ROW.replace('  summary', '  flags: [takes_key]\n  summary') + SCHEMA).paths['/api/toys/{toy}'];
    assert.deepEqual(get.parameters[0], { $ref: '#/components/parameters/IdempotencyKey' });
    assert.deepEqual(get.responses[422], { $ref: '#/components/responses/IdempotencyMismatch' });
  });

  it('takes from `usual` what it does not say itself', () => {
    const usual = 'usual:\n  tag: probes\n  roles: [operator]\n\n';
    const other = ROW.replaceAll('{toy}', 'all').replace('showToy', 'showToys').replace(/ {4}- \{name: toy.*\n/, '').replace(/ {2}tag.*\n {2}roles.*\n/, '');
    const [one, two] = made(`${usual}${ROW}\n${other}${SCHEMA}`, '--json');
    assert.deepEqual([one.roles, two.roles], [['frontend', 'user'], ['operator']]);
  });

  it('of a service whose problems have more members names the problems with them', () => {
    const { paths, components } = made(`usual:\n  problems: Documents\n\n${ROW}${SCHEMA}`);
    assert.deepEqual(paths['/api/toys/{toy}'].get.responses[404], { $ref: '#/components/responses/DocumentsNotFound' });
    assert.deepEqual(components.responses.DocumentsNotFound.content['application/problem+json'].schema.allOf[0], { $ref: '#/components/schemas/DocumentsProblem' });
  });

  it('puts its service into /health', () => {
    const { Health } = made(`health: [toys]\n${ROW}${SCHEMA}`).components.schemas;
    assert.deepEqual(Health.properties.dependencies.properties.toys, { $ref: '#/components/schemas/Dependency' });
  });
});

describe('a mistake in a row is refused with its place and what to do', () => {
  const refused = (name, from, to, expected, files = {}) =>
    it(name, () => {
      const text = ROW + SCHEMA;
      assert.ok(text.includes(from), from);
      const { status, stderr } = generate(treeOf({ 'services/toys/routes.yaml': text.replace(from, to), ...files }), '--json');
      assert.equal(status, 1);
      assert.ok(stderr.split('\n').includes(`services/toys/routes.yaml:${expected}`), stderr);
    });

  refused('an unknown key', 'handler:', 'handlers:', "2: there is no key 'handlers': 'handler'?");
  refused('a key twice', '  summary', '  roles: all\n  summary', '6: roles is in line 5 already');
  refused('a row without roles', '  roles: [frontend, user]\n', '', '1: it has no roles');
  refused('an unknown role', 'user]', 'users]', "5: there is no role 'users': 'user'?");
  refused('no role', '[frontend, user]', '[]', "5: which roles? As in 'roles: [frontend, user]', 'roles: all', or 'roles: none' for everybody");
  refused('an unknown tag', 'tag: pages', 'tag: page', "4: there is no tag 'page': 'pages'?");
  refused('an unknown flag', '  summary', '  flags: [is_hold]\n  summary', "6: there is no flag 'is_hold': 'is_held'?");
  refused('a handler that is nowhere', 'toys_show', 'toy_show', "2: there is no function 'toy_show': 'toys_show'? Write 'void toy_show(struct request *r)' below services/toys");
  refused('a route twice', '\nschemas:', `\n${ROW.replace('showToy', 'showOther')}\nschemas:`, '13: GET /api/toys/{toy} is in services/toys/routes.yaml:1 already');
  refused('an operationId twice', '\nschemas:', `\n${ROW.replaceAll('{toy}', '{toy}/more')}\nschemas:`, '13: operationId showToy is in services/toys/routes.yaml:1 already');
  refused('a path with other parameters', '\nschemas:', `\n${ROW.replace('showToy', 'other').replace('{toy}', '{id}').replace('name: toy', 'name: id').replace('GET', 'PUT')}\nschemas:`, '13: its path is that of services/toys/routes.yaml:1, whose parameters in braces differ');
  refused('a method that is none', 'GET', 'FETCH', "1: 'FETCH /api/toys/{toy}' is not as in 'GET /api/things/{id}', and no section: include, health, usual, securitySchemes, parameters, headers, responses, problems, schemas");
  refused('an unknown problem', 'NotFound', 'NotFond', "11: there is no response 'NotFond': 'NotFound'?");
  refused('a problem of another status', '404: NotFound', '409: NotFound', '11: the codes of NotFound are of status 404, not 409');
  refused('an unknown schema', '$Toy}', '$Toi}', "10: there is no schema 'Toi': 'Toy'?");
  refused('an unknown header', 'json:', 'headers: [Lnk], json:', "10: there is no header 'Lnk': 'Link'?");
  refused('a parameter of the path that is not described', 'name: toy', 'name: tow', '1: {toy} is none of its parameters');
  refused('an unknown shared parameter', '    - {name: colour', '    - OnBehalfOff\n    - {name: colour', "9: there is no parameter 'OnBehalfOff': 'OnBehalfOf'? One of its own begins with 'name:'");
  refused('no success', '  200: {description: The toy., json: $Toy}\n', '', '1: it has no response that says how it succeeds, such as 200');
  refused('a response without a description', 'description: The toy., ', '', '10: a response has a description');
  refused('braces that do not close', 'json: $Toy}', 'json: $Toy', "10: this is not as in '{key: value, key: value}'; a text with a comma is in quotes");
  refused('spaces that are missing', '  handler', ' handler', "2: 'handler: toys_show' is not as in 'key: value', 2 spaces in");
  refused('an unknown code', '\nschemas:', '\nproblems:\n  Broken: {codes: [brokn], description: It is broken.}\n\nschemas:', "14: there is no code 'brokn'");
  refused('codes of two statuses', '\nschemas:', '\nproblems:\n  Broken: {codes: [not_found, conflict], description: It is broken.}\n\nschemas:', '14: codes of several statuses: not_found is 404, conflict is 409');
  refused('a service without a row', '', '', '1: services/node/table.c has no ROW(toys)', { 'services/node/table.c': '' });
});

describe('the routes of the program', () => {
  const sources = readdirSync(join(ROOT, 'services'), { recursive: true }).filter((name) => name.endsWith('.c')).map((name) => readFileSync(join(ROOT, 'services', name), 'utf8'));

  it('are served: each service names its table, and no table is written by hand', () => {
    const named = sources.flatMap((text) => [...text.matchAll(/^ {4}\.routes = (\w+),$/gm)].map(([, table]) => table));
    const tables = new Set(allRoutes().map(({ service }) => `${service}_routes`));
    assert.deepEqual(new Set([...named, 'node_routes']), tables);
    for (const text of sources) assert.doesNotMatch(text, /struct route \w+\[/);
  });
});
