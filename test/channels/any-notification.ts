/** Arbitrary notifications, including the worst possible ones, for properties of formats. */
import fc from 'fast-check';
import type { Event } from '../../src/domain/alert/event.ts';
import type { GroupNotification, NotifiedAlert } from '../../src/domain/grouping/notification.ts';
import { alert, failedFlight, group, labelled, NOW_US, storm } from './sample-notifications.ts';

/** What a Bird might be called, or a provider might answer. */
export const HOSTILE = [
  '<script>alert(1)</script>',
  '<!channel> <!here|x> <@U123> <https://evil.example|click>',
  '@everyone @channel <at>all</at>',
  '[click](https://evil.example) **bold** ``` `code`',
  '\u202Eevil\u2066right-to-left\u200F',
  'half \uD83D pair \uDE00',
  '{{ status }} {% include "x" %} {{DATE(2017-02-14T06:00Z, SHORT)}}',
  '"}],"routing_key":"other","x":[{"',
  '\0\u0007\r\n.\r\n',
] as const;

/** Lengths just below, at and just above each limit of each format, and one far beyond. */
const LENGTHS = [150, 255, 300, 1_024, 3_000, 4_000, 28_000, 40_000].flatMap((limit) => [
  limit - 1,
  limit,
  limit + 1,
]);

const anyUnits = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 40 })
  .map((units) => String.fromCharCode(...units));

const anyLongText = fc
  .tuple(
    fc.constantFrom(...LENGTHS, 200_000),
    fc.constantFrom('x', '&', '<', '😀', '語', 'two words ', '\n', '"'),
  )
  .map(([length, unit]) => unit.repeat(Math.ceil(length / unit.length)).slice(0, length));

export const anyText = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...HOSTILE) },
  { weight: 3, arbitrary: fc.string({ unit: 'grapheme', maxLength: 80 }) },
  { weight: 2, arbitrary: anyUnits },
  { weight: 2, arbitrary: anyLongText },
  { weight: 1, arbitrary: fc.constant('') },
);

const LABELS = [
  'alertname',
  'severity',
  'region',
  'nest',
  'nest_id',
  'bird',
  'bird_id',
  'error',
  'entity_name',
];
const ANNOTATIONS = ['summary', 'description', 'resolved_by', 'flapping'];

const anyUrl = fc.oneof(
  fc.constantFrom('https://wiki.example.com/runbook', 'javascript:alert(1)', 'https://u:p@x|y>z', ''),
  anyText,
);

const anyEvent: fc.Arbitrary<Event> = fc
  .record({ number: fc.nat(10_000), message: anyText, bird: anyText, step: anyText })
  .map(({ number, message, bird, step }) =>
    failedFlight(number, { message, bird, attributes: { step_id: step } }),
  );

const anyAlert: fc.Arbitrary<NotifiedAlert> = fc
  .record({
    status: fc.constantFrom('firing' as const, 'resolved' as const),
    labels: fc.dictionary(fc.constantFrom(...LABELS), anyText),
    annotations: fc.dictionary(fc.constantFrom(...ANNOTATIONS), anyText),
    runbook: fc.option(anyUrl, { nil: undefined }),
    events: fc.array(anyEvent, { maxLength: 4 }),
    history: fc.array(fc.constantFrom('succeeded' as const, 'failed' as const, 'cancelled' as const), {
      maxLength: 10,
    }),
  })
  .map(({ status, labels, annotations, runbook, events, history }) =>
    alert({
      status,
      labels,
      annotations: { ...annotations, ...(runbook !== undefined && { runbook_url: runbook }) },
      endsAtUs: status === 'resolved' ? NOW_US : 0,
      events,
      eventsTotal: events.length,
      ...(history.length > 0 && { history }),
    }),
  );

/** Any number of alerts. If there are many, they differ only in their Birds, as in a storm. */
const anyAlerts = fc.oneof(
  { weight: 3, arbitrary: fc.array(anyAlert, { minLength: 1, maxLength: 4 }) },
  {
    weight: 1,
    arbitrary: fc.tuple(anyAlert, fc.constantFrom(9, 10, 11, 49, 50, 51, 99, 100)).map(([one, count]) =>
      Array.from({ length: count }, (_, index) => ({
        ...one,
        labels: { ...one.labels, bird_id: String(index), bird: `${index} ${one.labels.bird ?? ''}` },
      })),
    ),
  },
);

export const anyGroupNotification: fc.Arbitrary<GroupNotification> = fc
  .record({
    alerts: anyAlerts,
    groupLabels: fc.dictionary(fc.constantFrom(...LABELS), anyText),
    groupKey: anyText,
    notices: fc.array(anyText, { maxLength: 3 }),
    truncatedAlerts: fc.constantFrom(0, 1, 9_000),
    threadPosition: fc.constantFrom(0, 3),
    reason: fc.constantFrom('first', 'new_alerts', 'new_events', 'resolved', 'repeat'),
  })
  .map(({ alerts, notices, ...rest }) =>
    group({
      ...rest,
      alerts,
      ...(notices.length > 0 && { notices }),
    }),
  );

/** One alert in which every text from outside is this one. */
export function saying(text: string): GroupNotification {
  const labels = {
    ...{ alertname: text, severity: text, region: text, nest: text, bird: text, error: text },
    bird_id: '1',
  };
  return group({
    groupLabels: { nest: text, bird: text },
    notices: [text],
    alerts: [
      alert({
        labels,
        annotations: { summary: text, description: text, [`x${text.slice(0, 20)}`]: text, runbook_url: text },
        events: [
          failedFlight(1, { message: text, bird: text, attributes: { step_id: text } }),
          failedFlight(2),
        ],
        eventsTotal: 2,
      }),
    ],
  });
}

/** As large as a group can be in one message, with every text of the greatest length. */
function huge(text: string): GroupNotification {
  const alerts = Array.from({ length: 100 }, (_, index) => {
    const bird = `${index} ${text}`;
    const events = [failedFlight(index, { message: bird, bird })];
    return labelled({ bird, error: bird }, { annotations: { summary: bird }, events });
  });
  return group({ alerts, truncatedAlerts: 9_000, firingTotal: 9_100 });
}

export const LONG = [...HOSTILE, 'x'.repeat(5_000_000), '😀'.repeat(100_000), '&<>'.repeat(100_000)];

/** The longest texts, each in one alert, and the largest groups. */
export const LARGEST: readonly GroupNotification[] = [
  ...LONG.map(saying),
  ...[...HOSTILE, '😀<&'.repeat(2_000)].map(huge),
  storm(),
];
