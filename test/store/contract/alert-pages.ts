import { describe, expect, test } from 'vitest';
import type { Alert } from '../../../src/domain/alert/alert.ts';
import type { Silence } from '../../../src/domain/muting/silence.ts';
import type { AlertQuery } from '../../../src/store/alert-store.ts';
import { countTurns } from '../../count-turns.ts';
import type { Run } from '../test-store.ts';
import { alert, event, flight, NOW_US, SECOND_US, silence } from './sample-records.ts';
import type { Subject } from './subject.ts';

export function describeAlertPages(subject: () => Subject, run: Run): void {
  const ids = (alerts: readonly Alert[]) => alerts.map((one) => one.id);
  const page = (query: Partial<AlertQuery> = {}) =>
    run.alerts.page({ order: 'severest', nowUs: NOW_US, limit: 100, ...query });
  const shown = async (query: Partial<AlertQuery> = {}) => ids((await page(query)).alerts);
  const causes = (query: Partial<AlertQuery> = {}) =>
    run.alerts.causes({ nowUs: NOW_US, limit: 100, ...query });

  const severe = (severity: string, labels: Alert['labels'] = {}) => ({
    labels: { alertname: 'FlightFailed', severity, region: 'eu', ...labels },
  });
  const acknowledged = (alertId: string, change: Partial<Silence> = {}) =>
    silence(`silence of ${alertId}`, {
      ...{ startsAtUs: NOW_US - SECOND_US, endsAtUs: NOW_US + SECOND_US },
      ...{ alertId, alertStartsAtUs: NOW_US },
      ...change,
    });

  describe('pages of alerts', () => {
    test('have the severest first, then the newest, and resolved ones last', async () => {
      await run.alerts.put([
        alert('resolved', { state: 'resolved', endsAtUs: NOW_US, ...severe('critical') }),
        alert('resolved earlier', { state: 'resolved', endsAtUs: NOW_US - 1, ...severe('critical') }),
        alert('info', severe('info')),
        alert('warning', severe('warning')),
        alert('newer warning', { startsAtUs: NOW_US + 1, ...severe('warning') }),
        alert('critical', { startsAtUs: NOW_US - 9, ...severe('critical') }),
        alert('error', severe('error')),
        alert('pending', { state: 'pending' }),
      ]);
      const firing = ['critical', 'error', 'newer warning', 'warning', 'info'];
      expect(await shown()).toEqual([...firing, 'resolved', 'resolved earlier']);
      expect(await shown({ state: 'firing' })).toEqual(firing);
      expect((await shown({ order: 'newest' })).at(0)).toBe('newer warning');
      expect((await shown({ order: 'newest' })).at(-1)).toBe('critical');
    });

    test('have severities by other words where messages rank them', async () => {
      const words = ['warning', 'urgent', 'none', 'page'];
      await run.alerts.put(words.map((severity) => alert(severity, severe(severity))));
      expect(await shown()).toEqual(['page', 'urgent', 'warning', 'none']);
      const found = (await causes()).causes.map(({ severity }) => severity);
      expect(found).toEqual(['page', 'urgent', 'warning', 'none']);
    });

    test('have unacknowledged alerts before acknowledged ones', async () => {
      await run(async (tx) => {
        await tx.alerts.put([alert('seen', severe('critical')), alert('unseen', severe('info'))]);
        await tx.alerts.put([alert('seen before', { startsAtUs: NOW_US + 5, ...severe('warning') })]);
        await tx.silences.put([
          acknowledged('seen'),
          acknowledged('seen before'),
          acknowledged('unseen', { endsAtUs: NOW_US }),
        ]);
      });
      expect(await shown()).toEqual(['seen before', 'unseen', 'seen']);
      expect(await shown({ isAcknowledged: true })).toEqual(['seen']);
      expect(await shown({ isAcknowledged: false })).toEqual(['seen before', 'unseen']);
    });

    test('follow each other without a gap, even if what was shown disappears', async () => {
      const all = Array.from({ length: 7 }, (_, index) => alert(`a${index}`));
      await run.alerts.put(all);
      const first = await page({ limit: 3 });
      expect(ids(first.alerts)).toEqual(['a0', 'a1', 'a2']);
      await run.alerts.delete(['a0', 'a2']);
      const second = await page({ limit: 3, cursor: first.next });
      expect(ids(second.alerts)).toEqual(['a3', 'a4', 'a5']);
      const third = await page({ limit: 3, cursor: second.next });
      expect(third).toEqual({ alerts: [all[6]] });
      await expect(page({ cursor: 'none' })).rejects.toMatchObject({ code: 'usage' });
      const written = Buffer.from(JSON.stringify([2 ** 40, 0, 0, 0, 0])).toString('base64url');
      expect((await page({ cursor: written })).alerts).toEqual([]);
    });

    test('are filtered by place, content, and words of any case', async () => {
      const place = { nest_id: '682', nest: 'Marketing', bird_id: '7', bird: 'Überseezug "A"' };
      await run.alerts.put([
        alert('a', severe('critical', place)),
        alert('b', { scope: 'us', ...severe('warning', { region: 'us', alertname: 'RegionDown' }) }),
        alert('c', { alertname: 'RegionDown', ...severe('info') }),
      ]);
      const each: [Partial<AlertQuery>, string[]][] = [
        [{ region: 'us' }, ['b']],
        [{ nest: 'mark' }, ['a']],
        [{ nest: '682' }, ['a']],
        [{ nest: '68' }, []],
        [{ bird: 'überSEE' }, ['a']],
        [{ bird: '"a"' }, ['a']],
        [{ name: 'regiondown' }, ['c']],
        [{ severity: 'critical' }, ['a']],
        [{ text: 'MARKETING' }, ['a']],
        [{ text: 'a flight' }, ['a', 'b', 'c']],
        [{ text: 'b' }, ['a', 'b']],
        [{ text: '%' }, []],
        [{ text: 'marketing', severity: 'info' }, []],
      ];
      for (const [query, expected] of each)
        expect(await shown(query), JSON.stringify(query)).toEqual(expected);
    });

    test('are filtered by what was true within a time', async () => {
      await run.alerts.put([
        alert('open', { startsAtUs: NOW_US - 10 }),
        alert('over', { state: 'resolved', startsAtUs: NOW_US - 10, endsAtUs: NOW_US - 5 }),
      ]);
      expect(await shown({ sinceUs: NOW_US - 4 })).toEqual(['open']);
      expect(await shown({ sinceUs: NOW_US - 5 })).toEqual(['open', 'over']);
      expect(await shown({ untilUs: NOW_US - 10 })).toEqual([]);
      expect(await shown({ untilUs: NOW_US - 9 })).toEqual(['open', 'over']);
    });

    test('are filtered by a Flight', async () => {
      await run(async (tx) => {
        const { stream } = await tx.streams.open('eu', 'flight', '148890');
        const ends = [
          event('f-1/failed', { feed: 'flight', occurredAtUs: NOW_US + 2 }),
          event('f-10/failed', { feed: 'flight', occurredAtUs: NOW_US + 3 }),
        ];
        await tx.flights.put([flight('f-1', { stream }), flight('f-10', { stream })]);
        await tx.events.insert(stream, ends);
        await tx.alerts.put([alert('of 1'), alert('of 10')]);
        await tx.alerts.linkEvents([
          { alertId: 'of 1', seq: 1, event: ends[0]! },
          { alertId: 'of 10', seq: 1, event: ends[1]! },
        ]);
      });
      expect(await shown({ flight: 'f-1' })).toEqual(['of 1']);
      expect(await shown({ flight: 'f-10' })).toEqual(['of 10']);
      expect(await shown({ flight: 'F' })).toEqual([]);
    });
  });

  describe('causes of alerts', () => {
    test('are found, and the latest of each read, while other work continues', async () => {
      const turned = await run(async (tx) => {
        const turns = countTurns();
        await tx.alerts.causes({ nowUs: NOW_US, limit: 100 });
        return turns();
      });
      expect(turned).toBeGreaterThanOrEqual(subject().reopen ? 1 : 0);
    });

    const failing = (id: string, description: string, change: Partial<Alert> = {}) =>
      alert(id, { annotations: { summary: `Flight of ${id} failed`, description }, ...change });

    test('are shared by texts that differ only in ids, numbers and names', async () => {
      await run.alerts.put([
        failing('a', 'Request 8314 timed out\nat line 7'),
        failing('b', 'Request 9 timed out', { startsAtUs: NOW_US + 1 }),
        failing('c', 'The quota is used up'),
        failing('d', 'The quota is used up', severe('critical')),
        failing('e', 'The quota is used up', { state: 'resolved' }),
        failing('f', '', severe('warning', { error: 'its own' })),
      ]);
      const { causes: found } = await causes();
      expect(found.map(({ severity, cause, alerts }) => [severity, cause, alerts])).toEqual([
        ['critical', 'The quota is used up', 1],
        ['warning', 'Request # timed out', 2],
        ['warning', 'The quota is used up', 1],
        ['warning', 'its own', 1],
      ]);
      expect(found[1]).toMatchObject({ firstStartsAtUs: NOW_US, lastStartsAtUs: NOW_US + 1 });
      expect(ids(found[1]!.latest)).toEqual(['b', 'a']);
      expect(ids(found[0]!.latest)).toEqual(['d']);
      expect(await shown({ cause: 'Request # timed out' })).toEqual(['b', 'a']);
    });

    test('are separate if somebody has acknowledged some, and continue over pages', async () => {
      await run(async (tx) => {
        await tx.alerts.put([failing('a', 'one'), failing('b', 'one'), failing('c', 'two')]);
        await tx.silences.put([acknowledged('a')]);
      });
      const first = await causes({ limit: 2 });
      expect(first.causes.map(({ isAcknowledged }) => isAcknowledged)).toEqual([false, false]);
      const { causes: rest, next } = await causes({ limit: 2, cursor: first.next });
      expect(rest).toMatchObject([{ cause: 'one', isAcknowledged: true, alerts: 1 }]);
      expect(next).toBeUndefined();
    });
  });

  describe('episodes', () => {
    test('are found by name and region: the last of each alert', async () => {
      const over = (id: string, region: string, startsAtUs: number) =>
        alert(id, {
          labels: { region },
          ...{ state: 'resolved', startsAtUs, endsAtUs: startsAtUs + 1, updatedAtUs: startsAtUs + 1 },
        });
      await run.alerts.put([
        ...[over('Off/1', 'eu', NOW_US), over('Off/2', 'eu', NOW_US), over('Off/3', 'us', NOW_US)],
        ...[over('Off', 'eu', NOW_US), over('Offline/1', 'eu', NOW_US), over('Of/1', 'eu', NOW_US)],
      ]);
      await run.alerts.put([over('Off/2', 'eu', NOW_US + 5)]);
      await run.alerts.put([over('Off/2', 'eu', NOW_US + 2)]);
      const since = (us: number) => run.alerts.episodesSince('Off', 'eu', us);
      expect((await since(NOW_US)).map((one) => one.alertId)).toContain('Off/1');
      expect(await since(NOW_US + 1_000_000_000)).toEqual([]);
      expect(await run.alerts.episodesSince('O', 'eu', 0)).toEqual([]);
      expect(await run.alerts.episodesSince('Off', 'nowhere', 0)).toEqual([]);
      const found = await run.alerts.lastEpisodes('Off', 'eu');
      expect(found.map((one) => [one.alertId, one.startsAtUs]).toSorted()).toEqual([
        ['Off/1', NOW_US],
        ['Off/2', NOW_US + 5],
      ]);
    });

    test('of a region are found however many another one has [long]', async () => {
      const over = (id: string, region: string, at: number) =>
        alert(`Off/${id}`, { labels: { region }, state: 'resolved', endsAtUs: at, updatedAtUs: at });
      const others = Array.from({ length: 1_000 }, (_, at) => over(`${at}`, 'us', NOW_US + 1 + at));
      await run.alerts.put([over('ours', 'eu', NOW_US), ...others]);
      expect(await run.alerts.episodesSince('Off', 'eu', NOW_US)).toMatchObject([{ alertId: 'Off/ours' }]);
    });

    test('outlive their alert, the latest first', async () => {
      const over = (startsAtUs: number) =>
        alert('a', { state: 'resolved', startsAtUs, endsAtUs: startsAtUs + 1, updatedAtUs: startsAtUs + 2 });
      for (const startsAtUs of [NOW_US, NOW_US + 10, NOW_US + 20]) {
        await run.alerts.put([over(startsAtUs)]);
      }
      await run.alerts.delete(['a']);
      const starts = [NOW_US + 20, NOW_US + 10, NOW_US];
      const found = await run.alerts.episodes('a', 10);
      expect(found.map((one) => one.startsAtUs)).toEqual(starts);
      expect(await run.alerts.episodes('a', 1)).toHaveLength(1);
      const ended = await run.alerts.endedBefore({ resolvedAtUs: NOW_US + 22, alertId: 'a' }, 10);
      expect(ended.map(({ resolvedAtUs }) => resolvedAtUs)).toEqual([NOW_US + 12, NOW_US + 2]);
      const all = await run.alerts.endedBefore(undefined, 10);
      expect(all.map(({ episode }) => episode.startsAtUs)).toEqual(starts);
    });
  });
}
