/** A titled list in a digest. Clean and capped, not escaped. */
export interface Section {
  readonly title: string;
  readonly rows: readonly Row[];
  /** Rows that are counted but not listed. */
  readonly more: number;
}

export interface Row {
  /** What the row starts with: a count, a duration, a region. */
  readonly lead: string;
  readonly what: string;
  /** Empty for nothing. */
  readonly note: string;
  /** The page about it. */
  readonly url?: string | undefined;
}

/** What a view of a digest says of alerts and events: its sections have all of it. */
export const NO_ALERTS = {
  ...{ lead: [], message: [], messageTitle: '', details: [], clusters: [], alertsMore: 0 },
  ...{ each: [], eachMore: 0 },
  ...{ events: [], eventsMore: 0, eventsTitle: '', notices: [] },
};

export const MAX_SECTIONS = 12;

export function sectionText({ title, rows, more }: Section): string {
  const width = Math.max(0, ...rows.map(({ lead }) => lead.length));
  const lines = rows.map(
    ({ lead, what, note }) => `  ${lead.padEnd(width)}  ${what}${note ? ` (${note})` : ''}`,
  );
  return [`${title}:`, ...lines, ...(more > 0 ? [`  … and ${more} more`] : []), ''].join('\n');
}

export function sectionHtml({ title, rows, more }: Section): string {
  const lines = rows.map(
    ({ lead, what, note, url }) =>
      `<tr><td class="quiet" style="padding:2px 12px 2px 0;color:#475467;vertical-align:top;white-space:nowrap">${escapeHtml(lead)}</td>` +
      `<td style="padding:2px 0;width:100%;overflow-wrap:anywhere;word-break:break-word">${url === undefined ? escapeHtml(what) : `<a class="link" href="${escapeHtml(url)}" style="color:#175cd3">${escapeHtml(what)}</a>`}` +
      `${note ? ` <span class="quiet" style="color:#475467">· ${escapeHtml(note)}</span>` : ''}</td></tr>`,
  );
  return [
    titleHtml(title),
    '<table role="presentation" cellpadding="0" cellspacing="0" style="border-collapse:collapse;width:100%">',
    ...lines,
    '</table>',
    ...(more > 0 ? [`<p class="quiet" style="margin:4px 0 0;color:#475467">… and ${more} more</p>`] : []),
  ].join('\n');
}

/** The title of a list. */
export function titleHtml(text: string): string {
  return `<h2 class="quiet" style="margin:18px 0 6px;font-size:13px;font-weight:600;color:#475467">${escapeHtml(text)}</h2>`;
}

// Makes clean text harmless in a mail: escapes HTML, and tells which addresses may be links.

/** Nobody would follow a longer link. */
const MAX_URL_LENGTH = 500;

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
]);

/** For element content and quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES.get(character)!);
}

/** The address, if a mail may link to it. */
export function linkable(text: string): string | undefined {
  // Far too long to be worth parsing.
  if (text.length > 4 * MAX_URL_LENGTH) return undefined;
  const url = URL.parse(text.trim());
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:';
  return isWeb && url.href.length <= MAX_URL_LENGTH ? url.href : undefined;
}
