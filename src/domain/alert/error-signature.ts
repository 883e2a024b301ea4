/**
 * Reduces a failure's message to its stable part, so that the same failure of many Flights and Birds has one name.
 * What varies is masked: numbers and ids as `#`; times, quoted values, paths and the variable parts of addresses as
 * `…`.
 */
import { cap, plainText } from '../../text/plain-text.ts';

export const MAX_SIGNATURE_LENGTH = 120;

/** Text beyond these limits is ignored: signatures are short, but messages may be megabytes. */
const MAX_TEXT_LENGTH = 16_384;
const MAX_LINE_LENGTH = 2048;

const LINE_END = /\r\n|[\n\r\u2028\u2029]/;

/** Lines that say where a program was, not what went wrong. */
const STACK_LINE =
  /^\s*(?:at\s.*[(:].*|at\s+[\w.$<>[\]`]+|File ".*", line \d+.*|Traceback \(most recent call last\):|-{3}.*-{3}|\.{3} \d+ more|goroutine \d+.*|\^+)\s*$/;

/** The keys of an error object that may say what went wrong, in order of preference. */
const SPEAKING_KEYS = ['message', 'error_description', 'detail', 'error', 'title', 'reason', 'description'];

const MONTH = '(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\\.?';
const WEEKDAY = '(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6},? )?';
const CLOCK = '(?:,? (?:at )?\\d{1,2}:\\d\\d(?::\\d\\d)?(?: ?[ap]m\\b)?)?(?: (?:gmt|utc|[+-]\\d{4})\\b)?';

/** Endings of files that people translate and programs exchange. */
const FILE_ENDINGS =
  '(?:docx?|xlsx?|pptx?|pdf|rtf|odt|txt|csv|tsv|md|html?|xml|xliff?|xlf|sdlxliff|mqxliff|mxliff|tmx|tbx|po|pot|resx|' +
  'properties|strings|json|ya?ml|srt|vtt|zip|gz|indd|idml|psd|svg|png|jpe?g|gif|mp[34]|wav|log|tmp)';

const MASKS: readonly (readonly [RegExp, string])[] = [
  // Addresses keep their host, which tells which system failed.
  [/\b([a-z][a-z0-9+.-]*:\/\/)(?:[^\s/@"'<>]*@)?([^\s/?#"'<>:,;)]+)[^\s"'<>]*/gi, '$1$2/…'],
  [/(?<![^\s@<>"'(),:;])[^\s@<>"'(),:;]+@[^\s@<>"'(),:;]+/g, '…'],
  [/"(?:[^"\\]|\\.){0,1000}"|“[^“”]{0,1000}”|„[^„“”]{0,1000}[“”]|«[^«»]{0,1000}»|`[^`]{0,1000}`/g, '…'],
  [/「[^「」]{0,1000}」|『[^『』]{0,1000}』/g, '…'],
  [/‘[^‘’]{0,1000}’|‚[^‚‘’]{0,1000}[‘’]/g, '…'],
  // An apostrophe within a word is not an opening quote.
  [/(?<![\p{L}\p{N}])'[^']{0,1000}'(?![\p{L}\p{N}])/gu, '…'],
  [/\b[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\b/gi, '#'],
  // IP addresses with their ports.
  [/(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?![\w.]\w)/g, '#'],
  [/\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?\s?(?:Z\b|[+-]\d\d:?\d\d\b)?/g, '…'],
  [new RegExp(`\\b${WEEKDAY}\\d{1,2} ${MONTH},? \\d{4}\\b${CLOCK}`, 'gi'), '…'],
  [new RegExp(`\\b${WEEKDAY}${MONTH} \\d{1,2}(?:st|nd|rd|th)?,? \\d{4}\\b${CLOCK}`, 'gi'), '…'],
  [/\b\d{1,2}[/.]\d{1,2}[/.]\d{2,4}\b/g, '…'],
  [/(?<![\w.:])\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?:\s?[AP]M\b)?/gi, '…'],
  [
    /(?<![\w:])\[?(?=[0-9a-f:]{0,40}\d)[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?![\w:])\]?(?::\d{1,5}\b)?/gi,
    '#',
  ],
  [/(?<![\w/\\])(?:[a-z]:)?(?:[\\/][\w.@%~+-]+){2,}[\\/]?/gi, '…'],
  [
    new RegExp(
      `(?<![\\p{L}\\p{N}_.-])[\\p{L}\\p{N}_-][\\p{L}\\p{N}_.-]{0,200}\\.${FILE_ENDINGS}(?![\\p{L}\\p{N}_-])`,
      'giu',
    ),
    '…',
  ],
  [/(?<![\p{L}\p{N}_-])(?:0x[0-9a-f]+|[0-9a-f]{8,})(?![\p{L}\p{N}_-])/giu, '#'],
  // A long word with digits is an id; a short one keeps its letters (HTTP#, S#).
  [/(?<![\p{L}\p{N}_-])(?=[\p{L}_-]*\p{N})[\p{L}\p{N}_-]{8,}(?![\p{L}\p{N}_-])/gu, '#'],
  [/(?:(?<![\p{L}\p{N}#…)\]])[-+])?\p{N}+(?:[.,:]\p{N}+)*(?:e[-+]?\p{N}+)?/giu, '#'],
  // Sizes, and times in several units, vary as much as their numbers.
  [/#\s?(?:[kmgt]i?b|bytes?)\b/gi, '#'],
  [/#(?:ms|[smhd])(?: ?#(?:ms|[smhd]))*\b/g, '#'],
  // Lists of masked items differ in length.
  [/([#…])(?:[\s,;|/]+\1)+/g, '$1'],
];

/** Messages whose signature is cached: many failures have the same message, and masking takes about 10 µs. */
const MAX_REMEMBERED = 256;
const MAX_REMEMBERED_LENGTH = 1024;

const remembered = new Map<string, string>();

/** Empty if the message has no content. At most 120 code points. */
export function signature(message: string): string {
  if (message.length > MAX_REMEMBERED_LENGTH) return signatureOf(message);
  let known = remembered.get(message);
  if (known === undefined) {
    known = signatureOf(message);
    // The oldest entry is evicted.
    if (remembered.size >= MAX_REMEMBERED) remembered.delete(remembered.keys().next().value!);
    remembered.set(message, known);
  }
  return known;
}

function signatureOf(message: string): string {
  const text = message.slice(0, MAX_TEXT_LENGTH).trim();
  return cap(firstSpeaking(documentWords(text) ?? text, mask), MAX_SIGNATURE_LENGTH);
}

/** The first line that says in words what went wrong, as `read` gives it; if none does, the first with anything at all. */
function firstSpeaking(text: string, read: (line: string) => string): string {
  let fallback = '';
  let isTraceback = false;
  for (const line of text.split(LINE_END)) {
    // Python says what went wrong below the lines that say where; those also quote the program.
    isTraceback = line.startsWith('Traceback (most recent') || (isTraceback && /^\s/.test(line));
    if (isTraceback || line.trim() === '' || STACK_LINE.test(line)) continue;
    const said = read(line);
    if (/\p{L}/u.test(said)) return said;
    fallback ||= said;
  }
  return fallback;
}

/**
 * The line of a message that says what went wrong, as it is: below the places of a traceback, the words of JSON or of a
 * gateway's page, or else the first. A message of one line is returned whole. Empty if no line says anything.
 */
export function reasonOf(message: string): string {
  const text = message.slice(0, MAX_TEXT_LENGTH).trim();
  if (!LINE_END.test(text)) return text;
  const isMarkup = text.startsWith('<') && !/^<(?:!doctype|html|\?xml)\b/i.test(text);
  return firstSpeaking((isMarkup ? undefined : documentWords(text)) ?? text, (line) => line.trim());
}

/** The message; after its reason (`reasonOf`), if that does not stand in its first `units` UTF-16 units: the rest may be cut. */
export function reasonFirst(message: string, units: number): string {
  const reason = reasonOf(message);
  const seen = message.trimStart().slice(0, units);
  return seen.includes(reason) || reason.startsWith(seen) ? message : `${reason}\n${message}`;
}

function mask(line: string): string {
  let text = plainText(speaking(line), MAX_LINE_LENGTH);
  for (const [pattern, replacement] of MASKS) text = text.replace(pattern, replacement);
  return text.trim();
}

/** The words of a message that is a whole document: JSON, or a gateway's page. */
function documentWords(text: string): string | undefined {
  if (text.startsWith('{') || text.startsWith('[')) return saidBy(parsed(text), 0);
  if (!text.startsWith('<')) return undefined;
  const title = /<(title|h1)\b[^<>]{0,200}>([^<>]{1,500})</i.exec(text)?.[2];
  return title ?? text.replace(/<[^<>]{0,500}>/g, ' ');
}

/** Replaces a JSON object, which masking would empty, with the words it contains. */
function speaking(line: string): string {
  const from = line.indexOf('{');
  const to = line.lastIndexOf('}');
  if (from < 0 || to < from) return line;
  const said = saidBy(parsed(line.slice(from, to + 1)), 0);
  return said === undefined ? line : line.slice(0, from) + said + line.slice(to + 1);
}

function saidBy(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return value.trim() || undefined;
  if (typeof value !== 'object' || value === null || depth > 3) return undefined;
  if (Array.isArray(value)) return saidBy(value[0], depth + 1);
  for (const key of SPEAKING_KEYS) {
    const said = Object.hasOwn(value, key) ? saidBy(value[key as keyof typeof value], depth + 1) : undefined;
    if (said !== undefined) return said;
  }
  return undefined;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** A signature for people: all that varies is `…`. */
export function signatureWords(masked: string): string {
  return masked.replace(/#+/g, '…');
}
