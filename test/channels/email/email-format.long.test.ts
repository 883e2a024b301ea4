import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { threadHeaders } from '../../../src/channels/email/email-channel.ts';
import { emailHtml } from '../../../src/channels/email/email-html.ts';
import { emailText } from '../../../src/channels/email/mail-message.ts';
import { mailView } from '../../../src/channels/message/message-view.ts';
import { escapeHtml, linkable } from '../../../src/channels/message/section.ts';
import { shortId } from '../../../src/domain/alert/event.ts';
import type { GroupNotification, NotifiedAlert } from '../../../src/domain/grouping/notification.ts';
import { anyCharacter } from '../../any-character.ts';
import { WORDS } from '../../domain/kinds/kind-words.ts';
import {
  about,
  alert,
  failedFlight,
  group,
  labelled,
  MINUTE_US,
  NOW_US,
  resolved,
  storm,
} from '../sample-notifications.ts';

const RUNS = 30;

const URL = 'https://nestwatch.example.com';
const viewOf = (...alerts: NotifiedAlert[]) => mailView(about(...alerts), URL);
const text = (notification: GroupNotification) => emailText(mailView(notification, URL));
const html = (notification: GroupNotification) => emailHtml(mailView(notification, URL));
const firstLines = (notification: GroupNotification) => text(notification).split('\n').slice(0, 2);

describe('the first two lines of a mail', () => {
  test('about a failure say what failed, where, since when and for how long', () => {
    expect(firstLines(group())).toEqual([
      'Translate blog failed',
      'EU · Marketing · since 2 Jul 2026, 11:56 UTC, for 4 min',
    ]);
  });

  test('of an update say that it continues', () => {
    const more = alert({ startsAtUs: NOW_US - 134 * MINUTE_US, eventsTotal: 41 });
    expect(firstLines(group({ reason: 'new_events', alerts: [more] }))).toEqual([
      'Translate blog still fails',
      'EU · Marketing · since 2 Jul 2026, 09:46 UTC, for 2 h 14 min · 41 failures, 1 of them new',
    ]);
  });

  test('of a resolved alert say how long it lasted, and claim a recovery only if one was seen', () => {
    const over = (ending: NonNullable<NotifiedAlert['ending']>, resolved_by = '') => {
      const annotations = { ...alert().annotations, resolved_by };
      return group({ reason: 'resolved', alerts: [resolved({ ending, events: [], annotations })] });
    };
    expect(firstLines(over('over'))).toEqual([
      'Translate blog lands again',
      'EU · Marketing · from 2 Jul 2026, 11:56 UTC, lasted 4 min',
    ]);
    const { quiet, firing } = WORDS.FlightFailed;
    expect(firstLines(over('quiet'))[0]).toBe(`${quiet}: Translate blog`);
    expect(firstLines(over('moved'))[0]).toBe(`${firing}, continues elsewhere: Translate blog`);
    expect(firstLines(over('gone'))[0]).toBe(`${firing}, no longer watched: Translate blog`);
    expect(firstLines(over('by_hand'))[0]).toBe(`${firing}, resolved by hand: Translate blog`);
    expect(text(over('by_hand', 'it was resolved by hand by ann: mended'))).toContain(
      '\n\nIt was resolved by hand by ann: mended.\n\n',
    );
    expect(text(over('over', 'a later Flight succeeded'))).toContain('\n\nA later Flight succeeded.\n\n');
    const tones = (['over', 'quiet', 'superseded', 'moved', 'gone', 'by_hand'] as const).map(
      (ending) => mailView(over(ending), URL).tone,
    );
    expect(tones).toEqual(['resolved', 'resolved', 'neutral', 'neutral', 'neutral', 'resolved']);
  });

  test('of a storm say how many', () => {
    expect(firstLines(storm())).toEqual([
      '200 Birds failed',
      'EU · Marketing · since 2 Jul 2026, 10:21 UTC, for 1 h 39 min',
    ]);
  });

  test.each([
    ['RegionDown', {}, `${WORDS.RegionDown.firing}: US`],
    ['ConnectionDisconnected', { entity_name: 'DeepL' }, `${WORDS.ConnectionDisconnected.firing}: DeepL`],
    ['BirdDeactivated', { bird_id: '7' }, `${WORDS.BirdDeactivated.firing}: Bird 7`],
    ['KindOfTomorrow', { entity_type: 'Hub', entity_id: '7' }, 'KindOfTomorrow: Hub 7'],
  ])('of %s with %j are in plain words', (alertname, subject, headline) => {
    const labels = { alertname, region: 'us', ...subject };
    expect(firstLines(about(alert({ labels })))[0]).toBe(headline);
  });
});

describe('the body of a mail', () => {
  test('shows the message and what users ask for first', () => {
    const body = text(group());
    expect(body).toContain('    Translation failed: the provider answered 429 Too Many Requests');
    expect(body).toContain('Nest: Marketing (682)');
    expect(body).toContain('Bird: Translate blog (148890)');
    expect(body).toContain('Flight: 5f0c9a52\n');
    expect(body).toContain('Started: 2 Jul 2026, 11:41:07 UTC, failed after 14 min');
    expect(body).toContain(`See it in nestwatch: ${URL}/alerts/FlightFailed/93f7e433/eu/bird/148890\n`);
    expect(body).toContain(`Silence: ${URL}/silence?alert=FlightFailed/93f7e433/eu/bird/148890\n`);
  });

  const triggerFailed = (minutes: number, message?: string) =>
    failedFlight(minutes, {
      feed: 'bird_log',
      type: 'bird_log.EventError',
      attributes: {},
      ...(message !== undefined && { message }),
    });

  test('lists what the message does not say with its time, equal lines together, and counts the rest', () => {
    const events = [1, 2, 3].map((minutes) => triggerFailed(minutes));
    const others = [5, 6].map((minutes) => triggerFailed(minutes, 'Term base not found'));
    const one = alert({ events: [...events, ...others], eventsTotal: 30, eventsOmitted: 9 });
    const body = text(group({ threadPosition: 1, alerts: [one] }));
    expect(body).toContain(
      `New since the last message:\n  - 2 ×, the last 2 Jul 2026, 11:55:00 UTC\n    Term base not found\n    event ${shortId(others[0]!)}\n  … and 9 more events\n`,
    );
    expect(firstLines(group({ alerts: [alert({ eventsTotal: 30 })], threadPosition: 1 }))[1]).toContain(
      '30 failures, 1 of them new',
    );
  });

  test('puts alerts of one cause together, the largest group first, and counts those that are not listed', () => {
    const body = text(storm());
    const order = [
      `60 × ${WORDS.FlightFailed.firing}`,
      `30 × ${WORDS.FlightFailed.firing}`,
      `10 × ${WORDS.FlightFailed.firing}`,
      '… and 100 more alerts',
    ];
    const at = order.map((words) => body.indexOf(words));
    expect(at.every((position) => position > 0)).toBe(true);
    expect(at).toEqual([...at].sort((a, b) => a - b));
    expect(body).toContain('Translate page 16 and 48 more');
  });

  test('puts open alerts before resolved ones and large clusters before small ones, in whatever order they come', () => {
    const named = (bird: string, message: string, changes: Partial<NotifiedAlert> = {}) =>
      labelled({ bird }, { events: [failedFlight(4, { message })], ...changes });
    const alerts = [
      ...['r1', 'r2', 'r3'].map((bird) => named(bird, 'x', { status: 'resolved', endsAtUs: NOW_US })),
      named('a', 'small'),
      ...['b', 'c'].map((bird) => named(bird, 'large')),
    ];
    const titles = viewOf(...alerts).clusters.map(({ title, places }) => [title, ...places]);
    expect(titles).toEqual([
      [`2 × ${WORDS.FlightFailed.firing}`, 'b', 'c'],
      [WORDS.FlightFailed.firing, 'a'],
      [`3 × ${WORDS.FlightFailed.quiet}`, 'r1', 'r2', 'r3'],
    ]);
  });

  test('does not list again below the message what the message says', () => {
    const events = [triggerFailed(4), triggerFailed(5)];
    expect(text(about(alert({ events, eventsTotal: 2 })))).not.toContain('Before that');
  });

  test('says the beginning once if clusters share it, to the minute', () => {
    const one = (startsAtUs: number, bird: string) =>
      labelled({ bird }, { startsAtUs, events: [failedFlight(4, { message: bird, attributes: {} })] });
    const contexts = (...alerts: NotifiedAlert[]) => viewOf(...alerts).clusters.map(({ context }) => context);
    expect(contexts(one(NOW_US - MINUTE_US, 'a'), one(NOW_US - MINUTE_US + 9, 'b'))).toEqual(['', '']);
    expect(contexts(one(NOW_US - MINUTE_US, 'a'), one(NOW_US, 'b'))).toEqual([
      '',
      'since 2 Jul 2026, 12:00 UTC, for 0 s',
    ]);
  });

  test('says of three failures of one Bird with three errors, in one block, that the causes are several', () => {
    const of = (minutes: number, message: string) =>
      labelled({ error: message }, { events: [failedFlight(minutes, { message })] });
    const alerts = [of(9, 'boom'), of(2, 'out of memory'), of(5, 'quota of 3 words exceeded')];
    const [cluster, ...others] = viewOf(...alerts).clusters;
    expect(others).toEqual([]);
    expect(cluster).toMatchObject({
      title: `3 × ${WORDS.FlightFailed.firing}`,
      places: ['Translate blog'],
      cause: 'Several causes, the newest: out of memory',
    });
    const events = alerts.flatMap((one) => one.events).toReversed();
    expect(text(about(alert({ events, eventsTotal: 3 })))).toContain('Several causes, the newest:\n    ');
  });

  test('shows an alert that became worse as one, together with what it became', () => {
    const alertname = 'ConnectionDisconnected';
    const labels = { alertname, region: 'eu', entity_id: '1', entity_name: 'DeepL' };
    const retrying = resolved({
      labels: { ...labels, severity: 'warning' },
      ...{ ending: 'superseded', startsAtUs: NOW_US - 2 * MINUTE_US },
    });
    const lost = alert({
      labels: { ...labels, severity: 'critical' },
      startsAtUs: NOW_US,
      annotations: { summary: 'Connection DeepL is lost (EU): it must be reconnected' },
    });
    const view = mailView(group({ reason: 'new_alerts', alerts: [lost, retrying] }), URL);
    expect(view).toMatchObject({
      tone: 'critical',
      headline: `${WORDS.ConnectionDisconnected.superseded}: DeepL`,
      context: 'EU · since 2 Jul 2026, 11:58 UTC, for 2 min · 2 messages',
      lead: [
        'Connection DeepL is lost (EU): it must be reconnected.',
        'It was a warning since 2 Jul 2026, 11:58 UTC.',
      ],
      clusters: [],
    });
    for (const changed of [{ entity_id: '2', entity_name: 'Phrase' }, { rule: 'another' }]) {
      const other = alert({ ...retrying, labels: { ...labels, ...changed } });
      expect(viewOf(lost, other).clusters.map(({ title }) => title)).toEqual([
        WORDS.ConnectionDisconnected.firing,
        WORDS.ConnectionDisconnected.superseded,
      ]);
    }
  });

  test('does not list a failing trigger beside the deactivation that it led to', () => {
    const bird = { region: 'eu', nest_id: '1', bird_id: '7', bird: 'Contracts' };
    const labels = { ...bird, alertname: 'BirdTriggerFailing', severity: 'warning', error: 'x' };
    const trigger = resolved({ labels, ending: 'superseded' });
    const deactivated = alert({ labels: { ...bird, alertname: 'BirdDeactivated', severity: 'critical' } });
    expect(viewOf(deactivated, trigger)).toMatchObject({
      headline: `${WORDS.BirdDeactivated.firing}: Contracts`,
      context: 'EU · Nest 1 · since 2 Jul 2026, 11:56 UTC, for 4 min',
      clusters: [],
    });
    expect(viewOf(trigger)).toMatchObject({
      tone: 'neutral',
      headline: `${WORDS.BirdTriggerFailing.superseded}: Contracts`,
    });
  });

  test('a reminder says that it is one', () => {
    expect(firstLines(group({ reason: 'repeat' }))[0]).toBe('Reminder: Translate blog still fails');
  });

  test('an alert that comes and goes says so, and why it counts as resolved only now', () => {
    const annotations = { flapping: 'it changed 4 times or more within 1 h' };
    const flapping = viewOf(alert({ annotations }));
    expect(flapping.headline).toBe('Translate blog failed, on and off');
    expect(flapping.lead).toEqual(['It changed 4 times or more within 1 h.']);
    expect(text(about(resolved({ annotations, ending: 'over' })))).toContain('The alert was flapping');
  });

  test('says in the lead only what the first two lines do not say', () => {
    expect(mailView(group(), URL).lead).toEqual([]);
    const summary = '3 or more Flights of Translate blog failed in a row in Marketing (EU)';
    expect(viewOf(alert({ annotations: { summary } })).lead).toEqual([`${summary}.`]);
  });

  test('shows how the last Flights ended, as marks and in words', () => {
    const history = ['succeeded', 'succeeded', 'failed', 'cancelled', 'failed'] as const;
    const notification = about(alert({ history }));
    expect(text(notification)).toContain(
      'Last Flights: ● ● ✕ ○ ✕ (2 succeeded, 2 failed, 1 cancelled; the last one failed)\n',
    );
    expect(html(notification).match(/[●✕○](?=<\/span>)/g)).toEqual(['●', '●', '✕', '○', '✕']);
    expect(html(notification)).toContain('2 succeeded, 2 failed, 1 cancelled; the last one failed');
    expect(text(about(alert({ history: history.slice(1, 3) })))).toContain(
      'Last Flights: ● ✕ (1 succeeded, then 1 failed)\n',
    );
    // A single Flight has no history worth showing.
    expect(text(about(alert({ history: ['failed'] })))).not.toContain('Last Flights');
  });

  test('links to one silence for all alerts if there are several, but not in a summary of many groups', () => {
    const several = about(alert(), labelled({ bird: 'b', bird_id: '2' }));
    const matchers = 'alertname="FlightFailed"\nregion="eu"\nnest="Marketing"';
    const link = mailView(several, URL).links.find(({ text: words }) => words === 'Silence all of these');
    expect(new globalThis.URL(link!.url).searchParams.get('matchers')).toBe(matchers);
    const summary = { fromUs: 0, toUs: 0, events: 2, alerts: 2, firing: 2, kinds: [] };
    expect(mailView({ ...several, summary }, URL).links).toHaveLength(1);
    expect(mailView(group({ groupLabels: {}, alerts: several.alerts }), URL).links).toHaveLength(1);
  });

  test('says the same in HTML', () => {
    const page = html(storm());
    expect(page).toContain(`60 × ${WORDS.FlightFailed.firing}`);
    expect(page).toContain('Translation failed: the provider answered 429 Too Many Requests');
    expect(page).toContain('… and 100 more alerts');
    expect(page).toContain(`href="${URL}/alerts?region=eu&amp;nest=Marketing&amp;name=FlightFailed"`);
  });

  test('loads nothing from anywhere', () => {
    expect(html(group())).not.toMatch(/<(img|link|script|iframe)|url\(|@import|src=/i);
  });

  test('links a runbook only to the web', () => {
    const withRunbook = (runbook_url: string) => html(about(alert({ annotations: { runbook_url } })));
    expect(withRunbook('https://wiki.example.com/a?b=1&c=2')).toContain(
      'href="https://wiki.example.com/a?b=1&amp;c=2"',
    );
    expect(withRunbook('javascript:alert(1)')).not.toContain('javascript:');
  });

  const hostile = `<script>alert('x')</script>"&<!channel> @everyone \u202Egpj.exe\u0000\uD800\r\nBcc: all@example.com`;

  test('hostile names and messages stay text', () => {
    const names = ['alertname', 'region', 'nest', 'bird', 'severity', hostile];
    const labels = Object.fromEntries(names.map((name) => [name, hostile]));
    const words = { message: hostile, bird: hostile, type: hostile, attributes: { flight_id: hostile } };
    const one = alert({
      labels,
      annotations: { summary: hostile, [hostile]: hostile },
      events: [failedFlight(1, words), failedFlight(2)],
    });
    for (const notification of [about(one), about(one, alert())]) {
      expect(html(notification)).not.toContain('<script>');
      for (const part of [html(notification), text(notification)]) {
        expect(part).not.toMatch(/\u202E/);
        expect(part).not.toContain('\0');
        expect(part.isWellFormed()).toBe(true);
      }
    }
  });

  test('stays under 30 kB and well-formed for any input [long]', () => {
    // Long texts are made inside the property, so that a counterexample stays short.
    const anyText = fc.record({
      start: fc.string({ unit: anyCharacter, maxLength: 30 }),
      part: fc.constantFrom(`"&<'`, '\u{1F985}', '\n', 'ß', '</pre>\r\n'),
      times: fc.constantFrom(0, 50, 20_000),
    });
    const long = ({ start, part, times }: { start: string; part: string; times: number }) =>
      start + part.repeat(times);
    const anyAlert = fc.record({
      name: anyText,
      message: anyText,
      isFiring: fc.boolean(),
      count: fc.integer({ min: 0, max: 20 }),
    });
    fc.assert(
      fc.property(fc.array(anyAlert, { minLength: 1, maxLength: 30, size: 'max' }), (choices) => {
        const alerts = choices.map(({ isFiring, count, ...texts }) => {
          const [name, message] = [long(texts.name), long(texts.message)];
          return alert({
            status: isFiring ? 'firing' : 'resolved',
            endsAtUs: isFiring ? 0 : NOW_US,
            labels: { alertname: name, region: name, nest: name, bird: name, severity: message, team: name },
            annotations: { summary: message, runbook_url: `https://a/${name}`, [name]: message, b: message },
            events: Array.from({ length: count }, (_, at) =>
              failedFlight(at, { message, bird: `${at} ${name}`, type: name }),
            ),
            eventsOmitted: count,
          });
        });
        const notification = group({ alerts, truncatedAlerts: 7, receiver: 'x'.repeat(500) });
        const view = mailView(notification, URL);
        const page = emailHtml(view);
        for (const part of [page, emailText(view)]) {
          expect(Buffer.byteLength(part)).toBeLessThan(30_000);
          expect(part.isWellFormed()).toBe(true);
        }
        expect(page).toMatch(/<\/body><\/html>\n$/);
      }),
      { numRuns: RUNS },
    );
  });
});

describe('the thread', () => {
  const to = { id: 'd-1', receiver: 'ops', position: 0 };
  const FROM = 'Watch <n@example.com>';
  const first = threadHeaders(group(), to, FROM);

  test('a reply refers to the first mail, whose id it derives', () => {
    const reply = threadHeaders(group({ threadPosition: 2 }), { ...to, id: 'd-9' }, FROM);
    expect(first.messageId).toMatch(/^<thread\.[0-9a-f]{32}@example\.com>$/);
    expect(reply).toMatchObject({ inReplyTo: first.messageId, references: first.messageId });
    expect(reply.messageId).not.toBe(first.messageId);
  });

  test('another receiver, integration or thread is another thread', () => {
    const others = [
      threadHeaders(group(), { ...to, receiver: 'x' }, FROM),
      threadHeaders(group(), { ...to, position: 1 }, FROM),
      threadHeaders(group({ thread: 'thread-2' }), to, FROM),
      threadHeaders(group(), to, FROM),
    ];
    expect(new Set(others.map((one) => one.messageId)).size).toBe(4);
  });
});

describe('the encoders', () => {
  test('escapes what HTML gives a meaning', () => {
    expect(escapeHtml(`<a href="x" title='y'>&</a>`)).toBe(
      '&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;&lt;/a&gt;',
    );
  });

  test.each([
    ['https://x.example/a', 'https://x.example/a'],
    [' http://x ', 'http://x/'],
    ['javascript:alert(1)', undefined],
    ['//x', undefined],
    [`https://x/${'a'.repeat(600)}`, undefined],
  ])('links %s to %s', (address, link) => {
    expect(linkable(address)).toBe(link);
  });
});
