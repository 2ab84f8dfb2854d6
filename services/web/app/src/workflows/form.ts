// SPDX-License-Identifier: MIT
//
// form: the fields in which a person corrects a request, by the JSON Schema of the question. The fields show what the request says. If
// one of them is changed, all of them are the correction, so that the members that the form requires are there.
import type { Body, Schema } from './run';

export type FieldKind = 'line' | 'text' | 'number' | 'box' | 'choice' | 'json';

export interface Field {
  name: string;
  label: string;
  note: string;
  kind: FieldKind;
  choices: string[];
  isRequired: boolean;
  schema: Schema;
  initial: unknown;
  /** What the field shows at first. */
  text: string;
}

const LINE_MAX = 120;

const textOf = (value: unknown) => (value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value));
const takes = (schema: Schema, type: string) => (Array.isArray(schema.type) ? schema.type.includes(type) : schema.type === type);

function kindOf(schema: Schema, text: string): FieldKind {
  if (Array.isArray(schema.enum)) return 'choice';
  if (takes(schema, 'boolean')) return 'box';
  if (takes(schema, 'number') || takes(schema, 'integer')) return 'number';
  if (takes(schema, 'object') || takes(schema, 'array')) return 'json';
  return typeof schema.maxLength === 'number' && schema.maxLength <= LINE_MAX && !text.includes('\n') ? 'line' : 'text';
}

function fieldOf(name: string, schema: Schema, body: Body, required: unknown): Field {
  const initial = name in body ? body[name] : schema.default;
  const text = textOf(initial);
  return {
    name,
    schema,
    initial,
    text: takes(schema, 'boolean') && !Array.isArray(schema.enum) ? String(initial === true) : text,
    label: typeof schema.title === 'string' && schema.title ? schema.title : name,
    note: typeof schema.description === 'string' ? schema.description : '',
    kind: kindOf(schema, text),
    choices: Array.isArray(schema.enum) ? schema.enum.map(textOf) : [],
    isRequired: Array.isArray(required) && required.includes(name),
  };
}

/** `ownTitle`: of the one field that a question without a form has. */
export function fieldsOf(form: Schema | null, body: Body, ownTitle: string): Field[] {
  const own = typeof body.raw_text === 'string' ? { properties: { raw_text: { type: 'string', title: ownTitle } } } : {};
  const { properties = {}, required } = (form ?? own) as { properties?: Record<string, Schema>; required?: unknown };
  return Object.entries(properties).map(([name, schema]) => fieldOf(name, schema, body, required));
}

function valueOf(field: Field, text: string): unknown {
  if (field.kind === 'choice') return (field.schema.enum as unknown[]).find((one) => textOf(one) === text) ?? text;
  if (field.kind !== 'number' && field.kind !== 'json') return text;
  try {
    return JSON.parse(text);
  } catch {
    return text; // the node says what the member takes
  }
}

/** null: nothing has been changed. */
export function correctionsOf(fields: Field[], texts: Record<string, string>): Body | null {
  const shown = (field: Field) => texts[field.name] ?? field.text;
  if (fields.every((field) => shown(field) === field.text)) return null;
  const corrections: Body = {};
  for (const field of fields) {
    const text = shown(field);
    if (field.kind === 'box') {
      corrections[field.name] = text === 'true';
    } else if (text === field.text) {
      if (field.initial !== undefined && field.initial !== null) corrections[field.name] = field.initial;
    } else if (text.trim() === '' && typeof field.initial !== 'string') {
      if (field.initial !== undefined && field.initial !== null) corrections[field.name] = null;
    } else {
      corrections[field.name] = valueOf(field, text);
    }
  }
  return corrections;
}
