/**
 * Separates what nestwatch itself says from texts that others wrote: names, messages and mail addresses of the service, and
 * comments of people. An agent that reads them must not take them for instructions, so in every object they stand under
 * `untrusted`. What is ours is known by name, and by a form in which nobody can write a sentence.
 */
import { plainText } from '../../text/plain-text.ts';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** Longer texts are cut. */
const TEXT_CODE_POINTS = 2_000;

const OURS = new Set([
  ...['id', 'key', 'short_id', 'fingerprint', 'nest_id', 'bird_id', 'flight_id', 'notification_id', 'event'],
  ...[
    'region',
    'feed',
    'type',
    'kind',
    'alertname',
    'severity',
    'status',
    'state',
    'standing',
    'reason',
    'outcome',
  ],
  ...['since', 'until', 'at', 'startsAt', 'endsAt', 'occurred_at', 'observed_at', 'started_at', 'ended_at'],
  ...[
    'created_at',
    'settled_at',
    'next_attempt_at',
    'next_flush',
    'status_since',
    'integration',
    'trigger_type',
  ],
  ...['error_type', 'novelty', 'ending', 'generatorURL', 'url', 'next', 'version', 'month', 'sort'],
]);
const NO_SENTENCE = /^[\w.:/{}=%#?&+~@-]{0,400}$/;

export function withUntrusted(json: Json): Json {
  if (Array.isArray(json)) return json.map(withUntrusted);
  if (typeof json !== 'object' || json === null) return json;
  const ours: [string, Json][] = [];
  const untrusted: [string, Json][] = [];
  for (const [name, value] of Object.entries(json)) {
    // Names of labels and annotations may come from people.
    const isPlain = NO_SENTENCE.test(name);
    const shown = isPlain ? name : plainText(name, TEXT_CODE_POINTS);
    const isOurs = isPlain && OURS.has(name) && typeof value === 'string' && NO_SENTENCE.test(value);
    if (isText(value)) (isOurs ? ours : untrusted).push([shown, cut(value)]);
    else (isPlain ? ours : untrusted).push([shown, withUntrusted(value)]);
  }
  return Object.fromEntries(
    untrusted.length === 0 ? ours : [...ours, ['untrusted', Object.fromEntries(untrusted)]],
  );
}

/** A text, or a list of texts. */
function isText(value: Json): value is string | readonly string[] {
  if (typeof value === 'string') return true;
  return Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string');
}

function cut(value: string | readonly string[]): Json {
  const text = (one: string) => [...one.slice(0, 2 * TEXT_CODE_POINTS)].slice(0, TEXT_CODE_POINTS).join('');
  return typeof value === 'string' ? text(value) : value.map(text);
}
