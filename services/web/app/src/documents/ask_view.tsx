// SPDX-License-Identifier: MIT
import { useEffect, useState } from 'preact/hooks';
import { StatusLine } from '../chat/status_line';
import { hasEnded } from '../chat/turn';
import { hrefOf, pageAt } from '../router';
import { t } from '../texts';
import { useBottom } from '../ui/bottom';
import { isSending, useGrowing } from '../ui/growing';
import { Icon } from '../ui/icons';
import { ask, exchanges, forgetAll, openExchanges, stop, type Exchange } from './asking';
import { ExchangeView } from './exchange_view';
import { docs } from './library';
import type { PlaceInDoc } from './passage_pane';

const AGENT_KEY = 'parley.agent';
const QUESTION_MAX = 4000;
const AGENT_QUESTION_MAX = 2000;

function AskBox({ live }: { live: Exchange | undefined }) {
  const words = t().documents;
  const [text, setText] = useState('');
  const field = useGrowing(text);
  const [isAgent, setAgent] = useState(localStorage.getItem(AGENT_KEY) === 'on');
  const max = isAgent ? AGENT_QUESTION_MAX : QUESTION_MAX;
  const isTooLong = [...text.trim()].length > max;
  useEffect(() => field.current!.focus({ preventScroll: true }), []);
  const submit = () => {
    if (text.trim() === '' || isTooLong) return;
    ask(text.trim(), isAgent);
    setText('');
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isSending(event)) return;
    event.preventDefault();
    submit();
  };
  const onAgent = (isOn: boolean) => {
    setAgent(isOn);
    localStorage.setItem(AGENT_KEY, isOn ? 'on' : 'off');
  };
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault();
    submit();
  };
  return (
    <form class="composer" onSubmit={onSubmit}>
      <label class="hidden" for="doc-question">
        {words.question}
      </label>
      <textarea id="doc-question" ref={field} rows={1} dir="auto" placeholder={words.placeholder} value={text} aria-describedby="doc-hint" aria-invalid={isTooLong} onInput={(event) => setText(event.currentTarget.value)} onKeyDown={onKeyDown} />
      <div class="composer-bar">
        <label class="switch" title={words.agentNote}>
          <input type="checkbox" role="switch" checked={isAgent} onChange={(event) => onAgent(event.currentTarget.checked)} />
          <span>{words.agent}</span>
        </label>
        <span class={isTooLong ? 'fault' : 'note'} id="doc-hint">
          {isTooLong ? words.tooLong(max) : isAgent ? words.agentNote : words.askHint}
        </span>
        {live && (
          <button type="button" class="button is-stop" onClick={() => stop(live)}>
            <Icon name="stop" /> {t().composer.stop}
          </button>
        )}
        <button type="submit" class="button is-main is-icon is-round" aria-label={t().composer.send} disabled={text.trim() === '' || isTooLong}>
          <Icon name="send" />
        </button>
      </div>
    </form>
  );
}

function Welcome() {
  const words = t().documents;
  const all = docs.value;
  return (
    <div class="welcome">
      <h2>{words.welcome}</h2>
      <p>{words.welcomeNote}</p>
      {all?.length === 0 && (
        <p>
          <a href={hrefOf(pageAt('documents'))}>{words.none}</a>
        </p>
      )}
    </div>
  );
}

export function AskView({ user, onOpen }: { user: string; onOpen: (place: PlaceInDoc) => void }) {
  const words = t().documents;
  useEffect(() => openExchanges(user), [user]);
  const all = exchanges.value;
  const live = all.find(({ turn }) => !hasEnded(turn.state.value.status));
  const { box, content, isAway, toBottom, onScroll } = useBottom([all.length]);
  return (
    <div class={`asking ${all.length === 0 ? 'is-new' : ''}`}>
      <div class="scroller" ref={box} onScroll={onScroll} tabIndex={0} role="log" aria-live="off" aria-label={t().thread.label}>
        <div class="thread" ref={content}>
          {all.length === 0 && <Welcome />}
          {all.map((of, i) => (
            <ExchangeView key={of.turn.key} of={of} number={i + 1} onOpen={onOpen} />
          ))}
        </div>
      </div>
      {isAway && (
        <button type="button" class="button is-icon is-round to-latest" aria-label={t().thread.latest} onClick={toBottom}>
          <Icon name="down" />
        </button>
      )}
      <div class="foot">
        <StatusLine turn={live?.turn} />
        <AskBox live={live} />
        {all.length > 0 && (
          <p class="forget">
            <span class="note">{words.keptHere}</span>
            <button type="button" class="button is-quiet is-small" onClick={forgetAll}>
              {words.forget}
            </button>
          </p>
        )}
      </div>
    </div>
  );
}
