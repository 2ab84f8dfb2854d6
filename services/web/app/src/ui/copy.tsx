// SPDX-License-Identifier: MIT
import { useState } from 'preact/hooks';
import { t } from '../texts';
import { Icon } from './icons';

const SHOWN_MS = 1500;

// Pages that came over plain HTTP have no navigator.clipboard.
function copyBySelection(text: string): void {
  const field = document.createElement('textarea');
  const focused = document.activeElement as HTMLElement | null;
  field.value = text;
  field.className = 'hidden';
  document.body.append(field);
  field.select();
  document.execCommand('copy');
  field.remove();
  focused?.focus();
}

async function copy(text: string): Promise<void> {
  if (!navigator.clipboard) return copyBySelection(text);
  await navigator.clipboard.writeText(text).catch(() => copyBySelection(text));
}

export function CopyButton({ text, name }: { text: string; name: string }) {
  const [isCopied, setCopied] = useState(false);
  const onClick = async () => {
    await copy(text);
    setCopied(true);
    setTimeout(() => setCopied(false), SHOWN_MS);
  };
  return (
    <button type="button" class="button is-quiet is-small" aria-label={isCopied ? t().thread.copied : name} onClick={onClick}>
      <Icon name={isCopied ? 'check' : 'copy'} />
      <span aria-hidden="true">{isCopied ? t().thread.copied : t().thread.copy}</span>
    </button>
  );
}
