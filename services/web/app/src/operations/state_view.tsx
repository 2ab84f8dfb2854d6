// SPDX-License-Identifier: MIT
import { useState } from 'preact/hooks';
import { addressOf } from '../api/request';
import { hrefOf } from '../router';
import { call, Problem } from '../session/session';
import { t } from '../texts';
import { Chart } from '../ui/chart';
import { askFor } from '../ui/dialog';
import { Icon } from '../ui/icons';
import { seen } from '../ui/name';
import { Table } from '../ui/table';
import { readStatus, samples, status, type Engine, type Node, type Status } from './status';
import { troublesOf, type Trouble } from './troubles';

const CHART_HEIGHT = 190;

async function drain(user: string, isDrained: boolean): Promise<void> {
  await call('POST', 'api/drain-engine', { body: { User: user, Drain: isDrained } });
  await readStatus();
}

function Numbers({ now }: { now: Status }) {
  const words = t().operations;
  const engines = now.Engines?.length ?? null;
  const working = now.Engines?.filter(({ State }) => State === 'working').length ?? 0;
  const all = [
    { name: words.waiting, value: now.Depth, note: now.Recent ? words.added(now.Recent.Added, now.Recent.Seconds) : '' },
    { name: words.running, value: now.InFlight, note: now.Recent ? words.perSecond(now.Recent.DonePerSecond) : '' },
    { name: words.oldestWaits, value: now.OldestSeconds === null ? null : words.duration(now.OldestSeconds), note: '' },
    { name: words.engines, value: engines, note: engines === null ? '' : words.working(working) },
  ];
  return (
    <dl class="numbers">
      {all.map(({ name, value, note }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value ?? '–'}</dd>
          <dd class="note">{note}</dd>
        </div>
      ))}
    </dl>
  );
}

function Curve() {
  const words = t().operations;
  const all = samples.value;
  const last = all.at(-1);
  const lines = [
    { name: words.waiting, color: '--link', values: all.map(({ waiting }) => waiting) },
    { name: words.running, color: '--good', values: all.map(({ running }) => running) },
  ];
  return (
    <section class="panel">
      <h2>{words.curve}</h2>
      <Chart label={words.curveLabel(last?.waiting ?? 0, last?.running ?? 0)} timesS={all.map(({ atS }) => atS)} lines={lines} height={CHART_HEIGHT} />
    </section>
  );
}

function TroubleRow({ trouble: { text, isBad, to } }: { trouble: Trouble }) {
  const [fault, setFault] = useState('');
  const undrain = (user: string) => drain(user, false).catch((error: unknown) => setFault(error instanceof Problem ? error.detail : t().signIn.unreachable));
  return (
    <li class={isBad ? 'is-bad' : ''}>
      <Icon name="warning" />
      <span dir="auto">{fault || text}</span>
      {'drained' in to && (
        <button type="button" class="button is-small" onClick={() => void undrain(to.drained)}>
          {to.text}
        </button>
      )}
      {'place' in to && (
        <a class="button is-small" href={hrefOf(to.place)}>
          {to.text}
        </a>
      )}
      {'page' in to && (
        <a class="button is-small" href={addressOf(`handbook/${to.page}`)} target="_blank" rel="noopener">
          {to.text}
        </a>
      )}
    </li>
  );
}

function Troubles({ now }: { now: Status }) {
  const words = t().operations;
  const all = troublesOf(now, words);
  return (
    <section class="panel">
      <h2>{words.troubles}</h2>
      {all.length === 0 ? (
        <p class="all-well">
          <Icon name="check" /> {words.noTroubles}
        </p>
      ) : (
        <ul class="troubles">
          {all.map((trouble) => (
            <TroubleRow key={trouble.text} trouble={trouble} />
          ))}
        </ul>
      )}
    </section>
  );
}

function EngineRow({ engine: { User, Engine: name, State, Slots, Info, SeenSecondsAgo, Drained } }: { engine: Engine }) {
  const words = t().operations;
  const slots = [words.slots.working(Slots.Working), words.slots.waiting(Slots.Waiting), words.slots.resting(Slots.Resting)].filter((_, i) => [Slots.Working, Slots.Waiting, Slots.Resting][i]! > 0);
  const onDrain = () => askFor({ title: words.drainTitle(seen(User)), text: words.drainText, action: words.drain, onAccept: () => drain(User, true) });
  return (
    <tr>
      <th scope="row">
        <bdi>{seen(name ?? User)}</bdi>
        {name !== null && (
          <span class="note">
            <bdi>{seen(User)}</bdi>
          </span>
        )}
      </th>
      <td>
        <span class={`pill is-${State}`}>{words.states[State]}</span>
      </td>
      <td>{slots.join(', ')}</td>
      <td dir="auto">{!Info.Models || Info.Models === '*' ? words.anyModel : seen(Info.Models.split(',').join(', '))}</td>
      <td>{words.ago(SeenSecondsAgo)}</td>
      <td class="is-right">
        {Drained ? (
          <button type="button" class="button is-small" onClick={() => void drain(User, false)}>
            {words.undrain}
          </button>
        ) : (
          <button type="button" class="button is-small" onClick={onDrain}>
            {words.drain}
          </button>
        )}
      </td>
    </tr>
  );
}

function Engines({ all }: { all: Engine[] }) {
  const words = t().operations;
  if (all.length === 0) return null;
  return (
    <section class="panel">
      <h2>{words.engines}</h2>
      <Table name={words.engines} heads={[words.name, words.doing, words.slotsHead, words.models, words.seen, '']}>
        {all.map((engine) => (
          <EngineRow key={`${engine.User} ${engine.Engine}`} engine={engine} />
        ))}
      </Table>
    </section>
  );
}

/** A process is a node per thread. */
function processesOf(nodes: Node[]): { node: Node; threads: number }[] {
  const found = new Map<string, { node: Node; threads: number }>();
  for (const node of nodes) {
    const key = node.Pid === null ? node.Node : `${node.Host} ${node.Pid}`;
    found.set(key, { node, threads: (found.get(key)?.threads ?? 0) + 1 });
  }
  return [...found.values()];
}

function Nodes({ all }: { all: Node[] }) {
  const words = t().operations;
  return (
    <section class="panel">
      <h2>{words.nodes}</h2>
      <Table name={words.nodes} heads={[words.address, words.host, words.version, words.threads, words.seen]}>
        {processesOf(all).map(({ node, threads }) => (
          <tr key={node.Node}>
            <th scope="row">
              <bdi>{seen(node.Address ?? node.Node)}</bdi>
            </th>
            <td>
              <bdi>{seen(node.Host ?? '')}</bdi>
            </td>
            <td>{node.Version ?? ''}</td>
            <td>{threads}</td>
            <td>{words.ago(node.SeenSecondsAgo)}</td>
          </tr>
        ))}
      </Table>
    </section>
  );
}

export function StateView() {
  const now = status.value;
  if (!now) return <p class="message is-late">{t().thread.loading}</p>;
  return (
    <>
      <Numbers now={now} />
      <Troubles now={now} />
      <Curve />
      <Engines all={now.Engines ?? []} />
      <Nodes all={now.Nodes ?? []} />
    </>
  );
}
