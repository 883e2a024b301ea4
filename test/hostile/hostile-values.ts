/**
 * Senseless names and values: names that every object has, markup, templates, control characters, numbers beyond any
 * range, and far too much of anything. The result depends only on `random`.
 */
import { pick } from '../../src/simulator/world/seeded-random.ts';
import type { Random } from '../../src/time/clock.ts';

/** What Liquid would make of one of the texts. It must not appear in anything that leaves. */
export const EVALUATED = String(918_273 * 564_738);

/** If a text were run as a program, it would set this. */
export const EXECUTED = '__hostile_text_was_executed';

const BUILT_IN_NAMES = [
  'constructor',
  '__proto__',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
  '__defineGetter__',
  'toJSON',
  'then',
  'length',
];

const MARKUP = [
  `<script>globalThis.${EXECUTED}=1</script>`,
  `"><img src=x onerror="${EXECUTED}=1">`,
  "' onmouseover='alert(1)' x='",
  '<!channel> <!here> <@U0HOSTILE> <http://evil.example|click here>',
  '[hostile link](http://evil.example) ![x](http://evil.example/x.png)',
  '</td></tr></table><style>*{display:none}</style>',
  '&lt;script&gt; &amp;amp; &#60;',
  '<!-- ]]> <![CDATA[',
];

const TEMPLATES = [
  '{{ 918273 | times: 564738 }}',
  '{% for i in (1..99999999) %}x{% endfor %}',
  '{% include "/etc/passwd" %} {% render "x" %}',
  `\${globalThis.${EXECUTED}=1} $\{constructor} $$ $(id) \`id\``,
  `{{ constructor.constructor("globalThis.${EXECUTED}=1")() }}`,
  '{{ .CommonLabels.alertname }} {{ template "x" . }}',
];

const CONTROLS = [
  'a\u0000b',
  '\u001b[2J\u001b]0;title\u0007\u001b[31mred',
  '\u009b31m\u0090q\u009c\u0085next',
  'x\r\nBcc: everybody@evil.example\r\n\r\n<b>body</b>',
  'x\nnestwatch_up 0\n# HELP',
  'abc\u202egnp.exe\u202c \u2066x\u2069 \u200e\u200f',
  '\ud800 lone \udc00',
  '\ufeff\u200b\u2028\u2029\u{e0041}',
  `e${'\u0301'.repeat(200)}`,
];

const AMOUNTS = [
  'NaN',
  '-0',
  '1e999',
  '-1',
  '0x10',
  '9007199254740993',
  '18446744073709551616',
  '1_000',
  '٣',
];

const INSTANTS = [
  '0001-01-01T00:00:00Z',
  '-271821-04-20T00:00:00Z',
  '+275760-09-13T00:00:00.000001Z',
  '9999-12-31T23:59:59.999999999Z',
  '2026-02-30T25:61:61Z',
  '2058-01-01T00:00:00Z',
  '2026-07-02T12:00:00+99:99',
  'now',
];

const PATHS = ['../../../etc/passwd', 'file:///etc/passwd', 'C:\\x', '%2e%2e%2f', '?a=b#c', ' ', ''];

const SHORT_TEXTS = [
  ...BUILT_IN_NAMES,
  ...MARKUP,
  ...TEMPLATES,
  ...CONTROLS,
  ...AMOUNTS,
  ...INSTANTS,
  ...PATHS,
];

/** A name that every object has. */
export function builtInName(random: Random): string {
  return pick(random, BUILT_IN_NAMES);
}

/** `mostCharacters` limits the long ones, which are rare. */
export function hostileText(random: Random, mostCharacters: number): string {
  const chance = random();
  if (chance < 0.85) return pick(random, SHORT_TEXTS);
  const pattern = pick(random, ['x', 'ab ', '<', '\n', '\u202e', '{{', '"\\', '😀', '\ud800', ...MARKUP]);
  const length = chance < 0.95 ? 5000 : mostCharacters;
  return pattern.repeat(Math.max(1, Math.floor(Math.min(length, mostCharacters) / pattern.length)));
}

const NUMBERS = [0, -1, 1.5, 2 ** 31, 2 ** 53 + 2, -(2 ** 63), 1e308, 5e-324, 99_999_999_999];

/** Any value that JSON can express. */
export function hostileValue(random: Random, mostCharacters: number): unknown {
  const chance = random();
  if (chance < 0.6) return hostileText(random, mostCharacters);
  if (chance < 0.7) return pick(random, NUMBERS);
  if (chance < 0.8) return pick(random, [null, true, false]);
  if (chance < 0.85) return deep(random() < 0.5 ? '[' : '{', 500);
  if (chance < 0.9) return Array.from({ length: Math.min(2000, mostCharacters) }, (_, at) => at);
  if (chance < 0.95) return hostileRecord(random, mostCharacters);
  return pick(random, [[], {}, [null], [[]], { id: {} }]);
}

/** With names that every object inherits, as own properties, as `JSON.parse` creates them. */
function hostileRecord(random: Random, mostCharacters: number): unknown {
  const entries = Array.from({ length: 3 }, () => {
    const value = hostileText(random, Math.min(1000, mostCharacters));
    return `${JSON.stringify(builtInName(random))}:${JSON.stringify(value)}`;
  });
  return JSON.parse(`{${entries.join(',')}}`);
}

function deep(bracket: '[' | '{', levels: number): unknown {
  let value: unknown = 0;
  for (let level = 0; level < levels; level += 1) value = bracket === '[' ? [value] : { toString: value };
  return value;
}
