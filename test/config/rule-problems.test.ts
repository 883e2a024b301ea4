// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to the environment are what is tested.
import { describe, expect, test } from 'vitest';
import { ALERT_KINDS } from '../../src/domain/kinds/kinds.ts';
import { problemsBelowRegion, problemsOf, REGION, testProblems } from './load.ts';

const KINDS = ALERT_KINDS.join(', ');

describe('rules', () => {
  testProblems(problemsBelowRegion, [
    ['rules: [{ severity: x }]', `2:9: rules[0].kind: is missing: the kinds are ${KINDS}`],
    ['rules: [{ kind: Foo }]', `2:17: rules[0].kind: unknown kind; the kinds are ${KINDS}`],
    ['rules: [{ kind: FlightFaild }]', '2:17: rules[0].kind: unknown kind; did you mean FlightFailed?'],
    // A kind that is no word.
    [
      'rules: [{ kind: { toString: 1 } }, { kind: [FlightFailed] }]',
      `2:17: rules[0].kind: unknown kind; the kinds are ${KINDS}`,
      `2:44: rules[1].kind: unknown kind; the kinds are ${KINDS}`,
    ],
    // Objectives.
    [
      `store: { retention: 7d }
objectives:
  - { name: a, success: 98, match: [nst=a] }
  - { name: b, success: 0.98 }
  - { name: b, success: 0.98, over: 7d, least_failures: 0, for_each: bird }`,
      '4:25: objectives[0].success: must be a share between 0 and 1, such as 0.98',
      '4:36: objectives[0].match: no objective has nst; did you mean nest?',
      '5:5: objectives[1].over: is longer than `store.retention`: set that to 28d, or less here',
      '6:13: objectives[2].name: another objective has this name already',
      '6:57: objectives[2].least_failures: must be at least 1',
      '6:70: objectives[2].for_each: must be one of nest, region',
    ],
    // Actions.
    [
      `actions:
  - { name: a, on: FlightFailed, do: fly_again, at_most: 0 }
  - { name: a, on: FlightFailed, do: run, per_hour: 10, at_most: 6 }
  - { name: b, on: BirdStale, do: fly_again, per_hour: 10, approval: two, match: ['region="us"'] }
  - { name: b, on: FlightFailed, do: fly_again, per_hour: 10, approval: two, match: ['region="us"'] }
  - { name: b, on: FlightFailed, do: fly_again, per_hour: 10, match: ['region="us"'] }`,
      '3:5: actions[0].per_hour: is missing',
      '3:5: actions[0]: acts in eu, which does not allow it: set `regions.eu.fly: true`',
      '3:58: actions[0].at_most: must be at least 1',
      '4:5: actions[1]: acts in eu, which does not allow it: set `regions.eu.fly: true`',
      '4:13: actions[1].name: another action has this name already',
      '4:38: actions[1].do: must be one of those known: fly_again',
      '4:66: actions[1].at_most: must be at most 5',
      '5:20: actions[2].on: must be FlightFailed',
      '6:13: actions[3].name: another action has this name already',
      '6:73: actions[3].approval: needs people who log in by their own names: set `web.auth.users`, `proxy` or `oidc`',
      '7:13: actions[4].name: another action has this name already',
    ],
    // Rules on events without a matcher, with names that no event has, or counted by Flights.
    [
      `rules:
  - { kind: EventMatched }
  - { kind: EventMatched, match: [] }
  - { kind: EventMatched, match: ['type="flight.failed"', 'emial!~".*"'] }
  - { kind: EventMatched, match: ['type="flight.failed"'], for_each: flight }`,
      '3:5: rules[0].match: kind EventMatched needs at least one matcher, or it would report every event',
      '4:34: rules[1].match: kind EventMatched needs at least one matcher, or it would report every event',
      '5:34: rules[2].match: no event has emial; did you mean email?',
      '6:70: rules[3].for_each: must be one of bird, nest, region, initiator',
    ],
    // A name that every object has for itself.
    [
      'rules: [{ kind: FlightFailed, labels: { __proto__: a, b: c }, annotations: { __proto__: a } }]',
      '2:41: rules[0].labels.__proto__: cannot be a name here: choose another',
      '2:78: rules[0].annotations.__proto__: cannot be a name here: choose another',
    ],
    ['rules: [FlightFailed]', '2:9: rules[0]: must be a map with `kind` and its parameters'],
    // Two ways to say how many failures are too many.
    [
      'rules: [{ kind: FlightFailed, threshold: 3, consecutive: 3, ratio: 0.5, of_last: 10 }]',
      '2:45: rules[0].consecutive: give only one of `threshold`, `consecutive` and `ratio`',
      '2:61: rules[0].ratio: give only one of `threshold`, `consecutive` and `ratio`',
      '2:73: rules[0].of_last: belongs to `ratio`: set that too, or leave this out',
    ],
    [
      'rules: [{ kind: FlightFailed, consecutive: 3, window: 1h }]',
      '2:47: rules[0].window: belongs to `threshold`: leave it out',
    ],
    [
      'rules: [{ kind: FlightFailed, ratio: 0.5 }]',
      '2:31: rules[0].ratio: needs `of_last`: the number of last Flights to consider',
    ],
    // A ratio that nothing reaches.
    [
      'rules: [{ kind: FlightFailed, ratio: 1.5, of_last: 1 }, { kind: FlightFailed, ratio: 0, of_last: 200 }]',
      '2:38: rules[0].ratio: must be more than 0 and at most 1',
      '2:52: rules[0].of_last: must be at least 2',
      '2:86: rules[1].ratio: must be more than 0 and at most 1',
      '2:98: rules[1].of_last: must be at most 100',
    ],
    [
      'rules: [{ kind: FlightFailed, for_each: error, consecutive: 3 }]',
      '2:41: rules[0].for_each: `consecutive` considers all Flights of a Bird: leave out `for_each`, or set it to bird',
    ],
    [
      'rules: [{ kind: FlightFailed, for_each: flight, threshold: 3 }]',
      '2:49: rules[0].threshold: must be left out with `for_each: flight`, because a Flight fails only once',
    ],
    // Numbers from the environment.
    [
      'rules: [{ kind: FlightFailed, for_each: flight, threshold: "${ONE}" }, { kind: SharedCause, birds: "${ONE}" }]',
      '2:100: rules[1].birds: must be at least 2, since one Bird shares its error with no other; 0 turns it off',
      { environment: { ONE: '1' } },
    ],
    // Limits that are too short to be seen.
    [
      'rules: [{ kind: FlightStuck, max_duration: 10s }, { kind: BirdStale, expect_every: 0 }]',
      '2:44: rules[0].max_duration: must be at least 1m',
      '2:84: rules[1].expect_every: must be at least 1m',
    ],
    // Flapping that cannot be known.
    [
      'rules: [{ kind: BirdStale, flapping: { changes: 1, within: 2h, calm: 1s, often: 3 } }]',
      '2:49: rules[0].flapping.changes: must be at least 2, or 0 for never',
      '2:60: rules[0].flapping.within: must not be longer than 1h',
      '2:70: rules[0].flapping.calm: must be at least 1m',
      '2:74: rules[0].flapping.often: unknown key; known here: changes, within, calm',
    ],
    // Two rules with one name, of whatever kinds.
    [
      "rules: [{ kind: RegionDown, name: a }, { kind: FlightFailed, name: b }, { kind: BirdStale, name: a }, { kind: BirdStale, name: '' }]",
      '2:98: rules[2].name: another rule has this name already',
      '2:128: rules[3].name: must not be empty',
    ],
    [
      'rules: [{ kind: RegionDown, window: 5m }]',
      '2:29: rules[0].window: unknown key; known here: kind, name, match, severity, labels, annotations, keep_firing_for, flapping, for',
    ],
    // Parameters out of bounds.
    [
      'rules: [{ kind: FlightFailed, for_each: nest, threshold: 0, resolve_after: soon }]',
      '2:41: rules[0].for_each: must be one of bird, flight, error',
      '2:58: rules[0].threshold: must be at least 1',
      '2:76: rules[0].resolve_after: must be a duration such as 30s, 5m or 1h30m, or never',
    ],
    // Labels that nestwatch sets, and other mistakes beside them.
    [
      'rules: [{ kind: RegionDown, labels: { severity: x, nest: y, 0a: z, team: 5, on: { a: b } } }]',
      '2:39: rules[0].labels.severity: write `severity` beside `kind` instead',
      '2:52: rules[0].labels.nest: is set by nestwatch: choose another name',
      '2:61: rules[0].labels.0a: is not a label name: letters, digits and underscores, no digit first',
      '2:74: rules[0].labels.team: must be text: put it in quotes',
      '2:81: rules[0].labels.on: must be one text, not a map',
    ],
    // Deadlines.
    [
      `time_intervals: [{ name: holidays, time_intervals: [{ years: ['2026'] }] }]
rules:
  - { kind: FlightOverdue }
  - { kind: FlightOverdue, timezone: UTC }
  - { kind: FlightOverdue, landed_by: 7am }
  - { kind: FlightOverdue, landed_by: 0 7 * * *, timezone: Europe/Amsterdm }
  - { kind: FlightOverdue, landed_by: "* * * * *" }
  - { kind: FlightOverdue, landed_by: 0 7 * * *, within: 8d, except: [holliday] }
  - { kind: FlightOverdue, landed_by: [7], timezone: 7 }
  - { kind: FlightOverdue, landed_by: "*/2 * * * *", except: [holidays], within: 7d }
  - { kind: FlightOverdue, landed_by: 0 7 * * *, severity: warning, warn_before: 30m, tell_late: maybe }
  - { kind: FlightOverdue, landed_by: 0 7 * *, timezone: Europe/Amsterdm, severity: warning, warn_before: 30m }
  - { kind: FlightOverdue, timezone: Europe/Amsterdm }`,
      '4:5: rules[0].landed_by: is missing: a cron expression whose matches are deadlines, such as "0 7 * * 1-5"',
      '5:5: rules[1].landed_by: is missing: a cron expression whose matches are deadlines, such as "0 7 * * 1-5"',
      '6:39: rules[2].landed_by: is no cron expression: the cron expression must have five fields: minute, hour, day of month, month, day of week',
      '7:60: rules[3].timezone: "Europe/Amsterdm" is not a time zone such as Europe/Amsterdam or UTC; did you mean Europe/Amsterdam?',
      '8:39: rules[4].landed_by: has more than 720 deadlines a day',
      '9:58: rules[5].within: must not be longer than 7d',
      '9:71: rules[5].except[0]: no time interval has the name "holliday"; did you mean holidays?',
      '10:39: rules[6].landed_by: must be one text, not a list',
      '10:54: rules[6].timezone: must be text: put it in quotes',
      '12:69: rules[8].warn_before: needs severity critical: it makes a warning, which becomes critical at the deadline',
      '12:98: rules[8].tell_late: must be true or false',
      '13:39: rules[9].landed_by: is no cron expression: the cron expression must have five fields: minute, hour, day of month, month, day of week',
      '13:58: rules[9].timezone: "Europe/Amsterdm" is not a time zone such as Europe/Amsterdam or UTC; did you mean Europe/Amsterdam?',
      '13:94: rules[9].warn_before: needs severity critical: it makes a warning, which becomes critical at the deadline',
      '14:5: rules[10].landed_by: is missing: a cron expression whose matches are deadlines, such as "0 7 * * 1-5"',
      '14:38: rules[10].timezone: "Europe/Amsterdm" is not a time zone such as Europe/Amsterdam or UTC; did you mean Europe/Amsterdam?',
    ],
    // Unusual Flights.
    [
      `rules:
  - { kind: FlightsUnusual, per: 90m, fewer_than: 2, more_than: 1 }
  - { kind: FlightsUnusual, at_least: 20, at_most: 5, more_than: 3 }
  - { kind: FlightsUnusual, at_least: 0, timezone: Mars }
  - { kind: FlightSlow, times: 1, in_a_row: 0, at_least: 0s }`,
      '3:34: rules[0].per: must be one of 1h, 1d',
      '3:51: rules[0].fewer_than: must be more than 0 and at most 1',
      '3:65: rules[0].more_than: must be more than 1 and at most 100',
      '4:39: rules[1].at_least: must not be more than at_most, 5',
      '4:55: rules[1].more_than: cannot be combined with at_least and at_most: bounds are either learned or fixed',
      '5:39: rules[2].at_least: must be at least 1',
      '5:52: rules[2].timezone: "Mars" is not a time zone such as Europe/Amsterdam or UTC',
      '6:32: rules[3].times: must be more than 1 and at most 100',
      '6:45: rules[3].in_a_row: must be at least 1',
      '6:58: rules[3].at_least: must be at least 1s',
    ],
    // Steps that wait for a person.
    [
      `rules:
  - { kind: FlightWaiting, steps: [] }
  - { kind: FlightWaiting, steps: "*review*", after: 4m }
  - { kind: FlightWaiting, steps: [7], max_duration: 1h }
  - { kind: FlightFailed, labels: { step: free } }
  - { kind: FlightWaiting, steps: ["*review*"], labels: { step: free } }`,
      '3:35: rules[0].steps: must name at least one',
      '4:35: rules[1].steps: must be a list',
      '4:54: rules[1].after: must be at least 5m',
      '5:36: rules[2].steps[0]: must be text: put it in quotes',
      '5:40: rules[2].max_duration: belongs to FlightStuck: write `after`',
    ],
    // Birds that are declared nowhere, or twice.
    [
      `rules:
  - { kind: BirdNotAsDeclared }
  - { kind: BirdNotAsDeclared, declared: birds.yaml, state: active, published: true }
  - { kind: BirdNotAsDeclared, declared: none.yaml }
  - { kind: BirdNotAsDeclared, declared: slips.yaml }
  - { kind: BirdNotAsDeclared, state: actve }
  - { kind: BirdNotAsDeclared, state: archived }
  - { kind: BirdNotAsDeclared, published: no }`,
      '3:5: rules[0].declared: is missing: a file of Birds, or instead of it `state` or `published`',
      '4:54: rules[1].state: cannot be combined with `declared`, which says it for each Bird',
      '4:69: rules[1].published: cannot be combined with `declared`, which says it for each Bird',
      '5:42: rules[2].declared: /etc/nestwatch/none.yaml does not exist',
      '6:42: rules[3].declared: slips.yaml:1:19: birds[0].region: there is no such region; did you mean eu? (and 2 more)',
      '7:39: rules[4].state: must be one of active, suspended, unpublished',
      '8:39: rules[5].state: must be one of active, suspended, unpublished',
      '9:43: rules[6].published: must be true or false',
      {
        files: {
          '/etc/nestwatch/birds.yaml': 'birds: []',
          '/etc/nestwatch/slips.yaml':
            'birds: [{ region: ue, nest: A, bird: B }, { region: eu, nest: A, bird: B, status: actve }, { region: us, nest: A, bird: C }]',
        },
      },
    ],
    // Causes of one Bird, or of a Nest.
    [
      `rules:
  - { kind: SharedCause, birds: 1 }
  - { kind: SharedCause, across: nest }
  - { kind: SharedCause, within: 5s }`,
      '3:33: rules[0].birds: must be at least 2, since one Bird shares its error with no other; 0 turns it off',
      '4:34: rules[1].across: must be one of region, all',
      '5:34: rules[2].within: must be at least 1m',
    ],
    // Causes of some regions and of all.
    [
      `rules:
  - { kind: SharedCause, match: ['region="eu"'], birds: 0 }
  - { kind: SharedCause, match: ['error=~"DeepL.*"'], across: all }
  - { kind: RegionDown, match: ['region="eu"'] }`,
      '3:33: rules[0].match: no rule of SharedCause can match region if it or a later one has `across: all`, whose alerts are about every region: leave out one or the other, or put this one after it',
    ],
    // Members that nobody is, or that are none.
    [
      `rules:
  - { kind: NestWithoutOwner, active_members: 0, only: [] }
  - { kind: NestWithoutOwner, only: [example.com], active_members: 2 }
  - { kind: NestWithoutOwner, only: "*@example.com" }
  - { kind: NestWithoutOwner, owners: 1 }`,
      '3:47: rules[0].active_members: must be at least 1',
      '3:56: rules[0].only: must name at least one',
      '4:37: rules[1].only: no mail address matches "example.com": write "*@example.com" for all of a domain',
      '5:37: rules[2].only: must be a list',
      '6:31: rules[3].owners: unknown key; known here: kind, name, match, severity, labels, annotations, keep_firing_for, flapping, active_members, only, for',
    ],
  ]);

  test('a rule on causes of some regions may follow one across all, or precede one that is off', () => {
    const ofAll = `{ kind: SharedCause, match: ['error=~"DeepL.*"'], across: all }`;
    const ofOne = `{ kind: SharedCause, match: ['region="eu"', 'error=~"Quota.*"'], birds: 3 }`;
    const off = '{ kind: SharedCause, across: all, birds: 0 }';
    expect(problemsBelowRegion(`rules: [${ofAll}, ${ofOne}, ${off}]`)).toEqual([]);
  });

  test('an invalid matcher is reported with the reason', () => {
    const [problem, ...others] = problemsOf(`${REGION}rules: [{ kind: RegionDown, match: ['region=~"("'] }]`);
    expect(problem).toMatch(/^2:37: rules\[0\]\.match\[0\]: .*\(/);
    expect(others).toEqual([]);
  });

  test('a matcher from the environment is not quoted', () => {
    expect(
      problemsOf(`${REGION}rules: [{ kind: RegionDown, match: ["\${M}"] }]`, {
        environment: { M: 's3cret' },
      }),
    ).toEqual(['2:37: rules[0].match[0]: is not a matcher such as severity="critical"']);
  });
});
