/** Keeps which integrations accept nothing now, in the transactions that settle their deliveries. */
import type { FailingIntegration } from '../../outbox-store.ts';
import type { Connection } from '../connection.ts';

type Integration = Pick<FailingIntegration, 'receiver' | 'position' | 'integration'>;

interface Row extends Integration {
  readonly failures: number;
  readonly since_us: number;
  readonly last_error: string;
}

export interface IntegrationHealth {
  /** Returns since when it had accepted nothing; undefined if it had. */
  accepted(integration: Integration): number | undefined;
  failed(integration: Integration, error: string, nowUs: number): void;
  failing(): FailingIntegration[];
}

export function createIntegrationHealth(connection: Connection): IntegrationHealth {
  const forget = connection.prepare<Pick<Row, 'since_us'>>(
    'DELETE FROM failing_integration WHERE receiver = ? AND position = ? AND integration = ? RETURNING since_us',
  );
  const count = connection.prepare(
    `INSERT INTO failing_integration (receiver, position, integration, failures, since_us, last_error)
     VALUES (?, ?, ?, 1, ?, ?)
     ON CONFLICT DO UPDATE SET failures = failures + 1, last_error = excluded.last_error`,
  );
  const all = connection.prepare<Row>(
    'SELECT * FROM failing_integration ORDER BY receiver, position, integration',
  );

  return {
    accepted: ({ receiver, position, integration }) => forget.get(receiver, position, integration)?.since_us,
    failed: ({ receiver, position, integration }, error, nowUs) =>
      void count.run(receiver, position, integration, nowUs, error),
    failing: () =>
      all.all().map(({ receiver, position, integration, failures, since_us, last_error }) => ({
        receiver,
        position,
        integration,
        failures,
        sinceUs: since_us,
        lastError: last_error,
      })),
  };
}
