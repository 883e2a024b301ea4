/** Opens a store on a server, whose URL is given, as a version with a step that takes an hour. */
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { STEPS } from '../../../src/store/steps.ts';
import { systemClock } from '../../../src/time/clock.ts';
import { placeAt } from '../postgres/postgres-server.ts';

const steps = [...STEPS, { sql: 'SELECT pg_sleep(3600)', oldest: 1 }];
await openPostgresStore({ place: placeAt(process.argv[2]!, {}), clock: systemClock(), steps });
