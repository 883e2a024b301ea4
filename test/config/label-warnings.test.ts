import { describe, expect, test } from 'vitest';
import { REGION, warningsOf } from './load.ts';

/** Every warning as `path: what`. */
const slipsOf = (text: string) =>
  warningsOf(REGION + text).map((warning) => warning.replace(/^\d+:\d+: /, ''));

const routed = (matcher: string, more = '') =>
  slipsOf(`route: { receiver: a, routes: [{ receiver: a, matchers: ['${matcher}'] }] }
receivers: [{ name: a }]
${more}`);
const AT = 'route.routes[0].matchers[0]';

describe('a matcher of a route', () => {
  test.each([
    ['severty="critical"', 'no alert has a label "severty"; did you mean severity?'],
    ['severity="critcal"', 'severity="critcal" matches no alert; did you mean critical?'],
    ['severity!="critcal"', 'severity!="critcal" matches every alert; did you mean critical?'],
    ['alertname="FlightFaild"', 'alertname="FlightFaild" matches no alert; did you mean FlightFailed?'],
    [
      'alertname=~"Flght.*"',
      expect.stringMatching(/^alertname=~"Flght\.\*" matches no alert; there are FlightFailed, /),
    ],
    ['region="us"', 'region="us" matches no alert; there are eu, all'],
    ['constructor="x"', expect.stringMatching(/^no alert has a label "constructor"; there are alertname, /)],
  ])('%s gets a warning', (matcher, message) => {
    const [only, ...others] = routed(matcher);
    expect(only?.slice(0, AT.length + 2)).toBe(`${AT}: `);
    expect(only?.slice(AT.length + 2)).toEqual(message);
    expect(others).toEqual([]);
  });

  test.each([
    'severity=~"critical|page"',
    'severity!=""',
    'alertname!~"Region.*"',
    'region="all"',
    'nest=~"Anything.*"',
    'entity_type="Connection"',
    'flight_id!=""',
  ])('%s gets none', (matcher) => expect(routed(matcher)).toEqual([]));

  test('may ask for labels that rules add', () => {
    const rules = 'rules: [{ kind: FlightFailed, severity: page, labels: { team: docs } }]';
    expect(routed('severity="page"', rules)).toEqual([]);
    expect(routed('team="docs"', rules)).toEqual([]);
  });
});

test('a label in group_by, or compared by inhibit rules', () => {
  const text = `route: { receiver: a, group_by: [alertnam, nest, region], routes: [{ receiver: a, group_by: ['...'] }] }
receivers: [{ name: a }]
inhibit_rules: [{ source_matchers: [alertname=FlightStuk], target_matchers: [sevrity=warning], equal: [brid, nest] }]
`;
  expect(slipsOf(text)).toEqual([
    'route.group_by[0]: no alert has a label "alertnam"; did you mean alertname?',
    'inhibit_rules[0].source_matchers[0]: alertname="FlightStuk" matches no alert; did you mean FlightStuck?',
    'inhibit_rules[0].target_matchers[0]: no alert has a label "sevrity"; did you mean severity?',
    'inhibit_rules[0].equal[0]: no alert has a label "brid"; did you mean bird?',
  ]);
});

test('a matcher of actions', () => {
  const text = `route: { receiver: a }
receivers: [{ name: a }]
actions: [{ name: again, on: FlightFailed, match: ['nset="Rules"', 'bird="Sync"', 'region="mars"'], do: fly_again, per_hour: 9 }]
`;
  expect(slipsOf(text)).toEqual([
    'actions[0].match[0]: no alert has a label "nset"; did you mean nest?',
    'actions[0].match[2]: region="mars" matches no alert; there are eu, all',
  ]);
});

test('a matcher of forward', () => {
  const warnings = (matcher: string) =>
    slipsOf(`receivers: [{ name: lake, webhook_configs: [{ url: "https://x", format: cloudevents }] }]
forward: [{ matchers: ['${matcher}'], receiver: lake }]
`);
  const at = 'forward[0].matchers[0]';
  expect(warnings('feed="flights"')).toEqual([
    `${at}: feed="flights" matches no event; did you mean flight?`,
  ]);
  expect(warnings('severity="x"')[0]).toContain('no event has a label "severity"; there are bird, ');
  expect(warnings('type="flight.faild"')).toEqual([
    `${at}: no event is known with type "flight.faild"; did you mean flight.failed?`,
  ]);
  expect(warnings('type="notification.SomethingQuiteNew"')).toEqual([]);
  expect(warnings('type=~"flight.*"')).toEqual([]);
});

test('a matcher of an objective', () => {
  const warnings = (matcher: string) =>
    slipsOf(`objectives: [{ name: customers, match: ['${matcher}'], success: 0.98 }]\n`);
  const at = 'objectives[0].match[0]';
  expect(warnings('region="us"')).toEqual([`${at}: region="us" matches no Nest; there are eu`]);
  expect(warnings('region="all"')).toHaveLength(1);
  expect(warnings('region=~"e.*"')).toEqual([]);
  expect(warnings('nest=~"Customer.*"')).toEqual([]);
});
