// SPDX-License-Identifier: MIT
import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { t } from '../texts';
import { askFor } from '../ui/dialog';
import { isSending, useGrowing } from '../ui/growing';
import { Icon } from '../ui/icons';
import { Menu } from '../ui/menu';
import { loadModels, models } from './models';
import { draftOf, keepDraft } from './outbox';
import type { Turn } from './turn';

const MODEL_KEY = 'parley.model';
const QUERY_MAX_BYTES = 256 << 10;
const MODEL_MAX = 128;

/** '': the default one. */
export const model = signal(localStorage.getItem(MODEL_KEY) ?? '');

function chooseModel(name: string): void {
  model.value = name;
  localStorage.setItem(MODEL_KEY, name);
}

function askForModel(): void {
  const words = t().composer;
  askFor({ title: words.modelTitle, text: words.modelNote, field: { label: words.modelLabel, value: model.value, maxLength: MODEL_MAX }, action: t().dialog.choose, onAccept: chooseModel });
}

function ModelMenu() {
  const words = t().composer;
  const names = [...new Set([...models.value, ...(model.value ? [model.value] : [])])].sort();
  const items = ['', ...names].map((name) => ({ text: name || words.modelDefault, isChosen: name === model.value, onChoose: () => chooseModel(name) }));
  return (
    <Menu name={`${words.model}: ${model.value || words.modelDefault}`} class="model" isUp onOpen={() => void loadModels()} groups={[{ items }, { items: [{ text: words.modelOther, icon: 'edit', onChoose: askForModel }] }]}>
      <span>{model.value || words.modelDefault}</span> <Icon name="chevron" />
    </Menu>
  );
}

interface Props {
  /** '': a new one. */
  topic: string;
  /** The question that can be stopped. */
  live: Turn | undefined;
  /** The question that is being changed. */
  editing: Turn | null;
  onSend: (text: string) => void;
  onStop: (turn: Turn) => void;
  onCancelEdit: () => void;
}

export function Composer({ topic, live, editing, onSend, onStop, onCancelEdit }: Props) {
  const words = t().composer;
  const [text, setText] = useState(draftOf(topic));
  const field = useGrowing(text);
  const isTooLong = text.length * 3 > QUERY_MAX_BYTES && new TextEncoder().encode(text).length > QUERY_MAX_BYTES;
  const change = (next: string) => {
    setText(next);
    if (!editing) keepDraft(topic, next);
  };
  useEffect(() => {
    setText(editing ? editing.query : draftOf(topic));
    field.current?.focus({ preventScroll: true });
  }, [topic, editing]);
  const submit = () => {
    if (text.trim() === '' || isTooLong) return;
    keepDraft(topic, '');
    setText('');
    onSend(text.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && editing) onCancelEdit();
    if (!isSending(event)) return;
    event.preventDefault();
    submit();
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {editing && (
        <p class="editing">
          {words.editing}
          <button type="button" class="button is-quiet is-small" onClick={onCancelEdit}>
            {words.cancelEdit}
          </button>
        </p>
      )}
      <label class="hidden" for="question">
        {words.label}
      </label>
      <textarea id="question" ref={field} rows={1} dir="auto" placeholder={words.placeholder} value={text} aria-describedby="question-hint" aria-invalid={isTooLong} onInput={(event) => change(event.currentTarget.value)} onKeyDown={onKeyDown} />
      <div class="composer-bar">
        <ModelMenu />
        <span class={isTooLong ? 'fault' : 'note'} id="question-hint">
          {isTooLong ? words.tooLong : words.hint}
        </span>
        {live && (
          <button type="button" class="button is-stop" onClick={() => onStop(live)}>
            <Icon name="stop" /> {words.stop}
          </button>
        )}
        <button type="submit" class="button is-main is-icon is-round" aria-label={words.send} disabled={text.trim() === '' || isTooLong}>
          <Icon name="send" />
        </button>
      </div>
    </form>
  );
}
