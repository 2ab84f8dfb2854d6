// SPDX-License-Identifier: MIT
import { memo } from '../markdown/memo';
import { Markdown } from '../markdown/markdown';
import { t } from '../texts';
import { CopyButton } from '../ui/copy';
import { Icon } from '../ui/icons';
import type { Turn, TurnState } from './turn';

export interface TurnActions {
  onEdit: (turn: Turn) => void;
  onRetry: (turn: Turn) => void;
  onLookUp: (turn: Turn) => void;
  onRecommend: (turn: Turn) => void;
}

export function Think({ state }: { state: TurnState }) {
  const isWriting = state.status === 'Pending' && state.answer === '';
  return (
    <details class="think">
      <summary>
        <Icon name="chevron" />
        {isWriting ? t().thread.thinking : t().thread.think}
      </summary>
      <Markdown source={state.think} />
    </details>
  );
}

/** Why there is no answer, or none but this part. */
export function Ending({ state }: { state: TurnState }) {
  const words = t().thread;
  if (state.status === 'Cancelled') return <p class="ending">{words.cancelled}</p>;
  if (state.status === 'Failed') return <p class="ending is-bad">{words.failedAnswer(state.reason)}</p>;
  if (state.status === 'Unsent') return <p class="ending is-bad">{[words.unsent, state.reason].filter(Boolean).join(' ')}</p>;
  return state.isCut ? <p class="ending">{words.cutShort}</p> : null;
}

function AnswerBar({ turn, state, actions }: { turn: Turn; state: TurnState; actions: TurnActions }) {
  const words = t().thread;
  const isDone = state.status === 'Done';
  return (
    <div class="turn-bar">
      {state.answer && <CopyButton text={state.answer} name={words.copyAnswer} />}
      {!isDone && (
        <button type="button" class="button is-small" onClick={() => actions.onRetry(turn)}>
          <Icon name="retry" /> {words.retry}
        </button>
      )}
      {isDone && (
        <>
          <button type="button" class="button is-quiet is-small" onClick={() => actions.onLookUp(turn)}>
            <Icon name="quote" /> {t().passages.findAction}
          </button>
          <button type="button" class="button is-quiet is-small" onClick={() => actions.onRecommend(turn)}>
            <Icon name="star" /> {t().passages.recommendAction}
          </button>
        </>
      )}
      {isDone && state.model && state.model !== 'default' && <span class="note">{words.answeredBy(state.model)}</span>}
    </div>
  );
}

export const Waiting = () => (
  <p class="dots" aria-hidden="true">
    <i />
    <i />
    <i />
  </p>
);

function Answer({ turn, actions }: { turn: Turn; actions: TurnActions }) {
  const state = turn.state.value;
  const isOver = ['Done', 'Failed', 'Cancelled', 'Unsent'].includes(state.status);
  return (
    <div class={`answer ${isOver ? '' : 'is-live'}`}>
      {state.think && <Think state={state} />}
      {state.answer && <Markdown source={state.answer} />}
      {!isOver && !state.answer && <Waiting />}
      {isOver && <Ending state={state} />}
      {isOver && <AnswerBar turn={turn} state={state} actions={actions} />}
    </div>
  );
}

interface Props {
  turn: Turn;
  number: number;
  actions: TurnActions;
}

export const TurnView = memo(({ turn, number, actions }: Props) => (
  <article class="turn" data-seq={turn.seq.value ?? undefined} aria-label={t().thread.question(number)}>
    <h2 class="hidden">{t().thread.question(number)}</h2>
    <div class="question">
      <div class="bubble" dir="auto">
        {turn.query}
      </div>
      <div class="turn-bar">
        <CopyButton text={turn.query} name={t().thread.copy} />
        {turn.seq.value !== null && (
          <button type="button" class="button is-quiet is-small" onClick={() => actions.onEdit(turn)}>
            <Icon name="edit" /> {t().thread.edit}
          </button>
        )}
      </div>
    </div>
    <Answer turn={turn} actions={actions} />
  </article>
));
