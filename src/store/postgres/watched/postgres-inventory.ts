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
import { lastOfEach } from '../../sql/sql.ts';
import { foldedText } from '../../texts/folded-text.ts';
import { columnsOf, given, type Statements, upsert } from '../statements.ts';

const PUT_MEMBERS = upsert('nest_members', 'region text, nest_id text, addresses text', 'region, nest_id');

const PUT_NESTS = `INSERT INTO nest (region, nest_id, name, folded, present, gone_us)
  SELECT * FROM ${given('region text, nest_id text, name text, folded text, present integer, gone_us bigint')}
  ON CONFLICT (region, nest_id) DO UPDATE SET name = excluded.name, folded = excluded.folded,
    present = excluded.present,
    gone_us = CASE WHEN 1 IN (excluded.present, nest.present) THEN excluded.gone_us ELSE nest.gone_us END`;

const BIRD = `region text, bird_id text, nest_id text, name text, folded text, status text, trigger_type text,
  present integer, status_since_us bigint, first_status integer, news_since_us bigint, gone_us bigint`;
const PUT_BIRDS = `INSERT INTO bird (region, bird_id, nest_id, name, folded, status, trigger_type, present,
    status_since_us, first_status, news_since_us, gone_us, firing)
  SELECT given.*, ${firingAlerts('given.region', 'given.bird_id')} FROM ${given(BIRD)}
  ON CONFLICT (region, bird_id) DO UPDATE SET nest_id = excluded.nest_id, name = excluded.name,
    folded = excluded.folded, status = excluded.status, trigger_type = excluded.trigger_type,
    present = excluded.present, status_since_us = excluded.status_since_us, first_status = excluded.first_status,
    news_since_us = excluded.news_since_us,
    gone_us = CASE WHEN 1 IN (excluded.present, bird.present) THEN excluded.gone_us ELSE bird.gone_us END,
    judge_us = CASE WHEN bird.status = excluded.status THEN bird.judge_us ELSE 0 END`;

export class PostgresInventory implements InventoryStore {
  readonly #statements: Statements;
  readonly #clock: Clock;

  constructor(statements: Statements, clock: Clock) {
    this.#statements = statements;
    this.#clock = clock;
  }

  async regionSince(region: string, nowUs: number): Promise<number> {
    const known = await this.knownSince(region);
    if (known === undefined) {
      await this.#statements.run('INSERT INTO region (region, since_us) VALUES ($1, $2)', region, nowUs);
    }
    return known ?? nowUs;
  }

  async firstStart(region: string, nowUs: number): Promise<number> {
    await this.#statements.run(
      'INSERT INTO region_start (region, first_us) VALUES ($1, $2) ON CONFLICT DO NOTHING',
      region,
      nowUs,
    );
    const row = await this.#statements.first<{ first_us: number }>(
      'SELECT first_us FROM region_start WHERE region = $1',
      region,
    );
    return row!.first_us;
  }

  async knownSince(region: string): Promise<number | undefined> {
    const row = await this.#statements.first<{ since_us: number }>(
      'SELECT since_us FROM region WHERE region = $1',
      region,
    );
    return row?.since_us;
  }

  async began(region: string, sinceUs: number): Promise<void> {
    await this.#statements.run('UPDATE region SET since_us = $2 WHERE region = $1', region, sinceUs);
  }

  async putRate(region: string, { perSecond, keptUs }: RateRecord): Promise<void> {
    await this.#statements.run(
      `INSERT INTO region_rate (region, per_second, kept_us) VALUES ($1, $2, $3)
       ON CONFLICT (region) DO UPDATE SET per_second = excluded.per_second, kept_us = excluded.kept_us`,
      region,
      perSecond,
      keptUs,
    );
  }

  async rate(region: string): Promise<RateRecord | undefined> {
    const row = await this.#statements.first<{ per_second: number; kept_us: number }>(
      'SELECT per_second, kept_us FROM region_rate WHERE region = $1',
      region,
    );
    return row && { perSecond: row.per_second, keptUs: row.kept_us };
  }

  async nests(region: string): Promise<NestRecord[]> {
    const rows = await this.#statements.rows<NestRow>(
      'SELECT region, nest_id, name, present FROM nest WHERE region = $1 ORDER BY nest_id',
      region,
    );
    return rows.map(nestOf);
  }

  async putNests(nests: readonly NestRecord[]): Promise<void> {
    const last = lastOfEach(nests, ({ region, nestId }) => JSON.stringify([region, nestId]));
    const rows = last.map(({ region, nestId, name, present }) => [
      region,
      nestId,
      name,
      foldedText(name),
      Number(present),
      this.#goneUs(present),
    ]);
    if (rows.length > 0) await this.#statements.run(PUT_NESTS, ...columnsOf(6, rows));
  }

  async nestMembers(region: string): Promise<NestMembers[]> {
    const rows = await this.#statements.rows<{ nest_id: string; addresses: string }>(
      'SELECT nest_id, addresses FROM nest_members WHERE region = $1 ORDER BY nest_id',
      region,
    );
    return rows.map((row) => ({
      region,
      nestId: row.nest_id,
      addresses: JSON.parse(row.addresses) as string[],
    }));
  }

  async putNestMembers(members: readonly NestMembers[]): Promise<void> {
    const last = lastOfEach(members, ({ region, nestId }) => JSON.stringify([region, nestId]));
    const rows = last.map(({ region, nestId, addresses }) => [region, nestId, JSON.stringify(addresses)]);
    if (rows.length > 0) await this.#statements.run(PUT_MEMBERS, ...columnsOf(3, rows));
  }

  async birds(region: string): Promise<BirdRecord[]> {
    const rows = await this.#statements.rows<BirdRow>(
      `SELECT region, bird_id, nest_id, name, status, trigger_type, present, status_since_us, first_status,
         news_since_us
       FROM bird WHERE region = $1 ORDER BY bird_id`,
      region,
    );
    return rows.map(birdOf);
  }

  async putBirds(birds: readonly BirdRecord[]): Promise<void> {
    const last = lastOfEach(birds, ({ region, birdId }) => JSON.stringify([region, birdId]));
    const rows = last.map((bird) => [
      bird.region,
      bird.birdId,
      bird.nestId,
      bird.name,
      foldedText(bird.name),
      bird.status,
      bird.triggerType,
      Number(bird.present),
      bird.statusSinceUs,
      Number(bird.hasFirstStatus === true),
      bird.newsSinceUs ?? 0,
      this.#goneUs(bird.present),
    ]);
    if (rows.length > 0) await this.#statements.run(PUT_BIRDS, ...columnsOf(12, rows));
  }

  #goneUs(isPresent: boolean): number {
    return isPresent ? 0 : this.#clock.nowUs();
  }
}
