import type { Clock } from '../../../time/clock.ts';
import type {
  BirdRecord,
  InventoryStore,
  NestMembers,
  NestRecord,
  RateRecord,
} from '../../inventory-store.ts';
import { type BirdRow, birdOf, type NestRow, nestOf } from '../../rows/inventory-row.ts';
import { firingAlerts } from '../../sql/firing-alerts.ts';
import { foldedText } from '../../texts/folded-text.ts';
import type { Connection } from '../connection.ts';

export class SqliteInventory implements InventoryStore {
  readonly #clock: Clock;
  readonly #regions: ReturnType<typeof prepareRegions>;
  readonly #nests: ReturnType<typeof prepareNests>;
  readonly #birds: ReturnType<typeof prepareBirds>;

  constructor(connection: Connection, clock: Clock) {
    this.#clock = clock;
    this.#regions = prepareRegions(connection);
    this.#nests = prepareNests(connection);
    this.#birds = prepareBirds(connection);
  }

  async regionSince(region: string, nowUs: number): Promise<number> {
    const known = await this.knownSince(region);
    if (known === undefined) this.#regions.watch.run(region, nowUs);
    return known ?? nowUs;
  }

  async firstStart(region: string, nowUs: number): Promise<number> {
    this.#regions.start.run(region, nowUs);
    return this.#regions.firstStart.get(region)!.first_us;
  }

  async knownSince(region: string): Promise<number | undefined> {
    return this.#regions.since.get(region)?.since_us;
  }

  async began(region: string, sinceUs: number): Promise<void> {
    this.#regions.began.run(region, sinceUs);
  }

  async putRate(region: string, { perSecond, keptUs }: RateRecord): Promise<void> {
    this.#regions.putRate.run(region, perSecond, keptUs);
  }

  async rate(region: string): Promise<RateRecord | undefined> {
    const row = this.#regions.rate.get(region);
    return row && { perSecond: row.per_second, keptUs: row.kept_us };
  }

  async nests(region: string): Promise<NestRecord[]> {
    return this.#nests.ofRegion.all(region).map(nestOf);
  }

  async putNests(nests: readonly NestRecord[]): Promise<void> {
    for (const { region, nestId, name, present } of nests) {
      this.#nests.put.run(region, nestId, name, foldedText(name), present ? 1 : 0, this.#goneUs(present));
    }
  }

  async nestMembers(region: string): Promise<NestMembers[]> {
    return this.#nests.members.all(region).map((row) => ({
      region,
      nestId: row.nest_id,
      addresses: JSON.parse(row.addresses) as string[],
    }));
  }

  async putNestMembers(members: readonly NestMembers[]): Promise<void> {
    for (const { region, nestId, addresses } of members) {
      this.#nests.putMembers.run(region, nestId, JSON.stringify(addresses));
    }
  }

  async birds(region: string): Promise<BirdRecord[]> {
    return this.#birds.ofRegion.all(region).map(birdOf);
  }

  async putBirds(birds: readonly BirdRecord[]): Promise<void> {
    for (const bird of birds) {
      this.#birds.put.run(
        bird.region,
        bird.birdId,
        bird.nestId,
        bird.name,
        foldedText(bird.name),
        bird.status,
        bird.triggerType,
        bird.present ? 1 : 0,
        bird.statusSinceUs,
        bird.hasFirstStatus ? 1 : 0,
        bird.newsSinceUs ?? 0,
        this.#goneUs(bird.present),
      );
    }
  }

  #goneUs(isPresent: boolean): number {
    return isPresent ? 0 : this.#clock.nowUs();
  }
}

function prepareRegions(connection: Connection) {
  return {
    since: connection.prepare<{ since_us: number }>('SELECT since_us FROM region WHERE region = ?'),
    began: connection.prepare('UPDATE region SET since_us = ?2 WHERE region = ?1'),
    watch: connection.prepare('INSERT INTO region (region, since_us) VALUES (?, ?)'),
    firstStart: connection.prepare<{ first_us: number }>(
      'SELECT first_us FROM region_start WHERE region = ?',
    ),
    start: connection.prepare('INSERT OR IGNORE INTO region_start (region, first_us) VALUES (?, ?)'),
    rate: connection.prepare<{ per_second: number; kept_us: number }>(
      'SELECT per_second, kept_us FROM region_rate WHERE region = ?',
    ),
    putRate: connection.prepare(
      `INSERT INTO region_rate (region, per_second, kept_us) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET per_second = excluded.per_second, kept_us = excluded.kept_us`,
    ),
  };
}

function prepareNests(connection: Connection) {
  return {
    ofRegion: connection.prepare<NestRow>('SELECT * FROM nest WHERE region = ? ORDER BY nest_id'),
    put: connection.prepare(
      `INSERT INTO nest (region, nest_id, name, folded, present, gone_us) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET name = excluded.name, folded = excluded.folded, present = excluded.present,
         gone_us = iif(excluded.present OR nest.present, excluded.gone_us, nest.gone_us)`,
    ),
    members: connection.prepare<{ nest_id: string; addresses: string }>(
      'SELECT nest_id, addresses FROM nest_members WHERE region = ? ORDER BY nest_id',
    ),
    putMembers: connection.prepare(
      `INSERT INTO nest_members (region, nest_id, addresses) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET addresses = excluded.addresses`,
    ),
  };
}

function prepareBirds(connection: Connection) {
  return {
    ofRegion: connection.prepare<BirdRow>('SELECT * FROM bird WHERE region = ? ORDER BY bird_id'),
    put: connection.prepare(
      `INSERT INTO bird (region, bird_id, nest_id, name, folded, status, trigger_type, present, status_since_us,
         first_status, news_since_us, gone_us, firing)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ${firingAlerts('?1', '?2')})
       ON CONFLICT DO UPDATE SET nest_id = excluded.nest_id, name = excluded.name, folded = excluded.folded, status = excluded.status,
         trigger_type = excluded.trigger_type, present = excluded.present,
         status_since_us = excluded.status_since_us, first_status = excluded.first_status,
         news_since_us = excluded.news_since_us,
         gone_us = iif(excluded.present OR bird.present, excluded.gone_us, bird.gone_us),
         judge_us = iif(bird.status = excluded.status, judge_us, 0)`,
    ),
  };
}
