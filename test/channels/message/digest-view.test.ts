/** A digest in every format: complete, within the limits, and with hostile text as text. */
import { describe, expect, test } from 'vitest';
import { openMails, threadHeaders } from '../../../src/channels/email/email-channel.ts';
import { mailMessage } from '../../../src/channels/email/mail-message.ts';
import { digestView } from '../../../src/channels/message/digest-view.ts';
import { closeChannels, openChannels } from '../../../src/channels/registry.ts';
import { slackBody } from '../../../src/channels/slack/slack-body.ts';
import { teamsBody } from '../../../src/channels/teams/teams-channel.ts';
import { digestJson } from '../../../src/channels/webhook/webhook-bodies.ts';
import { webhookMessages } from '../../../src/channels/webhook/webhook-channel.ts';
import type { Alert } from '../../../src/domain/alert/alert.ts';
import { digestOf, digestTitle, isEmpty } from '../../../src/domain/digest/digest.ts';
import { createFlightTally } from '../../../src/domain/digest/flight-tally.ts';
import { compileTemplate } from '../../../src/templates/liquid.ts';
import { SAMPLE_VARIABLES } from '../../../src/templates/variables.ts';
import { WORDS } from '../../domain/kinds/kind-words.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { digest, digestNotification } from '../digest-samples.ts';
import { delivery, email, webhook } from '../sample-notifications.ts';

const URL = 'http://nestwatch.example';
const HOSTILE =
  '<script>alert(1)</script> <!channel> @everyone \u202e\ud800 [x](http://evil.example) `code`\r\nBcc: a@b';

const SLACK = { channel: '', username: '', iconEmoji: '', iconUrl: '' };

const NOTHING = {
  ...{ name: 'n', fromUs: 0, toUs: 1, tally: createFlightTally(), firing: [], firingTotal: 0, episodes: [] },
  ...{ lateUs: new Set<number>(), hidden: new Map(), endedSilenced: { list: [], total: 0 }, unusual: [] },
  ...{ deadlines: [], suppressed: [], dead: 0, regions: [{ region: 'eu', verifiedUntilUs: 0 }] },
};

test('a report counts one as one, and says how alerts ended', () => {
  const labels = { region: 'eu', nest: 'Customer 4' };
  const rows = [2, 1].map((times) => ({ labels, figures: { times, failing_for: 60e6 } }));
  const tables = { worst_birds: rows, how_alerts_ended: [{ text: 'by_hand', figures: { alerts: 1 } }] };
  const report = { month: '2026-07', nest: {}, tables };
  const { sections } = digestView(
    { ...digestNotification(), digest: { name: 'monthly', fromUs: 0, toUs: 1, report } },
    URL,
  );
  expect(sections!.flatMap((section) => section.rows.map(({ lead, what }) => [lead, what]))).toEqual([
    ['2 times', 'EU · Customer 4'],
    ['1 time', 'EU · Customer 4'],
    ['1 alert', 'resolved by hand'],
  ]);
});

describe('a digest', () => {
  test('counts recoveries that were seen, and how long the watch was impaired', () => {
    const { recovered, watch, connectionsLostTotal } = digest();
    expect(recovered).toEqual({ alerts: 2, meanUs: 2_700e6 });
    expect(watch).toEqual([
      expect.objectContaining({ impaired: [{ alertname: 'RegionDown', us: 1_800e6, isOpen: false }] }),
      { region: 'us', verifiedUntilUs: 0, impaired: [] },
    ]);
    expect(connectionsLostTotal).toBe(3);
  });

  test('says no longer than its period that a region, or the whole watch, was impaired by several alerts', () => {
    const lasted = (
      alertId: string,
      alertname: string,
      region: string,
      [startsAtUs, endsAtUs]: number[],
    ) => ({
      ...{ alertId, alertname, labels: { region }, events: 0, ending: 'over' as const },
      ...{ startsAtUs: startsAtUs!, endsAtUs: endsAtUs! },
    });
    const { watch } = digestOf({
      ...{ ...NOTHING, toUs: 100 },
      episodes: [
        lasted('a', 'SchemaDrift', 'eu', [-50, 80]),
        lasted('b', 'SchemaDrift', 'eu', [10, 90]),
        lasted('c', 'WatchImpaired', 'all', [20, 30]),
        lasted('d', 'WatchImpaired', 'us', [20, 90]),
      ],
    });
    expect(watch[0]!.impaired).toEqual([
      { alertname: 'SchemaDrift', us: 90, isOpen: false },
      { alertname: 'WatchImpaired', us: 10, isOpen: false },
    ]);
  });

  test.each([
    [
      { alertname: 'SharedCause', region: 'eu', error: 'Quota # exceeded' },
      'One cause: EU: Quota … exceeded',
    ],
    [
      { alertname: 'FlightWaiting', region: 'eu', nest: 'Docs', bird: 'Blog', step: 'Review' },
      'Waiting: EU · Docs / Blog: step Review',
    ],
    [{ alertname: 'WatchImpaired', region: 'us', reason: 'clock_wrong' }, 'Watch impaired: US: clock wrong'],
    [{ alertname: 'RegionDown', region: 'us' }, `${WORDS.RegionDown.firing}: US`],
    [
      { alertname: 'FlightFailed', region: 'eu', nest: 'Docs', bird_id: '7' },
      'Flight failed: EU · Docs / Bird 7',
    ],
  ])('tells what is open from others of its kind: %j', (labels, words) => {
    const firing = [{ alertname: labels.alertname, labels, startsAtUs: 0 }] as unknown as Alert[];
    const own = digestOf({ ...NOTHING, firing, firingTotal: 1 });
    const view = digestView({ ...digestNotification(), digest: own }, URL);
    const { rows } = view.sections!.find(({ title }) => title === 'Still open')!;
    expect(rows.map(({ what }) => what)).toEqual([words]);
  });

  test('is empty only if nothing happened', () => {
    expect(isEmpty(digestOf(NOTHING))).toBe(true);
    expect(digestTitle(digestOf(NOTHING))).toBe('no Flight failed, nothing open');
    expect(isEmpty(digestOf({ ...NOTHING, dead: 1 }))).toBe(false);
    expect(isEmpty(digestOf({ ...NOTHING, firingTotal: 1 }))).toBe(false);
    const ended = { alertId: 'a', alertname: 'A', labels: {}, times: 1 };
    expect(isEmpty(digestOf({ ...NOTHING, endedSilenced: { list: [ended], total: 1 } }))).toBe(false);
    expect(isEmpty(digest())).toBe(false);
  });

  test('says nothing of a moment as if it lasted', () => {
    const moment = { alertname: 'EventMatched', labels: { bird: 'a' }, startsAtUs: 0 };
    const { open, recovered } = digestOf({
      ...NOTHING,
      firing: [{ id: 'a', ...moment } as unknown as Alert],
      episodes: [{ alertId: 'a', ...moment, endsAtUs: 9, events: 1, ending: 'by_hand' }],
    });
    expect([open, recovered.alerts]).toEqual([[], 0]);
  });

  test('marks what nobody is notified of now, and lists what a silence muted, the most frequent first', () => {
    const alert = (id: string) =>
      ({ id, alertname: 'A', labels: { bird: id }, startsAtUs: 0 }) as unknown as Alert;
    const ended = (id: string, times: number) => ({
      ...{ alertId: id, alertname: 'A', labels: { bird: id }, times },
    });
    const { open, silenced, silencedTotal } = digestOf({
      ...NOTHING,
      firing: ['a', 'b', 'c', 'd'].map(alert),
      firingTotal: 4,
      hidden: new Map([
        ['b', 'silenced'],
        ['c', 'acknowledged'],
        ['d', 'silenced'],
      ]),
      endedSilenced: { list: [ended('e', 2), ended('d', 2), ended('f', 1)], total: 5 },
    });
    expect(open.map(({ labels, hidden }) => [labels.bird, hidden])).toEqual([
      ['a', undefined],
      ['b', 'silenced'],
      ['c', 'acknowledged'],
      ['d', 'silenced'],
    ]);
    expect(silenced!.map(({ labels, times, isOpen }) => [labels.bird, times, isOpen])).toEqual([
      ['d', 3, true],
      ['e', 2, false],
      ['f', 1, false],
      ['b', 1, true],
    ]);
    expect(silencedTotal).toBe(6);
  });

  test('lists no more than ten of them, and says how many more there are', () => {
    const { silenced, silencedTotal } = digest('Translate blog', 40);
    expect([silenced.length, silencedTotal]).toEqual([10, 41]);
    const { text } = mailMessage(digestNotification('Translate blog', 40), URL, undefined);
    expect(text).toContain('and 31 more');
  });

  test('does not count as suppressed what a cap only postponed', () => {
    const suppressed = [
      { reason: 'receiver_cap', count: 3 },
      { reason: 'silenced', count: 1 },
    ];
    expect(digestOf({ ...NOTHING, suppressed }).suppressed).toEqual([{ reason: 'silenced', count: 1 }]);
    expect(isEmpty(digestOf({ ...NOTHING, suppressed: suppressed.slice(0, 1) }))).toBe(true);
  });

  test('lists what is unusual, the first ten', () => {
    const place = { region: 'eu', nest: 'n', bird: '<b>b</b>' };
    const one = { ...place, sort: 'fewer', text: 'Started 3 Flights.' } as const;
    const digest = digestOf({ ...NOTHING, unusual: Array(12).fill(one) });
    expect(isEmpty(digest)).toBe(false);
    const view = digestView({ ...digestNotification(), digest }, URL);
    const section = view.sections?.find(({ title }) => title === 'Unusual');
    expect(section).toMatchObject({ more: 2 });
    expect(section!.rows).toHaveLength(10);
    expect(section!.rows[0]).toEqual({ lead: 'fewer', what: 'EU · n / <b>b</b>', note: one.text });
    expect(digestJson(digest)).toMatchObject({ unusual: Array(10).fill(one), unusual_total: 12 });
  });

  test('is as severe as the worst that it lists', () => {
    const toneWith = (change: Partial<Parameters<typeof digestOf>[0]>) =>
      digestView({ ...digestNotification(), digest: digestOf({ ...NOTHING, ...change }) }, URL).tone;
    const failures = createFlightTally();
    const place = { region: 'eu', nest: 'n', nestId: '1', bird: 'b', birdId: '2' };
    const failure = { occurredAtUs: 0, message: 'boom', status: 'failed', durationUs: null } as const;
    failures.add({ ...place, ...failure }, true);
    const firing = (severity: string) => [
      { alertname: 'A', labels: { severity }, startsAtUs: 0 } as unknown as Alert,
    ];
    const labels = { region: 'eu' };
    const episode = { alertId: 'r', alertname: 'RegionDown', labels, startsAtUs: 0, endsAtUs: 1 };
    expect(toneWith({})).toBe('resolved');
    expect(toneWith({ tally: failures })).toBe('warning');
    expect(toneWith({ firingTotal: 1 })).toBe('warning');
    expect(toneWith({ episodes: [{ ...episode, events: 0, ending: 'over' }] })).toBe('warning');
    expect(toneWith({ firing: firing('warning'), firingTotal: 1 })).toBe('warning');
    expect(toneWith({ firing: firing('critical'), firingTotal: 1 })).toBe('critical');
  });

  test('leads to the report of the month in which it begins, in its own time zone', () => {
    const began = (fromUs: number, timezone?: string) => {
      const own = { ...digestNotification(), digest: digestOf({ ...NOTHING, fromUs }) };
      const { links } = digestView({ ...own, ...(timezone && { timezone }) }, URL);
      return links.map(({ url }) => url).filter((url) => url.includes('report'));
    };
    const lateInNovemberUs = Date.parse('2026-11-30T23:30:00Z') * 1000;
    expect(began(lateInNovemberUs)).toEqual([`${URL}/report?month=2026-11`]);
    expect(began(lateInNovemberUs, 'Europe/Amsterdam')).toEqual([`${URL}/report?month=2026-12`]);
  });

  test('in a mail has its own thread and the day in its subject', () => {
    const { subject, text } = mailMessage(digestNotification(), URL, undefined);
    expect(subject).toBe('Digest Translate blog: 3 Flights failed, 14 alerts open');
    expect(text).toContain('Flights        3 failed, 18 succeeded (3 Birds in 2 Nests)');
    expect(text).toContain('Period before  0 failed, 18 succeeded (3 more failures)');
    expect(text).toContain('Recovered      2 alerts, after 45 min on average');
    expect(text).toContain('Not notified   4 silenced');
    expect(text).toMatch(/since 2 Jul 2026, 11:00 UTC, silenced/);
    expect(text).toMatch(/since 2 Jul 2026, 11:00 UTC, acknowledged/);
    expect(text).toContain(
      `Silenced:\n  3 ×  ${WORDS.BirdStale.firing}: EU · Translate blog / Translate blog\n  2 ×  No Flight`,
    );
    expect(text).toContain(
      `EU  nothing missing until 2 Jul 2026, 11:00 UTC (${WORDS.RegionDown.firing} for 30 min)`,
    );
    const headers = threadHeaders(digestNotification(), delivery(), 'n@example.com');
    expect(headers.messageId).toMatch(/^<thread\./);
    expect(headers.references).toBeUndefined();
  });

  test('for programs has names that every JSON reader accepts', () => {
    const { birds, nests, slowest, causes } = digestJson(digest('a\0b\ud800'));
    const names = JSON.stringify([
      birds,
      nests,
      slowest,
      (causes as { examples: unknown }[]).map((one) => one.examples),
    ]);
    expect(names).toContain('a\ufffdb\ufffd');
    expect(names).not.toMatch(/\\u(0000|d800)/);
  });

  test('does not use templates, which are written for alerts', () => {
    const subject = compileTemplate('own {{ title }}', 'text', SAMPLE_VARIABLES);
    const message = mailMessage(digestNotification(), URL, { subject, headers: {} });
    expect(message.subject).toMatch(/^Digest/);
    const template = webhook({
      format: 'template',
      template: compileTemplate('{}', 'json', SAMPLE_VARIABLES),
    });
    expect(webhookMessages(template, digestNotification(), URL)).toMatch(/^templates are for alerts/);
  });

  test("in a webhook has no alerts in Alertmanager's form, and is a separate event in CloudEvents", () => {
    const [first] = webhookMessages(webhook(), digestNotification(), URL) as { body: string }[];
    expect(JSON.parse(first!.body)).toMatchObject({
      version: '4',
      status: 'resolved',
      alerts: [],
      digest: {
        flights_failed: 3,
        open_total: 14,
        flights_waiting: 0,
        mean_seconds_to_recovery: 2700,
        open: expect.arrayContaining([
          expect.objectContaining({ silenced: true, acknowledged: false }),
          expect.objectContaining({ silenced: false, acknowledged: true }),
        ]),
        silenced: expect.arrayContaining([
          { labels: expect.objectContaining({ bird: 'Translate blog' }), times: 3, open: false },
        ]),
        silenced_total: 4,
        suppressed: { silenced: 4 },
      },
    });
    const [batch] = webhookMessages(webhook({ format: 'cloudevents' }), digestNotification(), URL) as {
      body: string;
    }[];
    expect(JSON.parse(batch!.body)).toEqual([
      expect.objectContaining({
        type: 'nestwatch.digest',
        id: 'digest-1',
        source: '/digests',
        time: '2026-07-02T12:00:00.000000Z',
      }),
    ]);
  });

  test('goes only to addresses, not to the members of Nests', async () => {
    const channel = openMails({ clock: createVirtualClock(), version: 'test' });
    const members = { ...email(), to: [], toNestMembers: true };
    expect(await channel.send(members, delivery(), digestNotification(), URL)).toMatchObject({
      kind: 'nothing',
    });
    await channel.close();
  });

  test.each(['pagerduty', 'alertmanager'])('is nothing for %s', async (kind) => {
    const openTransport = () => {
      throw new Error('nothing is posted');
    };
    const channels = openChannels({ clock: createVirtualClock(), version: 'test', openTransport });
    const integration = { kind, sendResolved: true };
    expect(await channels[kind]!.send(integration, delivery(), digestNotification(), URL)).toEqual({
      kind: 'nothing',
      why: expect.stringMatching(/^a digest is not an alert/),
    });
    await closeChannels(channels);
  });

  test.each([
    ['plain', 'Translate blog', 3],
    ['hostile', HOSTILE, 40],
    ['long', '\u{1f426}'.repeat(5_000), 300],
  ])('keeps the limits of mails, and is text in Slack and Teams: %s [long]', (_, text, count) => {
    const notification = digestNotification(text, count);
    const mail = mailMessage(notification, URL, undefined);
    expect(Buffer.byteLength(mail.text)).toBeLessThan(30_000);
    expect(Buffer.byteLength(mail.html)).toBeLessThan(30_000);
    expect(mail.subject).not.toMatch(/[\r\n\u202e]/);
    expect(mail.html).not.toContain('<script>');
    const slack = slackBody(notification, URL, SLACK);
    expect(JSON.stringify(slack)).not.toContain('<!channel>');
    expect(JSON.stringify(slack)).toContain('In short');
    expect(JSON.stringify(teamsBody(notification, URL))).toContain('In short');
  });
});
