import type { FlightRecord, FlightStore } from '../../flight-store.ts';
import { prepareChunks } from '../chunks.ts';
import type { Connection } from '../connection.ts';

interface FlightRow {
  readonly stream: number;
  readonly started_us: number;
  readonly id: string;
  readonly status: string;
  readonly open: number;
  readonly ends: number;
  readonly ended_us: number;
}

export function createFlights(connection: Connection): Pick<FlightStore, 'open' | 'since' | 'find' | 'put'> {
  const open = connection.prepare<FlightRow>(
    'SELECT * FROM flight INDEXED BY flight_open WHERE stream = ? AND open = 1 ORDER BY started_us, id',
  );
  const since = connection.prepare<FlightRow>(
    'SELECT * FROM flight WHERE stream = ? AND started_us >= ? ORDER BY started_us, id',
  );
  const one = connection.prepare<FlightRow>(
    'SELECT * FROM flight WHERE stream = ? AND started_us = ? AND id = ?',
  );
  const put = prepareChunks(
    connection,
    7,
    (rows) =>
      `INSERT INTO flight (stream, started_us, id, status, open, ends, ended_us) VALUES ${rows}
       ON CONFLICT DO UPDATE SET status = excluded.status, open = excluded.open, ends = excluded.ends,
         ended_us = excluded.ended_us, judge_us = iif(excluded.open, judge_us, 0)`,
  );

  return {
    async open(stream) {
      return open.all(stream).map(record);
    },
    async since(stream, sinceUs) {
      return since.all(stream, sinceUs).map(record);
    },
    async find(stream, flights) {
      return flights.flatMap(({ flightId, startedAtUs }) => {
        const row = one.get(stream, startedAtUs, flightId);
        return row ? [record(row)] : [];
      });
    },
    async put(flights) {
      put(flights.length, (index, values) => {
        const flight = flights[index]!;
        values.push(flight.stream, flight.startedAtUs, flight.flightId, flight.status);
        values.push(flight.open ? 1 : 0, flight.ends, flight.endedAtUs ?? 0);
      });
    },
  };
}

function record(row: FlightRow): FlightRecord {
  return {
    stream: row.stream,
    flightId: row.id,
    startedAtUs: row.started_us,
    status: row.status,
    open: row.open === 1,
    ends: row.ends,
    ...(row.ended_us > 0 && { endedAtUs: row.ended_us }),
  };
}
