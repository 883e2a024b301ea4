/** What must not be in a text that leaves nestwatch, whatever came in. */
import { SCRIPT } from '../../src/web/pages/frame/page-script.ts';
import { EVALUATED } from './hostile-values.ts';

/** Where a text is shown. */
export type Medium = 'html' | 'text' | 'header' | 'slack' | 'teams' | 'json' | 'log' | 'metrics';

/** Controls, and what turns the direction of text. */
const CONTROLS = /[[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069\u200e\u200f]--[\n\r\t]]/v;
const HALF = /\p{Cs}/u;

const NEVER: Readonly<Record<Medium, readonly RegExp[]>> = {
  html: [CONTROLS, /<script/i, /<img src=x/i, /<style>\*/, /['"] onmouseover='/],
  text: [CONTROLS],
  header: [CONTROLS, /[\r\n\t]/],
  slack: [/<!channel>/, /<@U0HOSTILE>/, /<http:\/\/evil\.example/],
  // Its runs of text read no Markdown; the other blocks do.
  teams: [/\bTextBlock\b/],
  // Programs are given the very text: JSON alone has to hold it.
  json: [HALF],
  log: [CONTROLS],
  metrics: [CONTROLS, /^nestwatch_up 0$/m],
};

/** What is wrong with a text, with what stands around it; undefined for nothing. */
export function mistakeIn(medium: Medium, whole: string): string | undefined {
  // Each page ends with the one script that is its own.
  const text = medium === 'html' ? whole.replace(`<script>${SCRIPT}</script>`, '') : whole;
  const bad = [...NEVER[medium], new RegExp(EVALUATED)].flatMap((one) => one.exec(text) ?? []);
  const [first] = bad;
  if (!first) return undefined;
  const at = text.indexOf(first);
  return `${medium} has ${JSON.stringify(first)} in ${JSON.stringify(text.slice(Math.max(0, at - 80), at + 80))}`;
}
