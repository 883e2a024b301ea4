import { existsSync } from 'node:fs';
import { expect, inject, test } from 'vitest';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { systemClock } from '../../../src/time/clock.ts';
import { copyThereAndBack } from '../copy/killed-copy.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { placeAt } from './postgres-server.ts';

test('a store is copied to a server and back while each copy is killed twice, and stays the same', async () => {
  const folder = temporaryFolder();
  const clock = systemClock();
  const url = inject('postgresUrl')!;
  const schema = 'killed_copy';
  let broken = 0;
  await copyThereAndBack({
    ...{ folder, url, schema, clock, events: 20_000, birds: 50 },
    ran: () => {},
    async brokenOff(where, path) {
      broken += 1;
      if (where === 'file') return expect(existsSync(path)).toBe(false);
      const opening = openPostgresStore({ place: placeAt(url, { schema }), clock });
      await expect(opening).rejects.toMatchObject({ code: 'store_unfinished' });
    },
  });
  expect(broken).toBe(4);
});
