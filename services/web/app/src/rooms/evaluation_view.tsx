// SPDX-License-Identifier: MIT
//
// evaluation_view: one evaluation: its result, its curve and its turns; while it runs, as far as it is.
import { useEffect, useState } from 'preact/hooks';
import { pause } from '../api/pause';
import { go, pageAt } from '../router';
import { Problem } from '../session/session';
import { t } from '../texts';
import { Frame, Head } from '../ui/frame';
import { Icon } from '../ui/icons';
import { seen } from '../ui/name';
import { Time } from '../ui/time';
import { Curve } from './curve';
import { cancelEvaluation, readEvaluation, type Evaluation, type Turn } from './evaluations';
import { RoomList } from './room_list';

interface State {
  evaluation: Evaluation;
  turns: Turn[];
}

const AGAIN_MS = 1500;
const LONGEST_MS = 10_000;

/** Reads it again while it runs, less and less often while nothing changes. */
function useEvaluation(id: string): { state: State | null; fault: string; again: () => void } {
  const [state, setState] = useState<State | null>(null);
  const [fault, setFault] = useState('');
  const [round, setRound] = useState(0);
  useEffect(() => {
    const life = new AbortController();
    const run = async () => {
      for (let [wait, done] = [AGAIN_MS, -1]; !life.signal.aborted; ) {
        const read = await readEvaluation(id, life.signal);
        if (life.signal.aborted) return;
        setState(read);
        setFault('');
        if (read.evaluation.status !== 'running') return;
        wait = read.evaluation.done === done ? Math.min(LONGEST_MS, wait * 1.5) : AGAIN_MS;
        done = read.evaluation.done;
        await pause(wait, life.signal);
      }
    };
    run().catch((error: unknown) => {
      if (life.signal.aborted) return;
      setFault(error instanceof Problem ? (error.status === 404 ? t().evaluations.missing : error.detail) : t().signIn.unreachable);
    });
    return () => life.abort();
  }, [id, round]);
  return { state, fault, again: () => setRound(round + 1) };
}

const shown = (value: number) => value.toFixed(3);

function Result({ evaluation }: { evaluation: Evaluation }) {
  const words = t().evaluations;
  const { mean, score, interval, done, total, failed } = evaluation;
  return (
    <dl class="figures">
      <div>
        <dt>{words.score}</dt>
        <dd>
          {score === null ? '–' : score.toFixed(1)} <span class="note">{words.ofHundred}</span>
        </dd>
      </div>
      <div>
        <dt>{words.mean}</dt>
        <dd>
          {mean === null ? '–' : shown(mean)} {interval && <span class="note is-line">{words.interval(shown(interval[0]), shown(interval[1]))}</span>}
        </dd>
      </div>
      <div>
        <dt>{words.turns}</dt>
        <dd>
          {done} <span class="note">{words.of(total)}</span>
        </dd>
      </div>
      <div>
        <dt>{words.failed}</dt>
        <dd class={failed ? 'is-bad' : ''}>{failed}</dd>
      </div>
    </dl>
  );
}

function TurnRow({ one }: { one: Turn }) {
  const words = t().evaluations;
  return (
    <details class="turn-row">
      <summary>
        <span class="number">{one.turn}</span>
        <span class="is-cut" dir="auto">
          {one.text}
        </span>
        <span class={one.distance === null ? 'is-bad' : ''}>{one.distance === null ? words.isFailed : shown(one.distance)}</span>
      </summary>
      <dl class="pair">
        <dt>{words.original}</dt>
        <dd dir="auto">{one.original ?? '–'}</dd>
        <dt>{words.answer}</dt>
        <dd dir="auto" class={one.error ? 'is-bad' : ''}>
          {one.error ?? one.answer ?? '–'}
        </dd>
      </dl>
    </details>
  );
}

const PAGE = 200;

export function EvaluationView({ id }: { id: string }) {
  const words = t().evaluations;
  const { state, fault, again } = useEvaluation(id);
  const [n, setN] = useState(PAGE);
  const evaluation = state?.evaluation;
  const title = evaluation ? words.titleOf(seen(evaluation.bot)) : t().rooms.evaluations;
  const cancel = async () => {
    await cancelEvaluation(id).catch(() => {});
    again();
  };
  return (
    <Frame
      title={title}
      list={<RoomList />}
      head={
        <Head title={title}>
          {evaluation?.status === 'running' && (
            <button type="button" class="button is-small" onClick={() => void cancel()}>
              <Icon name="stop" /> {words.cancel}
            </button>
          )}
        </Head>
      }
    >
      <div class="scroller">
        <div class="sheet">
          {fault && (
            <p class="fault" role="alert">
              {fault}{' '}
              <button type="button" class="button is-small" onClick={() => go(pageAt('rooms', 'evaluations'))}>
                {t().rooms.evaluations}
              </button>
            </p>
          )}
          {state && evaluation && (
            <>
              <p class="note" role="status">
                <span class={evaluation.status === 'running' ? 'pulse' : ''}>{words.states[evaluation.status]}</span> · <Time at={evaluation.created} />
                {evaluation.reason && ` · ${evaluation.reason}`}
              </p>
              {evaluation.status === 'running' && <progress max={evaluation.total} value={evaluation.done} aria-label={words.turns} />}
              <Result evaluation={evaluation} />
              {state.turns.length > 0 && <Curve evaluation={evaluation} turns={state.turns} />}
              {state.turns.slice(0, n).map((one) => (
                <TurnRow key={one.turn} one={one} />
              ))}
              {state.turns.length > n && (
                <button type="button" class="button is-quiet is-wide" onClick={() => setN(n + PAGE)}>
                  {words.more}
                </button>
              )}
            </>
          )}
        </div>
      </div>
    </Frame>
  );
}
