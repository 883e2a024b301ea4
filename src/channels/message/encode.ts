/** What makes hostile text harmless in a mail: clean lines, HTML escapes, addresses that may be links. */
import { plainText } from '../../text/plain-text.ts';

/** Longer ones are no links that a person would follow. */
const MAX_URL_LENGTH = 500;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** For element content and quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}

/** The first lines of a text that says something, each cleaned and capped; a last `…` stands for what is left out. */
export function plainLines(text: string, maxLines: number, maxCodePoints: number): string[] {
  const bounded = text.slice(0, maxLines * maxCodePoints * 4);
  const lines = bounded
    .split(/[\r\n\u0085\u2028\u2029]+/)
    .map((line) => plainText(line, maxCodePoints))
    .filter((line) => line !== '');
  const isCut = lines.length > maxLines || bounded.length < text.length;
  return isCut ? [...lines.slice(0, maxLines), '…'] : lines;
}

/** The address when it is one that a mail may link to. */
export function linkable(text: string): string | undefined {
  // Parsing what is far too long would only cost time.
  if (text.length > 4 * MAX_URL_LENGTH) return undefined;
  const url = URL.parse(text.trim());
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:';
  return isWeb && url.href.length <= MAX_URL_LENGTH ? url.href : undefined;
}
