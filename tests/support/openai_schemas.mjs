// SPDX-License-Identifier: MIT
//
// openai_schemas: holds answers and events of /v1 to OpenAI's specification (openai/openapi.json beside this: only the paths that
// Parley serves and what they refer to, without prose; MIT).
//
//   fits('ListModelsResponse', value)     returns the value; throws when it is not of that schema
//   fitsAnswer({method, path}, status, value)   the same for an answer of that route
//   fitsEvent(request, value)              the same for an event of its stream, which is a chunk or an error
//
// Without the packages that it takes from npm nothing is held to anything.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

function readSpecification() {
  const specification = JSON.parse(readFileSync(new URL('openai/openapi.json', import.meta.url)), (_, node) => {
    if (!node?.nullable) return node; // OpenAPI 3.0's word, beside 3.1's
    const { nullable, ...rest } = node;
    return { anyOf: [rest, { type: 'null' }] };
  });
  const { schemas } = specification.components;
  // OpenAI streams completions as such answers whose choices have not ended yet, which its specification does not say.
  schemas.StreamedCompletion = structuredClone(schemas.CreateCompletionResponse);
  const { properties } = schemas.StreamedCompletion;
  properties.usage = { anyOf: [properties.usage, { type: 'null' }] };
  properties.choices.items.properties.finish_reason = { enum: [...properties.choices.items.properties.finish_reason.enum, null] };
  // Nor that embeddings are texts where base64 was asked for.
  schemas.Embedding.properties.embedding = { anyOf: [schemas.Embedding.properties.embedding, { type: 'string', pattern: '^[A-Za-z0-9+/]+=*$' }] };
  // It lists messages of users, whose role its schema does not know.
  const message = schemas.ChatCompletionMessageList.properties.data.items.allOf;
  message[0] = structuredClone(schemas.ChatCompletionResponseMessage);
  message[0].properties.role = { type: 'string' };
  return specification;
}

let ajv;
function validatorOf(schema) {
  if (!ajv) {
    const Ajv = require('ajv/dist/2020').default;
    ajv = new Ajv({ strict: false, validateSchema: false, validateFormats: false });
    ajv.addSchema(readSpecification(), 'openai');
  }
  return ajv.getSchema(`openai#/components/schemas/${schema}`);
}

export function fits(schema, value) {
  const validate = validatorOf(schema);
  assert.ok(validate(value), `${schema}: ${ajv.errorsText(validate.errors)}: ${JSON.stringify(value).slice(0, 600)}`);
  return value;
}

// By the method and the path without its folder.
const ROUTES = [
  [/^[A-Z]+ \/models\/?$/, 'ListModelsResponse'],
  [/^[A-Z]+ \/models\/./, 'Model'],
  [/^GET \/chat\/completions\/?$/, 'ChatCompletionList'],
  [/^DELETE \/chat\/completions\/[^/]+\/?$/, 'ChatCompletionDeleted'],
  [/^[A-Z]+ \/chat\/completions\/[^/]+\/?$/, 'CreateChatCompletionResponse'],
  [/^[A-Z]+ \/chat\/completions\/[^/]+\/messages\/?$/, 'ChatCompletionMessageList'],
  [/^POST \/chat\/completions\/?$/, 'CreateChatCompletionResponse', 'CreateChatCompletionStreamResponse'],
  [/^[A-Z]+ \/completions\/?$/, 'CreateCompletionResponse', 'StreamedCompletion'],
  [/^POST \/responses\/?$/, 'Response', 'ResponseStreamEvent'],
  [/^POST \/responses\/input_tokens\/?$/, 'TokenCountsResource'],
  [/^GET \/responses\/[^/]+\/input_items\/?$/, 'ResponseItemList'],
  [/^DELETE \/responses\/[^/]+\/?$/, null], // has no body there
  [/^[A-Z]+ \/responses\/[^/]+(\/cancel)?\/?$/, 'Response', 'ResponseStreamEvent'],
  [/^[A-Z]+ \/embeddings\/?$/, 'CreateEmbeddingResponse'],
  [/^GET \/batches\/?$/, 'ListBatchesResponse'],
  [/^[A-Z]+ \/batches(\/[^/]+(\/cancel)?)?\/?$/, 'Batch'],
  [/^GET \/files\/?$/, 'ListFilesResponse'],
  [/^DELETE \/files\/[^/]+\/?$/, 'DeleteFileResponse'],
  [/^[A-Z]+ \/files(\/[^/]+)?\/?$/, 'OpenAIFile'],
];

function routeOf({ method = 'POST', path }) {
  const rest = `${method} ${path.split('?')[0].replace(/^(\/openai)?\/v1/, '')}`;
  const found = ROUTES.find(([pattern]) => pattern.test(rest));
  assert.ok(found, `${path}: no schema of OpenAI's is known for it`);
  return found;
}

export function fitsAnswer(request, status, value) {
  const schema = status >= 400 ? 'ErrorResponse' : routeOf(request)[1];
  return schema ? fits(schema, value) : value;
}

export function fitsEvent(request, value) {
  return fits('error' in value ? 'ErrorResponse' : routeOf(request)[2], value);
}
