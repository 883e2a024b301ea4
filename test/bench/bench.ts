/** `npm run bench`: measures every claim of speed in `README.md` together with its baseline, in one run. */
import { benchBacklog } from './backlog.ts';
import { isAlertmanagerHere, printBesideAlertmanager } from './beside-alertmanager.ts';
import { printDelay } from './delay.ts';
import { benchForward } from './forward.ts';
import { benchIngest, benchMemory } from './ingest.ts';
import { printMails } from './mails.ts';
import { PAGES, printPages } from './pages.ts';
import { printPostgres } from './postgres.ts';
import { printRefusals } from './refusals.ts';
import { printReplicas } from './replicas.ts';
import { printScale, SCALE } from './scale.ts';
import { printScrape } from './scrape.ts';
import { printStart, START } from './start.ts';
import { benchStore } from './store.ts';

const whole = (value: number) => Math.round(value).toLocaleString('en');

const ingest = await benchIngest();
console.log('Durable ingest, sweep → SQLite file, page size 100, 8 streams, one entry in ten an EventError');
console.log(`  ${whole(ingest.ingestEntriesPerSecond)} entries/s`);
console.log(
  `  ${whole(ingest.bareEntriesPerSecond)} entries/s is the bare read (undici request + JSON.parse of the same pages)`,
);
console.log(`  ${ingest.ratio.toFixed(2)} of it (aim: at least 0.20)`);
const inLargePages = await benchIngest(500);
console.log(
  `  ${inLargePages.ratio.toFixed(2)} in pages of 500 (aim: at least 0.30): ${whole(inLargePages.ingestEntriesPerSecond)} entries/s of ${whole(inLargePages.bareEntriesPerSecond)}`,
);
const backlog = await benchBacklog();
console.log(
  '\nBacklog after an outage: read, stored, decided upon and summed up; 8 Birds with an entry a second each',
);
console.log(
  `  ${whole(backlog.entriesPerSecond)} entries/s, ${whole(backlog.timesRealTime)} × as fast as they occurred`,
);
console.log(
  `  ${backlog.ratio.toFixed(2)} of the bare read of the same pages; ${backlog.timesIngest.toFixed(2)} times as long as their ingest alone, ${backlog.timesIngestProcessor.toFixed(2)} times its processor time (aim: at most 1.3)`,
);
console.log('\nStore alone, durable insert-or-ignore');
for (const { name, entriesPerSecond } of await benchStore())
  console.log(`  ${whole(entriesPerSecond)} entries/s, ${name}`);
console.log('\nEvents accepted by a webhook (CloudEvents batches, signed, durable before each is sent)');
console.log(`  ${whole(await benchForward())} events/s (aim: at least 30,000)`);
console.log('\nThe store on PostgreSQL, durable, pages of 100 and 2 streams');
await printPostgres();
console.log(
  '\nReplicas on one PostgreSQL: a burst of 20,000 failures in 40 regions, and a minute of nothing',
);
await printReplicas([1, 2, 4], 40, 25);
console.log('\nAlerts delivered to a webhook, beside a real Alertmanager on the same work');
if (isAlertmanagerHere()) await printBesideAlertmanager();
else console.log('  skipped: there is no prometheus-alertmanager on this machine');
console.log('\nMails: 10,000 alerts in 200 groups to one SMTP server');
await printMails();
console.log('\nA scrape with 10,000 Birds, packed, as OpenMetrics');
await printScrape();
console.log('\nPages and API over 10,000 Birds, 2 million events and 1,000 alerts');
console.log('  (aims: the first byte within 150 ms, of a search within 300; 300 kB; turns of at most 50 ms)');
await printPages(PAGES);
console.log('\nStart: over 2,000 Birds and 2 million events, and with little to do');
await printStart(START);
console.log('\nResident memory after a million entries');
console.log(`  ${whole(await benchMemory())} MiB`);
console.log('');
await printDelay();
console.log('');
await printRefusals();
console.log('\nMemory and processor time of the daemon, in steady state (its service is another process)');
await printScale({ ...SCALE, hours: 1 });
