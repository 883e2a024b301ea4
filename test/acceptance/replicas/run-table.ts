/** Prints the result of a run of replicas as a table. */
import type { RunFigures } from './replicas-run.ts';
import { quantile, type Takeover } from './taken-over.ts';

const PARTS = [
  ['freeMs', 'until nobody owned the region'],
  ['takenMs', '… another did'],
  ['beginMs', '… that one asked for it'],
  ['commitMs', '… that one committed'],
  ['silentMs', 'between two requests for it'],
] as const;

function spreadOf(takeovers: readonly Takeover[], part: 'tookMs' | (typeof PARTS)[number][0]): string {
  const seconds = takeovers.map((one) => one[part] / 1000);
  const [p50, p99] = [quantile(seconds, 0.5), quantile(seconds, 0.99)];
  return `median ${p50}, p99 ${p99}, most ${Math.max(0, ...seconds)}`;
}

export function tableOf(figures: RunFigures): string {
  const { faults, takeovers, outage } = figures;
  const rows: [string, string | number][] = [
    [
      'faults',
      Object.entries(faults)
        .map(([kind, count]) => `${count} ${kind}`)
        .join(', '),
    ],
    ['events', figures.events],
    ['lost', figures.lost.length],
    ['sent again under the same id', figures.repeatedUnderOneId],
    ['sent again under another id', figures.repeatedUnderAnotherId.length],
    ['invented', figures.invented.length],
    ['commits into regions', figures.commits],
    ['… by who did not own the region', figures.trespasses.length],
    ['… in an epoch of somebody else', figures.sharedEpochs.length],
    ['regions that nobody went on with', figures.abandoned.length],
    ['processes that ended by themselves', figures.crashes.length],
    ['resident memory at the end, MiB', figures.residentMiB.map(Math.round).join(', ')],
  ];
  for (const kind of ['kill', 'pause', 'stop'] as const) {
    const those = takeovers.filter(({ fault }) => fault === kind);
    rows.push([`takeover after ${kind}, s`, `${those.length}: ${spreadOf(those, 'tookMs')}`]);
    for (const [part, name] of PARTS) rows.push([`… ${name}`, spreadOf(those, part)]);
  }
  const all = takeovers.filter(({ fault }) => fault !== 'stop').map(({ tookMs }) => tookMs / 1000);
  rows.push(['takeover after kill and pause, p99, s', quantile(all, 0.99)]);
  if (outage) {
    rows.push(['server away, s', outage.forMs / 1000]);
    rows.push(['… not ready after, s', outage.unreadyMs.map((ms) => ms / 1000).join(', ')]);
    rows.push(['… ready again after, s', outage.readyAgainMs.map((ms) => ms / 1000).join(', ')]);
    rows.push(['… last heartbeat after it went, s', outage.lastBeatMs / 1000]);
    rows.push(['… first after it came back, s', outage.nextBeatMs / 1000]);
    for (const { before, most, after } of outage.residentMiB)
      rows.push([
        '… memory before, at most, a minute later',
        [before, most, after].map(Math.round).join(', '),
      ]);
    for (const [line, count] of outage.said) rows.push([`… said by all, ${count} times`, line]);
  }
  const wrong = [
    ...figures.lost.slice(0, 5).map((key) => `lost: ${key}`),
    ...figures.invented.slice(0, 5).map((key) => `invented: ${key}`),
    ...figures.repeatedUnderAnotherId.slice(0, 5).map((key) => `under another id: ${key}`),
    ...[...figures.trespasses, ...figures.sharedEpochs, ...figures.abandoned, ...figures.crashes].slice(
      0,
      20,
    ),
  ];
  return [...rows.map(([name, value]) => `${name.padEnd(42)} ${value}`), ...wrong].join('\n');
}
