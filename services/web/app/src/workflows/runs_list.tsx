// SPDX-License-Identifier: MIT
//
// runs_list: the runs of the account in the side bar, the newest first.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { go, hrefOf, pageAt, place } from '../router';
import { t } from '../texts';
import { closeSide } from '../ui/frame';
import { Icon } from '../ui/icons';
import { Time } from '../ui/time';
import { readRuns, statuses, type RunRecord, type RunStatus } from './history';

const runs = signal<RunRecord[] | null>(null);
const next = signal('');
const wanted = signal<RunStatus | ''>('');
const hasFailed = signal(false);

/** Reads the newest runs, or those after the ones that are listed. */
export async function loadRuns({ isMore = false } = {}): Promise<void> {
  const status = wanted.value;
  try {
    const page = await readRuns(status, isMore ? next.value : '');
    if (status !== wanted.value) return;
    runs.value = isMore ? [...(runs.value ?? []), ...page.items] : page.items;
    next.value = page.next;
    hasFailed.value = false;
  } catch {
    hasFailed.value = true;
  }
}

export const forgetRuns = () => void (runs.value = null);

function Entry({ run }: { run: RunRecord }) {
  const words = t().workflows;
  const now = place.value;
  const isCurrent = now.at === 'page' && now.words[0] === run.session_id && (now.words[1] === run.request_id || run.session_id === run.request_id);
  const last = run.steps.at(-1);
  return (
    <li class={isCurrent ? 'is-current' : ''}>
      <a class="run-link" href={hrefOf(pageAt('workflows', run.session_id, run.request_id))} aria-current={isCurrent ? 'page' : undefined} title={last?.reason} onClick={closeSide}>
        <i class={`state is-${run.final_status}`} aria-hidden="true" />
        <span>{run.verb}</span>
        <small>
          {words.statuses[run.final_status]} · <Time at={run.timestamp} />
        </small>
      </a>
    </li>
  );
}

export function RunsList() {
  const words = t().workflows;
  const choose = (status: RunStatus | '') => {
    wanted.value = status;
    runs.value = null;
    void loadRuns();
  };
  useEffect(() => {
    if (runs.value === null) void loadRuns();
  }, []);
  const startNew = () => {
    closeSide();
    go(pageAt('workflows'));
  };
  return (
    <>
      <button type="button" class="button is-wide new" onClick={startNew}>
        <Icon name="plus" /> {words.new}
      </button>
      <select class="input filter" name="status" aria-label={words.filter} value={wanted.value} onChange={(event) => choose(event.currentTarget.value as RunStatus | '')}>
        <option value="">{words.all}</option>
        {statuses.map((one) => (
          <option key={one} value={one}>
            {words.statuses[one]}
          </option>
        ))}
      </select>
      <div class="list">
        {hasFailed.value && (
          <p class="note">
            {words.runsFailed}{' '}
            <button type="button" class="button is-small" onClick={() => void loadRuns()}>
              {t().thread.again}
            </button>
          </p>
        )}
        {runs.value?.length === 0 && <p class="note">{words.noRuns}</p>}
        <ul>
          {runs.value?.map((run) => (
            <Entry key={`${run.session_id} ${run.request_id}`} run={run} />
          ))}
        </ul>
        {next.value && (
          <button type="button" class="button is-quiet is-wide" aria-label={words.moreRuns} onClick={() => void loadRuns({ isMore: true })}>
            <Icon name="down" />
          </button>
        )}
      </div>
    </>
  );
}
