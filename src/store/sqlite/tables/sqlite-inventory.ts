import type { Clock } from '../../../time/clock.ts';
import type { BirdRecord, InventoryStore, NestMembers, NestRecord } from '../../inventory-store.ts';
import type { Connection } from '../connection.ts';

interface NestRow {
  readonly region: string;
  readonly nest_id: string;
  readonly name: string;
  readonly present: number;
}

interface BirdRow extends NestRow {
  readonly bird_id: string;
  readonly status: string;
  readonly trigger_type: string;
  readonly status_since_us: number;
}

export function createInventory(connection: Connection, clock: Clock): InventoryStore {
  const since = connection.prepare<{ since_us: number }>('SELECT since_us FROM region WHERE region = ?');
  const watch = connection.prepare('INSERT INTO region (region, since_us) VALUES (?, ?)');
  const nests = connection.prepare<NestRow>('SELECT * FROM nest WHERE region = ? ORDER BY nest_id');
  const birds = connection.prepare<BirdRow>('SELECT * FROM bird WHERE region = ? ORDER BY bird_id');
  const putNest = connection.prepare(
    `INSERT INTO nest (region, nest_id, name, present, gone_us) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET name = excluded.name, present = excluded.present,
       gone_us = iif(excluded.present OR nest.present, excluded.gone_us, nest.gone_us)`,
  );
  const members = connection.prepare<{ nest_id: string; addresses: string }>(
    'SELECT nest_id, addresses FROM nest_members WHERE region = ? ORDER BY nest_id',
  );
  const putMembers = connection.prepare(
    `INSERT INTO nest_members (region, nest_id, addresses) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET addresses = excluded.addresses`,
  );
  const putBird = connection.prepare(
    `INSERT INTO bird (region, bird_id, nest_id, name, status, trigger_type, present, status_since_us, gone_us)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET nest_id = excluded.nest_id, name = excluded.name, status = excluded.status,
       trigger_type = excluded.trigger_type, present = excluded.present,
       status_since_us = excluded.status_since_us,
       gone_us = iif(excluded.present OR bird.present, excluded.gone_us, bird.gone_us),
       judge_us = iif(bird.status = excluded.status, judge_us, 0)`,
  );

  const goneUs = (isPresent: boolean) => (isPresent ? 0 : clock.nowUs());

  return {
    async regionSince(region, nowUs) {
      const known = since.get(region);
      if (known) return known.since_us;
      watch.run(region, nowUs);
      return nowUs;
    },
    async knownSince(region) {
      return since.get(region)?.since_us;
    },
    async nests(region) {
      return nests.all(region).map(nestRecord);
    },
    async putNests(records) {
      for (const { region, nestId, name, present } of records) {
        putNest.run(region, nestId, name, present ? 1 : 0, goneUs(present));
      }
    },
    async nestMembers(region) {
      return members.all(region).map(
        (row): NestMembers => ({
          region,
          nestId: row.nest_id,
          addresses: JSON.parse(row.addresses) as string[],
        }),
      );
    },
    async putNestMembers(records) {
      for (const { region, nestId, addresses } of records) {
        putMembers.run(region, nestId, JSON.stringify(addresses));
      }
    },
    async birds(region) {
      return birds.all(region).map(birdRecord);
    },
    async putBirds(records) {
      for (const bird of records) {
        putBird.run(
          bird.region,
          bird.birdId,
          bird.nestId,
          bird.name,
          bird.status,
          bird.triggerType,
          bird.present ? 1 : 0,
          bird.statusSinceUs,
          goneUs(bird.present),
        );
      }
    },
  };
}

function nestRecord(row: NestRow): NestRecord {
  return { region: row.region, nestId: row.nest_id, name: row.name, present: row.present === 1 };
}

function birdRecord(row: BirdRow): BirdRecord {
  return {
    region: row.region,
    birdId: row.bird_id,
    nestId: row.nest_id,
    name: row.name,
    status: row.status,
    triggerType: row.trigger_type,
    present: row.present === 1,
    statusSinceUs: row.status_since_us,
  };
}
