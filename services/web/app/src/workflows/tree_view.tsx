// SPDX-License-Identifier: MIT
//
// tree_view: the tree of a workflow, with the way that a run has taken. A screen reader gets the way as one sentence: the steps are
// listed beside it.
import type { ComponentChildren } from 'preact';
import { t } from '../texts';
import type { Step } from './run';
import { placesOf, type Place, type Tree } from './trees';

const BOX = { width: 172, height: 50 };
const GAP = { x: 92, y: 34 };
/** Lines that pass agents by run in the left one. */
const EDGE = { x: 30, y: 12 };
const NAME_MAX = 20;
/** A tree that does not fit is drawn smaller, but no smaller than this: then one scrolls. */
const READABLE = 0.72;
const PERSON = { x: BOX.width + 46, r: 15 };

type Look = 'yes' | 'no' | 'current' | '';

interface Way {
  /** Of agents, and of `agent yes`, `agent no` for the lines from it. */
  looks: Map<string, Look>;
  /** The agent that waits for a person. */
  waits: string | undefined;
  hasEnded: boolean;
}

export const shortOf = (agent: string) => agent.replace(/^(model|tool)\./, '');

/** The way of a run, by its steps. */
function wayOf(steps: Step[], tree: Tree): Way {
  const looks = new Map<string, Look>();
  steps.forEach((step, i) => {
    const { agent, decision } = step;
    const next = steps[i + 1]?.agent ?? (step.hitl ? undefined : step.nextAgent);
    looks.set(agent, decision);
    if (step.hitl || decision === 'no') looks.set(`${agent} no`, 'no');
    if (decision === 'yes' || (next && next !== agent && next === tree[agent]?.yes)) looks.set(`${agent} yes`, 'yes');
    if (step.hitl && next === tree[agent]?.yes) looks.set(agent, 'yes');
  });
  const last = steps.at(-1);
  if (last?.nextAgent && !last.hitl) looks.set(last.nextAgent, 'current');
  return { looks, waits: last?.hitl && last.agent, hasEnded: last?.nextAgent === null && last.returnCode === 1 };
}

const xOf = ({ column }: Place) => EDGE.x + column * (BOX.width + GAP.x);
const yOf = ({ row }: Place) => EDGE.y + row * (BOX.height + GAP.y);

function Line({ d, look, isDashed = false }: { d: string; look: Look; isDashed?: boolean }) {
  return <path class={`line ${look && `is-${look}`} ${isDashed ? 'is-dashed' : ''}`} d={d} />;
}

/** From one agent down to another one. */
function down(from: Place, to: Place, places: Map<string, Place>): string {
  const [x, y] = [xOf(from) + BOX.width / 2, yOf(from) + BOX.height];
  const [toX, toY] = [xOf(to) + BOX.width / 2, yOf(to)];
  const isPassing = [...places.values()].some(({ column, row }) => column === from.column && row > from.row && row < to.row);
  if (x === toX && !isPassing) return `M${x} ${y}V${toY}`;
  if (x === toX) return `M${xOf(from)} ${y - 14}C${xOf(from) - 26} ${y} ${xOf(to) - 26} ${toY} ${xOf(to)} ${toY + 14}`;
  return `M${x} ${y}C${x} ${y + GAP.y} ${toX} ${toY - GAP.y} ${toX} ${toY}`;
}

function Lines({ name, tree, places, way }: { name: string; tree: Tree; places: Map<string, Place>; way: Way }) {
  const here = places.get(name)!;
  const { yes, no, timeout } = tree[name]!;
  const [x, y] = [xOf(here), yOf(here)];
  const asksPerson = no !== null && !places.has(no);
  const words = t().workflows;
  return (
    <>
      {yes !== null && places.has(yes) && <Line d={down(here, places.get(yes)!, places)} look={way.looks.get(`${name} yes`) ?? ''} />}
      {yes === null && <Line d={`M${x + BOX.width / 2} ${y + BOX.height}v${GAP.y - 14}`} look={way.hasEnded && way.looks.has(`${name} yes`) ? 'yes' : ''} />}
      {no !== null && places.has(no) && <Line d={`M${x + BOX.width} ${y + BOX.height / 2}H${xOf(places.get(no)!) + BOX.width / 2 - 10}q10 0 10 10V${yOf(places.get(no)!)}`} look={way.looks.get(`${name} no`) ?? ''} />}
      {asksPerson && <Line d={`M${x + BOX.width} ${y + BOX.height / 2}H${x + PERSON.x - PERSON.r}`} look={way.looks.get(`${name} no`) ?? ''} isDashed />}
      {timeout && places.has(timeout) && <Line d={`M${x + PERSON.x} ${y + BOX.height / 2 + PERSON.r}C${x + PERSON.x} ${y + BOX.height + GAP.y} ${xOf(places.get(timeout)!) + BOX.width} ${yOf(places.get(timeout)!) - GAP.y} ${xOf(places.get(timeout)!) + BOX.width * 0.75} ${yOf(places.get(timeout)!)}`} look="" isDashed />}
      {yes !== null && places.has(yes) && (
        <text class="label" x={x + BOX.width / 2 + 7} y={y + BOX.height + 21}>
          {words.yes}
        </text>
      )}
      {no !== null && (
        <text class="label" x={x + BOX.width + 5} y={y + BOX.height / 2 - 6}>
          {words.no}
        </text>
      )}
    </>
  );
}

function Person({ x, y, isCurrent, isLit }: { x: number; y: number; isCurrent: boolean; isLit: boolean }) {
  return (
    <g class={`person ${isCurrent ? 'is-current' : ''} ${isLit ? 'is-no' : ''}`} transform={`translate(${x} ${y})`}>
      <title>{t().workflows.person}</title>
      <circle r={PERSON.r} />
      <path d="M0-1.5a3.6 3.6 0 1 0 0-7.2 3.6 3.6 0 0 0 0 7.2zM-7 8.5c.8-4 3.5-6 7-6s6.2 2 7 6" />
    </g>
  );
}

function Box({ name, tree, place, look }: { name: string; tree: Tree; place: Place; look: Look }) {
  const short = shortOf(name);
  const { kind, description } = tree[name]!;
  return (
    <g class={`box ${look && `is-${look}`}`} transform={`translate(${xOf(place)} ${yOf(place)})`}>
      <title>{description ? `${name}: ${description}` : name}</title>
      <rect width={BOX.width} height={BOX.height} rx="12" />
      <text class="name" x="14" y="21">
        {short.length > NAME_MAX ? `${short.slice(0, NAME_MAX - 1)}…` : short}
      </text>
      <text class="kind" x="14" y="38">
        {t().workflows.kinds[kind]}
      </text>
      {(look === 'yes' || look === 'no') && <path class="mark-of" d={look === 'yes' ? 'M0 4l3.5 3.5L10 0' : 'M0 0l8 8M8 0L0 8'} transform={`translate(${BOX.width - 24} 21)`} />}
      {look === 'current' && <circle class="now" cx={BOX.width - 19} cy="25" r="5" />}
    </g>
  );
}

interface Props {
  verb: string;
  tree: Tree;
  root: string;
  steps: Step[];
}

function sentenceOf({ verb, steps }: Props): string {
  const words = t().workflows;
  const way = steps.map(({ agent, decision }) => `${agent} ${words[decision]}`).join(', ');
  return `${words.treeOf(verb)} ${way}`;
}

export function TreeView(props: Props) {
  const { tree, root, steps } = props;
  const places = placesOf(tree, root);
  const way = wayOf(steps, tree);
  const all = [...places];
  const columns = Math.max(...all.map(([, { column }]) => column)) + 1;
  const rows = Math.max(...all.map(([, { row }]) => row)) + 1;
  const width = 2 * EDGE.x + columns * (BOX.width + GAP.x) - 36;
  const height = 2 * EDGE.y + rows * (BOX.height + GAP.y);
  const parts: ComponentChildren[] = [];
  for (const [name, place] of all) {
    const { yes, no } = tree[name]!;
    const [x, y] = [xOf(place), yOf(place)];
    parts.push(<Lines key={`l ${name}`} name={name} tree={tree} places={places} way={way} />);
    if (no !== null && !places.has(no)) parts.push(<Person key={`p ${name}`} x={x + PERSON.x} y={y + BOX.height / 2} isCurrent={way.waits === name} isLit={way.looks.has(`${name} no`)} />);
    if (yes === null) parts.push(<circle key={`e ${name}`} class={`end ${way.hasEnded && way.looks.has(`${name} yes`) ? 'is-yes' : ''}`} cx={x + BOX.width / 2} cy={y + BOX.height + GAP.y - 8} r="6" />);
  }
  return (
    <svg class="tree" viewBox={`0 0 ${width} ${height}`} width={width} style={{ minWidth: `${Math.round(width * READABLE)}px` }} role="img" aria-label={sentenceOf(props)}>
      {parts}
      {all.map(([name, place]) => (
        <Box key={name} name={name} tree={tree} place={place} look={way.looks.get(name) ?? ''} />
      ))}
    </svg>
  );
}
