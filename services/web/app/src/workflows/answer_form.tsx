// SPDX-License-Identifier: MIT
//
// answer_form: how a person answers a question of a workflow: corrections in fields, a comment, Approve and Reject.
import { useMemo, useState } from 'preact/hooks';
import { Problem } from '../session/session';
import { t } from '../texts';
import { Icon } from '../ui/icons';
import { correctionsOf, fieldsOf, type Field } from './form';
import type { Body, Schema } from './run';

interface FieldProps {
  field: Field;
  id: string;
  text: string;
  onChange: (text: string) => void;
}

function Input({ field, id, text, onChange }: FieldProps) {
  const common = { id, 'aria-describedby': field.note ? `${id}-note` : undefined, dir: 'auto' as const };
  const onInput = (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value);
  switch (field.kind) {
    case 'choice':
      return (
        <select class="input" {...common} value={text} onChange={onInput}>
          {!field.choices.includes(text) && <option value={text}>{text || t().workflows.chooseOne}</option>}
          {field.choices.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      );
    case 'number':
      return <input {...common} type="number" step={field.schema.type === 'integer' ? 1 : 'any'} min={field.schema.minimum as number | undefined} max={field.schema.maximum as number | undefined} value={text} onInput={onInput} />;
    case 'line':
      return <input {...common} maxLength={field.schema.maxLength as number | undefined} autocomplete="off" value={text} onInput={onInput} />;
    default:
      return <textarea class="input" {...common} rows={Math.min(8, Math.max(2, text.split('\n').length))} spellcheck={field.kind === 'text'} value={text} onInput={onInput} />;
  }
}

function FieldRow({ field, id, text, onChange }: FieldProps) {
  const words = t().workflows;
  const isChanged = text !== field.text;
  return (
    <div class={`field ${isChanged ? 'is-changed' : ''}`}>
      {field.kind === 'box' ? (
        <label class="check">
          <input id={id} type="checkbox" checked={text === 'true'} onChange={(event) => onChange(String(event.currentTarget.checked))} /> {field.label}
        </label>
      ) : (
        <label for={id}>
          {field.label}
          {field.isRequired && <span class="note"> {words.required}</span>}
        </label>
      )}
      {field.kind !== 'box' && <Input field={field} id={id} text={text} onChange={onChange} />}
      {field.note && (
        <p class="note" id={`${id}-note`}>
          {field.note}
        </p>
      )}
      {isChanged && field.kind !== 'box' && field.text && (
        <p class="note was">
          {words.was} <del dir="auto">{field.text}</del>
        </p>
      )}
    </div>
  );
}

interface Props {
  form: Schema | null;
  body: Body;
  onAnswer: (answer: { approved: boolean; corrections: Body | null; comment: string | null }) => Promise<void>;
}

export function AnswerForm({ form, body, onAnswer }: Props) {
  const words = t().workflows;
  const fields = useMemo(() => fieldsOf(form, body, words.request), [form, body, words]);
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [comment, setComment] = useState('');
  const [fault, setFault] = useState('');
  const [isBusy, setBusy] = useState(false);
  const corrections = correctionsOf(fields, texts);
  const answer = async (approved: boolean) => {
    setBusy(true);
    setFault('');
    try {
      await onAnswer({ approved, corrections: approved ? corrections : null, comment: comment.trim() || null });
    } catch (error) {
      setFault(error instanceof Problem ? error.detail : t().signIn.unreachable);
    }
    setBusy(false);
  };
  return (
    <form class="answer-form" onSubmit={(event) => event.preventDefault()}>
      <div class="verdict">
        <button type="button" class="button is-good" disabled={isBusy} onClick={() => void answer(true)}>
          <Icon name="check" /> {corrections ? words.approveChanged : words.approve}
        </button>
        <button type="button" class="button is-reject" disabled={isBusy} onClick={() => void answer(false)}>
          <Icon name="close" /> {words.reject}
        </button>
      </div>
      <p class="fault" role="alert">
        {fault}
      </p>
      {fields.length > 0 && <p class="note">{words.correctNote}</p>}
      {fields.map((field, i) => (
        <FieldRow key={field.name} field={field} id={`f${i}`} text={texts[field.name] ?? field.text} onChange={(text) => setTexts({ ...texts, [field.name]: text })} />
      ))}
      <div class="field">
        <label for="comment">{words.comment}</label>
        <textarea class="input" id="comment" rows={2} maxLength={4096} dir="auto" value={comment} onInput={(event) => setComment(event.currentTarget.value)} />
      </div>
    </form>
  );
}
