/** Every failure in a mail about several alerts: what it says about each one, how many, and within which limits. */
import { describe, expect, test } from 'vitest';
import { emailHtml } from '../../../src/channels/email/email-html.ts';
import { emailText } from '../../../src/channels/email/mail-message.ts';
import { mailView } from '../../../src/channels/message/message-view.ts';
import { slackBody } from '../../../src/channels/slack/slack-body.ts';
import { teamsBody } from '../../../src/channels/teams/teams-channel.ts';
import { type Event, shortId } from '../../../src/domain/alert/event.ts';
import type { NotifiedAlert } from '../../../src/domain/grouping/notification.ts';
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
} from '../sample-notifications.ts';

const URL = 'https://nestwatch.example.com';
/** The link to the list of a group's alerts. */
const LIST = `${URL}/alerts?region=eu&nest=Marketing&name=FlightFailed`;
const viewOf = (alerts: readonly NotifiedAlert[]) => mailView(about(...alerts), URL);
const text = (alerts: readonly NotifiedAlert[]) => emailText(viewOf(alerts));
const html = (alerts: readonly NotifiedAlert[]) => emailHtml(viewOf(alerts));
const flightId = (number: number) => `5f0c9a52-0000-4000-8000-${String(number).padStart(12, '0')}`;
/** The short id of 'failedFlight(number)' as it appears in lines. */
const eventId = (number: number) => `event ${shortId(failedFlight(number))}`;

interface Failing {
  readonly bird: string;
  readonly birdId: string;
  readonly nest?: string;
  readonly nestId?: string;
  readonly error?: string;
}

/** An alert of that Bird with these failures. */
function failing(
  { bird, birdId, nest = 'Marketing', nestId = '682', error = 'x' }: Failing,
  events: Event[],
) {
  const own = events.map((event) => ({ ...event, bird, birdId, nest, nestId }));
  const labels = { bird, bird_id: birdId, nest, nest_id: nestId, error };
  return labelled(labels, { events: own, eventsTotal: own.length });
}

const ALPHA = { bird: 'Alpha', birdId: '896', error: 'a' };
const BETA = { bird: 'Beta', birdId: '897', error: 'b' };
const refused = (number: number, job: number, changes: Partial<Event> = {}) =>
  failedFlight(number, { message: `TMS said no to job ${job}`, ...changes });

test.each([
  ['was suspended by anna@example.com', 0],
  ['was suspended by bea@example.com', 1],
  ['is no longer active: it is suspended', 1],
])('who switched a Bird off is said once beside: %s', (what, lines) => {
  const annotations = {
    summary: `Alpha in Marketing (EU) ${what}`,
    switched_off: 'by anna@example.com, 2 Jul 2026, 11:56 UTC',
  };
  const said = text([labelled({ ...ALPHA, alertname: 'BirdDeactivated' }, { annotations })]);
  expect(said).toContain(`${annotations.summary}.`);
  expect(said.match(/Switched off by/g) ?? []).toHaveLength(lines);
});

test('the title that a rule on events gives is one line', () => {
  const annotations = { title: 'Published\nRecovered: all is well' };
  expect(text([labelled({ alertname: 'EventMatched' }, { annotations })])).not.toMatch(/^Recovered/m);
});

test.each([
  [['info'], '–'],
  [['info', 'info'], '–'],
  [['info', 'warning'], '✕'],
])('the subject of what fires with the severities %j begins with %s', (severities, mark) => {
  const alerts = severities.map((severity, at) =>
    labelled({ severity, bird: `Bird ${at}`, bird_id: `${at}` }),
  );
  expect(viewOf(alerts).subject.split(' ')[0]).toBe(mark);
});

test.each([
  ['87f16e94', undefined],
  ['87f16e94-2', undefined],
  ['nightly-export', 'rule=nightly-export'],
])('a rule called %s is the label %s', (rule, shown) => {
  expect(new Map(viewOf([labelled({ rule })]).details).get('Labels')).toBe(shown);
});

test('an event without a message is not listed before itself', () => {
  const suspended = failedFlight(4, {
    ...{ feed: 'bird_log', type: 'bird_log.Suspended', message: '' },
    attributes: { initiator: 'ann@example.com' },
  });
  const earlier = {
    ...suspended,
    key: 'eu/bird_log/earlier',
    occurredAtUs: suspended.occurredAtUs - MINUTE_US,
  };
  const listed = (events: Event[]) => viewOf([labelled({ alertname: 'BirdDeactivated' }, { events })]).events;
  expect(listed([suspended])).toEqual([]);
  expect(listed([suspended, earlier])).toMatchObject([
    { message: 'Suspended, by ann@example.com', events: 1 },
  ]);
});

test.each([
  ['BirdNotAsDeclared', 'Its name is Draft.'],
  ['NestWithoutOwner', 'Customer 4 has no active member of @example.com.'],
])('what differs is said once: %s', (alertname, description) => {
  const annotations = { summary: 'Translate blog is not as it must be in Marketing (EU)', description };
  expect(viewOf([labelled({ alertname }, { annotations, events: [] })]).lead).toEqual([description]);
});

test('the step that a title names is no label as well', () => {
  const waiting = labelled({ alertname: 'FlightWaiting', step: 'Review', team: 'ops' });
  expect(new Map(viewOf([waiting]).details).get('Labels')).toBe('team=ops');
  expect(new Map(viewOf([labelled({ step: '3' })]).details).get('Labels')).toBe('step=3');
});

describe('a mail about several alerts', () => {
  test('counts causes only of what the service gives a reason for', () => {
    const waiting = ['Alpha', 'Beta'].map((bird, at) =>
      labelled(
        { alertname: 'FlightWaiting', bird, bird_id: String(at), step: 'Review' },
        { annotations: { description: `Flight of ${bird}.` }, events: [], eventsTotal: 0 },
      ),
    );
    expect(text(waiting)).toMatch(/^Waiting: 2 Birds\n/);
  });

  test('says of every failure when its Flight started, its step and its ids, the newest first', () => {
    const withStep = failedFlight(4, {
      message: 'Alpha reason',
      attributes: { ...failedFlight(4).attributes, step_id: '2', scope: 'Translate' },
    });
    const alpha = failing(ALPHA, [withStep, failedFlight(7, { message: 'Alpha reason' })]);
    const beta = failing(BETA, [failedFlight(5, { message: 'Beta reason' })]);
    const page = `${URL}/alerts/${alpha.id}`;
    expect(text([alpha, beta])).toBe(
      [
        '2 Birds failed, 2 causes',
        'EU · Marketing · since 2 Jul 2026, 11:56 UTC, for 4 min',
        '',
        `* ${WORDS.FlightFailed.firing}: Alpha`,
        '    Alpha reason',
        '  2 failures · Bird 896',
        '  - started 2 Jul 2026, 11:41:07 UTC, failed after 14 min · step Translate',
        `    Flight 5f0c9a52 · ${eventId(4)}`,
        '  - started 2 Jul 2026, 11:41:07 UTC, failed after 11 min · step Main',
        `    Flight 5f0c9a52 · ${eventId(7)}`,
        '',
        `* ${WORDS.FlightFailed.firing}: Beta`,
        '    Beta reason',
        '  Bird 897',
        '  - started 2 Jul 2026, 11:41:07 UTC, failed after 13 min · step Main',
        `    Flight 5f0c9a52 · ${eventId(5)}`,
        '',
        'Nest: Marketing (682)',
        '',
        'Each by itself:',
        `  Alpha: ${page}`,
        `  Beta: ${page}`,
        '',
        `See and acknowledge all: ${LIST}`,
        `Silence all of these: ${URL}/silence?matchers=alertname%3D%22FlightFailed%22%0Aregion%3D%22eu%22%0Anest%3D%22Marketing%22`,
        '',
        '-- ',
        'You get this because receiver ops of nestwatch gets the alerts that no more specific route matches.',
        '',
      ].join('\n'),
    );
  });

  test('gives each failure of one signature its own message, and names the Bird if there are several', () => {
    const error = 'TMS said no to job <n>';
    const alerts = [
      failing({ ...ALPHA, error }, [refused(1, 11858)]),
      failing({ ...BETA, error }, [refused(2, 11859), refused(3, 11858), failedFlight(4, { message: '' })]),
    ];
    const [cluster, ...others] = viewOf(alerts).clusters;
    expect(others).toEqual([]);
    expect(cluster).toMatchObject({
      title: `2 × ${WORDS.FlightFailed.firing}`,
      cause: 'TMS said no to job 11858',
      context: '4 failures · step Main',
    });
    expect(cluster!.lines.map(({ where, message, ids }) => [where, message, ids.join(' · ')])).toEqual([
      ['Alpha', '', `Flight 5f0c9a52 · ${eventId(1)}`],
      ['Beta', 'TMS said no to job 11859', `Flight 5f0c9a52 · ${eventId(2)}`],
      ['Beta', '', `Flight 5f0c9a52 · ${eventId(3)}`],
      ['Beta', 'without a message', `Flight 5f0c9a52 · ${eventId(4)}`],
    ]);
    const page = html(alerts);
    for (const said of ['TMS said no to job 11859', ...[1, 2, 3].map((one) => shortId(failedFlight(one)))])
      expect(page).toContain(said);
  });

  test('names the Nest at each failure if there are several, and a Bird that all share once', () => {
    const contracts = { bird: 'Contracts', birdId: '906', nest: 'Legal', nestId: '905' };
    const two = viewOf([
      failing(ALPHA, [refused(1, 1)]),
      failing({ ...contracts, error: 'a' }, [refused(2, 1)]),
    ]);
    expect(two.clusters[0]!.lines.map(({ where, ids }) => [where, ids.join(' · ')])).toEqual([
      ['Marketing / Alpha', `Flight 5f0c9a52 · ${eventId(1)}`],
      ['Legal / Contracts', `Flight 5f0c9a52 · ${eventId(2)}`],
    ]);
    expect(two.details).toEqual([]);

    // As with `for_each: flight`.
    const one = viewOf([1, 2].map((number) => failing(ALPHA, [refused(number, number)])));
    expect(one.clusters[0]!.lines.map(({ where, ids }) => [where, ids.join(' · ')])).toEqual([
      ['', `Flight 5f0c9a52 · ${eventId(1)}`],
      ['', `Flight 5f0c9a52 · ${eventId(2)}`],
    ]);
    expect(one.details).toEqual([
      ['Nest', 'Marketing (682)'],
      ['Bird', 'Alpha (896)'],
    ]);
  });

  test('lists five failures of a cause, one of each Bird before further ones, and links to the rest', () => {
    const many = Array.from({ length: 20 }, (_, at) => refused(at + 1, 1));
    const alerts = [
      { ...failing({ ...ALPHA, error: 'e' }, many), eventsOmitted: 4, eventsTotal: 24 },
      failing({ ...BETA, error: 'e' }, [refused(50, 1)]),
    ];
    const [cluster] = viewOf(alerts).clusters;
    expect(cluster!.lines).toHaveLength(5);
    expect(cluster!.lines.at(-1)).toMatchObject({ where: 'Beta' });
    expect(cluster!.linesMore).toBe(20);
    expect(text(alerts)).toContain(`\n  … and 20 more: ${URL}/\n`);
    expect(html(alerts)).toMatch(new RegExp(`<a [^>]*href="${URL}/"[^>]*>… and 20 more</a>`));
  });

  test('says once for each place what other kinds of alerts report, with the newest time', () => {
    const lost = (entity_id: string, entity_name: string, minutes: readonly number[]): NotifiedAlert =>
      alert({
        labels: {
          ...{ alertname: 'ConnectionDisconnected', severity: 'warning', region: 'eu', error: 'y' },
          ...{ entity_type: 'Connection', entity_id, entity_name },
        },
        events: minutes.map((minute) =>
          failedFlight(minute, {
            key: `eu/notification/${entity_id}-${minute}`,
            feed: 'notification',
            type: 'notification.ConnectionDisconnected',
            message: 'Connection check failed',
            ...{ nestId: '', nest: '', birdId: '', bird: '' },
            attributes: { entity_type: 'Connection', entity_id, entity_name },
          }),
        ),
      });
    const alerts = [lost('118', 'Phrase TMS', [1, 3]), lost('119', 'DeepL', [2])];
    const newest = (at: number) => `event ${shortId(alerts[at]!.events[0]!)}`;
    const body = emailText(mailView(group({ groupLabels: { region: 'eu' }, alerts }), URL));
    expect(body).toContain(
      [
        `* 2 × ${WORDS.ConnectionDisconnected.firing}: Phrase TMS, DeepL`,
        '    Connection check failed',
        '  - Phrase TMS · 2 ×, the last 2 Jul 2026, 11:59:00 UTC',
        `    ${newest(0)}`,
        '  - DeepL · 2 Jul 2026, 11:58:00 UTC',
        `    ${newest(1)}`,
        '',
      ].join('\n'),
    );
  });

  test('does not say twice that a Bird was deactivated', () => {
    const deactivated = (bird: string, birdId: string, minutes: number, hasNotification: boolean) => {
      const event = (feed: 'notification' | 'bird_log', type: string, message: string) =>
        failedFlight(minutes, {
          ...{ key: `eu/${feed}/${birdId}`, feed, type, message, bird, birdId, attributes: {} },
        });
      const description = 'The event has failed 5 times';
      const log = event('bird_log', 'bird_log.Deactivated', '');
      const notification = event('notification', 'notification.FlowDeactivated', description);
      const events = hasNotification ? [log, notification] : [log];
      const labels = { alertname: 'BirdDeactivated', bird, bird_id: birdId, error: 'z' };
      return labelled(labels, { annotations: { description }, events });
    };
    const alerts = [deactivated('Alpha', '896', 2, true), deactivated('Beta', '897', 3, false)];
    const [cluster] = viewOf(alerts).clusters;
    expect(cluster!.lines.map(({ where, when, message }) => [where, when, message])).toEqual([
      ['Alpha', '2 Jul 2026, 11:58:00 UTC', ''],
      ['Beta', '2 Jul 2026, 11:57:00 UTC', 'Deactivated'],
    ]);
    expect(cluster!.linesMore).toBe(0);
  });

  test('heads every cause before it lists failures of any, and divides the remaining room', () => {
    const long = (bird: number, number: number) =>
      refused(number, 1, { message: `${'abcdefghijklmnopqrst'[bird]} ${number} ${'ß'.repeat(300)}` });
    const alerts = Array.from({ length: 20 }, (_, at) =>
      failing(
        { bird: `Bird ${at}`, birdId: `${at}`, error: `e${at}` },
        Array.from({ length: 12 }, (_, count) => long(at, at * 20 + count)),
      ),
    );
    for (const part of [text(alerts), html(alerts)]) {
      expect(Buffer.byteLength(part)).toBeLessThan(30_000);
      for (const { labels } of alerts) expect(part).toContain(labels.bird);
      const listed = alerts.map(
        ({ events }) => events.filter((event) => part.includes(shortId(event))).length,
      );
      expect(Math.min(...listed)).toBeGreaterThan(0);
      expect(Math.max(...listed) - Math.min(...listed)).toBeLessThanOrEqual(1);
      const counted = [...part.matchAll(/and (\d+) more(?! alerts)/g)].map(([, count]) => Number(count));
      expect(counted.reduce((sum, count) => sum + count, 0)).toBe(
        240 - listed.reduce((sum, own) => sum + own, 0),
      );
    }
  });
});

describe('the list in a mail about one alert', () => {
  test('has the date, the zone and the Flight id of every failure, even if they say the same', () => {
    const events = [refused(4, 1), refused(5, 1), refused(1_500, 2)];
    expect(text([alert({ events, eventsTotal: 3 })])).toContain(
      [
        'Before that:',
        '  - started 2 Jul 2026, 11:41:07 UTC, failed after 13 min',
        `    Flight 5f0c9a52 · ${eventId(5)}`,
        '  - started 2 Jul 2026, 11:41:07 UTC, failed after 0 s',
        '    TMS said no to job 2',
        `    Flight 5f0c9a52 · ${eventId(1_500)}`,
        '',
      ].join('\n'),
    );
  });

  test('says when a Flight failed whose start is not known', () => {
    const unknown = { flight_id: flightId(5), started_at: 'soon' };
    const events = [
      refused(4, 1),
      refused(5, 1, { attributes: unknown, occurredAtUs: NOW_US - 1_440 * MINUTE_US }),
    ];
    expect(text([alert({ events, eventsTotal: 2 })])).toContain(
      `  - failed 1 Jul 2026, 12:00:00 UTC\n    Flight 5f0c9a52 · event ${shortId(events[1]!)}\n`,
    );
  });

  test('the details are of the Flight whose message is shown', () => {
    const events = [refused(4, 1, { message: '' }), refused(5, 2)];
    const body = text([alert({ events, eventsTotal: 2 })]);
    expect(body).toContain(`Flight: 5f0c9a52\nStarted: 2 Jul 2026, 11:41:07 UTC, failed after 13 min\n`);
    expect(body).toContain(`    without a message\n    Flight 5f0c9a52 · ${eventId(4)}\n`);
  });
});

describe('messages to Slack and Teams', () => {
  test('say about every failure of several alerts what a mail says, in one line each', () => {
    const error = 'TMS said no to job <n>';
    const alerts = [
      failing({ ...ALPHA, error }, [refused(1, 11858)]),
      failing({ ...BETA, error }, [refused(2, 11859)]),
    ];
    const line = `Beta · started 2 Jul 2026, 11:41:07 UTC, failed after 16 min · TMS said no to job 11859 · Flight 5f0c9a52 · ${eventId(2)}`;
    const style = { channel: '', username: '', iconEmoji: '', iconUrl: '' };
    expect(JSON.stringify(slackBody(about(...alerts), URL, style))).toContain(`• ${line}`);
    expect(JSON.stringify(teamsBody(about(...alerts), URL))).toContain(`• ${line}`);
  });
});

describe('a mail about what several groups told before', () => {
  const over = (labels: NotifiedAlert['labels'], changes: Partial<NotifiedAlert> = {}) =>
    labelled(labels, resolved({ ending: 'over', events: [], ...changes }));
  const told = (...alerts: NotifiedAlert[]) =>
    group({
      ...{ groupSort: 'held_back', groupLabels: {}, reason: 'resolved', alerts },
      firingTotal: alerts.filter(({ status }) => status === 'firing').length,
      newTotal: 0,
      resolvedTotal: alerts.filter(({ status }) => status === 'resolved').length,
    });
  const landed = ['1', '2'].map((id) =>
    over({ bird: `Bird ${id}`, bird_id: id, nest: 'Legal', nest_id: '683' }),
  );
  const connection = { alertname: 'ConnectionDisconnected', bird: '', bird_id: '', entity_name: 'TMS' };
  const mended = over(
    { ...connection, nest_id: '684', region: 'us' },
    { ending: 'by_hand', annotations: { resolved_by: 'it was resolved by hand by ann: reconnected' } },
  );

  test('begins with what goes on', () => {
    const { subject, clusters } = mailView(told(...landed, failing(ALPHA, [refused(1, 1)]), mended), URL);
    expect(subject).toBe('✕ Alpha still fails, 3 over');
    expect(clusters.map(({ title, places }) => [title, ...places])).toEqual([
      ['Flights still failing', 'EU / Marketing / Alpha'],
      ['2 × Recovered · EU · Legal', 'Bird 1', 'Bird 2'],
      ['Connection lost, resolved by hand', 'US / Marketing / TMS'],
    ]);
    expect(clusters[2]!.context).toContain('it was resolved by hand by ann: reconnected');
  });

  test('names the most frequent of several states', () => {
    const view = mailView(told(...landed, mended), URL);
    expect(view.headline).toBe('2 Birds land again, 1 more over');
    expect(view.links[0]).toEqual({ text: 'See them in nestwatch', url: `${URL}/alerts?state=resolved` });
  });
});

test('alerts of no region have a link to all of them that the page takes', () => {
  const labels = { alertname: 'DeliveryFailing', region: 'all', severity: 'critical' };
  const of = (receiver: string) => alert({ id: receiver, labels: { ...labels, receiver }, events: [] });
  const notification = {
    ...about(of('ops'), of('pager')),
    groupLabels: { alertname: 'DeliveryFailing', region: 'all' },
  };
  expect(emailText(mailView(notification, URL))).toContain(`${URL}/alerts?name=DeliveryFailing\n`);
});

describe('why several Birds with one error fail now', () => {
  const published = (minutes: number) =>
    `published by editor@example.com ${minutes} min before the first failed Flight started; the last Flight before that succeeded`;
  const isNew = 'new: no Bird of EU had this error in the 94 days that nestwatch has watched';
  const WHO = 'to act: somebody who edits the Bird (configuration error)';
  const both = (...annotations: Record<string, string>[]) =>
    [ALPHA, BETA].map((bird, at) => ({
      ...failing({ ...bird, error: 'TMS said no' }, [refused(at + 1, 7)]),
      annotations: { who_acts: WHO, ...annotations[at] },
    }));

  test('is said once if it is the same, and of an error that is new of all with it', () => {
    const said = text(both({ seen_before: isNew }, {}));
    expect(said).toContain(`${isNew} · ${WHO}`);
    expect(said.match(/to act/g)).toHaveLength(1);
  });

  test('is said with each Bird if it is about that Bird', () => {
    const said = text(both({ changed_before: published(12) }, { changed_before: published(11) }));
    expect(said).toMatch(/- Alpha · .*\n {4}published by editor@example.com 12 min before/);
    expect(said).toMatch(/- Beta · .*\n {4}published by editor@example.com 11 min before/);
  });

  test.each([
    ['does not name others that the mail shows as still failing', 'TMS said no', false],
    ['names them if the mail is not about them', 'something else', true],
  ])('%s', (_what, error, isNamed) => {
    const others = 'also failing with this error: Beta';
    const [first, second] = [
      failing({ ...ALPHA, error: 'TMS said no' }, [refused(1, 7)]),
      failing({ ...BETA, error }, []),
    ];
    const annotations = { also_failing: others };
    const notification = { ...about({ ...first, annotations, isNew: true }, second), threadPosition: 1 };
    const said = emailText(mailView(notification, URL));
    expect(said).toContain(`${WORDS.FlightFailed.still}: Beta`);
    expect(said.includes(others)).toBe(isNamed);
  });
});

test('the reason of a mail names the matchers of its route, also beside routes with the same ones', () => {
  const labels = '{alertname="FlightFailed", nest="Marketing", region="eu"}';
  const reason = (route: string) => mailView(group({ groupKey: `${route}:${labels}` }), URL).footer;
  const any =
    'You get this because receiver ops of nestwatch gets the alerts that no more specific route matches.';
  expect(['{}', '{}/{}#ops', '{}/{}#ops#2'].map(reason)).toEqual([any, any, any]);
  expect(['{}/{severity="critical"}', '{}/{severity="critical"}#ops'].map(reason)).toEqual(
    Array(2).fill('You get this because alerts with severity="critical" go to receiver ops of nestwatch.'),
  );
});
