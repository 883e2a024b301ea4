/**
 * `inhibit_rules`, `time_intervals` and the routes that use them: the message of every rule, and what valid ones
 * become.
 */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { BUILT_IN_INHIBITIONS } from '../../src/domain/muting/muting.ts';
import { load, problemsBelowRegion, problemsIn, problemsOf, REGION, testProblems } from './load.ts';

const ROUTE = `route:
  receiver: ops
  routes: [{ mute_time_intervals: [night], active_time_intervals: [office] }]
receivers: [{ name: ops }]
`;
const inhibit = problemsIn((rule) => `${REGION}inhibit_rules:\n  - ${rule}`);
/** The problems of one interval with these settings; a position in the interval itself is cut off. */
const interval = (settings: string) =>
  problemsOf(`${REGION}time_intervals:\n  - { name: t, time_intervals: [{ ${settings} }] }`).map((problem) =>
    problem.replace(/^\d+:\d+: time_intervals\[0\]\.time_intervals\[0\]\./, ''),
  );

describe('inhibit_rules', () => {
  test('are read with their matchers; the built-in ones come after them', () => {
    const config = load(
      `${REGION}inhibit_rules:
  - name: connections
    source_matchers: [alertname="ConnectionDisconnected"]
    target_matchers: ['alertname=~"Bird.*", nest!="X"']
    equal: [region, nest_id]`,
    );
    const [own, ...builtIn] = config.inhibitRules;
    expect(builtIn).toEqual(BUILT_IN_INHIBITIONS);
    expect(own).toMatchObject({
      sourceMatchers: [{ name: 'alertname', op: '=', value: 'ConnectionDisconnected' }],
      targetMatchers: [
        { name: 'alertname', op: '=~', value: 'Bird.*' },
        { name: 'nest', op: '!=', value: 'X' },
      ],
      equal: ['region', 'nest_id'],
    });
    expect(load(REGION).inhibitRules).toEqual(BUILT_IN_INHIBITIONS);
  });

  testProblems(inhibit, [
    ['source_matchers: [a="b"]', '3:5: inhibit_rules[0].target_matchers: is missing'],
    [
      '{ source_matchers: [], target_matchers: [a="b"] }',
      '3:24: inhibit_rules[0].source_matchers: must not be empty',
    ],
    [
      '{ source_matchers: [a="b"], target_matchers: [a=~"("] }',
      '3:51: inhibit_rules[0].target_matchers[0]: error parsing regexp: missing closing ): `(` (in a=~"(")',
    ],
    [
      '{ source_matchers: [a="b"], target_matchers: [a="c"], equal: [1x] }',
      '3:67: inhibit_rules[0].equal[0]: is not a label name: letters, digits and underscores, no digit first',
    ],
    ['{ source_match: {}, target_match_re: { a: b } }', '3:5: inhibit_rules[0].source_matchers: is missing'],
  ]);
  testProblems(problemsBelowRegion, [['inhibit_rules: { a: b }', '2:16: inhibit_rules: must be a list']]);
});

describe('time_intervals', () => {
  test('are read from both lists, and routes can use their names', () => {
    const config = load(`${REGION}${ROUTE}time_intervals:
  - name: night
    time_intervals:
      - times: [{ start_time: "22:00", end_time: "24:00" }, { start_time: 00:00, end_time: 06:30 }]
        weekdays: ["Monday:friday", sunday]
        days_of_month: ["1:5", -1, "-3:-2"]
        months: [1, may:august]
        years: [2026, "2030:2031"]
        location: Europe/Amsterdam
      - weekdays: [saturday]
mute_time_intervals: [{ name: office, time_intervals: [{}] }]`);
    expect(config.timeIntervals.get('night')?.map(({ spec }) => spec)).toEqual([
      {
        times: [
          { from: 1320, to: 1440 },
          { from: 0, to: 390 },
        ],
        weekdays: [
          { from: 1, to: 5 },
          { from: 0, to: 0 },
        ],
        daysOfMonth: [
          { from: 1, to: 5 },
          { from: -1, to: -1 },
          { from: -3, to: -2 },
        ],
        months: [
          { from: 1, to: 1 },
          { from: 5, to: 8 },
        ],
        years: [
          { from: 2026, to: 2026 },
          { from: 2030, to: 2031 },
        ],
        location: 'Europe/Amsterdam',
      },
      { weekdays: [{ from: 6, to: 6 }], location: 'UTC' },
    ]);
    expect(config.timeIntervals.get('office')).toHaveLength(1);
    expect(config.route.routes[0]).toMatchObject({
      muteTimeIntervals: ['night'],
      activeTimeIntervals: ['office'],
    });
  });

  test('of a route are not those of its children, as in Alertmanager', () => {
    const { route } = load(`${REGION}route:
  receiver: ops
  routes: [{ mute_time_intervals: [night], routes: [{ matchers: [a="b"] }] }]
receivers: [{ name: ops }]
time_intervals: [{ name: night, time_intervals: [{}] }]`);
    expect(route.routes[0]!.routes[0]).not.toHaveProperty('muteTimeIntervals');
  });

  const TIME = 'must be a time such as "06:00", up to "24:00"';
  const WEEKDAY = 'must be a weekday such as monday, or a range such as monday:friday';
  const DAY =
    'must be a day from 1 to 31, or from the end of the month -1 to -31, or a range such as 1:5 or -3:-1';
  const MONTH = 'must be a month such as may or 5, or a range such as may:august';
  const YEAR = 'must be a year such as 2026, or a range such as 2026:2028';
  testProblems(interval, [
    ['times: [{ start_time: "6:00", end_time: "07:00" }]', `times[0].start_time: ${TIME}`],
    ['times: [{ start_time: "06:00", end_time: "24:01" }]', `times[0].end_time: ${TIME}`],
    ['times: [{ start_time: "06:60", end_time: "07:00" }]', `times[0].start_time: ${TIME}`],
    ['times: [{ start_time: 6, end_time: "07:00" }]', `times[0].start_time: ${TIME}`],
    ['times: [{ start_time: "06:00" }]', 'times[0].end_time: is missing'],
    [
      'times: [{ start_time: "22:00", end_time: "06:00" }]',
      'times[0].end_time: must be later than `start_time`: for a night write two ranges, one up to "24:00"',
    ],
    ['weekdays: [mon]', `weekdays[0]: ${WEEKDAY}`],
    ['weekdays: [monday:tuesday:friday]', `weekdays[0]: ${WEEKDAY}`],
    ['weekdays: [1]', `weekdays[0]: ${WEEKDAY}`],
    [
      'weekdays: [saturday:monday]',
      'weekdays[0]: the range must not go past saturday: a week begins on sunday, so write two ranges',
    ],
    ['days_of_month: [0]', `days_of_month[0]: ${DAY}`],
    ['days_of_month: [32]', `days_of_month[0]: ${DAY}`],
    ['days_of_month: ["1:"]', `days_of_month[0]: ${DAY}`],
    ['days_of_month: ["5:1"]', 'days_of_month[0]: the first day must not come after the last'],
    ['days_of_month: ["-1:3"]', 'days_of_month[0]: the first day must not come after the last'],
    ['days_of_month: ["31:-3"]', 'days_of_month[0]: the first day must not come after the last'],
    ['months: [13]', `months[0]: ${MONTH}`],
    ['months: [sept]', `months[0]: ${MONTH}`],
    ['months: [may:april]', 'months[0]: the range must not go past december: write two ranges'],
    ['years: [next]', `years[0]: ${YEAR}`],
    ['years: ["2027:2026"]', 'years[0]: the first year must not come after the last'],
    ['location: Mars/Base', 'location: "Mars/Base" is not a time zone such as Europe/Amsterdam or UTC'],
    [
      'location: Europe/Berln',
      'location: "Europe/Berln" is not a time zone such as Europe/Amsterdam or UTC; did you mean Europe/Berlin?',
    ],
    ['location: "+02:00"', 'location: "+02:00" is not a time zone such as Europe/Amsterdam or UTC'],
    ['weekday: [monday]', 'weekday: unknown key; did you mean `weekdays`?'],
  ]);

  const NIGHT = 'receivers: [{ name: ops }]\ntime_intervals: [{ name: night, time_intervals: [{}] }]';
  const route = problemsIn(
    (settings) => `${REGION}route:\n  receiver: ops\n  routes: [{ ${settings} }]\n${NIGHT}`,
  );
  testProblems(problemsBelowRegion, [
    // Without a name or intervals, or with the name of another.
    [
      `time_intervals:
  - time_intervals: [{}]
  - name: a
  - { name: b, time_intervals: [] }
  - { name: c, time_intervals: [{}] }
mute_time_intervals:
  - { name: c, time_intervals: [{}] }`,
      '3:5: time_intervals[0].name: is missing',
      '4:5: time_intervals[1].time_intervals: is missing',
      '6:13: time_intervals[3].name: another time interval has this name already',
    ],
    // On the root, which takes every alert.
    [
      `route: { receiver: ops, mute_time_intervals: [night] }\n${NIGHT}`,
      '2:25: route.mute_time_intervals: the root takes every alert: move this to a route below `routes`',
    ],
  ]);
  // That a route uses but nobody defines.
  testProblems(route, [
    [
      'mute_time_intervals: [nihgt, ""]',
      '4:36: route.routes[0].mute_time_intervals[0]: no time interval has the name "nihgt"; did you mean night?',
      '4:43: route.routes[0].mute_time_intervals[1]: must not be empty',
    ],
    [
      'active_time_intervals: [weekend]',
      '4:38: route.routes[0].active_time_intervals[0]: no time interval has the name "weekend"; there is night',
    ],
  ]);

  test.each(['', ':/etc/localtime'])('in local time, where TZ=%j names no zone', (zone) => {
    vi.stubEnv('TZ', zone);
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(interval('location: Local')).toEqual([
      'location: is not known of this machine, where TZ names no zone: write one such as Europe/Amsterdam',
    ]);
  });
});
