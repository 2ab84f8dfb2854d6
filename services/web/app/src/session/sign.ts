// SPDX-License-Identifier: MIT
//
// sign: proves that one knows an account's secret, without sending it. SHA-256 is bundled, because browsers have crypto.subtle
// only in pages that came over TLS.
import { sha256 } from '@noble/hashes/sha2';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils';

const NONCE_BYTES = 16;

/** The query parameters of one signed request. */
export function signed(user: string, secret: string): Record<string, string> {
  const nonce = bytesToHex(crypto.getRandomValues(new Uint8Array(NONCE_BYTES)));
  return { User: user, Nonce: nonce, Hash: bytesToHex(sha256(utf8ToBytes(`${user} ${nonce} ${secret}`))) };
}
