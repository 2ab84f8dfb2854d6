// SPDX-License-Identifier: MIT
import { useEffect, useRef, useState } from 'preact/hooks';
import { Problem } from '../session/session';
import { t } from '../texts';
import { registerBot, type Secrets } from './bots';

/** How a bot gets its messages. */
type Way = 'model' | 'url' | 'pull';
const WAYS: Way[] = ['model', 'url', 'pull'];

const textOf = (data: FormData, name: string) => String(data.get(name) ?? '').trim();

function endpointOf(way: Way, data: FormData): string | null {
  if (way === 'pull') return null;
  return way === 'model' ? `parley:${textOf(data, 'model') || 'default'}` : textOf(data, 'url');
}

interface FieldProps {
  name: string;
  label: string;
  note?: string;
  placeholder?: string;
  isOptional?: boolean;
  type?: string;
  pattern?: string;
  max?: number;
}

function Field({ name, label, note, placeholder, isOptional = false, type = 'text', pattern, max = 128 }: FieldProps) {
  const id = `bot-${name}`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} name={name} type={type} required={!isOptional} maxLength={max} pattern={pattern} placeholder={placeholder} dir="auto" autocomplete="off" autocapitalize="none" spellcheck={false} aria-describedby={note && `${id}-note`} title={note} />
      {note && (
        <p class="note" id={`${id}-note`}>
          {note}
        </p>
      )}
    </div>
  );
}

export function BotForm({ onRegistered, onCancel }: { onRegistered: (secrets: Secrets, isModel: boolean) => void; onCancel: () => void }) {
  const words = t().rooms;
  const form = useRef<HTMLFormElement>(null);
  const [way, setWay] = useState<Way>('model');
  const [fault, setFault] = useState('');
  const [isBusy, setBusy] = useState(false);
  useEffect(() => form.current?.querySelector('input')?.focus(), []);
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault();
    const data = new FormData(form.current!);
    setFault('');
    setBusy(true);
    try {
      onRegistered(await registerBot({ username: textOf(data, 'username'), emulates: textOf(data, 'emulates') || null, endpoint: endpointOf(way, data), format: data.has('zulip') ? 'zulip' : 'annex' }), way === 'model');
    } catch (error) {
      setFault(t().unexpected(error instanceof Problem ? error.detail : t().signIn.unreachable));
      setBusy(false);
    }
  };
  return (
    <form class="card" ref={form} onSubmit={onSubmit}>
      <h2>{words.registerTitle}</h2>
      <Field name="username" label={words.botName} note={words.botNameNote} placeholder="librarian" pattern="[A-Za-z0-9_.\-]+" max={64} />
      <fieldset class="ways">
        <legend>{words.way}</legend>
        {WAYS.map((one) => (
          <label key={one} class={one === way ? 'is-chosen' : ''}>
            <input type="radio" name="way" value={one} checked={one === way} onChange={() => setWay(one)} />
            <span>
              <strong>{words.ways[one].name}</strong>
              <span class="note">{words.ways[one].note}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {way === 'model' && <Field name="model" label={t().composer.modelLabel} placeholder="default" isOptional />}
      {way === 'url' && <Field name="url" type="url" label={words.endpoint} placeholder="https://bots.example.org/librarian" max={2048} />}
      <Field name="emulates" label={words.emulates} note={words.emulatesNote} isOptional />
      {way !== 'model' && (
        <label class="check">
          <input type="checkbox" name="zulip" /> {words.zulip}
        </label>
      )}
      <p class="fault" role="alert">
        {fault}
      </p>
      <div class="dialog-buttons">
        <button type="button" class="button" onClick={onCancel}>
          {t().dialog.cancel}
        </button>
        <button type="submit" class="button is-main" disabled={isBusy}>
          {words.register}
        </button>
      </div>
    </form>
  );
}
