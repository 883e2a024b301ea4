/** Renders a table that becomes cards on a narrow screen, where each cell shows its column's name. */
import { html } from 'hono/html';
import type { Html } from './page-frame.ts';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => Html | string;
  /** Whether it is a number, which is aligned right. */
  readonly isNumber?: boolean;
}

/** The first column names the row. `caption` is only for screen readers. */
export function dataTable<Row>(caption: string, columns: readonly Column<Row>[], rows: readonly Row[]): Html {
  // The roles preserve the table for screen readers where the style turns cells into blocks.
  const heads = columns.map(
    ({ title, isNumber }) => html`<th scope="col" role="columnheader"${numeric(isNumber)}>${title}</th>`,
  );
  const lines = rows.map(
    (row) =>
      html`<tr role="row">${columns.map(({ title, cell, isNumber }, index) =>
        index === 0
          ? html`<th scope="row" role="rowheader">${cell(row)}</th>`
          : html`<td role="cell" data-title="${title}"${numeric(isNumber)}>${cell(row)}</td>`,
      )}</tr>`,
  );
  return html`<div class="sheet"><table class="data" role="table">
<caption class="heard">${caption}</caption>
<thead role="rowgroup"><tr role="row">${heads}</tr></thead>
<tbody role="rowgroup">${lines}</tbody>
</table></div>`;
}

function numeric(isNumber: boolean | undefined): Html | string {
  return isNumber ? html` class="number"` : '';
}
