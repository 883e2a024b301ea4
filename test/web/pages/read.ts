import { ALERT_KINDS } from '../../../src/domain/kinds/kinds.ts';

/** What a person reads: the page without markup, with white space collapsed. */
export function read(page: string): string {
  const body = page
    .slice(page.indexOf('<body'))
    .replace(/<script>[\s\S]*?<\/script>/g, '')
    .replace(/<[^>]+>/g, ' ');
  return body
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, '&')
    .replace(/\s+/g, ' ')
    .replace(/ ([.,:])/g, '$1');
}

/** The addresses of a page's links. */
export function links(page: string): string[] {
  return [...page.matchAll(/ href="([^"]*)"/g)].map(([, href]) => href!.replaceAll('&amp;', '&'));
}

const CODES = [
  /#/g,
  /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g,
  /\b[A-Z]+_[A-Z_]+\b/g,
  /\b[a-z]+_[a-z_]+\b/g,
  /\b(?:flight|bird_log|notification|inventory|action)\.[A-Za-z]\w+/g,
  new RegExp(`\\b(?:${ALERT_KINDS.join('|')}|Plugin[A-Z]\\w+)\\b`, 'g'),
];

/** What only programs should read: patterns of errors, ids of 36 signs, names of kinds, events, reasons and system errors. */
export function codesIn(text: string): string[] {
  return CODES.flatMap((code) => text.match(code) ?? []);
}
