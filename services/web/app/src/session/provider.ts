// SPDX-License-Identifier: MIT
//
// provider: signing in with an OpenID provider. The node does the code flow. This page only makes a proof and keeps it in the tab, so
// that what comes back signs in nobody but the one who began here.
import { sha256 } from '@noble/hashes/sha2';
import { utf8ToBytes } from '@noble/hashes/utils';
import { addressOf, Problem, rootPath, send } from '../api/request';

const KEY = `parley.proof ${rootPath}`;
const PROOF_BYTES = 32;

/** What is kept while the provider's page is shown. `back`: the fragment where one was. */
interface Kept {
  proof: string;
  back: string;
}
/** The name of the provider; null: there is none. */
export async function findProvider(): Promise<string | null> {
  const { provider } = await (await send('GET', '')).json();
  return typeof provider === 'string' ? provider : null;
}

const base64url = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');

export function goToProvider(): void {
  const proof = base64url(crypto.getRandomValues(new Uint8Array(PROOF_BYTES)));
  sessionStorage.setItem(KEY, JSON.stringify({ proof, back: location.hash } satisfies Kept));
  location.assign(`${addressOf('auth/login')}?challenge=${base64url(sha256(utf8ToBytes(proof)))}`);
}

let kept: Kept | null = null;

/** One is back. Returns the fragment where one was, and keeps the proof for one attempt. */
export function comeBack(): string {
  kept = JSON.parse(sessionStorage.getItem(KEY) ?? 'null') as Kept | null;
  sessionStorage.removeItem(KEY);
  return kept?.back ?? '';
}

/** The answer of the node that signs in. Throws Problem 401 if this tab did not begin. */
export function exchange(code: string): Promise<Response> {
  if (!kept) throw new Problem(401, 'unauthorized', '', 0);
  return send('POST', 'api/login', { body: { code, proof: kept.proof } });
}
