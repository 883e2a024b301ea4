/** What must not be in a text that leaves nestwatch, whatever came in. */
import { SCRIPT } from '../../src/web/pages/frame/page-script.ts';
import { EVALUATED } from './hostile-values.ts';

/** Where a text is shown. */
export type Medium = 'html' | 'text' | 'header' | 'slack' | 'teams' | 'json' | 'log' | 'metrics';

/** Control characters, and characters that change the direction of text. */
const CONTROLS = /[[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069\u200e\u200f]--[\n\r\t]]/v;
const HALF = /\p{Cs}/u;

const NEVER: Readonly<Record<Medium, readonly RegExp[]>> = {
  html: [CONTROLS, /<script/i, /<img src=x/i, /<style>\*/, /['"] onmouseover='/],
  text: [CONTROLS],
  header: [CONTROLS, /[\r\n\t]/],
  slack: [/<!channel>/, /<@U0HOSTILE>/, /<http:\/\/evil\.example/],
  // Teams does not read Markdown in its text runs, but in the other blocks.
  teams: [/\bTextBlock\b/],
  // Programs get the original text, which only JSON has to be able to hold.
  json: [HALF],
  log: [CONTROLS],
  metrics: [CONTROLS, /^nestwatch_up 0$/m],
};

/** What is wrong with a text, together with its surroundings; undefined if nothing is. */
export function mistakeIn(medium: Medium, whole: string): string | undefined {
  // Each page ends with its one script, which is allowed.
  const text = medium === 'html' ? whole.replace(`<script>${SCRIPT}</script>`, '') : whole;
  const bad = [...NEVER[medium], new RegExp(EVALUATED)].flatMap((one) => one.exec(text) ?? []);
  const [first] = bad;
  if (!first) return undefined;
  const at = text.indexOf(first);
  return `${medium} has ${JSON.stringify(first)} in ${JSON.stringify(text.slice(Math.max(0, at - 80), at + 80))}`;
}
