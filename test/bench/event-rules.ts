/**
 * What rules on events cost: the processor time of durable ingest with none, with 200 on types that do not come, and with
 * 200 of which each asks for one of the types that come and fits no entry. Interleaved in one run.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Rule } from '../../src/domain/alert/rule.ts';
import { defaultRule } from '../../src/domain/kinds/kinds.ts';
import { parseMatchers } from '../../src/domain/matchers/matcher.ts';
import { inFile, ingest, median, withServer } from './ingest.ts';

const TYPES = ['Published', 'Saved', 'Discarded', 'Suspended', 'Activated', 'Deactivated', 'EventError'];

function rulesOn(typeOf: (at: number) => string): Rule[] {
  return Array.from({ length: 200 }, (_, at) => ({
    ...defaultRule('EventMatched'),
    id: `r${at}`,
    match: parseMatchers(`type="${typeOf(at)}",nest=~"Customer ${at}.*",initiator!~".*deploy.*"`),
  }));
}

const SETS = new Map<string, readonly Rule[]>([
  ['none', []],
  ['200 on other types', rulesOn((at) => `notification.New${at}`)],
  ['200 on these types', rulesOn((at) => `bird_log.${TYPES[at % TYPES.length]}`)],
]);

await withServer(async (url, folder) => {
  const took = new Map([...SETS.keys()].map((name) => [name, [] as number[]]));
  for (let round = 0; round < 7; round += 1) {
    for (const [name, ownRules] of SETS) {
      const path = join(folder, 'events.db');
      const before = process.cpuUsage();
      await ingest(url, inFile(path), { ownRules });
      const { user, system } = process.cpuUsage(before);
      // The first round warms up.
      if (round > 0) took.get(name)!.push((user + system) / 1000);
      for (const end of ['', '-wal', '-shm', '.lock']) rmSync(`${path}${end}`, { force: true });
    }
  }

  for (const [name, times] of took) {
    const ratios = times.map((ms, at) => ms / took.get('none')![at]!);
    console.log(`${name}: ${median(times).toFixed(0)} ms, ${median(ratios).toFixed(3)} of none`);
  }
});
