// SPDX-License-Identifier: MIT
import { useEffect, useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { t } from '../texts';
import { isSending, useGrowing } from '../ui/growing';
import { Icon } from '../ui/icons';

interface Props {
  label: string;
  placeholder: string;
  note: string;
  /** Returns whether it has been sent. */
  onSend: (text: string) => boolean;
  isFocused?: boolean;
  children?: ComponentChildren;
}

/** A box for words to a workflow: a request, or an answer to its question. */
export function WordsBox({ label, placeholder, note, onSend, isFocused = false, children }: Props) {
  const [text, setText] = useState('');
  const field = useGrowing(text);
  useEffect(() => {
    if (isFocused) field.current?.focus({ preventScroll: true });
  }, []);
  const submit = () => {
    if (text.trim() !== '' && onSend(text.trim())) setText('');
  };
  const onKeyDown = (event: KeyboardEvent) => {
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
      <label class="hidden" for="words">
        {label}
      </label>
      <textarea id="words" ref={field} rows={1} dir="auto" maxLength={100_000} placeholder={placeholder} value={text} aria-describedby="words-note" onInput={(event) => setText(event.currentTarget.value)} onKeyDown={onKeyDown} />
      <div class="composer-bar">
        {children}
        <span class="note" id="words-note">
          {note}
        </span>
        <button type="submit" class="button is-main is-icon is-round" aria-label={t().composer.send} disabled={text.trim() === ''}>
          <Icon name="send" />
        </button>
      </div>
    </form>
  );
}
