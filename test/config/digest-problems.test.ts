// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to the environment are what is tested.
import { describe, expect, test } from 'vitest';
import { load, problemsBelowRegion, problemsIn, problemsOf, REGION, testProblems } from './load.ts';

/** The digest is on the fifth line. */
const digest = (settings: string, more = '') =>
  `${REGION}route: { receiver: ops }\nreceivers: [{ name: ops }]\ndigests:\n  - ${settings}${more}`;
const GOOD = '{ name: daily, cron: "0 8 * * 1-5", receiver: ops }';

describe('digests and the heartbeat', () => {
  test('have their defaults', () => {
    const config = load(`${digest(GOOD)}\nheartbeat: { url: https://hc.example/ping }`);
    expect(config.digests).toEqual([
      { name: 'daily', cron: '0 8 * * 1-5', timezone: 'UTC', receiver: 'ops', skipEmpty: false },
    ]);
    expect(config.heartbeat?.intervalMs).toBe(60_000);
    expect(config.heartbeat?.url.reveal()).toBe('https://hc.example/ping');
    expect(JSON.stringify(config.heartbeat)).not.toContain('hc.example');
  });

  test('accept every setting', () => {
    const config = load(
      `${digest('{ name: d, cron: "0 8 * * *", timezone: Europe/Amsterdam, receiver: ops, skip_empty: true }')}\nheartbeat: { url_file: /u, interval: 30s }`,
      { files: { '/u': 'https://hc.example/secret\n' } },
    );
    expect(config.digests[0]).toMatchObject({ timezone: 'Europe/Amsterdam', skipEmpty: true });
    expect(config.heartbeat).toMatchObject({ intervalMs: 30_000 });
    expect(config.heartbeat?.url.reveal()).toBe('https://hc.example/secret');
  });

  testProblems(problemsIn(digest), [
    // An empty digest.
    [
      '{}',
      '5:5: digests[0].name: is missing',
      '5:5: digests[0].cron: is missing',
      '5:5: digests[0].receiver: is missing',
    ],
    [
      '{ name: daily, cron: "0 8 * * *", receiver: op }',
      '5:49: digests[0].receiver: no receiver has the name "op"; did you mean ops?',
    ],
    [
      '{ name: daily, cron: "0 0 8 * * *", receiver: ops }',
      '5:26: digests[0].cron: the cron expression must have five fields: minute, hour, day of month, month, day of week',
    ],
    // Three mistakes in one digest, none of which hides another.
    [
      '{ name: "", cron: "61 * * * *", timezone: Mars, receiver: ops }',
      '5:13: digests[0].name: must not be empty',
      '5:23: digests[0].cron: the cron expression "61 * * * *" is not valid: its minute "61" must be within 0-59',
      '5:47: digests[0].timezone: "Mars" is not a time zone such as Europe/Amsterdam or UTC',
    ],
    [
      '{ name: daily, cron: "0 8 31 6 *", receiver: ops }',
      '5:26: digests[0].cron: the cron expression "0 8 31 6 *" never matches: no day is like this',
    ],
    [
      '{ name: daily, cron: "0 8 * * *", timezone: "+02:00", receiver: ops }',
      '5:49: digests[0].timezone: "+02:00" is not a time zone such as Europe/Amsterdam or UTC',
    ],
    [
      '{ name: daily, cron: "0 8 * * *", timezone: Europe/Berln, receiver: ops }',
      '5:49: digests[0].timezone: "Europe/Berln" is not a time zone such as Europe/Amsterdam or UTC; did you mean Europe/Berlin?',
    ],
    // A cron expression from the environment, which is not shown.
    [
      '{ name: daily, cron: "${WHEN}", receiver: ops }',
      '5:26: digests[0].cron: is not a valid cron expression (it comes from the environment)',
      { environment: { WHEN: '61 8 * * *' } },
    ],
  ]);
  testProblems(problemsOf, [
    [digest(GOOD, `\n  - ${GOOD}`), '6:13: digests[1].name: another digest has this name already'],
    // Keys of reports in a summary, and members of no Nest.
    [
      digest('{ name: d, cron: "0 8 1 * *", receiver: ops, detail: counts }') +
        '\n  - { name: e, cron: "0 8 1 * *", receiver: ops, format: report, to: nest_members, minutes_saved: 0 }',
      '5:50: digests[0].detail: belongs to `format: report`: set that too, or leave this out',
      '6:66: digests[1].to: needs `for_each: nest`',
      '6:99: digests[1].minutes_saved: must be more than 0',
    ],
  ]);
  testProblems(problemsBelowRegion, [
    // Two mistakes in a heartbeat.
    [
      'heartbeat: { url: x, interval: 1 }',
      '2:19: heartbeat.url: must be a URL that begins with http:// or https://',
      '2:32: heartbeat.interval: must be a duration such as 30s, 5m or 1h30m',
    ],
    ['digests: { name: d }', '2:10: digests: must be a list'],
    ['heartbeat: { interval: 1m }', '2:1: heartbeat.url: is missing: give `url` or `url_file`'],
    [
      'heartbeat: { url: "file:///x" }',
      '2:19: heartbeat.url: must be a URL that begins with http:// or https://',
    ],
    [
      'heartbeat: { url: "https://h.example", interval: 10ms }',
      '2:50: heartbeat.interval: must be at least 1s',
    ],
  ]);
});
