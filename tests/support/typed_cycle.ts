// SPDX-License-Identifier: MIT
//
// typed_cycle: a question and its answer through a client with types, as somebody would write it who has nothing but the
// /openapi.yaml of a node. tests/http/typed_client.test.mjs makes ./schema.d.ts from that, compiles this file and runs it.
import createClient, { type Middleware } from 'openapi-fetch';
import type { components, paths } from './schema.js';

type Schemas = components['schemas'];
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Equal<A, B>): void => {};

// The parameters that sign a request: User, Nonce and Hash.
export type Sign = (account: string) => Record<string, string>;

function clientOf(baseUrl: string, account: string, sign: Sign) {
  const signing: Middleware = {
    onRequest({ request }) {
      const url = new URL(request.url);
      for (const [name, value] of Object.entries(sign(account))) url.searchParams.set(name, value);
      return new Request(url, request);
    },
  };
  const client = createClient<paths>({ baseUrl });
  client.use(signing);
  return client;
}

// What was answered, or an exception with the problem's code.
function take<T>({ data, error }: { data?: T; error?: { code: string; detail: string } }): T {
  if (error) throw new Error(`${error.code}: ${error.detail}`);
  if (data === undefined) throw new Error('an answer without a body');
  return data;
}

export async function cycle(baseUrl: string, sign: Sign, Topic: string) {
  const frontend = clientOf(baseUrl, 'Frontend_1', sign);
  const engine = clientOf(baseUrl, 'Inference_1', sign);

  const body = { Topic, User: 'alice', Query: 'What is the meaning of life?', Modifiers: { Tone: 'dry' } };
  const { Seq } = take(await frontend.POST('/api/add-query', { body }));

  const claim = take(await engine.GET('/api/get-new-queries', { params: { query: { Wait: 30, Detail: true } } }));
  const [number, Query] = Object.entries(claim.Queries?.[0] ?? {})[0] ?? [];
  if (claim.Topic === null || typeof Query !== 'string') throw new Error('there is no work');
  const answer: Schemas['NewAnswer'] = { Topic: claim.Topic, Seq: Number(number), Query, Think: ['Hm.'], Answer: ['42'], Lease: claim.Lease ?? null };
  const answered = take(await engine.POST('/api/give-new-answer', { body: answer }));
  if (!('Status' in answered)) throw new Error('it was taken for a release');

  const checked = take(await frontend.GET('/api/check-query', { params: { query: { Topic, Seq, Wait: 30 } } }));
  const missing = await frontend.GET('/api/check-query', { params: { query: { Topic, Seq: 99 } } });
  const front = take(await frontend.GET('/'));

  // One type each, which holds for the compiler alone.
  // Usage is left out: openapi-fetch writes an object with further members in another way.
  same<Omit<typeof checked, 'Usage'>, Omit<Schemas['Query'], 'Usage'>>(true);
  same<typeof checked.Answer, string[] | null>(true);
  same<typeof claim, Schemas['Claim']>(true);
  same<typeof answered, Schemas['Answered']>(true);
  same<typeof front, Schemas['Front']>(true);
  return { Seq, claim, answered, checked, code: missing.error?.code, status: missing.response.status, front };
}

// What must not compile.
export async function mistakes(baseUrl: string): Promise<void> {
  const client = createClient<paths>({ baseUrl });
  // @ts-expect-error: a path that is no route
  await client.GET('/api/check-querry', {});
  // @ts-expect-error: Seq is missing
  await client.GET('/api/check-query', { params: { query: { Topic: 't' } } });
  // @ts-expect-error: Query is missing
  await client.POST('/api/add-query', { body: { Topic: 't', User: 'alice' } });
  // @ts-expect-error: an answer is a text or a list of them
  await client.POST('/api/give-new-answer', { body: { Topic: 't', Seq: 1, Query: 'Why?', Answer: 42 } });
}
