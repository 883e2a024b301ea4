import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mailSubject, threadHeaders } from '../../src/delivery/formats/email-headers.ts';
import { emailHtml } from '../../src/delivery/formats/email-html.ts';
import { emailText } from '../../src/delivery/formats/email-text.ts';
import { mailView } from '../../src/delivery/formats/email-view.ts';
import { escapeHtml, linkable, plainLines } from '../../src/delivery/formats/encode.ts';
import { dayAndTime, duration, timeOfDay } from '../../src/delivery/formats/human-time.ts';
import { alert, failedFlight, type GroupNotification, group, MINUTE_US, NOW_US, storm } from './samples.ts';

const URL = 'https://nestwatch.example.com';
const text = (notification: GroupNotification) => emailText(mailView(notification, URL));
const html = (notification: GroupNotification) => emailHtml(mailView(notification, URL));
const firstLines = (notification: GroupNotification) => text(notification).split('\n').slice(0, 2);

describe('the first two lines of a mail', () => {
  test('of a failure say what failed, where, since when and for how long', () => {
    expect(firstLines(group())).toEqual([
      'Flight failed: Translate blog',
      'EU · Marketing · since 2 Jul 2026, 11:56 UTC, for 4 min',
    ]);
  });

  test('of an update say that it goes on', () => {
    const more = alert({ startsAtUs: NOW_US - 134 * MINUTE_US, eventsTotal: 41 });
    expect(firstLines(group({ reason: 'new_events', alerts: [more] }))).toEqual([
      'Flights still failing: Translate blog',
      'EU · Marketing · since 2 Jul 2026, 09:46 UTC, for 2 h 14 min · 41 events',
    ]);
  });

  test('of a resolved alert say how long it lasted, and claim a recovery only where one was seen', () => {
    const over = (resolved_by: string) =>
      group({
        reason: 'resolved',
        alerts: [
          alert({
            status: 'resolved',
            endsAtUs: NOW_US,
            events: [],
            annotations: { ...alert().annotations, resolved_by },
          }),
        ],
      });
    expect(firstLines(over('eu/flight/1/succeeded'))).toEqual([
      'Recovered: Translate blog',
      'EU · Marketing · from 2 Jul 2026, 11:56 UTC, lasted 4 min',
    ]);
    expect(firstLines(over('no further failure for 24 h'))[0]).toBe('No new failures: Translate blog');
    expect(firstLines(over('superseded: it is critical now'))[0]).toBe('Superseded: Translate blog');
  });

  test('of a storm say how many', () => {
    expect(firstLines(storm())).toEqual([
      'Flight failed: 200 open alerts',
      'EU · Marketing · since 2 Jul 2026, 10:21 UTC, for 1 h 39 min',
    ]);
  });

  test.each([
    [{ alertname: 'RegionDown', region: 'us' }, 'Region down: US'],
    [{ alertname: 'ConnectionDisconnected', region: 'us', entity_name: 'DeepL' }, 'Connection lost: DeepL'],
    [{ alertname: 'BirdDeactivated', region: 'us', bird_id: '7' }, 'Bird deactivated: Bird 7'],
    [
      { alertname: 'KindOfTomorrow', region: 'us', entity_type: 'Hub', entity_id: '7' },
      'KindOfTomorrow: Hub 7',
    ],
  ])('of %j are in plain words', (labels, headline) => {
    expect(firstLines(group({ alerts: [alert({ labels })] }))[0]).toBe(headline);
  });
});

describe('the body of a mail', () => {
  test('shows the message and what users ask for first', () => {
    const body = text(group());
    expect(body).toContain('    Translation failed: the provider answered 429 Too Many Requests');
    expect(body).toContain('Nest: Marketing (682)');
    expect(body).toContain('Bird: Translate blog (148890)');
    expect(body).toContain('Flight: 5f0c9a52-0000-4000-8000-000000000004');
    expect(body).toContain('Started: 2026-07-02 11:41:07 UTC');
    expect(body).toContain(`Open nestwatch: ${URL}/`);
  });

  test('lists new events with their time, the same ones together, and counts the rest', () => {
    const events = [1, 2, 3].map((minutes) => failedFlight(minutes));
    const other = failedFlight(5, { message: 'Term base not found' });
    const body = text(
      group({
        threadPosition: 1,
        alerts: [alert({ events: [...events, other], eventsTotal: 30, eventsOmitted: 9 })],
      }),
    );
    expect(body).toContain('New since the last mail:\n  11:59:00  3 ×  failed: Translation failed');
    expect(body).toContain('  11:55:00  failed: Term base not found\n  … and 9 more events');
  });

  test('puts alerts of one cause together, the most first, and counts those that are not listed', () => {
    const body = text(storm());
    const order = ['60 × Flight failed', '30 × Flight failed', '10 × Flight failed', '… and 100 more alerts'];
    const at = order.map((words) => body.indexOf(words));
    expect(at.every((position) => position > 0)).toBe(true);
    expect(at).toEqual([...at].sort((a, b) => a - b));
    expect(body).toContain('Translate page 12 and 52 more');
  });

  test('puts open alerts before resolved ones and large clusters before small ones, however they come', () => {
    const named = (bird: string, error: string, status: 'firing' | 'resolved' = 'firing') =>
      alert({
        status,
        endsAtUs: status === 'firing' ? 0 : NOW_US,
        labels: { ...alert().labels, bird, error },
      });
    const alerts = [
      ...['r1', 'r2', 'r3'].map((bird) => named(bird, 'x', 'resolved')),
      named('a', 'small'),
      ...['b', 'c'].map((bird) => named(bird, 'large')),
    ];
    const titles = mailView(group({ alerts }), URL).clusters.map(({ title, places }) => [title, ...places]);
    expect(titles).toEqual([
      ['2 × Flight failed', 'b', 'c'],
      ['Flight failed', 'a'],
      ['3 × No new failures', 'r1', 'r2', 'r3'],
    ]);
  });

  test('does not list a single event again below its message', () => {
    expect(text(group())).not.toContain('Events:');
    expect(text(group({ alerts: [alert({ eventsOmitted: 1 })] }))).toContain('Events:');
  });

  test('says the same in HTML', () => {
    const page = html(storm());
    expect(page).toContain('60 × Flight failed');
    expect(page).toContain('Translation failed: the provider answered 429 Too Many Requests');
    expect(page).toContain('… and 100 more alerts');
    expect(page).toContain(`href="${URL}/"`);
  });

  test('loads nothing from anywhere', () => {
    expect(html(group())).not.toMatch(/<(img|link|script|iframe)|url\(|@import|src=/i);
  });

  test('links a runbook only to the web', () => {
    const withRunbook = (runbook_url: string) =>
      html(group({ alerts: [alert({ annotations: { runbook_url } })] }));
    expect(withRunbook('https://wiki.example.com/a?b=1&c=2')).toContain(
      'href="https://wiki.example.com/a?b=1&amp;c=2"',
    );
    expect(withRunbook('javascript:alert(1)')).not.toContain('javascript:');
  });

  const hostile = `<script>alert('x')</script>"&\u202Egpj.exe\u0000\uD800\r\nBcc: all@example.com`;

  test('hostile names and messages stay text', () => {
    const labels = {
      alertname: hostile,
      region: hostile,
      nest: hostile,
      bird: hostile,
      severity: hostile,
      [hostile]: hostile,
    };
    const event = failedFlight(1, {
      message: hostile,
      bird: hostile,
      type: hostile,
      attributes: { flight_id: hostile },
    });
    const one = alert({
      labels,
      annotations: { summary: hostile, [hostile]: hostile },
      events: [event, failedFlight(2)],
    });
    for (const notification of [group({ alerts: [one] }), group({ alerts: [one, alert()] })]) {
      expect(html(notification)).not.toContain('<script>');
      for (const part of [html(notification), text(notification)]) {
        expect(part).not.toMatch(/\u202E/);
        expect(part).not.toContain('\0');
        expect(part.isWellFormed()).toBe(true);
      }
    }
  });

  test('stays under 30 kB and well-formed whatever comes', () => {
    // Long texts are made in the property, so that a counterexample stays short.
    const anyText = fc.record({
      start: fc.string({ unit: 'binary', maxLength: 30 }),
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
      fc.property(fc.array(anyAlert, { minLength: 1, maxLength: 30 }), (choices) => {
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
        for (const part of [html(notification), text(notification)]) {
          expect(Buffer.byteLength(part)).toBeLessThan(30_000);
          expect(part.isWellFormed()).toBe(true);
        }
        expect(html(notification)).toMatch(/<\/body><\/html>\n$/);
      }),
      { numRuns: 60 },
    );
  });
});

describe('the subject', () => {
  test.each([
    [
      { alertname: 'FlightFailed', region: 'eu', nest: 'Marketing', bird: 'Translate blog' },
      '[nestwatch] EU · Marketing / Translate blog: FlightFailed',
    ],
    [{ alertname: 'RegionDown', region: 'us' }, '[nestwatch] US: RegionDown'],
    [{ alertname: 'FlightFailed' }, '[nestwatch] FlightFailed'],
    [{ region: 'eu', nest_id: '682' }, '[nestwatch] EU · Nest 682'],
    [
      { alertname: 'FlightFailed', severity: 'critical', team: 'loc' },
      '[nestwatch] FlightFailed (critical, loc)',
    ],
    [{}, '[nestwatch] Alerts'],
  ])('of %j', (groupLabels, subject) => {
    expect(mailSubject(group({ groupLabels }))).toBe(subject);
  });

  test('is the same throughout a thread, with Re: on all but the first', () => {
    const resolved = alert({ status: 'resolved', endsAtUs: NOW_US, labels: { alertname: 'x' } });
    expect(mailSubject(group({ alerts: [resolved], threadPosition: 3 }))).toBe(`Re: ${mailSubject(group())}`);
  });

  test('has no line end and is not endless', () => {
    const subject = mailSubject(
      group({ groupLabels: { alertname: `A\r\nBcc: b@c\u202E${'y'.repeat(5_000)}`, nest: 'z'.repeat(900) } }),
    );
    expect(subject).not.toMatch(/[\r\n\u202E]/);
    expect([...subject].length).toBeLessThanOrEqual(200);
  });
});

describe('the thread', () => {
  const to = { id: 'd-1', receiver: 'ops', position: 0 };
  const first = threadHeaders(group(), to, 'https://watch.example.com:9465');

  test('a reply refers to the first mail, whose id it derives', () => {
    const reply = threadHeaders(
      group({ threadPosition: 2 }),
      { ...to, id: 'd-9' },
      'https://watch.example.com:9465',
    );
    expect(first.messageId).toMatch(/^<thread\.[0-9a-f]{32}@watch\.example\.com>$/);
    expect(reply).toMatchObject({ inReplyTo: first.messageId, references: first.messageId });
    expect(reply.messageId).not.toBe(first.messageId);
  });

  test('another receiver, integration or thread is another thread', () => {
    const others = [
      threadHeaders(group(), { ...to, receiver: 'x' }, URL),
      threadHeaders(group(), { ...to, position: 1 }, URL),
      threadHeaders(group({ thread: 'thread-2' }), to, URL),
      threadHeaders(group(), to, URL),
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

  test('keeps the lines of a stack trace and cuts it', () => {
    expect(plainLines('Error: x\r\n  at a\u2028  at b\n\n  at c', 3, 80)).toEqual([
      'Error: x',
      'at a',
      'at b',
      '…',
    ]);
    expect(plainLines('one', 3, 80)).toEqual(['one']);
    expect(plainLines('', 3, 80)).toEqual([]);
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

  test('writes times for people', () => {
    expect(dayAndTime(NOW_US)).toBe('2 Jul 2026, 12:00 UTC');
    expect(timeOfDay(NOW_US - 86_400_000_000, NOW_US)).toBe('1 Jul 12:00:00');
    expect(
      [0, 59, 60, 3_599, 3_600, 90_000, 86_400, 3 * 86_400 + 4 * 3_600].map((s) => duration(s * 1_000_000)),
    ).toEqual(['0 s', '59 s', '1 min', '59 min', '1 h', '1 day 1 h', '1 day', '3 days 4 h']);
    expect(duration(-5)).toBe('0 s');
  });
});
