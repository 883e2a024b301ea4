import { expect, test } from 'vitest';
import { annotate } from '../../src/domain/alert/labels.ts';
import { load, problemsOf, REGION } from './load.ts';

const annotationsOf = (text: string, labels: Readonly<Record<string, string>>) => {
  const [rule] = load(`${REGION}rules: [{ kind: FlightFailed, annotations: { a: '${text}' } }]`).rules;
  return annotate({ rule: rule!, labels }, 'a summary', 'a message').a;
};

test.each([
  ['no braces', 'no braces'],
  ['of {{ labels.bird }} in {{ labels.nest | upcase }}', 'of Publish in DOCS'],
  ['{% if labels.severity == "critical" %}call{% else %}mail{% endif %}', 'call'],
  ['https://wiki.example.com/{{ labels.bird | url_encode }}', 'https://wiki.example.com/Publish'],
  ['{{ summary }}: {{ description }}', 'a summary: a message'],
  ['none: {{ labels.error }}', 'none:'],
])('an annotation %j is written for the alert', (text, expected) => {
  const labels = { bird: 'Publish', nest: 'Docs', severity: 'critical' };
  expect(annotationsOf(text, labels)).toBe(expected);
});

test('what stands in a label stays text', () => {
  const bird = '{{ labels.nest }}\u0000\u202e<b>{% raw %}';
  const written = annotationsOf('{{ labels.bird }}', { bird, nest: 'secret' });
  expect(written).toContain('{{ labels.nest }}');
  expect(written).toContain('<b>{% raw %}');
  for (const one of ['\u0000', '\u202e', 'secret']) expect(written).not.toContain(one);
  expect(annotationsOf('{{ labels.bird }}', { bird: 'x'.repeat(100_000) })!.length).toBeLessThan(2_100);
});

test('one that exceeds a limit for an alert is left out, and the alert still fires', () => {
  expect(
    annotationsOf('{% for a in (1..labels.bird) %}{{ a }}{{ description }}{% endfor %}', {
      bird: '99999999',
    }),
  ).toBeUndefined();
});

test.each([
  ['{{ labels.brid }}', 'undefined variable: labels.brid, line:1, col:4'],
  ['{{ label.bird }}', 'there is no variable label; there are labels, summary, description'],
  ['{{ labels.constructor }}', 'undefined variable: labels.constructor, line:1, col:4'],
  ['{{ labels.bird | shout }}', 'undefined filter: shout, line:1, col:1'],
  ['{{ labels.bird', 'output "{{ labels.bird" not closed, line:1, col:1'],
])('%j is a mistake, found when the configuration is read', (text, message) => {
  expect(problemsOf(`${REGION}rules: [{ kind: FlightFailed, annotations: { a: '${text}' } }]`)).toEqual([
    `2:49: rules[0].annotations.a: ${message}`,
  ]);
});

test('a label that the rule adds may be used, but not one of another kind', () => {
  const rule = (kind: string) =>
    `${REGION}rules: [{ kind: ${kind}, labels: { team: a }, annotations: { a: '{{ labels.team }} {{ labels.bird }}' } }]`;
  expect(problemsOf(rule('FlightFailed'))).toEqual([]);
  expect(problemsOf(rule('RegionDown'))).toHaveLength(1);
});
