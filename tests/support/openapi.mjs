// SPDX-License-Identifier: MIT
//
// openapi: holds what a node answers to /openapi.yaml. The clients of http.mjs and websocket.mjs show it every
// answer; what does not fit fails the request, and the test it belongs to.
//
//   loadOpenapi()                             the description, parsed
//   assertResponse({method, path, body}, {status, headers, text})
//   noteResponse(request, response)           the same, without throwing: see assertAllFitted
//   eventCheck(request, response)             a function for each event of a stream; it notes what does not fit
//   messageCheck(path)                        the same for each message of a WebSocket
//   assertAllFitted()                         throws the first of what was noted, or of what a test has swallowed
//   prepareOpenapi()                          reads the description now, so that no later call stops this process for seconds: relays
//                                             between nodes and Redis run in it
//
// An answer fits when its operation lists its status, with that content type (in `content`, or in `x-alternatives`), its body
// and headers are as stated, and it has no member that is not stated. On the routes of OpenAI's interface, answers and events are
// of OpenAI's schemas as well (openai_schemas.mjs). A request that was answered with 2xx must be one that the file allows.
// Without the packages that it takes from npm nothing is held to anything: tests/http/openapi.test.mjs fails then.
import { AssertionError } from 'node:assert/strict';
import { createRequire } from 'node:module';
import { kept } from './kept.mjs';
import { fitsAnswer, fitsEvent } from './openai_schemas.mjs';
import { openapiText } from './routes.mjs';

const JSON_TYPE = 'application/json';
const PROBLEM_TYPE = 'application/problem+json';
const SHOWN = 600;

const require = createRequire(import.meta.url);

// YAML takes its time.
export function loadOpenapi() {
  const text = openapiText();
  return JSON.parse(kept('openapi', [text], () => JSON.stringify(require('yaml').parse(text))));
}

// --- places in the document ------------------------------------------------------------------------

const escape = (key) => String(key).replace(/~/g, '~0').replace(/\//g, '~1');
const unescape = (key) => key.replace(/~1/g, '/').replace(/~0/g, '~');

// A node of the document and the pointer to it, '#/paths/…'. Its children are looked up through references.
class Place {
  constructor(document, pointer, node) {
    Object.assign(this, { document, pointer, node });
  }

  get(...keys) {
    let place = this;
    for (const key of keys) {
      if (place.node?.[key] === undefined) return undefined;
      place = new Place(this.document, `${place.pointer}/${escape(key)}`, place.node[key]).followed();
    }
    return place;
  }

  followed() {
    const { $ref } = this.node ?? {};
    if (!$ref || Object.keys(this.node).length > 1) return this;
    const keys = $ref.split('/').slice(1).map(unescape);
    return new Place(this.document, '#', this.document).get(...keys);
  }

  keys() {
    return Object.keys(this.node);
  }

  all() {
    return this.keys().map((key) => this.get(key));
  }
}

// Answers have no member that is not stated; readers of the file must not rely on that, so it does not say so.
function closeAnswers(document) {
  const seen = new Set();
  const close = (node, isPart) => {
    if (node === null || typeof node !== 'object' || seen.has(node)) return;
    seen.add(node);
    if (node.$ref) close(node.$ref.split('/').slice(1).reduce((at, key) => at[unescape(key)], document), false);
    if (node.properties && !isPart && node.additionalProperties === undefined) node.unevaluatedProperties = false;
    for (const [key, value] of Object.entries(node)) {
      for (const one of Array.isArray(value) ? value : [value]) close(one, key === 'allOf');
    }
  };
  close(document.components.responses, false);
  for (const methods of Object.values(document.paths)) for (const { responses } of Object.values(methods)) close(responses, false);
}

function patternOf(path) {
  return new RegExp(`^${path.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{\w+\}/g, '[^/]+')}$`);
}

const isBelowDoor = (path) => /^(\/openai)?\/v1(\/|$|\?)/.test(path);

// Whose answers have Anthropic's form.
const isOfMessages = ({ path, headers = {} }) => /^(\/openai)?\/v1\/messages(?![^/?])/.test(path) || 'anthropic-version' in headers;

// Where a node runs that service, its errors below these paths are OpenAI's.
function isOfDoor({ path }, headers) {
  return isBelowDoor(path) && headers['content-type'] === JSON_TYPE;
}

// --- the checks ------------------------------------------------------------------------------------

function fail(request, status, what, shown) {
  const message = `openapi.yaml and the program differ: ${request.method} ${request.path.split('?')[0]}: ${status}: ${what}`;
  throw new AssertionError({ message: `${message}\n${String(shown).slice(0, SHOWN)}` });
}

function acceptOf(request) {
  return Object.entries(request.headers ?? {}).find(([name]) => name.toLowerCase() === 'accept')?.[1] ?? '';
}

class Checker {
  #validators = new Map();

  constructor(Ajv, document) {
    closeAnswers(document);
    this.ajv = new Ajv({ strict: false, validateSchema: false, validateFormats: false });
    this.ajv.addSchema(document, 'openapi');
    this.root = new Place(document, '#', document);
    this.aliases = new Map(Object.entries(document.paths).flatMap(([path, item]) => (item['x-also-paths'] ?? []).map((also) => [also, path])));
    this.patterns = Object.entries(document.paths)
      .flatMap(([path, item]) => [path, ...(item['x-also-paths'] ?? [])].map((spelt) => [spelt, path]))
      .filter(([spelt]) => spelt.includes('{'))
      .map(([spelt, path]) => [patternOf(spelt), path]);
  }

  // What is wrong with a value; undefined: it fits the schema of that place.
  faultOf(place, value) {
    let validate = this.#validators.get(place.pointer);
    if (!validate) {
      validate = this.ajv.compile({ $ref: `openapi${place.pointer}` });
      this.#validators.set(place.pointer, validate);
    }
    return validate(value) ? undefined : this.ajv.errorsText(validate.errors, { dataVar: '' });
  }

  // {item, operation}: the path item and the operation that a request names, as far as they are there.
  find({ method, path }) {
    const plain = path.replace(/^https?:\/\/[^/?]*/i, '').split('?')[0];
    const name = this.root.node.paths[plain] ? plain : (this.aliases.get(plain) ?? this.patterns.find(([pattern]) => pattern.test(plain))?.[1]);
    const item = name === undefined ? undefined : this.root.get('paths', name);
    const also = item?.all().find(({ node }) => node['x-also-methods']?.includes(method));
    const head = method === 'HEAD' ? item?.get('get') : undefined; // takes HEAD, too
    return { item, operation: item?.get(method.toLowerCase()) ?? also ?? head };
  }

  // Where the answer is described; undefined: it may be as it is.
  describe(request, { status, headers, text }) {
    const { item, operation } = this.find(request);
    // libh2o refuses what is no HTTP by itself.
    if (status === 400 && headers['x-request-id'] === undefined && /^text\/plain/.test(headers['content-type'] ?? '')) return undefined;
    if (item && !operation && request.method === 'OPTIONS' && status === 204) return undefined;
    const usual = (name) => this.root.get('components', 'responses', isOfDoor(request, headers) ? `${isOfMessages(request) ? 'Anthropic' : 'Openai'}${name}` : name);
    // A node that does not run that service has none of its routes.
    if (status === 404 && (!operation || text?.includes('"no_route"'))) return usual('NoRoute');
    if (item && (!operation || request.method === 'HEAD') && status === 405) return usual('MethodNotAllowed');
    const any = { 400: 'BadRequest', 414: 'UriTooLong', 431: 'HeadersTooLarge' }[status];
    const found = operation ? operation.get('responses', String(status)) : any && usual(any);
    return found ?? fail(request, status, 'this status is not listed', text ?? '');
  }

  checkHeaders(request, { status, headers }, described) {
    for (const name of described.get('headers')?.keys() ?? []) {
      const header = described.get('headers', name);
      const value = headers[name.toLowerCase()];
      if (value === undefined && header.node.required) fail(request, status, `the header ${name} is missing`, JSON.stringify(headers));
      if (value === undefined) continue;
      const fault = this.faultOf(header.get('schema'), header.get('schema').node.type === 'integer' ? Number(value) : value);
      if (fault) fail(request, status, `the header ${name}: ${fault}`, value);
    }
  }

  checkResponse(request, response) {
    const { status, headers, text } = response;
    const described = this.describe(request, response);
    if (!described) return;
    this.checkHeaders(request, response, described);
    const type = (headers['content-type'] ?? '').split(';')[0];
    const content = described.get('content');
    // Errors are pages for requests that prefer one, on every route.
    if (status >= 400 && type === 'text/html' && /text\/html/i.test(acceptOf(request))) return;
    if (!content) {
      if (text) fail(request, status, 'a body where none is stated', text);
      return;
    }
    const media = content.get(type) ?? described.get('x-alternatives', type);
    if (!media) fail(request, status, `the content type ${type || '(none)'} is not listed`, text);
    if (request.method === 'HEAD' || text === undefined) return;
    const fault = this.faultOf(media.get('schema'), type === JSON_TYPE || type === PROBLEM_TYPE ? JSON.parse(text) : text);
    if (fault) fail(request, status, fault, text);
    if (isOfDoor(request, headers) && !isOfMessages(request)) fitsAnswer(request, status, JSON.parse(text));
    if (status < 300) this.checkRequest(request, status);
  }

  // A request that was answered well is one that the file allows.
  checkRequest(request, status) {
    const { item, operation } = this.find(request);
    if (!operation) return;
    const type = Object.entries(request.headers ?? {}).find(([name]) => name.toLowerCase() === 'content-type')?.[1];
    const schema = type === 'application/x-www-form-urlencoded' ? undefined : operation.get('requestBody', 'content', JSON_TYPE, 'schema');
    const fault = schema && this.faultOf(schema, JSON.parse(String(request.body)));
    if (fault) fail(request, status, `it was answered, but its body is not allowed: ${fault}`, request.body);
    const given = new Map();
    for (const pair of (request.path.split('?')[1] ?? '').split('&')) {
      const [name, value = ''] = pair.split('=');
      if (!given.has(name)) given.set(name, value);
    }
    const parameters = [...(item.get('parameters')?.all() ?? []), ...(operation.get('parameters')?.all() ?? [])];
    for (const { node, pointer, document } of parameters) {
      const text = node.in === 'query' ? given.get(node.name) : undefined;
      // Where the file has no body, what a body says may stand for what is required.
      if (text === undefined && node.in === 'query' && node.required && (schema || request.body === undefined))
        fail(request, status, `it was answered without the parameter ${node.name}`, request.path);
      if (text === undefined || node.schema.type === 'boolean') continue;
      const value = decodeURIComponent(text);
      const wrong = this.faultOf(new Place(document, `${pointer}/schema`, node.schema), node.schema.type === 'integer' ? Number(value) : value);
      if (wrong) fail(request, status, `it was answered, but its ${node.name} is not allowed: ${wrong}`, value);
    }
  }

  eventCheck(request, { status, headers }) {
    const described = this.describe(request, { status, headers });
    const media = described?.get('x-alternatives', 'text/event-stream') ?? described?.get('content', 'text/event-stream');
    const events = media?.get('x-events');
    return ({ event, data }) => {
      const schema = events?.get(event);
      if (!schema) fail(request, status, `the event ${event} is not listed`, JSON.stringify(data));
      const fault = this.faultOf(schema, data);
      if (fault) fail(request, status, `the event ${event}: ${fault}`, JSON.stringify(data));
      if (isBelowDoor(request.path) && !isOfMessages(request)) fitsEvent(request, data);
    };
  }

  messageCheck(path) {
    const request = { method: 'GET', path };
    const messages = this.find(request).operation?.get('responses', '101', 'x-messages')?.all();
    return (message) => {
      const faults = (messages ?? []).map((schema) => this.faultOf(schema, message));
      if (faults.every((fault) => fault !== undefined)) fail(request, 101, `the message: ${faults.join('; or ')}`, JSON.stringify(message));
    };
  }
}

let checker;
const failures = [];

function getChecker() {
  if (checker === undefined) {
    try {
      checker = new Checker(require('ajv/dist/2020').default, loadOpenapi());
    } catch (error) {
      if (error.code !== 'MODULE_NOT_FOUND') throw error;
      checker = null;
    }
  }
  return checker;
}

export function prepareOpenapi() {
  getChecker();
}

// Keeps what it throws: a test may take an exception for a request that failed, and continue; and what comes by itself,
// an event or a message, has no caller.
function note(check) {
  try {
    check();
  } catch (error) {
    failures.push(error);
    return error;
  }
  return undefined;
}

export function noteResponse(request, response) {
  return note(() => getChecker()?.checkResponse(request, response));
}

export function assertResponse(request, response) {
  const failure = noteResponse(request, response);
  if (failure) throw failure;
}

export function eventCheck(request, response) {
  let check = () => {};
  note(() => (check = getChecker()?.eventCheck(request, response) ?? check));
  return (event) => void note(() => check(event));
}

export function messageCheck(path) {
  const check = getChecker()?.messageCheck(path) ?? (() => {});
  return (message) => void note(() => check(message));
}

export function assertAllFitted() {
  const [first] = failures.splice(0);
  if (first) throw first;
}
