/** Renders text from outside for people: ids of 36 signs by their first eight, with the whole as tooltip. */
import { html } from 'hono/html';
import { manyLines, plainText } from '../../../text/plain-text.ts';
import type { Html } from './page-frame.ts';
import { NAME_LENGTH } from './page-words.ts';

const GUIDS = /\b([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b/i;

/** One line. */
export function said(text: string, maxCodePoints: number): Html {
  return withShortIds(plainText(text, maxCodePoints));
}

export function saidInLines(text: string, maxCodePoints: number): Html {
  return withShortIds(manyLines(text, maxCodePoints));
}

function withShortIds(text: string): Html {
  // Every second part is what the group matched.
  const parts = text.split(GUIDS);
  return html`<bdi>${parts.map((part, index) => (index % 2 === 1 ? html`<span title="${part}">${part.slice(0, 8)}</span>` : part))}</bdi>`;
}

/** The step that failed: by its name if the service gives one, else by its id. */
export function saidStep({ scope, step }: { readonly scope: string; readonly step: string }): Html {
  return said(scope || step, NAME_LENGTH);
}
