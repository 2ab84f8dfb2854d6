// SPDX-License-Identifier: MIT
//
// acl: the rights that docs/operations/secure.md gives Parley's own user of Redis, word by word.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const text = readFileSync(fileURLToPath(new URL('../../docs/operations/secure.md', import.meta.url)), 'utf8');
const block = (begin) => {
  const found = new RegExp(`\`\`\`\\n(ACL SETUSER parley ${begin}[^\`]*)\`\`\``).exec(text);
  if (!found) throw new Error(`docs/operations/secure.md has no "ACL SETUSER parley ${begin}" any more`);
  return found[1].trim().split(/\s+/).slice(3);
};

// Without `on` and the password.
export const ACL = block('on >PASSWORD').slice(2);
// What a Redis with vector sets (8) needs in addition.
export const ACL_VECTORS = block('\\+vadd');

// Gives the user `name` these rights on a server of startRedis.
export async function addUser(redis, name, password, more = []) {
  await redis.cmd('ACL', 'SETUSER', name, 'on', `>${password}`, ...ACL, ...more);
  const info = await redis.cmd('COMMAND', 'INFO', 'VADD');
  if (info[0]) await redis.cmd('ACL', 'SETUSER', name, ...ACL_VECTORS);
}
