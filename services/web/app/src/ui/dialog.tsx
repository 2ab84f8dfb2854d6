// SPDX-License-Identifier: MIT
//
// dialog: asks for a text or a confirmation. The browser keeps the focus inside and gives it back afterwards.
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Problem } from '../session/session';
import { t } from '../texts';

interface Request {
  title: string;
  text?: string;
  /** A field with this label and content; without it the dialog only confirms. */
  field?: { label: string; value: string; maxLength: number };
  /** More fields, whose values come with `data`. */
  more?: ComponentChildren;
  action: string;
  isBad?: boolean;
  isWide?: boolean;
  onAccept: (value: string, data: FormData) => void | Promise<void>;
}

const open = signal<Request | null>(null);

export const askFor = (request: Request) => void (open.value = request);

function Frame({ isWide = false, children }: { isWide?: boolean; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current!.showModal(), []);
  return (
    <dialog ref={dialog} class={isWide ? 'is-wide' : ''} aria-labelledby="dialog-title" onClose={() => (open.value = null)} onClick={(event) => event.target === dialog.current && dialog.current?.close()}>
      {children}
    </dialog>
  );
}

function Form({ request }: { request: Request }) {
  const { title, text, field, more, action, isBad, onAccept } = request;
  const [fault, setFault] = useState('');
  const close = () => (open.value = null);
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    try {
      await onAccept(String(data.get('value') ?? '').trim(), data);
      if (open.value === request) close();
    } catch (error) {
      setFault(t().unexpected(error instanceof Problem ? error.detail : t().signIn.unreachable));
    }
  };
  return (
    <form onSubmit={onSubmit}>
      <h2 id="dialog-title">{title}</h2>
      {field && (
        <div class="field">
          <label for="dialog-value">{field.label}</label>
          <input id="dialog-value" name="value" required maxLength={field.maxLength} defaultValue={field.value} dir="auto" autocomplete="off" />
        </div>
      )}
      {more}
      {text && <p class={field || more ? 'note' : ''}>{text}</p>}
      <p class="fault" role="alert">
        {fault}
      </p>
      <div class="dialog-buttons">
        <button type="button" class="button" onClick={close}>
          {t().dialog.cancel}
        </button>
        <button type="submit" class={`button ${isBad ? 'is-bad' : 'is-main'}`}>
          {action}
        </button>
      </div>
    </form>
  );
}

/** Where dialogs appear; once in the page. */
export function Dialogs() {
  const request = open.value;
  return request && <Frame key={request.title} isWide={request.isWide}>{<Form request={request} />}</Frame>;
}
