import { expect, test } from 'vitest';
import { REGION, warningsOf } from './load.ts';

const reached = (text: string) => warningsOf(REGION + text, 'reach');
const HOOK = 'webhook_configs: [{ url: "https://x" }]';
const MAIL = 'email_configs: [{ to: a@b.c, from: n@b.c, smarthost: "m.x:25" }]';
const NOBODY = ': nobody is notified of alerts: no route leads to a receiver that notifies anybody';
const LINKS =
  ': is not set, so messages contain no links: set it to the address under which people reach the page';

test.each([
  ['without receivers', '', [`1:1: route${NOBODY}`]],
  [
    'whose only receiver has no integration',
    'route: { receiver: a }\nreceivers: [{ name: a }]',
    [`2:8: route${NOBODY}`],
  ],
  [
    'whose receiver only takes events',
    'route: { receiver: a }\nreceivers: [{ name: a, webhook_configs: [{ url: "https://x", format: cloudevents }] }]',
    [`2:8: route${NOBODY}`],
  ],
  [
    'that says that nobody is to be notified',
    "route: { receiver: 'null' }\nreceivers: [{ name: 'null' }]",
    [`2:8: route${NOBODY}`],
  ],
  ['with a hook', `receivers: [{ name: default, ${HOOK} }]`, []],
])('a configuration %s', (_, text, expected) => expect(reached(text)).toEqual(expected));

test('a route that leads to nobody, unless that is intended', () => {
  const text = `route:
  receiver: a
  routes:
    - { receiver: blackhole, matchers: [bird=b] }
    - { receiver: later, matchers: [bird=c] }
receivers: [{ name: a, ${HOOK} }, { name: blackhole }, { name: later }]
`;
  expect(reached(text)).toEqual([
    '6:19: route.routes[1].receiver: receiver "later" notifies nobody; if that is intended, name it null or blackhole',
  ]);
});

test('an escalation and a fallback that lead to nobody are reported where they are named', () => {
  const text = `route:
  receiver: a
  escalate_to: later
  escalate_after: 15m
  routes:
    - { matchers: [bird=b], escalate_after: 5m }
    - { matchers: [bird=c], escalate_to: blackhole }
receivers: [{ name: a, fallback: later, ${HOOK} }, { name: later }, { name: blackhole }]
`;
  expect(reached(text)).toEqual([
    '4:16: route.escalate_to: receiver "later" notifies nobody; if that is intended, name it null or blackhole',
    '9:34: receivers[0].fallback: receiver "later" notifies nobody either: give it an integration',
  ]);
});

test('a configuration that only forwards events is warned only about the route', () => {
  const lake = 'receivers: [{ name: lake, webhook_configs: [{ url: "https://x", format: cloudevents }] }';
  const forward = 'forward: [{ receiver: lake }]\n';
  expect(reached(`${forward}${lake}]`)).toEqual([
    '1:1: route.receiver: receiver "default" notifies nobody; if that is intended, name it null or blackhole',
  ]);
  const meant = "route: { receiver: 'null' }\n";
  expect(reached(`${forward}${meant}${lake}, { name: 'null' }]`)).toEqual([]);
});

test('a message for people that could not link anywhere', () => {
  expect(reached(`receivers: [{ name: default, ${MAIL} }]`)).toEqual([`1:1: web.external_url${LINKS}`]);
  const web = 'web: { external_url: "https://watch.example.com" }\n';
  expect(reached(`${web}receivers: [{ name: default, ${MAIL} }]`)).toEqual([]);
});

test.each([
  ['https://eu.example.com', true],
  ['https://eu.example.com/api', true],
  ['https://eu.example.com/api-rest', false],
  ['https://eu.example.com/api-rest/', false],
  ['http://127.0.0.1:8080/eu/api-rest', false],
])('an address that is hardly the service: %s', (url, isWarned) => {
  const text = `regions: { eu: { base_url: "${url}", token: t } }\nreceivers: [{ name: default, ${HOOK} }]`;
  const expected = "1:28: regions.eu.base_url: the service's own addresses end in `/api-rest`";
  expect(warningsOf(text, 'reach')).toEqual(isWarned ? [expected] : []);
});
