// SPDX-License-Identifier: MIT
//
// models: those to choose from: what engines serve now, and what this account has used.
import { signal } from '@preact/signals';
import { call } from '../session/session';

interface Row {
  id: string;
  apis: string[];
}

export const models = signal<string[]>([]);

const isOwn = (id: string) => id.startsWith('parley/'); // answered by a service of the node, only at /v1

export function noteModels(names: readonly string[]): void {
  const known = new Set(models.value);
  const fresh = names.filter((name) => name && name !== 'default' && !known.has(name));
  if (fresh.length > 0) models.value = [...new Set([...models.value, ...fresh])].sort();
}

/** Without an answer the list stays as it is: a node may not have that route, and any model can be named by hand. */
export async function loadModels(): Promise<void> {
  try {
    const { data } = (await (await call('GET', 'v1/models')).json()) as { data: Row[] };
    noteModels(data.filter(({ id, apis }) => !isOwn(id) && apis.includes('chat')).map(({ id }) => id));
  } catch {
    // as above
  }
}
