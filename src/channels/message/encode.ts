/** What makes clean text harmless in a mail: HTML escapes, addresses that may be links. */

/** Longer ones are no links that a person would follow. */
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

/** The address when it is one that a mail may link to. */
export function linkable(text: string): string | undefined {
  // Parsing what is far too long would only cost time.
  if (text.length > 4 * MAX_URL_LENGTH) return undefined;
  const url = URL.parse(text.trim());
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:';
  return isWeb && url.href.length <= MAX_URL_LENGTH ? url.href : undefined;
}
