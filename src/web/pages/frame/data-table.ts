/** A table that a narrow screen shows as cards: there each cell has its column's name beside it. */
import { html } from 'hono/html';
import type { Html } from './page-frame.ts';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => Html | string;
  /** A number: it stands at the right. */
  readonly isNumber?: boolean;
}

/** The first column names the row. `caption` is heard, not seen. */
export function dataTable<Row>(caption: string, columns: readonly Column<Row>[], rows: readonly Row[]): Html {
  // The roles keep a table a table for those who hear it, where the style makes blocks of its cells.
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
