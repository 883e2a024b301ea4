import { describe, expect, test } from 'vitest';
import type { ReportedObjective } from '../../../src/domain/digest/report-figures.ts';
import { parseMatchers } from '../../../src/domain/matchers/matcher.ts';
import type { Silence } from '../../../src/domain/muting/silence.ts';
import type { Store } from '../../../src/store/store.ts';
import { anAlert, anAlertingConfig, aStatus, LABELS, NOW_US, putAlert } from '../sample.ts';
import { putBirds, putFlights } from '../sample-birds.ts';
import { serve } from '../served.ts';
import { links, read } from './read.ts';

const HOUR_US = 3_600_000_000;
const DAY_US = 24 * HOUR_US;
const us = (text: string) => Date.parse(text) * 1000;

/** It is 2 July, 12:00 UTC; both regions are watched since 20 May. */
async function twoMonths(objectives: readonly ReportedObjective[] = []) {
  const served = await serve({ alerting: { ...anAlertingConfig(), objectives } });
  const { store } = served;
  await store.transaction(async (tx) => {
    for (const region of ['eu', 'us']) await tx.inventory.regionSince(region, us('2026-05-20T00:00Z'));
  });
  await putBirds(store);
  const june = (id: string, status: string, at: string) => ({
    id,
    status,
    startedAtUs: us(`2026-06-${at}Z`),
  });
  await putFlights(store, { birdId: '148890' }, [
    june('j1', 'succeeded', '10T10:00'),
    june('j2', 'failed', '10T11:00'),
    june('j3', 'succeeded', '12T10:00'),
    // In Amsterdam it is July already.
    june('j4', 'failed', '30T22:30'),
  ]);
  await putFlights(store, { region: 'us', nestId: '7', birdId: '3' }, [
    june('s1', 'succeeded', '30T23:30'),
    // In the first half hour of July.
    { id: 's2', status: 'succeeded', startedAtUs: us('2026-07-01T00:05Z') },
  ]);
  return served;
}

const failure = (id: string, startsAtUs: number, lastsUs: number, labels: Record<string, string> = {}) =>
  anAlert({
    ...{ id, state: 'resolved', ending: 'over', startsAtUs, endsAtUs: startsAtUs + lastsUs },
    updatedAtUs: startsAtUs + lastsUs,
    labels: { ...LABELS, severity: 'warning', error: 'quota', ...labels },
  });

async function acknowledge(store: Store, alertId: string, alertStartsAtUs: number, createdBy: string) {
  const startsAtUs = alertStartsAtUs + 1;
  const silence: Silence = {
    ...{ id: alertId, matchers: [], startsAtUs, endsAtUs: NOW_US + DAY_US, updatedAtUs: startsAtUs },
    ...{ createdBy, comment: '', recurrence: null, alertId, alertStartsAtUs },
  };
  await store.transaction((tx) => tx.silences.put([silence]));
}

/** The table of the page with this title, a line for each row. */
function tableOf(body: string, title: string): string[] {
  const section = body.split('<section>').find((one) => one.startsWith(`<h2>${title}</h2>`)) ?? '';
  return section
    .slice(0, section.indexOf('</table>'))
    .split('<tr role="row">')
    .slice(2)
    .map((row) =>
      row
        .replace(/<[^>]+>/g, ' ')
        .replace(/\s+/g, ' ')
        .trim(),
    );
}

describe('the report of a month', () => {
  test('counts Flights, and compares them with the month before', async () => {
    const { ask, store } = await twoMonths();
    const june = (await ask('/report?month=2026-06')).body;
    expect(read(june)).toContain('Report for June 2026 All Nests');
    expect(read(june)).toContain('Flights 5 Failed 2 Success 60 %');
    // May was not watched from its beginning on.
    expect(read(june)).not.toContain('before');
    expect(read(june)).not.toContain('since');
    expect(tableOf(june, 'Worst Nests')).toEqual(['EU · Marketing 4 2 50 %', 'US · Sales 1 0 100 %']);
    const july = (await ask('/report')).body;
    expect(read(july)).toContain('Report for July 2026, so far');
    expect(read(july)).toContain('Flights 15 Failed 4 Success 73.3 % Flights the month before 5');
    expect(read(july)).toContain('Success the month before 60 % Success difference +13.3 points');
    expect(tableOf(july, 'Worst Nests')).toEqual(['EU · Marketing 14 4 71.4 %', 'US · Sales 1 0 100 %']);
    await store.close();
  });

  test('says which objectives were met, and what was left of them, as the CSV does', async () => {
    const { ask } = await twoMonths([
      { name: '<customers>', match: [], forEach: 'nest', success: 0.9995, countsDeadlines: false },
      {
        name: 'EU',
        match: parseMatchers('region="eu"'),
        forEach: 'region',
        success: 0.5,
        countsDeadlines: false,
      },
      {
        name: 'nothing',
        match: parseMatchers('nest="Nobody"'),
        forEach: 'nest',
        success: 0.5,
        countsDeadlines: false,
      },
    ]);
    const { body } = await ask('/report?month=2026-06');
    expect(tableOf(body, 'Objectives')).toEqual([
      'EU · Marketing · &lt;customers&gt; not met -2 50 % 99.95 %',
      'US · Sales · &lt;customers&gt; met 0 100 % 99.95 %',
      'EU · EU met 0 50 % 50 %',
    ]);
    const csv = (await ask('/report.csv?month=2026-06')).body;
    expect(csv).toContain('objectives,"eu","Marketing","","<customers>",objective,0\r\n');
    expect(csv).toContain('objectives,"eu","Marketing","","<customers>",allowance_left,-2\r\n');
    expect(csv).toContain('objectives,"eu","","","EU",objective,1\r\n');
    // A region is not judged by one of its Nests.
    const own = (await ask('/report?month=2026-06&region=eu&nest=682')).body;
    expect(tableOf(own, 'Objectives')).toEqual([
      'EU · Marketing · &lt;customers&gt; not met -2 50 % 99.95 %',
    ]);
  });

  test('a month that there is not is no file', async () => {
    const { ask } = await twoMonths();
    const { status, headers } = await ask('/report.csv?month=x');
    expect([status, headers['content-disposition']]).toEqual([400, undefined]);
    expect(headers['content-type']).toMatch(/^text\/plain/);
  });

  test("its months begin in the reader's zone", async () => {
    const { ask } = await twoMonths();
    const cookie = 'nestwatch_zone=Europe/Amsterdam';
    const figures = async (month: string) => read((await ask(`/report?month=${month}`, { cookie })).body);
    expect(await figures('2026-06')).toContain('Flights 3 Failed 1');
    expect(await figures('2026-07')).toContain('Flights 17 Failed 5');
    const { body } = await ask('/report.csv?month=2026-07', { cookie });
    expect(body).toContain('days,"","","","2026-07-01",flights,');
  });

  test('says how long what was wrong, why, and who saw to it', async () => {
    const { ask, store } = await twoMonths();
    const [first, second] = [us('2026-06-10T11:00Z'), us('2026-06-20T11:00Z')];
    await putAlert(store, failure('a', first, 2 * HOUR_US, { severity: 'critical' }));
    await putAlert(store, { ...failure('b', second, 4 * HOUR_US), ending: 'by_hand' });
    await putAlert(store, failure('c', second, HOUR_US, { error: 'else', bird_id: '2', bird: 'Post news' }));
    await putAlert(store, failure('d', us('2026-07-01T10:00Z'), HOUR_US));
    await putAlert(
      store,
      failure('e', first, HOUR_US, { alertname: 'RegionDown', region: 'us', bird_id: '' }),
    );
    await acknowledge(store, 'b', second, 'anna@example.com');
    await acknowledge(store, 'd', us('2026-07-01T10:00Z'), 'otto@example.com');
    const { body } = await ask('/report?month=2026-06');
    const text = read(body);
    expect(text).toContain('Critical downtime 2 h Watch impaired 1 h');
    expect(text).toContain('Median time to recover 2 h Longest time to recover 4 h');
    expect(tableOf(body, 'Worst Birds')).toEqual([
      'EU · Marketing / Translate blog 2 6 h',
      'EU · Marketing / Post news 1 1 h',
    ]);
    expect(tableOf(body, 'Causes')).toHaveLength(2);
    expect(tableOf(body, 'Causes')[1]).toBe('without a message 1 1 h');
    expect(tableOf(body, 'How alerts ended')).toEqual(['Its end was observed. 2', 'Resolved by hand. 1']);
    expect(tableOf(body, 'Acknowledged by')).toEqual(['anna@example.com 1']);
    expect(links(body)).toEqual(expect.arrayContaining(['nests/eu/682', 'birds/eu/148890', 'birds/eu/2']));
  });

  test('says since when it knows what it says', async () => {
    const { ask, store } = await twoMonths();
    await putAlert(store, failure('gone', us('2026-05-21T10:00Z'), HOUR_US, { severity: 'critical' }));
    const { body } = await ask('/report?month=2026-05');
    expect(read(body)).toContain('EU: watched since 2026-05-20 00:00:00 UTC. US: watched since 2026-05-20');
    // Alerts are kept for 30 days.
    expect(read(body)).toContain('Alerts and deadlines are kept from 2026-06-02 12:00:00 UTC on.');
    expect(read(body)).not.toContain('Critical downtime');
    expect(read((await ask('/report?month=2026-06')).body)).toContain(
      'Alerts and deadlines are kept from 2026-06-02 12:00:00 UTC on.',
    );
    expect(read((await ask('/report?month=2026-07')).body)).not.toContain('Alerts and deadlines are kept');
  });

  test('leads to the months before and after it, as far as there are any, and to its CSV', async () => {
    const { ask } = await twoMonths();
    const of = async (month: string) =>
      links((await ask(`/report?month=${month}&region=eu&nest=682`)).body).filter((one) =>
        /^report/.test(one),
      );
    const own = 'region=eu&nest=682';
    expect(await of('2026-05')).toEqual([`report?${own}&month=2026-06`, `report.csv?${own}&month=2026-05`]);
    expect(await of('2026-06')).toEqual([
      ...[`report?${own}&month=2026-05`, `report?${own}&month=2026-07`],
      `report.csv?${own}&month=2026-06`,
    ]);
    expect(await of('2026-07')).toEqual([`report?${own}&month=2026-06`, `report.csv?${own}&month=2026-07`]);
  });

  test('can be about one Nest: its Flights, its alerts, and the watch of its region', async () => {
    const { ask, store } = await twoMonths();
    const at = us('2026-06-10T11:00Z');
    const sales = { region: 'us', nest_id: '7', nest: 'Sales', bird_id: '3', bird: 'Old one' };
    await putAlert(store, failure('a', at, 2 * HOUR_US, { severity: 'critical' }));
    await putAlert(store, failure('b', at, 3 * HOUR_US, { ...sales, severity: 'critical' }));
    await putAlert(store, failure('c', at, HOUR_US, { alertname: 'RegionDown', region: 'us', nest_id: '' }));
    await acknowledge(store, 'a', at, 'anna@example.com');
    await acknowledge(store, 'b', at, 'otto@example.com');
    const { body } = await ask('/report?month=2026-06&region=us&nest=7');
    expect(read(body)).toContain('Report for June 2026 US · Sales');
    expect(read(body)).toContain('Flights 1 Failed 0');
    expect(read(body)).toContain('Critical downtime 3 h Watch impaired 1 h');
    expect(tableOf(body, 'Worst Birds')).toEqual(['US · Sales / Old one 1 3 h']);
    expect(tableOf(body, 'Acknowledged by')).toEqual(['otto@example.com 1']);
  });

  test('counts every alert, however many there are [long]', async () => {
    const { ask, store } = await twoMonths();
    await store.transaction(async (tx) => {
      for (let count = 0; count < 600; count += 1) {
        const at = us('2026-06-20T00:00Z') + count;
        const open = { state: 'firing', endsAtUs: 0, updatedAtUs: at } as const;
        await tx.alerts.put([failure(`a${count}`, at, 1), { ...failure(`b${count}`, at, 1), ...open }]);
      }
    });
    const { body } = await ask('/report?month=2026-06');
    expect(tableOf(body, 'Worst Birds')[0]).toMatch(/ 1200 11 days$/);
    expect(tableOf(body, 'How alerts ended')).toEqual(['Its end was observed. 600']);
  });

  test.each([
    ['?month=2026-08', 'month: must be one of 2026-07, 2026-06, 2026-05'],
    ['?month=1', 'month: must be one of'],
    ['?region=asia', 'region: must be one of eu, us'],
    ['?region=eu&nest=none', 'No such Nest is known'],
    ['?since=1h', 'there is no parameter'],
  ])('refuses %s [long]', async (query, said) => {
    const { ask } = await twoMonths();
    const page = await ask(`/report${query}`);
    expect(page.status).toBe(400);
    expect(read(page.body)).toContain(said);
    const csv = await ask(`/report.csv${query}`);
    expect(csv.status).toBe(400);
    expect(csv.body).toContain(said);
  });

  test('of a store that has seen nothing is empty', async () => {
    const { ask } = await serve({ status: () => aStatus({ regions: [] }) });
    expect(read((await ask('/report')).body)).toContain('Flights 0 Failed 0');
    expect((await ask('/report.csv')).body).toContain('month,"","","","2026-07",flights,0\r\n');
  });
});

describe('its CSV', () => {
  test('has the same figures, one a line, with durations in seconds', async () => {
    const { ask, store } = await twoMonths();
    await putAlert(store, failure('a', us('2026-06-10T11:00Z'), HOUR_US));
    const { body, headers } = await ask('/report.csv?month=2026-06');
    expect(headers['content-type']).toBe('text/csv; charset=utf-8');
    const lines = body.split('\r\n');
    expect(lines[0]).toBe('table,region,nest,bird,about,figure,value');
    expect(lines.at(-1)).toBe('');
    expect(lines).toEqual(
      expect.arrayContaining([
        ...['month,"","","","2026-06",flights,5', 'month,"","","","2026-06",success,0.6'],
        ...['days,"","","","2026-06-10",flights,2', 'days,"","","","2026-06-30",failed,1'],
        ...['worst_nests,"eu","Marketing","","",failed,2', 'how_alerts_ended,"","","","over",alerts,1'],
        'worst_birds,"eu","Marketing","Translate blog","",failing_for,3600',
      ]),
    );
    expect(lines.filter((line) => line.startsWith('days,'))).toHaveLength(30 * 2 + 3);
  });

  test('holds what looks like a formula, or like CSV, as text', async () => {
    const { ask, store } = await twoMonths();
    const bird = '=HYPERLINK("http://evil.example","x")\r\n,2';
    await putAlert(store, failure('a', us('2026-06-10T11:00Z'), HOUR_US, { bird, nest: '\u200b+1' }));
    const { body } = await ask('/report.csv?month=2026-06');
    expect(body).toContain(
      `worst_birds,"eu","'+1","'=HYPERLINK(""http://evil.example"",""x"") ,2","",times,1\r\n`,
    );
  });
});

test.each([
  ['/', 'report'],
  ['/nests/eu/682', '../../report?region=eu&nest=682'],
])('%s leads to the report of this month', async (path, href) => {
  const { ask } = await twoMonths();
  expect(links((await ask(path)).body)).toContain(href);
});
