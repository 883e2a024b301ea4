/** Makes clean text harmless in a mail: escapes HTML, and tells which addresses may be links. */

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
