/**
 * Deletes what belongs to Birds and Nests that the service has not listed for longer than the retention. Streams
 * stay: if a Bird is listed again, for example because its Nest was excluded for a while, nobody must be notified of
 * known entries again.
 */
import type { Connection } from '../connection.ts';
import type { Pruned } from './prune-events.ts';

/** Deletes up to `limit` rows of what was gone before that instant; returns how many were deleted. */
type PruneGone = (beforeUs: number, limit: number) => number;

export function createPruneGone(
  connection: Connection,
  remember: (flights: readonly Pruned[]) => void,
): PruneGone {
  // A Bird with events is kept, because a firing alert may keep those.
  const birds = connection.prepare<{ region: string; bird_id: string }>(
    `SELECT region, bird_id FROM bird INDEXED BY bird_gone
     WHERE present = 0 AND gone_us < ? AND NOT EXISTS (
       SELECT 1 FROM stream JOIN event USING (stream)
       WHERE stream.region = bird.region AND stream.feed IN ('bird_log', 'flight')
         AND stream.bird_id = bird.bird_id)
     ORDER BY gone_us LIMIT ?`,
  );
  const streams = connection.prepare<{ stream: number }>(
    `SELECT stream FROM stream WHERE region = ? AND feed IN ('bird_log', 'flight') AND bird_id = ?`,
  );
  const flights = connection.prepare<Pruned & { open: number; ends: number }>(
    `DELETE FROM flight WHERE stream = ?1 AND (started_us, id) IN (
       SELECT started_us, id FROM flight WHERE stream = ?1 LIMIT ?2)
     RETURNING stream, started_us AS us, open, ends`,
  );
  const audit = connection.prepare('DELETE FROM audit WHERE stream = ?');
  const bird = connection.prepare('DELETE FROM bird WHERE region = ? AND bird_id = ?');
  const nests = connection.prepare<{ region: string; nest_id: string }>(
    `DELETE FROM nest WHERE (region, nest_id) IN (
       SELECT region, nest_id FROM nest INDEXED BY nest_gone
       WHERE present = 0 AND gone_us < ? AND NOT EXISTS (
         SELECT 1 FROM bird INDEXED BY bird_of_nest
         WHERE bird.region = nest.region AND bird.nest_id = nest.nest_id)
       ORDER BY gone_us LIMIT ?)
     RETURNING region, nest_id`,
  );
  const members = connection.prepare('DELETE FROM nest_members WHERE region = ? AND nest_id = ?');

  /** Deletes up to `limit` Flights and, after the last of them, the audit; returns how many rows were deleted. */
  function pruneStream(stream: number, limit: number): number {
    const gone = flights.all(stream, limit);
    // Nobody was notified of a Flight that never ended, so it may count as new if its Bird comes back.
    remember(gone.filter(({ open, ends }) => open === 0 || ends > 0));
    return gone.length < limit ? gone.length + audit.run(stream) : gone.length;
  }

  return (beforeUs, limit) => {
    let left = limit;
    for (const { region, bird_id: birdId } of birds.all(beforeUs, left)) {
      for (const { stream } of streams.all(region, birdId)) left -= pruneStream(stream, left);
      if (left === 0) return limit;
      left -= bird.run(region, birdId);
    }
    const gone = nests.all(beforeUs, left);
    // The members of a Nest are deleted with it.
    for (const { region, nest_id: nestId } of gone) members.run(region, nestId);
    return limit - left + gone.length;
  };
}
