import { describe, expect, test } from 'vitest';
import { routeAt } from '../../src/domain/routing/route.ts';
import { load, problemsOf, REGION } from './load.ts';

const GROUP = {
  groupLabels: { alertname: 'FlightFailed', nest: 'Docs' },
  commonLabels: { alertname: 'FlightFailed', nest: 'Docs', severity: 'critical' },
};

/** What the labels of the route at `path` become for a group. */
function written(route: string, path = '0', group = GROUP) {
  const config = load(`${REGION}route: ${route}\nreceivers: [{ name: a }]\n`);
  return routeAt(config.route, path)!.writeLabels?.(group);
}

describe('labels of a route', () => {
  test('are texts, or Liquid templates of the labels of its groups', () => {
    expect(
      written(`{ receiver: a, labels: {
        team: loc-ops,
        where: '{{ groupLabels.nest | upcase }}',
        how: '{% if commonLabels.severity == "critical" %}call{% else %}mail{% endif %}',
        none: '{{ groupLabels.bird }}',
        a-b: '{{ routeLabels.team }}' } }`),
    ).toEqual({ team: 'loc-ops', where: 'DOCS', how: 'call', none: '', 'a-b': 'loc-ops' });
    expect(written('{ receiver: a }')).toBeUndefined();
  });

  test('are inherited one by one; a route below can replace a label, also where another label uses it', () => {
    const route = `{ receiver: a, labels: { reason: '{{ groupLabels.alertname }}', text: 'because {{ routeLabels.reason }}' },
      routes: [{ matchers: ['nest="Docs"'], labels: { reason: 'of {{ groupLabels.nest }}' } }, { matchers: ['nest="x"'] }] }`;
    expect(written(route)).toEqual({ reason: 'FlightFailed', text: 'because FlightFailed' });
    expect(written(route, '0.0')).toEqual({ reason: 'of Docs', text: 'because of Docs' });
    expect(written(route, '0.1')).toEqual(written(route));
  });

  test('text from a label of the group stays text, of a length that can be shown', () => {
    const nest = '{{ commonLabels.severity }}\u202e<b>';
    const labels = "{ receiver: a, labels: { text: '{{ groupLabels.nest }}' } }";
    const text = written(labels, '0', { ...GROUP, groupLabels: { ...GROUP.groupLabels, nest } })!.text!;
    expect(text).toContain('{{ commonLabels.severity }}');
    expect(text).not.toContain('\u202e');
    const long = { ...GROUP, groupLabels: { ...GROUP.groupLabels, nest: 'x'.repeat(100_000) } };
    expect(written(labels, '0', long)!.text!.length).toBeLessThan(2_100);
  });

  test('one that exceeds a limit for a group is left out, with the labels that use it, and no other', () => {
    const labels = `{ receiver: a, labels: { a: '{{ routeLabels.b }}', b: '{% for n in (1..groupLabels.nest) %}{{ n }}{% endfor %}', c: c } }`;
    const group = { ...GROUP, groupLabels: { ...GROUP.groupLabels, nest: '99999999' } };
    expect(written(labels, '0', group)).toEqual({ c: 'c' });
  });

  test.each([
    [
      "{ a: '{{ labels.nest }}' }",
      'labels.a: there is no variable labels; there are groupLabels, commonLabels, routeLabels',
    ],
    ["{ a: '{{ groupLabels.nest | shout }}' }", 'labels.a: undefined filter: shout, line:1, col:1'],
    [
      "{ a: '{{ routeLabels.b }}', b: '{{ routeLabels.a }}' }",
      'labels: a: routeLabels.a is written by means of itself',
    ],
    ["{ a: '{{ routeLabels.a }}' }", 'labels: a: routeLabels.a is written by means of itself'],
    ["{ '': x }", 'labels'],
    ['{ a: 1 }', 'labels.a: '],
  ])('%s is a mistake, found when the configuration is read', (labels, problem) => {
    const problems = problemsOf(
      `${REGION}route: { receiver: a, labels: ${labels} }\nreceivers: [{ name: a }]\n`,
    );
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(`route.${problem}`);
  });

  test('a child that closes a circle is the mistake, not its parent', () => {
    const route = `{ receiver: a, labels: { a: '{{ routeLabels.b }}', b: b }, routes: [{ matchers: ['x=y'], labels: { b: '{{ routeLabels.a }}' } }] }`;
    expect(problemsOf(`${REGION}route: ${route}\nreceivers: [{ name: a }]\n`)).toEqual([
      expect.stringContaining('route.routes[0].labels: a: routeLabels.a is written by means of itself'),
    ]);
  });
});
