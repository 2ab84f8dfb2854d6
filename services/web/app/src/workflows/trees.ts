// SPDX-License-Identifier: MIT
//
// trees: the trees of the node's workflows, and where in the drawing of a tree each agent is.
import { signal } from '@preact/signals';
import { call } from '../session/session';

export type Kind = 'model' | 'sql' | 'chat' | 'http';

export interface Agent {
  kind: Kind;
  yes: string | null;
  no: string | null;
  /** Who follows when nobody answers in time. */
  timeout?: string;
  description?: string;
}

export type Tree = Record<string, Agent>;

interface Workflows {
  workflows: Record<string, Tree>;
  roots: Record<string, string>;
}

/** null: not loaded yet. */
export const trees = signal<Workflows | null>(null);

export async function loadTrees(): Promise<void> {
  trees.value ??= (await (await call('GET', 'api/workflows')).json()) as Workflows;
}

export interface Place {
  column: number;
  row: number;
}

const isPerson = (tree: Tree, name: string) => tree[name]?.kind === 'chat';
/** The agents that may follow. A person is not one: each agent that may ask one is drawn with a sign of its own. */
const nextOf = (tree: Tree, name: string) => [tree[name]?.yes, tree[name]?.no, tree[name]?.timeout].filter((next): next is string => !!next && next in tree && !isPerson(tree, next));

/** The row of an agent is below those of all agents that lead to it. A tree has no circles, except where a person may send it back. */
function rowsOf(tree: Tree, root: string): Map<string, number> {
  const rows = new Map<string, number>();
  const put = (name: string, row: number, path: Set<string>) => {
    if (path.has(name) || (rows.get(name) ?? -1) >= row) return;
    rows.set(name, row);
    path.add(name);
    nextOf(tree, name).forEach((next) => put(next, row + 1, path));
    path.delete(name);
  };
  put(root, 0, new Set());
  return rows;
}

/** Each agent's place: a chain of yes is a column, what a no leads to begins another one beside it. */
export function placesOf(tree: Tree, root: string): Map<string, Place> {
  const rows = rowsOf(tree, root);
  const places = new Map<string, Place>();
  let columns = 0;
  const put = (name: string, column: number) => {
    if (places.has(name)) return;
    places.set(name, { column, row: rows.get(name)! });
    const { yes } = tree[name]!;
    for (const next of nextOf(tree, name)) if (!places.has(next)) put(next, next === yes ? column : ++columns);
  };
  if (root in tree) put(root, 0);
  return places;
}
