// SPDX-License-Identifier: MIT
//
// body_view: what a run carries: its request, the SQL, rows, and whatever else agents have put in.
import { CodeBlock } from '../markdown/markdown';
import { t } from '../texts';
import type { Body } from './run';

const ROWS_MAX = 100;
const KNOWN = ['columns', 'rows', 'rowcount'];

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));

export const hasRows = (body: Body) => Array.isArray(body.columns) && Array.isArray(body.rows) && body.columns.length > 0;

export function RowsTable({ body }: { body: Body }) {
  const columns = body.columns as unknown[];
  const rows = body.rows as unknown[][];
  return (
    <div class="table" tabIndex={0} role="region" aria-label={t().workflows.rows(rows.length)}>
      <table>
        <thead>
          <tr>
            {columns.map((name, i) => (
              <th key={i} scope="col" dir="auto">
                {textOf(name)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, ROWS_MAX).map((row, i) => (
            <tr key={i}>
              {columns.map((_, k) => (
                <td key={k} dir="auto">
                  {row[k] === null ? '–' : textOf(row[k])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function BodyView({ body }: { body: Body }) {
  const entries = Object.entries(body).filter(([name]) => !hasRows(body) || !KNOWN.includes(name));
  return (
    <>
      <dl class="facts is-body">
        {entries.map(([name, value]) => (
          <div key={name}>
            <dt dir="auto">{name}</dt>
            <dd dir="auto">{name === 'sql_query' && typeof value === 'string' ? <CodeBlock source={value} language="SQL" /> : textOf(value)}</dd>
          </div>
        ))}
      </dl>
      {hasRows(body) && <RowsTable body={body} />}
    </>
  );
}
